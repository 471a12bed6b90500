/* SPDX-License-Identifier: BSD-3-Clause
 * transport/auto/calibrate_processor.c - a rank's share of a processor while all ranks compute, and
 * the CPU time of messages to other nodes.
 *
 * Every rank computes for a fixed time. Its share is CPU time divided by wall time: ranks that
 * share cores get less than 1. Then all ranks exchange messages while no rank computes or spins: a
 * rank sleeps between two tests. The CPU time used is the cost of its bytes in MPI and in system
 * calls. It does not include interrupts that the system accounts to no process, or the work of
 * other programs.
 *
 * In long measurements only: no decision depends on it.
 */
#include "config.h"

#include <time.h>

#include "runtime/base/clock.h"
#include "runtime/transport/auto/calibrate.h"
#include "runtime/transport/comm/sync.h"
#include "runtime/transport/engine/request.h"

/* A part above this is a whole processor: the system's own work takes a little of each. */
#define TW_WHOLE 0.9

/* The least part: of 65536 ranks on one. */
#define TW_LEAST_PART 0x1p-16

#define TW_PIECE_STEPS 20000 /* some 20 us */
#define TW_TURNS       3

/* Between two looks: what a link carries of so many bytes, within limits; each look takes time of
 * its own. */
#define TW_LOOK_BYTES 65536.0
#define TW_LOOK_LEAST 200e-6
#define TW_LOOK_MOST  10e-3

static double tw_clock_seconds(clockid_t clock)
{
    struct timespec now;

    clock_gettime(clock, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

/* Some work in registers, which no compiler leaves out. */
static void tw_piece(uint32_t *state)
{
    uint32_t x = *state;

    for (int i = 0; i < TW_PIECE_STEPS; i++) {
        x = x * 1664525u + 1013904223u;
    }
    *(volatile uint32_t *)state = x;
}

/* The part of a processor that this rank has for so long. */
static double tw_part(double seconds)
{
    const double start = tw_clock_seconds(CLOCK_MONOTONIC);
    const double own   = tw_clock_seconds(CLOCK_THREAD_CPUTIME_ID);
    double       spent = 0.0;
    uint32_t     state = 1;

    while (spent < seconds) {
        tw_piece(&state);
        spent = tw_clock_seconds(CLOCK_MONOTONIC) - start;
    }
    return (tw_clock_seconds(CLOCK_THREAD_CPUTIME_ID) - own) / spent;
}

static struct timespec tw_pause(const tw_facts_t *facts)
{
    const double wanted =
        facts->between.shared > 0.0 ? TW_LOOK_BYTES / facts->between.shared : TW_LOOK_LEAST;
    const double seconds = wanted < TW_LOOK_LEAST  ? TW_LOOK_LEAST
                           : wanted > TW_LOOK_MOST ? TW_LOOK_MOST
                                                   : wanted;

    return (struct timespec){.tv_nsec = (long)(1e9 * seconds)};
}

/* Processor's seconds of so many bytes to and from every rank of other nodes. */
static tw_status_t tw_moved(tw_gauge_t *g, const tw_facts_t *facts, size_t bytes, double *seconds_p)
{
    const struct timespec pause  = tw_pause(facts);
    const double          own    = tw_clock_seconds(CLOCK_PROCESS_CPUTIME_ID);
    int                   posted = 0, done = 0;
    tw_status_t           status = tw_gauge_post(g, false, 0, bytes, &posted);

    while (status == TW_OK && !done) {
        nanosleep(&pause, NULL);
        status = tw_gauge_test(g, posted, g->requests, &done);
    }
    *seconds_p = tw_clock_seconds(CLOCK_PROCESS_CPUTIME_ID) - own;
    return status;
}

/* As many bytes for every rank as the links carry in so long. */
static size_t tw_moved_bytes(const tw_gauge_t *g, const tw_facts_t *facts, double seconds)
{
    const double links = (double)facts->local_ranks * (facts->ranks - facts->local_ranks);
    const double most  = (double)(g->room / (size_t)facts->ranks);
    const double bytes = seconds * facts->between.shared / links;

    return (size_t)(bytes < most ? bytes : most);
}

/* All ranks begin at once; the mean of what they find. */
static tw_status_t tw_processor_turn(tw_gauge_t *g, const tw_facts_t *facts, double seconds,
                                     size_t bytes, double *part_p, double *moved_p)
{
    double      found[2] = {0.0, 0.0};
    tw_status_t status   = tw_gauge_agree(g, found, 1, false);

    found[0] = tw_part(seconds);
    if (status == TW_OK && bytes > 0) {
        status = tw_moved(g, facts, bytes, &found[1]);
    }
    if (status == TW_OK) {
        status = tw_gauge_agree(g, found, 2, true);
    }
    *part_p  = found[0] / g->comm->size;
    *moved_p = found[1] / g->comm->size;
    return status;
}

tw_status_t tw_gauge_processor(tw_gauge_t *g, tw_facts_t *facts)
{
    const double seconds = g->budget / (2.0 * TW_TURNS);
    const double peers   = facts->ranks - facts->local_ranks; /* at least, on other nodes */
    const size_t bytes   = facts->nodes > 1 ? tw_moved_bytes(g, facts, seconds) : 0;
    double       parts[TW_TURNS], moved[TW_TURNS];
    tw_status_t  status = TW_OK;

    if (!g->long_form) {
        return TW_OK;
    }
    for (int k = 0; k < TW_TURNS && status == TW_OK; k++) {
        status = tw_processor_turn(g, facts, seconds, bytes, &parts[k], &moved[k]);
    }
    if (status != TW_OK) {
        return status;
    }
    tw_gauge_sort(parts, TW_TURNS);
    tw_gauge_sort(moved, TW_TURNS);
    facts->processor = parts[TW_TURNS / 2] < TW_WHOLE ? parts[TW_TURNS / 2] : 1.0;
    facts->processor = facts->processor > TW_LEAST_PART ? facts->processor : TW_LEAST_PART;
    facts->moving    = bytes > 0 ? moved[TW_TURNS / 2] / (2.0 * peers * (double)bytes) : 0.0;
    facts->moving    = facts->moving < TW_FACTS_MOVING ? facts->moving : TW_FACTS_MOVING;
    return TW_OK;
}
