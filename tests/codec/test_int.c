/* SPDX-License-Identifier: BSD-3-Clause
 * tests/codec/test_int.c - `int` against a calculation in double and a bit-by-bit stream:
 * bytes, errors, second encodings, poison, powers of two; `int8` is one of them. By all instruction
 * sets of the processor. THINWIRE_EXHAUSTIVE=1 encodes all maxima of two binades again, not a
 * sample.
 */
#include "config.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "tests/codec/common.h"

static const struct {
    int        bits;
    tw_dtype_t dtype;
} levels[] = {{4, TW_F32},  {6, TW_F32},  {8, TW_F32},  {10, TW_F32}, {12, TW_F32},
              {16, TW_F32}, {20, TW_F32}, {4, TW_F64},  {6, TW_F64},  {8, TW_F64},
              {10, TW_F64}, {12, TW_F64}, {16, TW_F64}, {20, TW_F64}, {24, TW_F64},
              {28, TW_F64}, {32, TW_F64}, {40, TW_F64}, {48, TW_F64}};

#define LEVELS (int)(sizeof(levels) / sizeof(levels[0]))

static tw_codec_t *codec_of(const char *cpu, int level, size_t block, bool power)
{
    char spec[64];

    snprintf(spec, sizeof(spec), "int:%d,block=%zu%s", levels[level].bits, block,
             power ? ",scale=2k" : "");
    return test_codec_cpu(cpu, spec, levels[level].dtype);
}

static double value_at(const void *v, tw_dtype_t dtype, size_t i)
{
    double d;

    if (dtype == TW_F32) {
        return (double)test_float_at(v, i);
    }
    memcpy(&d, (const uint8_t *)v + 8 * i, 8);
    return d;
}

static void put_value(void *v, tw_dtype_t dtype, size_t i, double d)
{
    const float f = (float)d;

    memcpy((uint8_t *)v + tw_dtype_size(dtype) * i, dtype == TW_F32 ? (const void *)&f : &d,
           tw_dtype_size(dtype));
}

/* An operation of the type on numbers of it: for float32 the double is exact, or so near to it that
 * the second rounding does not matter. */
static double rounded(tw_dtype_t dtype, double exact)
{
    return dtype == TW_F32 ? (double)(float)exact : exact;
}

static double largest_of(const void *v, tw_dtype_t dtype, size_t n)
{
    double most = 0.0;

    for (size_t i = 0; i < n; i++) {
        const double x = fabs(value_at(v, dtype, i));

        most = !(x <= most) ? x : most; /* NaN stays */
        if (isnan(x)) {
            return x;
        }
    }
    return most;
}

/* Scale and factor of a block, by the words of the wire format. */
static double scale_of(tw_dtype_t dtype, int bits, bool power, double most, double *factor)
{
    const double q = ldexp(1.0, bits - 1) - 1.0, top = dtype == TW_F32 ? 0x1p128 : INFINITY;
    double       scale;

    *factor = 0.0;
    if (most < ldexp(1.0, bits - (dtype == TW_F32 ? 127 : 1023))) {
        return 0.0;
    }
    *factor = rounded(dtype, q / most);
    scale   = rounded(dtype, most / q);
    if (!power) {
        if (rounded(dtype, q * scale) >= top) {
            scale = dtype == TW_F32 ? (double)nextafterf((float)scale, 0.0f) : nextafter(scale, 0);
        }
        return scale;
    }
    scale = ldexp(1.0, ilogb(most) - bits + 1);
    while (q * scale < most) {
        if (q * (2 * scale) >= top) {
            return scale;
        }
        scale *= 2;
    }
    *factor = 1.0 / scale;
    return scale;
}

static void put_bits(uint8_t *dst, size_t first, int bits, int64_t code)
{
    for (int k = 0; k < bits; k++) {
        if ((code >> k & 1) != 0) {
            dst[(first + (size_t)k) / 8] |= (uint8_t)(1u << (first + (size_t)k) % 8);
        }
    }
}

static int64_t get_bits(const uint8_t *src, size_t first, int bits)
{
    uint64_t code = 0;

    for (int k = 0; k < bits; k++) {
        code |= (uint64_t)(src[(first + (size_t)k) / 8] >> (first + (size_t)k) % 8 & 1) << k;
    }
    return (int64_t)(code << (64 - bits)) >> (64 - bits);
}

