/* SPDX-License-Identifier: BSD-3-Clause
 * thinwire/collective.h - collectives with encoded messages.
 *
 * Each collective has three forms:
 *     tw_X(..., how)             blocking;
 *     tw_iX(..., how, &request)  nonblocking: complete it with tw_wait() or tw_test();
 *     tw_X_init(..., how, &plan) persistent (a plan): start it with tw_start(), complete it as
 *                                above, and repeat; the buffers' contents may change in between.
 * Every tw_ call on a communicator advances all its outstanding operations. No thread advances
 * them, unless THINWIRE_PROGRESS=thread or tw_comm_start_progress() starts one.
 *
 * Rules common to all:
 *  - Counts are in elements of the codec's dtype, limited by memory (not by 2^31).
 *  - Element buffers are host memory of any alignment, or device memory (below). Do not access them
 *    between start and completion. Send and receive buffers may overlap by TW_IN_PLACE alone.
 *  - As in MPI, all ranks of a communicator call the same collectives in the same order with
 *    matching arguments. With THINWIRE_CHECK=1 each start first compares (sequence, operation,
 *    count, codec) over the ranks and names a rank that differs: TW_ERR_MISMATCH on all.
 *  - Argument errors are local and returned before communication: TW_ERR_INVALID_ARG, TW_ERR_RANGE,
 *    TW_ERR_UNSUPPORTED. Others: TW_ERR_NO_MEMORY, TW_ERR_MPI and TW_ERR_TIMEOUT (the communicator
 *    is dead after these two), TW_ERR_DEAD; TW_ERR_BUSY (local) if an operation that its caller has
 *    not completed uses the feedback object. After an error the receive buffer is undefined.
 *  - Memory comes from the communicator's pool. If one rank has no memory for a further nonblocking
 *    operation while others run, the communicator of that rank is dead (TW_ERR_NO_MEMORY); for a
 *    plan the ranks agree on the memory. The first call of a larger shape than any before
 *    synchronises, even if it is nonblocking (the ranks agree that all have the memory); create a
 *    plan beforehand to avoid that.
 *  - Results are bit-identical on all ranks that hold the same data, and in every run: they depend
 *    on the input, the order of ranks, the codec and the algorithm (hierarchical: also on which
 *    ranks share a node), never on timing or chunk size.
 *  - On any number of ranks a value is quantised at most twice in a reduction, once in a movement.
 *  - NULL for `how` means {fp32, defaults}.
 *
 * Device memory (CUDA): all forms accept a device pointer in place of a host pointer.
 *  - how->exec specifies TW_MEMORY_CUDA, as in <thinwire/codec.h>, on all ranks alike. If exec does
 *    not, the library detects memory that the host cannot read, and ranks may differ: the results
 *    are the same. Managed memory counts as host memory unless exec specifies TW_MEMORY_CUDA. All
 *    buffers of a call on one rank are of the same kind (TW_ERR_INVALID_ARG).
 *  - Input must be complete, or be written by work on exec->stream; at completion the result is
 *    visible to all streams. A plan uses the stream given at its creation. Between start and
 *    completion the device only executes work that tw_ calls have enqueued.
 *  - The device encodes and decodes. MPI gets the codes as device memory if it supports that;
 *    otherwise they are staged through pinned host memory: THINWIRE_DEVICE_PATH, thinwire(7). MPI's
 *    own collectives get the elements in pinned memory. So do `node` and `hierarchical`, unless
 *    exec specifies TW_MEMORY_CUDA and the devices of every node share memory (CUDA IPC between
 *    processes; tested once per communicator, which then keeps 16 MiB on each device): then they
 *    run on the device, and are chosen as for host memory. If exec specifies it and the devices
 *    share no memory, they are used only if the call or a setting names them.
 *  - The device that is current at a communicator's first call must be current at all its calls
 *    (TW_ERR_INVALID_ARG). TW_ERR_UNSUPPORTED: no CUDA in the library, no device, or a codec
 *    without device kernels. If a device fails during an operation, the status is TW_ERR_IO, and
 *    the communicator of that rank is dead; ranks that wait for it return after THINWIRE_TIMEOUT,
 *    or when that rank ends the job (MPI_Abort). If a rank has no device or no device memory, or
 *    its device fails while these are set up, all ranks get the error (TW_ERR_UNSUPPORTED,
 *    TW_ERR_NO_MEMORY, TW_ERR_IO) and the communicator lives, unless the ranks have agreed before
 *    on a call of that shape whose exec specified the same memory: then the communicator of that
 *    rank is dead. A thread with another current device may start a plan, and advance and
 *    complete an operation: it runs on the communicator's device, and the thread's device is
 *    current again afterwards.
 *  - THINWIRE_TIMEOUT does not count time in which this rank's device has yet to do an operation's
 *    work, or the caller's work before it on the stream. Ranks that wait for messages of this rank
 *    do count that time: set the limit above the longest work on a stream.
 *  - tw_stats_t.encode_ns and decode_ns count the time to enqueue the device's work, not the work.
 */
