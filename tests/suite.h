/* SPDX-License-Identifier: BSD-3-Clause
 * tests/suite.h - what the main of a Check program does with its cases.
 */
#ifndef TW_TESTS_SUITE_H
#define TW_TESTS_SUITE_H

#include <check.h>
#include <stdlib.h>

/* A new case of the suite, whose tests may each take so many seconds. */
static inline TCase *suite_case(Suite *suite, const char *name, double seconds)
{
    TCase *tcase = tcase_create(name);

    tcase_set_timeout(tcase, seconds);
    suite_add_tcase(suite, tcase);
    return tcase;
}

/* Run all of it and free it; the status of the program. */
static inline int suite_run(Suite *suite)
{
    SRunner *runner = srunner_create(suite);
    int      failed;

    srunner_run_all(runner, CK_ENV);
    failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}

#endif /* TW_TESTS_SUITE_H */
