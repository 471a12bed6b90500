/* SPDX-License-Identifier: BSD-3-Clause
 * tests/policy/test_drop_in.c - the settings of the drop-in, and the ladder of its error contract
 * for every codec against what the codec library says of their sizes.
 */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>

#include "runtime/policy/drop_in.h"
#include "runtime/policy/rules.h"
#include "tests/codec/common.h"

static const tw_log_t quiet = {.level = TW_LOG_ERROR, .rank = -1};

START_TEST(settings_have_defaults)
{
    tw_drop_in_config_t config;

    ck_assert_int_eq(tw_settings_load(&quiet, &tw_drop_in_settings, &config), TW_OK);
    ck_assert_str_eq(config.codec, "");
    ck_assert_uint_eq(config.threshold, 65536);
    ck_assert_str_eq(config.rules, "");
    ck_assert_str_eq(config.rules_file, "");
    ck_assert_int_eq(config.wide, 0);
    ck_assert_int_eq(config.verify, 0);
    ck_assert_double_eq(config.max_error, 0.0);
    ck_assert_int_eq(config.error_feedback, 0);
    ck_assert_uint_eq(config.feedback_max, (size_t)1 << 30);
    ck_assert_str_eq(config.report, "");
    ck_assert_str_eq(config.json, "");
    ck_assert_int_eq(config.quiet, 0);
    ck_assert_int_eq(config.bcast_root, TW_BCAST_ROOT_SAME);
    ck_assert_int_eq(config.encode, TW_ENCODE_AUTO);
}
END_TEST

START_TEST(settings_come_from_the_environment)
{
    tw_drop_in_config_t config;

    setenv("THINWIRE_CODEC", "tree8:block=512", 1);
    setenv("THINWIRE_THRESHOLD", "inf", 1);
    setenv("THINWIRE_RULES", "*:off", 1);
    setenv("THINWIRE_RULES_FILE", "rules.txt", 1);
    setenv("THINWIRE_DOUBLE", "yes", 1);
    setenv("THINWIRE_VERIFY", "1000000000", 1);
    setenv("THINWIRE_MAX_ERROR", "2.5e-3", 1);
    setenv("THINWIRE_ERROR_FEEDBACK", "on", 1);
    setenv("THINWIRE_FEEDBACK_MAX", "10M", 1);
    setenv("THINWIRE_REPORT", "report.txt", 1);
    setenv("THINWIRE_JSON", "report.json", 1);
    setenv("THINWIRE_QUIET", "1", 1);
    setenv("THINWIRE_PCONTROL", "1", 1);
    setenv("THINWIRE_BCAST_ROOT", "exact", 1);
    setenv("THINWIRE_ENCODE", "always", 1);
    ck_assert_int_eq(tw_settings_load(&quiet, &tw_drop_in_settings, &config), TW_OK);
    ck_assert_str_eq(config.codec, "tree8:block=512");
    ck_assert_uint_eq(config.threshold, SIZE_MAX);
    ck_assert_str_eq(config.rules, "*:off");
    ck_assert_str_eq(config.rules_file, "rules.txt");
    ck_assert_int_eq(config.wide, 1);
    ck_assert_int_eq(config.verify, 1000000000);
    ck_assert_double_eq(config.max_error, 2.5e-3);
    ck_assert_int_eq(config.error_feedback, 1);
    ck_assert_uint_eq(config.feedback_max, (size_t)10 << 20);
    ck_assert_str_eq(config.report, "report.txt");
    ck_assert_str_eq(config.json, "report.json");
    ck_assert_int_eq(config.quiet, 1);
    ck_assert_int_eq(config.pcontrol, 1);
    ck_assert_int_eq(config.bcast_root, TW_BCAST_ROOT_EXACT);
    ck_assert_int_eq(config.encode, TW_ENCODE_ALWAYS);
    ck_assert_uint_eq(tw_drop_in_settings.count, 15);
}
END_TEST

static const struct {
    const char *name, *value;
} malformed[] = {
    {"THINWIRE_THRESHOLD", "64kB"}, {"THINWIRE_DOUBLE", "2"},     {"THINWIRE_VERIFY", "1000000001"},
    {"THINWIRE_VERIFY", "-1"},      {"THINWIRE_MAX_ERROR", "-1"}, {"THINWIRE_MAX_ERROR", "1 %"},
    {"THINWIRE_QUIET", "quiet"},    {"THINWIRE_BCAST_ROOT", "1"}, {"THINWIRE_ENCODE", "all"},
};

START_TEST(malformed_settings_are_refused)
{
    tw_drop_in_config_t config;
    tw_context_t       *ctx = NULL;

    setenv(malformed[_i].name, malformed[_i].value, 1);
    ck_assert_int_eq(tw_settings_load(&quiet, &tw_drop_in_settings, &config), TW_ERR_SETTING);
    ck_assert_int_eq(tw_context_create(&ctx), TW_ERR_SETTING); /* the library knows the table */
}
END_TEST

static tw_codec_traits_t traits_of(const char *spec, tw_dtype_t dtype)
{
    tw_codec_t       *codec = test_codec(spec, dtype);
    tw_codec_traits_t traits;

    ck_assert_int_eq(tw_codec_traits(codec, &traits), TW_OK);
    tw_codec_destroy(codec);
    return traits;
}