static void store_number(uint8_t *dst, tw_dtype_t dtype, double d)
{
    if (dtype == TW_F32) {
        tw_store_le32(dst, isnan(d) ? 0x7fc00000u : tw_float_bits((float)d));
    } else {
        tw_store_le64(dst, isnan(d) ? UINT64_C(0x7ff8) << 48 : tw_double_bits(d));
    }
}

/* The bytes of n values in blocks. */
static void oracle(int level, size_t block, bool power, const void *v, size_t n, uint8_t *dst)
{
    const tw_dtype_t dtype = levels[level].dtype;
    const int        bits  = levels[level].bits;
    const size_t     e     = tw_dtype_size(dtype);

    for (size_t first = 0; first < n; first += block) {
        const size_t m     = n - first < block ? n - first : block;
        const size_t bytes = e + (m * (size_t)bits + 7) / 8;
        const void  *x     = (const uint8_t *)v + first * e;
        const double most  = largest_of(x, dtype, m);
        double       factor, scale;

        memset(dst, 0, bytes);
        if (!isfinite(most)) {
            store_number(dst, dtype, (double)NAN);
        } else {
            scale = scale_of(dtype, bits, power, most, &factor);
            store_number(dst, dtype, scale);
            for (size_t i = 0; i < m; i++) {
                const double y = rounded(dtype, value_at(x, dtype, i) * factor);

                put_bits(dst + e, i * (size_t)bits, bits, (int64_t)nearbyint(y));
            }
        }
        dst += bytes;
    }
}

/* Each instruction set makes these bytes, at odd places too. */
static void check_bytes(int level, size_t block, bool power, const void *v, size_t n,
                        test_random_t *random)
{
    const size_t e    = tw_dtype_size(levels[level].dtype);
    uint8_t     *want = malloc(n * 8 + (n / 64 + 2) * 8);

    oracle(level, block, power, v, n, want);
    for (const char *const *cpu = test_cpus(); *cpu != NULL; cpu++) {
        tw_codec_t   *codec = codec_of(*cpu, level, block, power);
        const size_t  bytes = test_size(codec, n);
        test_buffer_t x     = test_buffer(n * e, test_bits(random) % 64);
        test_buffer_t c     = test_buffer(bytes, test_bits(random) % 64);

        memcpy(x.data, v, n * e);
        ck_assert_int_eq(tw_codec_encode(codec, NULL, x.data, n, c.data), TW_OK);
        for (size_t i = 0; i < bytes; i++) {
            ck_assert_msg(c.data[i] == want[i], "%s, %s, %zu values: byte %zu is %02x, not %02x",
                          tw_codec_spec(codec), *cpu, n, i, c.data[i], want[i]);
        }
        test_buffer_free(&x);
        test_buffer_free(&c);
        tw_codec_destroy(codec);
    }
    free(want);
}

START_TEST(bytes_are_those_of_the_format)
{
    static const size_t counts[] = {0, 1, 2, 7, 8, 63, 64, 65, 127, 128, 129, 191, 192, 193, 997};
    const tw_dtype_t    dtype    = levels[_i].dtype;
    test_random_t       random   = test_random((uint64_t)_i);
    double              v[997];

    for (int kind = 0; kind < TEST_KINDS; kind++) {
        for (size_t c = 0; c < sizeof(counts) / sizeof(*counts); c++) {
            test_fill(v, dtype, counts[c], (test_kind_t)kind, &random);
            check_bytes(_i, c % 2 == 0 ? 128 : 64, c % 3 == 0, v, counts[c], &random);
        }
    }
}
END_TEST

