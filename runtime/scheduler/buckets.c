/* SPDX-License-Identifier: BSD-3-Clause
 * scheduler/buckets.c - creating buckets: arguments, codecs, agreement, plans, feedback objects.
 */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "runtime/base/dtype.h"
#include "runtime/scheduler/buckets.h"

/* ---- arguments ----------------------------------------------------------------------------- */

static const char *tw_buckets_type(const tw_codec_t *codec)
{
    const tw_dtype_row_t *row = tw_dtype_row(tw_codec_dtype_of(codec));

    return row != NULL ? row->name : "bytes";
}

/* Both codecs are to be of one type, which is added up. */
static tw_status_t tw_buckets_check(tw_comm_t *comm, const tw_buckets_config_t *config)
{
    const tw_dtype_t  dtype = tw_codec_dtype_of(config->codec);
    const tw_codec_t *small = config->small_codec;

    if (tw_dtype_row(dtype) != NULL && (small == NULL || tw_codec_dtype_of(small) == dtype)) {
        return TW_OK;
    }
    TW_ERROR(tw_comm_log(comm), "buckets: codec %s is of %s, small_codec %s of %s",
             tw_codec_spec_of(config->codec), tw_buckets_type(config->codec),
             tw_codec_spec_of(small), tw_buckets_type(small));
    return TW_ERR_UNSUPPORTED;
}

