/* SPDX-License-Identifier: BSD-3-Clause
 * interpose/mpi/watch.h - calls that are counted and passed on: collectives that nothing is
 * compressed of, and the persistent and large-count forms of those that we compress.
 *
 * What the generated wrappers call: tw_watch_begin(), one of the functions that give the bytes,
 * MPI, tw_call_end(). A persistent collective is kept instead and counted when it is started.
 */
#ifndef TW_INTERPOSE_WATCH_H
#define TW_INTERPOSE_WATCH_H

#include "interpose/call.h"
#include "interpose/mpi/messages.h"

/* One count, or one for each rank or neighbour. */
typedef struct tw_watch_counts {
    MPI_Count        one;
    const int       *ints;
    const MPI_Count *larges;
} tw_watch_counts_t;

#define TW_ONE(count)     ((tw_watch_counts_t){.one = (count)})
#define TW_INTS(counts)   ((tw_watch_counts_t){.ints = (counts)})
#define TW_LARGES(counts) ((tw_watch_counts_t){.larges = (counts)})

/* form: 0 usual, 1 persistent, 2 large count. */
void tw_watch_begin(tw_call_t *call, const void *site, int op, int nonblocking, int form,
                    MPI_Comm comm);

/* ---- bytes --------------------------------------------------------------------------------- */

static inline void tw_watch_nothing(tw_call_t *call)
{
    (void)call;
}

/* A vector, which all counts together are. */
void tw_watch_vector(tw_call_t *call, tw_watch_counts_t counts, MPI_Datatype datatype);

/* A piece from every other rank: what all receive is what all send. */
void tw_watch_pieces(tw_call_t *call, tw_watch_counts_t counts, MPI_Datatype datatype);

/* To and from a root, where other counts are significant than elsewhere. */
void tw_watch_gather(tw_call_t *call, int root, tw_watch_counts_t there, MPI_Datatype there_type,
                     tw_watch_counts_t here, MPI_Datatype here_type);
void tw_watch_scatter(tw_call_t *call, int root, tw_watch_counts_t there, MPI_Datatype there_type,
                      tw_watch_counts_t here, MPI_Datatype here_type);

/* Pieces of different types, which C or Fortran names; the other array is NULL. */
void tw_watch_pairs(tw_call_t *call, tw_watch_counts_t counts, const MPI_Datatype types[],
                    const MPI_Fint types_f[]);

/* To each neighbour of a topology. */
void tw_watch_neighbours(tw_call_t *call, tw_watch_counts_t counts, MPI_Datatype datatype);
void tw_watch_neighbour_pairs(tw_call_t *call, tw_watch_counts_t counts, const MPI_Datatype types[],
                              const MPI_Fint types_f[]);

/* ---- persistent ---------------------------------------------------------------------------- */

/* After MPI has made the request: its starts are counted as this call. */
void tw_persistent_add(const tw_call_t *call, int result, tw_requests_t request);

extern int tw_persistent_count;

static inline bool tw_persistent_any(void)
{
    return __builtin_expect(__atomic_load_n(&tw_persistent_count, __ATOMIC_ACQUIRE) > 0, 0);
}

/* Around the start of requests, of which some are ours: the time before it; count those that we
 * know. A time of 0 counts nothing. While recording, for the time of all others as well. */
uint64_t tw_persistent_before(void);
void     tw_persistent_after(uint64_t start_ns, int count, tw_requests_t requests);

/* Before a request is freed, whose handle may come back as another one. 0. */
uint64_t tw_persistent_free(tw_requests_t request);

#endif /* TW_INTERPOSE_WATCH_H */
