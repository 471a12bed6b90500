/* SPDX-License-Identifier: BSD-3-Clause
 * scheduler/weights.c - making an exchange of weights: arguments, owners, agreement, plans.
 */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "runtime/base/bytes.h"
#include "runtime/scheduler/same.h"
#include "runtime/scheduler/weights.h"
#include "runtime/transport/coll/collective.h"
#include "runtime/transport/engine/progress_thread.h"

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

/* ---- arguments ----------------------------------------------------------------------------- */

static tw_status_t tw_weights_check(tw_comm_t *comm, const tw_weights_config_t *config)
{
    if (config->owners != TW_WEIGHTS_ROOT && config->owners != TW_WEIGHTS_SHARDED) {
        return TW_ERR_INVALID_ARG;
    }
    if (!tw_codec_of_f32(config->gradient)) {
        TW_ERROR(&comm->log, "tw_weights_create: codec %s is not of float32",
                 tw_codec_spec(config->gradient));
        return TW_ERR_UNSUPPORTED;
    }
    if (config->exec != NULL && config->exec->memory != TW_MEMORY_HOST &&
        config->owners != TW_WEIGHTS_SHARDED) {
        TW_ERROR(&comm->log, "tw_weights_create: device memory needs TW_WEIGHTS_SHARDED");
        return TW_ERR_UNSUPPORTED;
    }
    return TW_OK;
}

