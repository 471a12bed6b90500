/* SPDX-License-Identifier: BSD-3-Clause
 * thinwire/collective.h - collectives whose messages are encoded.
 *
 * Each collective comes in three forms:
 *     tw_X(..., how)             blocking;
 *     tw_iX(..., how, &request)  nonblocking: complete it with tw_wait() or tw_test();
 *     tw_X_init(..., how, &plan) a plan: tw_start() it, complete it with tw_wait() or tw_test(),
 *                                as often as wanted; the buffers' contents may change in between.
 * Every tw_ call on a communicator advances all operations outstanding on it; there is
 * no thread, unless THINWIRE_PROGRESS=thread.
 *
 * Rules common to all:
 *  - Counts are in elements of the codec's dtype, up to what fits memory (not 2^31).
 *  - Element buffers are host memory of any alignment, or device memory (below). They must not be
 *    touched between start and completion, and send and receive buffers must not overlap, except by
 *    TW_IN_PLACE.
 *  - Like in MPI, all ranks of a communicator call the same collectives in the same order with
 *    matching arguments. With THINWIRE_CHECK=1 each start first compares (sequence, operation,
 *    count, codec) over the ranks and names a rank that differs: TW_ERR_MISMATCH on all.
 *  - Argument errors are local and returned before anything is sent: TW_ERR_INVALID_ARG,
 *    TW_ERR_RANGE, TW_ERR_UNSUPPORTED. Others: TW_ERR_NO_MEMORY, TW_ERR_MPI and TW_ERR_TIMEOUT
 *    (the communicator is dead after these two), TW_ERR_DEAD; TW_ERR_BUSY (local) where a feedback
 *    object is still in use by an operation that its caller has not completed. On error the receive
 *    buffer holds garbage.
 *  - Memory comes from the communicator's pool. Where a further nonblocking operation finds none
 *    while others run, the communicator of that rank is dead (TW_ERR_NO_MEMORY); plans agree on
 *    theirs. The first call of a larger shape than any before synchronises (the ranks agree that
 *    all have the memory), nonblocking ones too; make a plan beforehand where that matters.
 *  - Results are bit-identical on all ranks that hold the same data, and in every run: they depend
 *    on the input, the order of ranks, the codec and the algorithm (hierarchical: which ranks share
 *    a node too), never on timing or chunk size.
 *  - A value is quantised at most twice in a reduction and once in a movement, whatever the ranks.
 *  - NULL for `how` means {fp32, defaults}.
 *
 * Device memory (CUDA): a device pointer may be passed wherever a host pointer may, in all forms.
 *  - how->exec says so with TW_MEMORY_CUDA, as in <thinwire/codec.h>, on all ranks alike. Where it
 *    does not, memory that the host cannot read is recognised, and ranks may differ: results are
 *    the same. Managed memory counts as host memory unless exec says TW_MEMORY_CUDA. All buffers of
 *    a call on one rank are of the same kind (TW_ERR_INVALID_ARG).
 *  - Input must be complete, or be written by work on exec->stream; at completion the result is
 *    there for all streams. A plan takes the stream it was made with. Between start and completion
 *    the device works only as far as tw_ calls have put work on the stream.
 *  - Codes are made and decoded on the device. MPI gets them as device memory if it takes that,
 *    else they are staged through pinned memory of the host: THINWIRE_DEVICE_PATH, thinwire(7).
 *    MPI's own collectives get the elements in pinned memory. So do `node` and `hierarchical`,
 *    unless exec says TW_MEMORY_CUDA and the devices of every node share memory (CUDA IPC between
 *    processes; found out once for each communicator, which then keeps 16 MiB on each device): then
 *    these work there, and are taken as for host memory. Where exec says so and the devices share
 *    none, they are taken only if the call or a setting names them.
 *  - A communicator's calls are all on the device that was current at the first
 *    (TW_ERR_INVALID_ARG). TW_ERR_UNSUPPORTED: no CUDA in the library, or no device. A device that
 *    fails in the middle is TW_ERR_IO, and the communicator of that rank is dead; the others, who
 *    wait for it, leave by THINWIRE_TIMEOUT or when that rank ends the job (MPI_Abort). Where a
 *    rank has no device, or no memory there, or it fails at making these, all ranks are told
 *    (TW_ERR_UNSUPPORTED, TW_ERR_NO_MEMORY, TW_ERR_IO; the communicator lives), unless a call of
 *    that shape, whose exec said the same of memory, has been agreed on before: then the
 *    communicator of that rank is dead. Started, advanced and completed by a thread with another
 *    current device, an operation goes on on its own, and that thread's is current again
 *    afterwards.
 *  - Time in which this rank's own device has yet to do an operation's work, or work of the
 *    caller's in front of it, does not count towards THINWIRE_TIMEOUT: a busy stream is not a lost
 *    peer. Ranks that wait for what this one is to send cannot see that, and do count it: let the
 *    limit be longer than the longest work on a stream.
 *  - tw_stats_t.encode_ns and decode_ns hold the time to start the device's work, not the work.
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
    TW_ALGORITHM_AUTO     = 0, /* policy decides from count, codec and ranks                      */
    TW_ALGORITHM_DIRECT   = 1, /* everyone sends its encoded vector to everyone (S1): one
                                  quantisation, (P-1) x size bytes per rank                      */
    TW_ALGORITHM_TWO_PASS = 2, /* shares are encoded, exchanged, added by their owner, encoded again
                                  and exchanged (S1 4.5): 2 (P-1)/P x size bytes per rank        */
    TW_ALGORITHM_GRID     = 3, /* two_pass, its codes passed on in bundles through a grid of ranks:
                                  the same bits, about 4 sqrt(P) messages instead of 2 (P-1),
                                  up to 3 x size bytes per rank                                  */
    TW_ALGORITHM_HIERARCHICAL = 4, /* sums as they are inside each node, in its memory; two_pass of
                                  these between nodes, a share by each rank of a node: for N nodes
                                  2 (N-1)/N x size bytes per node; sums in rank order inside a node,
                                  then in the order of nodes. bcast: fragments, node to node     */
    TW_ALGORITHM_MPI  = 5, /* MPI's own collective on the values, of any operation but alltoallv:
                                  added as MPI adds, in an order of its own; for codecs that lose
                                  nothing, no feedback, counts that MPI's int can hold           */
    TW_ALGORITHM_NODE = 6  /* the ranks share one node and the codec is lossless: sums in the
                                  node's memory, no messages                                     */
} tw_algorithm_t;

