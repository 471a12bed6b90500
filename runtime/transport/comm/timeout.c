/* SPDX-License-Identifier: BSD-3-Clause
 * transport/comm/timeout.c - THINWIRE_TIMEOUT: nothing moves, and whose fault that may be.
 *
 * Only time counts in which this process ran and looked: between two looks that find nothing new an
 * eighth of the limit at most. So a process that was stopped, or a machine that slept, or a program
 * that computed, does not take the ranks that it now waits for to be gone. Nor does time count
 * while this rank's device has work for an operation to do, or work of the caller's in front of it.
 *
 * A rank that is cut off owes us more than those that only wait for it themselves: so all ranks
 * with messages under way are named, those with most of them first.
 */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>

#include "runtime/base/clock.h"
#include "runtime/transport/engine/progress.h"

#define TW_NAMED 4 /* ranks in the line */

void tw_comm_moved(tw_comm_t *comm)
{
    if (comm->config.timeout > 0.0) {
        comm->waited_ns = 0;
        comm->looked_ns = 0;
        comm->pending   = -1;
    }
}

/* Messages to and from other ranks that an operation waits for; in tally[r], where that is not
 * NULL, those of rank r, and one more where the operation waits for data in its memory. */
static int tw_op_pending(tw_request_t *op, int *tally)
{
    int sum = 0;

    for (int l = 0; l < op->lanes; l++) {
        const tw_lane_t *lane     = &op->lane[l];
        const bool       waits    = lane->busy && lane->stage < op->algorithm->stages;
        tw_messages_t   *messages = waits ? &op->lane[l].messages[lane->stage] : NULL;

        for (int m = 0; waits && m < messages->count; m++) {
            const int pending = op->comm->endpoint->pending(op->comm, messages, m);

            sum += pending;
            if (tally != NULL) {
                tally[messages->peers[m]] += pending;
            }
        }
        if (tally != NULL && waits && lane->awaited >= 0) {
            tally[lane->awaited]++;
        }
    }
    return sum;
}

static int tw_comm_pending(const tw_comm_t *comm)
{
    int sum = 0;

    for (tw_request_t *op = comm->running; op != NULL; op = op->next) {
        sum += tw_op_pending(op, NULL);
    }
    return sum;
}

/* Does it wait for this rank's own device? */
static bool tw_op_computes(const tw_request_t *op)
{
    bool computes = op->held || (op->bounce != NULL && op->bounce->state != TW_BOUNCE_RUNS);

    for (int l = 0; l < op->lanes && op->device != NULL; l++) {
        computes |= op->lane[l].busy && op->lane[l].device->pending;
    }
    return computes;
}

static bool tw_comm_computes(const tw_comm_t *comm)
{
    for (const tw_request_t *op = comm->running; op != NULL; op = op->next) {
        if (tw_op_computes(op)) {
            return true;
        }
    }
    return false;
}

bool tw_comm_timed_out(tw_comm_t *comm)
{
    const uint64_t limit_ns = (uint64_t)(comm->config.timeout * 1e9), most_ns = limit_ns / 8 + 1;
    const uint64_t before = comm->waited_ns / most_ns;
    uint64_t       now, gap_ns;
    int            pending;

    if (limit_ns == 0) {
        return false;
    }
    now             = tw_clock_ns();
    gap_ns          = comm->looked_ns == 0 || tw_comm_computes(comm) ? 0 : now - comm->looked_ns;
    comm->looked_ns = now;
    comm->waited_ns += gap_ns < most_ns ? gap_ns : most_ns;
    if (comm->waited_ns / most_ns != before) { /* one message of several is progress, too */
        pending = tw_comm_pending(comm);
        if (comm->pending >= 0 && pending != comm->pending) {
            tw_comm_moved(comm);
        }
        comm->pending = pending;
    }
    return comm->waited_ns >= limit_ns;
}

/* "rank 2 (8 messages), 0 (1), 3 (1) and 4 more": whom the operation waits for. */
static void tw_op_waits_for(tw_request_t *op, char *text, size_t size)
{
    const int ranks = op->comm->size;
    int      *tally = calloc((size_t)ranks, sizeof(*tally));
    int       waits = 0, named = 0;
    size_t    at = (size_t)snprintf(text, size, "no message");

    if (tally == NULL) {
        return;
    }
    tw_op_pending(op, tally);
    tally[op->comm->rank] = 0; /* our own part in the node's memory waits for the others */
    for (int r = 0; r < ranks; r++) {
        waits += tally[r] > 0;
    }
    for (; named < waits && named < TW_NAMED; named++) {
        int most = 0;

        for (int r = 0; r < ranks; r++) {
            most = tally[r] > tally[most] ? r : most;
        }
        at = named == 0 ? 0 : at;
        at += (size_t)snprintf(text + at, size - at, "%s%d (%d%s)", named == 0 ? "rank " : ", ",
                               most, tally[most],
                               named > 0          ? ""
                               : tally[most] == 1 ? " message"
                                                  : " messages");
        tally[most] = 0;
    }
    if (waits > named) {
        snprintf(text + at, size - at, " and %d more", waits - named);
    }
    free(tally);
}

void tw_comm_check_timeout(tw_comm_t *comm)
{
    char text[160];

    if (comm->running == NULL || comm->status != TW_OK || !tw_comm_timed_out(comm)) {
        return;
    }
    tw_op_waits_for(comm->running, text, sizeof(text));
    TW_ERROR(&comm->log, "%s: nothing moved for %g s, waiting for %s; the communicator is dead",
             comm->running->operation, comm->config.timeout, text);
    comm->status = TW_ERR_TIMEOUT;
}
