/* SPDX-License-Identifier: BSD-3-Clause
 * scheduler/buckets_run.c - buckets of a step: ready, started, complete; and saving and restoring
 * their residuals.
 */
#include "config.h"

#include "runtime/base/clock.h"
#include "runtime/scheduler/buckets.h"

/* ---- under way ----------------------------------------------------------------------------- */

static tw_status_t tw_bucket_start(tw_buckets_t *b, size_t number)
{
    tw_bucket_t *bucket = &b->bucket[number];
    tw_status_t  status = TW_OK;

    if (bucket->travels) {
        bucket->flight.span = tw_trace_begin(b->trace, TW_TRACE_NETWORK, "bucket", (int64_t)number);
        status = b->once ? tw_bucket_operation(b, bucket) : tw_start(bucket->flight.request);
    }
    bucket->started = status == TW_OK;
    return status;
}

tw_status_t tw_buckets_ready(tw_buckets_t *b, size_t i)
{
    tw_status_t       status = TW_OK;
    tw_bucket_part_t *part;
    tw_bucket_t      *bucket;

    if (b == NULL || i >= b->parts) {
        return b == NULL ? TW_ERR_INVALID_ARG : TW_ERR_RANGE;
    }
    part   = &b->part[i];
    bucket = &b->bucket[part->bucket];
    if (part->ready) {
        return TW_ERR_BUSY;
    }
    part->ready = true;
    bucket->missing--;
    if (bucket->travels && bucket->staged) {
        status = tw_side_copy(&b->side, bucket->base + part->at * b->element, part->data,
                              part->count * b->element);
    }
    if (status == TW_OK && bucket->missing == 0) {
        status = tw_side_mark(&b->side, bucket->flight.event);
    }
    while (b->next < b->buckets && b->bucket[b->next].missing == 0 && status == TW_OK) {
        status = tw_bucket_start(b, b->next++);
    }
    return status;
}

tw_status_t tw_buckets_advance(tw_buckets_t *b)
{
    tw_status_t status = b != NULL ? tw_comm_advance(b->comm) : TW_ERR_INVALID_ARG;

    if (status != TW_OK) {
        return status;
    }
    for (size_t k = b->oldest; k < b->next; k++) {
        b->oldest += tw_flight_ended(&b->bucket[k].flight, b->trace) && k == b->oldest;
    }
    return TW_OK;
}

/* Sums go back to tensors that do not lie together. */
static tw_status_t tw_bucket_hand_out(tw_buckets_t *b, const tw_bucket_t *bucket)
{
    tw_status_t status = TW_OK;

    if (!bucket->staged) {
        return TW_OK;
    }
    for (size_t i = bucket->first; i != SIZE_MAX && status == TW_OK; i = b->part[i].next) {
        status = tw_side_copy(&b->side, b->part[i].data, bucket->base + b->part[i].at * b->element,
                              b->part[i].count * b->element);
    }
    return status;
}

tw_status_t tw_bucket_await(tw_buckets_t *b, size_t number, int milliseconds, int *done_p)
{
    tw_bucket_t *bucket = &b->bucket[number];
    tw_status_t  status = TW_OK;

    *done_p = 1;
    if (bucket->complete || !bucket->started) {
        return bucket->complete ? TW_OK : TW_ERR_BUSY;
    }
    if (bucket->travels) {
        status =
            tw_flight_wait(&bucket->flight, b->trace, "wait bucket", number, milliseconds, done_p);
        if (*done_p && status == TW_OK) {
            status = tw_bucket_hand_out(b, bucket);
        }
    }
    bucket->complete = *done_p && status == TW_OK;
    return status;
}

static tw_status_t tw_bucket_complete(tw_buckets_t *b, size_t number)
{
    int done;

    return tw_bucket_await(b, number, -1, &done);
}

tw_status_t tw_buckets_wait(tw_buckets_t *b, size_t i)
{
    if (b == NULL) {
        return TW_ERR_INVALID_ARG;
    }
    return i < b->parts ? tw_bucket_complete(b, b->part[i].bucket) : TW_ERR_RANGE;
}

tw_status_t tw_buckets_finish(tw_buckets_t *b)
{
    tw_status_t status = TW_OK;

    if (b == NULL) {
        return TW_ERR_INVALID_ARG;
    }
    for (size_t i = 0; i < b->parts; i++) {
        if (!b->part[i].ready) {
            TW_ERROR(tw_comm_log(b->comm), "tw_buckets_finish: tensor '%s' is not ready",
                     b->part[i].name);
            return TW_ERR_BUSY;
        }
    }
    for (size_t k = 0; k < b->buckets; k++) {
        const tw_status_t s = tw_bucket_complete(b, k);

        status = status == TW_OK ? s : status;
    }
    for (size_t k = 0; k < b->buckets; k++) {
        b->bucket[k].missing = b->bucket[k].members;
        b->bucket[k].started = b->bucket[k].complete = false;
    }
    for (size_t i = 0; i < b->parts; i++) {
        b->part[i].ready = false;
    }
    b->next = b->oldest = 0;
    return status;
}

/* ---- error feedback ------------------------------------------------------------------------ */

tw_status_t tw_buckets_save(tw_buckets_t *b, FILE *stream)
{
    tw_status_t status = b != NULL ? TW_OK : TW_ERR_INVALID_ARG;

    for (size_t k = 0; status == TW_OK && k < b->buckets; k++) {
        if (b->bucket[k].feedback != NULL) {
            status = tw_feedback_save(b->bucket[k].feedback, stream);
        }
    }
    return status;
}

tw_status_t tw_buckets_clear(tw_buckets_t *b)
{
    tw_status_t status = b != NULL ? TW_OK : TW_ERR_INVALID_ARG;

    for (size_t k = 0; status == TW_OK && k < b->buckets; k++) {
        if (b->bucket[k].feedback != NULL) {
            status = tw_feedback_clear(b->bucket[k].feedback);
        }
    }
    return status;
}

tw_status_t tw_buckets_restore(tw_buckets_t *b, FILE *stream, tw_feedback_use_t use)
{
    tw_status_t status = b != NULL ? TW_OK : TW_ERR_INVALID_ARG;

    for (size_t k = 0; status == TW_OK && k < b->buckets; k++) {
        if (b->bucket[k].feedback != NULL) {
            status = tw_feedback_restore(b->bucket[k].feedback, stream, use);
        }
    }
    if (status != TW_OK && b != NULL) {
        tw_buckets_clear(b); /* not half of a file */
    }
    return status;
}