static tw_status_t tw_buckets_check_tensors(const tw_side_stream_t   *side,
                                            const tw_bucket_tensor_t *tensors, size_t n, bool named)
{
    tw_comm_t *comm = side->comm;
    size_t     all  = 0;

    for (size_t i = 0; i < n; i++) {
        const tw_bucket_tensor_t *t    = &tensors[i];
        const char               *name = t->name != NULL ? t->name : "";

        if (named &&
            tw_item_check(comm, "buckets", "tensor", tensors, sizeof(*tensors), i) != TW_OK) {
            return TW_ERR_INVALID_ARG;
        }
        if (t->data == NULL && t->count > 0) {
            TW_ERROR(tw_comm_log(comm), "buckets: tensor %zu ('%.80s') has no address", i, name);
            return TW_ERR_INVALID_ARG;
        }
        if (!tw_size_add(all, t->count, &all) || tw_interval_check(0, all) != TW_OK) {
            return TW_ERR_RANGE;
        }
        if (tw_side_check(side, t->count > 0 ? t->data : NULL, "tw_buckets_create", "tensor",
                          name) != TW_OK) {
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
        config->small > 0 ? t->count < config->small : tw_tensor_is_small(t->count, t->axes);
    tw_status_t status = TW_OK;

    snprintf(part->name, sizeof(part->name), "%s", t->name != NULL ? t->name : "");
    part->data     = t->data;
    part->count    = t->count;
    part->feedback = t->feedback;
    if (t->codec != NULL) {
        status      = tw_specs_codec(&b->specs, b->comm, "buckets: tensor", part->name, t->codec,
                                     &part->codec);
        part->alone = status == TW_OK && tw_codec_lossy(part->codec);
        return status;
    }
    part->codec = config->codec;
    part->alone = tw_codec_lossy(config->codec);
    if (small && part->alone) {
        part->codec = b->small;
        part->alone = false;
    }
    return TW_OK;
}

/* ---- agreement ----------------------------------------------------------------------------- */

static tw_status_t tw_buckets_same(const tw_buckets_t *b, const tw_buckets_config_t *config)
{
    uint64_t names  = TW_HASH(TW_FNV_START, b->parts);
    uint64_t counts = TW_FNV_START, places = TW_FNV_START;
    uint64_t codecs = TW_HASH(TW_HASH(TW_FNV_START, config->reduction), b->specs.dtype);
    uint64_t rest   = TW_HASH(TW_FNV_START, config->algorithm);

    rest = TW_HASH(rest, config->bytes);
    rest = TW_HASH(rest, config->small);
    for (size_t i = 0; i < b->parts; i++) {
        const tw_bucket_part_t *part  = &b->part[i];
        const bool              given = part->feedback != NULL;

        names  = tw_same_text(names, part->name);
        counts = TW_HASH(counts, part->count);
        codecs = tw_same_text(codecs, tw_codec_spec_of(part->codec));
        codecs = TW_HASH(codecs, given);
        places = TW_HASH(places, part->at);
    }
    return tw_same_everywhere(&b->side, "tw_buckets_create",
                              (const tw_same_t[]){{"names of tensors", names},
                                                  {"elements of tensors", counts},
                                                  {"codecs, feedback or reductions", codecs},
                                                  {"algorithms or sizes of buckets", rest},
                                                  {"orders of tensors in memory", places}},
                              5);
}

tw_status_t tw_buckets_room(tw_buckets_t *b)
{
    const size_t staged = tw_buckets_staged(b, NULL);
    tw_status_t  status = TW_OK;

    if (staged > 0) {
        b->memory = staged;
        b->room   = tw_side_get(&b->side, TW_SIDE_DATA, b->memory, &status);
    }
    if (!b->once) {
        status = tw_comm_agree(b->comm, status);
    }
    if (status == TW_OK && staged > 0) {
        tw_buckets_staged(b, b->room);
    }
    return status;
}

static tw_status_t tw_buckets_plan(tw_buckets_t *b, tw_bucket_t *bucket)
{
    const tw_bucket_part_t *first  = &b->part[bucket->first];
    tw_codec_traits_t       traits = {.lossless = 1};
    tw_status_t             status = TW_OK;

    if (!bucket->travels) {
        return TW_OK;
    }
    if (bucket->alone) {
        tw_codec_traits(bucket->codec, &traits);
    }
    if (traits.feedback && first->feedback == NULL) {
        status = tw_feedback_create(b->comm, first->name, b->specs.dtype, bucket->count,
                                    &bucket->feedback);
    }
    if (status == TW_OK) {
        status = tw_bucket_operation(b, bucket);
    }
    if (status == TW_OK) {
        tw_flight_behind(&bucket->flight);
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
    if (b->small == NULL && b->specs.dtype != TW_F32) {
        status = tw_specs_codec(&b->specs, b->comm, "buckets", "small",
                                tw_dtype_row(b->specs.dtype)->lossless, &b->small);
    }
    for (size_t i = 0; i < n && status == TW_OK; i++) {
        status = tw_buckets_part(b, config, &tensors[i], &b->part[i]);
    }
    if (status == TW_OK) {
        tw_buckets_group(b, config->bytes > 0 ? config->bytes : TW_BUCKET_BYTES);
    }
    for (size_t k = 0; k < b->buckets && status == TW_OK; k++) {
        tw_bucket_t *bucket = &b->bucket[k];

        bucket->travels = bucket->count > 0 &&
                          (b->once || tw_comm_size(b->comm) > 1 || tw_codec_lossy(bucket->codec));
        bucket->flight.event = tw_side_event(&b->side, &status);
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

const tw_buckets_config_t tw_buckets_usual = {0};

tw_status_t tw_buckets_called(const tw_comm_t *comm, const tw_bucket_tensor_t *tensors, size_t n,
                              tw_buckets_t *const *buckets_p)
{
    const tw_status_t status = tw_comm_check(comm);

    return status == TW_OK && ((tensors == NULL && n > 0) || buckets_p == NULL) ? TW_ERR_INVALID_ARG
                                                                                : status;
}

tw_status_t tw_buckets_new(tw_comm_t *comm, const tw_buckets_config_t *config,
                           const tw_bucket_tensor_t *tensors, size_t n, bool once,
                           tw_buckets_t **b_p)
{
    tw_side_stream_t side   = {.comm = comm};
    tw_status_t      status = tw_buckets_check(comm, config);
    tw_buckets_t    *b;

    if (status == TW_OK) {
        status = tw_side_open(&side, comm, config->exec, "tw_buckets_create");
    }
    if (status == TW_OK) {
        status = tw_buckets_check_tensors(&side, tensors, n, !once);
    }
    b    = status == TW_OK ? calloc(1, sizeof(*b)) : NULL;
    *b_p = b;
    if (b == NULL) {
        tw_side_close(&side);
        return status == TW_OK ? TW_ERR_NO_MEMORY : status;
    }
    b->comm          = comm;
    b->once          = once;
    b->specs.dtype   = tw_codec_dtype_of(config->codec);
    b->element       = tw_dtype_size(b->specs.dtype);
    b->small         = config->small_codec;
    b->reduction     = config->reduction;
    b->side          = side;
    b->trace         = config->trace;
    b->how.algorithm = config->algorithm;
    b->how.exec      = tw_side_exec(&b->side);
    return tw_buckets_begin(b, config, tensors, n);
}

tw_status_t tw_buckets_made(tw_buckets_t *b, tw_status_t status, tw_buckets_t **buckets_p)
{
    if (status == TW_OK) {
        *buckets_p = b;
    } else {
        tw_buckets_destroy(b);
    }
    return status;
}

tw_status_t tw_buckets_create(tw_comm_t *comm, const tw_buckets_config_t *config,
                              const tw_bucket_tensor_t *tensors, size_t n, tw_buckets_t **buckets_p)
{
    tw_buckets_t *b, none = {.comm = comm};
    tw_status_t   status = tw_buckets_called(comm, tensors, n, buckets_p);

    if (status != TW_OK) {
        return status;
    }
    config = config != NULL ? config : &tw_buckets_usual;
    status = tw_buckets_new(comm, config, tensors, n, false, &b);
    status = tw_buckets_make(b != NULL ? b : &none, config, status); /* the others must know */
    return tw_buckets_made(b, status, buckets_p);
}

void tw_buckets_destroy(tw_buckets_t *b)
{
    if (b == NULL) {
        return;
    }
    for (size_t k = 0; k < b->buckets; k++) {
        tw_wait(&b->bucket[k].flight.request);
        tw_request_free(&b->bucket[k].flight.request);
        tw_feedback_destroy(b->bucket[k].feedback);
    }
    tw_side_close(&b->side);
    tw_specs_destroy(&b->specs);
    free(b->bucket);
    free(b->part);
    free(b);
}

/* ---- what became of it --------------------------------------------------------------------- */

static const tw_codec_t *tw_bucket_codec(const tw_buckets_t *b, const tw_bucket_t *bucket)
{
    const tw_codec_t *codec = tw_flight_codec(&bucket->flight);

    codec = codec != NULL ? codec : bucket->codec;
    return codec != NULL ? codec : tw_comm_fp32(b->comm);
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
        facts->bytes_uncompressed += bucket->count * b->element;
        facts->feedbacks += bucket->feedback != NULL;
    }
    return TW_OK;
}
