/* SPDX-License-Identifier: BSD-3-Clause
 * scheduler/weights_plan.c - shares of the owners, and the plans that sum gradients and send
 * weights.
 */
#include "config.h"

#include "runtime/scheduler/weights.h"

/* ---- owners -------------------------------------------------------------------------------- */

size_t tw_weights_owned(tw_weights_owners_t owners, size_t count, size_t unit, int rank, int ranks,
                        size_t *first_p)
{
    const size_t units = count / unit + (count % unit != 0), r = (size_t)rank;
    const size_t each = units / (size_t)ranks, more = units % (size_t)ranks;
    size_t       first = (r * each + (r < more ? r : more)) * unit;
    size_t       end   = first + (each + (r < more)) * unit;

    if (owners == TW_WEIGHTS_ROOT) {
        first = rank == 0 ? 0 : count;
        end   = count;
    }
    first = first < count ? first : count;
    end   = end < count ? end : count;
    if (first_p != NULL) {
        *first_p = first;
    }
    return end - first;
}

/* ---- plans --------------------------------------------------------------------------------- */

void tw_weights_shares(const tw_weights_t *w, const tw_weights_part_t *part)
{
    const int size = tw_comm_size(w->comm);

    for (int r = 0; r < size; r++) {
        w->counts[r] = tw_weights_owned(w->owners, part->count, part->unit, r, size, NULL);
    }
}

static tw_status_t tw_weights_planned(const tw_weights_t *w, const tw_weights_part_t *part,
                                      const char *what, const tw_codec_t *codec, tw_status_t status)
{
    if (status != TW_OK) {
        TW_ERROR(tw_comm_log(w->comm), "%s of group '%s' (%zu elements, %s): %s", what, part->name,
                 part->count, tw_codec_spec_of(codec), tw_status_text(status));
    }
    return status;
}

void tw_weights_call(tw_weights_t *w, const tw_weights_part_t *part, const tw_how_t *how,
                     const float *share, float *whole, tw_collective_call_t *call)
{
    if (w->owners == TW_WEIGHTS_ROOT) {
        tw_collective_begin(call, w->comm, &tw_collective_bcast, "bcast", whole, whole, how);
        call->count = part->count;
        call->root  = 0;
    } else {
        tw_weights_shares(w, part);
        tw_collective_begin(call, w->comm, &tw_collective_allgather, "allgatherv", share, whole,
                            how);
        call->in = (tw_blocks_t){.counts = w->counts};
    }
}

/* In a buffer that was large enough for every codec so far: the next plan finds it in the pool. */
tw_status_t tw_weights_plan(tw_weights_t *w, size_t i)
{
    tw_weights_part_t   *part = &w->part[i];
    tw_how_t             how  = w->how;
    tw_collective_call_t call;
    tw_status_t          status;

    if (part->count == 0) {
        return TW_OK;
    }
    how.codec = part->codec;
    how.flags = w->owners == TW_WEIGHTS_ROOT ? TW_BCAST_SAME : 0;
    tw_weights_call(w, part, &how, part->master, part->weights, &call);
    status = tw_flight_plan(&call, &part->send);
    return tw_weights_planned(w, part, "the weights", part->codec, status);
}

/* The sum of the gradient: to where the own share of it begins. */
static tw_status_t tw_weights_plan_sum(tw_weights_t *w, size_t i)
{
    tw_weights_part_t *part = &w->part[i];
    const bool         root = tw_comm_rank(w->comm) == 0;
    tw_how_t           how  = w->how;
    tw_codec_traits_t  traits;
    tw_status_t        status = TW_OK;

    if (part->count == 0 || (tw_comm_size(w->comm) == 1 && !tw_codec_lossy(part->summed))) {
        return TW_OK;
    }
    if (part->summed != NULL && tw_codec_traits(part->summed, &traits) == TW_OK &&
        traits.feedback) {
        status = tw_feedback_create(w->comm, part->name, TW_F32, part->count, &part->feedback);
    }
    how.codec    = part->summed;
    how.feedback = part->feedback;
    if (status == TW_OK && w->owners == TW_WEIGHTS_ROOT) {
        how.algorithm = tw_flight_sums_by(w->comm, &how); /* as a reduce-scatter adds by itself */
        status        = tw_reduce_init(w->comm, root ? TW_IN_PLACE : part->gradient,
                                root ? part->gradient : NULL, part->count, TW_SUM, 0, &how,
                                       &part->sum.request);
    } else if (status == TW_OK) {
        tw_weights_shares(w, part);
        status = tw_reduce_scatter_init(w->comm, TW_IN_PLACE, part->gradient, w->counts, TW_SUM,
                                        &how, &part->sum.request);
    }
    if (status == TW_OK) {
        tw_flight_behind(&part->sum);
    }
    return tw_weights_planned(w, part, "the gradient", part->summed, status);
}

/* Codecs of S0, the widest first, made before they are asked for. */
#define TW_WEIGHTS_AHEAD 8
static const char *const ahead[TW_WEIGHTS_AHEAD] = {
    "bitpack:3", "bitpack:4",       "bitpack:1",       "bitpack:2",
    "fp32",      "bitpack:1,round", "bitpack:2,round", "bitpack:3,round"};

/* How large the plans' buffers become in the codecs of S0, those that lose something and the one
 * that does not, which may take another way. */
static tw_status_t tw_weights_rehearse(tw_weights_t *w, size_t i, const tw_codec_t *const *codecs)
{
    const tw_codec_t *codec  = w->part[i].codec;
    tw_status_t       status = TW_OK;

    for (int k = 0; k < 2 && status == TW_OK; k++) {
        w->part[i].codec = codecs[k];
        status           = tw_weights_plan(w, i);
        tw_request_free(&w->part[i].send.request);
    }
    w->part[i].codec = codec;
    return status;
}

tw_status_t tw_weights_plans(tw_weights_t *w)
{
    const tw_codec_t *codec[TW_WEIGHTS_AHEAD];
    tw_status_t       status = TW_OK;

    for (int k = 0; k < TW_WEIGHTS_AHEAD && status == TW_OK; k++) {
        status = tw_specs_codec(&w->specs, w->comm, "tw_weights_create: codec", ahead[k], ahead[k],
                                &codec[k]);
    }
    status = tw_comm_agree(w->comm, status);
    for (size_t i = 0; i < w->parts && status == TW_OK; i++) {
        status = tw_weights_plan_sum(w, i);
        if (status == TW_OK) {
            status = tw_weights_rehearse(w, i, codec);
        }
        if (status == TW_OK) {
            status = tw_weights_plan(w, i);
        }
    }
    return status;
}
