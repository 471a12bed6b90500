/* SPDX-License-Identifier: BSD-3-Clause
 * tests/codec/test_numbers.c - what every codec does with numbers: decode-and-add, the residual
 * rule, Inf and NaN, zeros, equal values.
 */
#include "config.h"

#include <math.h>
#include <stdlib.h>

#include "tests/codec/common.h"

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

/* Around the largest number every magnitude a block can have stays finite, and so does its
 * residual. */
START_TEST(the_largest_numbers_stay_finite)
{
    static const char *const specs[] = {
        "int8",           "tree8",           "tree8:split=0.55", "int:4",
        "int:4,scale=2k", "int:12,scale=2k", "int:20",           "int4"};
    tw_codec_t *codec = test_codec(specs[_i], TW_F32);

    for (uint32_t bits = 0x7f7fffffu; bits > 0x7f7fffffu - 4000; bits--) {
        float v[3] = {tw_bits_float(bits), -tw_bits_float(bits), 0.0f}, residual[3] = {0}, back[3];
        uint8_t *codes = test_encode(codec, v, 3);

        test_decode(codec, codes, 3, back);
        ck_assert_int_eq(tw_codec_encode_feedback(codec, NULL, v, 3, residual, codes), TW_OK);
        for (int i = 0; i < 3; i++) {
            ck_assert_msg(test_is_finite(back[i]) && test_is_finite(residual[i]),
                          "%s: %a came back as %a, residual %a", specs[_i], (double)v[i],
                          (double)back[i], (double)residual[i]);
        }
        free(codes);
    }
    tw_codec_destroy(codec);
}
END_TEST

START_TEST(decode_and_add_adds_what_decode_gives)
{
    const tw_dtype_t dtype = test_specs[_i].dtype;
    const size_t     n = 9973, element = tw_dtype_size(dtype);
    tw_codec_t      *codec  = test_codec_at(_i);
    test_random_t    random = test_random((uint64_t)_i);
    void            *src = malloc(n * element), *acc = malloc(n * element);
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
                ((float *)want)[i] = keep ? ((const float *)old)[i]
                                          : ((const float *)v)[i] - ((const float *)back)[i];
            }
        }
    }
}

