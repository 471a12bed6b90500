/* SPDX-License-Identifier: BSD-3-Clause
 * transport/auto/calibrate.h - measuring the facts of a communicator, and the file that keeps
 * them.
 *
 * All ranks measure together and agree on every time (that of the slowest rank, the lower quartile
 * of some repetitions); what each would have measured alone does not count. What is measured next
 * follows from agreed times, in one floating-point mode and without libm (policy/power.h), so that
 * all find the same. At the end rank 0's facts go to all, so that everything that is decided by
 * them is decided alike.
 */
#ifndef TW_TRANSPORT_AUTO_CALIBRATE_H
#define TW_TRANSPORT_AUTO_CALIBRATE_H

#include "runtime/policy/model.h"
#include "runtime/transport/comm/comm.h"

#define TW_CALIBRATE_QUICK 0.05 /* seconds, where nothing is known and a call waits */
#define TW_CALIBRATE_LONG  1.0  /* from so many on it is the long form              */

/* Collective: measure for about `seconds`; TW_OK on all ranks alike. */
tw_status_t tw_calibrate(tw_comm_t *comm, double seconds, tw_facts_t *facts);

/* Collective: facts from THINWIRE_CALIBRATION or the cache folder, rank 0's on all ranks;
 * TW_ERR_RANGE where there are none that fit (a file that does not is named in a warning). */
tw_status_t tw_calibration_load(tw_comm_t *comm, tw_facts_t *facts);

/* Collective: write them to path (NULL: as above). path_p gets the name on rank 0. */
tw_status_t tw_calibration_save(tw_comm_t *comm, const tw_facts_t *facts, const char *path,
                                char *path_p, size_t path_size);

/* Collective: rank 0's facts to all. */
tw_status_t tw_calibration_share(tw_comm_t *comm, tw_facts_t *facts);

/* ---- inside ---------------------------------------------------------------------------------- */

#define TW_GAUGE_REPEATS  31
#define TW_GAUGE_MESSAGES 8 /* most that are under way to one rank */

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

/* A phase of so many seconds begins. */
void tw_gauge_phase(tw_gauge_t *g, double budget);

/* The shortest first. */
void tw_gauge_sort(double *times, int n);

/* Time of the slowest rank: the lower quartile of repetitions that take about `seconds` together,
 * as only few of them are disturbed by nothing. */
tw_status_t tw_gauge_time(tw_gauge_t *g, double seconds, tw_gauge_run_t run, const void *what,
                          double *seconds_p);

/* Until the messages of a measurement are complete, as MPI's own calls wait: whoever gives its core
 * away may not get it back when it should. */
tw_status_t tw_gauge_wait(tw_gauge_t *g, int count, MPI_Request *requests);

/* Messages of so many bytes to and from every rank inside, or outside, this node: under way; in the
 * buffers from `at` on. Adds to *posted_p, of g->requests. */
tw_status_t tw_gauge_post(tw_gauge_t *g, bool inside, size_t at, size_t bytes, int *posted_p);

/* Are `count` messages complete? Looks once. */
tw_status_t tw_gauge_test(tw_gauge_t *g, int count, MPI_Request *requests, int *done_p);

/* Biggest of the ranks' values, or their sum: the same bits on all ranks. */
tw_status_t tw_gauge_agree(tw_gauge_t *g, double *values, int count, bool sum);

/* Is there time for something that takes so long? Equal on all ranks. */
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