/* Halves, and maxima where blocks become zero or their scale infinite. */
START_TEST(ties_and_limits_are_those_of_the_format)
{
    const tw_dtype_t dtype    = levels[_i].dtype;
    const int        bits     = levels[_i].bits;
    const double     q        = ldexp(1.0, bits - 1) - 1.0;
    test_random_t    random   = test_random((uint64_t)_i);
    const double     least    = ldexp(1.0, bits - (dtype == TW_F32 ? 127 : 1023));
    const double     most     = dtype == TW_F32 ? 0x1.fffffep127 : 0x1.fffffffffffffp1023;
    const double     maxima[] = {q,
                                 least,
                             dtype == TW_F32 ? (double)nextafterf((float)least, 0.0f)
                                                 : nextafter(least, 0.0),
                                 least * 2,
                                 most,
                                 most / 2,
                                 ldexp(q, (dtype == TW_F32 ? 128 : 1024) - bits),
                             dtype == TW_F32 ? 0x1p-149 : 0x1p-1074};
    double           v[128];

    for (size_t m = 0; m < sizeof(maxima) / sizeof(*maxima); m++) {
        for (size_t i = 0; i < 128; i++) {
            const double halves =
                (double)(test_bits(&random) % (unsigned)(bits < 31 ? 2 * q : 1e9));

            put_value(v, dtype, i, (i % 2 == 0 ? 1 : -1) * maxima[m] * (halves / 2 / q));
        }
        put_value(v, dtype, 17, maxima[m]);
        put_value(v, dtype, 81, -maxima[m]);
        for (int power = 0; power < 2; power++) {
            check_bytes(_i, 64, power == 1, v, 128, &random);
        }
    }
}
END_TEST

START_TEST(any_bytes_decode_by_the_format)
{
    const tw_dtype_t dtype  = levels[_i].dtype;
    const int        bits   = levels[_i].bits;
    const size_t     e      = tw_dtype_size(dtype);
    test_random_t    random = test_random((uint64_t)_i);

    for (int round = 0; round < 40; round++) {
        const size_t  n     = 1 + test_bits(&random) % 320;
        tw_codec_t   *codec = codec_of("scalar", _i, 320, false);
        test_buffer_t c     = test_buffer(test_size(codec, n), test_bits(&random) % 64);
        double        scale, want[320], back[320];

        tw_codec_destroy(codec);
        for (size_t i = 0; i < c.bytes; i++) {
            c.data[i] = (uint8_t)test_bits(&random);
        }
        store_number(c.data, dtype, round % 4 == 0 ? -INFINITY : test_normal(&random));
        scale = dtype == TW_F32 ? (double)tw_bits_float(tw_load_le32(c.data))
                                : tw_bits_double(tw_load_le64(c.data));
        for (size_t i = 0; i < n; i++) {
            const double code = (double)get_bits(c.data + e, i * (size_t)bits, bits);

            put_value(want, dtype, i, rounded(dtype, code * scale));
            if (!isfinite(scale)) {
                store_number((uint8_t *)want + e * i, dtype, (double)NAN);
            }
        }
        for (const char *const *cpu = test_cpus(); *cpu != NULL; cpu++) {
            codec = codec_of(*cpu, _i, 320, false);
            test_decode(codec, c.data, n, back);
            test_same(back, want, dtype, n, 0, *cpu);
            tw_codec_destroy(codec);
        }
        test_buffer_free(&c);
    }
}
END_TEST

/* Blocks of 64 with the given maxima, other values at random. */
static void check_again(tw_codec_t *codec, tw_dtype_t dtype, const double *maxima, size_t blocks,
                        test_random_t *random)
{
    const size_t n = 64 * blocks, bytes = test_size(codec, n);
    uint8_t     *v = malloc(8 * n), *codes, *again;

    for (size_t i = 0; i < n; i++) {
        put_value(v, dtype, i, maxima[i / 64] * (2 * test_uniform(random) - 1));
    }
    for (size_t b = 0; b < blocks; b++) {
        put_value(v, dtype, 64 * b + test_bits(random) % 64, maxima[b]);
    }
    codes = test_encode(codec, v, n);
    test_decode(codec, codes, n, v);
    again = test_encode(codec, v, n);
    for (size_t i = 0; i < bytes; i++) {
        ck_assert_msg(codes[i] == again[i], "%s: byte %zu, maximum %a", tw_codec_spec(codec), i,
                      maxima[i / (bytes / blocks)]);
    }
    free(v);
    free(codes);
    free(again);
}

