/* SPDX-License-Identifier: BSD-3-Clause
 * transport/engine/request.c - starting, waiting for and releasing operations.
 */
#include "config.h"

#include "runtime/base/clock.h"
#include "runtime/transport/engine/bounce.h"
#include "runtime/transport/engine/staging.h"
#include "runtime/transport/comm/progress_thread.h"
#include "runtime/transport/engine/progress.h"
#include "runtime/transport/engine/request.h"
#include "runtime/transport/feedback/feedback.h"

/* Longest time between two looks of a call that sleeps at THINWIRE_TIMEOUT; a short one is looked
 * at so many times. */
#define TW_LOOK_NS 100000000U
#define TW_LOOKS   16

const char tw_in_place_mark = 0;

/* Give it back; it is not running. */
static void tw_request_release(tw_request_t *op)
{
    tw_comm_t *comm = op->comm;

    tw_comm_enter(comm);
    comm->requests--;
    if (comm->status == TW_OK || !op->running) {
        tw_staging_release(op);
        tw_bounce_release(op);
        tw_pool_put(&comm->pool, op->copy);
        tw_pool_put(&comm->pool, op);
    }
    tw_comm_leave(comm);
}

/* Tags repeat after tag_cycle operations: one that far behind must be complete before the next
 * starts. comm->running is in order of age. */
static tw_status_t tw_request_tags(tw_comm_t *comm)
{
    while (comm->running != NULL && comm->status == TW_OK &&
           comm->sequence - comm->running->sequence >= comm->tag_cycle) {
        tw_engine_wait_some(comm);
    }
    return tw_comm_check(comm);
}

/* Residuals, and elements for an algorithm of the host, go to where it works. */
static tw_status_t tw_request_bring(tw_request_t *op)
{
    tw_comm_t  *comm = op->comm;
    int         before;
    tw_status_t status =
        tw_comm_device_failed(comm, tw_comm_device_enter(comm, &before), "becoming current");

    if (status == TW_OK && op->feedback != NULL) {
        status = tw_feedback_own(op->feedback, op->device != NULL ? &op->exec : NULL, op->own_first,
                                 op->own_count);
    }
    if (status == TW_OK && op->bounce != NULL && !op->held) {
        status = tw_bounce_begin(op);
    }
    tw_comm_device_leave(comm, before);
    return status;
}

static tw_status_t tw_request_begin(tw_request_t *op)
{
    tw_comm_t     *comm = op->comm;
    tw_request_t **tail = &comm->running;
    tw_status_t    status;

    if (op->feedback != NULL && op->feedback->user != NULL) {
        TW_ERROR(&comm->log, "feedback '%s' is in use by a running operation", op->feedback->name);
        return TW_ERR_BUSY;
    }
    op->held = op->after != NULL;
    status   = tw_request_tags(comm);
    if (status == TW_OK && (op->feedback != NULL || op->bounce != NULL)) {
        status = tw_request_bring(op);
    }
    if (status != TW_OK) {
        return status;
    }
    op->sequence = comm->sequence++;
    if (op->algorithm->ready != NULL) {
        op->ticket = comm->node->ticket;
        comm->node->ticket += op->algorithm->one_ticket ? 1 : op->rounds;
    }
    op->next_round  = 0;
    op->done_rounds = 0;
    op->status      = TW_OK;
    op->running     = true;
    op->started     = true;
    op->next        = NULL;
    if (op->feedback != NULL) {
        op->feedback->user = op;
    }
    comm->stats.calls++;
    tw_comm_count(comm, &op->traffic);
    while (*tail != NULL) {
        tail = &(*tail)->next;
    }
    *tail = op;
    tw_comm_moved(comm);
    return TW_OK;
}

/* What can be done at once is left to the progress thread, if there is one and the call does not
 * wait. */
static tw_status_t tw_request_go(tw_request_t *op, bool waits)
{
    tw_comm_t        *comm   = op->comm;
    const tw_status_t status = tw_request_begin(op);

    if (status == TW_OK && !waits && tw_progress_thread_whole(comm->progress_thread)) {
        tw_progress_thread_started(comm->progress_thread);
    } else if (status == TW_OK) {
        tw_engine_progress(comm, NULL);
    }
    return status;
}

static tw_status_t tw_request_complete(tw_request_t **request_p)
{
    tw_request_t     *op     = *request_p;
    const tw_status_t status = op->running ? op->comm->status : op->status; /* dead */

    op->status  = status;
    op->started = false;
    if (op->feedback != NULL && op->feedback->user == op) {
        op->feedback->user = NULL;
    }
    if (!op->plan) {
        tw_request_release(op);
        *request_p = NULL;
    }
    return status;
}

tw_status_t tw_request_finish(tw_request_t *op, tw_form_t form, tw_request_t **request_p)
{
    tw_comm_t  *comm   = op->comm;
    tw_status_t status = TW_OK;

    if (form != TW_BLOCKING) {
        comm->blocking_only = false;
    }
    tw_comm_enter(comm);
    if (op->bounce != NULL) {
        tw_bounce_point(op);
    }
    if (form != TW_PLAN) {
        status = tw_request_go(op, form == TW_BLOCKING);
    }
    if (status != TW_OK) {
        tw_request_release(op);
    } else if (form == TW_BLOCKING) {
        status = tw_wait(&op);
    } else {
        *request_p = op;
    }
    tw_comm_leave(comm);
    return status;
}

