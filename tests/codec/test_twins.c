/* SPDX-License-Identifier: BSD-3-Clause
 * tests/codec/test_twins.c - the kernels of one instruction set, TW_TWIN, against the scalar ones:
 * the same bytes and the same decoded bits, whatever the count, the alignment and the input. One
 * program for each instruction set, skipped aloud where the processor lacks it.
 */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>

#include "runtime/codec/cpu.h"
#include "tests/codec/common.h"

static tw_codec_t *codec_for(const char *cpu, int index)
{
    setenv("THINWIRE_CPU", cpu, 1);
    return test_codec_at(index);
}

typedef struct pair {
    tw_codec_t *scalar, *twin;
    tw_dtype_t  dtype;
    size_t      element;
} pair_t;

static pair_t pair_at(int index)
{
    const tw_dtype_t dtype = test_specs[index].dtype;

    return (pair_t){codec_for("scalar", index), codec_for(TW_TWIN, index), dtype,
                    tw_dtype_size(dtype)};
}

static void pair_free(pair_t *pair)
{
    tw_codec_destroy(pair->scalar);
    tw_codec_destroy(pair->twin);
}

/* All four verbs by both, the twin's buffers at the given offset. */
static void check(const pair_t *pair, const void *src, const void *res, size_t n, size_t offset)
{
    const size_t  bytes = test_size(pair->scalar, n), e = pair->element;
    test_buffer_t x = test_buffer(n * e, offset), r = test_buffer(n * e, offset / 2),
                  c = test_buffer(bytes, 3 * offset % 64), y = test_buffer(n * e, 5 * offset % 64);
    uint8_t *codes = test_encode(pair->scalar, src, n), *left = malloc(n * e + 1),
            *back = malloc(n * e + 1);

    memcpy(x.data, src, n * e);
    ck_assert_int_eq(tw_codec_encode(pair->twin, NULL, x.data, n, c.data), TW_OK);
    ck_assert(memcmp(c.data, codes, bytes) == 0);
    test_decode(pair->scalar, codes, n, back);
    test_decode(pair->twin, c.data, n, y.data);
    test_same(y.data, back, pair->dtype, n, 0, "decoded");

    memcpy(y.data, res, n * e);
    memcpy(back, res, n * e);
    ck_assert_int_eq(tw_codec_decode_add(pair->twin, NULL, c.data, n, y.data), TW_OK);
    ck_assert_int_eq(tw_codec_decode_add(pair->scalar, NULL, codes, n, back), TW_OK);
    test_same(y.data, back, pair->dtype, n, 1, "added");

    memcpy(r.data, res, n * e);
    memcpy(left, res, n * e);
    ck_assert_int_eq(tw_codec_encode_feedback(pair->twin, NULL, x.data, n, r.data, c.data), TW_OK);
    ck_assert_int_eq(tw_codec_encode_feedback(pair->scalar, NULL, src, n, left, codes), TW_OK);
    ck_assert(memcmp(c.data, codes, bytes) == 0);
    test_same(r.data, left, pair->dtype, n, 0, "residual");
    test_buffer_free(&x);
    test_buffer_free(&r);
    test_buffer_free(&c);
    test_buffer_free(&y);
    free(codes);
    free(left);
    free(back);
}

START_TEST(every_count_and_alignment)
{
    pair_t        pair   = pair_at(_i);
    test_random_t random = test_random((uint64_t)_i);
    double       *src = malloc(8 * 4500), *res = malloc(8 * 4500);

    for (size_t n = 0; n <= 4500; n += n < 140 ? 1 : 131) {
        test_fill(src, pair.dtype, n, (test_kind_t)(n % TEST_KINDS), &random);
        test_fill(res, pair.dtype, n, TEST_NORMAL, &random);
        check(&pair, src, res, n, n % 5 == 0 ? 0 : n % 64);
    }
    free(src);
    free(res);
    pair_free(&pair);
}
END_TEST

START_TEST(every_kind_of_number)
{
    const size_t  n      = 30011;
    pair_t        pair   = pair_at(_i);
    test_random_t random = test_random((uint64_t)_i);
    double       *src = malloc(8 * n), *res = malloc(8 * n);

    for (int kind = 0; kind < TEST_KINDS; kind++) {
        test_fill(src, pair.dtype, n, (test_kind_t)kind, &random);
        test_fill(res, pair.dtype, n, kind == TEST_DENORMAL ? TEST_DENORMAL : TEST_NORMAL, &random);
        check(&pair, src, res, n, (size_t)kind);
    }
    free(src);
    free(res);
    pair_free(&pair);
}
END_TEST

START_TEST(arbitrary_bytes_decode_alike)
{
    pair_t        pair   = pair_at(_i);
    test_random_t random = test_random((uint64_t)_i);

    for (int round = 0; round < 60; round++) {
        const size_t  n     = test_bits(&random) % 700;
        test_buffer_t codes = test_buffer(test_size(pair.scalar, n), test_bits(&random) % 64);
        test_buffer_t back  = test_buffer(n * pair.element, test_bits(&random) % 64);
        uint8_t      *want  = malloc(n * pair.element + 1);

        for (size_t i = 0; i < codes.bytes; i++) {
            codes.data[i] = (uint8_t)test_bits(&random);
        }
        test_decode(pair.scalar, codes.data, n, want);
        test_decode(pair.twin, codes.data, n, back.data);
        test_same(back.data, want, pair.dtype, n, 0, "decoded");
        test_buffer_free(&codes);
        test_buffer_free(&back);
        free(want);
    }
    pair_free(&pair);
}
END_TEST

/* Otherwise the tests above would compare scalar with scalar. */
START_TEST(truncating_bitpack_has_kernels)
{
    for (int s = 0; s < test_spec_count; s++) {
        tw_codec_t       *codec = codec_for(TW_TWIN, s);
        tw_codec_traits_t t;

        ck_assert_int_eq(tw_codec_traits(codec, &t), TW_OK);
        if (strcmp(t.name, "bitpack") == 0 && strstr(tw_codec_spec(codec), "round") == NULL) {
            ck_assert_str_eq(t.isa, TW_TWIN);
        }
        tw_codec_destroy(codec);
    }
}
END_TEST

static int level_present(void)
{
    for (int level = TW_CPU_SCALAR; level <= (int)tw_cpu_detect(); level++) {
        if (strcmp(tw_cpu_name((tw_cpu_level_id_t)level), TW_TWIN) == 0) {
            return 1;
        }
    }
    return 0;
}

int main(void)
{
    Suite *suite;
    TCase *tcase;

    if (!level_present()) {
        printf("1..0 # SKIP this processor has no " TW_TWIN "\n");
        return EXIT_SUCCESS;
    }
    suite = suite_create("twins");
    tcase = tcase_create(TW_TWIN);
    tcase_add_loop_test(tcase, every_count_and_alignment, 0, test_spec_count);
    tcase_add_loop_test(tcase, every_kind_of_number, 0, test_spec_count);
    tcase_add_loop_test(tcase, arbitrary_bytes_decode_alike, 0, test_spec_count);
    tcase_add_test(tcase, truncating_bitpack_has_kernels);
    suite_add_tcase(suite, tcase);
    return test_main(suite);
}
