/* SPDX-License-Identifier: BSD-3-Clause
 * scheduler/weights.c - creating an exchange of weights: arguments, agreement, memory.
 */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "runtime/scheduler/weights.h"

/* ---- arguments ----------------------------------------------------------------------------- */

static tw_status_t tw_weights_check(tw_comm_t *comm, const tw_weights_config_t *config)
{
    return config->owners != TW_WEIGHTS_ROOT && config->owners != TW_WEIGHTS_SHARDED
               ? TW_ERR_INVALID_ARG
               : tw_codec_check_f32(comm, "tw_weights_create", config->gradient);
}

static tw_status_t tw_weights_check_groups(const tw_side_stream_t   *side,
                                           const tw_weights_group_t *groups, size_t n)
{
    static const char *const who  = "tw_weights_create";
    tw_comm_t               *comm = side->comm;
    size_t                   all  = 0;

    for (size_t i = 0; i < n; i++) {
        const tw_weights_group_t *g = &groups[i];

        if (tw_item_check(comm, who, "group", groups, sizeof(*groups), i) != TW_OK) {
            return TW_ERR_INVALID_ARG;
        }
        if (g->count > 0 && (g->weights == NULL || g->gradient == NULL)) {
            TW_ERROR(tw_comm_log(comm), "%s: group %zu ('%.80s') has no address", who, i, g->name);
            return TW_ERR_INVALID_ARG;
        }
        if (g->count > 0 &&
            (tw_side_check(side, g->weights, who, "weights of group", g->name) != TW_OK ||
             tw_side_check(side, g->gradient, who, "gradient of group", g->name) != TW_OK)) {
            return TW_ERR_INVALID_ARG;
        }
        if (!tw_size_add(all, g->count, &all) || tw_interval_check(all, g->unit) != TW_OK) {
            return TW_ERR_RANGE;
        }
    }
    return TW_OK;
}

/* ---- groups -------------------------------------------------------------------------------- */

static tw_status_t tw_weights_codecs(tw_weights_t *w, const tw_weights_config_t *config,
                                     const tw_weights_group_t *g, tw_weights_part_t *part)
{
    const char *const what   = "tw_weights_create: group";
    tw_status_t       status = tw_specs_codec(&w->specs, w->comm, what, g->name,
                                        g->codec != NULL ? g->codec : "fp32", &part->codec);

    part->summed = config->gradient;
    return status == TW_OK && g->gradient_codec != NULL
               ? tw_specs_codec(&w->specs, w->comm, what, g->name, g->gradient_codec, &part->summed)
               : status;
}

/* Masters of the caller's, and events. */
static tw_status_t tw_weights_own(tw_weights_t *w, tw_weights_part_t *part)
{
    tw_status_t status = tw_side_check(&w->side, part->own > 0 ? part->master : NULL,
                                       "tw_weights_create", "masters of group", part->name);

    part->sum.event  = tw_side_event(&w->side, &status);
    part->send.event = tw_side_event(&w->side, &status);
    return status;
}

/* What each rank can do by itself. */
static tw_status_t tw_weights_begin(tw_weights_t *w, const tw_weights_config_t *config,
                                    const tw_weights_group_t *groups, size_t n)
{
    tw_codec_traits_t traits;
    tw_status_t       status = TW_OK;
    size_t            at     = 0;

    w->part   = calloc(n > 0 ? n : 1, sizeof(*w->part));
    w->counts = calloc((size_t)tw_comm_size(w->comm), sizeof(*w->counts));
    if (w->part == NULL || w->counts == NULL) {
        return TW_ERR_NO_MEMORY;
    }
    w->parts = w->sums = n;
    for (size_t i = 0; i < n && status == TW_OK; i++) {
        tw_weights_part_t *part = &w->part[i];

        *part = (tw_weights_part_t){.weights  = groups[i].weights,
                                    .gradient = groups[i].gradient,
                                    .master   = groups[i].master,
                                    .count    = groups[i].count,
                                    .at       = at,
                                    .sum      = {.span = -1},
                                    .send     = {.span = -1}};
        strcpy(part->name, groups[i].name);
        status = tw_weights_codecs(w, config, &groups[i], part);
        if (status == TW_OK) {
            tw_codec_traits(part->codec, &traits);
            part->unit = traits.block > TW_WEIGHTS_UNIT ? traits.block : TW_WEIGHTS_UNIT;
            part->unit = groups[i].unit > 0 ? groups[i].unit : part->unit;
            part->own  = tw_weights_owned(w->owners, part->count, part->unit, tw_comm_rank(w->comm),
                                          tw_comm_size(w->comm), &part->first);
            at += part->own;
            status = tw_weights_own(w, part);
        }
    }
    w->event = tw_side_event(&w->side, &status);
    return status;
}