tw_status_t tw_start(tw_request_t *plan)
{
    tw_status_t status;

    if (plan == NULL || !plan->plan) {
        return TW_ERR_INVALID_ARG;
    }
    status = tw_comm_check(plan->comm);
    if (status != TW_OK) {
        return status;
    }
    if (plan->started) {
        return TW_ERR_BUSY;
    }
    tw_comm_enter(plan->comm);
    status = tw_request_compare(plan, "start");
    if (status == TW_OK) {
        status = tw_request_go(plan, false);
    }
    tw_comm_leave(plan->comm);
    return status;
}

tw_status_t tw_wait(tw_request_t **request_p)
{
    tw_request_t *op;
    tw_comm_t    *comm;
    tw_status_t   status;
    uint64_t      start, worked;

    if (request_p == NULL) {
        return TW_ERR_INVALID_ARG;
    }
    op = *request_p;
    if (op == NULL) {
        return TW_OK;
    }
    comm  = op->comm;
    start = tw_clock_ns();
    tw_comm_enter(comm);
    worked = comm->stats.encode_ns + comm->stats.decode_ns;
    while (op->running && comm->status == TW_OK) {
        tw_engine_wait_some(comm);
    }
    worked = comm->stats.encode_ns + comm->stats.decode_ns - worked;
    start  = tw_clock_ns() - start;
    comm->stats.wait_ns += start > worked ? start - worked : 0;
    status = tw_request_complete(request_p);
    tw_comm_leave(comm);
    return status;
}

static uint64_t tw_look_ns(const tw_comm_t *comm, uint64_t most_ns)
{
    const double   looks = comm->config.timeout * 1e9 / TW_LOOKS;
    const uint64_t ns    = looks > 0.0 && looks < TW_LOOK_NS ? (uint64_t)looks : TW_LOOK_NS;

    return most_ns < ns ? most_ns : ns;
}

tw_status_t tw_wait_for(tw_request_t **request_p, int milliseconds, int *done_p)
{
    const uint64_t start = tw_clock_ns(), most = (uint64_t)milliseconds * 1000000U;
    tw_request_t  *op;
    tw_comm_t     *comm;
    uint64_t       spent;
    tw_status_t    status = TW_OK;

    if (request_p == NULL || done_p == NULL || milliseconds < 0) {
        return TW_ERR_INVALID_ARG;
    }
    op      = *request_p;
    *done_p = 1;
    if (op == NULL) {
        return TW_OK;
    }
    comm = op->comm;
    tw_comm_enter(comm);
    if (most == 0 && op->running && comm->status == TW_OK) {
        tw_engine_progress(comm, NULL);
        tw_engine_check_timeout(comm);
    }
    while (op->running && comm->status == TW_OK && (spent = tw_clock_ns() - start) < most) {
        if (!tw_progress_thread_whole(comm->progress_thread)) {
            (most - spent < 2 * (uint64_t)TW_LOOK_NS ? tw_engine_wait_briefly
                                                     : tw_engine_wait_some)(comm);
            continue;
        }
        tw_progress_thread_await(comm->progress_thread, tw_look_ns(comm, most - spent));
        tw_engine_check_timeout(comm);
    }
    *done_p = !op->running || comm->status != TW_OK;
    if (*done_p) {
        status = tw_request_complete(request_p);
    }
    tw_comm_leave(comm);
    return status;
}

tw_status_t tw_test(tw_request_t **request_p, int *done_p)
{
    return tw_wait_for(request_p, 0, done_p);
}

tw_status_t tw_comm_advance(tw_comm_t *comm)
{
    tw_status_t status = tw_comm_check(comm);

    if (status != TW_OK) {
        return status;
    }
    tw_comm_enter(comm);
    tw_engine_progress(comm, NULL);
    tw_engine_check_timeout(comm);
    status = comm->status;
    tw_comm_leave(comm);
    return status;
}

tw_status_t tw_request_free(tw_request_t **plan_p)
{
    tw_request_t *op;

    if (plan_p == NULL) {
        return TW_ERR_INVALID_ARG;
    }
    op = *plan_p;
    if (op == NULL) {
        return TW_OK;
    }
    if (!op->plan) {
        return TW_ERR_INVALID_ARG;
    }
    if (op->started && tw_comm_status(op->comm) == TW_OK) {
        return TW_ERR_BUSY;
    }
    if (op->feedback != NULL && op->feedback->user == op) { /* the communicator died under it */
        op->feedback->user = NULL;
    }
    tw_request_release(op);
    *plan_p = NULL;
    return TW_OK;
}

const char *tw_request_algorithm(const tw_request_t *request)
{
    return request != NULL ? request->algorithm->name : "none";
}

const char *tw_request_codec(const tw_request_t *request)
{
    return request != NULL ? tw_codec_spec(request->codec) : "none";
}
