/* SPDX-License-Identifier: BSD-3-Clause
 * tests/codec/test_int4.c - int4 by all instruction sets against the words of the wire format:
 * bytes and decoded bits, extremes of both signs, limits, a second encoding, what feedback leaves.
 */
#include "config.h"

#include <math.h>
#include <stdlib.h>

#include "tests/codec/common.h"

#define GROUP 32
#define BLOCK 192

/* The scale of n values, as bits of a float. */
static uint32_t scale_of(const float *v, size_t n)
{
    float    extreme = 0.0f, eighth;
    uint32_t up;

    for (size_t i = 0; i < n; i++) {
        if (!test_is_finite(v[i])) {
            return 0x7fc00000u;
        }
        if (fabsf(v[i]) > fabsf(extreme) || (fabsf(v[i]) == fabsf(extreme) && v[i] < 0.0f)) {
            extreme = v[i];
        }
    }
    if (fabsf(extreme) < 0x1p-123f) {
        return 0;
    }
    eighth = fabsf(extreme) / 8;
    up     = (tw_float_bits(eighth) >> 16) + ((tw_float_bits(eighth) & 0xffff) != 0);
    up     = up < 0x7dff ? up : 0x7dff;
    return up << 16 | (extreme > 0.0f ? 0x80000000u : 0);
}

/* One block, and what it decodes to. */
static void oracle(const float *v, size_t n, uint8_t *dst, float *back)
{
    uint8_t *codes = dst + 2 * ((n + GROUP - 1) / GROUP);

    memset(codes, 0, (n + 1) / 2);
    for (size_t i = 0; i < n; i++) {
        const size_t   first = i / GROUP * GROUP, m = n - first < GROUP ? n - first : GROUP;
        const uint32_t bits  = scale_of(v + first, m);
        const float    scale = tw_bits_float(bits);
        int            code  = 0;

        dst[i / GROUP * 2]     = (uint8_t)(bits >> 16);
        dst[i / GROUP * 2 + 1] = (uint8_t)(bits >> 24);
        if (bits != 0 && bits != 0x7fc00000u) {
            code = (int)nearbyintf(v[i] * (1.0f / scale));
            code = code < 7 ? code : 7;
            ck_assert_int_ge(code, -8);
        }
        codes[i / 2] = (uint8_t)(codes[i / 2] | (code & 15) << 4 * (i % 2));
        back[i]      = bits == 0x7fc00000u ? scale : code == 0 ? 0.0f : (float)code * scale;
    }
}

/* All instruction sets: bytes, decoded bits, and the verbs that add. */
static void check(const float *v, const float *residual, size_t n, test_random_t *random)
{
    uint8_t *want = malloc(n + 64), *at = want;
    float   *back = malloc(4 * n + 4);

    for (size_t first = 0; first < n; first += BLOCK) {
        const size_t m = n - first < BLOCK ? n - first : BLOCK;

        oracle(v + first, m, at, back + first);
        at += 2 * ((m + GROUP - 1) / GROUP) + (m + 1) / 2;
    }
    for (const char *const *cpu = test_cpus(); *cpu != NULL; cpu++) {
        tw_codec_t *scalar = test_codec_cpu("scalar", "int4:block=192", TW_F32);
        tw_codec_t *codec  = test_codec_cpu(*cpu, "int4:block=192", TW_F32);
        float      *got    = malloc(4 * n + 4);
        uint8_t    *codes  = test_encode(codec, v, n);

        ck_assert_uint_eq((size_t)(at - want), test_size(codec, n));
        for (size_t i = 0; i < (size_t)(at - want); i++) {
            ck_assert_msg(codes[i] == want[i], "%s, %zu values: byte %zu is %02x, not %02x", *cpu,
                          n, i, codes[i], want[i]);
        }
        test_decode(codec, codes, n, got);
        test_same(got, back, TW_F32, n, 0, *cpu);
        test_twin(scalar, codec, TW_F32, v, residual, n,
                  (test_places_t){test_bits(random) % 64, test_bits(random) % 64,
                                  test_bits(random) % 64});
        free(got);
        free(codes);
        tw_codec_destroy(codec);
        tw_codec_destroy(scalar);
    }
    free(want);
    free(back);
}

START_TEST(bytes_are_those_of_the_format)
{
    static const size_t counts[] = {0, 1, 2, 31, 32, 33, 63, 64, 65, 191, 192, 193, 511, 1500};
    test_random_t       random   = test_random((uint64_t)_i);
    float               v[1500], residual[1500];

    for (size_t c = 0; c < sizeof(counts) / sizeof(*counts); c++) {
        test_fill(v, TW_F32, counts[c], (test_kind_t)_i, &random);
        test_fill(residual, TW_F32, counts[c], TEST_NORMAL, &random);
        check(v, residual, counts[c], &random);
    }
}
END_TEST

