/* SPDX-License-Identifier: BSD-3-Clause
 * tests/codec/test_codec.c - what holds for every codec alike: sizes, any count and alignment,
 * pieces, threads, the caller's floating-point mode, arbitrary bytes, decode-and-add, error feedback,
 * values that are not finite.
 */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>

#include "tests/codec/common.h"

#if defined(__x86_64__)
#include <xmmintrin.h>
#endif

static const size_t counts[] = {0,   1,   2,   3,   7,   8,   9,    15,   16,   17,   31,   32,   33,  63,
                                64,  65,  95,  127, 128, 129, 191,  193,  255,  256,  257,  319,  321, 449,
                                509, 511, 512, 513, 897, 1021, 2047, 2048, 2049, 4095, 4096, 4097, 9973};

#define COUNTS (int)(sizeof(counts) / sizeof(counts[0]))
#define LARGE  1000003

static size_t block_bytes(const tw_codec_traits_t *t, size_t m)
{
    if (strcmp(t->name, "onebit") == 0) {
        return 8 + (m + 7) / 8;
    }
    return t->block > 1 ? 4 + m : (size_t)t->bytes * m;
}

START_TEST(sizes_follow_the_format)
{
    tw_codec_t       *codec = test_codec_at(_i);
    tw_codec_traits_t t;
    size_t            bytes;

    ck_assert_int_eq(tw_codec_traits(codec, &t), TW_OK);
    ck_assert_uint_eq(t.block, tw_codec_block(codec));
    for (int c = 0; c < COUNTS; c++) {
        const size_t n = counts[c], rest = n % t.block;

        ck_assert_uint_eq(test_size(codec, n),
                          n / t.block * block_bytes(&t, t.block) + (rest > 0 ? block_bytes(&t, rest) : 0));
    }
    ck_assert_double_eq_tol((double)test_size(codec, 100 * t.block) / (double)(100 * t.block), t.bytes,
                            1e-12);
    ck_assert_uint_gt(test_size(codec, SIZE_MAX / 16), SIZE_MAX / 16 / 8);
    ck_assert_int_eq(tw_codec_size(codec, SIZE_MAX / 16 + 1, &bytes), TW_ERR_RANGE);
    ck_assert_int_eq(tw_codec_size(codec, SIZE_MAX, &bytes), TW_ERR_RANGE);
    ck_assert_int_eq(tw_codec_size(codec, 1, NULL), TW_ERR_INVALID_ARG);
    tw_codec_destroy(codec);
}
END_TEST

/* Encode, decode, add and feed back at the given offsets; the same as in aligned memory. */
static void check_alignment(const tw_codec_t *codec, tw_dtype_t dtype, const void *src,
                            const void *res, size_t n, size_t in, size_t out)
{
    const size_t  element = tw_dtype_size(dtype), bytes = test_size(codec, n);
    test_buffer_t x = test_buffer(n * element, in), r = test_buffer(n * element, out),
                  c = test_buffer(bytes, out), y = test_buffer(n * element, in);
    void    *plain    = malloc(n * element + 1);
    void    *residual = malloc(n * element + 1);
    uint8_t *codes    = test_encode(codec, src, n);

    memcpy(x.data, src, n * element);
    ck_assert_int_eq(tw_codec_encode(codec, NULL, x.data, n, c.data), TW_OK);
    ck_assert(memcmp(c.data, codes, bytes) == 0);
    test_decode(codec, codes, n, plain);
    test_decode(codec, c.data, n, y.data);
    test_same(y.data, plain, dtype, n, 0, "decoded");
    ck_assert(memcmp(x.data, src, n * element) == 0);

    memcpy(y.data, res, n * element);
    memcpy(plain, res, n * element);
    ck_assert_int_eq(tw_codec_decode_add(codec, NULL, c.data, n, y.data), TW_OK);
    ck_assert_int_eq(tw_codec_decode_add(codec, NULL, codes, n, plain), TW_OK);
    test_same(y.data, plain, dtype, n, 0, "added");

    memcpy(r.data, res, n * element);
    memcpy(residual, res, n * element);
    ck_assert_int_eq(tw_codec_encode_feedback(codec, NULL, x.data, n, r.data, c.data), TW_OK);
    ck_assert_int_eq(tw_codec_encode_feedback(codec, NULL, src, n, residual, codes), TW_OK);
    ck_assert(memcmp(c.data, codes, bytes) == 0);
    test_same(r.data, residual, dtype, n, 0, "residual");

    test_buffer_free(&x);
    test_buffer_free(&r);
    test_buffer_free(&c);
    test_buffer_free(&y);
    free(plain);
    free(residual);
    free(codes);
}

