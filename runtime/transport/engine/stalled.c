/* SPDX-License-Identifier: BSD-3-Clause
 * transport/engine/stalled.c - the ranks that stalled operations wait for (comm/timeout.c).
 *
 * A disconnected rank has more pending messages than ranks that only wait for it: so ranks with
 * pending messages are listed in descending order of their number.
 */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>

#include "runtime/base/descriptor.h"
#include "runtime/transport/engine/progress.h"

#define TW_NAMED 4 /* ranks in the line */

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

int tw_engine_pending(const tw_comm_t *comm)
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

bool tw_engine_computes(const tw_comm_t *comm)
{
    for (const tw_request_t *op = comm->running; op != NULL; op = op->next) {
        if (tw_op_computes(op)) {
            return true;
        }
    }
    return false;
}

/* Does it wait for data in its memory, which wakes nobody? */
static bool tw_op_listens(const tw_request_t *op)
{
    bool listens = false;

    for (int l = 0; l < op->lanes; l++) {
        listens |= op->lane[l].busy && op->lane[l].awaited >= 0;
    }
    return listens;
}

int tw_engine_descriptor(tw_comm_t *comm)
{
    for (const tw_request_t *op = comm->running; op != NULL; op = op->next) {
        if (tw_op_computes(op) || tw_op_listens(op)) {
            return TW_DESCRIPTOR_NONE;
        }
    }
    return comm->status == TW_OK ? comm->endpoint->descriptor(comm) : TW_DESCRIPTOR_NONE;
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

void tw_engine_check_timeout(tw_comm_t *comm)
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
