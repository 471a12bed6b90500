/* SPDX-License-Identifier: BSD-3-Clause
 * tests/codec/test_twins.c - the kernels of one instruction set, TW_TWIN, against the scalar ones:
 * the same bytes and the same decoded bits, whatever the count, the alignment and the input. One
 * program for each instruction set, skipped aloud where the processor lacks it.
 */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>

#include "tests/codec/common.h"
#include "tests/codec/plain.h"

static tw_codec_t *codec_for(const char *cpu, int index)
{
    return test_codec_cpu(cpu, test_specs[index].spec, test_specs[index].dtype);
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

static void check(const pair_t *pair, const void *src, const void *res, size_t n, size_t offset)
{
    test_twin(pair->scalar, pair->twin, pair->dtype, src, res, n,
              (test_places_t){offset, 3 * offset % 64, offset / 2});
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

/* Blocks that no cache holds, and a bit more than one of them. */
START_TEST(the_largest_blocks)
{
    static const char *const specs[] = {"tree8:block=1048576", "int8:block=1048576",
                                        "onebit:block=1048576"};
    const size_t             n       = 1048576 + 4177;
    test_random_t            random  = test_random((uint64_t)_i);
    float                   *src = malloc(4 * n), *res = malloc(4 * n);
    pair_t                   pair = {NULL, NULL, TW_F32, 4};

    setenv("THINWIRE_CPU", "scalar", 1);
    pair.scalar = test_codec(specs[_i], TW_F32);
    setenv("THINWIRE_CPU", TW_TWIN, 1);
    pair.twin = test_codec(specs[_i], TW_F32);
    test_fill(src, TW_F32, n, TEST_NORMAL, &random);
    test_fill(res, TW_F32, n, TEST_NORMAL, &random);
    check(&pair, src, res, n, 4);
    free(src);
    free(res);
    pair_free(&pair);
}
END_TEST

/* Otherwise the tests above would compare scalar with scalar. Some sets leave doubles to scalar;
 * two codecs have nothing else, and no more have. */
START_TEST(every_codec_has_kernels)
{
    for (int s = 0; s < test_spec_count; s++) {
        tw_codec_t       *codec = codec_for(TW_TWIN, s);
        tw_codec_traits_t t;

        ck_assert_int_eq(tw_codec_traits(codec, &t), TW_OK);
        ck_assert_msg(t.dtype == TW_F64 || strcmp(t.isa, TW_TWIN) == 0 ||
                          (test_is_plain(codec) &&
                           (strcmp(t.name, "static8") == 0 || strcmp(t.name, "mantissa8") == 0)),
                      "%s has kernels for %s only", tw_codec_spec(codec), t.isa);
        tw_codec_destroy(codec);
    }
}
END_TEST

static int cpu_present(void)
{
    const char *const *cpu = test_cpus();

    while (*cpu != NULL && strcmp(*cpu, TW_TWIN) != 0) {
        cpu++;
    }
    return *cpu != NULL;
}

/* Stores past the cache, which otherwise only vectors of many megabytes get. */
static void stream_always(void)
{
    setenv("THINWIRE_STREAM_THRESHOLD", "1", 1);
}

int main(void)
{
    Suite *suite;
    TCase *tcase;

    if (!cpu_present()) {
        printf("1..0 # SKIP this processor has no " TW_TWIN "\n");
        return EXIT_SUCCESS;
    }
    suite = suite_create("twins");
    tcase = test_case(suite, TW_TWIN);
    tcase_add_loop_test(tcase, every_count_and_alignment, 0, test_spec_count);
    tcase_add_loop_test(tcase, every_kind_of_number, 0, test_spec_count);
    tcase_add_loop_test(tcase, arbitrary_bytes_decode_alike, 0, test_spec_count);
    tcase_add_loop_test(tcase, the_largest_blocks, 0, 3);
    tcase_add_test(tcase, every_codec_has_kernels);
    tcase = test_case(suite, TW_TWIN ", streaming");
    tcase_add_checked_fixture(tcase, stream_always, NULL);
    tcase_add_loop_test(tcase, every_count_and_alignment, 0, test_spec_count);
    tcase_add_loop_test(tcase, every_kind_of_number, 0, test_spec_count);
    return test_main(suite);
}
