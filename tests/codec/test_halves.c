/* SPDX-License-Identifier: BSD-3-Clause
 * tests/codec/test_halves.c - elements of 16 bits: every number of both types, against arithmetic
 * (tests/half.h); and every codec that takes them, against its float32 self on the same numbers.
 */
#include "config.h"

#include <math.h>
#include <stdlib.h>

#include "runtime/codec/ops.h"
#include "tests/codec/common.h"
#include "tests/half.h"

static const tw_dtype_t halves[] = {TW_BF16, TW_F16};

#define NUMBERS 65536

static uint16_t at16(const void *data, size_t i)
{
    uint16_t h;

    memcpy(&h, (const uint8_t *)data + 2 * i, sizeof(h));
    return h;
}

static void same_number(double got, double want, const char *what)
{
    ck_assert_msg((isnan(got) && isnan(want)) || (got == want && !signbit(got) == !signbit(want)),
                  "%s: %a, not %a", what, got, want);
}

START_TEST(every_number_is_its_own_and_those_between_are_rounded)
{
    const tw_dtype_t      dtype  = halves[_i];
    const tw_dtype_row_t *row    = tw_dtype_row(dtype);
    test_random_t         random = test_random(1);
    double                last   = 0.0;

    for (unsigned u = 0; u < NUMBERS; u++) {
        const uint16_t bits = (uint16_t)u;
        const double   want = t_half_value(dtype, bits);
        double         x;
        uint16_t       back;

        row->to_f64(&bits, 1, &x);
        same_number(x, want, "to_f64");
        row->from_f64(&x, 1, &back);
        ck_assert_msg(isnan(want) ? isnan(t_half_value(dtype, back)) : back == bits,
                      "%04x comes back as %04x", bits, back);
        if (isfinite(want) &&
            isfinite(last)) { /* ties, and a bit beside them, which float has not */
            const double middle = 0.5 * (want + last), near = fabs(middle) * 0x1p-50;
            const double inputs[] = {middle, middle + near, middle - near,
                                     want + (last - want) * test_uniform(&random)};

            for (size_t i = 0; i < sizeof(inputs) / sizeof(inputs[0]); i++) {
                row->from_f64(&inputs[i], 1, &back);
                same_number(t_half_value(dtype, back), t_half_round(dtype, inputs[i]), "from_f64");
            }
        }
        last = want;
    }
}
END_TEST

START_TEST(what_float_has_beyond_the_largest_number_becomes_infinite)
{
    const tw_dtype_t      dtype  = halves[_i];
    const tw_dtype_row_t *row    = tw_dtype_row(dtype);
    const t_half_t        half   = t_half_of(dtype);
    const double          limit  = ldexp(2.0 - ldexp(1.0, -half.fraction - 1), half.most);
    const double          in[]   = {limit, -limit, nextafter(limit, 0.0), 1e300, -INFINITY, 1e-300};
    const double          want[] = {INFINITY, -INFINITY, t_half_round(dtype, nextafter(limit, 0.0)),
                                    INFINITY, -INFINITY, 0.0};

    for (size_t i = 0; i < sizeof(in) / sizeof(in[0]); i++) {
        uint16_t back;

        row->from_f64(&in[i], 1, &back);
        same_number(t_half_value(dtype, back), want[i], "from_f64");
    }
}
END_TEST

START_TEST(two_are_combined_with_one_rounding)
{
    const tw_dtype_t      dtype  = halves[_i];
    const tw_dtype_row_t *row    = tw_dtype_row(dtype);
    test_random_t         random = test_random(2);

    for (int i = 0; i < 200000; i++) {
        const uint16_t a = (uint16_t)test_bits(&random), b = (uint16_t)test_bits(&random);
        const double   x = t_half_value(dtype, a), y = t_half_value(dtype, b);
        uint16_t       out[4], by                    = a;

        for (int c = 0; c < TW_COMBINATIONS; c++) {
            row->combine[c](&a, &b, 1, &out[c]);
        }
        if (isnan(x) || isnan(y)) {
            for (int c = 0; c < TW_COMBINATIONS; c++) {
                ck_assert(isnan(t_half_value(dtype, out[c])));
            }
            continue;
        }
        if (!isnan(x + y)) {
            same_number(t_half_value(dtype, out[TW_COMBINE_ADD]), t_half_round(dtype, x + y), "+");
        }
        if (!isnan(x * y)) {
            same_number(t_half_value(dtype, out[TW_COMBINE_MULTIPLY]), t_half_round(dtype, x * y),
                        "*");
        }
        same_number(t_half_value(dtype, out[TW_COMBINE_MAXIMUM]), x > y ? x : y, "maximum");
        same_number(t_half_value(dtype, out[TW_COMBINE_MINIMUM]), x < y ? x : y, "minimum");
        row->divide(&by, 1, 7);
        same_number(t_half_value(dtype, by), t_half_round(dtype, x / 7.0), "/ 7");
    }
}
END_TEST

/* ---- codecs --------------------------------------------------------------------------------- */

