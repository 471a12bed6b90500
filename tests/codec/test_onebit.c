/* SPDX-License-Identifier: BSD-3-Clause
 * tests/codec/test_onebit.c - onebit against docs/wire-format.md written out plainly; its means;
 * and error feedback over many steps, with a block that overflows in between.
 */
#include "config.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "tests/codec/common.h"

/* Mean of the values of one side of a block, times `scale`. */
static float scaled_mean(const float *x, size_t n, uint32_t side, float scale)
{
    float  lane[64] = {0};
    size_t count    = 0;

    for (size_t i = 0; i < n; i++) {
        if (tw_float_bits(x[i]) >> 31 == side) {
            lane[i % 64] += x[i] * scale;
            count++;
        }
    }
    for (size_t h = 32; h >= 1; h /= 2) {
        for (size_t i = 0; i < h; i++) {
            lane[i] = lane[i] + lane[i + h];
        }
    }
    return count > 0 ? lane[0] / (float)count : 0.0f;
}

/* The same, exactly as the format has it: Inf and NaN only where a value is not finite. */
static float side_mean(const float *x, size_t n, uint32_t side)
{
    const float mean = scaled_mean(x, n, side, 1.0f);
    float       again;

    if (test_is_finite(mean)) {
        return mean;
    }
    again = scaled_mean(x, n, side, 0x1p-32f);
    if (!test_is_finite(again)) {
        return again;
    }
    again *= 0x1p32f;
    return test_is_finite(again) ? again : side ? -0x1.fffffep127f : 0x1.fffffep127f;
}

static void encode_block(const float *x, size_t n, uint8_t *want)
{
    const float positive = side_mean(x, n, 0), negative = side_mean(x, n, 1);
    int         poison = !test_is_finite(positive) || !test_is_finite(negative);

    memset(want, 0, 8 + (n + 7) / 8);
    for (size_t i = 0; i < n; i++) {
        poison |= !test_is_finite(x[i]);
    }
    if (poison) {
        tw_store_le32(want, 0x7fc00000u);
        tw_store_le32(want + 4, 0x7fc00000u);
        return;
    }
    tw_store_le32(want, tw_float_bits(positive));
    tw_store_le32(want + 4, tw_float_bits(negative));
    for (size_t i = 0; i < n; i++) {
        want[8 + i / 8] |= (uint8_t)(tw_float_bits(x[i]) >> 31 << i % 8);
    }
}

static const size_t blocks[] = {64, 448, 2048};

static tw_codec_t *onebit(size_t block)
{
    char spec[32];

    snprintf(spec, sizeof(spec), "onebit:block=%zu", block);
    return test_codec(spec, TW_F32);
}

START_TEST(bytes_are_those_of_the_format)
{
    const size_t  block = blocks[_i], n = 40 * block + 37, bytes = 8 + block / 8;
    test_random_t random = test_random((uint64_t)_i);
    tw_codec_t   *codec  = onebit(block);
    float        *x      = malloc(4 * n);
    uint8_t      *want   = malloc(41 * bytes), *got;
    size_t        total;

    for (int kind = 0; kind < TEST_KINDS; kind++) {
        test_fill(x, TW_F32, n, (test_kind_t)kind, &random);
        for (size_t b = 0; b * block < n; b++) {
            encode_block(x + b * block, n - b * block < block ? n - b * block : block,
                         want + b * bytes);
        }
        got   = test_encode(codec, x, n);
        total = test_size(codec, n);
        for (size_t i = 0; i < total; i++) {
            if (got[i] != want[i]) {
                ck_abort_msg("kind %d, byte %zu is 0x%02x, should be 0x%02x", kind, i, got[i],
                             want[i]);
            }
        }
        free(got);
    }
    free(x);
    free(want);
    tw_codec_destroy(codec);
}
END_TEST