/* Fill bytes at v with copies of its first `first` bytes. */
static void repeat(uint8_t *v, size_t first, size_t bytes)
{
    for (size_t i = first; i < bytes; i++) {
        v[i] = v[i - first];
    }
}

START_TEST(any_count_at_any_alignment)
{
    static const size_t offsets[] = {0, 1, 2, 3, 4, 5, 8, 13, 31, 33};
    const tw_dtype_t    dtype     = test_specs[_i].dtype;
    tw_codec_t         *codec     = test_codec_at(_i);
    test_random_t       random    = test_random((uint64_t)_i);
    const size_t        element   = tw_dtype_size(dtype);
    uint8_t            *src = malloc(element * LARGE), *res = malloc(element * LARGE);

    for (int c = 0; c < COUNTS; c++) {
        const size_t n = counts[c];

        test_fill(src, dtype, n, c % 3 == 0 ? TEST_RARE_INF : TEST_NORMAL, &random);
        test_fill(res, dtype, n, TEST_NORMAL, &random);
        for (int o = c % 2; o < (n < 600 ? 10 : 4); o += 2) {
            check_alignment(codec, dtype, src, res, n, offsets[o], offsets[(3 * o + c) % 10]);
        }
    }
    test_fill(src, dtype, 9973, TEST_RARE_INF, &random);
    test_fill(res, dtype, 9967, TEST_NORMAL, &random);
    repeat(src, 9973 * element, LARGE * element);
    repeat(res, 9967 * element, LARGE * element);
    check_alignment(codec, dtype, src, res, LARGE, 3, 1);
    free(src);
    free(res);
    tw_codec_destroy(codec);
}
END_TEST

START_TEST(pieces_put_together_are_the_whole)
{
    const tw_dtype_t dtype   = test_specs[_i].dtype;
    const size_t     n       = 30011;
    tw_codec_t      *codec   = test_codec_at(_i);
    const size_t     element = tw_dtype_size(dtype), block = tw_codec_block(codec);
    test_random_t    random = test_random((uint64_t)_i);
    uint8_t         *src    = malloc(n * element), *pieces = malloc(test_size(codec, n));
    uint8_t         *back = malloc(n * element), *whole_back = malloc(n * element), *whole;

    for (int kind = 0; kind < TEST_KINDS; kind++) {
        size_t used = 0;

        test_fill(src, dtype, n, (test_kind_t)kind, &random);
        whole = test_encode(codec, src, n);
        test_decode(codec, whole, n, whole_back);
        for (size_t first = 0; first < n;) {
            const size_t want = (1 + test_bits(&random) % 5) * block * (block == 1 ? 700 : 1);
            const size_t m    = n - first < want ? n - first : want;

            ck_assert_int_eq(tw_codec_encode(codec, NULL, src + first * element, m, pieces + used),
                             TW_OK);
            test_decode(codec, whole + used, m, back + first * element);
            used += test_size(codec, m);
            first += m;
        }
        ck_assert_uint_eq(used, test_size(codec, n));
        ck_assert(memcmp(pieces, whole, used) == 0);
        test_same(back, whole_back, dtype, n, 0, "decoded in pieces");
        free(whole);
    }
    free(src);
    free(pieces);
    free(back);
    free(whole_back);
    tw_codec_destroy(codec);
}
END_TEST

/* What the four verbs give with so many threads. */
typedef struct results {
    uint8_t *codes, *back, *left, *fed;
} results_t;

