/* SPDX-License-Identifier: BSD-3-Clause
 * tests/policy/test_policy.c - the choice of an algorithm against the bytes and steps it costs.
 */
#include "config.h"

#include <check.h>
#include <stdint.h>
#include <stdlib.h>

#include "runtime/policy/policy.h"

static const tw_log_t quiet = {.level = TW_LOG_ERROR, .rank = -1};

START_TEST(two_ranks_go_direct)
{
    tw_policy_config_t config;

    ck_assert_int_eq(tw_settings_load(&quiet, &tw_policy_settings, &config), TW_OK);
    for (size_t bytes = 0; bytes < (size_t)1 << 40; bytes = 3 * bytes + 1) {
        ck_assert_int_eq(tw_policy_allreduce(&config, bytes, 1), TW_POLICY_DIRECT);
        ck_assert_int_eq(tw_policy_allreduce(&config, bytes, 2), TW_POLICY_DIRECT);
    }
}
END_TEST

START_TEST(more_ranks_go_direct_while_small)
{
    tw_policy_config_t config;

    ck_assert_int_eq(tw_settings_load(&quiet, &tw_policy_settings, &config), TW_OK);
    for (int ranks = 3; ranks < 5000; ranks *= 2) {
        ck_assert_int_eq(tw_policy_allreduce(&config, 0, ranks), TW_POLICY_DIRECT);
        ck_assert_int_eq(tw_policy_allreduce(&config, config.direct_max, ranks), TW_POLICY_DIRECT);
        ck_assert_int_eq(tw_policy_allreduce(&config, config.direct_max + 1, ranks),
                         TW_POLICY_TWO_PASS);
        ck_assert_int_eq(tw_policy_allreduce(&config, SIZE_MAX, ranks), TW_POLICY_TWO_PASS);
    }
}
END_TEST

START_TEST(a_setting_decides)
{
    tw_policy_config_t config;

    setenv("THINWIRE_ALLREDUCE", "two_pass", 1);
    ck_assert_int_eq(tw_settings_load(&quiet, &tw_policy_settings, &config), TW_OK);
    ck_assert_int_eq(tw_policy_allreduce(&config, 4, 2), TW_POLICY_TWO_PASS);
    setenv("THINWIRE_ALLREDUCE", "direct", 1);
    ck_assert_int_eq(tw_settings_load(&quiet, &tw_policy_settings, &config), TW_OK);
    ck_assert_int_eq(tw_policy_allreduce(&config, SIZE_MAX, 64), TW_POLICY_DIRECT);
}
END_TEST

START_TEST(long_vectors_are_broadcast_along_a_chain)
{
    tw_policy_config_t config;

    ck_assert_int_eq(tw_settings_load(&quiet, &tw_policy_settings, &config), TW_OK);
    ck_assert_int_eq(tw_policy_bcast(&config, SIZE_MAX, 1), TW_POLICY_TREE);
    for (int ranks = 2; ranks < 5000; ranks *= 2) {
        const size_t least = config.chain_min * (size_t)(ranks - 1);

        ck_assert_int_eq(tw_policy_bcast(&config, least - 1, ranks), TW_POLICY_TREE);
        ck_assert_int_eq(tw_policy_bcast(&config, least, ranks), TW_POLICY_CHAIN);
    }
    setenv("THINWIRE_BCAST", "chain", 1);
    ck_assert_int_eq(tw_settings_load(&quiet, &tw_policy_settings, &config), TW_OK);
    ck_assert_int_eq(tw_policy_bcast(&config, 4, 64), TW_POLICY_CHAIN);
    setenv("THINWIRE_BCAST", "tree", 1);
    ck_assert_int_eq(tw_settings_load(&quiet, &tw_policy_settings, &config), TW_OK);
    ck_assert_int_eq(tw_policy_bcast(&config, SIZE_MAX, 64), TW_POLICY_TREE);
}
END_TEST

int main(void)
{
    Suite   *suite = suite_create("policy");
    TCase   *tcase = tcase_create("algorithms");
    SRunner *runner;
    int      failed;

    tcase_add_test(tcase, two_ranks_go_direct);
    tcase_add_test(tcase, more_ranks_go_direct_while_small);
    tcase_add_test(tcase, a_setting_decides);
    tcase_add_test(tcase, long_vectors_are_broadcast_along_a_chain);
    suite_add_tcase(suite, tcase);
    runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