START_TEST(decoding_chooses_a_mean_by_the_sign)
{
    const size_t  block = blocks[_i], n = 3 * block + 5;
    test_random_t random = test_random((uint64_t)_i);
    tw_codec_t   *codec  = onebit(block);
    float        *x = malloc(4 * n), *back = malloc(4 * n);
    int           wrong = 0;

    test_fill(x, TW_F32, n, TEST_NORMAL, &random);
    test_round_trip(codec, x, n, back);
    for (size_t i = 0; i < n; i++) {
        const size_t first = i / block * block, m = n - first < block ? n - first : block;
        const float  mean = side_mean(x + first, m, tw_float_bits(x[i]) >> 31);

        wrong += tw_float_bits(back[i]) != tw_float_bits(mean);
    }
    ck_assert_int_eq(wrong, 0);
    free(x);
    free(back);
    tw_codec_destroy(codec);
}
END_TEST

START_TEST(an_empty_side_has_mean_zero)
{
    static const float one[] = {3.0f}, minus[] = {-3.0f, -5.0f}, zeros[] = {0.0f, -0.0f, 0.0f};
    tw_codec_t        *codec = onebit(64);
    uint8_t           *codes;

    codes = test_encode(codec, one, 1);
    ck_assert_uint_eq(tw_load_le32(codes), tw_float_bits(3.0f));
    ck_assert_uint_eq(tw_load_le32(codes + 4), 0);
    ck_assert_uint_eq(codes[8], 0);
    free(codes);
    codes = test_encode(codec, minus, 2);
    ck_assert_uint_eq(tw_load_le32(codes), 0);
    ck_assert_uint_eq(tw_load_le32(codes + 4), tw_float_bits(-4.0f));
    ck_assert_uint_eq(codes[8], 3);
    free(codes);
    codes = test_encode(codec, zeros, 3);
    ck_assert_uint_eq(tw_load_le32(codes), 0);
    ck_assert_uint_eq(tw_load_le32(codes + 4), 0);
    ck_assert_uint_eq(codes[8], 2);
    free(codes);
    tw_codec_destroy(codec);
}
END_TEST

/* A sum of all that subtracts one side from the total would lose the small side; ours must not. */
START_TEST(sums_are_independent)
{
    float       x[64];
    tw_codec_t *codec = onebit(64);
    uint8_t    *codes;

    for (int i = 0; i < 64; i++) {
        x[i] = i % 2 == 0 ? 1e30f : -1e-30f;
    }
    codes = test_encode(codec, x, 64);
    ck_assert_float_eq_tol(tw_bits_float(tw_load_le32(codes + 4)), -1e-30f, 1e-36f);
    free(codes);
    tw_codec_destroy(codec);
}
END_TEST

/* Every codec with feedback, not onebit alone: after many steps what was sent and what is still
 * held back add up to what went in. Each step adds at most a few roundings of v, which stays small.
 */
static const char *const conserving[] = {
    "onebit",    "onebit:block=64", "tree8",     "int8", "static8",
    "mantissa8", "bitpack:1",       "bitpack:2", "bf16", "fp16"};

START_TEST(nothing_is_lost_over_1000_steps)
{
    enum { N = 2500, STEPS = 1000 };
    tw_codec_t   *codec  = test_codec(conserving[_i], TW_F32);
    test_random_t random = test_random((uint64_t)_i);
    float        *x = malloc(4 * N), *back = malloc(4 * N), *residual = calloc(N, 4);
    double       *in = calloc(N, 8), *out = calloc(N, 8), largest = 0.0, worst = 0.0;
    uint8_t      *codes = malloc(test_size(codec, N));

    for (int step = 0; step < STEPS; step++) {
        for (size_t i = 0; i < N; i++) {
            x[i] = 2.0f * (float)test_uniform(&random) - 1.0f;
            in[i] += (double)x[i];
        }
        ck_assert_int_eq(tw_codec_encode_feedback(codec, NULL, x, N, residual, codes), TW_OK);
        test_decode(codec, codes, N, back);
        for (size_t i = 0; i < N; i++) {
            out[i] += (double)back[i];
            largest = fmax(largest, fabs((double)x[i]) + fabs((double)residual[i]));
        }
    }
    for (size_t i = 0; i < N; i++) {
        worst = fmax(worst, fabs(out[i] + (double)residual[i] - in[i]));
    }
    ck_assert_msg(worst <= STEPS * 4.0 * largest * 0x1p-24, "lost %g; the residual grew to %g",
                  worst, largest);
    ck_assert_msg(largest < 200.0, "the residual grew to %g", largest);
    free(x);
    free(back);
    free(residual);
    free(in);
    free(out);
    free(codes);
    tw_codec_destroy(codec);
}
END_TEST

