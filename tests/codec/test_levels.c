/* SPDX-License-Identifier: BSD-3-Clause
 * tests/codec/test_levels.c - tree8, int8, static8 and mantissa8 against a brute-force search in
 * double: on random blocks, within 100 ulp of every threshold, and over a lattice of all floats in
 * [0, 1] (over every one of them with TW_EXHAUSTIVE=1). The magnitudes of the oracle come from
 * docs/wire-format.md, those of the fixed types from decimal numbers.
 */
#include "config.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "tests/codec/common.h"
#include "tests/codec/format.h"

#define FIELDS 128
#define BLOCK  64

typedef struct oracle {
    const char *spec;
    float       magnitude[FIELDS]; /* of each field */
} oracle_t;

static const char *const tree_specs[]  = {"tree8:block=64,split=0.45", "tree8:block=64,split=0.55"};
static const char *const fixed_specs[] = {
    "static8:offset=1",      "static8:offset=10",      "static8:offset=100",
    "static8:offset=1000",   "static8:offset=10000",   "mantissa8:offset=1",
    "mantissa8:offset=10",   "mantissa8:offset=100",   "mantissa8:offset=1000",
    "mantissa8:offset=10000"};

/* The nearest field to y in double, ties to the smaller magnitude, duplicates to the lower field.
 * Far above all levels, where differences would be rounded, any number has the same answer. */
static int nearest(const oracle_t *oracle, float y)
{
    const double size  = fmin(fabs((double)y), 1e6);
    double       best  = INFINITY;
    int          field = 0;

    for (int f = 0; f < FIELDS; f++) {
        const double m = oracle->magnitude[f], distance = fabs(m - size);

        if (distance < best || (distance == best && m < (double)oracle->magnitude[field])) {
            best  = distance;
            field = f;
        }
    }
    return field;
}

static oracle_t tree_oracle(int which)
{
    oracle_t oracle = {.spec = tree_specs[which]};

    format_table(which == 0 ? "tree8, split 0.45" : "tree8, split 0.55", oracle.magnitude);
    return oracle;
}

/* Decimal numbers, read by the C library, which rounds correctly. */
static oracle_t fixed_oracle(int which)
{
    oracle_t  oracle = {.spec = fixed_specs[which]};
    const int tree   = strncmp(oracle.spec, "static8", 7) == 0;
    const int decades = (int)strlen(strchr(oracle.spec, '=') + 1) - 1;

    for (int f = 1; f < FIELDS; f++) {
        const int m = f & 15, x = f >> 4;
        const int v = !tree ? m * 100000 : m < 8 ? 10000 + 4375 * m : 45000 + 6875 * (m - 8);
        char      text[32];

        snprintf(text, sizeof(text), "%de%d", v, x - 7 - 5 + decades);
        oracle.magnitude[f] = strtof(text, NULL);
    }
    return oracle;
}

START_TEST(all_codes_decode_as_listed_tree8)
{
    const oracle_t oracle = tree_oracle(_i);
    tw_codec_t    *codec  = test_codec(oracle.spec, TW_F32);
    const float    scales[] = {1.0f, 3.0f, 0x1p-126f, 0x1.fffffep127f, 0.1f, 0.0f, -2.0f, 0x1p-140f};

    for (int s = 0; s < 8; s++) {
        uint8_t codes[4 * (4 + BLOCK)];
        float   back[256];

        for (int c = 0; c < 256; c++) {
            uint8_t *block = codes + c / BLOCK * (4 + BLOCK);

            tw_store_le32(block, tw_float_bits(scales[s]));
            block[4 + c % BLOCK] = (uint8_t)c;
        }
        test_decode(codec, codes, 256, back);
        for (int c = 0; c < 256; c++) {
            const float level = oracle.magnitude[c & 127];
            const float want  = (c < 128 ? level : -level) * scales[s];

            ck_assert_msg(tw_float_bits(back[c]) == tw_float_bits(want), "code %d: %a, not %a", c,
                          back[c], want);
        }
    }
    tw_codec_destroy(codec);
}
END_TEST

