/* SPDX-License-Identifier: BSD-3-Clause
 * tests/codec/test_codec.c - what holds for every codec alike: sizes, any count and alignment,
 * pieces, arbitrary bytes, bad arguments. Threads and floating-point modes: test_threads.c.
 */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>

#include "tests/codec/common.h"

static const size_t counts[] = {0,    1,    2,    3,    7,    8,    9,    15,  16,  17,  31,
                                32,   33,   63,   64,   65,   95,   127,  128, 129, 191, 193,
                                255,  256,  257,  319,  321,  449,  509,  511, 512, 513, 897,
                                1021, 2047, 2048, 2049, 4095, 4096, 4097, 9973};

#define COUNTS (int)(sizeof(counts) / sizeof(counts[0]))
#define LARGE  1000003

static size_t block_bytes(const char *spec, const tw_codec_traits_t *t, size_t m)
{
    if (strcmp(t->name, "onebit") == 0) {
        return 8 + (m + 7) / 8;
    }
    if (strncmp(spec, "int4", 4) == 0) {
        return 2 * ((m + 31) / 32) + (m + 1) / 2;
    }
    if (strncmp(spec, "int:", 4) == 0) {
        return tw_dtype_size(t->dtype) + (m * (size_t)atoi(spec + 4) + 7) / 8;
    }
    return t->block > 1 ? 4 + m : (size_t)t->bytes * m;
}

START_TEST(sizes_follow_the_format)
{
    tw_codec_t       *codec = test_codec_at(_i);
    const char       *spec  = test_specs[_i].spec;
    tw_codec_traits_t t;
    size_t            bytes;

    ck_assert_int_eq(tw_codec_traits(codec, &t), TW_OK);
    ck_assert_uint_eq(t.block, tw_codec_block(codec));
    for (int c = 0; c < COUNTS; c++) {
        const size_t n = counts[c], rest = n % t.block;

        ck_assert_uint_eq(test_size(codec, n), n / t.block * block_bytes(spec, &t, t.block) +
                                                   (rest > 0 ? block_bytes(spec, &t, rest) : 0));
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
            const size_t in = offsets[o], out = offsets[(3 * o + c) % 10];

            test_twin(codec, codec, dtype, src, res, n, (test_places_t){in, out, out});
        }
    }
    test_fill(src, dtype, 9973, TEST_RARE_INF, &random);
    test_fill(res, dtype, 9967, TEST_NORMAL, &random);
    repeat(src, 9973 * element, LARGE * element);
    repeat(res, 9967 * element, LARGE * element);
    test_twin(codec, codec, dtype, src, res, LARGE, (test_places_t){3, 1, 1});
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
    tcase_add_loop_test(tcase, arbitrary_bytes_decode_to_some_numbers, 0, test_spec_count);
    tcase_add_loop_test(tcase, bad_arguments_are_refused, 0, test_spec_count);
    return test_main(suite);
}
