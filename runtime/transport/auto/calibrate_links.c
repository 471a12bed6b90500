/* SPDX-License-Identifier: BSD-3-Clause
 * transport/auto/calibrate_links.c - latency and bandwidth inside a node and between nodes: one
 * pair alone, and all ranks with all at once, since links are shared. Bandwidths come from the
 * difference of two sizes, which excludes latency and the initial burst of a traffic shaper.
 */
#include "config.h"

#include "runtime/transport/auto/calibrate.h"
#include "runtime/transport/comm/comm.h"

#define TW_LINK_SHORT 64 /* bytes */

typedef struct tw_link_pair {
    int    a, b;
    size_t bytes;
} tw_link_pair_t;

typedef struct tw_all {
    bool   inside;
    size_t bytes; /* for every rank */
    int    times; /* so many messages of them to each, all at once */
} tw_all_t;

static tw_status_t tw_one_message(tw_gauge_t *g, bool sending, int bytes, int peer)
{
    const tw_mpi_ops_t *mpi = g->comm->mpi;
    const tw_status_t   status =
        sending ? tw_comm_mpi(g->comm,
                                mpi->Isend(g->send, bytes, MPI_BYTE, peer, TW_TAG_SYNC, g->comm->comm,
                                           g->requests),
                                "MPI_Isend")
                  : tw_comm_mpi(g->comm,
                                mpi->Irecv(g->recv, bytes, MPI_BYTE, peer, TW_TAG_SYNC, g->comm->comm,
                                           g->requests),
                                "MPI_Irecv");

    return status == TW_OK ? tw_gauge_wait(g, 1, g->requests) : status;
}

/* There and back again. */
static tw_status_t tw_run_pair(tw_gauge_t *g, const void *what)
{
    const tw_link_pair_t *pair  = what;
    const int             rank  = g->comm->rank;
    const bool            first = rank == pair->a;
    tw_status_t           status;

    if (rank != pair->a && rank != pair->b) {
        return TW_OK;
    }
    status = tw_one_message(g, first, (int)pair->bytes, first ? pair->b : pair->a);
    return status == TW_OK ? tw_one_message(g, !first, (int)pair->bytes, first ? pair->b : pair->a)
                           : status;
}

tw_status_t tw_gauge_post(tw_gauge_t *g, bool inside, size_t at, size_t bytes, int *posted_p)
{
    tw_comm_t  *comm   = g->comm;
    tw_status_t status = TW_OK;
    int         posted = *posted_p;

    for (int i = 1; i < comm->size && status == TW_OK; i++) {
        const int peer = (comm->rank + comm->size - i) % comm->size;

        if ((g->node[peer] == g->node[comm->rank]) == inside) {
            status = tw_comm_mpi(comm,
                                 comm->mpi->Irecv(g->recv + at + (size_t)peer * bytes, (int)bytes,
                                                  MPI_BYTE, peer, TW_TAG_SYNC, comm->comm,
                                                  &g->requests[posted++]),
                                 "MPI_Irecv");
        }
    }
    for (int i = 1; i < comm->size && status == TW_OK; i++) {
        const int peer = (comm->rank + i) % comm->size;

        if ((g->node[peer] == g->node[comm->rank]) == inside) {
            status = tw_comm_mpi(comm,
                                 comm->mpi->Isend(g->send + at + (size_t)peer * bytes, (int)bytes,
                                                  MPI_BYTE, peer, TW_TAG_SYNC, comm->comm,
                                                  &g->requests[posted++]),
                                 "MPI_Isend");
        }
    }
    *posted_p = posted;
    return status;
}

/* Each with each, by class of link. */
static tw_status_t tw_run_all(tw_gauge_t *g, const void *what)
{
    const tw_all_t *all    = what;
    int             posted = 0;
    tw_status_t     status = TW_OK;

    for (int i = 0; i < all->times && status == TW_OK; i++) {
        status = tw_gauge_post(g, all->inside, (size_t)i * (size_t)g->comm->size * all->bytes,
                               all->bytes, &posted);
    }
    return status == TW_OK ? tw_gauge_wait(g, posted, g->requests) : status;
}

/* Seconds of two sizes, the larger four times the smaller and as large as there is time for. */
static tw_status_t tw_two_sizes(tw_gauge_t *g, double budget, size_t most, tw_gauge_run_t run,
                                void *what, size_t *bytes, size_t *larger_p, double *times)
{
    const double until  = g->elapsed + budget < g->budget ? g->elapsed + budget : g->budget;
    tw_status_t  status = TW_OK;
    size_t       size   = (size_t)64 << 10;

    *bytes = size < most ? size : most;
    status = tw_gauge_time(g, budget / 20.0, run, what, &times[1]);
    do {
        times[0]  = times[1];
        *bytes    = 4 * *bytes < most ? 4 * *bytes : most;
        *larger_p = *bytes;
        if (status == TW_OK) {
            status = tw_gauge_time(g, budget / 10.0, run, what, &times[1]);
        }
    } while (status == TW_OK && *bytes < most && g->elapsed + 10.0 * times[1] < until);
    return status;
}

