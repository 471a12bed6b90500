/* SPDX-License-Identifier: BSD-3-Clause
 * thinwire/comm.h - a communicator: the place where codecs meet MPI.
 */
#ifndef THINWIRE_COMM_H
#define THINWIRE_COMM_H

#include <stddef.h>
#include <stdint.h>

#include <mpi.h>

#include <thinwire/context.h>
#include <thinwire/declare.h>
#include <thinwire/status.h>
#include <thinwire/topology.h>

TW_BEGIN_DECLS

typedef struct tw_comm tw_comm_t;

/** The ways in which messages can travel (THINWIRE_TRANSPORT) that are built in: "mpi" or "mpi,
 * ucx". The string is static. Safe from any thread. */
const char *tw_endpoints(void);

/** Create a communicator over the ranks of an MPI intracommunicator. Collective over parent.
 * Duplicates parent (errors of MPI calls on the duplicate are returned, not fatal). All ranks
 * compare version, byte order and the settings that matter on the wire; if one differs, or one
 * has no memory, all ranks get an error and a log line names the rank and the setting.
 * @param [in]  ctx     must outlive the communicator; may serve several.
 * @param [in]  parent  MPI must be initialised; inter-communicators are unsupported.
 * @param [out] comm_p  set only on TW_OK; release it with tw_comm_destroy().
 * @return the same on every rank: TW_OK, TW_ERR_MISMATCH, TW_ERR_SETTING (a setting is out of range
 *         on some rank), TW_ERR_NO_MEMORY, TW_ERR_MPI, TW_ERR_TIMEOUT (THINWIRE_TIMEOUT),
 *         TW_ERR_NETWORK, TW_ERR_IO (THINWIRE_DECISIONS cannot be read or written), and where
 *         THINWIRE_DEVICE is a number, what tw_comm_bind_device() says; and
 *         locally, before anything is sent: TW_ERR_INVALID_ARG, TW_ERR_UNSUPPORTED.
 * Threads: one thread at a time per communicator; different communicators may be used by different
 * threads if MPI was initialised with MPI_THREAD_MULTIPLE. */
tw_status_t tw_comm_create(tw_context_t *ctx, MPI_Comm parent, tw_comm_t **comm_p);

/** Release a communicator. Collective. Before MPI_Finalize.
 * @return TW_OK, TW_ERR_INVALID_ARG, TW_ERR_BUSY (requests or feedback objects are left; nothing
 *         is released), TW_ERR_MPI. A dead communicator is released without communication. */
tw_status_t tw_comm_destroy(tw_comm_t *comm);

/** Rank of the caller, 0 .. size-1; -1 for NULL. */
int tw_comm_rank(const tw_comm_t *comm);

/** Number of ranks; 0 for NULL. */
int tw_comm_size(const tw_comm_t *comm);

/** TW_OK while the communicator works; after an MPI error or a timeout, that error: from then on
 * every call on it returns TW_ERR_DEAD at once. */
tw_status_t tw_comm_status(const tw_comm_t *comm);

/** Advance everything that is outstanding on the communicator; does not block. To be called now and
 * then by who computes while something travels (unless THINWIRE_PROGRESS=thread does it), from one
 * thread.
 * @return TW_OK, TW_ERR_INVALID_ARG, TW_ERR_DEAD; TW_ERR_MPI, TW_ERR_TIMEOUT, ... where it dies by
 *         this. */
tw_status_t tw_comm_advance(tw_comm_t *comm);

/** Have a thread advance what is outstanding while the program is elsewhere, as with
 * THINWIRE_PROGRESS=thread; it ends with the communicator, or in MPI_Finalize, whatever is
 * outstanding then. Calls may then come from several threads, one at a time. Nothing happens if
 * there is one already. Local; ranks may differ.
 * @return TW_OK, TW_ERR_INVALID_ARG, TW_ERR_UNSUPPORTED (MPI was not initialised with
 *         MPI_THREAD_MULTIPLE; logged), TW_ERR_NO_MEMORY (logged). */
tw_status_t tw_comm_start_progress(tw_comm_t *comm);

/** The place of this rank on its machine: which GPU, cores, NUMA node and network interface are its
 * own, by the rules of docs/topology.md, from the bindings and the visible devices of all ranks
 * there. Collective where the communicator does not know it, that is at the first call, unless
 * THINWIRE_BIND, THINWIRE_DEVICE or tw_comm_bind_device() came before; takes milliseconds then, on
 * large machines some hundreds of them. Messages follow the places from then on: results of
 * collectives are the same bits. So do the groups of TW_SCHEME_GROUP (thinwire/hybrid.h): examples
 * then share other passes, so sums over examples are added in another order, the same wherever
 * ranks are placed alike.
 * @param [out] node_p   the machine; NULL: not wanted. Lives as long as the communicator.
 * @param [out] place_p  as tw_place() gives it. Lives as long as the communicator.
 * @return the same on all ranks: TW_OK, TW_ERR_NO_MEMORY, TW_ERR_MPI, TW_ERR_TIMEOUT, TW_ERR_DEAD;
 *         and locally TW_ERR_INVALID_ARG, TW_ERR_UNSUPPORTED (this machine could not be described;
 *         logged).
 */