#ifndef THINWIRE_COLLECTIVE_H
#define THINWIRE_COLLECTIVE_H

#include <stddef.h>

#include <thinwire/codec.h>
#include <thinwire/comm.h>
#include <thinwire/declare.h>
#include <thinwire/feedback.h>

TW_BEGIN_DECLS

typedef struct tw_request tw_request_t;

typedef enum tw_algorithm {
    TW_ALGORITHM_AUTO   = 0, /* chosen from count, codec and ranks */
    TW_ALGORITHM_DIRECT = 1, /* all ranks send their encoded vectors to all (S1): one quantisation,
                                (P-1) x size bytes per rank */
    TW_ALGORITHM_TWO_PASS = 2, /* shares are encoded, exchanged, added by their owner, encoded again
                                  and exchanged (S1 4.5): 2 (P-1)/P x size bytes per rank */
    TW_ALGORITHM_GRID     = 3, /* two_pass with codes forwarded in bundles through a grid of ranks:
                                  the same bits, about 4 sqrt(P) messages instead of 2 (P-1), up to
                                  3 x size bytes per rank */
    TW_ALGORITHM_HIERARCHICAL = 4, /* unencoded sums in the memory of each node; two_pass of these
                                      between nodes, one share per rank of a node: for N nodes
                                      2 (N-1)/N x size bytes per node; sums in rank order in a node,
                                      then in node order. reduce-scatters: the first half, with
                                      the same bits. bcast: fragments, node to node; allgather(v):
                                      each block's codes once to every node; alltoall(v): the
                                      short blocks between two nodes in one message */
    TW_ALGORITHM_MPI  = 5, /* MPI's own collective on the elements, for all operations except
                              alltoallv; MPI determines the order of addition. Lossless codecs
                              only, no feedback, counts within MPI's int */
    TW_ALGORITHM_NODE = 6  /* for ranks on one node and a lossless codec: sums in the node's
                              memory, no messages */
} tw_algorithm_t;

/** Name of a tw_algorithm_t, such as "two_pass"; NULL for TW_ALGORITHM_AUTO and for any other
 * value. The string is static. */
const char *tw_algorithm_name(int algorithm);

/* tw_bcast: the root's buffer also becomes decode(encode(x)), so that all ranks hold the same. */
#define TW_BCAST_SAME 1u

/* Options of a collective; zero-initialise it. Codec, algorithm, flags and whether there is
 * feedback must be equal on all ranks. The struct is read only during the call; codec and feedback
 * must live until the operation is complete (for a plan: until tw_request_free()). */
typedef struct tw_how {
    const tw_codec_t *codec;  /* NULL: fp32 */
    const tw_exec_t  *exec;   /* NULL: THINWIRE_THREADS, memory detected from the pointers (which on
                                 several nodes of several ranks the host copies) */
    tw_feedback_t *feedback;  /* for allreduce, reduce and reduce-scatters of its count; or NULL */
    tw_algorithm_t algorithm; /* allreduce, reduce: any; bcast: HIERARCHICAL, NODE; reduce-scatters,
                                 allgather(v), alltoall(v), scatter(v), gather(v): HIERARCHICAL;
                                 all but alltoallv, scatter(v), gather(v): MPI */
    unsigned       flags;     /* TW_BCAST_SAME */
} tw_how_t;

/* As send buffer: the input is in the receive buffer, as with MPI_IN_PLACE. Per rank: other ranks
 * may pass two buffers. */