/* One overflow must not poison the training for ever: the step is lost, the residual is not. */
START_TEST(poison_leaves_the_residual)
{
    static const char *const specs[] = {"onebit:block=64", "tree8:block=64", "int8:block=64"};
    const size_t             n       = 64 * 3;
    tw_codec_t              *codec   = test_codec(specs[_i], TW_F32);
    test_random_t            random  = test_random((uint64_t)_i);
    const size_t             bytes   = test_size(codec, 64);
    float                    x[64 * 3], residual[64 * 3], before[64 * 3], back[64 * 3];
    uint8_t                  codes[3 * 72];

    memset(residual, 0, sizeof(residual));
    for (int step = 0; step < 30; step++) {
        const int overflow = step % 3 == 1;

        test_fill(x, TW_F32, n, TEST_NORMAL, &random);
        if (overflow) { /* finite values, of which the sum with the residual is not */
            x[70]        = 0x1.fffffep127f;
            residual[70] = 0x1p127f;
        }
        memcpy(before, residual, sizeof(before));
        ck_assert_int_eq(tw_codec_encode_feedback(codec, NULL, x, n, residual, codes), TW_OK);
        test_decode(codec, codes, n, back);
        for (size_t i = 0; i < n; i++) {
            const int hit = overflow && i / 64 == 1;

            ck_assert(test_is_finite(residual[i]));
            ck_assert_int_eq(test_is_finite(back[i]), !hit);
            if (hit) {
                ck_assert_uint_eq(tw_float_bits(residual[i]), tw_float_bits(before[i]));
            }
        }
        if (overflow) {
            for (size_t b = 0; b < bytes; b++) { /* poison, exactly */
                const uint8_t nan[4] = {0x00, 0x00, 0xc0, 0x7f};
                const size_t  header = bytes == 64 + 4 ? 4 : 8;

                ck_assert_uint_eq(codes[bytes + b], b < header ? nan[b % 4] : 0);
            }
            residual[70] = 0.0f;
        }
    }
    tw_codec_destroy(codec);
}
END_TEST

/* Finite values whose sum is not: their mean is a number all the same. */
START_TEST(a_sum_that_overflows_has_a_mean)
{
    float       x[64], residual[64], back[64];
    tw_codec_t *codec = onebit(64);
    uint8_t     codes[16];

    for (int i = 0; i < 64; i++) {
        x[i]        = i < 60 ? 0x1p125f : -1.0f;
        residual[i] = i < 60 ? 0.0f : -0.5f;
    }
    ck_assert_int_eq(tw_codec_encode_feedback(codec, NULL, x, 64, residual, codes), TW_OK);
    test_decode(codec, codes, 64, back);
    for (int i = 0; i < 64; i++) {
        ck_assert_float_eq(back[i], i < 60 ? 0x1p125f : -1.5f);
        ck_assert_float_eq(residual[i], 0.0f);
    }
    for (int i = 0; i < 64; i++) { /* rounding must not carry the mean beyond the largest number */
        x[i] = i % 2 == 0 ? 0x1.fffffep127f : -0x1.fffffep127f;
    }
    ck_assert_int_eq(tw_codec_encode_feedback(codec, NULL, x, 64, residual, codes), TW_OK);
    test_decode(codec, codes, 64, back);
    for (int i = 0; i < 64; i++) {
        ck_assert_float_eq(back[i], x[i]);
    }
    tw_codec_destroy(codec);
}
END_TEST