/* All verbs of each instruction set are those of plain C. */
START_TEST(every_set_is_a_twin)
{
    static const size_t counts[] = {1, 3, 8, 15, 16, 17, 64, 100, 192, 193, 401, 1000};
    const tw_dtype_t    dtype    = levels[_i].dtype;
    test_random_t       random   = test_random((uint64_t)_i);
    double              v[1000], residual[1000];

    for (const char *const *cpu = test_cpus(); *cpu != NULL; cpu++) {
        for (int stream = 0; stream < 2; stream++) {
            tw_codec_t *twin, *scalar = codec_of("scalar", _i, 192, false);

            setenv("THINWIRE_STREAM_THRESHOLD", stream == 1 ? "1" : "inf", 1);
            twin = codec_of(*cpu, _i, 192, false);
            for (size_t c = 0; c < sizeof(counts) / sizeof(*counts); c++) {
                test_fill(v, dtype, counts[c], c % 3 == 0 ? TEST_EDGE : TEST_NORMAL, &random);
                test_fill(residual, dtype, counts[c], TEST_SMALL, &random);
                test_twin(scalar, twin, dtype, v, residual, counts[c],
                          (test_places_t){test_bits(&random) % 64, test_bits(&random) % 64,
                                          test_bits(&random) % 64});
            }
            tw_codec_destroy(twin);
            tw_codec_destroy(scalar);
        }
    }
}
END_TEST

START_TEST(a_second_encoding_changes_nothing)
{
    const tw_dtype_t dtype  = levels[_i].dtype;
    const bool       all    = getenv("THINWIRE_EXHAUSTIVE") != NULL && dtype == TW_F32;
    test_random_t    random = test_random((uint64_t)_i);
    tw_codec_t      *codec  = codec_of("auto", _i, 64, false);
    tw_codec_t      *power  = codec_of("auto", _i, 64, true);
    double           maxima[1024];

    for (uint32_t round = 0; round < (all ? 16384 : 12); round++) {
        for (uint32_t b = 0; b < 1024; b++) {
            const uint64_t bits = UINT64_C(0x3ff) << 52 | test_next(&random) >> 11;

            maxima[b] = all ? (double)tw_bits_float(0x3f800000u + 1024 * round + b)
                        : dtype == TW_F32
                            ? (double)tw_bits_float(0x3f800000u + test_bits(&random) % (1u << 24))
                            : tw_bits_double(bits);
        }
        check_again(codec, dtype, maxima, 1024, &random);
        check_again(power, dtype, maxima, 1024, &random);
    }
    tw_codec_destroy(codec);
    tw_codec_destroy(power);
}
END_TEST

/* Wherever Inf or NaN stands in it, the block is lost, and no other; its residuals stay. */
START_TEST(one_in_any_lane_is_poison)
{
    static const double bad[] = {INFINITY, -INFINITY, NAN, -NAN};
    const tw_dtype_t    dtype = levels[_i].dtype;
    const size_t        n = 190, e = tw_dtype_size(dtype);
    test_random_t       random = test_random((uint64_t)_i);
    double              v[190], back[190], left[190], zero[190] = {0};

    for (const char *const *cpu = test_cpus(); *cpu != NULL; cpu++) {
        tw_codec_t *codec = codec_of(*cpu, _i, 128, false);
        uint8_t     codes[2000];

        for (size_t at = 0; at < n; at++) {
            test_fill(v, dtype, n, TEST_NORMAL, &random);
            put_value(v, dtype, at, bad[at % 4]);
            memset(left, 0, sizeof(left));
            ck_assert_int_eq(tw_codec_encode_feedback(codec, NULL, v, n, left, codes), TW_OK);
            test_decode(codec, codes, n, back);
            for (size_t i = 0; i < n; i++) {
                const bool lost = i / 128 == at / 128;

                ck_assert_msg(isnan(value_at(back, dtype, i)) == lost, "%s: %zu of Inf at %zu",
                              *cpu, i, at);
            }
            ck_assert(memcmp((uint8_t *)left + at / 128 * 128 * e, zero,
                             (at < 128 ? 128 : n - 128) * e) == 0);
        }
        tw_codec_destroy(codec);
    }
}
END_TEST