static results_t run_verbs(const tw_codec_t *codec, int threads, const void *src, const void *res,
                           size_t n, size_t element)
{
    const tw_exec_t exec = {.threads = threads};
    const size_t    bytes = test_size(codec, n);
    results_t       r = {malloc(bytes), malloc(n * element), malloc(n * element), malloc(bytes)};

    memcpy(r.left, res, n * element);
    ck_assert_int_eq(tw_codec_encode(codec, &exec, src, n, r.codes), TW_OK);
    ck_assert_int_eq(tw_codec_decode(codec, &exec, r.codes, n, r.back), TW_OK);
    ck_assert_int_eq(tw_codec_encode_feedback(codec, &exec, src, n, r.left, r.fed), TW_OK);
    ck_assert_int_eq(tw_codec_decode_add(codec, &exec, r.fed, n, r.back), TW_OK);
    return r;
}

static void results_free(results_t *r)
{
    free(r->codes);
    free(r->back);
    free(r->left);
    free(r->fed);
}

START_TEST(threads_change_nothing)
{
    const tw_dtype_t dtype  = test_specs[_i].dtype;
    const size_t     n      = 100003, element = tw_dtype_size(dtype);
    test_random_t    random = test_random((uint64_t)_i);
    uint8_t         *src    = malloc(n * element), *res = malloc(n * element);
    tw_codec_t      *codec;
    results_t        one;

    setenv("THINWIRE_OMP_THRESHOLD", "1", 1);
    codec = test_codec_at(_i);
    test_fill(src, dtype, n, TEST_RARE_INF, &random);
    test_fill(res, dtype, n, TEST_NORMAL, &random);
    one = run_verbs(codec, 1, src, res, n, element);
    for (int threads = 2; threads <= 5; threads++) {
        results_t r = run_verbs(codec, threads, src, res, n, element);

        ck_assert(memcmp(r.codes, one.codes, test_size(codec, n)) == 0);
        ck_assert(memcmp(r.fed, one.fed, test_size(codec, n)) == 0);
        test_same(r.left, one.left, dtype, n, 0, "residual");
        test_same(r.back, one.back, dtype, n, 0, "decoded and added");
        results_free(&r);
    }
    results_free(&one);
    free(src);
    free(res);
    tw_codec_destroy(codec);
}
END_TEST

#if defined(__x86_64__)

/* Flush to zero, denormals are zero, round up: all of it must stay outside. */
#define HOSTILE_MODE (0x1f80u | 0x8000u | 0x0040u | 0x4000u)

START_TEST(the_callers_floating_point_mode_changes_nothing)
{
    static const test_kind_t kinds[] = {TEST_NORMAL, TEST_DENORMAL, TEST_EDGE, TEST_WIDE};
    const tw_dtype_t         dtype   = test_specs[_i].dtype;
    const size_t             n = 5003, element = tw_dtype_size(dtype);
    test_random_t            random = test_random((uint64_t)_i);
    uint8_t                 *src    = malloc(n * element), *res = malloc(n * element);
    uint8_t                 *back[2] = {malloc(n * element), malloc(n * element)};
    uint8_t                 *left[2] = {malloc(n * element), malloc(n * element)};
    uint8_t                 *codes[2];
    tw_status_t              status[5];

    for (int k = 0; k < 4; k++) {
        test_fill(src, dtype, n, kinds[k], &random);
        test_fill(res, dtype, n, TEST_DENORMAL, &random);
        for (int m = 0; m < 2; m++) {
            const uint32_t before = _mm_getcsr(), mode = m == 0 ? before : HOSTILE_MODE;
            uint32_t       after;
            tw_codec_t    *codec = NULL;

            memcpy(left[m], res, n * element);
            codes[m] = malloc(9 * n);
            test_context();
            _mm_setcsr(mode);
            status[0] = tw_codec_create(test_context(), test_specs[_i].spec, dtype, &codec, NULL, 0);
            status[1] = tw_codec_encode(codec, NULL, src, n, codes[m]);
            status[2] = tw_codec_decode(codec, NULL, codes[m], n, back[m]);
            status[3] = tw_codec_encode_feedback(codec, NULL, src, n, left[m], codes[m]);
            status[4] = tw_codec_decode_add(codec, NULL, codes[m], n, back[m]);
            after     = _mm_getcsr();
            _mm_setcsr(before);
            ck_assert_uint_eq(after, mode);
            for (int s = 0; s < 5; s++) {
                ck_assert_int_eq(status[s], TW_OK);
            }
            if (m == 1) {
                ck_assert(memcmp(codes[0], codes[1], test_size(codec, n)) == 0);
                test_same(back[1], back[0], dtype, n, 1, "decoded and added");
                test_same(left[1], left[0], dtype, n, 0, "residual");
            }
            tw_codec_destroy(codec);
        }
        free(codes[0]);
        free(codes[1]);
    }
    for (int i = 0; i < 2; i++) {
        free(back[i]);
        free(left[i]);
    }
    free(src);
    free(res);
}
END_TEST

