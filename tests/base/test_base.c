/* SPDX-License-Identifier: BSD-3-Clause
 * tests/base/test_base.c - statuses, settings, log, pool, files.
 */
#include "config.h"

#include <dirent.h>
#include <errno.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "runtime/base/bytes.h"
#include "runtime/base/clock.h"
#include "runtime/base/context.h"
#include "runtime/base/file.h"
#include "runtime/base/pool.h"
#include "runtime/base/text.h"
#include "tests/suite.h"

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
    int         number, flag, choice, either;
    size_t      bytes;
    double      seconds, part;
    const char *text;
} demo_t;

static const char *const demo_choices[] = {"red", "green", NULL};

static const tw_setting_field_t demo_fields[] = {
    {"DEMO_NUMBER", "3", "n", offsetof(demo_t, number), TW_SETTING_INT, 1, 9, NULL, false},
    {"DEMO_FLAG", "no", "f", offsetof(demo_t, flag), TW_SETTING_BOOL, 0, 0, NULL, false},
    {"DEMO_CHOICE", "green", "c", offsetof(demo_t, choice), TW_SETTING_CHOICE, 0, 0, demo_choices,
     false},
    {"DEMO_BYTES", "64k", "b", offsetof(demo_t, bytes), TW_SETTING_MEMUNITS, 0, 0, NULL, false},
    {"DEMO_SECONDS", "1.5", "s", offsetof(demo_t, seconds), TW_SETTING_SECONDS, 0, 0, NULL, false},
    {"DEMO_PART", "2.5e-3", "p", offsetof(demo_t, part), TW_SETTING_NUMBER, 0, 0, NULL, false},
    {"DEMO_TEXT", "t", "t", offsetof(demo_t, text), TW_SETTING_TEXT, 0, 0, NULL, false},
    {"DEMO_EITHER", "red", "e", offsetof(demo_t, either), TW_SETTING_INT, 0, 7, demo_choices,
     false},
};

static const tw_setting_table_t demo_table = {"demo", demo_fields, 8};

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
    ck_assert_int_eq(demo.either, -1);
    setenv("THINWIRE_DEMO_NUMBER", "9", 1);
    setenv("THINWIRE_DEMO_FLAG", "ON", 1);
    setenv("THINWIRE_DEMO_CHOICE", "red", 1);
    setenv("THINWIRE_DEMO_BYTES", "inf", 1);
    setenv("THINWIRE_DEMO_PART", "1e9", 1);
    setenv("THINWIRE_DEMO_EITHER", "Green", 1);
    ck_assert_int_eq(tw_settings_load(&log, &demo_table, &demo), TW_OK);
    ck_assert_int_eq(demo.number, 9);
    ck_assert_int_eq(demo.flag, 1);
    ck_assert_int_eq(demo.choice, 0);
    ck_assert_uint_eq(demo.bytes, SIZE_MAX);
    ck_assert_double_eq(demo.part, 1e9);
    ck_assert_int_eq(demo.either, -2);
    setenv("THINWIRE_DEMO_EITHER", "7", 1);
    ck_assert_int_eq(tw_settings_load(&log, &demo_table, &demo), TW_OK);
    ck_assert_int_eq(demo.either, 7);
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
    {"THINWIRE_DEMO_EITHER", "8", "red|green|0..7"},
    {"THINWIRE_DEMO_EITHER", "-1", "red|green|0..7"},
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

