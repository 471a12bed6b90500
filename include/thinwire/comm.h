/* SPDX-License-Identifier: BSD-3-Clause
 * thinwire/comm.h - communicators: an MPI communicator with codecs, transport and placement; and,
 * where THINWIRE_NO_MPI is defined, those of thinwire/store.h, without mpi.h.
 */
#ifndef THINWIRE_COMM_H
#define THINWIRE_COMM_H

#include <stddef.h>
#include <stdint.h>

#ifndef THINWIRE_NO_MPI
#include <mpi.h>
#endif

#include <thinwire/context.h>
#include <thinwire/declare.h>
#include <thinwire/status.h>
#include <thinwire/topology.h>

TW_BEGIN_DECLS

typedef struct tw_comm tw_comm_t;

/** Transports (THINWIRE_TRANSPORT) in this build: "mpi" or "mpi, ucx". The string is static. Safe
 * from any thread. */
const char *tw_endpoints(void);

#ifndef THINWIRE_NO_MPI
/** Create a communicator over the ranks of an MPI intracommunicator. Collective over parent.
 * Duplicates parent; errors of MPI calls on the duplicate are returned, not fatal. All ranks
 * compare version, byte order and the settings that affect messages; if one differs, or a rank has
 * no memory, all ranks get an error, and a log line names the rank and the setting.
 * @param [in]  ctx     must outlive the communicator; may serve several.
 * @param [in]  parent  MPI must be initialised; inter-communicators are unsupported.
 * @param [out] comm_p  set only on TW_OK; release it with tw_comm_destroy().
 * @return the same on every rank: TW_OK, TW_ERR_MISMATCH, TW_ERR_SETTING (a setting is out of range
 *         on some rank), TW_ERR_NO_MEMORY, TW_ERR_MPI, TW_ERR_TIMEOUT (THINWIRE_TIMEOUT),
 *         TW_ERR_NETWORK, TW_ERR_IO (THINWIRE_DECISIONS cannot be read or written), and if
 *         THINWIRE_DEVICE is a number, the errors of tw_comm_bind_device(); and
 *         locally, before communication: TW_ERR_INVALID_ARG, TW_ERR_UNSUPPORTED.
 * Threads: one thread at a time per communicator. Different threads may use different communicators
 * if MPI was initialised with MPI_THREAD_MULTIPLE. */
tw_status_t tw_comm_create(tw_context_t *ctx, MPI_Comm parent, tw_comm_t **comm_p);
#endif

/** Release a communicator. Collective. Before MPI_Finalize.
 * @return TW_OK, TW_ERR_INVALID_ARG, TW_ERR_BUSY (requests or feedback objects exist; nothing is
 *         released), TW_ERR_MPI. A dead communicator is released without communication. */
tw_status_t tw_comm_destroy(tw_comm_t *comm);

/** Rank of the caller, 0 .. size-1; -1 for NULL. */
int tw_comm_rank(const tw_comm_t *comm);

/** Number of ranks; 0 for NULL. */
int tw_comm_size(const tw_comm_t *comm);

/** The node of a rank: nodes are numbered by their lowest rank, from 0. Equal on all ranks, by the
 * memory that ranks share, and by THINWIRE_NODE_RANKS. -1 for NULL and for other ranks. */
int tw_comm_node(const tw_comm_t *comm, int rank);

/** TW_OK while the communicator works; TW_ERR_INVALID_ARG for NULL. After an MPI error, a timeout
 * or another fatal error (thinwire/collective.h) the communicator is dead: this function returns
 * that error, and every call on the communicator returns TW_ERR_DEAD at once. */
tw_status_t tw_comm_status(const tw_comm_t *comm);

/** Give up a call in which nothing has moved for so long, as THINWIRE_TIMEOUT does for all
 * communicators. Local; to be called on all ranks before the first collective call.
 * @param [in] seconds  0 or less: wait for ever. Ranks may pass different limits.
 * @return TW_OK, TW_ERR_INVALID_ARG. */
tw_status_t tw_comm_set_timeout(tw_comm_t *comm, double seconds);

/** Make the communicator dead, without communication: calls that wait on it return TW_ERR_DEAD
 * soon, all others at once. Other ranks learn of it by their time limits. From any thread.
 * @return TW_OK, TW_ERR_INVALID_ARG. */
tw_status_t tw_comm_abort(tw_comm_t *comm);

/** Advance all outstanding operations of the communicator; does not block. A program that computes
 * during an exchange calls it regularly, from one thread (unless THINWIRE_PROGRESS=thread advances
 * them).
 * @return TW_OK, TW_ERR_INVALID_ARG, TW_ERR_DEAD; TW_ERR_MPI, TW_ERR_TIMEOUT, ... if the
 *         communicator dies during this call. */
tw_status_t tw_comm_advance(tw_comm_t *comm);

/** Start a thread that advances outstanding operations while the program does not call the library,
 * as THINWIRE_PROGRESS=thread does. The thread ends with the communicator or in MPI_Finalize, even
 * if operations are outstanding. Several threads may then make calls, one at a time. Does nothing
 * if the thread exists. Local; ranks may differ.
 * @return TW_OK, TW_ERR_INVALID_ARG, TW_ERR_UNSUPPORTED (MPI was not initialised with
 *         MPI_THREAD_MULTIPLE; logged), TW_ERR_NO_MEMORY (logged). */
tw_status_t tw_comm_start_progress(tw_comm_t *comm);

