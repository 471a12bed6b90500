/* SPDX-License-Identifier: BSD-3-Clause
 * tests/codec/test_values.c - bitpack, bf16 and fp16: the bit mask, rounding at every boundary,
 * what Inf and NaN become.
 */
#include "config.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "tests/codec/common.h"

static tw_codec_t *bitpack(int k, int round, tw_dtype_t dtype)
{
    char spec[32];

    snprintf(spec, sizeof(spec), "bitpack:%d%s", k, round ? ",round" : "");
    return test_codec(spec, dtype);
}

static uint64_t low_mask(int bits)
{
    return bits == 64 ? ~UINT64_C(0) : (UINT64_C(1) << bits) - 1;
}

static uint64_t element_bits(const void *v, tw_dtype_t dtype, size_t i)
{
    uint64_t u = 0;
    uint32_t w;

    if (dtype == TW_F64) {
        memcpy(&u, (const uint8_t *)v + 8 * i, 8);
    } else {
        memcpy(&w, (const uint8_t *)v + 4 * i, 4);
        u = w;
    }
    return u;
}

/* _i: 0..3 K = 1..4 of float32, 4..11 K = 1..8 of double. */
static int loop_k(int i)
{
    return i < 4 ? i + 1 : i - 3;
}
static tw_dtype_t loop_dtype(int i)
{
    return i < 4 ? TW_F32 : TW_F64;
}