extern const char tw_in_place_mark;
#define TW_IN_PLACE ((const void *)&tw_in_place_mark)

/* ---- movement ------------------------------------------------------------------------------ */

/** Broadcast count elements of the root's buffer. Encoded once and forwarded unchanged. The root's
 * buffer stays exact unless TW_BCAST_SAME is set. */
tw_status_t tw_bcast(tw_comm_t *comm, void *buffer, size_t count, int root, const tw_how_t *how);
tw_status_t tw_ibcast(tw_comm_t *comm, void *buffer, size_t count, int root, const tw_how_t *how,
                      tw_request_t **request_p);
tw_status_t tw_bcast_init(tw_comm_t *comm, void *buffer, size_t count, int root,
                          const tw_how_t *how, tw_request_t **plan_p);

/** Gather each rank's send[count] in recv[rank * count] on all ranks. A rank's own block is decoded
 * too, so all ranks hold the same. TW_IN_PLACE: the input is recv[rank * count]. */
tw_status_t tw_allgather(tw_comm_t *comm, const void *send, void *recv, size_t count,
                         const tw_how_t *how);
tw_status_t tw_iallgather(tw_comm_t *comm, const void *send, void *recv, size_t count,
                          const tw_how_t *how, tw_request_t **request_p);
tw_status_t tw_allgather_init(tw_comm_t *comm, const void *send, void *recv, size_t count,
                              const tw_how_t *how, tw_request_t **plan_p);

/** As tw_allgather with counts[size] and displacements[size], in elements; equal on all ranks;
 * copied. Blocks must not overlap. displacements NULL: contiguous blocks in rank order. */
tw_status_t tw_allgatherv(tw_comm_t *comm, const void *send, void *recv, const size_t *counts,
                          const size_t *displacements, const tw_how_t *how);
tw_status_t tw_iallgatherv(tw_comm_t *comm, const void *send, void *recv, const size_t *counts,
                           const size_t *displacements, const tw_how_t *how,
                           tw_request_t **request_p);
tw_status_t tw_allgatherv_init(tw_comm_t *comm, const void *send, void *recv, const size_t *counts,
                               const size_t *displacements, const tw_how_t *how,
                               tw_request_t **plan_p);

/** Send send[r * count ...] to recv[rank * count ...] of rank r. The rank's own block is encoded
 * and decoded too. TW_IN_PLACE: recv is input and output. */
tw_status_t tw_alltoall(tw_comm_t *comm, const void *send, void *recv, size_t count,
                        const tw_how_t *how);
tw_status_t tw_ialltoall(tw_comm_t *comm, const void *send, void *recv, size_t count,
                         const tw_how_t *how, tw_request_t **request_p);
tw_status_t tw_alltoall_init(tw_comm_t *comm, const void *send, void *recv, size_t count,
                             const tw_how_t *how, tw_request_t **plan_p);

/** As tw_alltoall with counts and displacements per peer, in elements, copied. With TW_IN_PLACE the
 * send arrays are ignored. Displacements NULL: contiguous blocks in rank order. */
tw_status_t tw_alltoallv(tw_comm_t *comm, const void *send, const size_t *send_counts,
                         const size_t *send_displacements, void *recv, const size_t *recv_counts,
                         const size_t *recv_displacements, const tw_how_t *how);
tw_status_t tw_ialltoallv(tw_comm_t *comm, const void *send, const size_t *send_counts,
                          const size_t *send_displacements, void *recv, const size_t *recv_counts,
                          const size_t *recv_displacements, const tw_how_t *how,
                          tw_request_t **request_p);
tw_status_t tw_alltoallv_init(tw_comm_t *comm, const void *send, const size_t *send_counts,
                              const size_t *send_displacements, void *recv,
                              const size_t *recv_counts, const size_t *recv_displacements,
                              const tw_how_t *how, tw_request_t **plan_p);

/** Send send[r * count ...] of the root to recv[count] of rank r; other ranks ignore send. Encoded
 * once, sent by the root to each rank directly: (P-1) x size bytes. By a lossless codec this is any
 * data; see tw_codec_bytes(). Only the root may pass TW_IN_PLACE (cast to void *) as recv: its
 * block stays in send, where a lossy codec makes it decode(encode(x)), as every other block. */
