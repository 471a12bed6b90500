/* SPDX-License-Identifier: BSD-3-Clause
 * scheduler/buckets.c - making buckets: arguments, codecs, agreement, plans, feedback objects.
 */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "runtime/base/bytes.h"
#include "runtime/scheduler/buckets.h"
#include "runtime/scheduler/same.h"
#include "runtime/transport/comm/progress_thread.h"

/* ---- arguments ----------------------------------------------------------------------------- */

static tw_status_t tw_buckets_check(tw_comm_t *comm, const tw_buckets_config_t *config)
{
    if (!tw_codec_of_f32(config->codec)) {
        TW_ERROR(&comm->log, "tw_buckets_create: codec %s is not of float32",
                 tw_codec_spec(config->codec));
        return TW_ERR_UNSUPPORTED;
    }
    return TW_OK;
}

static tw_status_t tw_buckets_check_tensors(const tw_side_stream_t   *side,
                                            const tw_bucket_tensor_t *tensors, size_t n)
{
    tw_comm_t *comm = side->comm;
    size_t     all  = 0;

    for (size_t i = 0; i < n; i++) {
        const tw_bucket_tensor_t *t = &tensors[i];

        if (t->name == NULL || t->name[0] == '\0' || strlen(t->name) >= TW_BUCKET_NAME ||
            (t->data == NULL && t->count > 0)) {
            TW_ERROR(&comm->log,
                     "tw_buckets_create: tensor %zu ('%.80s') has no address, or a name that is "
                     "not 1 to %d "
                     "bytes long",
                     i, t->name != NULL ? t->name : "", TW_BUCKET_NAME - 1);
            return TW_ERR_INVALID_ARG;
        }
        for (size_t k = 0; k < i; k++) {
            if (strcmp(tensors[k].name, t->name) == 0) {
                TW_ERROR(&comm->log, "tw_buckets_create: tensors %zu and %zu are both called '%s'",
                         k, i, t->name);
                return TW_ERR_INVALID_ARG;
            }
        }
        if (!tw_size_add(all, t->count, &all) || tw_interval_check(0, all) != TW_OK) {
            return TW_ERR_RANGE;
        }
        if (tw_side_check(side, t->count > 0 ? t->data : NULL, "tw_buckets_create", "tensor",
                          t->name) != TW_OK) {
            return TW_ERR_INVALID_ARG;
        }
    }
    return TW_OK;
}

/* ---- codecs -------------------------------------------------------------------------------- */

static tw_status_t tw_buckets_part(tw_buckets_t *b, const tw_buckets_config_t *config,
                                   const tw_bucket_tensor_t *t, tw_bucket_part_t *part)
{
    const int small =
        config->small > 0 ? t->count < config->small : tw_tensor_is_small(t->count, 0);
    tw_status_t status = TW_OK;

    strcpy(part->name, t->name);
    part->data  = t->data;
    part->count = t->count;
    part->codec = config->codec;
    if (t->codec != NULL) {
        status = tw_specs_codec(&b->specs, b->comm, "tw_buckets_create: tensor", t->name, t->codec,
                                &part->codec);
    } else if (small && tw_codec_lossy(config->codec)) {
        part->codec = NULL;
    }
    part->alone = status == TW_OK && tw_codec_lossy(part->codec);
    return status;
}

/* ---- agreement ----------------------------------------------------------------------------- */

static tw_status_t tw_buckets_same(const tw_buckets_t *b, const tw_buckets_config_t *config)
{
    const int device = b->side.ops != NULL;
    uint64_t  names  = tw_fnv1a(TW_FNV_START, &b->parts, sizeof(b->parts));
    uint64_t  counts = TW_FNV_START, codecs = TW_FNV_START, places = TW_FNV_START;
    uint64_t  rest = tw_fnv1a(TW_FNV_START, &config->algorithm, sizeof(config->algorithm));

    rest = tw_fnv1a(rest, &config->bytes, sizeof(config->bytes));
    rest = tw_fnv1a(rest, &config->small, sizeof(config->small));
    rest = tw_fnv1a(rest, &device, sizeof(device));
    for (size_t i = 0; i < b->parts; i++) {
        const tw_bucket_part_t *part = &b->part[i];

        names  = tw_same_text(names, part->name);
        counts = tw_fnv1a(counts, &part->count, sizeof(part->count));
        codecs = tw_same_text(codecs, part->codec != NULL ? tw_codec_spec(part->codec) : "fp32");
        places = tw_fnv1a(places, &part->at, sizeof(part->at));
    }
    return tw_same_everywhere(b->comm, "tw_buckets_create",
                              (const tw_same_t[]){{"names of tensors", names},
                                                  {"elements of tensors", counts},
                                                  {"codecs", codecs},
                                                  {"algorithms, memory or sizes of buckets", rest},
                                                  {"orders of tensors in memory", places}},
                              5);
}