static double tw_rate(double bytes, const double *times, double fallback_bytes)
{
    return times[1] > 1.05 * times[0] ? bytes / (times[1] - times[0]) : fallback_bytes / times[1];
}

static tw_status_t tw_gauge_pair(tw_gauge_t *g, int a, int b, double budget, tw_link_facts_t *link)
{
    tw_link_pair_t pair   = {a, b, TW_LINK_SHORT};
    size_t         larger = 0, most = g->long_form ? (size_t)16 << 20 : (size_t)1 << 20;
    double         times[2];
    tw_status_t    status = tw_gauge_time(g, budget / 5.0, tw_run_pair, &pair, &link->latency);

    most = most < g->room ? most : g->room;
    if (status == TW_OK) {
        link->latency /= 2.0;
        status =
            tw_two_sizes(g, 0.8 * budget, most, tw_run_pair, &pair, &pair.bytes, &larger, times);
    }
    if (status == TW_OK) {
        link->bandwidth = tw_rate(1.5 * (double)larger, times, 2.0 * (double)larger);
    }
    return status;
}

/* What the links carry of messages such as the library sends, several of them to each rank at once:
 * a long one is sent in another way, after an exchange with the receiver. */
static tw_status_t tw_gauge_fragments(tw_gauge_t *g, tw_all_t *all, double links, double budget,
                                      double *rate_p)
{
    const size_t most = g->room / (size_t)g->comm->size / TW_GAUGE_MESSAGES;
    const double few = TW_GAUGE_MESSAGES / 4.0, many = TW_GAUGE_MESSAGES;
    double       times[2];
    tw_status_t  status;

    all->bytes = TW_FRAGMENT < most ? TW_FRAGMENT : most;
    all->times = TW_GAUGE_MESSAGES / 4;
    status     = tw_gauge_time(g, budget / 2.0, tw_run_all, all, &times[0]);
    all->times = TW_GAUGE_MESSAGES;
    if (status == TW_OK) {
        status = tw_gauge_time(g, budget / 2.0, tw_run_all, all, &times[1]);
    }
    if (status == TW_OK) {
        *rate_p = tw_rate((many - few) * links * (double)all->bytes, times,
                          many * links * (double)all->bytes);
    }
    return status;
}

/* links: how many messages of one size pass the busiest link in one direction. */
static tw_status_t tw_gauge_all(tw_gauge_t *g, bool inside, double links, double peers,
                                double budget, tw_link_facts_t *link)
{
    tw_all_t    all    = {inside, TW_LINK_SHORT, 1};
    size_t      larger = 0, most = g->long_form ? (size_t)8 << 20 : (size_t)1 << 20;
    double      times[2];
    tw_status_t status = tw_gauge_time(g, budget / 10.0, tw_run_all, &all, &times[0]);

    if (status == TW_OK) { /* what several more take: none waits for the one before */
        all.times = TW_GAUGE_MESSAGES;
        status    = tw_gauge_time(g, budget / 10.0, tw_run_all, &all, &times[1]);
        all.times = 1;
    }
    if (status != TW_OK) {
        return status;
    }
    link->message =
        times[1] > times[0] ? (times[1] - times[0]) / ((TW_GAUGE_MESSAGES - 1.0) * peers) : 0.0;
    if (!inside) {
        return tw_gauge_fragments(g, &all, links, 0.8 * budget, &link->shared);
    }
    most   = most < g->room / (size_t)g->comm->size ? most : g->room / (size_t)g->comm->size;
    status = tw_two_sizes(g, 0.8 * budget, most, tw_run_all, &all, &all.bytes, &larger, times);
    if (status == TW_OK) {
        link->shared = tw_rate(0.75 * links * (double)larger, times, links * (double)larger);
    }
    return status;
}

/* Two ranks of a node, or of two nodes. */
static bool tw_find_pair(const tw_gauge_t *g, bool inside, int *a_p, int *b_p)
{
    for (int a = 0; a < g->comm->size; a++) {
        for (int b = a + 1; b < g->comm->size; b++) {
            if ((g->node[a] == g->node[b]) == inside) {
                *a_p = a;
                *b_p = b;
                return true;
            }
        }
    }
    return false;
}

tw_status_t tw_gauge_links(tw_gauge_t *g, tw_facts_t *facts)
{
    const double ranks = facts->ranks, local = facts->local_ranks;
    const double budget =
        facts->nodes > 1 && facts->local_ranks > 1 ? g->budget / 4.0 : g->budget / 2.0;
    tw_status_t status = TW_OK;
    int         a, b;

    if (tw_find_pair(g, true, &a, &b)) {
        status = tw_gauge_pair(g, a, b, budget, &facts->inside);
        if (status == TW_OK) {
            status = tw_gauge_all(g, true, local - 1.0, local - 1.0, budget, &facts->inside);
        }
    }
    if (status == TW_OK && tw_find_pair(g, false, &a, &b)) {
        status = tw_gauge_pair(g, a, b, budget, &facts->between);
        if (status == TW_OK) {
            status = tw_gauge_all(g, false, local * (ranks - local), ranks - local, budget,
                                  &facts->between);
        }
    }
    return status;
}
