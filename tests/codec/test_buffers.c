/* SPDX-License-Identifier: BSD-3-Clause
 * tests/codec/test_buffers.c - buffers that share bytes are refused, but for exact in-place work of
 * a lossless codec; counts whose size no size_t holds are refused before anything is touched.
 */
#include "config.h"

#include <stdlib.h>

#include "tests/codec/common.h"

#define VALUES ((size_t)200)

typedef struct fixture {
    tw_codec_t       *codec;
    tw_codec_traits_t traits;
    size_t            values, codes; /* bytes of them */
    uint8_t          *memory, *kept; /* room for four of the larger */
    size_t            room;
} fixture_t;

static fixture_t begin(int index)
{
    fixture_t f = {.codec = test_codec_at(index)};

    ck_assert_int_eq(tw_codec_traits(f.codec, &f.traits), TW_OK);
    f.values = VALUES * tw_dtype_size(f.traits.dtype);
    f.codes  = test_size(f.codec, VALUES);
    f.room   = 4 * (f.values > f.codes ? f.values : f.codes);
    f.memory = malloc(f.room);
    f.kept   = malloc(f.room);
    for (size_t i = 0; i < f.room; i++) {
        f.memory[i] = (uint8_t)(i * 37 + 11);
    }
    memcpy(f.kept, f.memory, f.room);
    return f;
}

/* Nothing has changed since begin(). */
static void end(fixture_t *f)
{
    ck_assert(memcmp(f->memory, f->kept, f->room) == 0);
    free(f->memory);
    free(f->kept);
    tw_codec_destroy(f->codec);
}

START_TEST(shared_bytes_are_refused)
{
    fixture_t f    = begin(_i);
    uint8_t  *m    = f.memory;
    uint8_t  *away = m + f.room - f.values; /* overlaps nothing near the start */

    for (size_t by = 1; by < f.values; by += by < 8 ? 1 : 53) {
        ck_assert_int_eq(tw_codec_encode(f.codec, NULL, m, VALUES, m + by), TW_ERR_INVALID_ARG);
        ck_assert_int_eq(tw_codec_decode_add(f.codec, NULL, m + by, VALUES, m), TW_ERR_INVALID_ARG);
        ck_assert_int_eq(tw_codec_decode(f.codec, NULL, m + by, VALUES, m), TW_ERR_INVALID_ARG);
        ck_assert_int_eq(tw_codec_encode_feedback(f.codec, NULL, m, VALUES, away, m + by),
                         TW_ERR_INVALID_ARG);
        ck_assert_int_eq(tw_codec_encode_feedback(f.codec, NULL, m, VALUES, m + by, away),
                         TW_ERR_INVALID_ARG);
        ck_assert_int_eq(tw_codec_encode_feedback(f.codec, NULL, away, VALUES, m, m + by),
                         TW_ERR_INVALID_ARG);
    }
    for (size_t by = 1; by < f.codes; by += by < 8 ? 1 : 31) {
        ck_assert_int_eq(tw_codec_encode(f.codec, NULL, m + by, VALUES, m), TW_ERR_INVALID_ARG);
        ck_assert_int_eq(tw_codec_decode(f.codec, NULL, m, VALUES, m + by), TW_ERR_INVALID_ARG);
        ck_assert_int_eq(tw_codec_decode_add(f.codec, NULL, m, VALUES, m + by), TW_ERR_INVALID_ARG);
    }
    ck_assert_int_eq(tw_codec_decode_add(f.codec, NULL, m, VALUES, m), TW_ERR_INVALID_ARG);
    ck_assert_int_eq(tw_codec_encode_feedback(f.codec, NULL, m, VALUES, m, away),
                     TW_ERR_INVALID_ARG);
    ck_assert_int_eq(tw_codec_encode_feedback(f.codec, NULL, m, VALUES, away, m),
                     TW_ERR_INVALID_ARG);
    ck_assert_int_eq(tw_codec_encode_feedback(f.codec, NULL, away, VALUES, m, m),
                     TW_ERR_INVALID_ARG);
    end(&f);
}
END_TEST

START_TEST(in_place_is_for_lossless_codecs)
{
    fixture_t         f    = begin(_i);
    const tw_status_t want = f.traits.lossless ? TW_OK : TW_ERR_INVALID_ARG;

    ck_assert_int_eq(tw_codec_encode(f.codec, NULL, f.memory, VALUES, f.memory), want);
    ck_assert_int_eq(tw_codec_decode(f.codec, NULL, f.memory, VALUES, f.memory), want);
    end(&f);
}
END_TEST

START_TEST(neighbours_are_welcome)
{
    fixture_t f = begin(_i);
    uint8_t  *x = f.memory, *codes = x + f.values, *residual = codes + f.codes;

    memset(x, 0, f.values);
    memset(residual, 0, f.values);
    ck_assert_int_eq(tw_codec_encode(f.codec, NULL, x, VALUES, codes), TW_OK);
    ck_assert_int_eq(tw_codec_encode_feedback(f.codec, NULL, x, VALUES, residual, codes), TW_OK);
    ck_assert_int_eq(tw_codec_decode(f.codec, NULL, codes, VALUES, x), TW_OK);
    ck_assert_int_eq(tw_codec_decode_add(f.codec, NULL, codes, VALUES, residual), TW_OK);
    memcpy(f.memory, f.kept, f.room);
    end(&f);
}
END_TEST