/* The buffers of buckets whose tensors do not lie together. */
static tw_status_t tw_buckets_room(tw_buckets_t *b)
{
    const size_t staged = tw_buckets_staged(b, NULL);
    void        *room   = NULL;
    tw_status_t  status = TW_OK;

    if (staged > 0) {
        b->memory = staged * sizeof(float);
        status    = tw_side_get(&b->side, staged * sizeof(float), &room);
    }
    b->room = room;
    status  = tw_comm_agree(b->comm, status);
    if (status == TW_OK && staged > 0) {
        tw_buckets_staged(b, b->room);
    }
    return status;
}

static tw_status_t tw_buckets_plan(tw_buckets_t *b, tw_bucket_t *bucket)
{
    tw_codec_traits_t traits = {.lossless = 1};
    tw_how_t          how    = b->how;
    tw_status_t       status = TW_OK;

    if (bucket->codec != NULL) {
        tw_codec_traits(bucket->codec, &traits);
    }
    if (bucket->count == 0 || (b->comm->size == 1 && !bucket->alone)) {
        return TW_OK;
    }
    if (traits.feedback) { /* it is alone */
        status = tw_feedback_create(b->comm, b->part[bucket->first].name, TW_F32, bucket->count,
                                    &bucket->feedback);
    }
    how.codec    = bucket->codec;
    how.feedback = bucket->feedback;
    if (status == TW_OK) {
        status = tw_allreduce_init(b->comm, TW_IN_PLACE, bucket->base, bucket->count, TW_SUM, &how,
                                   &bucket->plan);
    }
    if (status == TW_OK) {
        bucket->plan->after = bucket->event;
    }
    if (status != TW_OK) {
        TW_ERROR(&b->comm->log, "tw_buckets_create: tensor '%s' (%zu elements, %s): %s",
                 b->part[bucket->first].name, bucket->count,
                 bucket->codec != NULL ? tw_codec_spec(bucket->codec) : "fp32",
                 tw_status_text(status));
    }
    return status;
}

/* ---- creation ------------------------------------------------------------------------------ */

/* What each rank can do by itself. */
static tw_status_t tw_buckets_begin(tw_buckets_t *b, const tw_buckets_config_t *config,
                                    const tw_bucket_tensor_t *tensors, size_t n)
{
    tw_status_t status = TW_OK;

    b->part   = calloc(n > 0 ? n : 1, sizeof(*b->part));
    b->bucket = calloc(n > 0 ? n : 1, sizeof(*b->bucket));
    if (b->part == NULL || b->bucket == NULL) {
        return TW_ERR_NO_MEMORY;
    }
    b->parts = n;
    for (size_t i = 0; i < n && status == TW_OK; i++) {
        status = tw_buckets_part(b, config, &tensors[i], &b->part[i]);
    }
    if (status == TW_OK) {
        tw_buckets_group(b, config->bytes > 0 ? config->bytes : TW_BUCKET_BYTES);
    }
    for (size_t k = 0; k < b->buckets && status == TW_OK; k++) {
        status = tw_side_event_get(&b->side, &b->bucket[k].event);
    }
    return status;
}

static tw_status_t tw_buckets_make(tw_buckets_t *b, const tw_buckets_config_t *config,
                                   tw_status_t mine)
{
    tw_status_t status = tw_comm_agree(b->comm, mine);

    if (status == TW_OK) {
        status = tw_buckets_same(b, config);
    }
    if (status == TW_OK) {
        status = tw_buckets_room(b);
    }
    for (size_t k = 0; k < b->buckets && status == TW_OK; k++) {
        status = tw_buckets_plan(b, &b->bucket[k]);
    }
    return status;
}

