/* SPDX-License-Identifier: BSD-3-Clause
 * transport/auto/calibrate.h - measuring the facts of a communicator, and the file that stores
 * them.
 *
 * All ranks measure together and agree on every time: that of the slowest rank, the lower quartile
 * of several repetitions. The next measurement depends only on agreed times, computed in one
 * floating-point mode and without libm (policy/power.h), so that it is equal on all ranks. At the
 * end rank 0's facts are broadcast, so that all ranks make the same decisions.
 */
#ifndef TW_TRANSPORT_AUTO_CALIBRATE_H
#define TW_TRANSPORT_AUTO_CALIBRATE_H

#include "runtime/policy/model.h"
#include "runtime/transport/comm/comm.h"

#define TW_CALIBRATE_QUICK 0.05 /* seconds, when a call needs facts and there are none */
#define TW_CALIBRATE_LONG  1.0  /* least seconds of the long form                      */

/* Collective: measure for about `seconds`; the same status on all ranks. */
tw_status_t tw_calibrate(tw_comm_t *comm, double seconds, tw_facts_t *facts);

/* Collective: load rank 0's facts from THINWIRE_CALIBRATION or the cache folder to all ranks;
 * TW_ERR_RANGE if no file matches (a file that does not match is named in a warning). */
tw_status_t tw_calibration_load(tw_comm_t *comm, tw_facts_t *facts);

/* Collective: write facts to path (NULL: as above). path_p returns the name on rank 0. */
tw_status_t tw_calibration_save(tw_comm_t *comm, const tw_facts_t *facts, const char *path,
                                char *path_p, size_t path_size);

/* Collective: broadcast rank 0's facts. */
tw_status_t tw_calibration_share(tw_comm_t *comm, tw_facts_t *facts);

/* ---- inside ---------------------------------------------------------------------------------- */

#define TW_GAUGE_REPEATS  31
#define TW_GAUGE_MESSAGES 8 /* most messages in flight to one rank */

typedef struct tw_gauge {
    tw_comm_t   *comm;
    uint8_t     *send, *recv; /* of the pool, room bytes each                            */
    size_t       room;
    MPI_Request *requests; /* of the pool: to and from every rank, TW_GAUGE_MESSAGES     */
    bool         long_form;
    const int   *node;     /* of every rank                                               */
    uint64_t     start_ns; /* of the phase                                               */
    double       budget;   /* seconds of the phase                                       */
    double       elapsed;  /* of the phase, as agreed last                               */
} tw_gauge_t;

typedef tw_status_t (*tw_gauge_run_t)(tw_gauge_t *g, const void *what);

/* Begin a phase of `budget` seconds. */
void tw_gauge_phase(tw_gauge_t *g, double budget);

/* Sort in ascending order. */
void tw_gauge_sort(double *times, int n);

/* Time of the slowest rank: the lower quartile of repetitions that take about `seconds` in total,
 * since only few of them run undisturbed. */
tw_status_t tw_gauge_time(tw_gauge_t *g, double seconds, tw_gauge_run_t run, const void *what,
                          double *seconds_p);

/* Wait until the messages of a measurement are complete, as MPI waits: if tw_native_blocks(), spin,
 * since a rank that yields its core may get it back late. */
tw_status_t tw_gauge_wait(tw_gauge_t *g, int count, MPI_Request *requests);

/* Post messages of `bytes` bytes to and from every rank inside, or outside, this node, in the
 * buffers from `at` on. Adds their number to *posted_p, the count of g->requests. */
tw_status_t tw_gauge_post(tw_gauge_t *g, bool inside, size_t at, size_t bytes, int *posted_p);

/* Are `count` messages complete? Tests once. */
tw_status_t tw_gauge_test(tw_gauge_t *g, int count, MPI_Request *requests, int *done_p);

/* Maximum of the ranks' values, or their sum: bitwise equal on all ranks. */
tw_status_t tw_gauge_agree(tw_gauge_t *g, double *values, int count, bool sum);

/* Does the budget allow `seconds` more? Equal on all ranks. */
static inline bool tw_gauge_fits(const tw_gauge_t *g, double seconds)
{
    return g->elapsed + seconds < g->budget;
}

tw_status_t tw_gauge_links(tw_gauge_t *g, tw_facts_t *facts);
tw_status_t tw_gauge_processor(tw_gauge_t *g, tw_facts_t *facts);
tw_status_t tw_gauge_codecs(tw_gauge_t *g, tw_facts_t *facts);
tw_status_t tw_gauge_native(tw_gauge_t *g, tw_facts_t *facts);
tw_status_t tw_gauge_factors(tw_gauge_t *g, tw_facts_t *facts);

#endif /* TW_TRANSPORT_AUTO_CALIBRATE_H */