/* Groups with one extreme of either sign, or two; zeros between them; halves of a step. */
START_TEST(extremes_and_limits)
{
    static const float extremes[] = {
        8.0f,        7.0f,      0x1p-123f, 0x1.fffffep-124f, 0x1.fffffep127f,
        0x1.fep127f, 0x1p-149f, 1.0000001f};
    test_random_t random = test_random((uint64_t)_i);
    const float   most   = extremes[_i];
    float         v[20 * GROUP], residual[20 * GROUP] = {0};

    for (size_t i = 0; i < 20 * GROUP; i++) {
        const size_t group = i / GROUP;
        const float  x     = most * (float)((int)(test_bits(&random) % 33) - 16) / 16;

        v[i] = group % 4 == 3 ? 0.0f : fabsf(x) < most ? x : x / 2;
        if (i % GROUP == group && group % 4 != 3) {
            v[i] = group % 2 == 0 ? most : -most;
        }
        if (i % GROUP == 31 - group % 8 && group % 4 == 2) {
            v[i] = -most;
        }
    }
    check(v, residual, 20 * GROUP, &random);
}
END_TEST

START_TEST(a_second_encoding_changes_nothing)
{
    const size_t  n      = GROUP * 4000;
    test_random_t random = test_random((uint64_t)_i);
    tw_codec_t   *codec  = test_codec("int4", TW_F32);
    float        *v = malloc(4 * n), *back = malloc(4 * n);
    uint8_t      *codes, *again;

    for (size_t i = 0; i < n; i++) {
        const int exponent = _i == 0   ? 0
                             : _i == 1 ? 127 - (int)(test_bits(&random) & 7)
                             : _i == 2 ? -120 - (int)(test_bits(&random) & 7)
                                       : (int)(test_bits(&random) & 255) - 127;

        v[i] = ldexpf((float)(2 * test_uniform(&random) - 1), exponent);
        v[i] = test_bits(&random) % 16 == 0 ? 0.0f : v[i];
    }
    codes = test_encode(codec, v, n);
    test_decode(codec, codes, n, back);
    for (size_t i = 0; i < n; i++) {
        float most = 0.0f;

        ck_assert_msg(test_is_finite(back[i]) && tw_float_bits(back[i]) != 0x80000000u,
                      "%a from %a", (double)back[i], (double)v[i]);
        for (size_t j = i / GROUP * GROUP; j < i / GROUP * GROUP + GROUP; j++) {
            most = fmaxf(most, fabsf(v[j]));
        }
        ck_assert_msg(most < 0x1p-123f || fabsf(v[i] / 2 - back[i] / 2) <= 0.1285f / 2 * most,
                      "%a from %a, extreme %a", (double)back[i], (double)v[i], (double)most);
    }
    again = test_encode(codec, back, n);
    ck_assert(memcmp(codes, again, test_size(codec, n)) == 0);
    free(v);
    free(back);
    free(codes);
    free(again);
    tw_codec_destroy(codec);
}
END_TEST

START_TEST(one_in_any_lane_is_poison_for_its_group)
{
    test_random_t random = test_random(0);
    float         v[3 * GROUP], residual[3 * GROUP];

    for (size_t at = 0; at < 3 * GROUP; at++) {
        test_fill(v, TW_F32, 3 * GROUP, TEST_NORMAL, &random);
        test_fill(residual, TW_F32, 3 * GROUP, TEST_NORMAL, &random);
        v[at] = at % 3 == 0 ? INFINITY : at % 3 == 1 ? -INFINITY : NAN;
        check(v, residual, 3 * GROUP, &random);
    }
}
END_TEST

/* Of N(0, 1): the error of one encoding, and what 200 steps of feedback leave behind. */
START_TEST(errors_of_normal_numbers)
{
    const size_t  n      = 100000;
    test_random_t random = test_random(0);
    tw_codec_t   *codec  = test_codec("int4", TW_F32);
    float        *v = malloc(4 * n), *back = malloc(4 * n), *left = calloc(n, 4);
    uint8_t      *codes = malloc(test_size(codec, n));
    double        error = 0, square = 0, rest = 0;

    test_fill(v, TW_F32, n, TEST_NORMAL, &random);
    test_round_trip(codec, v, n, back);
    for (int step = 0; step < 200; step++) {
        ck_assert_int_eq(tw_codec_encode_feedback(codec, NULL, v, n, left, codes), TW_OK);
    }
    for (size_t i = 0; i < n; i++) {
        error += pow((double)v[i] - (double)back[i], 2);
        square += (double)v[i] * (double)v[i];
        rest += (double)left[i] * (double)left[i];
    }
    ck_assert_msg(fabs(sqrt(error / square) / 0.086 - 1) < 0.02, "%g", sqrt(error / square));
    ck_assert_msg(sqrt(rest / square) < 0.2, "%g", sqrt(rest / square));
    free(v);
    free(back);
    free(left);
    free(codes);
    tw_codec_destroy(codec);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("int4");
    TCase *tcase = test_case(suite, "int4");

    tcase_add_loop_test(tcase, bytes_are_those_of_the_format, 0, TEST_KINDS);
    tcase_add_loop_test(tcase, extremes_and_limits, 0, 8);
    tcase_add_loop_test(tcase, a_second_encoding_changes_nothing, 0, 4);
    tcase_add_test(tcase, one_in_any_lane_is_poison_for_its_group);
    tcase_add_test(tcase, errors_of_normal_numbers);
    return test_main(suite);
}
