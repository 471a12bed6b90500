/* SPDX-License-Identifier: BSD-3-Clause
 * tests/base/test_base.c - statuses, settings, log, pool.
 */
#include "config.h"

#include <check.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/base/bytes.h"
#include "runtime/base/clock.h"
#include "runtime/base/context.h"
#include "runtime/base/pool.h"

static char   captured[4096];
static size_t captured_lines;

static void capture(void *arg, tw_log_level_t level, int rank, const char *line)
{
    (void)arg;
    (void)level;
    (void)rank;
    strncat(captured, line, sizeof(captured) - strlen(captured) - 2);
    strcat(captured, "\n");
    captured_lines++;
}

static tw_log_t capture_log(tw_log_level_t level)
{
    captured[0]    = '\0';
    captured_lines = 0;
    return (tw_log_t){.level = level, .rank = 0, .fn = capture};
}

START_TEST(statuses_have_names_and_texts)
{
#define TW_CHECK(name, value, text)                                                                \
    ck_assert_str_eq(tw_status_name(TW_##name), "TW_" #name);                                      \
    ck_assert_str_eq(tw_status_text((tw_status_t)(value)), text);
    TW_STATUS_MAP(TW_CHECK)
#undef TW_CHECK
    ck_assert_str_eq(tw_status_name((tw_status_t)-999), "TW_ERR_UNKNOWN");
}
END_TEST

START_TEST(log_drops_what_is_above_the_level)
{
    const tw_log_t log = capture_log(TW_LOG_WARN);

    TW_INFO(&log, "quiet");
    ck_assert_uint_eq(captured_lines, 0);
    TW_WARN(&log, "%s speaks", "rank 5");
    ck_assert_str_eq(captured, "rank 5 speaks\n");
}
END_TEST

typedef struct demo {
    int         number, flag, choice;
    size_t      bytes;
    double      seconds, part;
    const char *text;
} demo_t;

static const char *const demo_choices[] = {"red", "green", NULL};

static const tw_setting_field_t demo_fields[] = {
    {"DEMO_NUMBER", "3", "n", offsetof(demo_t, number), TW_SETTING_INT, 1, 9, NULL},
    {"DEMO_FLAG", "no", "f", offsetof(demo_t, flag), TW_SETTING_BOOL, 0, 0, NULL},
    {"DEMO_CHOICE", "green", "c", offsetof(demo_t, choice), TW_SETTING_CHOICE, 0, 0, demo_choices},
    {"DEMO_BYTES", "64k", "b", offsetof(demo_t, bytes), TW_SETTING_MEMUNITS, 0, 0, NULL},
    {"DEMO_SECONDS", "1.5", "s", offsetof(demo_t, seconds), TW_SETTING_SECONDS, 0, 0, NULL},
    {"DEMO_PART", "2.5e-3", "p", offsetof(demo_t, part), TW_SETTING_NUMBER, 0, 0, NULL},
    {"DEMO_TEXT", "t", "t", offsetof(demo_t, text), TW_SETTING_TEXT, 0, 0, NULL},
};

static const tw_setting_table_t demo_table = {"demo", demo_fields, 7};

START_TEST(settings_take_defaults_and_the_environment)
{
    const tw_log_t log = capture_log(TW_LOG_WARN);
    demo_t         demo;

    ck_assert_int_eq(tw_settings_load(&log, &demo_table, &demo), TW_OK);
    ck_assert_int_eq(demo.number, 3);
    ck_assert_int_eq(demo.flag, 0);
    ck_assert_int_eq(demo.choice, 1);
    ck_assert_uint_eq(demo.bytes, 65536);
    ck_assert_double_eq(demo.seconds, 1.5);
    ck_assert_double_eq(demo.part, 2.5e-3);
    ck_assert_str_eq(demo.text, "t");
    setenv("THINWIRE_DEMO_NUMBER", "9", 1);
    setenv("THINWIRE_DEMO_FLAG", "ON", 1);
    setenv("THINWIRE_DEMO_CHOICE", "red", 1);
    setenv("THINWIRE_DEMO_BYTES", "inf", 1);
    setenv("THINWIRE_DEMO_PART", "1e9", 1);
    ck_assert_int_eq(tw_settings_load(&log, &demo_table, &demo), TW_OK);
    ck_assert_int_eq(demo.number, 9);
    ck_assert_int_eq(demo.flag, 1);
    ck_assert_int_eq(demo.choice, 0);
    ck_assert_uint_eq(demo.bytes, SIZE_MAX);
    ck_assert_double_eq(demo.part, 1e9);
}
END_TEST

static const struct {
    const char *name, *value, *accepted;
} malformed[] = {
    {"THINWIRE_DEMO_NUMBER", "10", "1..9"},
    {"THINWIRE_DEMO_NUMBER", "3x", "1..9"},
    {"THINWIRE_DEMO_NUMBER", "99999999999999999999", "1..9"},
    {"THINWIRE_DEMO_FLAG", "maybe", "0|1"},
    {"THINWIRE_DEMO_CHOICE", "blue", "red|green"},
    {"THINWIRE_DEMO_BYTES", "-1", "bytes"},
    {"THINWIRE_DEMO_BYTES", "12q", "bytes"},
    {"THINWIRE_DEMO_BYTES", "99999999999999G", "bytes"},
    {"THINWIRE_DEMO_SECONDS", "nan", "seconds"},
    {"THINWIRE_DEMO_SECONDS", "-2", "seconds"},
    {"THINWIRE_DEMO_PART", "-0.1", "a number, 0 or more"},
    {"THINWIRE_DEMO_PART", "1e-2%", "a number, 0 or more"},
    {"THINWIRE_DEMO_PART", "1.1e9", "at most 1e9"},
};

START_TEST(malformed_settings_are_named)
{
    const tw_log_t log = capture_log(TW_LOG_WARN);
    demo_t         demo;

    setenv(malformed[_i].name, malformed[_i].value, 1);
    ck_assert_int_eq(tw_settings_load(&log, &demo_table, &demo), TW_ERR_SETTING);
    ck_assert_uint_eq(captured_lines, 1);
    ck_assert_ptr_nonnull(strstr(captured, malformed[_i].name));
    ck_assert_ptr_nonnull(strstr(captured, malformed[_i].value));
    ck_assert_ptr_nonnull(strstr(captured, malformed[_i].accepted));
}
END_TEST

START_TEST(unknown_settings_are_warned_about)
{
    const tw_log_t                  log      = capture_log(TW_LOG_WARN);
    const tw_setting_table_t *const tables[] = {&demo_table, NULL};

    unsetenv("THINWIRE_DATA"); /* whoever runs the tests may have set these */
    unsetenv("THINWIRE_SEED");
    setenv("THINWIRE_DEMO_NUMBER", "4", 1);
    ck_assert_int_eq(tw_settings_check_environment(&log, tables), TW_OK);
    ck_assert_uint_eq(captured_lines, 0);
    setenv("THINWIRE_DEMO_NUMBR", "4", 1);
    ck_assert_int_eq(tw_settings_check_environment(&log, tables), TW_OK);
    ck_assert_uint_eq(captured_lines, 1);
    ck_assert_ptr_nonnull(strstr(captured, "THINWIRE_DEMO_NUMBR "));
    ck_assert_ptr_nonnull(strstr(captured, "THINWIRE_DEMO_NUMBER?"));
}
END_TEST

START_TEST(distances_of_names)
{
    char long_name[66];

    memset(long_name, 'a', sizeof(long_name));
    long_name[65] = '\0';
    ck_assert_uint_eq(tw_edit_distance("", ""), 0);
    ck_assert_uint_eq(tw_edit_distance("bcast", ""), 5);
    ck_assert_uint_eq(tw_edit_distance("ibcast", "bcast"), 1);
    ck_assert_uint_eq(tw_edit_distance("kitten", "sitting"), 3);
    ck_assert_uint_eq(tw_edit_distance(long_name, "a"), SIZE_MAX);
    ck_assert_uint_eq(tw_edit_distance(long_name + 1, "a"), 63);
}
END_TEST

START_TEST(every_setting_is_listed_with_help)
{
    tw_setting_t setting;

    ck_assert_uint_gt(tw_settings_count(), 8);
    for (size_t i = 0; i < tw_settings_count(); i++) {
        ck_assert_int_eq(tw_settings_get(i, &setting), TW_OK);
        ck_assert_int_eq(strncmp(setting.name, "THINWIRE_", 9), 0);
        ck_assert_uint_gt(strlen(setting.help), 10);
        ck_assert_uint_gt(strlen(setting.accepted), 2);
    }
    ck_assert_int_eq(tw_settings_get(tw_settings_count(), &setting), TW_ERR_RANGE);
    ck_assert_int_eq(tw_settings_get(0, NULL), TW_ERR_INVALID_ARG);
}
END_TEST

START_TEST(context_refuses_a_malformed_setting)
{
    tw_context_t *ctx = NULL;

    setenv("THINWIRE_LOG_LEVEL", "loud", 1);
    ck_assert_int_eq(tw_context_create(&ctx), TW_ERR_SETTING);
    ck_assert_ptr_null(ctx);
    unsetenv("THINWIRE_LOG_LEVEL");
    setenv("THINWIRE_CHUNK", "much", 1); /* of another module, found here all the same */
    ck_assert_int_eq(tw_context_create(&ctx), TW_ERR_SETTING);
    unsetenv("THINWIRE_CHUNK");
    ck_assert_int_eq(tw_context_create(&ctx), TW_OK);
    tw_context_destroy(ctx);
    ck_assert_int_eq(tw_context_create(NULL), TW_ERR_INVALID_ARG);
}
END_TEST

START_TEST(pool_reuses_buffers)
{
    static const size_t sizes[] = {0, 1, 127, 128, 1023, 1024, 1025, 1281, 5000, 1000003};
    tw_pool_t           pool;
    void               *buffer[10];

    tw_pool_init(&pool);
    for (int round = 0; round < 3; round++) {
        for (size_t i = 0; i < 10; i++) {
            ck_assert_int_eq(tw_pool_get(&pool, sizes[i], &buffer[i]), TW_OK);
            ck_assert_uint_eq((uintptr_t)buffer[i] % TW_POOL_ALIGN, 0);
            memset(buffer[i], 0x5a, sizes[i]);
        }
        for (size_t i = 0; i < 10; i++) {
            tw_pool_put(&pool, buffer[i]);
        }
        ck_assert_uint_eq(pool.allocations, 10);
    }
    ck_assert_int_eq(tw_pool_reserve(&pool, 1000003), TW_OK);
    ck_assert_uint_eq(pool.allocations, 10);
    ck_assert_uint_le(pool.bytes, 2000000);
    tw_pool_fini(&pool);
}
END_TEST

START_TEST(pool_refuses_what_cannot_be)
{
    tw_pool_t pool;
    void     *buffer = NULL;

    tw_pool_init(&pool);
    ck_assert_int_eq(tw_pool_get(&pool, SIZE_MAX, &buffer), TW_ERR_NO_MEMORY);
    ck_assert_ptr_null(buffer);
    tw_pool_fini(&pool);
}
END_TEST

START_TEST(bytes_are_little_endian)
{
    uint8_t  b[9];
    uint64_t before = tw_clock_ns();

    tw_store_le32(b + 1, 0x01020304u);
    ck_assert_uint_eq(b[1], 4);
    ck_assert_uint_eq(b[4], 1);
    ck_assert_uint_eq(tw_load_le32(b + 1), 0x01020304u);
    tw_store_le64(b + 1, UINT64_C(0x0102030405060708));
    ck_assert_uint_eq(b[1], 8);
    ck_assert(tw_load_le64(b + 1) == UINT64_C(0x0102030405060708));
    ck_assert(tw_fnv1a(TW_FNV_START, "a", 1) == UINT64_C(0xaf63dc4c8601ec8c));
    ck_assert(tw_clock_ns() >= before);
}
END_TEST

int main(void)
{
    Suite   *suite = suite_create("base");
    TCase   *tcase = tcase_create("base");
    SRunner *runner;
    int      failed;

    tcase_add_test(tcase, statuses_have_names_and_texts);
    tcase_add_test(tcase, log_drops_what_is_above_the_level);
    tcase_add_test(tcase, settings_take_defaults_and_the_environment);
    tcase_add_loop_test(tcase, malformed_settings_are_named, 0,
                        (int)(sizeof(malformed) / sizeof(malformed[0])));
    tcase_add_test(tcase, unknown_settings_are_warned_about);
    tcase_add_test(tcase, distances_of_names);
    tcase_add_test(tcase, every_setting_is_listed_with_help);
    tcase_add_test(tcase, context_refuses_a_malformed_setting);
    tcase_add_test(tcase, pool_reuses_buffers);
    tcase_add_test(tcase, pool_refuses_what_cannot_be);
    tcase_add_test(tcase, bytes_are_little_endian);
    suite_add_tcase(suite, tcase);
    runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