#endif

START_TEST(arbitrary_bytes_decode_to_some_numbers)
{
    const tw_dtype_t dtype  = test_specs[_i].dtype;
    tw_codec_t      *codec  = test_codec_at(_i);
    test_random_t    random = test_random((uint64_t)_i);

    for (int round = 0; round < 100; round++) {
        const size_t  n     = counts[test_bits(&random) % (uint32_t)COUNTS];
        test_buffer_t codes = test_buffer(test_size(codec, n), test_bits(&random) % 5);
        test_buffer_t a     = test_buffer(n * tw_dtype_size(dtype), test_bits(&random) % 5);
        test_buffer_t b     = test_buffer(n * tw_dtype_size(dtype), test_bits(&random) % 5);

        for (size_t i = 0; i < codes.bytes; i++) {
            codes.data[i] = round % 4 == 0 ? 0xff : (uint8_t)test_bits(&random);
        }
        test_decode(codec, codes.data, n, a.data);
        test_decode(codec, codes.data, n, b.data);
        test_same(b.data, a.data, dtype, n, 0, "decoded again");
        memset(b.data, 0, b.bytes);
        ck_assert_int_eq(tw_codec_decode_add(codec, NULL, codes.data, n, b.data), TW_OK);
        test_buffer_free(&codes);
        test_buffer_free(&a);
        test_buffer_free(&b);
    }
    tw_codec_destroy(codec);
}
END_TEST

/* want = acc + decoded, each an IEEE operation in the codec's type. */
static void add_vectors(void *acc, const void *v, tw_dtype_t dtype, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if (dtype == TW_F64) {
            ((double *)acc)[i] += ((const double *)v)[i];
        } else {
            ((float *)acc)[i] += ((const float *)v)[i];
        }
    }
}

START_TEST(decode_and_add_adds_what_decode_gives)
{
    const tw_dtype_t dtype   = test_specs[_i].dtype;
    const size_t     n       = 9973, element = tw_dtype_size(dtype);
    tw_codec_t      *codec   = test_codec_at(_i);
    test_random_t    random  = test_random((uint64_t)_i);
    void            *src     = malloc(n * element), *acc = malloc(n * element);
    void            *decoded = malloc(n * element), *want = malloc(n * element);

    for (int kind = 0; kind < TEST_KINDS; kind++) {
        uint8_t *codes;

        test_fill(src, dtype, n, (test_kind_t)kind, &random);
        test_fill(acc, dtype, n, TEST_NORMAL, &random);
        memcpy(want, acc, n * element);
        codes = test_encode(codec, src, n);
        test_decode(codec, codes, n, decoded);
        add_vectors(want, decoded, dtype, n);
        ck_assert_int_eq(tw_codec_decode_add(codec, NULL, codes, n, acc), TW_OK);
        test_same(acc, want, dtype, n, 1, "added");
        free(codes);
    }
    free(src);
    free(acc);
    free(decoded);
    free(want);
    tw_codec_destroy(codec);
}
END_TEST

static int element_finite(const void *v, tw_dtype_t dtype, size_t i)
{
    if (dtype == TW_F64) {
        return (tw_double_bits(((const double *)v)[i]) >> 52 & 0x7ff) != 0x7ff;
    }
    return test_is_finite(((const float *)v)[i]);
}