START_TEST(counts_that_overflow_are_refused)
{
    static const size_t counts[] = {SIZE_MAX,         SIZE_MAX - 1,     SIZE_MAX / 2,
                                    SIZE_MAX / 4 + 1, SIZE_MAX / 8 + 1, SIZE_MAX / 16 + 1};
    fixture_t           f        = begin(_i);
    uint8_t            *m = f.memory, *away = m + f.room / 2, *third = m + f.room * 3 / 4;

    for (size_t c = 0; c < sizeof(counts) / sizeof(counts[0]); c++) {
        const size_t n     = counts[c];
        size_t       bytes = 7;
        float        largest;
        double       sum;

        ck_assert_int_eq(tw_codec_size(f.codec, n, &bytes), TW_ERR_RANGE);
        ck_assert_uint_eq(bytes, 7);
        ck_assert_int_eq(tw_codec_encode(f.codec, NULL, m, n, away), TW_ERR_RANGE);
        ck_assert_int_eq(tw_codec_decode(f.codec, NULL, m, n, away), TW_ERR_RANGE);
        ck_assert_int_eq(tw_codec_decode_add(f.codec, NULL, m, n, away), TW_ERR_RANGE);
        ck_assert_int_eq(tw_codec_encode_feedback(f.codec, NULL, m, n, away, third), TW_ERR_RANGE);
        if (n > SIZE_MAX / 4) {
            ck_assert_int_eq(tw_codec_absmax(f.codec, NULL, m, n, &largest), TW_ERR_RANGE);
            ck_assert_int_eq(tw_codec_square_sum(f.codec, NULL, m, n, &sum), TW_ERR_RANGE);
        }
    }
    end(&f);
}
END_TEST

START_TEST(bad_arguments_of_absmax)
{
    tw_codec_t     *f32 = test_codec("tree8", TW_F32), *f64 = test_codec("bitpack:2", TW_F64);
    const tw_exec_t cuda = {.memory = TW_MEMORY_CUDA}, stream = {.stream = f32},
                    negative = {.threads = -1};
    const float x[4]         = {1.0f, -3.0f, 2.0f, 0.0f};
    float       largest      = 5.0f;

    ck_assert_int_eq(tw_codec_absmax(NULL, NULL, x, 4, &largest), TW_ERR_INVALID_ARG);
    ck_assert_int_eq(tw_codec_absmax(f32, NULL, NULL, 4, &largest), TW_ERR_INVALID_ARG);
    ck_assert_int_eq(tw_codec_absmax(f32, NULL, x, 4, NULL), TW_ERR_INVALID_ARG);
    ck_assert_int_eq(tw_codec_absmax(f32, &stream, x, 4, &largest), TW_ERR_INVALID_ARG);
    ck_assert_int_eq(tw_codec_absmax(f32, &negative, x, 4, &largest), TW_ERR_INVALID_ARG);
    ck_assert_int_eq(tw_codec_absmax(f32, &cuda, x, 4, &largest), TW_ERR_UNSUPPORTED);
    ck_assert_int_eq(tw_codec_absmax(f64, NULL, x, 2, &largest), TW_ERR_UNSUPPORTED);
    ck_assert(largest == 5.0f);
    ck_assert_int_eq(tw_codec_absmax(f32, NULL, x, 4, &largest), TW_OK);
    ck_assert(largest == 3.0f);
    ck_assert_int_eq(tw_codec_absmax(f32, NULL, NULL, 0, &largest), TW_OK);
    ck_assert(largest == 0.0f);
    tw_codec_destroy(f32);
    tw_codec_destroy(f64);
}
END_TEST

START_TEST(bad_arguments_of_square_sum)
{
    tw_codec_t     *f32 = test_codec("tree8", TW_F32), *f64 = test_codec("bitpack:2", TW_F64);
    const tw_exec_t cuda = {.memory = TW_MEMORY_CUDA}, stream = {.stream = f32},
                    negative = {.threads = -1};
    const float x[4]         = {1.0f, -3.0f, 2.0f, 0.0f};
    double      sum          = 5.0;

    ck_assert_int_eq(tw_codec_square_sum(NULL, NULL, x, 4, &sum), TW_ERR_INVALID_ARG);
    ck_assert_int_eq(tw_codec_square_sum(f32, NULL, NULL, 4, &sum), TW_ERR_INVALID_ARG);
    ck_assert_int_eq(tw_codec_square_sum(f32, NULL, x, 4, NULL), TW_ERR_INVALID_ARG);
    ck_assert_int_eq(tw_codec_square_sum(f32, &stream, x, 4, &sum), TW_ERR_INVALID_ARG);
    ck_assert_int_eq(tw_codec_square_sum(f32, &negative, x, 4, &sum), TW_ERR_INVALID_ARG);
    ck_assert_int_eq(tw_codec_square_sum(f32, &cuda, x, 4, &sum), TW_ERR_UNSUPPORTED);
    ck_assert_int_eq(tw_codec_square_sum(f64, NULL, x, 2, &sum), TW_ERR_UNSUPPORTED);
    ck_assert(sum == 5.0);
    ck_assert_int_eq(tw_codec_square_sum(f32, NULL, x, 4, &sum), TW_OK);
    ck_assert(sum == 14.0);
    ck_assert_int_eq(tw_codec_square_sum(f32, NULL, NULL, 0, &sum), TW_OK);
    ck_assert(sum == 0.0);
    tw_codec_destroy(f32);
    tw_codec_destroy(f64);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("buffers");
    TCase *tcase = test_case(suite, "every codec");

    tcase_add_loop_test(tcase, shared_bytes_are_refused, 0, test_spec_count);
    tcase_add_loop_test(tcase, in_place_is_for_lossless_codecs, 0, test_spec_count);
    tcase_add_loop_test(tcase, neighbours_are_welcome, 0, test_spec_count);
    tcase_add_loop_test(tcase, counts_that_overflow_are_refused, 0, test_spec_count);
    tcase_add_test(tcase, bad_arguments_of_absmax);
    tcase_add_test(tcase, bad_arguments_of_square_sum);
    return test_main(suite);
}
