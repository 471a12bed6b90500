/* SPDX-License-Identifier: BSD-3-Clause
 * interpose/report/merge.c - records of equal keys become one.
 */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "interpose/report/records.h"

void tw_record_merge(tw_record_t *a, const tw_record_t *b)
{
    a->calls += b->calls;
    a->uncompressed += b->uncompressed;
    a->sent += b->sent;
    a->time_ns += b->time_ns;
    a->encode_ns += b->encode_ns;
    a->decode_ns += b->decode_ns;
    a->device_calls += b->device_calls;
    a->device_bytes += b->device_bytes;
    a->device_ns += b->device_ns;
    a->small_calls += b->small_calls;
    a->small_ns += b->small_ns;
    for (int i = 0; i < TW_WHY_COUNT; i++) {
        a->why[i] += b->why[i];
        a->why_bytes[i] += b->why_bytes[i];
    }
    for (int i = 0; i < TW_CANDIDATES_MAX && b->could_bytes > 0; i++) {
        for (int t = 0; t < TW_DTYPE_ROWS; t++) {
            a->could[t][i] += b->could[t][i];
        }
    }
    a->could_bytes += b->could_bytes;
    for (int t = 0; t < TW_DTYPE_ROWS; t++) {
        a->could_of[t] += b->could_of[t];
    }
    a->could_ns += b->could_ns;
    a->verified += b->verified;
    a->verified_ns += b->verified_ns;
    a->exact_ns += b->exact_ns;
    /* An error that is NaN stays seen: nothing compares below it. */
    a->worst = a->worst >= b->worst || a->worst != a->worst ? a->worst : b->worst;
    a->worst_rms =
        a->worst_rms >= b->worst_rms || a->worst_rms != a->worst_rms ? a->worst_rms : b->worst_rms;
    a->looked += b->looked;
    for (int i = 0; i < TW_CENSUS && b->looked > 0; i++) {
        a->census[i] += b->census[i];
    }
    a->steps += b->steps;
    a->bounded += b->bounded;
    a->repeats += b->repeats;
    a->bits = a->bits > b->bits ? a->bits : b->bits;
    a->kept += b->kept;
    a->dropped += b->dropped;
}

static int tw_compare_keys(const void *a, const void *b)
{
    return memcmp(&((const tw_record_t *)a)->key, &((const tw_record_t *)b)->key,
                  sizeof(tw_record_key_t));
}

static int tw_compare_uint64(uint64_t a, uint64_t b)
{
    return (a > b) - (a < b);
}

/* Longest first; the rest decides so that the order never depends on that of the ranks. */
static int tw_compare_times(const void *a, const void *b)
{
    const tw_record_t *x = a, *y = b;
    int                order = tw_compare_uint64(y->time_ns, x->time_ns);

    if (order == 0) {
        order = tw_compare_uint64(y->uncompressed, x->uncompressed);
    }
    return order != 0 ? order : tw_compare_keys(a, b);
}

size_t tw_records_merge(tw_record_t *records, size_t count)
{
    size_t n = 0;

    if (count == 0) {
        return 0;
    }
    qsort(records, count, sizeof(*records), tw_compare_keys);
    for (size_t i = 1; i < count; i++) {
        if (tw_compare_keys(&records[n], &records[i]) == 0) {
            tw_record_merge(&records[n], &records[i]);
        } else {
            n++;
            if (n != i) {
                records[n] = records[i];
            }
        }
    }
    n++;
    qsort(records, n, sizeof(*records), tw_compare_times);
    return n;
}
