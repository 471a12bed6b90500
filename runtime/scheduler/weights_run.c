/* SPDX-License-Identifier: BSD-3-Clause
 * scheduler/weights_run.c - a step: sums of gradients from the last group to the first, weights
 * from the first to the last; changes of codecs between steps.
 */
#include "config.h"

#include "runtime/scheduler/weights.h"
#include "runtime/transport/api/collective.h"
#include "runtime/transport/comm/progress_thread.h"
#include "runtime/transport/engine/request.h"

static tw_status_t tw_weights_part_of(tw_weights_t *w, size_t i, tw_weights_part_t **part_p)
{
    if (w == NULL || i >= w->parts) {
        return w == NULL ? TW_ERR_INVALID_ARG : TW_ERR_RANGE;
    }
    *part_p = &w->part[i];
    return TW_OK;
}

/* Wait for a plan, NULL allowed, in a span of its own beside that of its travelling. */
static tw_status_t tw_weights_await(tw_weights_t *w, tw_request_t **plan_p, const char *name,
                                    size_t i, int64_t *span_p)
{
    const int64_t span   = tw_trace_begin(w->trace, TW_TRACE_COMPUTE, name, (int64_t)i);
    tw_status_t   status = *plan_p != NULL ? tw_wait(plan_p) : TW_OK;

    tw_trace_end(w->trace, *span_p);
    tw_trace_end(w->trace, span);
    *span_p = -1;
    return status;
}

/* ---- gradients ----------------------------------------------------------------------------- */

static tw_status_t tw_weights_start_sums(tw_weights_t *w)
{
    tw_status_t status = TW_OK;

    while (w->sums > 0 && w->part[w->sums - 1].ready && status == TW_OK) {
        tw_weights_part_t *part = &w->part[--w->sums];

        if (part->sum != NULL) {
            part->sum_span =
                tw_trace_begin(w->trace, TW_TRACE_NETWORK, "gradients", (int64_t)w->sums);
            status = tw_start(part->sum);
        }
        part->started = status == TW_OK;
    }
    return status;
}

tw_status_t tw_weights_ready(tw_weights_t *w, size_t i)
{
    tw_weights_part_t *part;
    tw_status_t        status = tw_weights_part_of(w, i, &part);

    if (status != TW_OK) {
        return status;
    }
    if (part->ready || part->complete || part->wanted || part->travels) {
        return TW_ERR_BUSY;
    }
    part->ready = true;
    status      = tw_side_mark(&w->side, part->sum_event);
    return status == TW_OK ? tw_weights_start_sums(w) : status;
}

tw_status_t tw_weights_sum(tw_weights_t *w, size_t i)
{
    tw_weights_part_t *part;
    tw_status_t        status = tw_weights_part_of(w, i, &part);

    if (status != TW_OK || part->complete) {
        return status;
    }
    if (!part->started) {
        return TW_ERR_BUSY;
    }
    status = tw_weights_await(w, &part->sum, "wait gradients", i, &part->sum_span);
    if (status != TW_OK) {
        return status;
    }
    part->ready = part->started = false;
    part->complete              = true;
    if (++w->summed == w->parts) {
        for (size_t k = 0; k < w->parts; k++) {
            w->part[k].complete = false;
        }
        w->summed = 0;
        w->sums   = w->parts;
    }
    return TW_OK;
}

/* ---- weights ------------------------------------------------------------------------------- */

static tw_status_t tw_weights_start_sends(tw_weights_t *w)
{
    tw_status_t status = TW_OK;

    while (w->sends < w->parts && w->part[w->sends].wanted && status == TW_OK) {
        tw_weights_part_t *part = &w->part[w->sends];

        if (part->count > 0) {
            part->send_span =
                tw_trace_begin(w->trace, TW_TRACE_NETWORK, "weights", (int64_t)w->sends);
            status = part->send != NULL ? tw_start(part->send) : TW_ERR_NO_MEMORY;
        }
        part->travels = status == TW_OK;
        w->sends++;
    }
    if (w->sends == w->parts) {
        for (size_t k = 0; k < w->parts; k++) {
            w->part[k].wanted = false;
        }
        w->sends = 0;
    }
    return status;
}

tw_status_t tw_weights_send(tw_weights_t *w, size_t i)
{
    tw_weights_part_t *part;
    tw_status_t        status = tw_weights_part_of(w, i, &part);

    if (status != TW_OK) {
        return status;
    }
    if (part->wanted || part->travels || part->ready) {
        return TW_ERR_BUSY;
    }
    part->wanted = true;
    if (w->owners == TW_WEIGHTS_ROOT) { /* on rank 0 alone there is something to copy */
        status = tw_side_copy(&w->side, part->weights, part->master, part->own * sizeof(float));
    }
    if (status == TW_OK) {
        status = tw_side_mark(&w->side, part->send_event);
    }
    return status == TW_OK ? tw_weights_start_sends(w) : status;
}

tw_status_t tw_weights_wait(tw_weights_t *w, size_t i)
{
    tw_weights_part_t *part;
    tw_status_t        status = tw_weights_part_of(w, i, &part);

    if (status != TW_OK || !part->travels) {
        return status == TW_OK && part->wanted && i >= w->sends ? TW_ERR_BUSY : status;
    }
    status        = tw_weights_await(w, &part->send, "wait weights", i, &part->send_span);
    part->travels = status != TW_OK;
    return status;
}