START_TEST(texts_are_one_number_or_none)
{
    static const char *const no[]           = {"",    " 1",  "1 ", "+1",  "-1",   "1x",
                                               "0x1", "1.0", "k",  "1kk", "inf ", "18446744073709551616"};
    static const char *const not_a_number[] = {"",      " 1",  "1 ", "0x1p3", "nan", "inf",
                                               "1e999", "1,5", ".",  "1e",    "e1"};
    uint64_t                 whole          = 7;
    size_t                   bytes          = 7;
    double                   number         = 7.0;

    for (size_t i = 0; i < sizeof(no) / sizeof(no[0]); i++) {
        ck_assert(!tw_text_whole(no[i], 0, UINT64_MAX, &whole) && whole == 7);
        ck_assert(!tw_text_bytes(no[i], &bytes) && bytes == 7);
    }
    ck_assert(!tw_text_whole("3", 4, 5, &whole) && !tw_text_whole("6", 4, 5, &whole));
    ck_assert(tw_text_whole("5", 4, 5, &whole) && whole == 5);
    ck_assert(tw_text_whole("18446744073709551615", 0, UINT64_MAX, &whole) && whole == UINT64_MAX);
    ck_assert(tw_text_bytes("3k", &bytes) && bytes == 3072);
    ck_assert(tw_text_bytes("3M", &bytes) && bytes == (size_t)3 << 20);
    ck_assert(tw_text_bytes("3g", &bytes) && bytes == (size_t)3 << 30);
    ck_assert(tw_text_bytes("inf", &bytes) && bytes == SIZE_MAX);
    ck_assert(!tw_text_bytes("17179869184G", &bytes)); /* 2^64 */
    for (size_t i = 0; i < sizeof(not_a_number) / sizeof(not_a_number[0]); i++) {
        ck_assert(!tw_text_number(not_a_number[i], &number) && number == 7.0);
    }
    ck_assert(tw_text_number("-1.5e-3", &number) && number == -1.5e-3);
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

static void get_and_put(tw_pool_t *pool, size_t first, size_t second)
{
    void *buffer[2] = {NULL, NULL};

    ck_assert_int_eq(tw_pool_get(pool, first, &buffer[0]), TW_OK);
    if (second > 0) {
        ck_assert_int_eq(tw_pool_get(pool, second, &buffer[1]), TW_OK);
    }
    tw_pool_put(pool, buffer[0]);
    tw_pool_put(pool, buffer[1]);
}

/* Calls of many sizes, with one buffer or two at a time: no more is kept than the largest of them
 * needs, and soon nothing is asked for any more. */
START_TEST(pool_keeps_no_more_than_the_largest_call)
{
    const size_t least = 100000, most = 3000000;
    const int    pairs = _i;
    tw_pool_t    pool;
    uint64_t     before = 0;

    tw_pool_init(&pool);
    for (int round = 0; round < 6; round++) {
        before = pool.allocations;
        for (size_t bytes = least; bytes <= most; bytes += 37501) {
            get_and_put(&pool, bytes, pairs ? bytes / 3 : 0);
            get_and_put(&pool, bytes / 2, pairs ? bytes / 2 : 0);
            ck_assert_uint_le(pool.bytes, (bytes + (pairs ? bytes / 2 : 0)) / 4 * 5 + 2000 +
                                              (round > 0 ? 5 * most / 2 : 0));
        }
        ck_assert_uint_le(pool.bytes, (most + (pairs ? most / 2 : 0)) / 4 * 5 + 2000);
    }
    ck_assert_uint_eq(pool.allocations, before);
    tw_pool_fini(&pool);
}
END_TEST

/* Whatever is in use, goes back or was refused meanwhile. */
START_TEST(pool_keeps_what_is_reserved)
{
    tw_pool_t pool;
    void     *large = NULL, *buffer = NULL;

    tw_pool_init(&pool);
    ck_assert_int_eq(tw_pool_reserve(&pool, 100000), TW_OK);
    ck_assert_int_eq(tw_pool_get(&pool, 400000, &large), TW_OK);
    pool.limit = pool.bytes;
    ck_assert_int_eq(tw_pool_get(&pool, 100000, &buffer), TW_OK); /* while the other is in use */
    tw_pool_put(&pool, buffer);
    ck_assert_int_eq(tw_pool_reserve(&pool, 500000), TW_ERR_NO_MEMORY);
    ck_assert_int_eq(tw_pool_get(&pool, 100000, &buffer), TW_OK); /* as before */
    tw_pool_put(&pool, buffer);
    tw_pool_put(&pool, large);
    tw_pool_trim(&pool, 100000);
    pool.limit = pool.bytes;
    ck_assert_uint_le(pool.bytes, 130000);
    ck_assert_int_eq(tw_pool_get(&pool, 100000, &buffer), TW_OK);
    tw_pool_put(&pool, buffer);
    tw_pool_fini(&pool);

    tw_pool_init(&pool);
    get_and_put(&pool, 400000, 0);
    ck_assert_int_eq(tw_pool_reserve(&pool, 100000), TW_OK); /* in the larger one */
    tw_pool_trim(&pool, 100000);
    pool.limit = pool.bytes;
    ck_assert_int_eq(tw_pool_get(&pool, 100000, &buffer), TW_OK);
    tw_pool_put(&pool, buffer);
    pool.limit = UINT64_MAX;
    ck_assert_int_eq(tw_pool_reserve(&pool, 2000000), TW_OK);
    ck_assert_uint_le(pool.bytes, 2500000 + 200); /* the old one made way */
    tw_pool_fini(&pool);
}
END_TEST

/* A program whose calls become small gets its memory back, where that is asked for. */
START_TEST(pool_shrinks_with_what_is_asked_for)
{
    tw_pool_t pool;
    uint64_t  before;

    tw_pool_init(&pool);
    pool.window = 100;
    get_and_put(&pool, 5000000, 3000000);
    for (int i = 0; i < 150; i++) { /* now and then a large one: it stays */
        get_and_put(&pool, i % 30 == 0 ? 5000000 : 1000, i % 30 == 0 ? 3000000 : 2000);
    }
    ck_assert_uint_eq(pool.allocations, 2);
    for (int i = 0; i < 300; i++) {
        get_and_put(&pool, 1000, 2000);
    }
    ck_assert_uint_le(pool.bytes, 10000);
    before = pool.allocations;
    for (int i = 0; i < 1000; i++) {
        get_and_put(&pool, 1000, 2000);
    }
    ck_assert_uint_eq(pool.allocations, before);
    get_and_put(&pool, 5000000, 3000000);
    tw_pool_trim(&pool, 3000000);
    ck_assert_uint_le(pool.bytes, 4000000);
    tw_pool_trim(&pool, 0);
    ck_assert_uint_le(pool.bytes, 2000);
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

/* ---- files ---------------------------------------------------------------------------------- */

static char folder[64];

static const char *in_folder(const char *format, long pid)
{
    static char path[2][160];
    static int  turn;
    char        name[64];

    turn = !turn;
    snprintf(name, sizeof(name), format, pid);
    snprintf(path[turn], sizeof(path[turn]), "%s/%s", folder, name);
    return path[turn];
}

static void folder_make(void)
{
    snprintf(folder, sizeof(folder), "/tmp/thinwire-test-XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(folder));
}

static void folder_remove(void)
{
    DIR           *all = opendir(folder);
    struct dirent *entry;
    char           path[400];

    while ((entry = readdir(all)) != NULL) {
        snprintf(path, sizeof(path), "%s/%s", folder, entry->d_name);
        unlink(path);
    }
    closedir(all);
    ck_assert_int_eq(rmdir(folder), 0);
}

static void file_is(const char *path, const char *want)
{
    char  *text;
    size_t length;

    ck_assert_msg(tw_file_read(path, 1000, &text, &length), "%s: %s", path, strerror(errno));
    ck_assert_str_eq(text, want);
    free(text);
}

/* Under the name of the file that is to be renamed there is a link to another, or something that a
 * killed process has left. */
START_TEST(a_planted_link_is_not_followed)
{
    struct stat about;

    folder_make();
    ck_assert(tw_file_replace(in_folder("victim", 0), "old", 3));
    ck_assert_int_eq(symlink("victim", in_folder("out.%ld.tmp", (long)getpid())), 0);
    ck_assert(tw_file_replace(in_folder("out", 0), "new", 3));
    file_is(in_folder("victim", 0), "old");
    file_is(in_folder("out", 0), "new");
    ck_assert(lstat(in_folder("out", 0), &about) == 0 && S_ISREG(about.st_mode));
    ck_assert(lstat(in_folder("out.%ld.tmp", (long)getpid()), &about) == 0); /* not ours */
    ck_assert(lstat(in_folder("out.%ld-1.tmp", (long)getpid()), &about) != 0);
    ck_assert(tw_file_replace(in_folder("out", 0), "newer", 5));
    file_is(in_folder("out", 0), "newer");
    ck_assert(!tw_file_replace(in_folder("no/out", 0), "new", 3) && errno == ENOENT);
    folder_remove();
}
END_TEST

/* What dead processes of this machine left beside a file goes; all else stays: of living ones, of
 * one that holds the lock, links, and other names. */
START_TEST(what_is_left_of_the_dead_goes)
{
    static const char *const kept[] = {
        "out.1.tmp",           "out.2147483647.tmpx", "xout.2147483646.tmp", "out.0.tmp",
        "out.2147483646x.tmp", "out.2147483646",      "out.-5.tmp",          "out.99999999999.tmp",
        "out.2147483644.tmp",  "out.2147483645.tmp"};
    struct stat about;
    int         locked;

    folder_make();
    for (size_t k = 0; k + 1 < sizeof(kept) / sizeof(kept[0]); k++) {
        ck_assert(tw_file_replace(in_folder(kept[k], 0), "x", 1));
    }
    ck_assert_int_eq(symlink("out.1.tmp", in_folder("out.2147483645.tmp", 0)), 0);
    ck_assert(tw_file_replace(in_folder("out.2147483647.tmp", 0), "x", 1));
    ck_assert(tw_file_replace(in_folder("out.2147483646-12.tmp", 0), "x", 1));
    locked = open(in_folder("out.2147483644.tmp", 0), O_RDWR);
    ck_assert_int_eq(flock(locked, LOCK_EX), 0);
    ck_assert(tw_file_replace(in_folder("out", 0), "new", 3));
    file_is(in_folder("out", 0), "new");
    ck_assert(lstat(in_folder("out.2147483647.tmp", 0), &about) != 0);
    ck_assert(lstat(in_folder("out.2147483646-12.tmp", 0), &about) != 0);
    for (size_t k = 0; k < sizeof(kept) / sizeof(kept[0]); k++) {
        ck_assert_msg(lstat(in_folder(kept[k], 0), &about) == 0, "%s is gone", kept[k]);
    }
    close(locked);
    folder_remove();
}
END_TEST

START_TEST(trying_a_file_changes_nothing)
{
    struct stat about;

    folder_make();
    ck_assert_int_eq(tw_file_writable(in_folder("new", 0)), 0);
    ck_assert_int_ne(stat(in_folder("new", 0), &about), 0);
    ck_assert(tw_file_replace(in_folder("old", 0), "old", 3));
    ck_assert_int_eq(tw_file_writable(in_folder("old", 0)), 0);
    file_is(in_folder("old", 0), "old");
    ck_assert_int_eq(tw_file_writable(in_folder("no/out", 0)), ENOENT);
    ck_assert_int_eq(tw_file_writable(in_folder("old/out", 0)), ENOTDIR);
    ck_assert_int_eq(tw_file_writable(folder), EISDIR);
    ck_assert_int_eq(tw_file_writable("/dev/null"), 0);
    ck_assert_int_eq(tw_file_replaceable(in_folder("new", 0)), 0);
    ck_assert_int_ne(stat(in_folder("new", 0), &about), 0);
    ck_assert_int_ne(lstat(in_folder("new.%ld.tmp", (long)getpid()), &about), 0);
    ck_assert_int_eq(tw_file_replaceable(in_folder("no/out", 0)), ENOENT);
    ck_assert_int_eq(tw_file_replaceable(in_folder("old/out", 0)), ENOTDIR);
    ck_assert_int_eq(mkfifo(in_folder("pipe", 0), 0600), 0);
    ck_assert_int_eq(tw_file_writable(in_folder("pipe", 0)), 0);
    ck_assert_int_eq(symlink("nowhere/x", in_folder("dangling", 0)), 0);
    ck_assert_int_eq(tw_file_writable(in_folder("dangling", 0)), ENOENT);
    ck_assert_int_eq(symlink("target", in_folder("link", 0)), 0);
    ck_assert_int_eq(tw_file_writable(in_folder("link", 0)), 0);
    ck_assert_int_ne(stat(in_folder("target", 0), &about), 0);
    ck_assert_int_eq(lstat(in_folder("link", 0), &about), 0);
    folder_remove();
}
END_TEST

START_TEST(a_lock_is_not_waited_for_for_ever)
{
    long  holder = -1;
    int   held, fd, told[2];
    pid_t child;
    char  byte = 0;

    folder_make();
    held = tw_file_lock_folder(in_folder("out", 0), 0.0, &holder);
    ck_assert_int_ge(held, 0);
    ck_assert_int_eq(pipe(told), 0);
    close(held);
    child = fork();
    if (child == 0) {
        held = tw_file_lock_folder(in_folder("out", 0), 0.0, &holder);
        byte = held >= 0 ? 'y' : 'n';
        _exit(write(told[1], &byte, 1) == 1 ? (pause(), 0) : 1);
    }
    ck_assert(read(told[0], &byte, 1) == 1 && byte == 'y');
    fd = tw_file_lock_folder(in_folder("out", 0), 0.05, &holder);
    ck_assert(fd == -1 && errno == EWOULDBLOCK);
    ck_assert_msg(holder == (long)child || access("/proc/locks", R_OK) != 0, "held by %ld", holder);
    kill(child, SIGKILL);
    ck_assert_int_eq(waitpid(child, NULL, 0), child);
    fd = tw_file_lock_folder(in_folder("out", 0), 5.0, &holder);
    ck_assert_int_ge(fd, 0);
    close(fd);
    folder_remove();
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("base");
    TCase *tcase = test_case(suite, "base");

    tcase_add_test(tcase, statuses_have_names_and_texts);
    tcase_add_test(tcase, log_drops_what_is_above_the_level);
    tcase_add_test(tcase, settings_take_defaults_and_the_environment);
    TEST_EACH(tcase, malformed_settings_are_named, malformed);
    tcase_add_test(tcase, unknown_settings_are_warned_about);
    tcase_add_test(tcase, texts_are_one_number_or_none);
    tcase_add_test(tcase, distances_of_names);
    tcase_add_test(tcase, every_setting_is_listed_with_help);
    tcase_add_test(tcase, context_refuses_a_malformed_setting);
    tcase_add_test(tcase, pool_reuses_buffers);
    tcase_add_loop_test(tcase, pool_keeps_no_more_than_the_largest_call, 0, 2);
    tcase_add_test(tcase, pool_keeps_what_is_reserved);
    tcase_add_test(tcase, pool_shrinks_with_what_is_asked_for);
    tcase_add_test(tcase, pool_refuses_what_cannot_be);
    tcase_add_test(tcase, bytes_are_little_endian);
    tcase_add_test(tcase, a_planted_link_is_not_followed);
    tcase_add_test(tcase, what_is_left_of_the_dead_goes);
    tcase_add_test(tcase, trying_a_file_changes_nothing);
    tcase_add_test(tcase, a_lock_is_not_waited_for_for_ever);
    return test_main(suite);
}
