/* SPDX-License-Identifier: BSD-3-Clause
 * transport/auto/calibrate.c - the phases of a measurement; see calibrate.h.
 */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "runtime/base/clock.h"
#include "runtime/base/fpmode.h"
#include "runtime/transport/auto/calibrate.h"
#include "runtime/transport/engine/helper.h"
#include "runtime/transport/coll/plain/plain.h"
#include "runtime/transport/engine/request.h"
#include "runtime/transport/comm/sync.h"

/* ---- the gauge ------------------------------------------------------------------------------- */

void tw_gauge_phase(tw_gauge_t *g, double budget)
{
    g->start_ns = tw_clock_ns();
    g->budget   = budget;
    g->elapsed  = 0.0;
}

static tw_status_t tw_gauge_reduce(tw_gauge_t *g, double *values, int count, bool sum)
{
    if (tw_plain_blocks(g->comm)) { /* at once: this is called between all measurements */
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

tw_status_t tw_gauge_wait(tw_gauge_t *g, int count, MPI_Request *requests)
{
    tw_status_t status = TW_OK;
    int         done   = 0;

    if (!tw_plain_blocks(g->comm)) {
        return tw_sync_wait(g->comm, count, requests, "measuring");
    }
    while (status == TW_OK && !done) {
        status =
            tw_comm_mpi(g->comm, g->comm->mpi->Testall(count, requests, &done, MPI_STATUSES_IGNORE),
                        "MPI_Testall");
    }
    return status;
}

static tw_status_t tw_gauge_together(tw_gauge_t *g)
{
    double    nothing = 0.0;
    const int zero    = 0;
    int       any;

    if (!tw_plain_blocks(g->comm)) {
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
        qsort(times, (size_t)repeats, sizeof(times[0]), tw_gauge_compare);
        *seconds_p = times[repeats / 4] > 1e-9 ? times[repeats / 4] : 1e-9;
    }
    return status;
}

/* ---- phases ---------------------------------------------------------------------------------- */

/* Numbers as a codec meets them. */
static void tw_gauge_fill(uint8_t *bytes, size_t room)
{
    uint32_t state = 12345;

    for (size_t at = 0; at + sizeof(float) <= room; at += sizeof(float)) {
        float x;

        state = state * 1664525u + 1013904223u;
        x     = (float)(int32_t)state * 0x1p-31f;
        memcpy(bytes + at, &x, sizeof(x));
    }
}

static tw_status_t tw_calibrate_phases(tw_gauge_t *g, double seconds, tw_facts_t *facts)
{
    static const struct {
        double part;
        tw_status_t (*measure)(tw_gauge_t *, tw_facts_t *);
    } phases[]         = {{0.15, tw_gauge_links},
                          {0.20, tw_gauge_codecs},
                          {0.40, tw_gauge_plain},
                          {0.25, tw_gauge_factors}};
    tw_status_t status = TW_OK;

    for (size_t p = 0; p < sizeof(phases) / sizeof(phases[0]) && status == TW_OK; p++) {
        tw_gauge_phase(g, phases[p].part * seconds);
        status = phases[p].measure(g, facts);
    }
    return status;
}

/* Room for a vector for every rank, or less where there are many. */
static size_t tw_calibrate_room(const tw_comm_t *comm, bool long_form)
{
    const size_t least = ((size_t)64 << 10) * (size_t)comm->size;
    const size_t usual = long_form ? (size_t)64 << 20 : (size_t)1 << 20;

    return least > usual ? least : usual;
}

TW_IN_FPMODE static tw_status_t tw_calibrate_here(tw_comm_t *comm, double seconds,
                                                  tw_facts_t *facts)
{
    const tw_stats_t stats = comm->stats;
    tw_gauge_t       g     = {
                  .comm = comm, .node = comm->nodes.node_of, .long_form = seconds >= TW_CALIBRATE_LONG};
    tw_facts_t  found = {.ranks       = comm->size,
                         .nodes       = comm->nodes.count,
                         .local_ranks = comm->nodes.most,
                         .long_form   = g.long_form};
    void       *send = NULL, *recv = NULL, *requests = NULL;
    tw_status_t status;

    tw_comm_enter(comm);
    g.room = tw_calibrate_room(comm, g.long_form);
    status = tw_comm_agreed_get(comm, g.room, &send);
    if (status == TW_OK) {
        status = tw_comm_agreed_get(comm, g.room, &recv);
    }
    if (status == TW_OK) {
        status = tw_comm_agreed_get(comm, 2 * (size_t)comm->size * sizeof(MPI_Request), &requests);
    }
    if (status == TW_OK) {
        g.send     = send;
        g.recv     = recv;
        g.requests = requests;
        tw_gauge_fill(send, g.room);
        memset(recv, 0, g.room);
    }
    if (status == TW_OK) {
        status = tw_calibrate_phases(&g, seconds, &found);
    }
    if (status == TW_OK) {
        status = tw_calibration_share(comm, &found);
    }
    if (comm->status == TW_OK) {
        tw_pool_put(&comm->pool, send);
        tw_pool_put(&comm->pool, recv);
        tw_pool_put(&comm->pool, requests);
        tw_pool_trim(&comm->pool, comm->reserved);
    }
    comm->stats = stats; /* what was counted here is no traffic of the program */
    if (status == TW_OK) {
        *facts = found;
    }
    tw_comm_leave(comm);
    return status;
}

tw_status_t tw_calibrate(tw_comm_t *comm, double seconds, tw_facts_t *facts)
{
    const tw_fpmode_t mode   = tw_fpmode_enter();
    const tw_status_t status = tw_calibrate_here(comm, seconds, facts);

    tw_fpmode_leave(mode);
    return status;
}