/* The residual rule of codec.h, computed from encode and decode. */
static void expected_residual(const void *v, const void *back, const void *old, tw_dtype_t dtype,
                              size_t n, size_t block, void *want)
{
    for (size_t first = 0; first < n; first += block) {
        const size_t m    = n - first < block ? n - first : block;
        int          keep = 0;

        for (size_t i = first; i < first + m; i++) {
            keep |= !element_finite(v, dtype, i) || !element_finite(back, dtype, i);
        }
        for (size_t i = first; i < first + m; i++) {
            if (dtype == TW_F64) {
                ((double *)want)[i] = keep ? ((const double *)old)[i]
                                           : ((const double *)v)[i] - ((const double *)back)[i];
            } else {
                ((float *)want)[i] =
                    keep ? ((const float *)old)[i] : ((const float *)v)[i] - ((const float *)back)[i];
            }
        }
    }
}

START_TEST(feedback_keeps_what_was_lost)
{
    const tw_dtype_t dtype   = test_specs[_i].dtype;
    const size_t     n       = 20011, element = tw_dtype_size(dtype);
    tw_codec_t      *codec   = test_codec_at(_i);
    test_random_t    random  = test_random((uint64_t)_i);
    void            *src     = malloc(n * element), *v = malloc(n * element), *back = malloc(n * element);
    void            *old     = malloc(n * element), *want = malloc(n * element);
    void            *left    = malloc(n * element);
    uint8_t         *codes   = malloc(test_size(codec, n)), *plain;

    for (int kind = 0; kind < TEST_KINDS; kind++) {
        test_fill(src, dtype, n, (test_kind_t)kind, &random);
        test_fill(old, dtype, n, kind == TEST_HUGE ? TEST_HUGE : TEST_NORMAL, &random);
        memcpy(v, src, n * element);
        add_vectors(v, old, dtype, n);
        memcpy(left, old, n * element);
        ck_assert_int_eq(tw_codec_encode_feedback(codec, NULL, src, n, left, codes), TW_OK);
        plain = test_encode(codec, v, n);
        test_decode(codec, plain, n, back);
        expected_residual(v, back, old, dtype, n, tw_codec_block(codec), want);
        test_same(left, want, dtype, n, 0, "residual");
        /* A NaN in v has a payload that depends on the order of operands; what is sent for it may. */
        if (kind < TEST_FIRST_NONFINITE || tw_codec_block(codec) > 1) {
            ck_assert(memcmp(plain, codes, test_size(codec, n)) == 0);
        }
        free(plain);
    }
    free(src);
    free(v);
    free(back);
    free(old);
    free(want);
    free(left);
    free(codes);
    tw_codec_destroy(codec);
}
END_TEST

/* Which of them a codec leaves non-finite: all but truncating bitpack, which is a bit mask. */
static int is_bit_mask(const tw_codec_t *codec)
{
    return strncmp(tw_codec_spec(codec), "bitpack", 7) == 0 &&
           strstr(tw_codec_spec(codec), "round") == NULL;
}

static void put_bits(void *v, tw_dtype_t dtype, size_t i, uint64_t f64_bits, uint32_t f32_bits)
{
    if (dtype == TW_F64) {
        memcpy((uint8_t *)v + 8 * i, &f64_bits, 8);
    } else {
        memcpy((uint8_t *)v + 4 * i, &f32_bits, 4);
    }
}