tw_status_t tw_weights_advance(tw_weights_t *w)
{
    tw_status_t status = w != NULL ? tw_comm_advance(w->comm) : TW_ERR_INVALID_ARG;

    if (status != TW_OK || w->trace == NULL) {
        return status;
    }
    tw_comm_enter(w->comm);
    for (size_t i = 0; i < w->parts; i++) {
        tw_weights_part_t *part = &w->part[i];

        if (part->sum != NULL && !part->sum->running) {
            tw_trace_end(w->trace, part->sum_span);
            part->sum_span = -1;
        }
        if (part->send != NULL && !part->send->running) {
            tw_trace_end(w->trace, part->send_span);
            part->send_span = -1;
        }
    }
    tw_comm_leave(w->comm);
    return TW_OK;
}

/* A codec that no group has had is made; all ranks have it then, or none. */
static tw_status_t tw_weights_find(tw_weights_t *w, const tw_weights_part_t *part, const char *spec,
                                   const tw_codec_t **codec_p)
{
    const size_t count = w->specs.count;
    tw_status_t  status;

    *codec_p = tw_specs_find(&w->specs, spec);
    if (*codec_p != NULL) {
        return TW_OK;
    }
    status = tw_specs_codec(&w->specs, w->comm, "tw_weights_set_codec: group", part->name, spec,
                            codec_p);
    if (status == TW_ERR_SPEC) {
        return status;
    }
    tw_comm_enter(w->comm);
    status = tw_comm_agree(w->comm, status);
    tw_comm_leave(w->comm);
    if (status != TW_OK) {
        tw_specs_shorten(&w->specs, count);
    }
    return status;
}

tw_status_t tw_weights_set_codec(tw_weights_t *w, size_t i, const char *spec)
{
    const tw_codec_t  *codec = NULL;
    tw_weights_part_t *part;
    tw_status_t        status =
        w != NULL && spec != NULL ? tw_weights_part_of(w, i, &part) : TW_ERR_INVALID_ARG;

    if (status == TW_OK) {
        status =
            part->wanted || part->travels ? TW_ERR_BUSY : tw_weights_find(w, part, spec, &codec);
    }
    if (status != TW_OK || (codec == part->codec && (part->send != NULL || part->count == 0))) {
        return status;
    }
    tw_request_free(&part->send); /* first, so that the next plan gets its buffer */
    part->codec = codec;
    status      = tw_weights_plan(w, i);
    w->changes += status == TW_OK;
    return status;
}

/* The parts of a group to all ranks, or rank 0's whole. */
static tw_status_t tw_weights_gather(tw_weights_t *w, const tw_weights_part_t *part,
                                     const float *share, float *whole)
{
    tw_request_t        *request = NULL;
    tw_collective_call_t call;
    tw_status_t          status;

    if (w->owners == TW_WEIGHTS_ROOT) {
        tw_collective_begin(&call, w->comm, &tw_collective_bcast, "bcast", whole, whole, &w->how);
        call.count = part->count;
        call.root  = 0;
    } else {
        tw_weights_shares(w, part);
        tw_collective_begin(&call, w->comm, &tw_collective_allgather, "allgatherv", share, whole,
                            &w->how);
        call.in = (tw_blocks_t){.counts = w->counts};
    }
    call.after = w->event;
    status     = tw_collective(&call, w->event != NULL ? TW_NONBLOCKING : TW_BLOCKING, &request);
    return status == TW_OK ? tw_wait(&request) : status;
}

/* ---- checkpoints --------------------------------------------------------------------------- */

tw_status_t tw_weights_collect(tw_weights_t *w, size_t i, const float *share, float *whole)
{
    tw_weights_part_t *part;
    tw_status_t        status = tw_weights_part_of(w, i, &part);

    if (status == TW_OK &&
        ((share == NULL && part->own > 0) || (whole == NULL && part->count > 0))) {
        status = TW_ERR_INVALID_ARG;
    }
    if (status != TW_OK || part->count == 0) {
        return status;
    }
    if (tw_side_check(&w->side, part->own > 0 ? share : NULL, "tw_weights_collect",
                      "share of group", part->name) != TW_OK ||
        tw_side_check(&w->side, whole, "tw_weights_collect", "whole of group", part->name) !=
            TW_OK) {
        return TW_ERR_INVALID_ARG;
    }
    if (w->owners == TW_WEIGHTS_ROOT) {
        status = tw_side_copy(&w->side, whole, share, part->own * sizeof(float));
    }
    if (status == TW_OK) {
        status = tw_side_mark(&w->side, w->event);
    }
    return status == TW_OK ? tw_weights_gather(w, part, share, whole) : status;
}

tw_status_t tw_weights_save(tw_weights_t *w, FILE *stream)
{
    tw_status_t status = w != NULL ? TW_OK : TW_ERR_INVALID_ARG;

    for (size_t i = w != NULL ? w->parts : 0; status == TW_OK && i-- > 0;) {
        if (w->part[i].feedback != NULL) {
            status = tw_feedback_save(w->part[i].feedback, stream);
        }
    }
    return status;
}

tw_status_t tw_weights_clear(tw_weights_t *w)
{
    tw_status_t status = w != NULL ? TW_OK : TW_ERR_INVALID_ARG;

    for (size_t i = 0; status == TW_OK && i < w->parts; i++) {
        if (w->part[i].feedback != NULL) {
            status = tw_feedback_clear(w->part[i].feedback);
        }
    }
    return status;
}

tw_status_t tw_weights_restore(tw_weights_t *w, FILE *stream, tw_feedback_use_t use)
{
    tw_status_t status = w != NULL ? TW_OK : TW_ERR_INVALID_ARG;

    for (size_t i = w != NULL ? w->parts : 0; status == TW_OK && i-- > 0;) {
        if (w->part[i].feedback != NULL) {
            status = tw_feedback_restore(w->part[i].feedback, stream, use);
        }
    }
    if (status != TW_OK && w != NULL) {
        tw_weights_clear(w); /* not half of a file */
    }
    return status;
}