/* ---- agreement ----------------------------------------------------------------------------- */

static tw_status_t tw_weights_same(const tw_weights_t *w)
{
    uint64_t names  = TW_HASH(TW_FNV_START, w->parts);
    uint64_t counts = TW_FNV_START, codecs = TW_FNV_START;

    for (size_t i = 0; i < w->parts; i++) {
        const tw_weights_part_t *part = &w->part[i];

        names  = tw_same_text(names, part->name);
        counts = TW_HASH(counts, part->count);
        counts = TW_HASH(counts, part->unit);
        codecs = tw_same_text(codecs, tw_codec_spec(part->codec));
        codecs = tw_same_text(codecs, tw_codec_spec_of(part->summed));
    }
    return tw_same_everywhere(&w->side, "tw_weights_create",
                              (const tw_same_t[]){{"names of groups", names},
                                                  {"elements or units of groups", counts},
                                                  {"codecs", codecs},
                                                  {"owners", TW_HASH(TW_FNV_START, w->owners)}},
                              4);
}

/* Masters that the caller has no memory for, and what norms need: the squares of all ranks, and on
 * a device those of this rank there and in pinned memory. */
static tw_status_t tw_weights_get(tw_weights_t *w, size_t own)
{
    const size_t      squares = 2 * w->parts * ((size_t)tw_comm_size(w->comm) + 1) * sizeof(float);
    tw_side_stream_t *side    = &w->side;
    tw_status_t       status  = TW_OK;

    w->masters = tw_side_get(side, TW_SIDE_DATA, own * sizeof(float), &status);
    w->squares = tw_side_get(side, TW_SIDE_HOST, squares, &status);
    if (side->ops != NULL) {
        w->device_squares = tw_side_get(
            side, TW_SIDE_DATA, (w->parts + TW_DEVICE_SQUARE_WORK) * sizeof(double), &status);
    }
    w->pinned = tw_side_get(side, TW_SIDE_PINNED, w->parts * sizeof(double), &status);
    return status;
}

static tw_status_t tw_weights_room(tw_weights_t *w)
{
    size_t      own = 0, at = 0;
    tw_status_t status;

    for (size_t i = 0; i < w->parts; i++) {
        own += w->part[i].master == NULL ? w->part[i].own : 0;
    }
    status = tw_comm_agree(w->comm, tw_weights_get(w, own));
    if (status != TW_OK) {
        return status;
    }
    for (size_t i = 0; i < w->parts; i++) {
        if (w->part[i].master == NULL) {
            w->part[i].master = (float *)w->masters + at;
            at += w->part[i].own;
        }
    }
    return tw_side_zero(&w->side, w->masters, own * sizeof(float));
}

/* ---- creation ------------------------------------------------------------------------------ */

static tw_status_t tw_weights_make(tw_weights_t *w, tw_status_t mine)
{
    tw_status_t status = tw_comm_agree(w->comm, mine);

    if (status == TW_OK) {
        status = tw_weights_same(w);
    }
    if (status == TW_OK) {
        status = tw_weights_room(w);
    }
    return status == TW_OK ? tw_weights_plans(w) : status;
}

