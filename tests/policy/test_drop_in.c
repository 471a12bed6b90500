/* SPDX-License-Identifier: BSD-3-Clause
 * tests/policy/test_drop_in.c - the settings of the drop-in.
 */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>

#include "runtime/policy/drop_in.h"
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
    ck_assert_int_eq(config.narrow, 0);
    ck_assert_int_eq(config.verify, 0);
    ck_assert_double_eq(config.max_error, 0.0);
    ck_assert_int_eq(config.error_feedback, 0);
    ck_assert_uint_eq(config.feedback_max, (size_t)1 << 30);
    ck_assert_str_eq(config.report, "");
    ck_assert_str_eq(config.json, "");
    ck_assert_str_eq(config.record, "");
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
    setenv("THINWIRE_TYPES", "MPI_SHORT=bfloat16", 1);
    setenv("THINWIRE_DOUBLE", "yes", 1);
    setenv("THINWIRE_VERIFY", "1000000000", 1);
    setenv("THINWIRE_MAX_ERROR", "2.5e-3", 1);
    setenv("THINWIRE_ERROR_FEEDBACK", "on", 1);
    setenv("THINWIRE_FEEDBACK_MAX", "10M", 1);
    setenv("THINWIRE_REPORT", "report.txt", 1);
    setenv("THINWIRE_JSON", "report.json", 1);
    setenv("THINWIRE_RECORD", "job.cfg", 1);
    setenv("THINWIRE_QUIET", "1", 1);
    setenv("THINWIRE_PCONTROL", "1", 1);
    setenv("THINWIRE_BCAST_ROOT", "exact", 1);
    setenv("THINWIRE_ENCODE", "always", 1);
    ck_assert_int_eq(tw_settings_load(&quiet, &tw_drop_in_settings, &config), TW_OK);
    ck_assert_str_eq(config.codec, "tree8:block=512");
    ck_assert_uint_eq(config.threshold, SIZE_MAX);
    ck_assert_str_eq(config.rules, "*:off");
    ck_assert_str_eq(config.rules_file, "rules.txt");
    ck_assert_str_eq(config.types, "MPI_SHORT=bfloat16");
    ck_assert_int_eq(config.narrow, 1);
    ck_assert_int_eq(config.verify, 1000000000);
    ck_assert_double_eq(config.max_error, 2.5e-3);
    ck_assert_int_eq(config.error_feedback, 1);
    ck_assert_uint_eq(config.feedback_max, (size_t)10 << 20);
    ck_assert_str_eq(config.report, "report.txt");
    ck_assert_str_eq(config.json, "report.json");
    ck_assert_str_eq(config.record, "job.cfg");
    ck_assert_int_eq(config.quiet, 1);
    ck_assert_int_eq(config.pcontrol, 1);
    ck_assert_int_eq(config.bcast_root, TW_BCAST_ROOT_EXACT);
    ck_assert_int_eq(config.encode, TW_ENCODE_ALWAYS);
    ck_assert_uint_eq(tw_drop_in_settings.count, 17);
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

int main(void)
{
    Suite *suite    = suite_create("drop-in");
    TCase *settings = test_case(suite, "settings");

    tcase_add_test(settings, settings_have_defaults);
    tcase_add_test(settings, settings_come_from_the_environment);
    TEST_EACH(settings, malformed_settings_are_refused, malformed);
    return test_main(suite);
}