tw_status_t tw_comm_place(tw_comm_t *comm, const tw_node_t **node_p, const tw_place_t **place_p);

/* Devices for tw_comm_bind_device(), beside their numbers in CUDA. */
#define TW_BIND_NONE    (-1) /* none                                                            */
#define TW_BIND_AUTO    (-2) /* the one of the rank's place; the processor where CUDA has none  */
#define TW_BIND_SETTING (-3) /* what THINWIRE_DEVICE says                                       */
#define TW_BIND_ALIKE                                                                              \
    (-4) /* as TW_BIND_AUTO; but where one of the ranks that say so can have
                                none, none of them has one                                     */

#define TW_BIND_WHY 192 /* bytes that are enough for why */

/** Make a CUDA device the current one of the calling thread, as cudaSetDevice() does, and start it.
 * Collective; ranks may wish differently. Where one wishes for a device, all ranks of a machine
 * find the same places, from what CUDA counts on each rank: CUDA_VISIBLE_DEVICES, device cgroups,
 * parts of GPUs (MIG) and what the launcher has bound are in it. So are the job's ranks on that
 * machine that are not in the communicator, if the launcher numbers them (docs/topology.md); else a
 * line warns that they may take the same devices. THINWIRE_DEVICE does the same in
 * tw_comm_create().
 * @param [in]  device    its number in this process, or one of TW_BIND_.
 * @param [out] device_p  its number; -1: the rank has none, and computes on its processor. Set only
 *                        on TW_OK.
 * @param [out] why       why a rank that wished for one has none, a line without its end,
 *                        TW_BIND_WHY bytes at most: "there is no CUDA driver". With TW_BIND_ALIKE
 *                        the words of the first rank that has none, on all of them: "rank 3: there
 *                        is no CUDA driver". Else "". Set only on TW_OK; NULL if size is 0.
 * @param [in]  size      bytes of why.
 * @return the same on every rank: TW_OK; the worst of what the ranks with a number have found, of
 *         which each logs a line: TW_ERR_UNSUPPORTED (no CUDA in the build, no driver, one that is
 *         too old, no device), TW_ERR_RANGE (no such number; TW_ERR_SETTING for THINWIRE_DEVICE),
 *         TW_ERR_BUSY (another process has it alone), TW_ERR_NO_MEMORY (of the device, too),
 *         TW_ERR_IO (another error of CUDA's); TW_ERR_MPI, TW_ERR_TIMEOUT, TW_ERR_DEAD; and locally
 *         TW_ERR_INVALID_ARG.
 * With TW_BIND_AUTO and TW_BIND_ALIKE that is no error, but for a device that was started and
 * cannot be made the current one (TW_ERR_IO): why says it, and a line in the log, with TW_BIND_AUTO
 * a warning. On an error the current device is the one before. */
tw_status_t tw_comm_bind_device(tw_comm_t *comm, int device, int *device_p, char *why, size_t size);

/** Counters since creation or the last tw_comm_stats_reset(), of this rank. */
typedef struct tw_stats {
    uint64_t calls;         /* collectives started                                       */
    uint64_t messages_sent; /* MPI messages                                              */
    uint64_t bytes_sent; /* bytes of messages to other ranks: what is on the wire, nothing of what
                                   passes through a node's memory; of MPI's own collectives (auto)
                                   what they must send at least                              */
    uint64_t bytes_received;
    uint64_t bytes_uncompressed; /* what bytes_sent would be if every value travelled as it is */
    uint64_t quantisations;      /* lossy encode passes over a value, times values            */
    uint64_t encode_ns;          /* time in encode, decode and adding, in nanoseconds         */
    uint64_t decode_ns;
    uint64_t wait_ns; /* time in blocking calls and waits outside encode and decode, but for
                                   MPI's own blocking collectives                            */
    uint64_t pool_allocations; /* times the buffer pool asked the system for memory         */
    uint64_t pool_bytes;       /* bytes the buffer pool holds now (never reset)             */
    uint64_t bytes_network;    /* of bytes_sent, those to ranks of other nodes              */
    uint64_t bytes_memory;     /* to ranks of this rank's node: those of bytes_sent, and of what
                                   passes through the memory that they share as much as must    */
    uint64_t bytes_elements;   /* what calls were given, with any codec and algorithm: vectors; of
                                   allgather the own block, of alltoall all that leave          */
} tw_stats_t;

/** @return TW_OK, TW_ERR_INVALID_ARG. Local. */
tw_status_t tw_comm_stats(const tw_comm_t *comm, tw_stats_t *stats);
tw_status_t tw_comm_stats_reset(tw_comm_t *comm);

TW_END_DECLS

#endif /* THINWIRE_COMM_H */
