/* SPDX-License-Identifier: BSD-3-Clause
 * tests/interpose/test_report_json.c - the report of the drop-in as JSON, and both reports in a
 * locale with a decimal comma.
 */
#include "config.h"

#include <jansson.h>
#include <locale.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/interpose/made_up.h"
#include "tests/suite.h"

/* ---- JSON ---------------------------------------------------------------------------------- */

static json_t *json_of(const tw_report_about_t *about, const tw_record_t *records, size_t count)
{
    char        *text   = NULL;
    size_t       size   = 0;
    FILE        *stream = open_memstream(&text, &size);
    json_t      *root;
    json_error_t error;

    ck_assert_ptr_nonnull(stream);
    tw_report_json(stream, about, records, count);
    ck_assert_int_eq(fclose(stream), 0);
    root = json_loadb(text, size, JSON_REJECT_DUPLICATES, &error);
    ck_assert_msg(root != NULL, "line %d: %s in:\n%s", error.line, error.text, text);
    free(text);
    return root;
}

static double number(const json_t *object, const char *name)
{
    const json_t *value = json_object_get(object, name);

    ck_assert_msg(json_is_number(value), "%s", name);
    return json_number_value(value);
}

static const char *string(const json_t *object, const char *name)
{
    const json_t *value = json_object_get(object, name);

    ck_assert_msg(json_is_string(value), "%s", name);
    return json_string_value(value);
}

START_TEST(json_holds_all)
{
    const tw_report_about_t about   = about_everything();
    tw_record_t            *records = records_of_everything(500);
    json_t                 *root    = json_of(&about, records, 500);
    const json_t           *rows    = json_object_get(root, "rows");
    const json_t           *totals  = json_object_get(root, "totals");
    double                  calls = 0, seconds = 0;

    ck_assert_str_eq(string(root, "version"), PACKAGE_VERSION);
    ck_assert_str_eq(string(root, "command"), "run");
    ck_assert_str_eq(string(root, "library"), "Open MPI v4.1.4");
    ck_assert_str_ne(string(json_object_get(root, "machine"), "host"), "");
    ck_assert_double_ge(number(json_object_get(root, "machine"), "cores"), 1);
    ck_assert_double_eq(number(root, "heard"), 3);
    ck_assert_uint_eq(json_array_size(json_object_get(root, "remarks")), 8);
    ck_assert_uint_eq(json_array_size(json_object_get(root, "candidates")),
                      (size_t)tw_candidates()->count);
    ck_assert_uint_eq(json_array_size(rows), 500);
    for (size_t i = 0; i < 500; i++) {
        const json_t *row = json_array_get(rows, i);

        ck_assert_double_eq(number(row, "calls"), (double)records[i].calls);
        ck_assert_double_eq(number(row, "bytes"), (double)records[i].uncompressed);
        ck_assert_double_eq(number(row, "wire_bytes"), (double)records[i].sent);
        ck_assert_str_eq(string(row, "codec"), records[i].key.codec);
        ck_assert_double_eq(number(row, "rms_error"), 0.02);
        ck_assert_uint_ge(json_object_size(json_object_get(row, "reasons")), 1);
        calls += number(row, "calls");
        seconds += number(row, "seconds");
    }
    ck_assert_double_eq(number(totals, "calls"), calls);
    ck_assert_double_eq_tol(number(totals, "seconds"), seconds, 1e-9 * seconds);
    ck_assert_str_ne(string(root, "verdict"), "");
    json_decref(root);
    free(records);
}
END_TEST

START_TEST(json_of_one_row)
{
    tw_report_about_t about  = about_job("tree8");
    tw_record_t       record = compressed();
    json_t           *root;
    const json_t     *row, *small;

    record.key.nonblocking         = 1;
    record.calls                   = 12;
    record.why[TW_WHY_SMALL]       = 2;
    record.why_bytes[TW_WHY_SMALL] = UINT64_C(9007199254740993); /* not a double */
    record.verified                = 1;
    record.worst                   = (double)INFINITY;
    record.worst_rms               = 1.0 / 3.0;
    root                           = json_of(&about, &record, 1);
    row                            = json_array_get(json_object_get(root, "rows"), 0);
    small                          = json_object_get(json_object_get(row, "reasons"), "small");
    ck_assert_str_eq(string(row, "operation"), "iallreduce");
    ck_assert_str_eq(string(row, "site"), "libapp.so+0x1234");
    ck_assert_str_eq(string(row, "type"), "float");
    ck_assert_str_eq(string(row, "comm"), "world");
    ck_assert_double_eq(number(row, "seconds"), 0.25);
    ck_assert_double_eq(number(row, "encode_seconds"), 0.025);
    ck_assert_double_eq(number(row, "decode_seconds"), 0.0125);
    ck_assert_double_eq(number(row, "compressed_calls"), 10);
    ck_assert(json_is_null(json_object_get(row, "max_error")));
    ck_assert_double_eq(number(row, "rms_error"), 1.0 / 3.0);
    ck_assert_double_eq(number(small, "calls"), 2);
    ck_assert(json_integer_value(json_object_get(small, "bytes")) == INT64_C(9007199254740993));
    ck_assert_str_eq(string(small, "text"), tw_why_texts[TW_WHY_SMALL]);
    ck_assert_ptr_null(json_object_get(root, "candidates"));
    json_decref(root);
}
END_TEST

