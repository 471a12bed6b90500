/* SPDX-License-Identifier: BSD-3-Clause
 * tests/policy/test_decisions.c - decisions as text and back, parts of several communicators, and
 * hostile bytes.
 */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/base/bytes.h"
#include "runtime/policy/decisions.h"
#include "tests/suite.h"

#define WRITER "1.2.3"

static const tw_decisions_of_t here = {4, 2, 2, 0, 1}, there = {4, 2, 2, 0, 2};

static tw_decision_t decision(size_t count, const char *spec, const char *algorithm,
                              size_t fragment)
{
    tw_decision_t d = {.question = {.operation = TW_OPERATION_ALLREDUCE, .max_error = 0.1},
                       .fragment = fragment};

    d.question.class_index = tw_model_class(count);
    strcpy(d.spec, spec);
    strcpy(d.algorithm, algorithm);
    return d;
}

static tw_decisions_file_t two_parts(void)
{
    const tw_decision_t first = decision(4, "mpi", "mpi", 0);
    const tw_decision_t second =
        decision(1000000, "tree8:block=4096,split=0.45", "two_pass", 65536);
    tw_decisions_file_t file = {NULL, 0};
    tw_decisions_t      part = {.of = here};

    ck_assert(tw_decisions_add(&part, &first) && tw_decisions_add(&part, &second));
    ck_assert(tw_decisions_put(&file, &part));
    part.of    = there;
    part.count = 1;
    ck_assert(tw_decisions_put(&file, &part));
    free(part.list);
    return file;
}

START_TEST(text_gives_the_same_decisions)
{
    tw_decisions_file_t file = two_parts(), again, none;
    size_t              length, same;
    char                why[160], *text = tw_decisions_write(&file, WRITER, &length), *copy;
    tw_question_t       question;

    ck_assert_ptr_nonnull(text);
    ck_assert_msg(tw_decisions_read(text, length, WRITER, &again, why, sizeof(why)), "%s", why);
    ck_assert_uint_eq(again.count, 2);
    ck_assert(tw_decisions_same(&again.parts[1].of, &there));
    copy = tw_decisions_write(&again, WRITER, &same);
    ck_assert_uint_eq(same, length);
    ck_assert_mem_eq(copy, text, length);
    question = file.parts[0].list[1].question;
    ck_assert_str_eq(tw_decisions_find(&again.parts[0], &question)->algorithm, "two_pass");
    ck_assert_ptr_null(tw_decisions_find(&again.parts[1], &question));
    question.max_error = 0.1000000001;
    ck_assert_ptr_null(tw_decisions_find(&again.parts[0], &question));
    ck_assert(!tw_decisions_read(text, length, "9.9.9", &none, why, sizeof(why)));
    ck_assert(strstr(why, "another version") != NULL);
    free(text);
    free(copy);
    tw_decisions_free(&again);
    tw_decisions_free(&file);
}
END_TEST

START_TEST(a_part_takes_the_place_of_its_own)
{
    tw_decisions_file_t file = two_parts();
    const tw_decision_t one  = decision(8, "fp32", "direct", 65536);
    tw_decisions_t      part = {.of = there};

    ck_assert(tw_decisions_add(&part, &one) && tw_decisions_put(&file, &part));
    ck_assert_uint_eq(file.count, 2);
    ck_assert_uint_eq(file.parts[1].count, 1);
    ck_assert_str_eq(file.parts[1].list[0].spec, "fp32");
    ck_assert_uint_eq(file.parts[0].count, 2);
    free(part.list);
    tw_decisions_free(&file);
}
END_TEST

static bool read_lines(const char *lines, char *why, size_t why_size)
{
    char   text[2000];
    size_t n =
        (size_t)snprintf(text, sizeof(text), "thinwire decisions 1\nversion " WRITER "\n%s", lines);
    tw_decisions_file_t file;
    bool                well;

    n += (size_t)snprintf(text + n, sizeof(text) - n, "checksum %016llx\n",
                          (unsigned long long)tw_fnv1a(TW_FNV_START, text, n));
    well = tw_decisions_read(text, n, WRITER, &file, why, why_size);
    tw_decisions_free(&file);
    return well;
}

