/* SPDX-License-Identifier: BSD-3-Clause
 * thinwire/store.h - communicators without MPI: processes that find each other through a key-value
 * store, and send by TCP.
 *
 * For processes that no MPI launcher started, such as those of torchrun, or of srun without PMI.
 * The functions are those of the library libthinwire-store, which loads no MPI; it has all public
 * functions but tw_comm_create(). Programs that use it define THINWIRE_NO_MPI before they include
 * any header, which then needs no mpi.h, and link it instead of libthinwire:
 *
 *     cc -DTHINWIRE_NO_MPI program.c -lthinwire-store
 */
#ifndef THINWIRE_STORE_H
#define THINWIRE_STORE_H

#include <stddef.h>

#include <thinwire/comm.h>
#include <thinwire/context.h>
#include <thinwire/declare.h>
#include <thinwire/status.h>

TW_BEGIN_DECLS

/** A store that all ranks reach, such as a server of one of them, or a folder that they share. Both
 * functions return 0 if they succeeded; they are called by the thread that creates a communicator,
 * and not afterwards. */
typedef struct tw_store {
    void *user; /* first argument of both */

    /* Keep a copy of `size` bytes under a key, at once or before get() returns them elsewhere. */
    int (*put)(void *user, const char *key, const void *bytes, size_t size);

    /* Wait until there is a key, at most `seconds` (0: as long as the store finds right), and copy
     * its bytes. Fails unless there are `size` of them. */
    int (*get)(void *user, const char *key, void *bytes, size_t size, double seconds);
} tw_store_t;

/** Create a communicator of the processes that call this with the same store and name. Collective
 * over them, and nobody else. Each listens at a port of its own for the others, who identify
 * themselves by a random number from the store: who can read the store can send messages.
 * Connections are made where messages are sent, and closed with the communicator. If a rank's
 * process ends without tw_comm_destroy(), calls on the others return TW_ERR_MPI, with a log line
 * that names it, and then TW_ERR_DEAD. A child of fork() is no rank and makes no calls on it; its
 * copies of the connections are closed.
 * @param [in]  ctx      must outlive the communicator; may serve several.
 * @param [in]  rank     of this process: 0 .. size-1, different in each.
 * @param [in]  size     number of processes, the same in each.
 * @param [in]  store    used during this call only.
 * @param [in]  name     with which the keys begin, 1 to 200 characters; no other communicator made
 *                       by this store, before or after, has the same.
 * @param [in]  towards  host name or address, such as the store's host: unless THINWIRE_ADDRESS
 *                       names one, a rank is reached at the address from which its machine sends
 *                       there. NULL: at that of the default route.
 * @param [out] comm_p   set only on TW_OK; release it with tw_comm_destroy().
 * @return as tw_comm_create(): the same on every rank if the store serves all of them. Besides
 *         TW_ERR_NETWORK (no socket, or the store did not take a key), TW_ERR_TIMEOUT (a rank did
 *         not come within THINWIRE_TIMEOUT, or the time limit of the store), TW_ERR_MISMATCH (other
 *         version, byte order or size; keys of another communicator), TW_ERR_SETTING
 *         (THINWIRE_ADDRESS), each logged; TW_ERR_INVALID_ARG.
 * Threads: as for tw_comm_create() with MPI_THREAD_MULTIPLE. Cost: three keys for each rank. */
tw_status_t tw_comm_create_store(tw_context_t *ctx, int rank, int size, const tw_store_t *store,
                                 const char *name, const char *towards, tw_comm_t **comm_p);

TW_END_DECLS

#endif /* THINWIRE_STORE_H */