tw_status_t tw_scatter(tw_comm_t *comm, const void *send, void *recv, size_t count, int root,
                       const tw_how_t *how);
tw_status_t tw_iscatter(tw_comm_t *comm, const void *send, void *recv, size_t count, int root,
                        const tw_how_t *how, tw_request_t **request_p);
tw_status_t tw_scatter_init(tw_comm_t *comm, const void *send, void *recv, size_t count, int root,
                            const tw_how_t *how, tw_request_t **plan_p);

/** As tw_scatter with counts[size] and displacements[size] on the root, in elements, copied; NULL
 * displacements: contiguous blocks in rank order. Other ranks ignore both. count: of this rank's
 * block, on the root counts[root] (TW_ERR_INVALID_ARG; ignored in place). */
tw_status_t tw_scatterv(tw_comm_t *comm, const void *send, const size_t *counts,
                        const size_t *displacements, void *recv, size_t count, int root,
                        const tw_how_t *how);
tw_status_t tw_iscatterv(tw_comm_t *comm, const void *send, const size_t *counts,
                         const size_t *displacements, void *recv, size_t count, int root,
                         const tw_how_t *how, tw_request_t **request_p);
tw_status_t tw_scatterv_init(tw_comm_t *comm, const void *send, const size_t *counts,
                             const size_t *displacements, void *recv, size_t count, int root,
                             const tw_how_t *how, tw_request_t **plan_p);

/** Gather send[count] of rank r in recv[r * count] of the root; other ranks ignore recv. The root's
 * own block is decoded too. Only the root may pass TW_IN_PLACE as send: its block is in its place
 * in recv. */
tw_status_t tw_gather(tw_comm_t *comm, const void *send, void *recv, size_t count, int root,
                      const tw_how_t *how);
tw_status_t tw_igather(tw_comm_t *comm, const void *send, void *recv, size_t count, int root,
                       const tw_how_t *how, tw_request_t **request_p);
tw_status_t tw_gather_init(tw_comm_t *comm, const void *send, void *recv, size_t count, int root,
                           const tw_how_t *how, tw_request_t **plan_p);

/** As tw_gather with counts[size] and displacements[size] on the root, as for tw_scatterv. */
tw_status_t tw_gatherv(tw_comm_t *comm, const void *send, size_t count, void *recv,
                       const size_t *counts, const size_t *displacements, int root,
                       const tw_how_t *how);
tw_status_t tw_igatherv(tw_comm_t *comm, const void *send, size_t count, void *recv,
                        const size_t *counts, const size_t *displacements, int root,
                        const tw_how_t *how, tw_request_t **request_p);
tw_status_t tw_gatherv_init(tw_comm_t *comm, const void *send, size_t count, void *recv,
                            const size_t *counts, const size_t *displacements, int root,
                            const tw_how_t *how, tw_request_t **plan_p);

/* ---- reductions ---------------------------------------------------------------------------- */
/* Values are combined in the dtype, in rank order, after decoding (a rank's own share is encoded
 * too). TW_AVERAGE divides by the number of ranks after the last decoding. Error feedback is for
 * TW_SUM and TW_AVERAGE only (TW_ERR_INVALID_ARG). For device memory TW_MAX, TW_MIN and TW_PROD run
 * in host memory. */

/** recv[count] = the reduction over the ranks of send[count], the same bits on all ranks. */
tw_status_t tw_allreduce(tw_comm_t *comm, const void *send, void *recv, size_t count,
                         tw_reduction_t reduction, const tw_how_t *how);
tw_status_t tw_iallreduce(tw_comm_t *comm, const void *send, void *recv, size_t count,
                          tw_reduction_t reduction, const tw_how_t *how, tw_request_t **request_p);
tw_status_t tw_allreduce_init(tw_comm_t *comm, const void *send, void *recv, size_t count,
                              tw_reduction_t reduction, const tw_how_t *how, tw_request_t **plan_p);

/** As tw_allreduce with the result on the root only. Other ranks ignore recv. Only the root may
 * pass TW_IN_PLACE; recv is then its input. */
tw_status_t tw_reduce(tw_comm_t *comm, const void *send, void *recv, size_t count,
                      tw_reduction_t reduction, int root, const tw_how_t *how);