START_TEST(json_of_advice)
{
    tw_report_about_t about  = about_job("");
    tw_record_t       record = doubles();
    json_t           *root;
    const json_t     *advice, *every;

    about.threshold = 1048576;
    root            = json_of(&about, &record, 1);
    ck_assert_uint_eq(json_array_size(json_object_get(root, "advice")), 1);
    advice = json_array_get(json_object_get(root, "advice"), 0);
    every  = json_object_get(advice, "of_every_value");
    ck_assert_str_eq(string(advice, "type"), "double");
    ck_assert_str_eq(string(advice, "rule"), "double:>=1M=int:24");
    ck_assert_str_eq(string(advice, "codec"), "int:24");
    ck_assert_double_eq_tol(number(advice, "saved"), 0.621, 1e-9);
    ck_assert_double_eq_tol(number(advice, "error"), 0x1p-24, 1e-13);
    ck_assert_double_eq(number(advice, "of"), 256);
    ck_assert_str_eq(string(every, "codec"), "bitpack:4");
    ck_assert_double_eq(number(every, "error"), 0x1p-20);
    ck_assert_double_eq(number(every, "of"), 1);
    json_decref(root);
}
END_TEST

/* Whatever a program calls its communicators; bytes that are no UTF-8 are replaced, others kept. */
START_TEST(json_of_strange_names)
{
    static const char *const names[][2] = {
        {"\"\\/\x01\x7f\n", "\"\\/\x01\x7f\n"},
        {"gr\xc3\xbc\xc3\x9f", "gr\xc3\xbc\xc3\x9f"},
        {"\xe2\x82\xac \xf0\x9f\x98\x80", "\xe2\x82\xac \xf0\x9f\x98\x80"},
        {"\xc3", "\xef\xbf\xbd"},
        {"\xc0\x80", "\xef\xbf\xbd\xef\xbf\xbd"},
        {"\xed\xa0\x80", "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd"},
        {"\xf4\x90\x80\x80x", "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbdx"},
    };
    const tw_report_about_t about = about_job("tree8");

    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        tw_record_t record = compressed();
        json_t     *root;

        memset(record.key.comm, 0, sizeof(record.key.comm));
        memcpy(record.key.comm, names[i][0], strlen(names[i][0]));
        root = json_of(&about, &record, 1);
        ck_assert_str_eq(string(json_array_get(json_object_get(root, "rows"), 0), "comm"),
                         names[i][1]);
        json_decref(root);
    }
}
END_TEST

/* ---- locales ------------------------------------------------------------------------------- */

/* A locale with a decimal comma: one that is installed, or one made for the test. */
static bool set_comma(void)
{
    static const char *const names[]  = {"de_DE.utf8", "de_DE.UTF-8", "fr_FR.utf8", "fr_FR.UTF-8",
                                         "comma"};
    char                     folder[] = "/tmp/thinwire-locale-XXXXXX", command[256];
    bool                     found    = false;

    if (mkdtemp(folder) == NULL) {
        return false;
    }
    for (size_t i = 0; i < 5 && !found; i++) {
        if (i == 4) {
            snprintf(command, sizeof(command), "localedef -i de_DE -f UTF-8 %s/comma >%s/log 2>&1",
                     folder, folder);
            setenv("LOCPATH", folder, 1);
            (void)!system(command);
        }
        found = setlocale(LC_ALL, names[i]) != NULL && localeconv()->decimal_point[0] == ',';
    }
    snprintf(command, sizeof(command), "rm -r %s", folder);
    (void)!system(command);
    return found;
}

START_TEST(numbers_have_points_in_any_locale)
{
    const tw_report_about_t about   = about_everything();
    tw_record_t            *records = records_of_everything(5);
    char                   *text, *comma, digits[32];
    json_t                 *root, *again;

    text = text_of(&about, records, 5);
    root = json_of(&about, records, 5);
    if (!set_comma()) {
        puts("# numbers_have_points_in_any_locale: SKIPPED, there is no locale with a comma here");
    } else {
        snprintf(digits, sizeof(digits), "%.1f", 0.5);
        ck_assert_str_eq(digits, "0,5");
        comma = text_of(&about, records, 5);
        ck_assert_str_eq(text, comma);
        free(comma);
        again = json_of(&about, records, 5);
        ck_assert(json_equal(root, again));
        json_decref(again);
        ck_assert_int_eq(localeconv()->decimal_point[0], ',');
    }
    json_decref(root);
    free(text);
    free(records);
}
END_TEST

int main(void)
{
    Suite *suite  = suite_create("report_json");
    TCase *json   = test_case(suite, "json");
    TCase *locale = test_case(suite, "locale");

    tcase_set_timeout(json, 60);
    tcase_set_timeout(locale, 300); /* making a locale takes a second of a free processor */
    tcase_add_test(json, json_holds_all);
    tcase_add_test(json, json_of_one_row);
    tcase_add_test(json, json_of_advice);
    tcase_add_test(json, json_of_strange_names);
    tcase_add_test(locale, numbers_have_points_in_any_locale);
    return test_main(suite);
}