START_TEST(feedback_keeps_what_was_lost)
{
    const tw_dtype_t dtype = test_specs[_i].dtype;
    const size_t     n = 20011, element = tw_dtype_size(dtype);
    tw_codec_t      *codec  = test_codec_at(_i);
    test_random_t    random = test_random((uint64_t)_i);
    void    *src = malloc(n * element), *v = malloc(n * element), *back = malloc(n * element);
    void    *old = malloc(n * element), *want = malloc(n * element);
    void    *left  = malloc(n * element);
    uint8_t *codes = malloc(test_size(codec, n)), *plain;

    for (int kind = 0; kind < TEST_KINDS; kind++) {
        test_fill(src, dtype, n, (test_kind_t)kind, &random);
        test_fill(old, dtype, n, kind == TEST_HUGE ? TEST_HUGE : TEST_NORMAL, &random);
        memcpy(v, src, n * element);
        add_vectors(v, old, dtype, n);
        memcpy(left, old, n * element);
        ck_assert_int_eq(tw_codec_encode_feedback(codec, NULL, src, n, left, codes), TW_OK);
        plain = test_encode(codec, v, n);
        test_decode(codec, plain, n, back);
        expected_residual(v, back, old, dtype, n, test_span(codec), want);
        test_same(left, want, dtype, n, 0, "residual");
        /* A NaN in v has a payload that depends on the order of operands; what is sent for it may.
         */
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

static int is_poison(const void *v, tw_dtype_t dtype, size_t i)
{
    return dtype == TW_F64 ? tw_double_bits(((const double *)v)[i]) == UINT64_C(0x7ff8000000000000)
                           : tw_float_bits(((const float *)v)[i]) == 0x7fc00000u;
}

START_TEST(not_finite_never_becomes_finite)
{
    static const uint32_t f32[] = {0x7f800000u, 0xff800000u, 0x7fc00000u, 0xffc00000u,
                                   0x7f800001u, 0xffffffffu, 0x7fbfffffu};
    static const uint64_t f64[] = {UINT64_C(0x7ff0000000000000), UINT64_C(0xfff0000000000000),
                                   UINT64_C(0x7ff8000000000000), UINT64_C(0xfff8000000000000),
                                   UINT64_C(0x7ff0000000000001), UINT64_C(0xffffffffffffffff),
                                   UINT64_C(0x7ff7ffffffffffff)};
    const tw_dtype_t      dtype = test_specs[_i].dtype;
    const size_t          n = 8501, element = tw_dtype_size(dtype);
    tw_codec_t           *codec  = test_codec_at(_i);
    const size_t          block  = test_span(codec);
    test_random_t         random = test_random((uint64_t)_i);
    void                 *src = malloc(n * element), *back = malloc(n * element);
    void                 *clean = malloc(n * element);

    test_fill(clean, dtype, n, TEST_NORMAL, &random);
    for (int what = 0; what < 7 && !is_bit_mask(codec); what++) {
        const size_t places[] = {0, block - 1, block / 2 + 17, 4 * (n / 5), n - 1};

        for (int p = 0; p < 5; p++) {
            const size_t first = places[p] / block * block;
            memcpy(src, clean, n * element);
            put_bits(src, dtype, places[p], f64[what], f32[what]);
            test_round_trip(codec, src, n, back);
            for (size_t i = 0; i < n; i++) {
                const int lost = i >= first && i < first + block;

                if (element_finite(back, dtype, i) == lost ||
                    (lost && block > 1 && /* poison is one NaN, exactly */
                     !is_poison(back, dtype, i))) {
                    ck_abort_msg("value %zu, Inf or NaN at %zu", i, places[p]);
                }
            }
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
        test_fill(src, dtype, n, sign == 0 ? TEST_ZERO : TEST_MINUS_ZERO, &random);
        test_round_trip(codec, src, n, back);
        for (size_t i = 0; i < n * element; i++) { /* -0 may come back as +0 or -0 */
            const int sign_bit = sign == 1 && (i + 1) % element == 0 ? 0x80 : 0;

            if ((back[i] & ~sign_bit) != 0) {
                ck_abort_msg("byte %zu is 0x%02x", i, back[i]);
            }
        }
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
        test_fill(src, dtype, n, TEST_EQUAL, &random);
        test_round_trip(codec, src, n, back);
        if (strncmp(tw_codec_spec(codec), "onebit", 6) != 0) { /* its sums round by block length */
            ck_assert(memcmp(back, back + element, (n - 1) * element) == 0);
        }
        if (strncmp(tw_codec_spec(codec), "tree8", 5) == 0) { /* the maximum is exact */
            test_same(back, src, dtype, n, 0, "all-equal");
        }
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
    uint8_t          *src = malloc(n * element), *back = malloc(n * element);
    tw_codec_traits_t t;

    ck_assert_int_eq(tw_codec_traits(codec, &t), TW_OK);
    test_fill(src, dtype, n, TEST_BITS, &random);
    test_round_trip(codec, src, n, back);
    ck_assert_int_eq(memcmp(src, back, n * element) == 0, t.lossless);
    free(src);
    free(back);
    tw_codec_destroy(codec);
}
END_TEST

/* Values that lie evenly between 0 and 1, with a 1 in every block, and of both signs: all that an
 * 8-bit codec can meet. */
static double even(size_t i)
{
    const double size = i % 64 == 0 ? 1.0 : fmod((double)(i + 1) * 0.6180339887498949, 1.0);

    return i % 3 == 1 ? -size : size;
}

static double element(const uint8_t *values, tw_dtype_t dtype, size_t i)
{
    double d;
    float  f;

    if (dtype == TW_F64) {
        memcpy(&d, values + 8 * i, 8);
        return d;
    }
    memcpy(&f, values + 4 * i, 4);
    return (double)f;
}

/* No error is above the bound that the traits give, and (but for codecs of one bit) some come near
 * it. */
START_TEST(errors_keep_their_bound)
{
    const tw_dtype_t  dtype = test_specs[_i].dtype;
    const size_t      n     = 1u << 18;
    tw_codec_t       *codec = test_codec_at(_i);
    uint8_t          *src = malloc(8 * n), *back = malloc(8 * n);
    tw_codec_traits_t t;
    double            most = 0.0;

    ck_assert_int_eq(tw_codec_traits(codec, &t), TW_OK);
    for (size_t i = 0; i < n; i++) {
        const double d = even(i);
        const float  f = (float)d;

        memcpy(src + tw_dtype_size(dtype) * i,
               dtype == TW_F64 ? (const void *)&d : (const void *)&f, tw_dtype_size(dtype));
    }
    test_round_trip(codec, src, n, back);
    for (size_t i = 0; i < n; i++) {
        const double x     = element(src, dtype, i);
        const double error = fabs(x - element(back, dtype, i)) / (t.block > 1 ? 1.0 : fabs(x));

        most = error > most ? error : most;
    }
    ck_assert_msg(most <= t.max_error + 0x1p-22, "%g above %g", most, t.max_error);
    if (isfinite(t.max_error) && !t.feedback &&
        strncmp(tw_codec_spec(codec), "bitpack:1", 9) != 0) {
        ck_assert_msg(most >= 0.7 * t.max_error, "%g far below %g", most, t.max_error);
    }
    ck_assert_int_eq(t.lossless, t.max_error == 0.0);
    free(src);
    free(back);
    tw_codec_destroy(codec);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("numbers");
    TCase *tcase = test_case(suite, "every codec");

    tcase_add_loop_test(tcase, the_largest_numbers_stay_finite, 0, 8);

    tcase_add_loop_test(tcase, decode_and_add_adds_what_decode_gives, 0, test_spec_count);
    tcase_add_loop_test(tcase, feedback_keeps_what_was_lost, 0, test_spec_count);
    tcase_add_loop_test(tcase, not_finite_never_becomes_finite, 0, test_spec_count);
    tcase_add_loop_test(tcase, zeros_stay_zero, 0, test_spec_count);
    tcase_add_loop_test(tcase, equal_values_come_back_equal, 0, test_spec_count);
    tcase_add_loop_test(tcase, errors_keep_their_bound, 0, test_spec_count);
    tcase_add_loop_test(tcase, lossless_means_every_bit, 0, test_spec_count);
    return test_main(suite);
}