/* n numbers in float32, and as elements, at odd places. */
typedef struct numbers {
    size_t        n;
    float        *wide;
    test_buffer_t half;
} numbers_t;

static numbers_t numbers(tw_dtype_t dtype, size_t n, test_kind_t kind, test_random_t *random)
{
    numbers_t v = {n, malloc((n + 1) * sizeof(float)), test_buffer(2 * n, 1 + n % 5)};

    test_fill(v.wide, TW_F32, n, kind, random);
    for (size_t i = 0; i < n; i++) {
        const double   x = (double)v.wide[i];
        const uint16_t h =
            isnan(x)
                ? (uint16_t)(t_half_bits(dtype, INFINITY) | 1u << (t_half_of(dtype).fraction - 1))
                : t_half_bits(dtype, t_half_round(dtype, x));

        memcpy(v.half.data + 2 * i, &h, sizeof(h));
        v.wide[i] = (float)t_half_value(dtype, h);
    }
    return v;
}

static void numbers_free(numbers_t *v)
{
    free(v->wide);
    test_buffer_free(&v->half);
}

/* Elements that are float32 numbers, each rounded once. */
static void check_rounded(tw_dtype_t dtype, const uint8_t *got, const float *want, size_t n,
                          const char *spec)
{
    for (size_t i = 0; i < n; i++) {
        const double x = (double)want[i];

        same_number(t_half_value(dtype, at16(got, i)), isnan(x) ? x : t_half_round(dtype, x), spec);
    }
}

/* All four verbs of the codec of elements, beside those of float32. */
static void check_twins(const tw_codec_t *codec, const tw_codec_t *wide, tw_dtype_t dtype, size_t n,
                        test_kind_t kind, test_random_t *random)
{
    const size_t  bytes = test_size(wide, n), floats = (n + 1) * sizeof(float);
    const char   *spec  = tw_codec_spec(codec);
    numbers_t     v     = numbers(dtype, n, kind, random);
    uint8_t      *want  = test_encode(wide, v.wide, n);
    test_buffer_t codes = test_buffer(bytes, 3), back = test_buffer(2 * n, 1);
    test_buffer_t sum = test_buffer(floats, 1), kept = test_buffer(floats, 2);
    float        *f = malloc(floats), *g = malloc(floats);

    ck_assert_uint_eq(test_size(codec, n), bytes);
    ck_assert_int_eq(tw_codec_encode(codec, NULL, v.half.data, n, codes.data), TW_OK);
    ck_assert_msg(memcmp(codes.data, want, bytes) == 0, "%s: other codes of %zu", spec, n);
    ck_assert_int_eq(tw_codec_decode(codec, NULL, codes.data, n, back.data), TW_OK);
    test_decode(wide, want, n, f);
    check_rounded(dtype, back.data, f, n, spec);

    test_fill(g, TW_F32, n, TEST_NORMAL, random);
    memcpy(sum.data, g, n * sizeof(float));
    memcpy(kept.data, g, n * sizeof(float));
    ck_assert_int_eq(tw_codec_decode_add(codec, NULL, codes.data, n, sum.data), TW_OK);
    memcpy(f, g, n * sizeof(float));
    ck_assert_int_eq(tw_codec_decode_add(wide, NULL, want, n, f), TW_OK);
    test_same(sum.data, f, TW_F32, n, 1, spec);

    ck_assert_int_eq(tw_codec_encode_feedback(codec, NULL, v.half.data, n, kept.data, codes.data),
                     TW_OK);
    ck_assert_int_eq(tw_codec_encode_feedback(wide, NULL, v.wide, n, g, want), TW_OK);
    ck_assert(memcmp(codes.data, want, bytes) == 0);
    test_same(kept.data, g, TW_F32, n, 1, spec);

    free(want);
    free(f);
    free(g);
    test_buffer_free(&codes);
    test_buffer_free(&back);
    test_buffer_free(&sum);
    test_buffer_free(&kept);
    numbers_free(&v);
}

/* The codec of elements for a spec of float32; NULL: it takes none. */
static tw_codec_t *of_halves(const char *spec, tw_dtype_t dtype)
{
    tw_codec_t *codec = NULL;
    char        why[300];

    if (tw_codec_create(test_context(), spec, dtype, &codec, why, sizeof(why)) != TW_OK) {
        ck_assert_msg(why[0] != '\0', "%s: no reason", spec);
    }
    return codec;
}

START_TEST(codes_are_those_of_float32)
{
    test_random_t random = test_random(3);

    for (int s = 0; s < test_spec_count; s++) {
        tw_codec_t *codec =
            test_specs[s].dtype == TW_F32 ? of_halves(test_specs[s].spec, halves[_i]) : NULL;
        size_t      block, counts[9];
        tw_codec_t *wide;

        if (codec == NULL) {
            continue;
        }
        wide  = test_codec(test_specs[s].spec, TW_F32);
        block = tw_codec_block(wide);
        memcpy(counts, (size_t[]){1, 63, 64, 65, block, block + 1, 2 * block + 7, 1023, 4099},
               sizeof(counts));
        for (size_t c = 0; c < sizeof(counts) / sizeof(counts[0]); c++) {
            for (int kind = 0; kind < TEST_KINDS; kind += c < 5 ? 1 : 3) {
                check_twins(codec, wide, halves[_i], counts[c], (test_kind_t)kind, &random);
            }
        }
        tw_codec_destroy(codec);
        tw_codec_destroy(wide);
    }
}
END_TEST

