/* SPDX-License-Identifier: BSD-3-Clause
 * tests/gpu/test_value.c - what the CUDA kernels do with one value (codec/cuda/value.h), compiled
 * for the host, against the scalar kernels: one bit pattern in 509 in make check, from a start that
 * is drawn; with THINWIRE_EXHAUSTIVE=1 every pattern; in any case those around every threshold.
 */
#include "config.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "runtime/codec/cuda/work.h"
#include "runtime/codec/levels.h"
#include "runtime/codec/ops.h"
#include "tests/codec/common.h"

#define CHUNK 4096

static const char *const specs[] = {
    "bitpack:1",
    "bitpack:2",
    "bitpack:3",
    "bitpack:1,round",
    "bitpack:2,round",
    "bitpack:3,round",
    "bf16",
    "fp16",
    "static8",
    "static8:offset=10000",
    "mantissa8",
    "mantissa8:offset=1",
    "tree8:block=64",
    "tree8:block=64,split=0.55",
    "int8:block=64",
};

typedef struct twin {
    tw_codec_t      *codec;
    tw_cuda_levels_t levels;
    uint32_t         bins[TW_CUDA_BINS];
    int              width;
} twin_t;

static twin_t *twin_create(const char *spec)
{
    twin_t        *twin = calloc(1, sizeof(*twin));
    tw_cuda_work_t work;
    uint32_t       rank;

    setenv("THINWIRE_CPU", "scalar", 1);
    twin->codec = test_codec(spec, TW_F32);
    unsetenv("THINWIRE_CPU");
    (void)tw_cuda_work_describe(&work, twin->codec, TW_CUDA_ENCODE, NULL, 64, NULL, NULL, 1);
    twin->levels = work.levels;
    twin->width  = (int)twin->codec->bytes_per_value;
    for (uint32_t b = 0; b < TW_CUDA_BINS; b++) {
        const uint32_t start = twin->levels.low + (b << TW_CUDA_BIN);

        rank          = tw_cuda_rank_search(twin->levels.threshold, start);
        twin->bins[b] = tw_cuda_bin(twin->levels.threshold, start, &rank);
    }
    return twin;
}

static void twin_destroy(twin_t *twin)
{
    tw_codec_destroy(twin->codec);
    free(twin);
}

static bool rounds(const twin_t *twin)
{
    return twin->codec->cuda >= TW_CUDA_ROUND1 && twin->codec->cuda <= TW_CUDA_ROUND3;
}

static uint32_t encode(const twin_t *twin, uint32_t u, float factor)
{
    const tw_cuda_levels_t *levels = &twin->levels;
    const int               drop   = 32 - 8 * twin->width;

    switch (twin->codec->cuda) {
    case TW_CUDA_FP16:
        return tw_cuda_to_half(u);
    case TW_CUDA_BLOCKS_TREE8:
        return tw_cuda_tree8(twin->bins, levels->low, levels->high, u, factor);
    case TW_CUDA_BLOCKS_INT8:
        return tw_cuda_int8(u, factor);
    case TW_CUDA_FIXED8:
        return tw_cuda_fixed8(twin->bins, levels->code, levels->low, levels->high, u);
    default:
        return !rounds(twin)      ? u >> drop
               : twin->width == 1 ? tw_cuda_round_byte(u)
                                  : tw_cuda_round(u, drop);
    }
}

static uint32_t decode(const twin_t *twin, uint32_t code, float scale)
{
    switch (twin->codec->cuda) {
    case TW_CUDA_FP16:
        return tw_cuda_from_half(code);
    case TW_CUDA_BLOCKS_TREE8:
        return tw_cuda_bits(tw_cuda_float(twin->levels.value[code]) * scale);
    case TW_CUDA_BLOCKS_INT8:
        return tw_cuda_bits(tw_cuda_from_int8(code, scale));
    case TW_CUDA_FIXED8:
        return twin->levels.value[code];
    default:
        return rounds(twin) && twin->width == 1 ? tw_cuda_expand_byte(code)
                                                : code << (32 - 8 * twin->width);
    }
}