/** The place of this rank on its machine: its GPU, cores, NUMA node and network interface, assigned
 * by the rules of docs/topology.md from the bindings and visible devices of all ranks there.
 * Collective if the communicator has no places yet: at the first call, unless THINWIRE_BIND,
 * THINWIRE_DEVICE or tw_comm_bind_device() assigned them. That call takes milliseconds, on large
 * machines hundreds of them. From then on the order of messages follows the places; results of
 * collectives keep the same bits. The groups of TW_SCHEME_GROUP (thinwire/hybrid.h) follow the
 * places too: other examples share a pass, and sums over examples are added in an order that
 * depends only on the places.
 * @param [out] node_p   the machine; may be NULL. Lives as long as the communicator.
 * @param [out] place_p  as in tw_place(). Lives as long as the communicator.
 * @return the same on all ranks: TW_OK, TW_ERR_NO_MEMORY, TW_ERR_MPI, TW_ERR_TIMEOUT, TW_ERR_DEAD;
 *         and locally TW_ERR_INVALID_ARG, TW_ERR_UNSUPPORTED (this machine cannot be described;
 *         logged).
 */
tw_status_t tw_comm_place(tw_comm_t *comm, const tw_node_t **node_p, const tw_place_t **place_p);

/* Values of device in tw_comm_bind_device(), besides CUDA device numbers. */
#define TW_BIND_NONE    (-1) /* no device */
#define TW_BIND_AUTO    (-2) /* the device of the rank's place; the processor if CUDA has none */
#define TW_BIND_SETTING (-3) /* the value of THINWIRE_DEVICE */
#define TW_BIND_ALIKE                                                                              \
    (-4) /* as TW_BIND_AUTO, but if one of the ranks that pass this has no device,
            none of them gets one */

#define TW_BIND_WHY 192 /* size of why that always suffices, in bytes */

/** Make a CUDA device the current one of the calling thread, as cudaSetDevice() does, and
 * initialise it. Collective; ranks may pass different values. If a rank requests a device, all
 * ranks of a machine compute the same places from the devices that CUDA reports to each rank, which
 * reflect CUDA_VISIBLE_DEVICES, device cgroups, parts of GPUs (MIG) and the launcher's bindings.
 * The job's ranks on that machine that are not in the communicator are included if the launcher
 * numbers them (docs/topology.md); otherwise a log line warns that they may use the same devices.
 * THINWIRE_DEVICE does the same in tw_comm_create().
 * @param [in]  device    its number in this process, or a TW_BIND_ value.
 * @param [out] device_p  its number; -1: the rank has no device and computes on its processor. Set
 *                        only on TW_OK.
 * @param [out] why       reason why a rank that requested a device has none, one line without
 *                        newline, at most TW_BIND_WHY bytes: "there is no CUDA driver". With
 *                        TW_BIND_ALIKE the reason of the first rank without a device, on all of
 *                        them: "rank 3: there is no CUDA driver". Otherwise "". Set only on TW_OK;
 *                        may be NULL if size is 0.
 * @param [in]  size      bytes of why.
 * @return the same on every rank: TW_OK; or the worst error of the ranks that passed a number, each
 *         of which logs a line: TW_ERR_UNSUPPORTED (no CUDA in the build, no driver, a driver that
 *         is too old, no device), TW_ERR_RANGE (no such number; TW_ERR_SETTING for
 *         THINWIRE_DEVICE), TW_ERR_BUSY (another process uses it exclusively), TW_ERR_NO_MEMORY
 *         (also of the device), TW_ERR_IO (another CUDA error); TW_ERR_MPI, TW_ERR_TIMEOUT,
 *         TW_ERR_DEAD; and locally TW_ERR_INVALID_ARG.
 * With TW_BIND_AUTO and TW_BIND_ALIKE a missing device is not an error: why gives the reason, and a
 * log line, with TW_BIND_AUTO a warning if the build has CUDA. But a device that was initialised
 * and cannot be made current is an error (TW_ERR_IO). On an error the previous device stays
 * current. */
tw_status_t tw_comm_bind_device(tw_comm_t *comm, int device, int *device_p, char *why, size_t size);

/** Counters since creation or the last tw_comm_stats_reset(), of this rank. */
typedef struct tw_stats {
    uint64_t calls;         /* collectives started */
    uint64_t messages_sent; /* messages to other ranks */
    uint64_t bytes_sent;    /* bytes of messages to other ranks, without data in a node's shared
                               memory; for MPI's own collectives the least that they must send */
    uint64_t bytes_received;
    uint64_t bytes_uncompressed; /* bytes_sent if every value were sent unencoded */
    uint64_t quantisations;      /* lossy encodings, counted per value */
    uint64_t encode_ns; /* encode_ns, decode_ns: nanoseconds in encoding, decoding, adding */
    uint64_t decode_ns;
    uint64_t wait_ns;          /* nanoseconds in blocking calls and waits, without encoding and
                                  decoding, and without MPI's own blocking collectives */
    uint64_t pool_allocations; /* allocations of the buffer pool from the system */
    uint64_t pool_bytes;       /* current bytes of the buffer pool (never reset) */
    uint64_t bytes_network;    /* of bytes_sent, those to ranks of other nodes */
    uint64_t bytes_memory;     /* to ranks of this rank's node: those of bytes_sent, and for data
                                  exchanged through shared memory the least that must pass */
    uint64_t bytes_elements; /* bytes of the calls' input, for any codec and algorithm: vectors; for
                                allgather this rank's block, for alltoall all blocks sent */
} tw_stats_t;

/** @return TW_OK, TW_ERR_INVALID_ARG. Local. */
tw_status_t tw_comm_stats(const tw_comm_t *comm, tw_stats_t *stats);
tw_status_t tw_comm_stats_reset(tw_comm_t *comm);

TW_END_DECLS

#endif /* THINWIRE_COMM_H */
