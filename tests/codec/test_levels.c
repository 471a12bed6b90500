/* SPDX-License-Identifier: BSD-3-Clause
 * tests/codec/test_levels.c - tree8, int8, static8 and mantissa8 against a brute-force search in
 * double: on random blocks, within 100 ulp of every threshold, and over a lattice of all floats in
 * [0, 1] (over every one of them with TW_EXHAUSTIVE=1). The magnitudes of the oracle come from
 * docs/wire-format.md, those of the fixed types from decimal numbers.
 */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>

#include "tests/codec/common.h"
#include "tests/codec/oracle.h"

START_TEST(all_codes_decode_as_listed_tree8)
{
    const oracle_t oracle = oracle_tree(_i);
    tw_codec_t    *codec  = test_codec(oracle.spec, TW_F32);
    const float scales[]  = {1.0f, 3.0f, 0x1p-126f, 0x1.fffffep127f, 0.1f, 0.0f, -2.0f, 0x1p-140f};

    for (int s = 0; s < 8; s++) {
        uint8_t codes[4 * (4 + ORACLE_BLOCK)];
        float   back[256];

        for (int c = 0; c < 256; c++) {
            uint8_t *block = codes + c / ORACLE_BLOCK * (4 + ORACLE_BLOCK);

            tw_store_le32(block, tw_float_bits(scales[s]));
            block[4 + c % ORACLE_BLOCK] = (uint8_t)c;
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
    const oracle_t oracle = oracle_fixed(_i);
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

static const test_kind_t kinds[] = {TEST_NORMAL,   TEST_NORMAL, TEST_WIDE,      TEST_HUGE,
                                    TEST_DENORMAL, TEST_SMALL,  TEST_EDGE,      TEST_EQUAL,
                                    TEST_BITS,     TEST_ZERO,   TEST_MINUS_ZERO};

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

/* All of x in blocks, of tree8 or, without an oracle, of int8. */
static void check_blocks(const oracle_t *oracle, const float *x, size_t n)
{
    uint8_t *want = malloc(n + 4 * (n / ORACLE_BLOCK + 1));

    for (size_t i = 0; i < n; i += ORACLE_BLOCK) {
        const size_t m  = n - i < ORACLE_BLOCK ? n - i : ORACLE_BLOCK;
        uint8_t     *at = want + i / ORACLE_BLOCK * (4 + ORACLE_BLOCK);

        if (oracle != NULL) {
            oracle_tree8_block(oracle, x + i, m, at);
        } else {
            oracle_int8_block(x + i, m, at);
        }
    }
    check_codes(oracle != NULL ? oracle->spec : "int8:block=64", x, n, want);
    free(want);
}

static void check_random_blocks(const oracle_t *oracle, size_t n, uint64_t salt)
{
    test_random_t random = test_random(salt);
    float        *x      = malloc(4 * n);

    for (int k = 0; k < KINDS; k++) {
        test_fill(x, TW_F32, n, kinds[k], &random);
        check_blocks(oracle, x, n);
    }
    free(x);
}

START_TEST(random_blocks_are_the_nearest_tree8)
{
    const oracle_t oracle = oracle_tree(_i);

    check_random_blocks(&oracle, 320 * ORACLE_BLOCK - 13, (uint64_t)_i);
}
END_TEST

START_TEST(random_blocks_are_the_nearest_int8)
{
    check_random_blocks(NULL, 160 * ORACLE_BLOCK - 13, 0);
}
END_TEST

/* The largest value at the limit below which a block is a zero block, and 3 ulp around it. */
START_TEST(blocks_at_the_zero_limit)
{
    const float    limit  = _i == 0 ? 0x1p-126f : 0x1p-119f;
    const oracle_t oracle = oracle_tree(0);
    test_random_t  random = test_random(0);
    float          x[ORACLE_BLOCK];

    for (uint32_t u = tw_float_bits(limit) - 3; u <= tw_float_bits(limit) + 3; u++) {
        for (size_t i = 0; i < ORACLE_BLOCK; i++) {
            x[i] = limit * (float)(1.9 * test_uniform(&random) - 0.95);
        }
        x[u % ORACLE_BLOCK] = tw_bits_float(u | (u & 1) << 31);
        check_blocks(&oracle, x, ORACLE_BLOCK);
        check_blocks(NULL, x, ORACLE_BLOCK);
    }
}
END_TEST

START_TEST(random_values_are_the_nearest_fixed)
{
    const oracle_t oracle = oracle_fixed(_i);
    const size_t   n      = 8000;
    test_random_t  random = test_random((uint64_t)_i);
    float         *x      = malloc(4 * n);
    uint8_t       *want   = malloc(n);

    for (int k = 0; k < KINDS; k++) {
        test_fill(x, TW_F32, n, kinds[k], &random);
        for (size_t i = 0; i < n; i++) {
            want[i] = oracle_fixed_code(&oracle, x[i]);
        }
        check_codes(oracle.spec, x, n, want);
    }
    free(x);
    free(want);
}
END_TEST

START_TEST(near_every_threshold_fixed)
{
    const oracle_t oracle = oracle_fixed(_i);
    float         *x      = malloc(4 * 2 * 201 * ORACLE_FIELDS);
    uint8_t       *want   = malloc(2 * 201 * ORACLE_FIELDS);
    const size_t   n      = oracle_thresholds(&oracle, x);

    for (size_t i = 0; i < n; i++) {
        want[i] = oracle_fixed_code(&oracle, x[i]);
    }
    check_codes(oracle.spec, x, n, want);
    free(x);
    free(want);
}
END_TEST

START_TEST(near_every_threshold_tree8)
{
    const oracle_t oracle = oracle_tree(_i);
    float         *y      = malloc(4 * 2 * 201 * ORACLE_FIELDS);
    const size_t   count  = oracle_thresholds(&oracle, y);
    float         *x      = malloc(4 * (count + count / (ORACLE_BLOCK - 1) + 1));
    size_t         n      = 0;

    for (size_t i = 0; i < count; i++) {
        if (n % ORACLE_BLOCK == 0) {
            x[n++] = 1.0f; /* the maximum: y is x */
        }
        x[n++] = y[i];
    }
    check_blocks(&oracle, x, n);
    free(x);
    free(y);
}
END_TEST

START_TEST(near_every_threshold_int8)
{
    const size_t n = 254 * 201 * 2 + 1;
    float       *x = malloc(4 * (n + n / 60));
    size_t       m = 0;

    for (int q = 0; q < 127; q++) {
        for (int u = -100; u <= 100; u++) {
            for (int sign = 0; sign < 2; sign++) {
                const float half = tw_bits_float(tw_float_bits((float)q + 0.5f) + (uint32_t)u);

                if (m % ORACLE_BLOCK == 0) {
                    x[m++] = 127.0f;
                }
                x[m++] = sign ? -half : half;
            }
        }
    }
    check_blocks(NULL, x, m);
    free(x);
}
END_TEST

/* Floats of [0, 1] in ascending order, one in every `step`: the code must be that of the oracle's
 * thresholds, which a walk upwards passes one by one. A maximum of 1 stands first in the block. */
START_TEST(lattice_of_all_floats_tree8)
{
    enum { VALUES = 65536 };
    const int      all    = getenv("TW_EXHAUSTIVE") != NULL;
    const uint32_t step   = all ? 1 : 211;
    const oracle_t oracle = oracle_tree(_i);
    test_random_t  random = test_random(0);
    tw_codec_t    *codec =
        test_codec(_i == 0 ? "tree8:block=65536" : "tree8:block=65536,split=0.55", TW_F32);
    float   *x     = malloc(4 * VALUES);
    uint8_t *codes = malloc(4 + VALUES);
    uint32_t u     = all ? 0 : test_bits(&random) % step;
    int      field = 0;

    while (u <= 0x3f800000u) {
        size_t n = 1;

        x[0] = 1.0f;
        for (uint32_t v = u; n < VALUES && v <= 0x3f800000u; v += step) {
            x[n++] = tw_bits_float(v);
        }
        ck_assert_int_eq(tw_codec_encode(codec, NULL, x, n, codes), TW_OK);
        for (size_t i = 1; i < n; i++, u += step) {
            while (field < 127 && (double)x[i] > ((double)oracle.magnitude[field] +
                                                  (double)oracle.magnitude[field + 1]) /
                                                     2) {
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
    static const char *const specs[] = {"tree8:block=64", "tree8:block=64,split=0.55",
                                        "int8:block=64", "static8", "mantissa8"};
    const size_t             n       = 4096;
    test_random_t            random  = test_random((uint64_t)_i);
    tw_codec_t              *codec   = test_codec(specs[_i], TW_F32);
    float                   *x = malloc(4 * n), *back = malloc(4 * n);

    for (int round = 0; round < 20; round++) {
        const size_t block = tw_codec_block(codec) > 1 ? tw_codec_block(codec) : n;
        int          wrong = 0;

        test_fill(x, TW_F32, n, TEST_NORMAL, &random);
        test_round_trip(codec, x, n, back);
        for (size_t first = 0; first < n; first += block) {
            for (size_t i = first; i < first + 64; i++) {
                for (size_t j = first; j < first + 64; j++) {
                    wrong += x[i] <= x[j] && back[i] > back[j];
                }
            }
        }
        ck_assert_int_eq(wrong, 0);
    }
    free(x);
    free(back);
    tw_codec_destroy(codec);
}
END_TEST

START_TEST(the_maximum_of_a_tree8_block_is_exact)
{
    const size_t  n      = 100 * ORACLE_BLOCK;
    test_random_t random = test_random((uint64_t)_i);
    tw_codec_t   *codec  = test_codec(oracle_tree(_i).spec, TW_F32);
    float        *x = malloc(4 * n), *back = malloc(4 * n);

    for (int round = 0; round < 20; round++) {
        test_fill(x, TW_F32, n, round % 2 == 0 ? TEST_NORMAL : TEST_WIDE, &random);
        test_round_trip(codec, x, n, back);
        for (size_t first = 0; first < n; first += ORACLE_BLOCK) {
            const uint32_t most = oracle_absmax(x + first, ORACLE_BLOCK);

            if (most < 0x00800000u) {
                continue; /* a zero block */
            }
            ck_assert_uint_eq(oracle_absmax(back + first, ORACLE_BLOCK), most);
            for (size_t i = first; i < first + ORACLE_BLOCK; i++) {
                if ((tw_float_bits(x[i]) & 0x7fffffffu) == most &&
                    memcmp(&back[i], &x[i], 4) != 0) {
                    ck_abort_msg("%a became %a", x[i], back[i]);
                }
            }
        }
    }
    free(x);
    free(back);
    tw_codec_destroy(codec);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("levels");
    TCase *tcase = test_case(suite, "8 bits");

    tcase_add_loop_test(tcase, all_codes_decode_as_listed_tree8, 0, ORACLE_TREES);
    tcase_add_loop_test(tcase, all_codes_decode_as_listed_fixed, 0, ORACLE_FIXED);
    tcase_add_test(tcase, all_codes_decode_as_listed_int8);
    tcase_add_loop_test(tcase, random_blocks_are_the_nearest_tree8, 0, ORACLE_TREES);
    tcase_add_test(tcase, random_blocks_are_the_nearest_int8);
    tcase_add_loop_test(tcase, blocks_at_the_zero_limit, 0, 2);
    tcase_add_loop_test(tcase, random_values_are_the_nearest_fixed, 0, ORACLE_FIXED);
    tcase_add_loop_test(tcase, near_every_threshold_tree8, 0, ORACLE_TREES);
    tcase_add_loop_test(tcase, near_every_threshold_fixed, 0, ORACLE_FIXED);
    tcase_add_test(tcase, near_every_threshold_int8);
    tcase_add_loop_test(tcase, lattice_of_all_floats_tree8, 0, ORACLE_TREES);
    tcase_add_loop_test(tcase, decoding_is_monotone, 0, 5);
    tcase_add_loop_test(tcase, the_maximum_of_a_tree8_block_is_exact, 0, ORACLE_TREES);
    return test_main(suite);
}