/** Its name, "two_pass"; NULL for TW_ALGORITHM_AUTO and for a value that is no tw_algorithm_t.
 * Static. */
const char *tw_algorithm_name(int algorithm);

/* tw_bcast: the root's buffer also becomes decode(encode(x)), so that all ranks hold the same. */
#define TW_BCAST_SAME 1u

/* How a collective is to be carried out; zero-initialise it. The ranks' codec, algorithm and flags
 * must be equal. The struct is read during the call only; codec and feedback must live until the
 * operation is complete (for a plan: until tw_request_free()). */
typedef struct tw_how {
    const tw_codec_t *codec;    /* NULL: fp32                                                   */
    const tw_exec_t  *exec;     /* NULL: THINWIRE_THREADS; memory is what the pointers are      */
    tw_feedback_t    *feedback; /* allreduce, reduce and reduce-scatters of its count; or NULL  */
    tw_algorithm_t algorithm; /* allreduce and reduce; bcast: HIERARCHICAL and NODE; all: MPI     */
    unsigned       flags;     /* TW_BCAST_SAME                                                */
} tw_how_t;

/* As send buffer: the input is in the receive buffer, where MPI_IN_PLACE would expect it. Each rank
 * for itself: others may have two buffers. */
extern const char tw_in_place_mark;
#define TW_IN_PLACE ((const void *)&tw_in_place_mark)

/* ---- movement ------------------------------------------------------------------------------ */

/** Broadcast count elements of the root's buffer. Encoded once, forwarded as it is. The root's
 * buffer stays exact unless TW_BCAST_SAME. */
tw_status_t tw_bcast(tw_comm_t *comm, void *buffer, size_t count, int root, const tw_how_t *how);
tw_status_t tw_ibcast(tw_comm_t *comm, void *buffer, size_t count, int root, const tw_how_t *how,
                      tw_request_t **request_p);
tw_status_t tw_bcast_init(tw_comm_t *comm, void *buffer, size_t count, int root,
                          const tw_how_t *how, tw_request_t **plan_p);

/** Every rank's send[count] goes to recv[rank * count] on all. The own block of recv holds its
 * decoded value too, so all ranks hold the same. TW_IN_PLACE: the input is recv[rank * count]. */
tw_status_t tw_allgather(tw_comm_t *comm, const void *send, void *recv, size_t count,
                         const tw_how_t *how);
tw_status_t tw_iallgather(tw_comm_t *comm, const void *send, void *recv, size_t count,
                          const tw_how_t *how, tw_request_t **request_p);
tw_status_t tw_allgather_init(tw_comm_t *comm, const void *send, void *recv, size_t count,
                              const tw_how_t *how, tw_request_t **plan_p);

/** As tw_allgather with counts[size] and displacements[size], in elements; equal on all ranks;
 * copied. Blocks must not overlap. displacements NULL: one after another. */
tw_status_t tw_allgatherv(tw_comm_t *comm, const void *send, void *recv, const size_t *counts,
                          const size_t *displacements, const tw_how_t *how);
tw_status_t tw_iallgatherv(tw_comm_t *comm, const void *send, void *recv, const size_t *counts,
                           const size_t *displacements, const tw_how_t *how,
                           tw_request_t **request_p);
tw_status_t tw_allgatherv_init(tw_comm_t *comm, const void *send, void *recv, const size_t *counts,
                               const size_t *displacements, const tw_how_t *how,
                               tw_request_t **plan_p);

