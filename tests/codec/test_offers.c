/* SPDX-License-Identifier: BSD-3-Clause
 * tests/codec/test_offers.c - what codecs say to those that choose among them: what each offers,
 * and the next one that an error contract goes to, against the codecs' own sizes and errors.
 */
#include "config.h"

#include <stdio.h>

#include <thinwire/facts.h>

#include "runtime/codec/offers.h"
#include "tests/codec/common.h"

static tw_codec_traits_t traits_of(const char *spec, tw_dtype_t dtype)
{
    tw_codec_t       *codec = test_codec(spec, dtype);
    tw_codec_traits_t traits;

    ck_assert_int_eq(tw_codec_traits(codec, &traits), TW_OK);
    tw_codec_destroy(codec);
    return traits;
}

/* The text lives as long as the program. */
static const char *finer_than(const char *spec, tw_dtype_t dtype)
{
    tw_codec_t *codec = test_codec(spec, dtype);
    const char *finer = tw_codec_finer(codec);

    tw_codec_destroy(codec);
    return finer;
}

/* The order of an error contract: of each type the first of these that takes more bytes than a
 * codec, by half a percent, is the finer one; "": none does. */
static const char *const steps[2][9] = {
    {"int4", "tree8", "int:12", "bf16", "int:16", "bitpack:3", ""},
    {"int:8", "int:12", "int:16", "int:24", "int:32", "int:40", "int:48", "bitpack:7", ""},
};

static const char *next_step(tw_dtype_t dtype, double bytes)
{
    const char *const *step = steps[dtype == TW_F64];

    while (step[0][0] != '\0' && traits_of(*step, dtype).bytes < 1.005 * bytes) {
        step++;
    }
    return *step;
}

START_TEST(the_finer_one_takes_more_bytes)
{
    const char      *spec  = test_specs[_i].spec;
    const tw_dtype_t dtype = test_specs[_i].dtype;

    ck_assert_str_eq(finer_than(spec, dtype), next_step(dtype, traits_of(spec, dtype).bytes));
}
END_TEST

/* From any codec on, each step takes more bytes, and the last is the elements as they are. */
START_TEST(the_finer_ones_end)
{
    const tw_dtype_t dtype = test_specs[_i].dtype;
    const char      *spec  = test_specs[_i].spec;
    double           bytes = traits_of(spec, dtype).bytes;
    int              count = 0;

    while ((spec = finer_than(spec, dtype))[0] != '\0') {
        ck_assert_double_gt(traits_of(spec, dtype).bytes, bytes);
        bytes = traits_of(spec, dtype).bytes;
        ck_assert_int_lt(++count, 9);
    }
}
END_TEST

/* Options in any order, and what is not drawn from the list above. */
static const struct {
    const char *spec;
    tw_dtype_t  dtype;
    const char *finer;
} named[] = {
    {"bitpack:round,2", TW_F32, "int:16"},
    {"bitpack:round,4", TW_F64, "int:32"},
    {"bitpack:3", TW_F64, "int:24"},
    {"bitpack:5", TW_F64, "int:40"},
    {"bitpack:6", TW_F64, "int:48"},
    {"int:48", TW_F64, "bitpack:7"},
    {"int:16,block=64", TW_F32, "bitpack:3"},
    {"bitpack:7", TW_F64, ""},
    {"onebit", TW_F32, "int4"},
    {"int4", TW_F32, "tree8"},
    {"tree8:block=64", TW_F32, "int:12"},
    {"fp32", TW_F32, ""},
    {"complement", TW_F32, ""}, /* says nothing of a finer one */
};

START_TEST(the_finer_one_by_name)
{
    ck_assert_str_eq(finer_than(named[_i].spec, named[_i].dtype), named[_i].finer);
}
END_TEST

static size_t offered(unsigned to, tw_dtype_t dtype)
{
    size_t count = 0;

    while (tw_codec_offer(to, dtype, count) != NULL) {
        count++;
    }
    return count;
}

START_TEST(every_offer_is_a_codec)
{
    const unsigned all =
        TW_OFFER_AUTO | TW_OFFER_REPORT | TW_OFFER_ADVICE | TW_OFFER_FIRST | TW_OFFER_BLOCK;
    const tw_dtype_t dtype    = _i == 0 ? TW_F32 : TW_F64;
    bool             lossless = false;

    for (size_t i = 0; i < offered(all, dtype); i++) {
        const tw_codec_offer_t *offer  = tw_codec_offer(all, dtype, i);
        const tw_codec_traits_t traits = traits_of(offer->spec, dtype);
        const bool              advice = (offer->to & (TW_OFFER_ADVICE | TW_OFFER_BLOCK)) != 0;

        lossless = lossless || ((offer->to & TW_OFFER_AUTO) != 0 && traits.lossless);
        ck_assert_msg((offer->to & TW_OFFER_AUTO) == 0 || traits.max_error <= 1.0,
                      "%s has no bound on its error", offer->spec);
        ck_assert_msg(!advice || (offer->to & TW_OFFER_REPORT) != 0,
                      "%s: advised, not in the report", offer->spec);
        ck_assert_msg(!advice || !traits.feedback, "%s needs error feedback", offer->spec);
        ck_assert_msg((offer->to & TW_OFFER_BLOCK) == 0 ||
                          (traits.block > 1 && (offer->to & TW_OFFER_ADVICE) == 0),
                      "%s: no blocks, or advised in two ways", offer->spec);
        ck_assert_msg((offer->to & TW_OFFER_FIRST) == 0 || advice, "%s: first, not advised",
                      offer->spec);
    }
    ck_assert_msg(lossless, "auto:0 finds a codec");
}
END_TEST

START_TEST(offers_are_few_enough)
{
    ck_assert_uint_le(offered(TW_OFFER_AUTO, TW_F32) + offered(TW_OFFER_AUTO, TW_F64),
                      TW_FACTS_CODECS);
    ck_assert_uint_eq(offered(TW_OFFER_FIRST, TW_F32), 1);
    ck_assert_uint_eq(offered(TW_OFFER_FIRST, TW_F64), 1);
    for (size_t c = 0; tw_codecs[c] != NULL; c++) {
        ck_assert_ptr_null(tw_codecs[c]->offers[11].spec);
    }
}
END_TEST

int main(void)
{
    Suite *suite  = suite_create("offers");
    TCase *finer  = test_case(suite, "finer");
    TCase *offers = test_case(suite, "offers");

    tcase_add_loop_test(finer, the_finer_one_takes_more_bytes, 0, test_spec_count);
    tcase_add_loop_test(finer, the_finer_ones_end, 0, test_spec_count);
    TEST_EACH(finer, the_finer_one_by_name, named);
    tcase_add_loop_test(offers, every_offer_is_a_codec, 0, 2);
    tcase_add_test(offers, offers_are_few_enough);
    return test_main(suite);
}