/* n values, each with 1 as its block's maximum (or itself, where it is larger). */
static void check_scaled(const twin_t *twin, const uint32_t *u, size_t n)
{
    static uint32_t x[CHUNK * 64], back[CHUNK * 64];
    static uint8_t  codes[CHUNK * 68];
    const int       type = twin->codec->cuda == TW_CUDA_BLOCKS_TREE8 ? TW_CUDA_TREE8 : TW_CUDA_INT8;

    for (size_t i = 0; i < n; i++) {
        memset(x + 64 * i, 0, 64 * sizeof(*x));
        x[64 * i]     = 0x3f800000u;
        x[64 * i + 1] = u[i];
    }
    ck_assert_int_eq(tw_codec_encode(twin->codec, NULL, x, 64 * n, codes), TW_OK);
    test_decode(twin->codec, codes, 64 * n, back);
    for (size_t i = 0; i < n; i++) {
        const uint32_t size = u[i] & 0x7fffffffu, most = size > 0x3f800000u ? size : 0x3f800000u;
        const tw_cuda_scaling_t scaling = tw_cuda_scale((tw_cuda_scaled_t)type, most);
        const uint32_t          code    = scaling.poison ? 0 : encode(twin, u[i], scaling.factor);
        const uint32_t          value =
            scaling.poison ? TW_CUDA_NAN : decode(twin, code, tw_cuda_float(scaling.scale));

        if (tw_load_le32(codes + 68 * i) != scaling.scale || codes[68 * i + 5] != code ||
            back[64 * i + 1] != value) {
            ck_abort_msg("0x%08x: 0x%02x, should be 0x%02x", u[i], code, codes[68 * i + 5]);
        }
    }
}

static void check_plain(const twin_t *twin, const uint32_t *u, size_t n)
{
    static uint8_t  codes[CHUNK * 4];
    static uint32_t back[CHUNK];

    ck_assert_int_eq(tw_codec_encode(twin->codec, NULL, u, n, codes), TW_OK);
    test_decode(twin->codec, codes, n, back);
    for (size_t i = 0; i < n; i++) {
        uint32_t want = 0, code;

        for (int b = 0; b < twin->width; b++) {
            want |= (uint32_t)codes[(size_t)twin->width * i + (size_t)b] << 8 * b;
        }
        code = encode(twin, u[i], 0.0f);
        if (code != want || decode(twin, code, 0.0f) != back[i]) {
            ck_abort_msg("0x%08x: 0x%x, should be 0x%x", u[i], code, want);
        }
    }
}

static void check(const twin_t *twin, const uint32_t *u, size_t n)
{
    if (twin->codec->block > 1) {
        check_scaled(twin, u, n);
    } else {
        check_plain(twin, u, n);
    }
}

START_TEST(patterns)
{
    twin_t        *twin   = twin_create(specs[_i]);
    test_random_t  random = test_random((uint64_t)_i);
    const char    *text   = getenv("THINWIRE_EXHAUSTIVE");
    const uint64_t scaled = twin->codec->block > 1 ? 16 : 1; /* a block for each value */
    const uint64_t step   = text != NULL && text[0] == '1' ? 1 : 509 * scaled;
    uint32_t       u[CHUNK];
    size_t         n = 0;

    for (uint64_t p = test_bits(&random) % step; p < UINT64_C(1) << 32; p += step) {
        u[n++] = (uint32_t)p;
        if (n == CHUNK) {
            check(twin, u, n);
            n = 0;
        }
    }
    check(twin, u, n);
    twin_destroy(twin);
}
END_TEST

