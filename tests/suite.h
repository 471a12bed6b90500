/* SPDX-License-Identifier: BSD-3-Clause
 * tests/suite.h - what Check programs share: a case in a suite, a seed, random numbers, the end.
 */
#ifndef TW_TESTS_SUITE_H
#define TW_TESTS_SUITE_H

#include <stdint.h>

#include <check.h>

/* Check writes down where each check is that holds, so that a crash can be told; once is enough for
 * those of a loop. */
void test_mark(const char *file, int line);
#define _mark_point(file, line) test_mark(file, line)

/* A case that belongs to the suite. */
TCase *test_case(Suite *suite, const char *name);

/* The same, whose tests may each take so many seconds. */
TCase *test_case_within(Suite *suite, const char *name, double seconds);

/* A test for each element of an array. */
#define TEST_EACH(tcase, test, array)                                                              \
    tcase_add_loop_test(tcase, test, 0, (int)(sizeof(array) / sizeof((array)[0])))

/* Seed of this run: THINWIRE_SEED, or drawn in the first call, which prints it as a TAP comment. */
uint64_t test_seed(void);

typedef struct test_random {
    uint64_t state;
} test_random_t;

uint64_t test_next(test_random_t *random);
int      test_below(test_random_t *random, int n); /* 0 .. n-1 */

/* Run the suite, with a seed; the program's status. */
int test_main(Suite *suite);

#endif /* TW_TESTS_SUITE_H */
