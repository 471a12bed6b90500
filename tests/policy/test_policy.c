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
    for (int ranks = 3; ranks < 16; ranks++) {
        ck_assert_int_eq(tw_policy_allreduce(&config, 0, ranks), TW_POLICY_DIRECT);
        ck_assert_int_eq(tw_policy_allreduce(&config, config.direct_max, ranks), TW_POLICY_DIRECT);
        ck_assert_int_eq(tw_policy_allreduce(&config, config.direct_max + 1, ranks),
                         TW_POLICY_TWO_PASS);
    }
    for (int ranks = 3; ranks < 5000; ranks *= 2) {
        ck_assert_int_eq(tw_policy_allreduce(&config, SIZE_MAX, ranks), TW_POLICY_TWO_PASS);
    }
}
END_TEST

/* The grid for square numbers of ranks, by the bytes and messages counted by hand: in a square of n
 * x n ranks each sends 4 (n-1) messages, two steps more than two_pass, and in the first pass a
 * vector less 1/n of it twice. */
START_TEST(many_ranks_go_through_the_grid)
{
    tw_policy_config_t config;

    ck_assert_int_eq(tw_settings_load(&quiet, &tw_policy_settings, &config), TW_OK);
    for (int n = 4; n <= 64; n++) {
        const int    p     = n * n;
        const double saved = (2.0 * (p - 1) - 4.0 * (n - 1) - 2 * 8) * (double)config.message_cost;
        const double further = 2.0 * (n - 1) / n - (double)(p - 1) / p; /* vectors */
        const size_t most    = (size_t)(saved / further);

        ck_assert_int_eq(tw_policy_allreduce(&config, most - most / 1000, p), TW_POLICY_GRID);
        ck_assert_int_eq(tw_policy_allreduce(&config, most + most / 1000, p),
                         most < config.direct_max ? TW_POLICY_DIRECT : TW_POLICY_TWO_PASS);
        ck_assert(most > config.direct_max || n == 4);
    }
    config.message_cost = 0; /* only bytes count: direct and two_pass never lose */
    for (int p = 3; p < 5000; p *= 2) {
        ck_assert_int_eq(tw_policy_allreduce(&config, config.direct_max + 1, p),
                         TW_POLICY_TWO_PASS);
    }
}
END_TEST

START_TEST(bundles_of_blocks_where_messages_cost_more)
{
    tw_policy_config_t config;

    ck_assert_int_eq(tw_settings_load(&quiet, &tw_policy_settings, &config), TW_OK);
    for (int p = 1; p < 16;
         p++) { /* a step costs eight messages, and no more than eight are saved */
        ck_assert_int_eq(tw_policy_allgather(&config, p), TW_POLICY_PAIRWISE);
        ck_assert_int_eq(tw_policy_alltoall(&config, 1, p), TW_POLICY_PAIRWISE);
    }
    for (int n = 4; n <= 64; n++) {
        const int    p     = n * n;
        const double saved = p - 1 - 2.0 * (n - 1); /* messages; and blocks that are sent besides */
        const size_t most  = (size_t)((saved - 8) * (double)config.message_cost / saved);

        ck_assert_int_eq(tw_policy_allgather(&config, p), TW_POLICY_BUNDLES);
        ck_assert_int_eq(tw_policy_alltoall(&config, 0, p), TW_POLICY_BUNDLES);
        ck_assert_int_eq(tw_policy_alltoall(&config, most - 1, p), TW_POLICY_BUNDLES);
        ck_assert_int_eq(tw_policy_alltoall(&config, most + 1, p), TW_POLICY_PAIRWISE);
        ck_assert_uint_lt(most, config.message_cost);
        ck_assert_int_eq(tw_policy_alltoall(&config, SIZE_MAX, p), TW_POLICY_PAIRWISE);
    }
    setenv("THINWIRE_ALLGATHER", "grid", 1);
    setenv("THINWIRE_ALLTOALL", "grid", 1);
    ck_assert_int_eq(tw_settings_load(&quiet, &tw_policy_settings, &config), TW_OK);
    ck_assert_int_eq(tw_policy_allgather(&config, 2), TW_POLICY_BUNDLES);
    ck_assert_int_eq(tw_policy_alltoall(&config, SIZE_MAX, 2), TW_POLICY_BUNDLES);
    setenv("THINWIRE_ALLGATHER", "pairwise", 1);
    setenv("THINWIRE_ALLTOALL", "pairwise", 1);
    ck_assert_int_eq(tw_settings_load(&quiet, &tw_policy_settings, &config), TW_OK);
    ck_assert_int_eq(tw_policy_allgather(&config, 1000), TW_POLICY_PAIRWISE);
    ck_assert_int_eq(tw_policy_alltoall(&config, 1, 1000), TW_POLICY_PAIRWISE);
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
    setenv("THINWIRE_ALLREDUCE", "grid", 1);
    ck_assert_int_eq(tw_settings_load(&quiet, &tw_policy_settings, &config), TW_OK);
    ck_assert_int_eq(tw_policy_allreduce(&config, SIZE_MAX, 1), TW_POLICY_GRID);
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
    tcase_add_test(tcase, many_ranks_go_through_the_grid);
    tcase_add_test(tcase, bundles_of_blocks_where_messages_cost_more);
    tcase_add_test(tcase, a_setting_decides);
    tcase_add_test(tcase, long_vectors_are_broadcast_along_a_chain);
    suite_add_tcase(suite, tcase);
    runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
