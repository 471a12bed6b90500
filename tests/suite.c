/* SPDX-License-Identifier: BSD-3-Clause
 * tests/suite.c - see suite.h.
 */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "tests/suite.h"

void test_mark(const char *file, int line)
{
    static _Thread_local const char *last_file;
    static _Thread_local int         last_line;

    if (line != last_line || file != last_file) {
        last_file = file;
        last_line = line;
        (_mark_point)(file, line);
    }
}

TCase *test_case(Suite *suite, const char *name)
{
    TCase *tcase = tcase_create(name);

    suite_add_tcase(suite, tcase);
    return tcase;
}

TCase *test_case_within(Suite *suite, const char *name, double seconds)
{
    TCase *tcase = test_case(suite, name);

    tcase_set_timeout(tcase, seconds);
    return tcase;
}

uint64_t test_seed(void)
{
    static uint64_t seed;

    if (seed == 0) {
        const char *text = getenv("THINWIRE_SEED");

        seed = text != NULL ? strtoull(text, NULL, 10) : 0;
        if (seed == 0) {
            seed = ((uint64_t)time(NULL) * 1000003u + (uint64_t)getpid()) % 2147483647u + 1;
        }
        printf("# THINWIRE_SEED=%llu\n", (unsigned long long)seed);
        fflush(stdout);
    }
    return seed;
}

/* splitmix64 */
uint64_t test_next(test_random_t *random)
{
    uint64_t z = (random->state += UINT64_C(0x9e3779b97f4a7c15));

    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return z ^ (z >> 31);
}

int test_below(test_random_t *random, int n)
{
    return (int)(test_next(random) % (uint64_t)n);
}

int test_main(Suite *suite)
{
    SRunner *runner = srunner_create(suite);
    int      failed;

    test_seed();
    srunner_run_all(runner, CK_ENV);
    failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