tw_status_t tw_buckets_create(tw_comm_t *comm, const tw_buckets_config_t *config,
                              const tw_bucket_tensor_t *tensors, size_t n, tw_buckets_t **buckets_p)
{
    static const tw_buckets_config_t nothing = {0};
    tw_buckets_t                    *b, none = {.comm = comm};
    tw_side_stream_t                 side   = {.comm = comm};
    tw_status_t                      status = tw_comm_check(comm);

    if (status != TW_OK || (tensors == NULL && n > 0) || buckets_p == NULL) {
        return status != TW_OK ? status : TW_ERR_INVALID_ARG;
    }
    config = config != NULL ? config : &nothing;
    status = tw_buckets_check(comm, config);
    if (status == TW_OK) {
        status = tw_side_open_own(&side, comm, config->exec, "tw_buckets_create");
    }
    if (status == TW_OK) {
        status = tw_buckets_check_tensors(&side, tensors, n);
    }
    b = status == TW_OK ? calloc(1, sizeof(*b)) : NULL;
    if (b == NULL) { /* the others must know */
        tw_side_close(&side);
        return tw_buckets_make(&none, config, status == TW_OK ? TW_ERR_NO_MEMORY : status);
    }
    b->comm          = comm;
    b->side          = side;
    b->trace         = config->trace;
    b->how.algorithm = config->algorithm;
    if (config->exec != NULL) {
        b->exec     = *config->exec;
        b->how.exec = &b->exec;
        if (side.ops != NULL) {
            b->exec.stream = side.own;
        }
    }
    comm->requests++;
    status = tw_buckets_make(b, config, tw_buckets_begin(b, config, tensors, n));
    if (status != TW_OK) {
        tw_buckets_destroy(b);
        return status;
    }
    *buckets_p = b;
    return TW_OK;
}

void tw_buckets_destroy(tw_buckets_t *b)
{
    if (b == NULL) {
        return;
    }
    for (size_t k = 0; k < b->buckets; k++) {
        tw_wait(&b->bucket[k].plan);
        tw_request_free(&b->bucket[k].plan);
        tw_feedback_destroy(b->bucket[k].feedback);
    }
    tw_side_settle(&b->side);
    for (size_t k = 0; k < b->buckets; k++) {
        tw_side_event_put(&b->side, b->bucket[k].event);
    }
    tw_specs_destroy(&b->specs);
    tw_comm_enter(b->comm);
    b->comm->requests--;
    tw_comm_leave(b->comm);
    if (b->comm->status == TW_OK) { /* else MPI may still write into it */
        tw_side_put(&b->side, b->room);
    }
    tw_side_close(&b->side);
    free(b->bucket);
    free(b->part);
    free(b);
}

/* ---- what became of it --------------------------------------------------------------------- */

static const tw_codec_t *tw_bucket_codec(const tw_buckets_t *b, const tw_bucket_t *bucket)
{
    if (bucket->plan != NULL) {
        return bucket->plan->codec;
    }
    return bucket->codec != NULL ? bucket->codec : b->comm->fp32;
}

tw_status_t tw_buckets_describe(const tw_buckets_t *b, size_t i, size_t *bucket_p,
                                const char **spec_p)
{
    if (b == NULL) {
        return TW_ERR_INVALID_ARG;
    }
    if (i >= b->parts) {
        return TW_ERR_RANGE;
    }
    if (bucket_p != NULL) {
        *bucket_p = b->part[i].bucket;
    }
    if (spec_p != NULL) {
        *spec_p = tw_codec_spec(tw_bucket_codec(b, &b->bucket[b->part[i].bucket]));
    }
    return TW_OK;
}

tw_status_t tw_buckets_facts(const tw_buckets_t *b, tw_buckets_facts_t *facts)
{
    if (b == NULL || facts == NULL) {
        return TW_ERR_INVALID_ARG;
    }
    *facts = (tw_buckets_facts_t){.tensors = b->parts, .buckets = b->buckets, .memory = b->memory};
    for (size_t k = 0; k < b->buckets; k++) {
        const tw_bucket_t *bucket = &b->bucket[k];
        size_t             bytes  = 0;

        tw_codec_size(tw_bucket_codec(b, bucket), bucket->count, &bytes);
        facts->bytes_codes += bytes;
        facts->bytes_uncompressed += bucket->count * sizeof(float);
        facts->feedbacks += bucket->feedback != NULL;
    }
    return TW_OK;
}