tw_status_t tw_ireduce(tw_comm_t *comm, const void *send, void *recv, size_t count,
                       tw_reduction_t reduction, int root, const tw_how_t *how,
                       tw_request_t **request_p);
tw_status_t tw_reduce_init(tw_comm_t *comm, const void *send, void *recv, size_t count,
                           tw_reduction_t reduction, int root, const tw_how_t *how,
                           tw_request_t **plan_p);

/** Reduce, and give rank r the next counts[r] elements of the result, in rank order. send holds the
 * sum of counts elements; TW_IN_PLACE: recv holds them, and its first counts[rank] elements become
 * the result. counts[size] must be equal on all ranks; copied. One quantisation: the result is not
 * encoded again. */
tw_status_t tw_reduce_scatter(tw_comm_t *comm, const void *send, void *recv, const size_t *counts,
                              tw_reduction_t reduction, const tw_how_t *how);
tw_status_t tw_ireduce_scatter(tw_comm_t *comm, const void *send, void *recv, const size_t *counts,
                               tw_reduction_t reduction, const tw_how_t *how,
                               tw_request_t **request_p);
tw_status_t tw_reduce_scatter_init(tw_comm_t *comm, const void *send, void *recv,
                                   const size_t *counts, tw_reduction_t reduction,
                                   const tw_how_t *how, tw_request_t **plan_p);

/** tw_reduce_scatter with the same count for every rank. */
tw_status_t tw_reduce_scatter_block(tw_comm_t *comm, const void *send, void *recv, size_t count,
                                    tw_reduction_t reduction, const tw_how_t *how);
tw_status_t tw_ireduce_scatter_block(tw_comm_t *comm, const void *send, void *recv, size_t count,
                                     tw_reduction_t reduction, const tw_how_t *how,
                                     tw_request_t **request_p);
tw_status_t tw_reduce_scatter_block_init(tw_comm_t *comm, const void *send, void *recv,
                                         size_t count, tw_reduction_t reduction,
                                         const tw_how_t *how, tw_request_t **plan_p);

/* ---- completion ---------------------------------------------------------------------------- */

/** Start a plan that is not running. A plan runs from tw_start() until tw_wait() or tw_test()
 * reports its completion.
 * @return TW_OK, TW_ERR_BUSY (running), TW_ERR_INVALID_ARG (no plan), TW_ERR_MISMATCH, ... */
tw_status_t tw_start(tw_request_t *plan);

/** Wait until the operation is complete. A nonblocking request is released and *request_p set to
 * NULL, on failure too; a plan stays and may be started again. If *request_p is NULL or a plan that
 * is not running, it is complete. */
tw_status_t tw_wait(tw_request_t **request_p);

/** Wait for at most `milliseconds` (0: as tw_test()). *done_p = 1 if complete (then as tw_wait()),
 * otherwise 0. If a progress thread advances operations, the calling thread sleeps, and other
 * threads may start operations on the communicator; otherwise the calling thread advances them.
 * @return as tw_wait(); TW_ERR_INVALID_ARG (milliseconds below 0). */
tw_status_t tw_wait_for(tw_request_t **request_p, int milliseconds, int *done_p);

/** Advance operations. *done_p = 1 if this one is complete (then as tw_wait()), otherwise 0. Does
 * not block. */
tw_status_t tw_test(tw_request_t **request_p, int *done_p);

/** Release a plan that is not running and set *plan_p to NULL; NULL is allowed.
 * @return TW_OK, TW_ERR_BUSY, TW_ERR_INVALID_ARG (a nonblocking request: complete it instead). */
tw_status_t tw_request_free(tw_request_t **plan_p);

/** Algorithm of a request or plan: "direct", "two_pass", "grid", "hierarchical", "node", "tree",
 * "pairwise", ...; "mpi" is MPI's own collective; "none" for NULL. */
const char *tw_request_algorithm(const tw_request_t *request);

/** Full spec of the codec of a request or plan; for `auto`, the chosen codec; "none" for NULL.
 * Lives as long as the codec. */
const char *tw_request_codec(const tw_request_t *request);

TW_END_DECLS

#endif /* THINWIRE_COLLECTIVE_H */