START_TEST(all_codes_decode_as_listed_fixed)
{
    const oracle_t oracle = fixed_oracle(_i);
    tw_codec_t    *codec  = test_codec(oracle.spec, TW_F32);
    uint8_t        codes[256];
    float          back[256];

    for (int c = 0; c < 256; c++) {
        codes[c] = (uint8_t)c;
    }
    test_decode(codec, codes, 256, back);
    for (int c = 0; c < 256; c++) {
        const float level = oracle.magnitude[c & 127];
        uint32_t    want  = tw_float_bits(c < 128 ? level : -level);

        want = c == 0x80 ? 0x7fc00000u : want;
        ck_assert_msg(tw_float_bits(back[c]) == want, "code %d: %a", c, back[c]);
    }
    tw_codec_destroy(codec);
}
END_TEST

START_TEST(all_codes_decode_as_listed_int8)
{
    static const float scales[] = {1.0f, 0.3f, 0x1p-126f, 0x1p120f, 0.0f, -1.5f};
    tw_codec_t        *codec    = test_codec("int8:block=256", TW_F32);
    uint8_t            codes[4 + 256];
    float              back[256];

    for (int s = 0; s < 6; s++) {
        tw_store_le32(codes, tw_float_bits(scales[s]));
        for (int c = 0; c < 256; c++) {
            codes[4 + c] = (uint8_t)c;
        }
        test_decode(codec, codes, 256, back);
        for (int c = 0; c < 256; c++) {
            const float want = (float)(c < 128 ? c : c - 256) * scales[s];

            ck_assert_msg(tw_float_bits(back[c]) == tw_float_bits(want), "code %d: %a", c, back[c]);
        }
    }
    tw_codec_destroy(codec);
}
END_TEST

static uint32_t absmax_bits(const float *x, size_t n)
{
    uint32_t most = 0;

    for (size_t i = 0; i < n; i++) {
        const uint32_t bits = tw_float_bits(x[i]) & 0x7fffffffu;

        most = bits > most ? bits : most;
    }
    return most;
}

/* One tree8 block by brute force; */
static void tree8_block(const oracle_t *oracle, const float *x, size_t n, uint8_t *want)
{
    const uint32_t most   = absmax_bits(x, n);
    const float    absmax = tw_bits_float(most);
    const float    factor = absmax >= 0x1p-126f ? 1.0f / absmax : 0.0f;

    memset(want, 0, 4 + n);
    if (most >= 0x7f800000u) {
        tw_store_le32(want, 0x7fc00000u);
        return;
    }
    tw_store_le32(want, absmax >= 0x1p-126f ? most : 0);
    for (size_t i = 0; i < n; i++) {
        want[4 + i] = (uint8_t)(nearest(oracle, x[i] * factor) | (int)(tw_float_bits(x[i]) >> 24 & 0x80));
    }
}