START_TEST(elements_as_they_are_keep_every_bit)
{
    const tw_dtype_t  dtype = halves[_i];
    tw_codec_t       *codec = test_codec(tw_dtype_row(dtype)->lossless, dtype);
    test_buffer_t     in = test_buffer(2 * NUMBERS, 1), codes = test_buffer(2 * NUMBERS, 3);
    tw_codec_traits_t traits;

    for (unsigned u = 0; u < NUMBERS; u++) {
        in.data[2 * u]     = (uint8_t)u;
        in.data[2 * u + 1] = (uint8_t)(u >> 8);
    }
    ck_assert_int_eq(tw_codec_traits(codec, &traits), TW_OK);
    ck_assert(traits.lossless && traits.identity && traits.max_error <= 0.0 && !traits.feedback);
    ck_assert_int_eq(tw_codec_encode(codec, NULL, in.data, NUMBERS, codes.data), TW_OK);
    ck_assert(memcmp(codes.data, in.data, 2 * NUMBERS) == 0);
    memset(in.data, 0, 2 * NUMBERS);
    ck_assert_int_eq(tw_codec_decode(codec, NULL, codes.data, NUMBERS, in.data), TW_OK);
    ck_assert(memcmp(codes.data, in.data, 2 * NUMBERS) == 0);
    ck_assert_int_eq(tw_codec_encode(codec, NULL, in.data, NUMBERS, in.data), TW_OK);
    test_buffer_free(&in);
    test_buffer_free(&codes);
    tw_codec_destroy(codec);
}
END_TEST

static const struct {
    const char *spec;
    tw_dtype_t  dtype;
    const char *named;
} refused[] = {
    {"fp32", TW_BF16, "accepted: bf16"},    {"fp16", TW_BF16, "makes no bfloat16 shorter"},
    {"bf16", TW_F16, "accepted: fp16"},     {"bitpack:2", TW_F16, "less than 2 bytes"},
    {"bitpack:7", TW_BF16, "K takes 1..4"}, {"tree8:block=32768", TW_F16, "at most 16384"},
    {"tree9", TW_BF16, "unknown codec"},
};

START_TEST(what_makes_no_element_shorter_is_refused)
{
    tw_codec_t *codec    = NULL;
    char        why[300] = "";

    ck_assert_int_ne(tw_codec_create(test_context(), refused[_i].spec, refused[_i].dtype, &codec,
                                     why, sizeof(why)),
                     TW_OK);
    ck_assert(codec == NULL);
    ck_assert_msg(strstr(why, refused[_i].named) != NULL && strchr(why, '\n') == NULL, "%s", why);
}
END_TEST

START_TEST(the_bound_holds)
{
    test_random_t random = test_random(4);

    for (int s = 0; s < test_spec_count; s++) {
        tw_codec_t *codec =
            test_specs[s].dtype == TW_F32 ? of_halves(test_specs[s].spec, halves[_i]) : NULL;
        tw_codec_traits_t traits;
        size_t            n = 5000;
        numbers_t         v;
        uint16_t         *back;

        if (codec == NULL) {
            continue;
        }
        tw_codec_traits(codec, &traits);
        v    = numbers(halves[_i], n, TEST_NORMAL, &random);
        back = malloc(2 * n);
        test_round_trip(codec, v.half.data, n, back);
        for (size_t i = 0; i < n; i++) {
            const size_t first = i / traits.block * traits.block;
            double       most  = fabs((double)v.wide[i]), error;

            for (size_t k = first; traits.block > 1 && k < n && k < first + traits.block; k++) {
                most = fmax(most, fabs((double)v.wide[k]));
            }
            error = fabs(t_half_value(halves[_i], back[i]) - (double)v.wide[i]);
            ck_assert_msg(error <= (traits.max_error + 0x1p-22) * most || most < 0x1p-13,
                          "%s: %g of %g", test_specs[s].spec, error, most);
        }
        free(back);
        numbers_free(&v);
        tw_codec_destroy(codec);
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("halves");
    TCase *tcase = test_case_within(suite, "halves", 60);

    TEST_EACH(tcase, every_number_is_its_own_and_those_between_are_rounded, halves);
    TEST_EACH(tcase, what_float_has_beyond_the_largest_number_becomes_infinite, halves);
    TEST_EACH(tcase, two_are_combined_with_one_rounding, halves);
    TEST_EACH(tcase, codes_are_those_of_float32, halves);
    TEST_EACH(tcase, elements_as_they_are_keep_every_bit, halves);
    TEST_EACH(tcase, what_makes_no_element_shorter_is_refused, refused);
    TEST_EACH(tcase, the_bound_holds, halves);
    return test_main(suite);
}
