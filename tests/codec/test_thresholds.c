/* SPDX-License-Identifier: BSD-3-Clause
 * tests/codec/test_thresholds.c - where a kernel's shortcut would go wrong first: within 600 ulp of
 * every threshold and level of the 8-bit types, at several block maxima; and one number that is not
 * finite, at every place where a vector or a block begins or ends. Each instruction set against
 * scalar; the scalar kernels stand against an oracle in test_levels.c.
 */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>

#include "runtime/codec/levels.h"
#include "runtime/codec/ops.h"
#include "tests/codec/common.h"

#define ULPS   600
#define AROUND (2 * ULPS + 1)

/* The bits of every threshold and level above 0; returns how many. */
static size_t points(const tw_codec_t *codec, uint32_t *bits)
{
    const tw_levels_t *levels = codec->table;
    size_t             count  = 0;

    for (int j = 1; j < levels->count; j++) {
        bits[count++] = levels->threshold[j];
        bits[count++] = tw_float_bits(levels->value[levels->code[j]]) & 0x7fffffffu;
    }
    return count;
}

/* Values near all points times `most`, both signs; blocks of `block` begin with `most` (0: no
 * blocks). Returns how many; x has room for all. */
static size_t values_near(const uint32_t *bits, size_t count, float most, size_t block, float *x)
{
    size_t n = 0;

    for (size_t p = 0; p < count; p++) {
        const float    middle = tw_bits_float(bits[p]) * most;
        const uint32_t around = tw_float_bits(middle) & 0x7fffffffu;

        for (uint32_t u = 0; u < AROUND; u++) {
            const uint32_t at    = around + u < ULPS ? 0 : around + u - ULPS;
            float          value = tw_bits_float(at > 0x7f7fffffu ? 0x7f7fffffu : at);

            if (block > 0) {
                value = value > most ? most : value;
                if (n % block == 0) {
                    x[n++] = most;
                }
            }
            if (block > 0 && (n + 1) % block == 0) {
                x[n++] = -value;
                x[n++] = most;
                x[n++] = value;
                continue;
            }
            x[n++] = value;
            x[n++] = -value;
        }
    }
    return n;
}

/* x by every instruction set, and x as what is added and fed back. */
static void check_all(const char *spec, const float *x, size_t n)
{
    tw_codec_t *scalar   = test_codec_cpu("scalar", spec, TW_F32);
    float      *residual = malloc(4 * n);

    for (size_t i = 0; i < n; i++) {
        residual[i] = x[i] * 0x1p-20f;
    }
    for (const char *const *cpu = test_cpus(); strcmp(*cpu, "scalar") != 0; cpu++) {
        tw_codec_t *twin = test_codec_cpu(*cpu, spec, TW_F32);

        test_twin(scalar, twin, TW_F32, x, residual, n, (test_places_t){4, 12, 2});
        tw_codec_destroy(twin);
    }
    free(residual);
    tw_codec_destroy(scalar);
}

static const char *const tables[] = {
    "tree8",     "tree8:split=0.55",   "tree8:block=64",
    "static8",   "static8:offset=1",   "static8:offset=10000",
    "mantissa8", "mantissa8:offset=1", "mantissa8:offset=10000",
};
#define TABLES (int)(sizeof(tables) / sizeof(tables[0]))

START_TEST(near_every_threshold_and_level)
{
    static const float maxima[] = {1.0f,      0x1.921fb6p+1f,  0x1.fffffep+127f, 0x1p-126f,
                                   0x1p-119f, 0x1.000002p-60f, 0x1.8p+99f,       0x1.fffffep-1f};
    tw_codec_t        *codec    = test_codec_cpu("scalar", tables[_i], TW_F32);
    const size_t       block    = codec->block > 1 ? codec->block : 0;
    uint32_t           bits[2 * TW_LEVELS_MAX];
    const size_t       count = points(codec, bits), room = count * AROUND * 2;
    float             *x = malloc(4 * (room + room / 60 + 16));

    for (size_t m = 0; m < (block > 0 ? sizeof(maxima) / sizeof(maxima[0]) : 1); m++) {
        check_all(tables[_i], x, values_near(bits, count, maxima[m], block, x));
    }
    free(x);
    tw_codec_destroy(codec);
}
END_TEST

START_TEST(near_every_threshold_of_int8)
{
    static const float maxima[] = {127.0f, 1.0f, 0x1.fffffep+127f, 0x1p-119f, 0x1.54p-3f};
    uint32_t           bits[2 * 127];
    size_t             count = 0;
    float             *x;

    for (int q = 0; q < 127; q++) {
        bits[count++] = tw_float_bits(((float)q + 0.5f) / 127.0f);
        bits[count++] = tw_float_bits((float)(q + 1) / 127.0f);
    }
    x = malloc(4 * (count * AROUND * 3));
    for (size_t m = 0; m < sizeof(maxima) / sizeof(maxima[0]); m++) {
        check_all("int8", x, values_near(bits, count, maxima[m], 4096, x));
        check_all("int8:block=64", x, values_near(bits, count, maxima[m], 64, x));
    }
    free(x);
}
END_TEST

/* The halves' thresholds are every odd multiple of half a unit: around a sample of them in every
 * octave, the limits of what is normal and finite among them. */