START_TEST(errors_are_bounded_in_every_block)
{
    const tw_dtype_t dtype = levels[_i].dtype;
    const size_t     n = 64 * 64, e = tw_dtype_size(dtype);
    test_random_t    random = test_random((uint64_t)_i);
    double          *v = malloc(8 * n), *back = malloc(8 * n);

    for (int round = 0; round < 8; round++) {
        tw_codec_t       *codec = codec_of("auto", _i, 64, round % 2 == 1);
        tw_codec_traits_t traits;

        ck_assert_int_eq(tw_codec_traits(codec, &traits), TW_OK);
        test_fill(v, dtype, n,
                  round < 4   ? TEST_NORMAL
                  : round < 6 ? TEST_WIDE
                              : TEST_HUGE,
                  &random);
        test_round_trip(codec, v, n, back);
        for (size_t i = 0; i < n; i++) {
            const double most  = largest_of((uint8_t *)v + i / 64 * 64 * e, dtype, 64);
            const double error = fabs(value_at(v, dtype, i) / 2 - value_at(back, dtype, i) / 2);
            const double limit = traits.max_error / 2 * (round == 7 ? 1.5 : 1.0);

            ck_assert_msg(error <= limit * most, "%s: %a from %a, maximum %a", tw_codec_spec(codec),
                          value_at(back, dtype, i), value_at(v, dtype, i), most);
        }
        tw_codec_destroy(codec);
    }
    free(v);
    free(back);
}
END_TEST

START_TEST(whole_numbers_arrive_by_powers_of_two)
{
    const tw_dtype_t dtype  = levels[_i].dtype;
    const double     q      = ldexp(1.0, levels[_i].bits - 1) - 1.0;
    test_random_t    random = test_random((uint64_t)_i);
    tw_codec_t      *codec  = codec_of("auto", _i, 64, true);
    double           v[640], back[640];

    for (size_t i = 0; i < 640; i++) {
        const double most = i / 64 % 2 == 0 ? q : floor(q * test_uniform(&random));

        put_value(v, dtype, i, i % 64 == 5 ? most : floor(most * (2 * test_uniform(&random) - 1)));
    }
    for (size_t i = 0; i < 640; i++) { /* -0 does not arrive */
        put_value(v, dtype, i, value_at(v, dtype, i) + 0.0);
    }
    test_round_trip(codec, v, 640, back);
    test_same(back, v, dtype, 640, 0, "whole numbers");
    tw_codec_destroy(codec);
}
END_TEST

START_TEST(int8_is_one_of_them)
{
    const size_t  n      = 3 * 4096 + 77;
    test_random_t random = test_random(8);
    tw_codec_t   *int8 = test_codec("int8", TW_F32), *same = test_codec("int:8,block=4096", TW_F32);
    float        *v = malloc(4 * n);

    ck_assert_uint_eq(test_size(int8, n), test_size(same, n));
    for (int kind = 0; kind < TEST_KINDS; kind++) {
        uint8_t *a, *b;

        test_fill(v, TW_F32, n, (test_kind_t)kind, &random);
        a = test_encode(int8, v, n);
        b = test_encode(same, v, n);
        ck_assert(memcmp(a, b, test_size(int8, n)) == 0);
        free(a);
        free(b);
    }
    free(v);
    tw_codec_destroy(int8);
    tw_codec_destroy(same);
}
END_TEST

/* rms(error) / rms(values) of N(0, 1): of 400,000 values in blocks of 4096 it has a standard
 * deviation of 0.8 %. */
static const struct {
    const char *spec;
    tw_dtype_t  dtype;
    double      rms;
} figures[] = {{"int:6,block=64", TW_F32, 2.42e-2},
               {"int8", TW_F32, 8.7e-3},
               {"int:8", TW_F32, 7.0e-3},
               {"int:12", TW_F32, 4.3e-4},
               {"int:16", TW_F32, 2.7e-5},
               {"int:20", TW_F32, 1.7e-6},
               {"int:16,block=64", TW_F64, 2.3e-5},
               {"int:16", TW_F64, 2.7e-5},
               {"int:24", TW_F64, 1.06e-7},
               {"int:32", TW_F64, 4.1e-10},
               {"int:16,block=4096", TW_F64, 3.37e-5}};