tw_status_t tw_weights_create(tw_comm_t *comm, const tw_weights_config_t *config,
                              const tw_weights_group_t *groups, size_t n, tw_weights_t **weights_p)
{
    tw_weights_t    *w, none = {.comm = comm};
    tw_side_stream_t side   = {.comm = comm};
    tw_status_t      status = tw_comm_check(comm);

    if (status != TW_OK || config == NULL || (groups == NULL && n > 0) || weights_p == NULL) {
        return status != TW_OK ? status : TW_ERR_INVALID_ARG;
    }
    status = tw_weights_check(comm, config);
    if (status == TW_OK) {
        status = tw_side_open(&side, comm, config->exec, "tw_weights_create");
    }
    if (status == TW_OK) {
        status = tw_weights_check_groups(&side, groups, n);
    }
    w = status == TW_OK ? calloc(1, sizeof(*w)) : NULL;
    if (w == NULL) { /* the others must know */
        tw_side_close(&side);
        return tw_weights_make(&none, status == TW_OK ? TW_ERR_NO_MEMORY : status);
    }
    w->comm     = comm;
    w->side     = side;
    w->owners   = config->owners;
    w->trace    = config->trace;
    w->how.exec = tw_side_exec(&w->side);
    status      = tw_weights_make(w, tw_weights_begin(w, config, groups, n));
    if (status != TW_OK) {
        tw_weights_destroy(w);
        return status;
    }
    *weights_p = w;
    return TW_OK;
}

void tw_weights_destroy(tw_weights_t *w)
{
    if (w == NULL) {
        return;
    }
    for (size_t i = 0; i < w->parts; i++) {
        tw_wait(&w->part[i].sum.request);
        tw_wait(&w->part[i].send.request);
        tw_request_free(&w->part[i].sum.request);
        tw_request_free(&w->part[i].send.request);
        tw_feedback_destroy(w->part[i].feedback);
    }
    tw_side_close(&w->side);
    tw_specs_destroy(&w->specs);
    free(w->counts);
    free(w->part);
    free(w);
}

tw_status_t tw_weights_share(const tw_weights_t *w, size_t i, tw_weights_share_t *share)
{
    if (w == NULL || share == NULL) {
        return TW_ERR_INVALID_ARG;
    }
    if (i >= w->parts) {
        return TW_ERR_RANGE;
    }
    *share = (tw_weights_share_t){.master   = w->part[i].master,
                                  .gradient = w->part[i].gradient,
                                  .first    = w->part[i].first,
                                  .count    = w->part[i].own,
                                  .at       = w->part[i].at};
    return TW_OK;
}

/* Of `auto`, what was chosen. */
static const tw_codec_t *tw_weights_travel_in(const tw_weights_part_t *part)
{
    const tw_codec_t *codec = tw_flight_codec(&part->send);

    return codec != NULL ? codec : part->codec;
}

const char *tw_weights_codec(const tw_weights_t *w, size_t i)
{
    return w != NULL && i < w->parts ? tw_codec_spec(tw_weights_travel_in(&w->part[i])) : NULL;
}

tw_status_t tw_weights_facts(const tw_weights_t *w, tw_weights_facts_t *facts)
{
    if (w == NULL || facts == NULL) {
        return TW_ERR_INVALID_ARG;
    }
    *facts = (tw_weights_facts_t){.groups = w->parts, .changes = w->changes};
    for (size_t i = 0; i < w->parts; i++) {
        size_t bytes = 0;

        tw_codec_size(tw_weights_travel_in(&w->part[i]), w->part[i].count, &bytes);
        facts->bytes_codes += bytes;
        facts->elements += w->part[i].count;
        facts->own += w->part[i].own;
        facts->feedbacks += w->part[i].feedback != NULL;
    }
    return TW_OK;
}