/* One step of values near the largest number, with what it leaves in the residual, must not spoil
 * the steps after it. Every codec with feedback, every instruction set. */
static const char *const kernels[] = {"scalar", "avx2", "auto"};

START_TEST(a_huge_step_is_survived)
{
    enum { N = 2500, SHAPES = 4 };
    tw_codec_t   *codec;
    test_random_t random = test_random((uint64_t)_i);
    float        *x = malloc(4 * N), *back = malloc(4 * N), *residual = malloc(4 * N);
    uint8_t      *codes;

    setenv("THINWIRE_CPU", kernels[_i % 3], 1);
    codec = test_codec(conserving[_i / 3], TW_F32);
    codes = malloc(test_size(codec, N));
    for (int shape = 0; shape < SHAPES; shape++) {
        const float huge = shape % 3 == 0 ? 0x1.fffffep127f : 0x1p127f;

        memset(residual, 0, 4 * N);
        for (int step = 0; step < 60; step++) {
            test_fill(x, TW_F32, N, TEST_NORMAL, &random);
            for (size_t i = 0; step == 0 && i < N; i++) {
                if (shape == 0 ? i % 2048 < 2 : shape == 1 ? i % 256 < 64 : i % 7 != 0) {
                    x[i] = i % 2 == 0 ? huge : -huge;
                }
            }
            ck_assert_int_eq(tw_codec_encode_feedback(codec, NULL, x, N, residual, codes), TW_OK);
            test_decode(codec, codes, N, back);
            for (size_t i = 0; i < N; i++) {
                ck_assert_msg(test_is_finite(residual[i]) && (step == 0 || test_is_finite(back[i])),
                              "%s by %s, shape %d, step %d, value %zu: sent %g, residual %g",
                              conserving[_i / 3], kernels[_i % 3], shape, step, i, (double)back[i],
                              (double)residual[i]);
            }
        }
    }
    unsetenv("THINWIRE_CPU");
    free(x);
    free(back);
    free(residual);
    free(codes);
    tw_codec_destroy(codec);
}
END_TEST

START_TEST(one_bad_mean_fills_the_block)
{
    static const uint32_t bad[] = {0x7f800000u, 0xff800000u, 0x7fc00000u, 0xffffffffu, 0x7f800001u};
    tw_codec_t           *codec = onebit(64);
    uint8_t               codes[16];
    float                 back[64];

    for (int b = 0; b < 5; b++) {
        for (int side = 0; side < 2; side++) {
            memset(codes, side ? 0x00 : 0xff, sizeof(codes)); /* the other mean is the chosen one */
            tw_store_le32(codes, side ? tw_float_bits(1.0f) : bad[b]);
            tw_store_le32(codes + 4, side ? bad[b] : tw_float_bits(-1.0f));
            test_decode(codec, codes, 64, back);
            for (int i = 0; i < 64; i++) {
                ck_assert_uint_eq(tw_float_bits(back[i]), 0x7fc00000u);
            }
        }
    }
    tw_codec_destroy(codec);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("onebit");
    TCase *tcase = test_case(suite, "onebit and feedback");

    tcase_add_loop_test(tcase, bytes_are_those_of_the_format, 0, 3);
    tcase_add_loop_test(tcase, decoding_chooses_a_mean_by_the_sign, 0, 3);
    tcase_add_test(tcase, an_empty_side_has_mean_zero);
    tcase_add_test(tcase, sums_are_independent);
    tcase_add_loop_test(tcase, nothing_is_lost_over_1000_steps, 0, 10);
    tcase_add_loop_test(tcase, poison_leaves_the_residual, 0, 3);
    tcase_add_test(tcase, a_sum_that_overflows_has_a_mean);
    tcase_add_loop_test(tcase, a_huge_step_is_survived, 0, 30);
    tcase_add_test(tcase, one_bad_mean_fills_the_block);
    return test_main(suite);
}