START_TEST(errors_of_normal_numbers)
{
    const size_t     n      = 400000;
    const tw_dtype_t dtype  = figures[_i].dtype;
    test_random_t    random = test_random((uint64_t)_i);
    tw_codec_t      *codec  = test_codec(figures[_i].spec, dtype);
    double          *v = malloc(8 * n), *back = malloc(8 * n), errors = 0, squares = 0;

    test_fill(v, dtype, n, TEST_NORMAL, &random);
    test_round_trip(codec, v, n, back);
    for (size_t i = 0; i < n; i++) {
        const double x = value_at(v, dtype, i), d = x - value_at(back, dtype, i);

        errors += d * d;
        squares += x * x;
    }
    ck_assert_msg(fabs(sqrt(errors / squares) / figures[_i].rms - 1) < 0.05, "%s: %g, not %g",
                  figures[_i].spec, sqrt(errors / squares), figures[_i].rms);
    free(v);
    free(back);
    tw_codec_destroy(codec);
}
END_TEST

/* ---- grids ----------------------------------------------------------------------------------- */

static tw_codec_t *grid_of(const char *cpu, int level, int exponent)
{
    char spec[64];

    snprintf(spec, sizeof(spec), "int:%d,step=2^%d", levels[level].bits, exponent);
    return test_codec_cpu(cpu, spec, levels[level].dtype);
}

/* By the words of the wire format: the code of what fits, and else -2^(B-1). */
static void grid_oracle(int level, int exponent, const void *v, size_t n, uint8_t *dst)
{
    const int    bits = levels[level].bits;
    const double q    = ldexp(1.0, bits - 1) - 1.0;

    memset(dst, 0, (n * (size_t)bits + 7) / 8);
    for (size_t i = 0; i < n; i++) {
        const double y = nearbyint(ldexp(value_at(v, levels[level].dtype, i), -exponent));

        put_bits(dst, i * (size_t)bits, bits, fabs(y) <= q ? (int64_t)y : -(int64_t)q - 1);
    }
}

/* Values about the ends of the grid, ties, and what is on no grid. */
static void grid_values(void *v, int level, int exponent, size_t n, test_random_t *random)
{
    const double q = ldexp(1.0, levels[level].bits - 1) - 1.0;

    for (size_t i = 0; i < n; i++) {
        const double sign  = test_bits(random) % 2 == 0 ? 1 : -1;
        const double any[] = {
            q,       q + 0.25, q + 0.5, q + 1, floor(q * test_uniform(random)) + 0.5,
            0x1p100, INFINITY, NAN,     0};
        const uint32_t kind = test_bits(random) % 32;
        const double   y    = kind < 9 ? any[kind] : q * test_uniform(random);

        put_value(v, levels[level].dtype, i, sign * ldexp(y, exponent));
    }
}

START_TEST(grids_are_those_of_the_format)
{
    static const size_t counts[]    = {0, 1, 7, 8, 63, 64, 65, 255, 256, 257, 319, 997};
    static const int    exponents[] = {0, -14, -100, 60};
    const tw_dtype_t    dtype       = levels[_i].dtype;
    const size_t        e           = tw_dtype_size(dtype);
    const double        q           = ldexp(1.0, levels[_i].bits - 1) - 1.0;
    test_random_t       random      = test_random((uint64_t)_i);
    double              v[997], back[997];

    for (size_t k = 0; k < 4 * sizeof(counts) / sizeof(*counts); k++) {
        const size_t n        = counts[k / 4];
        const int    exponent = exponents[k % 4];
        uint8_t      want[6 * 997];

        grid_values(v, _i, exponent, n, &random);
        grid_oracle(_i, exponent, v, n, want);
        for (const char *const *cpu = test_cpus(); *cpu != NULL; cpu++) {
            tw_codec_t   *codec = grid_of(*cpu, _i, exponent);
            const size_t  bytes = test_size(codec, n);
            test_buffer_t x     = test_buffer(n * e, test_bits(&random) % 64);
            test_buffer_t c     = test_buffer(bytes, test_bits(&random) % 64);

            ck_assert_uint_eq(bytes, (n * (size_t)levels[_i].bits + 7) / 8);
            memcpy(x.data, v, n * e);
            ck_assert_int_eq(tw_codec_encode(codec, NULL, x.data, n, c.data), TW_OK);
            ck_assert_msg(memcmp(c.data, want, bytes) == 0, "%s by %s, %zu values",
                          tw_codec_spec(codec), *cpu, n);
            test_decode(codec, c.data, n, back);
            for (size_t i = 0; i < n; i++) {
                const double y = nearbyint(ldexp(value_at(v, dtype, i), -exponent));
                const double z = value_at(back, dtype, i);

                ck_assert_msg(fabs(y) <= q ? z == ldexp(y, exponent) : isnan(z), "%s: %a is %a",
                              tw_codec_spec(codec), value_at(v, dtype, i), z);
            }
            test_buffer_free(&x);
            test_buffer_free(&c);
            tw_codec_destroy(codec);
        }
    }
}
END_TEST

