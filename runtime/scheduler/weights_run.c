/* SPDX-License-Identifier: BSD-3-Clause
 * scheduler/weights_run.c - a step: sums of gradients from the last group to the first, weights
 * from the first to the last; changes of codecs between steps.
 */
#include "config.h"

#include "runtime/scheduler/weights.h"

static tw_status_t tw_weights_part_of(tw_weights_t *w, size_t i, tw_weights_part_t **part_p)
{
    if (w == NULL || i >= w->parts) {
        return w == NULL ? TW_ERR_INVALID_ARG : TW_ERR_RANGE;
    }
    *part_p = &w->part[i];
    return TW_OK;
}

/* ---- gradients ----------------------------------------------------------------------------- */

static tw_status_t tw_weights_start_sums(tw_weights_t *w)
{
    tw_status_t status = TW_OK;

    while (w->sums > 0 && w->part[w->sums - 1].ready && status == TW_OK) {
        tw_weights_part_t *part = &w->part[--w->sums];

        if (part->sum.request != NULL) {
            status = tw_flight_start(&part->sum, w->trace, "gradients", w->sums);
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
    status      = tw_side_mark(&w->side, part->sum.event);
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
    status = tw_flight_wait(&part->sum, w->trace, "wait gradients", i, -1, NULL);
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
            status = part->send.request != NULL
                         ? tw_flight_start(&part->send, w->trace, "weights", w->sends)
                         : TW_ERR_NO_MEMORY;
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
        status = tw_side_mark(&w->side, part->send.event);
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
    status        = tw_flight_wait(&part->send, w->trace, "wait weights", i, -1, NULL);
    part->travels = status != TW_OK;
    return status;
}

tw_status_t tw_weights_advance(tw_weights_t *w)
{
    tw_status_t status = w != NULL ? tw_comm_advance(w->comm) : TW_ERR_INVALID_ARG;

    if (status != TW_OK || w->trace == NULL) {
        return status;
    }
    for (size_t i = 0; i < w->parts; i++) {
        tw_flight_ended(&w->part[i].sum, w->trace);
        tw_flight_ended(&w->part[i].send, w->trace);
    }
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
    status = tw_comm_agree(w->comm, status);
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
    if (status != TW_OK ||
        (codec == part->codec && (part->send.request != NULL || part->count == 0))) {
        return status;
    }
    tw_request_free(&part->send.request); /* first, so that the next plan gets its buffer */
    part->codec = codec;
    status      = tw_weights_plan(w, i);
    w->changes += status == TW_OK;
    return status;
}

/* ---- checkpoints --------------------------------------------------------------------------- */

tw_status_t tw_weights_collect(tw_weights_t *w, size_t i, const float *share, float *whole)
{
    tw_weights_part_t   *part;
    tw_collective_call_t call;
    tw_status_t          status = tw_weights_part_of(w, i, &part);

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
    tw_weights_call(w, part, &w->how, share, whole, &call);
    return status == TW_OK ? tw_flight_once(&w->side, &call, w->event) : status;
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