START_TEST(not_finite_never_becomes_finite)
{
    static const uint32_t f32[] = {0x7f800000u, 0xff800000u, 0x7fc00000u, 0xffc00000u,
                                   0x7f800001u, 0xffffffffu, 0x7fbfffffu};
    static const uint64_t f64[] = {UINT64_C(0x7ff0000000000000), UINT64_C(0xfff0000000000000),
                                   UINT64_C(0x7ff8000000000000), UINT64_C(0xfff8000000000000),
                                   UINT64_C(0x7ff0000000000001), UINT64_C(0xffffffffffffffff),
                                   UINT64_C(0x7ff7ffffffffffff)};
    const tw_dtype_t dtype = test_specs[_i].dtype;
    const size_t     n = 8501, element = tw_dtype_size(dtype);
    tw_codec_t      *codec  = test_codec_at(_i);
    const size_t     block  = tw_codec_block(codec);
    test_random_t    random = test_random((uint64_t)_i);
    void            *src = malloc(n * element), *back = malloc(n * element);
    void            *clean = malloc(n * element);

    test_fill(clean, dtype, n, TEST_NORMAL, &random);
    for (int what = 0; what < 7 && !is_bit_mask(codec); what++) {
        const size_t places[] = {0, block - 1, block / 2 + 17, 4 * (n / 5), n - 1};

        for (int p = 0; p < 5; p++) {
            const size_t first = places[p] / block * block;
            uint8_t     *codes;

            memcpy(src, clean, n * element);
            put_bits(src, dtype, places[p], f64[what], f32[what]);
            codes = test_encode(codec, src, n);
            test_decode(codec, codes, n, back);
            for (size_t i = 0; i < n; i++) {
                const int lost = i >= first && i < first + block;

                if (element_finite(back, dtype, i) == lost ||
                    (lost && block > 1 && /* poison is one NaN, exactly */
                     tw_float_bits(((float *)back)[i]) != 0x7fc00000u)) {
                    ck_abort_msg("value %zu, Inf or NaN at %zu", i, places[p]);
                }
            }
            free(codes);
        }
    }
    free(src);
    free(back);
    free(clean);
    tw_codec_destroy(codec);
}
END_TEST

START_TEST(zeros_stay_zero)
{
    const tw_dtype_t dtype = test_specs[_i].dtype;
    const size_t     n = 5003, element = tw_dtype_size(dtype);
    tw_codec_t      *codec  = test_codec_at(_i);
    test_random_t    random = test_random(0);
    uint8_t         *src = malloc(n * element), *back = malloc(n * element);

    for (int sign = 0; sign < 2; sign++) {
        uint8_t *codes;

        test_fill(src, dtype, n, sign == 0 ? TEST_ZERO : TEST_MINUS_ZERO, &random);
        codes = test_encode(codec, src, n);
        test_decode(codec, codes, n, back);
        for (size_t i = 0; i < n * element; i++) { /* -0 may come back as +0 or -0 */
            const int sign_bit = sign == 1 && (i + 1) % element == 0 ? 0x80 : 0;

            if ((back[i] & ~sign_bit) != 0) {
                ck_abort_msg("byte %zu is 0x%02x", i, back[i]);
            }
        }
        free(codes);
    }
    free(src);
    free(back);
    tw_codec_destroy(codec);
}
END_TEST

START_TEST(equal_values_come_back_equal)
{
    const tw_dtype_t dtype = test_specs[_i].dtype;
    const size_t     n = 4999, element = tw_dtype_size(dtype);
    tw_codec_t      *codec  = test_codec_at(_i);
    test_random_t    random = test_random((uint64_t)_i);
    uint8_t         *src = malloc(n * element), *back = malloc(n * element);

    for (int round = 0; round < 20; round++) {
        uint8_t *codes;

        test_fill(src, dtype, n, TEST_EQUAL, &random);
        codes = test_encode(codec, src, n);
        test_decode(codec, codes, n, back);
        if (strncmp(tw_codec_spec(codec), "onebit", 6) != 0) { /* its sums round by block length */
            ck_assert(memcmp(back, back + element, (n - 1) * element) == 0);
        }
        if (strncmp(tw_codec_spec(codec), "tree8", 5) == 0) { /* the maximum is exact */
            test_same(back, src, dtype, n, 0, "all-equal");
        }
        free(codes);
    }
    free(src);
    free(back);
    tw_codec_destroy(codec);
}
END_TEST

