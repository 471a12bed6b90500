/* SPDX-License-Identifier: BSD-3-Clause
 * tests/codec/test_codec.c - what holds for every codec alike: sizes, any count and alignment,
 * pieces, threads, the caller's floating-point mode, arbitrary bytes, bad arguments.
 */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>

#include "runtime/base/threads.h"
#include "tests/codec/common.h"

#if defined(__x86_64__)
#include <xmmintrin.h>
#endif

static const size_t counts[] = {0,    1,    2,    3,    7,    8,    9,    15,  16,  17,  31,
                                32,   33,   63,   64,   65,   95,   127,  128, 129, 191, 193,
                                255,  256,  257,  319,  321,  449,  509,  511, 512, 513, 897,
                                1021, 2047, 2048, 2049, 4095, 4096, 4097, 9973};

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

        ck_assert_uint_eq(test_size(codec, n), n / t.block * block_bytes(&t, t.block) +
                                                   (rest > 0 ? block_bytes(&t, rest) : 0));
    }
    ck_assert_double_eq_tol((double)test_size(codec, 100 * t.block) / (double)(100 * t.block),
                            t.bytes, 1e-12);
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

/* All buffers between pages that may not be touched. */
static void check_fenced(const tw_codec_t *codec, tw_dtype_t dtype, const void *src, size_t n,
                         int at_start)
{
    const size_t elements = n * tw_dtype_size(dtype), bytes = test_size(codec, n);
    uint8_t     *x = test_fenced(elements, at_start), *r = test_fenced(elements, at_start);
    uint8_t     *c = test_fenced(bytes, at_start), *y = test_fenced(elements, at_start);

    memcpy(x, src, elements);
    ck_assert_int_eq(tw_codec_encode(codec, NULL, x, n, c), TW_OK);
    ck_assert_int_eq(tw_codec_decode(codec, NULL, c, n, y), TW_OK);
    ck_assert_int_eq(tw_codec_decode_add(codec, NULL, c, n, y), TW_OK);
    ck_assert_int_eq(tw_codec_encode_feedback(codec, NULL, x, n, r, c), TW_OK);
    test_fenced_free(x, elements, at_start);
    test_fenced_free(r, elements, at_start);
    test_fenced_free(c, bytes, at_start);
    test_fenced_free(y, elements, at_start);
}

static const char *const levels[] = {"scalar", "avx2", "avx512"};

START_TEST(nothing_beyond_the_ends_is_touched)
{
    const tw_dtype_t dtype  = test_specs[_i].dtype;
    test_random_t    random = test_random((uint64_t)_i);
    double          *src    = malloc(8 * 400);

    test_fill(src, dtype, 400, TEST_NORMAL, &random);
    for (int level = 0; level < 3; level++) {
        tw_codec_t *codec;

        setenv("THINWIRE_CPU", levels[level], 1);
        codec = test_codec_at(_i);
        for (size_t n = 0; n < 400; n += n < 70 ? 1 : 67) {
            check_fenced(codec, dtype, src, n, 0);
            check_fenced(codec, dtype, src, n, 1);
        }
        tw_codec_destroy(codec);
    }
    free(src);
}
END_TEST

START_TEST(pieces_put_together_are_the_whole)
{
    const tw_dtype_t dtype   = test_specs[_i].dtype;
    const size_t     n       = 30011;
    tw_codec_t      *codec   = test_codec_at(_i);
    const size_t     element = tw_dtype_size(dtype), block = tw_codec_block(codec);
    test_random_t    random = test_random((uint64_t)_i);
    uint8_t         *src = malloc(n * element), *pieces = malloc(test_size(codec, n));
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
    const tw_exec_t exec  = {.threads = threads};
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
    const tw_dtype_t dtype = test_specs[_i].dtype;
    const size_t     n = 100003, element = tw_dtype_size(dtype);
    test_random_t    random = test_random((uint64_t)_i);
    uint8_t         *src = malloc(n * element), *res = malloc(n * element);
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
    uint8_t                 *src = malloc(n * element), *res = malloc(n * element);
    uint8_t                 *back[2] = {malloc(n * element), malloc(n * element)};
    uint8_t                 *left[2] = {malloc(n * element), malloc(n * element)};
    uint8_t                 *codes[2];
    tw_status_t              status[5];

    (void)tw_threads_nested(); /* starts OpenMP: that of clang leaves a flag */
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
            status[0] =
                tw_codec_create(test_context(), test_specs[_i].spec, dtype, &codec, NULL, 0);
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
    TCase *tcase = test_case(suite, "every codec");

    tcase_add_loop_test(tcase, sizes_follow_the_format, 0, test_spec_count);
    tcase_add_loop_test(tcase, any_count_at_any_alignment, 0, test_spec_count);
    tcase_add_loop_test(tcase, nothing_beyond_the_ends_is_touched, 0, test_spec_count);
    tcase_add_loop_test(tcase, pieces_put_together_are_the_whole, 0, test_spec_count);
    tcase_add_loop_test(tcase, threads_change_nothing, 0, test_spec_count);
#if defined(__x86_64__)
    tcase_add_loop_test(tcase, the_callers_floating_point_mode_changes_nothing, 0, test_spec_count);
#endif
    tcase_add_loop_test(tcase, arbitrary_bytes_decode_to_some_numbers, 0, test_spec_count);
    tcase_add_loop_test(tcase, bad_arguments_are_refused, 0, test_spec_count);
    return test_main(suite);
}