START_TEST(near_thresholds_of_rounding)
{
    static const char *const specs[] = {"bf16", "fp16", "bitpack:1,round", "bitpack:2,round",
                                        "bitpack:3,round"};
    static const uint32_t    units[] = {0x10000u, 0x2000u, 0x1000000u, 0x10000u, 0x100u};
    test_random_t            random  = test_random((uint64_t)_i);
    uint32_t                *bits    = malloc(4 * 511);
    float                   *x       = malloc(4 * 511 * AROUND * 2);
    size_t                   count   = 0;

    for (uint32_t octave = 0; octave < 255; octave++) {
        const uint32_t unit = units[_i];

        bits[count++] = octave << 23;
        bits[count++] =
            ((octave << 23 | (test_bits(&random) & 0x7fffffu)) / unit * unit + unit / 2);
    }
    bits[count++] = 0x7f7fffffu - ULPS;
    for (size_t i = 0; i < count; i++) {
        bits[i] = bits[i] > 0x7f7fffffu - ULPS ? 0x7f7fffffu - ULPS : bits[i];
    }
    check_all(specs[_i], x, values_near(bits, count, 1.0f, 0, x));
    free(x);
    free(bits);
}
END_TEST

/* The double of the same kind. */
static uint64_t widened(uint32_t bits)
{
    const uint64_t sign = (uint64_t)(bits & 0x80000000u) << 32, exponent = bits >> 23 & 0xff;

    return sign | (exponent == 0xff ? UINT64_C(0x7ff) : exponent) << 52 |
           (uint64_t)(bits & 0x7fffffu) << 29;
}

/* One Inf, NaN or denormal among ordinary values. */
START_TEST(one_odd_number_anywhere)
{
    static const uint32_t odd[]  = {0x7f800000u, 0xff800000u, 0x7fc00000u,
                                    0xff800001u, 0x7f7fffffu, 0x00000001u};
    const size_t          n      = 4096 + 777;
    const test_spec_t    *s      = &test_specs[_i];
    tw_codec_t           *scalar = test_codec_cpu("scalar", s->spec, s->dtype);
    test_random_t         random = test_random((uint64_t)_i);
    const size_t          e      = tw_dtype_size(s->dtype);
    uint8_t              *x = malloc(n * e), *residual = malloc(n * e), kept[8];

    test_fill(x, s->dtype, n, TEST_NORMAL, &random);
    test_fill(residual, s->dtype, n, TEST_NORMAL, &random);
    for (const char *const *cpu = test_cpus(); strcmp(*cpu, "scalar") != 0; cpu++) {
        tw_codec_t *twin = test_codec_cpu(*cpu, s->spec, s->dtype);

        for (size_t i = 0; i < 160; i++) {
            const size_t   at   = i < 66 ? i : i < 130 ? n - 1 - (i - 66) : test_bits(&random) % n;
            const uint32_t bits = odd[test_bits(&random) % 6];
            const uint64_t wide = widened(bits);
            const size_t   offset = i % 5 == 0 ? 0 : i % 64;

            memcpy(kept, x + at * e, e);
            memcpy(x + at * e, e == 8 ? (const void *)&wide : (const void *)&bits, e);
            test_twin(scalar, twin, s->dtype, x, residual, n,
                      (test_places_t){offset, 3 * offset % 64, offset / 2});
            memcpy(x + at * e, kept, e);
        }
        tw_codec_destroy(twin);
    }
    tw_codec_destroy(scalar);
    free(x);
    free(residual);
}
END_TEST

static uint32_t largest_bits(const void *x, size_t n)
{
    uint32_t most = 0;

    for (size_t i = 0; i < n; i++) {
        const uint32_t bits = tw_float_bits(test_float_at(x, i)) & 0x7fffffffu;

        most = bits > most ? bits : most;
    }
    return most;
}

START_TEST(the_absolute_maximum)
{
    test_random_t random = test_random(0);

    for (const char *const *cpu = test_cpus(); *cpu != NULL; cpu++) {
        tw_codec_t *codec = test_codec_cpu(*cpu, "fp32", TW_F32);

        for (size_t n = 0; n < 4200; n += n < 200 ? 1 : 97) {
            test_buffer_t x = test_buffer(4 * n, test_bits(&random) % 64);

            for (int round = 0; round < 3; round++) {
                float largest = -1.0f;

                test_fill(x.data, TW_F32, n, (test_kind_t)(test_bits(&random) % TEST_KINDS),
                          &random);
                if (n > 0 && round > 0) { /* at one place, the rest smaller */
                    const float most = round == 1 ? -0x1.fffffep+127f : tw_bits_float(0xffc12345u);

                    test_fill(x.data, TW_F32, n, TEST_NORMAL, &random);
                    memcpy(x.data + 4 * (test_bits(&random) % n), &most, 4);
                }
                ck_assert_int_eq(tw_codec_absmax(codec, NULL, x.data, n, &largest), TW_OK);
                ck_assert_uint_eq(tw_float_bits(largest), largest_bits(x.data, n));
            }
            test_buffer_free(&x);
        }
        tw_codec_destroy(codec);
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("thresholds");
    TCase *tcase = test_case(suite, "every instruction set");

    for (const char *const *cpu = test_cpus(); *cpu != NULL; cpu++) {
        printf("# %s\n", *cpu);
    }
    tcase_add_loop_test(tcase, near_every_threshold_and_level, 0, TABLES);
    tcase_add_test(tcase, near_every_threshold_of_int8);
    tcase_add_loop_test(tcase, near_thresholds_of_rounding, 0, 5);
    tcase_add_loop_test(tcase, one_odd_number_anywhere, 0, test_spec_count);
    tcase_add_test(tcase, the_absolute_maximum);
    return test_main(suite);
}
