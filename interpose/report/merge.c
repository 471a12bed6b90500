/* SPDX-License-Identifier: BSD-3-Clause
 * interpose/report/merge.c - records of equal keys become one.
 */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "interpose/report/records.h"

void tw_record_merge(tw_record_t *a, const tw_record_t *b)
{
    for (int i = 0; i < TW_RECORD_SUMS; i++) {
        a->sums[i] += b->sums[i];
    }
    for (int i = 0; i < TW_CANDIDATES_MAX && b->could_bytes > 0; i++) {
        for (int t = 0; t < TW_DTYPE_ROWS; t++) {
            a->could[t][i] += b->could[t][i];
        }
    }
    /* An error that is NaN stays seen: nothing compares below it. */
    a->worst = a->worst >= b->worst || a->worst != a->worst ? a->worst : b->worst;
    a->worst_rms =
        a->worst_rms >= b->worst_rms || a->worst_rms != a->worst_rms ? a->worst_rms : b->worst_rms;
    a->bits = a->bits > b->bits ? a->bits : b->bits;
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