START_TEST(every_grid_is_a_twin)
{
    static const size_t counts[] = {1, 8, 17, 64, 193, 256, 300, 1000};
    test_random_t       random   = test_random((uint64_t)_i);
    double              v[1000], residual[1000];

    for (const char *const *cpu = test_cpus(); *cpu != NULL; cpu++) {
        tw_codec_t *scalar = grid_of("scalar", _i, -3), *twin = grid_of(*cpu, _i, -3);

        for (size_t c = 0; c < sizeof(counts) / sizeof(*counts); c++) {
            grid_values(v, _i, -3, counts[c], &random);
            test_fill(residual, levels[_i].dtype, counts[c], TEST_SMALL, &random);
            test_twin(scalar, twin, levels[_i].dtype, v, residual, counts[c],
                      (test_places_t){test_bits(&random) % 64, test_bits(&random) % 64,
                                      test_bits(&random) % 64});
        }
        tw_codec_destroy(twin);
        tw_codec_destroy(scalar);
    }
}
END_TEST

/* What did not fit leaves its own residual alone; else it is what is left of the value. */
START_TEST(a_grid_keeps_what_it_lost)
{
    const tw_dtype_t dtype  = levels[_i].dtype;
    test_random_t    random = test_random((uint64_t)_i);
    tw_codec_t      *codec  = grid_of("auto", _i, -3);
    double           v[300], back[300], left[300] = {0};
    uint8_t          codes[6 * 300];

    grid_values(v, _i, -3, 300, &random);
    ck_assert_int_eq(tw_codec_encode_feedback(codec, NULL, v, 300, left, codes), TW_OK);
    test_decode(codec, codes, 300, back);
    for (size_t i = 0; i < 300; i++) {
        const double z    = value_at(back, dtype, i);
        const double want = isnan(z) ? 0.0 : value_at(v, dtype, i) - z;

        ck_assert_msg(value_at(left, dtype, i) == want, "%a leaves %a, not %a",
                      value_at(v, dtype, i), value_at(left, dtype, i), want);
    }
    tw_codec_destroy(codec);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("int");
    TCase *tcase = test_case_within(suite, "int", 600);

    tcase_add_loop_test(tcase, bytes_are_those_of_the_format, 0, LEVELS);
    tcase_add_loop_test(tcase, grids_are_those_of_the_format, 0, LEVELS);
    tcase_add_loop_test(tcase, every_grid_is_a_twin, 0, LEVELS);
    tcase_add_loop_test(tcase, a_grid_keeps_what_it_lost, 0, LEVELS);
    tcase_add_loop_test(tcase, ties_and_limits_are_those_of_the_format, 0, LEVELS);
    tcase_add_loop_test(tcase, any_bytes_decode_by_the_format, 0, LEVELS);
    tcase_add_loop_test(tcase, every_set_is_a_twin, 0, LEVELS);
    tcase_add_loop_test(tcase, a_second_encoding_changes_nothing, 0, LEVELS);
    tcase_add_loop_test(tcase, one_in_any_lane_is_poison, 0, LEVELS);
    tcase_add_loop_test(tcase, errors_are_bounded_in_every_block, 0, LEVELS);
    tcase_add_loop_test(tcase, whole_numbers_arrive_by_powers_of_two, 0, LEVELS);
    tcase_add_test(tcase, int8_is_one_of_them);
    TEST_EACH(tcase, errors_of_normal_numbers, figures);
    return test_main(suite);
}
