/* SPDX-License-Identifier: BSD-3-Clause
 * tests/codec/oracle.c - see oracle.h.
 */
#include "config.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "tests/codec/common.h"
#include "tests/codec/format.h"
#include "tests/codec/oracle.h"

static const char *const tree_specs[]  = {"tree8:block=64,split=0.45", "tree8:block=64,split=0.55"};
static const char *const fixed_specs[] = {
    "static8:offset=1",      "static8:offset=10",     "static8:offset=100",  "static8:offset=1000",
    "static8:offset=10000",  "mantissa8:offset=1",    "mantissa8:offset=10", "mantissa8:offset=100",
    "mantissa8:offset=1000", "mantissa8:offset=10000"};

/* The nearest field to y in double, ties to the smaller magnitude, duplicates to the lower field.
 * Far above all levels, where differences would be rounded, any number has the same answer. */
static int nearest(const oracle_t *oracle, float y)
{
    const double size  = fmin(fabs((double)y), 1e6);
    double       best  = INFINITY;
    int          field = 0;

    for (int f = 0; f < ORACLE_FIELDS; f++) {
        const double m = oracle->magnitude[f], distance = fabs(m - size);

        if (distance < best || (distance == best && m < (double)oracle->magnitude[field])) {
            best  = distance;
            field = f;
        }
    }
    return field;
}

oracle_t oracle_tree(int which)
{
    oracle_t oracle = {.spec = tree_specs[which]};

    format_table(which == 0 ? "tree8, split 0.45" : "tree8, split 0.55", oracle.magnitude);
    return oracle;
}

/* Decimal numbers, read by the C library, which rounds correctly. */
oracle_t oracle_fixed(int which)
{
    oracle_t  oracle  = {.spec = fixed_specs[which]};
    const int tree    = strncmp(oracle.spec, "static8", 7) == 0;
    const int decades = (int)strlen(strchr(oracle.spec, '=') + 1) - 1;

    for (int f = 1; f < ORACLE_FIELDS; f++) {
        const int m = f & 15, x = f >> 4;
        const int v = !tree ? m * 100000 : m < 8 ? 10000 + 4375 * m : 45000 + 6875 * (m - 8);
        char      text[32];

        snprintf(text, sizeof(text), "%de%d", v, x - 7 - 5 + decades);
        oracle.magnitude[f] = strtof(text, NULL);
    }
    return oracle;
}

uint32_t oracle_absmax(const float *x, size_t n)
{
    uint32_t most = 0;

    for (size_t i = 0; i < n; i++) {
        const uint32_t bits = tw_float_bits(x[i]) & 0x7fffffffu;

        most = bits > most ? bits : most;
    }
    return most;
}

/* One tree8 block by brute force; */
void oracle_tree8_block(const oracle_t *oracle, const float *x, size_t n, uint8_t *want)
{
    const uint32_t most   = oracle_absmax(x, n);
    const float    absmax = tw_bits_float(most);
    const float    factor = absmax >= 0x1p-126f ? 1.0f / absmax : 0.0f;

    memset(want, 0, 4 + n);
    if (most >= 0x7f800000u) {
        tw_store_le32(want, 0x7fc00000u);
        return;
    }
    tw_store_le32(want, absmax >= 0x1p-126f ? most : 0);
    for (size_t i = 0; i < n; i++) {
        want[4 + i] =
            (uint8_t)(nearest(oracle, x[i] * factor) | (int)(tw_float_bits(x[i]) >> 24 & 0x80));
    }
}

void oracle_int8_block(const float *x, size_t n, uint8_t *want)
{
    const uint32_t most   = oracle_absmax(x, n);
    const float    absmax = tw_bits_float(most);
    const float    factor = absmax >= 0x1p-119f ? 127.0f / absmax : 0.0f;

    memset(want, 0, 4 + n);
    if (most >= 0x7f800000u) {
        tw_store_le32(want, 0x7fc00000u);
        return;
    }
    tw_store_le32(want, absmax >= 0x1p-119f ? tw_float_bits(absmax / 127.0f) : 0);
    for (size_t i = 0; i < n; i++) {
        const float y    = x[i] * factor;
        int         best = 0;

        for (int q = -127; q <= 127; q++) { /* of two equally near the even one */
            const double d = fabs((double)y - q), e = fabs((double)y - best);

            best = d < e || (d == e && q % 2 == 0) ? q : best;
        }
        want[4 + i] = (uint8_t)best;
    }
}

uint8_t oracle_fixed_code(const oracle_t *oracle, float x)
{
    int field;

    if (!test_is_finite(x)) {
        return 0x80;
    }
    field = nearest(oracle, x);
    return (uint8_t)(field != 0 ? field | (int)(tw_float_bits(x) >> 24 & 0x80) : 0);
}

/* All floats within 100 ulp of the middle of two levels that follow each other, both signs. Returns
 * how many. */
size_t oracle_thresholds(const oracle_t *oracle, float *x)
{
    float  sorted[ORACLE_FIELDS];
    size_t n = 0;

    memcpy(sorted, oracle->magnitude, sizeof(sorted));
    for (int i = 1; i < ORACLE_FIELDS; i++) {
        for (int j = i; j > 0 && sorted[j - 1] > sorted[j]; j--) {
            const float t = sorted[j];

            sorted[j]     = sorted[j - 1];
            sorted[j - 1] = t;
        }
    }
    for (int i = 1; i < ORACLE_FIELDS; i++) {
        const uint32_t middle =
            tw_float_bits((float)(((double)sorted[i - 1] + (double)sorted[i]) / 2));

        for (uint32_t u = middle < 100 ? 0 : middle - 100; u <= middle + 100; u++) {
            x[n++] = tw_bits_float(u);
            x[n++] = tw_bits_float(u | 0x80000000u);
        }
    }
    return n;
}