START_TEST(truncating_bitpack_is_the_bit_mask)
{
    const tw_dtype_t dtype = loop_dtype(_i);
    const int        k = loop_k(_i), width = (int)tw_dtype_size(dtype);
    const size_t     n      = 100003;
    tw_codec_t      *codec  = bitpack(k, 0, dtype);
    test_random_t    random = test_random((uint64_t)_i);
    uint8_t         *x = malloc(n * (size_t)width), *back = malloc(n * (size_t)width);
    int              wrong = 0;

    for (int kind = 0; kind < TEST_KINDS; kind++) {
        uint8_t *codes;

        test_fill(x, dtype, n, (test_kind_t)kind, &random);
        codes = test_encode(codec, x, n);
        test_decode(codec, codes, n, back);
        for (size_t i = 0; i < n; i++) {
            const uint64_t u = element_bits(x, dtype, i);

            wrong += element_bits(back, dtype, i) != (u & ~low_mask(8 * (width - k)));
            for (int b = 0; b < k; b++) {
                wrong += codes[(size_t)k * i + (size_t)b] != (uint8_t)(u >> 8 * (width - k + b));
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

START_TEST(truncated_infinity_and_nan_are_as_documented)
{
    const float inf = INFINITY;
    float       back;

    for (int k = 1; k <= 3; k++) {
        tw_codec_t    *codec = bitpack(k, 0, TW_F32);
        const uint32_t thin  = 0x7f800001u; /* its payload is in the low byte only */
        float          nan;
        uint8_t       *codes = test_encode(codec, &inf, 1);

        test_decode(codec, codes, 1, &back);
        ck_assert(k == 1 ? back == 0x1p127f : back == inf);
        free(codes);
        memcpy(&nan, &thin, 4);
        codes = test_encode(codec, &nan, 1);
        test_decode(codec, codes, 1, &back);
        ck_assert(k == 1 ? back == 0x1p127f : back == inf);
        free(codes);
        tw_codec_destroy(codec);
    }
}
END_TEST

/* Rounding stated another way than in the code: by comparing what is cut off with a half. */
static uint64_t rounded(uint64_t u, int k, int width)
{
    const int      drop     = 8 * (width - k);
    const uint64_t sign     = u & (UINT64_C(1) << (8 * width - 1));
    const uint64_t infinity = width == 4 ? 0x7f800000u : UINT64_C(0x7ff) << 52;
    const uint64_t quiet    = width == 4 ? 0x00400000u : UINT64_C(1) << 51;
    const uint64_t size = u ^ sign, rest = size & low_mask(drop), half = UINT64_C(1) << (drop - 1);
    const uint64_t unit = UINT64_C(1) << drop;
    uint64_t       cut  = size - rest;

    if (size > infinity) { /* for K = 1 the one NaN, 0x7fc00000 */
        return sign | (k == 1 ? infinity | quiet : (cut | quiet));
    }
    if (rest > half || (rest == half && (cut & unit) != 0)) {
        cut += unit;
    }
    if (k == 1 && cut >= UINT64_C(0x7e) * unit) {
        cut = infinity;
    }
    return sign | cut;
}

/* _i: 0..2 K = 1..3 of float32, 3..9 K = 1..7 of double. */
START_TEST(rounding_bitpack_goes_to_the_nearest)
{
    const tw_dtype_t dtype = _i < 3 ? TW_F32 : TW_F64;
    const int        k = _i < 3 ? _i + 1 : _i - 2, width = (int)tw_dtype_size(dtype);
    const uint64_t   half   = UINT64_C(1) << (8 * (width - k) - 1);
    const size_t     n      = 60000;
    tw_codec_t      *codec  = bitpack(k, 1, dtype);
    test_random_t    random = test_random((uint64_t)_i);
    uint8_t         *x = malloc(n * (size_t)width), *back = malloc(n * (size_t)width);

    for (int kind = 0; kind < TEST_KINDS; kind++) {
        test_fill(x, dtype, n, (test_kind_t)kind, &random);
        for (size_t i = 0; i < n; i += 3) { /* ties, and their neighbours */
            const uint64_t u =
                (element_bits(x, dtype, i) & ~(2 * half - 1)) + half + test_bits(&random) % 3 - 1;

            memcpy(x + i * (size_t)width, &u, (size_t)width);
        }
        test_round_trip(codec, x, n, back);
        for (size_t i = 0; i < n; i++) {
            const uint64_t u = element_bits(x, dtype, i), got = element_bits(back, dtype, i);

            if (got != rounded(u, k, width)) {
                ck_abort_msg("%llx became %llx", (unsigned long long)u, (unsigned long long)got);
            }
        }
    }
    free(x);
    free(back);
    tw_codec_destroy(codec);
}
END_TEST

START_TEST(all_bytes_of_bitpack_1_round)
{
    const tw_dtype_t dtype = _i == 0 ? TW_F32 : TW_F64;
    const int        width = (int)tw_dtype_size(dtype);
    const uint64_t   inf   = _i == 0 ? 0x7f800000u : UINT64_C(0x7ff) << 52;
    const uint64_t   nan   = _i == 0 ? 0x7fc00000u : UINT64_C(0x7ff8) << 48;
    tw_codec_t      *codec = bitpack(1, 1, dtype);
    uint8_t          codes[256], *again;
    double           back[256];

    for (int c = 0; c < 256; c++) {
        codes[c] = (uint8_t)c;
    }
    test_decode(codec, codes, 256, back);
    for (int c = 0; c < 256; c++) {
        const int      top  = c & 127;
        const uint64_t sign = (uint64_t)(c & 128) << 8 * (width - 1);
        const uint64_t want = top == 0x7f   ? nan
                              : top == 0x7e ? inf
                                            : (uint64_t)top << 8 * (width - 1);

        ck_assert_uint_eq(element_bits(back, dtype, (size_t)c), sign | want);
    }
    again = test_encode(codec, back, 256);
    ck_assert(memcmp(again, codes, 256) == 0);
    free(again);
    tw_codec_destroy(codec);
}
END_TEST

static double half_value(int bf16, uint32_t h)
{
    const int    exponent = (int)(bf16 ? h >> 7 & 0xff : h >> 10 & 0x1f);
    const int    mantissa = (int)(bf16 ? h & 0x7f : h & 0x3ff);
    const int    bits = bf16 ? 7 : 10, bias = bf16 ? 127 : 15, top = bf16 ? 0xff : 0x1f;
    const double sign = (h & 0x8000) != 0 ? -1.0 : 1.0;

    if (exponent == top) {
        return mantissa != 0 ? (double)NAN : sign * (double)INFINITY;
    }
    if (exponent == 0) {
        return sign * ldexp(mantissa, 1 - bias - bits);
    }
    return sign * ldexp(mantissa + (1 << bits), exponent - bias - bits);
}

static const char *const half_names[] = {"fp16", "bf16"};

START_TEST(all_halves_decode_and_come_back)
{
    tw_codec_t *codec = test_codec(half_names[_i], TW_F32);
    uint8_t    *codes = malloc(2 * 65536), *again;
    float      *back  = malloc(4 * 65536);
    int         wrong = 0;

    for (uint32_t h = 0; h < 65536; h++) {
        codes[2 * h]     = (uint8_t)h;
        codes[2 * h + 1] = (uint8_t)(h >> 8);
    }
    test_decode(codec, codes, 65536, back);
    again = test_encode(codec, back, 65536);
    for (uint32_t h = 0; h < 65536; h++) {
        const double   want = half_value(_i, h);
        const uint32_t got  = (uint32_t)again[2 * h] | (uint32_t)again[2 * h + 1] << 8;

        if (isnan(want)) {
            const uint32_t quiet = _i == 0 ? 0x0200 : 0x0040;

            wrong += !isnan(back[h]) || !signbit(back[h]) != !(h >> 15) || got != (h | quiet);
        } else {
            wrong += (double)back[h] != want || !signbit(back[h]) != !(h >> 15) || got != h;
        }
        if (wrong != 0) {
            ck_abort_msg("%04x decodes to %a and comes back as %04x", h, (double)back[h], got);
        }
    }
    free(codes);
    free(again);
    free(back);
    tw_codec_destroy(codec);
}
END_TEST

static uint32_t half_of(const tw_codec_t *codec, uint32_t bits)
{
    uint8_t h[2];

    if (tw_codec_encode(codec, NULL, &bits, 1, h) != TW_OK) {
        ck_abort_msg("encoding %08x", bits);
    }
    return (uint32_t)h[0] | (uint32_t)h[1] << 8;
}

/* At the middle of each pair of neighbours and one float32 beside it: that pins a monotone
 * function. */
START_TEST(halves_round_to_the_nearest_even)
{
    const uint32_t infinity = _i == 0 ? 0x7c00 : 0x7f80;
    tw_codec_t    *codec    = test_codec(half_names[_i], TW_F32);

    for (uint32_t h = 0; h < infinity; h++) {
        const double below = half_value(_i, h);
        /* Inf stands where the next number would be. */
        const double above =
            h + 1 < infinity ? half_value(_i, h + 1) : 2 * below - half_value(_i, h - 1);
        const uint32_t middle = tw_float_bits((float)((below + above) / 2));
        const uint32_t even   = h % 2 == 0 ? h : h + 1;

        for (uint32_t sign = 0; sign < 2; sign++) {
            const uint32_t s = sign << 31, t = sign << 15;

            if (half_of(codec, s | (middle - 1)) != (t | h) ||
                half_of(codec, s | middle) != (t | even) ||
                half_of(codec, s | (middle + 1)) != (t | (h + 1))) {
                ck_abort_msg("near %08x, between %04x and %04x", s | middle, t | h, t | (h + 1));
            }
        }
    }
    tw_codec_destroy(codec);
}
END_TEST

START_TEST(halves_are_monotone)
{
    const int     n      = 100000;
    test_random_t random = test_random((uint64_t)_i);
    tw_codec_t   *codec  = test_codec(half_names[_i], TW_F32);

    for (int i = 0; i < n; i++) {
        const uint32_t u = test_bits(&random) & 0x7fffffffu;
        const uint32_t v = u + (test_bits(&random) >> (test_bits(&random) % 32));

        if (v > u && v <= 0x7f800000u && half_of(codec, u) > half_of(codec, v)) {
            ck_abort_msg("%08x becomes more than %08x", u, v);
        }
    }
    tw_codec_destroy(codec);
}
END_TEST

START_TEST(half_nan_keeps_sign_and_top_payload)
{
    tw_codec_t *codec = test_codec(half_names[_i], TW_F32);

    ck_assert_uint_eq(half_of(codec, 0x7fc00000u), _i == 0 ? 0x7e00u : 0x7fc0u);
    ck_assert_uint_eq(half_of(codec, 0xff800001u), _i == 0 ? 0xfe00u : 0xffc0u);
    ck_assert_uint_eq(half_of(codec, 0x7faaaaaau), _i == 0 ? 0x7f55u : 0x7feau);
    ck_assert_uint_eq(half_of(codec, 0xff800000u), _i == 0 ? 0xfc00u : 0xff80u);
    tw_codec_destroy(codec);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("values");
    TCase *tcase = test_case(suite, "bitpack, bf16, fp16");

    tcase_add_loop_test(tcase, truncating_bitpack_is_the_bit_mask, 0, 12);
    tcase_add_test(tcase, truncated_infinity_and_nan_are_as_documented);
    tcase_add_loop_test(tcase, rounding_bitpack_goes_to_the_nearest, 0, 10);
    tcase_add_loop_test(tcase, all_bytes_of_bitpack_1_round, 0, 2);
    tcase_add_loop_test(tcase, all_halves_decode_and_come_back, 0, 2);
    tcase_add_loop_test(tcase, halves_round_to_the_nearest_even, 0, 2);
    tcase_add_loop_test(tcase, halves_are_monotone, 0, 2);
    tcase_add_loop_test(tcase, half_nan_keeps_sign_and_top_payload, 0, 2);
    return test_main(suite);
}
