/* SPDX-License-Identifier: BSD-3-Clause
 * transport/auto/gauge.c - measurement of a time by all ranks together; see calibrate.h.
 */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "runtime/base/clock.h"
#include "runtime/base/fpmode.h"
#include "runtime/transport/auto/calibrate.h"
#include "runtime/transport/coll/native/native.h"
#include "runtime/transport/comm/sync.h"
#include "runtime/transport/comm/progress_thread.h"
#include "runtime/transport/engine/request.h"

void tw_gauge_phase(tw_gauge_t *g, double budget)
{
    g->start_ns = tw_clock_ns();
    g->budget   = budget;
    g->elapsed  = 0.0;
}

static tw_status_t tw_gauge_reduce(tw_gauge_t *g, double *values, int count, bool sum)
{
    if (tw_native_blocks(g->comm)) { /* at once: this is called between all measurements */
        return tw_comm_mpi(g->comm,
                           g->comm->mpi->Allreduce(MPI_IN_PLACE, values, count, MPI_DOUBLE,
                                                   sum ? MPI_SUM : MPI_MAX, g->comm->comm),
                           "MPI_Allreduce");
    }
    return tw_sync_allreduce(g->comm, values, values, count, sizeof(*values), MPI_DOUBLE,
                             sum ? MPI_SUM : MPI_MAX, "measuring");
}

tw_status_t tw_gauge_agree(tw_gauge_t *g, double *values, int count, bool sum)
{
    tw_status_t status = tw_gauge_reduce(g, values, count, sum);

    if (status == TW_OK && sum) { /* MPI need not add in the same order on all ranks */
        status = tw_sync_bcast(g->comm, values, count * (int)sizeof(*values), "measuring");
    }
    return status;
}

tw_status_t tw_gauge_test(tw_gauge_t *g, int count, MPI_Request *requests, int *done_p)
{
    return tw_comm_mpi(g->comm, g->comm->mpi->Testall(count, requests, done_p, MPI_STATUSES_IGNORE),
                       "MPI_Testall");
}

tw_status_t tw_gauge_wait(tw_gauge_t *g, int count, MPI_Request *requests)
{
    tw_status_t status = TW_OK;
    int         done   = 0;

    if (!tw_native_blocks(g->comm)) {
        return tw_sync_wait(g->comm, count, requests, "measuring");
    }
    while (status == TW_OK && !done) {
        status = tw_gauge_test(g, count, requests, &done);
    }
    return status;
}

static tw_status_t tw_gauge_together(tw_gauge_t *g)
{
    double    nothing = 0.0;
    const int zero    = 0;
    int       any;

    if (!tw_native_blocks(g->comm)) {
        return tw_gauge_agree(g, &nothing, 1, false);
    }
    return tw_comm_mpi(g->comm,
                       g->comm->mpi->Allreduce(&zero, &any, 1, MPI_INT, MPI_MAX, g->comm->comm),
                       "MPI_Allreduce");
}

/* Repetitions for which there should be time: anything may come between one. */
#define TW_GAUGE_LEAST 5

/* One repetition; the time of this rank. */
static tw_status_t tw_gauge_once(tw_gauge_t *g, tw_gauge_run_t run, const void *what,
                                 double *seconds_p)
{
    tw_status_t status = tw_gauge_together(g);
    uint64_t    start;

    if (status == TW_OK) {
        start      = tw_clock_ns();
        status     = run(g, what);
        *seconds_p = (double)(tw_clock_ns() - start) * 1e-9;
    }
    return status;
}

static int tw_gauge_compare(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

void tw_gauge_sort(double *times, int n)
{
    qsort(times, (size_t)n, sizeof(times[0]), tw_gauge_compare);
}

tw_status_t tw_gauge_time(tw_gauge_t *g, double seconds, tw_gauge_run_t run, const void *what,
                          double *seconds_p)
{
    double      times[TW_GAUGE_REPEATS + 1] = {0.0};
    int         repeats                     = 1;
    tw_status_t status                      = tw_gauge_once(g, run, what, times);

    if (status == TW_OK) { /* the first one opens connections; it says how many there is time for */
        status = tw_gauge_agree(g, times, 1, false);
        repeats =
            times[0] * TW_GAUGE_REPEATS < seconds ? TW_GAUGE_REPEATS : (int)(seconds / times[0]);
        repeats = repeats < TW_GAUGE_LEAST && tw_gauge_fits(g, TW_GAUGE_LEAST * times[0])
                      ? TW_GAUGE_LEAST
                      : repeats;
        repeats = repeats < 1 ? 1 : repeats;
    }
    for (int r = 0; r < repeats && status == TW_OK; r++) {
        status = tw_gauge_once(g, run, what, &times[r]);
    }
    times[repeats] = (double)(tw_clock_ns() - g->start_ns) * 1e-9;
    if (status == TW_OK) {
        status = tw_gauge_agree(g, times, repeats + 1, false);
    }
    if (status == TW_OK) {
        g->elapsed = times[repeats];
        tw_gauge_sort(times, repeats);
        *seconds_p = times[repeats / 4] > 1e-9 ? times[repeats / 4] : 1e-9;
    }
    return status;
}