/* +-600 patterns around each threshold, or around the cuts of the exponent. */
START_TEST(thresholds)
{
    twin_t  *twin = twin_create(specs[_i]);
    uint32_t u[2402];

    for (uint32_t j = 0; j < 256; j++) {
        const tw_levels_t *levels = twin->codec->table;
        const uint32_t     at =
            levels != NULL && j < (uint32_t)levels->count ? levels->threshold[j] : j << 23;
        size_t n = 0;

        for (uint32_t d = 0; d <= 1200; d++) {
            u[n++] = (at + d - 600) & 0x7fffffffu;
            u[n++] = (at + d - 600) | 0x80000000u;
        }
        check(twin, u, n);
    }
    twin_destroy(twin);
}
END_TEST

/* The bins that thread blocks fill in are those of the codec. */
START_TEST(bins)
{
    twin_t *twin = twin_create(specs[_i]);

    if (twin->codec->table != NULL) {
        ck_assert(memcmp(twin->bins, ((const tw_levels_t *)twin->codec->table)->bins,
                         sizeof(twin->bins)) == 0);
    }
    twin_destroy(twin);
}
END_TEST

START_TEST(bytes_of_doubles)
{
    test_random_t random = test_random(3);

    for (int k = 1; k <= 8; k++) {
        for (int round = 0; round <= (k < 8); round++) {
            char        spec[32];
            tw_codec_t *codec;
            uint64_t    u[CHUNK], back[CHUNK];
            uint8_t     codes[8 * CHUNK];

            snprintf(spec, sizeof(spec), "bitpack:%d%s", k, round ? ",round" : "");
            codec = test_codec(spec, TW_F64);
            for (int kind = 0; kind < TEST_KINDS; kind++) {
                test_fill(u, TW_F64, CHUNK, (test_kind_t)kind, &random);
                ck_assert_int_eq(tw_codec_encode(codec, NULL, u, CHUNK, codes), TW_OK);
                test_decode(codec, codes, CHUNK, back);
                for (size_t i = 0; i < CHUNK; i++) {
                    const uint64_t code = tw_cuda_pack64(u[i], k, round);

                    ck_assert(memcmp(&code, codes + (size_t)k * i, (size_t)k) == 0);
                    ck_assert(tw_cuda_unpack64(code, k, round) == back[i]);
                }
            }
            tw_codec_destroy(codec);
        }
    }
}
END_TEST

#if defined(__x86_64__)
/* NaN as this processor makes it, although a device makes another one. */
START_TEST(sums_of_nan)
{
    static const uint32_t special[] = {0x7f800000u, 0xff800000u, 0x7f800001u,
                                       0xffc12345u, 0x3f800000u, 0x80000000u};

    for (int i = 0; i < 36; i++) {
        volatile float       a = tw_cuda_float(special[i / 6]), b = tw_cuda_float(special[i % 6]);
        const volatile float sum  = a + b;
        const uint32_t       got  = tw_cuda_sum(special[i / 6], special[i % 6]);
        const double         wide = (double)a + (double)b;
        const uint64_t got64 = tw_cuda_sum64(tw_cuda_bits64((double)a), tw_cuda_bits64((double)b));

        if (isnan(a) && isnan(b)) { /* which of them is the compiler's choice of order */
            ck_assert(isnan(tw_cuda_float(got)) && isnan(tw_cuda_double(got64)));
            continue;
        }
        ck_assert_uint_eq(got, tw_cuda_bits(sum));
        ck_assert_uint_eq(got64, tw_cuda_bits64(wide));
    }
}
END_TEST
#endif

int main(void)
{
    const int count = (int)(sizeof(specs) / sizeof(specs[0]));
    Suite    *suite = suite_create("cuda");
    TCase    *tcase = test_case(suite, "values");

    tcase_set_timeout(tcase, getenv("THINWIRE_EXHAUSTIVE") != NULL ? 36000.0 : 300.0);
    tcase_add_loop_test(tcase, patterns, 0, count);
    tcase_add_loop_test(tcase, thresholds, 0, count);
    tcase_add_loop_test(tcase, bins, 0, count);
    tcase_add_test(tcase, bytes_of_doubles);
#if defined(__x86_64__)
    tcase_add_test(tcase, sums_of_nan);
#endif
    return test_main(suite);
}