START_TEST(lossless_means_every_bit)
{
    const tw_dtype_t  dtype = test_specs[_i].dtype;
    const size_t      n = 50000, element = tw_dtype_size(dtype);
    tw_codec_t       *codec  = test_codec_at(_i);
    test_random_t     random = test_random((uint64_t)_i);
    uint8_t          *src = malloc(n * element), *back = malloc(n * element), *codes;
    tw_codec_traits_t t;

    ck_assert_int_eq(tw_codec_traits(codec, &t), TW_OK);
    test_fill(src, dtype, n, TEST_BITS, &random);
    codes = test_encode(codec, src, n);
    test_decode(codec, codes, n, back);
    ck_assert_int_eq(memcmp(src, back, n * element) == 0, t.lossless);
    free(codes);
    free(src);
    free(back);
    tw_codec_destroy(codec);
}
END_TEST

START_TEST(bad_arguments_are_refused)
{
    tw_codec_t     *codec = test_codec_at(_i);
    const tw_exec_t cuda = {.memory = TW_MEMORY_CUDA}, stream = {.stream = codec},
                    negative = {.threads = -1};
    uint8_t x[64] = {0}, c[128] = {0};

    ck_assert_int_eq(tw_codec_encode(NULL, NULL, x, 1, c), TW_ERR_INVALID_ARG);
    ck_assert_int_eq(tw_codec_encode(codec, NULL, NULL, 1, c), TW_ERR_INVALID_ARG);
    ck_assert_int_eq(tw_codec_encode(codec, NULL, x, 1, NULL), TW_ERR_INVALID_ARG);
    ck_assert_int_eq(tw_codec_encode(codec, NULL, NULL, 0, NULL), TW_OK);
    ck_assert_int_eq(tw_codec_decode(codec, NULL, NULL, 1, x), TW_ERR_INVALID_ARG);
    ck_assert_int_eq(tw_codec_decode(codec, NULL, NULL, 0, NULL), TW_OK);
    ck_assert_int_eq(tw_codec_decode_add(codec, NULL, c, 1, NULL), TW_ERR_INVALID_ARG);
    ck_assert_int_eq(tw_codec_encode_feedback(codec, NULL, x, 1, NULL, c), TW_ERR_INVALID_ARG);
    ck_assert_int_eq(tw_codec_encode(codec, NULL, x, SIZE_MAX, c), TW_ERR_RANGE);
    ck_assert_int_eq(tw_codec_encode(codec, &cuda, x, 1, c), TW_ERR_UNSUPPORTED);
    ck_assert_int_eq(tw_codec_encode(codec, &stream, x, 1, c), TW_ERR_INVALID_ARG);
    ck_assert_int_eq(tw_codec_encode(codec, &negative, x, 1, c), TW_ERR_INVALID_ARG);
    ck_assert_int_eq(tw_codec_traits(codec, NULL), TW_ERR_INVALID_ARG);
    tw_codec_destroy(codec);
    tw_codec_destroy(NULL);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("codec");
    TCase *tcase = tcase_create("every codec");

    tcase_add_loop_test(tcase, sizes_follow_the_format, 0, test_spec_count);
    tcase_add_loop_test(tcase, any_count_at_any_alignment, 0, test_spec_count);
    tcase_add_loop_test(tcase, pieces_put_together_are_the_whole, 0, test_spec_count);
    tcase_add_loop_test(tcase, threads_change_nothing, 0, test_spec_count);
#if defined(__x86_64__)
    tcase_add_loop_test(tcase, the_callers_floating_point_mode_changes_nothing, 0, test_spec_count);
#endif
    tcase_add_loop_test(tcase, arbitrary_bytes_decode_to_some_numbers, 0, test_spec_count);
    tcase_add_loop_test(tcase, decode_and_add_adds_what_decode_gives, 0, test_spec_count);
    tcase_add_loop_test(tcase, feedback_keeps_what_was_lost, 0, test_spec_count);
    tcase_add_loop_test(tcase, not_finite_never_becomes_finite, 0, test_spec_count);
    tcase_add_loop_test(tcase, zeros_stay_zero, 0, test_spec_count);
    tcase_add_loop_test(tcase, equal_values_come_back_equal, 0, test_spec_count);
    tcase_add_loop_test(tcase, lossless_means_every_bit, 0, test_spec_count);
    tcase_add_loop_test(tcase, bad_arguments_are_refused, 0, test_spec_count);
    suite_add_tcase(suite, tcase);
    return test_main(suite);
}