START_TEST(lines_are_checked)
{
    static const char *const good =
        "communicator 4 2 2 0 1\nallreduce float 3fb999999999999a plain 0 4 mpi mpi 0\n";
    static const char *const bad[] = {
        "allreduce float 3fb999999999999a plain 0 4 mpi mpi 0\n",
        "communicator 4 2 2 0\n",
        "communicator 4 2 2 0 1\nallsum float 3fb999999999999a plain 0 4 mpi mpi 0\n",
        "communicator 4 2 2 0 1\nallreduce half 3fb999999999999a plain 0 4 mpi mpi 0\n",
        "communicator 4 2 2 0 1\nallreduce float 7ff8000000000000 plain 0 4 mpi mpi 0\n",
        "communicator 4 2 2 0 1\nallreduce float 3fb999999999999a feedback 0 4 mpi mpi 0\n",
        "communicator 4 2 2 0 1\nallreduce float 3fb999999999999a plain 0 9 mpi mpi 0\n",
        "communicator 4 2 2 0 1\nallreduce float 3fb999999999999a plain 0 4 tree8 chain 65536\n",
        "communicator 4 2 2 0 1\nallreduce float 3fb999999999999a plain 0 4 tree8 two_pass 0\n",
        "communicator 4 2 2 0 1\nallreduce float 3fb999999999999a plain 0 4 mpi mpi 0 x\n"};
    char why[160];

    ck_assert_msg(read_lines(good, why, sizeof(why)), "%s", why);
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        ck_assert_msg(!read_lines(bad[i], why, sizeof(why)) && strstr(why, "line ") != NULL, "%s",
                      bad[i]);
    }
}
END_TEST

START_TEST(damage_is_noticed)
{
    tw_decisions_file_t file = two_parts(), read;
    size_t              length, end;
    char                why[160], sum[40], *text = tw_decisions_write(&file, WRITER, &length);
    char               *bad  = malloc(length);
    unsigned            seed = 99;

    for (size_t cut = 0; cut < length; cut++) {
        ck_assert(!tw_decisions_read(text, cut, WRITER, &read, why, sizeof(why)) && why[0] != '\0');
    }
    for (size_t at = 0; at < length; at++) {
        memcpy(bad, text, length);
        bad[at] = (char)(bad[at] ^ (1 << at % 8));
        ck_assert(!tw_decisions_read(bad, length, WRITER, &read, why, sizeof(why)));
    }
    end = length - strlen("checksum 0123456789abcdef\n");
    for (int i = 0; i < 20000; i++) {
        memcpy(bad, text, length);
        for (int k = 0; k < 3; k++) {
            seed                                      = seed * 1103515245u + 12345u;
            bad[36 + seed / 65536u * 7u % (end - 37)] = (char)(seed >> 24);
        }
        snprintf(sum, sizeof(sum), "checksum %016llx\n",
                 (unsigned long long)tw_fnv1a(TW_FNV_START, bad, end));
        memcpy(bad + end, sum, strlen(sum));
        if (!tw_decisions_read(bad, length, WRITER, &read, why, sizeof(why))) {
            ck_assert(why[0] != '\0' && read.count == 0);
        }
        tw_decisions_free(&read);
    }
    free(bad);
    free(text);
    tw_decisions_free(&file);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("decisions");
    TCase *tcase = test_case(suite, "text");

    tcase_add_test(tcase, text_gives_the_same_decisions);
    tcase_add_test(tcase, a_part_takes_the_place_of_its_own);
    tcase_add_test(tcase, lines_are_checked);
    tcase_add_test(tcase, damage_is_noticed);
    return test_main(suite);
}