/* By whole bytes per value: the first rung that takes more, "" where that is all of them. */
static const char *next_float(double bytes)
{
    static const char *const rungs[] = {"tree8", "bf16", "bitpack:3"};

    for (int i = 0; i < 3; i++) {
        if ((int)traits_of(rungs[i], TW_F32).bytes > (int)bytes) {
            return rungs[i];
        }
    }
    return "";
}

START_TEST(the_next_rung_takes_more_bytes)
{
    const char             *spec   = test_specs[_i].spec;
    const tw_dtype_t        dtype  = test_specs[_i].dtype;
    const tw_codec_traits_t traits = traits_of(spec, dtype);
    char                    want[32];

    if (dtype == TW_F32) {
        snprintf(want, sizeof(want), "%s", next_float(traits.bytes));
    } else {
        snprintf(want, sizeof(want), "bitpack:%d", (int)traits.bytes + 1);
        want[traits.bytes < 7.0 ? sizeof(want) - 1 : 0] = '\0';
    }
    if (strncmp(want, "bitpack", 7) == 0 && strstr(spec, ",round") != NULL) {
        strcat(want, ",round");
    }
    ck_assert_str_eq(tw_ladder_next(spec, dtype == TW_F64, false), want);
    if (dtype == TW_F32) { /* doubles that travel as floats */
        ck_assert_str_eq(tw_ladder_next(spec, true, true), want);
    }
}
END_TEST

/* From any codec, each step is a codec of the same type that takes more, and the last is off. */
START_TEST(the_ladder_ends)
{
    const tw_dtype_t dtype = test_specs[_i].dtype;
    const char      *spec  = test_specs[_i].spec;
    double           bytes = (int)traits_of(spec, dtype).bytes;
    int              steps = 0;

    for (;;) {
        spec = tw_ladder_next(spec, dtype == TW_F64, false);
        if (spec[0] == '\0') {
            break;
        }
        ck_assert_double_gt(traits_of(spec, dtype).bytes, bytes);
        bytes = traits_of(spec, dtype).bytes;
        ck_assert_int_lt(++steps, 8);
    }
}
END_TEST

START_TEST(every_codec_has_its_rung)
{
    const char *name, *next;
    int         off = 0;

    for (size_t i = 0; i < tw_codec_count(); i++) {
        ck_assert_int_eq(tw_codec_describe(i, &name, NULL, NULL), TW_OK);
        if (strcmp(name, "bitpack") != 0) { /* which needs K; it is in the loops above */
            next = tw_ladder_next(name, false, false);
            ck_assert_str_eq(next, next_float(traits_of(name, TW_F32).bytes));
            off += next[0] == '\0';
        }
    }
    ck_assert_int_eq(off, 1); /* fp32 */
}
END_TEST

static const struct {
    const char *spec;
    bool        wide, narrow;
    const char *next;
} other[] = {
    {"", false, false, ""},
    {"off", false, false, ""},
    {"tree", false, false, ""},
    {"tree80", false, false, ""},
    {"tree8:", false, false, "bf16"},
    {"bitpack", false, false, ""},
    {"bitpack:", true, false, ""},
    {"bitpack:0", true, false, ""},
    {"bitpack:9", true, false, ""},
    {"bitpack:22", true, false, ""},
    {"bitpack:round", true, false, ""},
    {"bitpack:round,2", false, false, "bitpack:3,round"},
    {"bitpack:round,4", true, false, "bitpack:5,round"},
    {"bitpack:2,", false, false, "bitpack:3"},
    {"bitpack:3", true, false, "bitpack:4"},
    {"bitpack:3", true, true, ""},
    {"bitpack:5", true, true, "bitpack:6"}, /* no float has five bytes: it travels as a double */
    {"tree8", true, false, ""},
    {"tree8", true, true, "bf16"},
    {"fp32", true, true, ""},
};

START_TEST(other_specs_have_a_rung_too)
{
    ck_assert_str_eq(tw_ladder_next(other[_i].spec, other[_i].wide, other[_i].narrow),
                     other[_i].next);
}
END_TEST

int main(void)
{
    Suite *suite    = suite_create("drop-in");
    TCase *settings = tcase_create("settings");
    TCase *ladder   = tcase_create("ladder");

    tcase_add_test(settings, settings_have_defaults);
    tcase_add_test(settings, settings_come_from_the_environment);
    tcase_add_loop_test(settings, malformed_settings_are_refused, 0,
                        (int)(sizeof(malformed) / sizeof(malformed[0])));
    tcase_add_loop_test(ladder, the_next_rung_takes_more_bytes, 0, test_spec_count);
    tcase_add_loop_test(ladder, the_ladder_ends, 0, test_spec_count);
    tcase_add_test(ladder, every_codec_has_its_rung);
    tcase_add_loop_test(ladder, other_specs_have_a_rung_too, 0,
                        (int)(sizeof(other) / sizeof(other[0])));
    suite_add_tcase(suite, settings);
    suite_add_tcase(suite, ladder);
    return test_main(suite);
}