/** send[r * count ...] goes to recv[rank * count ...] of rank r. The own block too is encoded and
 * decoded. TW_IN_PLACE: recv is input and output. */
tw_status_t tw_alltoall(tw_comm_t *comm, const void *send, void *recv, size_t count,
                        const tw_how_t *how);
tw_status_t tw_ialltoall(tw_comm_t *comm, const void *send, void *recv, size_t count,
                         const tw_how_t *how, tw_request_t **request_p);
tw_status_t tw_alltoall_init(tw_comm_t *comm, const void *send, void *recv, size_t count,
                             const tw_how_t *how, tw_request_t **plan_p);

/** As tw_alltoall with counts and displacements per peer, in elements, copied. With TW_IN_PLACE the
 * send arrays are ignored. Displacements NULL: one after another. */
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

/* ---- reductions ---------------------------------------------------------------------------- */
/* Values are combined in the dtype, in rank order, after decoding (the own share too is encoded).
 * TW_AVERAGE divides by the number of ranks after the last decoding. Error feedback is for TW_SUM
 * and TW_AVERAGE alone (TW_ERR_INVALID_ARG). Of device memory TW_MAX, TW_MIN and TW_PROD are taken
 * in memory of the host. */

/** recv[count] = the reduction over the ranks of send[count], the same bits on all ranks. */
tw_status_t tw_allreduce(tw_comm_t *comm, const void *send, void *recv, size_t count,
                         tw_reduction_t reduction, const tw_how_t *how);
tw_status_t tw_iallreduce(tw_comm_t *comm, const void *send, void *recv, size_t count,
                          tw_reduction_t reduction, const tw_how_t *how, tw_request_t **request_p);
tw_status_t tw_allreduce_init(tw_comm_t *comm, const void *send, void *recv, size_t count,
                              tw_reduction_t reduction, const tw_how_t *how, tw_request_t **plan_p);

/** As tw_allreduce with the result on the root only; recv is ignored elsewhere (except as input
 * with TW_IN_PLACE on the root, where alone it is allowed). */
tw_status_t tw_reduce(tw_comm_t *comm, const void *send, void *recv, size_t count,
                      tw_reduction_t reduction, int root, const tw_how_t *how);
tw_status_t tw_ireduce(tw_comm_t *comm, const void *send, void *recv, size_t count,
                       tw_reduction_t reduction, int root, const tw_how_t *how,
                       tw_request_t **request_p);
tw_status_t tw_reduce_init(tw_comm_t *comm, const void *send, void *recv, size_t count,
                           tw_reduction_t reduction, int root, const tw_how_t *how,
                           tw_request_t **plan_p);

/** Rank r receives the counts[r] elements of the reduced vector that follow those of the ranks
 * before it. send holds the sum of counts; TW_IN_PLACE: recv holds it, and its first counts[rank]
 * elements become the result. counts[size] equal on all ranks; copied. One quantisation: the result
 * is not encoded again. */
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

/** Start a plan that is not running: a plan runs from tw_start() until tw_wait() or tw_test() has
 * said that it is complete.
 * @return TW_OK, TW_ERR_BUSY (running), TW_ERR_INVALID_ARG (no plan), TW_ERR_MISMATCH, ... */
tw_status_t tw_start(tw_request_t *plan);

/** Wait until the operation is complete. A nonblocking request is released and *request_p set to
 * NULL, on failure too; a plan stays and may be started again. NULL in *request_p, or a plan that
 * is not running, is complete. */
tw_status_t tw_wait(tw_request_t **request_p);

/** Wait, for `milliseconds` at most; *done_p = 1 if complete (then as tw_wait()), else 0. Where a
 * progress thread advances operations, the calling thread sleeps meanwhile, and other threads may
 * start operations on the communicator; else it advances them itself. 0: as tw_test().
 * @return as tw_wait(); TW_ERR_INVALID_ARG (milliseconds below 0) */
tw_status_t tw_wait_for(tw_request_t **request_p, int milliseconds, int *done_p);

/** Advance; *done_p = 1 if complete (then as tw_wait()), else 0. Does not block. */
tw_status_t tw_test(tw_request_t **request_p, int *done_p);

/** Release a plan that is not running and set *plan_p to NULL; NULL is allowed.
 * @return TW_OK, TW_ERR_BUSY, TW_ERR_INVALID_ARG (a nonblocking request: complete it instead). */
tw_status_t tw_request_free(tw_request_t **plan_p);

/** The algorithm that was chosen for a request or plan: "direct", "two_pass", "grid",
 * "hierarchical", "node", "tree", "pairwise", ...; "mpi" is MPI's own collective. */
const char *tw_request_algorithm(const tw_request_t *request);

/** The full spec of the codec of a request or plan: what was chosen for `auto`. Lives as long as
 * the codec. */
const char *tw_request_codec(const tw_request_t *request);

TW_END_DECLS

#endif /* THINWIRE_COLLECTIVE_H */
