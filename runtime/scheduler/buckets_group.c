/* SPDX-License-Identifier: BSD-3-Clause
 * scheduler/buckets_group.c - assignment of tensors to buckets, their positions, and the operation
 * of a bucket.
 *
 * Buckets are numbered in the order of their last tensors, since a bucket starts when its last
 * tensor is ready.
 */
#include "config.h"

#include <stdlib.h>

#include "runtime/scheduler/buckets.h"

#define TW_ROOM(bytes) (((bytes) + 127) / 128 * 128) /* keeps buckets on lines of their own */

/* The bucket that a part joins: the newest of its codec, if that may have more; SIZE_MAX: a new
 * one. */
static size_t tw_bucket_for(const tw_buckets_t *b, const tw_bucket_part_t *part, size_t most)
{
    for (size_t i = b->buckets; i-- > 0 && !part->alone;) {
        const tw_bucket_t *bucket = &b->bucket[i];

        if (!bucket->alone && bucket->codec == part->codec) {
            return bucket->count <= most && part->count <= most - bucket->count ? i : SIZE_MAX;
        }
    }
    return SIZE_MAX;
}

static void tw_bucket_join(tw_buckets_t *b, size_t i, size_t most)
{
    tw_bucket_part_t *part = &b->part[i];
    size_t            in   = tw_bucket_for(b, part, most);
    tw_bucket_t      *bucket;

    if (in == SIZE_MAX) {
        in            = b->buckets++;
        b->bucket[in] = (tw_bucket_t){
            .first = i, .codec = part->codec, .alone = part->alone, .flight = {.span = -1}};
    } else {
        b->part[b->bucket[in].last].next = i;
    }
    bucket       = &b->bucket[in];
    bucket->last = i;
    bucket->members++;
    part->next = SIZE_MAX;
    part->at   = bucket->count;
    bucket->count += part->count;
}

static int tw_bucket_by_last(const void *a, const void *b)
{
    const size_t x = ((const tw_bucket_t *)a)->last, y = ((const tw_bucket_t *)b)->last;

    return x < y ? -1 : x > y;
}

/* The lowest address of a bucket's tensors, if they fill one interval: count elements between the
 * lowest and the highest, as tensors do not overlap. Else NULL. */
static uint8_t *tw_bucket_interval(const tw_buckets_t *b, const tw_bucket_t *bucket)
{
    uintptr_t low = UINTPTR_MAX, high = 0;

    for (size_t i = bucket->first; i != SIZE_MAX; i = b->part[i].next) {
        const uintptr_t begin = (uintptr_t)b->part[i].data;
        const uintptr_t end   = begin + b->part[i].count * b->element;

        if (b->part[i].count > 0) {
            low  = begin < low ? begin : low;
            high = end > high ? end : high;
        }
    }
    return high >= low && high - low == bucket->count * b->element ? (uint8_t *)low : NULL;
}

static void tw_bucket_lay_out(tw_buckets_t *b, size_t number)
{
    tw_bucket_t *bucket = &b->bucket[number];

    bucket->base    = tw_bucket_interval(b, bucket);
    bucket->staged  = bucket->base == NULL && bucket->count > 0;
    bucket->missing = bucket->members;
    for (size_t i = bucket->first; i != SIZE_MAX; i = b->part[i].next) {
        b->part[i].bucket = number;
        if (!bucket->staged && b->part[i].count > 0) {
            b->part[i].at = (size_t)((uint8_t *)b->part[i].data - bucket->base) / b->element;
        }
    }
}

void tw_buckets_group(tw_buckets_t *b, size_t bytes)
{
    b->buckets = 0;
    for (size_t i = 0; i < b->parts; i++) {
        tw_bucket_join(b, i, bytes / b->element);
    }
    if (b->buckets > 0) {
        qsort(b->bucket, b->buckets, sizeof(*b->bucket), tw_bucket_by_last);
    }
    for (size_t k = 0; k < b->buckets; k++) {
        tw_bucket_lay_out(b, k);
    }
}

size_t tw_buckets_staged(tw_buckets_t *b, uint8_t *room)
{
    size_t used = 0;

    for (size_t k = 0; k < b->buckets; k++) {
        if (b->bucket[k].staged) {
            b->bucket[k].base = room != NULL ? room + used : NULL;
            used += TW_ROOM(b->bucket[k].count * b->element);
        }
    }
    return used;
}

tw_status_t tw_bucket_operation(tw_buckets_t *b, tw_bucket_t *bucket)
{
    const tw_bucket_part_t *first = &b->part[bucket->first];
    tw_how_t                how   = b->how;
    tw_status_t             status;

    how.codec = bucket->codec;
    if (how.algorithm == TW_ALGORITHM_AUTO) {
        how.algorithm = tw_flight_sums_by(b->comm, &how);
    }
    if (bucket->alone) {
        how.feedback = first->feedback != NULL ? first->feedback : bucket->feedback;
    }
    status = (b->once ? tw_iallreduce : tw_allreduce_init)(b->comm, TW_IN_PLACE, bucket->base,
                                                           bucket->count, b->reduction, &how,
                                                           &bucket->flight.request);
    if (status != TW_OK) {
        TW_ERROR(tw_comm_log(b->comm), "buckets: tensor '%s' (%zu elements, %s): %s", first->name,
                 bucket->count, tw_codec_spec_of(bucket->codec), tw_status_text(status));
    }
    return status;
}