static void int8_block(const float *x, size_t n, uint8_t *want)
{
    const uint32_t most   = absmax_bits(x, n);
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

static const test_kind_t kinds[] = {TEST_NORMAL, TEST_NORMAL, TEST_WIDE,  TEST_HUGE, TEST_DENORMAL,
                                    TEST_SMALL,  TEST_EDGE,   TEST_EQUAL, TEST_BITS, TEST_ZERO,
                                    TEST_MINUS_ZERO};

#define KINDS (int)(sizeof(kinds) / sizeof(kinds[0]))

static void check_codes(const char *spec, const float *x, size_t n, const uint8_t *want)
{
    tw_codec_t  *codec = test_codec(spec, TW_F32);
    uint8_t     *got   = test_encode(codec, x, n);
    const size_t bytes = test_size(codec, n);

    for (size_t i = 0; i < bytes; i++) {
        if (got[i] != want[i]) {
            ck_abort_msg("%s: byte %zu is 0x%02x, should be 0x%02x", spec, i, got[i], want[i]);
        }
    }
    free(got);
    tw_codec_destroy(codec);
}

START_TEST(random_blocks_are_the_nearest_tree8)
{
    const oracle_t oracle = tree_oracle(_i);
    const size_t   n      = 320 * BLOCK - 13;
    test_random_t  random = test_random((uint64_t)_i);
    float         *x      = malloc(4 * n);
    uint8_t       *want   = malloc(n + 4 * (n / BLOCK + 1));

    for (int k = 0; k < KINDS; k++) {
        test_fill(x, TW_F32, n, kinds[k], &random);
        for (size_t i = 0; i < n; i += BLOCK) {
            tree8_block(&oracle, x + i, n - i < BLOCK ? n - i : BLOCK, want + i / BLOCK * (4 + BLOCK));
        }
        check_codes(oracle.spec, x, n, want);
    }
    free(x);
    free(want);
}
END_TEST

START_TEST(random_blocks_are_the_nearest_int8)
{
    const size_t  n      = 160 * BLOCK - 13;
    test_random_t random = test_random(0);
    float        *x      = malloc(4 * n);
    uint8_t      *want   = malloc(n + 4 * (n / BLOCK + 1));

    for (int k = 0; k < KINDS; k++) {
        test_fill(x, TW_F32, n, kinds[k], &random);
        for (size_t i = 0; i < n; i += BLOCK) {
            int8_block(x + i, n - i < BLOCK ? n - i : BLOCK, want + i / BLOCK * (4 + BLOCK));
        }
        check_codes("int8:block=64", x, n, want);
    }
    free(x);
    free(want);
}
END_TEST

static uint8_t fixed_code(const oracle_t *oracle, float x)
{
    int field;

    if (!test_is_finite(x)) {
        return 0x80;
    }
    field = nearest(oracle, x);
    return (uint8_t)(field != 0 ? field | (int)(tw_float_bits(x) >> 24 & 0x80) : 0);
}

START_TEST(random_values_are_the_nearest_fixed)
{
    const oracle_t oracle = fixed_oracle(_i);
    const size_t   n      = 8000;
    test_random_t  random = test_random((uint64_t)_i);
    float         *x      = malloc(4 * n);
    uint8_t       *want   = malloc(n);

    for (int k = 0; k < KINDS; k++) {
        test_fill(x, TW_F32, n, kinds[k], &random);
        for (size_t i = 0; i < n; i++) {
            want[i] = fixed_code(&oracle, x[i]);
        }
        check_codes(oracle.spec, x, n, want);
    }
    free(x);
    free(want);
}
END_TEST

/* All floats within 100 ulp of the middle of two levels that follow each other, both signs. Returns
 * how many. */
static size_t near_thresholds(const oracle_t *oracle, float *x)
{
    float  sorted[FIELDS];
    size_t n = 0;

    memcpy(sorted, oracle->magnitude, sizeof(sorted));
    for (int i = 1; i < FIELDS; i++) {
        for (int j = i; j > 0 && sorted[j - 1] > sorted[j]; j--) {
            const float t = sorted[j];

            sorted[j]     = sorted[j - 1];
            sorted[j - 1] = t;
        }
    }
    for (int i = 1; i < FIELDS; i++) {
        const uint32_t middle = tw_float_bits((float)(((double)sorted[i - 1] + (double)sorted[i]) / 2));

        for (uint32_t u = middle < 100 ? 0 : middle - 100; u <= middle + 100; u++) {
            x[n++] = tw_bits_float(u);
            x[n++] = tw_bits_float(u | 0x80000000u);
        }
    }
    return n;
}

START_TEST(near_every_threshold_fixed)
{
    const oracle_t oracle = fixed_oracle(_i);
    float         *x      = malloc(4 * 2 * 201 * FIELDS);
    uint8_t       *want   = malloc(2 * 201 * FIELDS);
    const size_t   n      = near_thresholds(&oracle, x);

    for (size_t i = 0; i < n; i++) {
        want[i] = fixed_code(&oracle, x[i]);
    }
    check_codes(oracle.spec, x, n, want);
    free(x);
    free(want);
}
END_TEST

START_TEST(near_every_threshold_tree8)
{
    const oracle_t oracle = tree_oracle(_i);
    float         *y      = malloc(4 * 2 * 201 * FIELDS);
    const size_t   count  = near_thresholds(&oracle, y);
    float         *x      = malloc(4 * (count + count / (BLOCK - 1) + 1));
    uint8_t       *want;
    size_t         n = 0;

    for (size_t i = 0; i < count; i++) {
        if (n % BLOCK == 0) {
            x[n++] = 1.0f; /* the maximum: y is x */
        }
        x[n++] = y[i];
    }
    want = malloc(n + 4 * (n / BLOCK + 1));
    for (size_t i = 0; i < n; i += BLOCK) {
        tree8_block(&oracle, x + i, n - i < BLOCK ? n - i : BLOCK, want + i / BLOCK * (4 + BLOCK));
    }
    check_codes(oracle.spec, x, n, want);
    free(x);
    free(y);
    free(want);
}
END_TEST

START_TEST(near_every_threshold_int8)
{
    const size_t n = 254 * 201 * 2 + 1;
    float       *x = malloc(4 * (n + n / 60));
    uint8_t     *want = malloc(2 * n);
    size_t       m = 0;

    for (int q = 0; q < 127; q++) {
        for (int u = -100; u <= 100; u++) {
            for (int sign = 0; sign < 2; sign++) {
                const float half = tw_bits_float(tw_float_bits((float)q + 0.5f) + (uint32_t)u);

                if (m % BLOCK == 0) {
                    x[m++] = 127.0f;
                }
                x[m++] = sign ? -half : half;
            }
        }
    }
    for (size_t i = 0; i < m; i += BLOCK) {
        int8_block(x + i, m - i < BLOCK ? m - i : BLOCK, want + i / BLOCK * (4 + BLOCK));
    }
    check_codes("int8:block=64", x, m, want);
    free(x);
    free(want);
}
END_TEST

/* Floats of [0, 1] in ascending order, one in every `step`: the code must be that of the oracle's
 * thresholds, which a walk upwards passes one by one. A maximum of 1 stands first in the block. */
START_TEST(lattice_of_all_floats_tree8)
{
    enum { VALUES = 65536 };
    const int      all    = getenv("TW_EXHAUSTIVE") != NULL;
    const uint32_t step   = all ? 1 : 211;
    const oracle_t oracle = tree_oracle(_i);
    test_random_t  random = test_random(0);
    tw_codec_t    *codec  = test_codec(_i == 0 ? "tree8:block=65536" : "tree8:block=65536,split=0.55",
                                       TW_F32);
    float         *x      = malloc(4 * VALUES);
    uint8_t       *codes  = malloc(4 + VALUES);
    uint32_t       u      = all ? 0 : test_bits(&random) % step;
    int            field  = 0;

    while (u <= 0x3f800000u) {
        size_t n = 1;

        x[0] = 1.0f;
        for (uint32_t v = u; n < VALUES && v <= 0x3f800000u; v += step) {
            x[n++] = tw_bits_float(v);
        }
        ck_assert_int_eq(tw_codec_encode(codec, NULL, x, n, codes), TW_OK);
        for (size_t i = 1; i < n; i++, u += step) {
            while (field < 127 && (double)x[i] > ((double)oracle.magnitude[field] +
                                                  (double)oracle.magnitude[field + 1]) / 2) {
                field++;
            }
            if (codes[4 + i] != field) {
                ck_abort_msg("%a: code %d, should be %d", x[i], codes[4 + i], field);
            }
        }
    }
    ck_assert_int_eq(field, 127);
    free(x);
    free(codes);
    tw_codec_destroy(codec);
}
END_TEST

START_TEST(decoding_is_monotone)
{
    static const char *const specs[] = {"tree8:block=64", "tree8:block=64,split=0.55", "int8:block=64",
                                        "static8", "mantissa8"};
    const size_t             n       = 4096;
    test_random_t            random  = test_random((uint64_t)_i);
    tw_codec_t              *codec   = test_codec(specs[_i], TW_F32);
    float                   *x       = malloc(4 * n), *back = malloc(4 * n);

    for (int round = 0; round < 20; round++) {
        const size_t block = tw_codec_block(codec) > 1 ? tw_codec_block(codec) : n;
        int          wrong = 0;
        uint8_t     *codes;

        test_fill(x, TW_F32, n, TEST_NORMAL, &random);
        codes = test_encode(codec, x, n);
        test_decode(codec, codes, n, back);
        for (size_t first = 0; first < n; first += block) {
            for (size_t i = first; i < first + 64; i++) {
                for (size_t j = first; j < first + 64; j++) {
                    wrong += x[i] <= x[j] && back[i] > back[j];
                }
            }
        }
        ck_assert_int_eq(wrong, 0);
        free(codes);
    }
    free(x);
    free(back);
    tw_codec_destroy(codec);
}
END_TEST

START_TEST(the_maximum_of_a_tree8_block_is_exact)
{
    const size_t  n      = 100 * BLOCK;
    test_random_t random = test_random((uint64_t)_i);
    tw_codec_t   *codec  = test_codec(tree_specs[_i], TW_F32);
    float        *x = malloc(4 * n), *back = malloc(4 * n);

    for (int round = 0; round < 20; round++) {
        uint8_t *codes;

        test_fill(x, TW_F32, n, round % 2 == 0 ? TEST_NORMAL : TEST_WIDE, &random);
        codes = test_encode(codec, x, n);
        test_decode(codec, codes, n, back);
        for (size_t first = 0; first < n; first += BLOCK) {
            const uint32_t most = absmax_bits(x + first, BLOCK);

            if (most < 0x00800000u) {
                continue; /* a zero block */
            }
            ck_assert_uint_eq(absmax_bits(back + first, BLOCK), most);
            for (size_t i = first; i < first + BLOCK; i++) {
                if ((tw_float_bits(x[i]) & 0x7fffffffu) == most && memcmp(&back[i], &x[i], 4) != 0) {
                    ck_abort_msg("%a became %a", x[i], back[i]);
                }
            }
        }
        free(codes);
    }
    free(x);
    free(back);
    tw_codec_destroy(codec);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("levels");
    TCase *tcase = tcase_create("8 bits");

    tcase_add_loop_test(tcase, all_codes_decode_as_listed_tree8, 0, 2);
    tcase_add_loop_test(tcase, all_codes_decode_as_listed_fixed, 0, 10);
    tcase_add_test(tcase, all_codes_decode_as_listed_int8);
    tcase_add_loop_test(tcase, random_blocks_are_the_nearest_tree8, 0, 2);
    tcase_add_test(tcase, random_blocks_are_the_nearest_int8);
    tcase_add_loop_test(tcase, random_values_are_the_nearest_fixed, 0, 10);
    tcase_add_loop_test(tcase, near_every_threshold_tree8, 0, 2);
    tcase_add_loop_test(tcase, near_every_threshold_fixed, 0, 10);
    tcase_add_test(tcase, near_every_threshold_int8);
    tcase_add_loop_test(tcase, lattice_of_all_floats_tree8, 0, 2);
    tcase_add_loop_test(tcase, decoding_is_monotone, 0, 5);
    tcase_add_loop_test(tcase, the_maximum_of_a_tree8_block_is_exact, 0, 2);
    suite_add_tcase(suite, tcase);
    return test_main(suite);
}