static tw_status_t tw_weights_check_groups(tw_comm_t *comm, const tw_weights_config_t *config,
                                           const tw_weights_group_t *groups, size_t n)
{
    const bool device = config->exec != NULL && config->exec->memory != TW_MEMORY_HOST;
    size_t     all    = 0;

    for (size_t i = 0; i < n; i++) {
        const tw_weights_group_t *g = &groups[i];

        if (g->name == NULL || g->name[0] == '\0' || strlen(g->name) >= TW_WEIGHTS_NAME ||
            (g->count > 0 && (g->weights == NULL || g->gradient == NULL))) {
            TW_ERROR(
                &comm->log,
                "tw_weights_create: group %zu ('%.80s') has no address, or a name that is not 1 "
                "to %d bytes long",
                i, g->name != NULL ? g->name : "", TW_WEIGHTS_NAME - 1);
            return TW_ERR_INVALID_ARG;
        }
        for (size_t k = 0; k < i; k++) {
            if (strcmp(groups[k].name, g->name) == 0) {
                TW_ERROR(&comm->log, "tw_weights_create: groups %zu and %zu are both called '%s'",
                         k, i, g->name);
                return TW_ERR_INVALID_ARG;
            }
        }
        if (device && g->master == NULL && g->count > 0) {
            TW_ERROR(&comm->log,
                     "tw_weights_create: group '%s' has no memory of the device for its masters",
                     g->name);
            return TW_ERR_UNSUPPORTED;
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

/* What each rank can do by itself. TW_ERR_NO_MEMORY is for all to know. */
static tw_status_t tw_weights_begin(tw_weights_t *w, const tw_weights_config_t *config,
                                    const tw_weights_group_t *groups, size_t n)
{
    tw_codec_traits_t traits;
    tw_status_t       status = TW_OK;
    size_t            at     = 0;

    w->part   = calloc(n > 0 ? n : 1, sizeof(*w->part));
    w->counts = calloc((size_t)w->comm->size, sizeof(*w->counts));
    if (w->part == NULL || w->counts == NULL) {
        return TW_ERR_NO_MEMORY;
    }
    w->parts = w->sums = n;
    for (size_t i = 0; i < n && status == TW_OK; i++) {
        tw_weights_part_t *part = &w->part[i];

        *part = (tw_weights_part_t){.weights   = groups[i].weights,
                                    .gradient  = groups[i].gradient,
                                    .master    = groups[i].master,
                                    .count     = groups[i].count,
                                    .at        = at,
                                    .sum_span  = -1,
                                    .send_span = -1};
        strcpy(part->name, groups[i].name);
        status = tw_weights_codecs(w, config, &groups[i], part);
        if (status == TW_OK) {
            tw_codec_traits(part->codec, &traits);
            part->unit = traits.block > TW_WEIGHTS_UNIT ? traits.block : TW_WEIGHTS_UNIT;
            part->unit = groups[i].unit > 0 ? groups[i].unit : part->unit;
            part->own  = tw_weights_owned(w->owners, part->count, part->unit, w->comm->rank,
                                          w->comm->size, &part->first);
            at += part->own;
        }
    }
    return status;
}

/* ---- agreement ----------------------------------------------------------------------------- */

static tw_status_t tw_weights_same(const tw_weights_t *w)
{
    uint64_t names  = tw_fnv1a(TW_FNV_START, &w->parts, sizeof(w->parts));
    uint64_t counts = TW_FNV_START, codecs = TW_FNV_START;

    for (size_t i = 0; i < w->parts; i++) {
        const tw_weights_part_t *part = &w->part[i];

        names  = tw_same_text(names, part->name);
        counts = tw_fnv1a(counts, &part->count, sizeof(part->count));
        counts = tw_fnv1a(counts, &part->unit, sizeof(part->unit));
        codecs = tw_same_text(codecs, tw_codec_spec(part->codec));
        codecs = tw_same_text(codecs, part->summed != NULL ? tw_codec_spec(part->summed) : "fp32");
    }
    return tw_same_everywhere(
        w->comm, "tw_weights_create",
        (const tw_same_t[]){{"names of groups", names},
                            {"elements or units of groups", counts},
                            {"codecs", codecs},
                            {"owners", tw_fnv1a(TW_FNV_START, &w->owners, sizeof(w->owners))}},
        4);
}

/* Masters that the caller has no memory for, and the squares of norms. */
static tw_status_t tw_weights_room(tw_weights_t *w)
{
    const size_t squares = 2 * w->parts * ((size_t)w->comm->size + 1);
    size_t       own     = 0;
    void        *masters = NULL, *room = NULL;
    tw_status_t  status;

    for (size_t i = 0; i < w->parts; i++) {
        own += w->part[i].master == NULL ? w->part[i].own : 0;
    }
    tw_comm_enter(w->comm);
    status = tw_pool_get(&w->comm->pool, own * sizeof(float), &masters);
    if (status == TW_OK) {
        status = tw_pool_get(&w->comm->pool, squares * sizeof(float), &room);
    }
    w->masters = masters;
    w->squares = room;
    status     = tw_comm_agree(w->comm, status);
    tw_comm_leave(w->comm);
    if (status != TW_OK) {
        return status;
    }
    memset(w->masters, 0, own * sizeof(float));
    for (size_t i = 0, at = 0; i < w->parts; i++) {
        if (w->part[i].master == NULL) {
            w->part[i].master = w->masters + at;
            at += w->part[i].own;
        }
    }
    return TW_OK;
}

/* ---- plans --------------------------------------------------------------------------------- */

void tw_weights_shares(const tw_weights_t *w, const tw_weights_part_t *part)
{
    for (int r = 0; r < w->comm->size; r++) {
        w->counts[r] = tw_weights_owned(w->owners, part->count, part->unit, r, w->comm->size, NULL);
    }
}

static tw_status_t tw_weights_planned(const tw_weights_t *w, const tw_weights_part_t *part,
                                      const char *what, const tw_codec_t *codec, tw_status_t status)
{
    if (status != TW_OK) {
        TW_ERROR(&w->comm->log, "%s of group '%s' (%zu elements, %s): %s", what, part->name,
                 part->count, codec != NULL ? tw_codec_spec(codec) : "fp32",
                 tw_status_text(status));
    }
    return status;
}

/* As tw_bcast_init() and tw_allgatherv_init(), in a buffer that was large enough for every codec so
 * far: the next plan finds it in the pool. */
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
    if (w->owners == TW_WEIGHTS_ROOT) {
        how.flags = TW_BCAST_SAME;
        tw_collective_begin(&call, w->comm, &tw_collective_bcast, "bcast", part->weights,
                            part->weights, &how);
        call.count = part->count;
        call.root  = 0;
    } else {
        tw_weights_shares(w, part);
        tw_collective_begin(&call, w->comm, &tw_collective_allgather, "allgatherv", part->master,
                            part->weights, &how);
        call.in = (tw_blocks_t){.counts = w->counts};
    }
    call.room = part->room;
    status    = tw_collective(&call, TW_PLAN, &part->send);
    if (status == TW_OK && part->send->room > part->room) {
        part->room = part->send->room;
    }
    return tw_weights_planned(w, part, "the weights", part->codec, status);
}

/* The sum of the gradient: to where the own share of it begins. */
static tw_status_t tw_weights_plan_sum(tw_weights_t *w, size_t i)
{
    tw_weights_part_t *part = &w->part[i];
    const bool         root = w->comm->rank == 0;
    tw_how_t           how  = w->how;
    tw_codec_traits_t  traits;
    tw_status_t        status = TW_OK;

    if (part->count == 0 || (w->comm->size == 1 && !tw_codec_lossy(part->summed))) {
        return TW_OK;
    }
    if (part->summed != NULL && tw_codec_traits(part->summed, &traits) == TW_OK &&
        traits.feedback) {
        status = tw_feedback_create(w->comm, part->name, TW_F32, part->count, &part->feedback);
    }
    how.codec    = part->summed;
    how.feedback = part->feedback;
    if (status == TW_OK && w->owners == TW_WEIGHTS_ROOT) {
        status =
            tw_reduce_init(w->comm, root ? TW_IN_PLACE : part->gradient,
                           root ? part->gradient : NULL, part->count, TW_SUM, 0, &how, &part->sum);
    } else if (status == TW_OK) {
        tw_weights_shares(w, part);
        status = tw_reduce_scatter_init(w->comm, TW_IN_PLACE, part->gradient, w->counts, TW_SUM,
                                        &how, &part->sum);
    }
    return tw_weights_planned(w, part, "the gradient", part->summed, status);
}

/* Codecs of S0, the widest first, made before they are asked for. */
#define TW_WEIGHTS_AHEAD 8
static const char *const ahead[TW_WEIGHTS_AHEAD] = {
    "bitpack:3", "bitpack:4",       "bitpack:1",       "bitpack:2",
    "fp32",      "bitpack:1,round", "bitpack:2,round", "bitpack:3,round"};

/* How large the plans' buffers become in the codecs of S0, those that lose something and the one that
 * does not, which may take another way. */
static tw_status_t tw_weights_rehearse(tw_weights_t *w, size_t i, const tw_codec_t *const *codecs)
{
    const tw_codec_t *codec  = w->part[i].codec;
    tw_status_t       status = TW_OK;

    for (int k = 0; k < 2 && status == TW_OK; k++) {
        w->part[i].codec = codecs[k];
        status           = tw_weights_plan(w, i);
        tw_request_free(&w->part[i].send);
    }
    w->part[i].codec = codec;
    return status;
}

static tw_status_t tw_weights_plans(tw_weights_t *w)
{
    const tw_codec_t *codec[TW_WEIGHTS_AHEAD];
    tw_status_t       status = TW_OK;

    for (int k = 0; k < TW_WEIGHTS_AHEAD && status == TW_OK; k++) {
        status = tw_specs_codec(&w->specs, w->comm, "tw_weights_create: codec", ahead[k], ahead[k],
                                &codec[k]);
    }
    tw_comm_enter(w->comm);
    status = tw_comm_agree(w->comm, status);
    tw_comm_leave(w->comm);
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

/* ---- creation ------------------------------------------------------------------------------ */

static tw_status_t tw_weights_make(tw_weights_t *w, tw_status_t mine)
{
    tw_status_t status;

    tw_comm_enter(w->comm);
    status = tw_comm_agree(w->comm, mine);
    tw_comm_leave(w->comm);
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
    tw_weights_t *w, none = {.comm = comm};
    tw_status_t   status = tw_comm_check(comm);

    if (status != TW_OK || config == NULL || (groups == NULL && n > 0) || weights_p == NULL) {
        return status != TW_OK ? status : TW_ERR_INVALID_ARG;
    }
    status = tw_weights_check(comm, config);
    if (status == TW_OK) {
        status = tw_weights_check_groups(comm, config, groups, n);
    }
    if (status != TW_OK) {
        return status;
    }
    w = calloc(1, sizeof(*w));
    if (w == NULL) {
        return tw_weights_make(&none, TW_ERR_NO_MEMORY);
    }
    w->comm   = comm;
    w->owners = config->owners;
    w->trace  = config->trace;
    if (config->exec != NULL) {
        w->exec     = *config->exec;
        w->how.exec = &w->exec;
        w->device   = config->exec->memory != TW_MEMORY_HOST;
    }
    comm->requests++;
    status = tw_weights_begin(w, config, groups, n);
    if (status == TW_OK || status == TW_ERR_NO_MEMORY) {
        status = tw_weights_make(w, status);
    }
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
        tw_wait(&w->part[i].sum);
        tw_wait(&w->part[i].send);
        tw_request_free(&w->part[i].sum);
        tw_request_free(&w->part[i].send);
        tw_feedback_destroy(w->part[i].feedback);
    }
    tw_specs_destroy(&w->specs);
    tw_comm_enter(w->comm);
    w->comm->requests--;
    if (w->comm->status == TW_OK) { /* else MPI may still write into them */
        tw_pool_put(&w->comm->pool, w->masters);
        tw_pool_put(&w->comm->pool, w->squares);
    }
    tw_comm_leave(w->comm);
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
    return part->send != NULL ? part->send->codec : part->codec;
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
