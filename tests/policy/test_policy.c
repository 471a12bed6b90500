/* SPDX-License-Identifier: BSD-3-Clause
 * tests/policy/test_policy.c - the choice of an algorithm against the bytes and steps it costs.
 */
#include "config.h"

#include <math.h>
#include <stdint.h>
#include <stdlib.h>

#include "runtime/policy/algorithms.h"
#include "runtime/policy/model.h"
#include "runtime/policy/policy.h"
#include "tests/suite.h"

static const tw_log_t quiet = {.level = TW_LOG_ERROR, .rank = -1};

/* What a call without a name takes: of those that say yes, the last of the list. */
static const char *allreduce(const tw_policy_config_t *config, size_t bytes, int ranks)
{
    return tw_policy_grid(config, bytes, ranks)       ? "grid"
           : tw_policy_two_pass(config, bytes, ranks) ? "two_pass"
                                                      : "direct";
}

static const char *named(const tw_policy_config_t *config, tw_operation_t operation)
{
    const char *name = tw_policy_name(operation, tw_policy_named(config, operation));

    return name != NULL ? name : "auto";
}

START_TEST(two_ranks_go_direct)
{
    tw_policy_config_t config;

    ck_assert_int_eq(tw_settings_load(&quiet, &tw_policy_settings, &config), TW_OK);
    for (size_t bytes = 0; bytes < (size_t)1 << 40; bytes = 3 * bytes + 1) {
        ck_assert_str_eq(allreduce(&config, bytes, 1), "direct");
        ck_assert_str_eq(allreduce(&config, bytes, 2), "direct");
    }
}
END_TEST

START_TEST(more_ranks_go_direct_while_small)
{
    tw_policy_config_t config;

    ck_assert_int_eq(tw_settings_load(&quiet, &tw_policy_settings, &config), TW_OK);
    for (int ranks = 3; ranks < 16; ranks++) {
        ck_assert_str_eq(allreduce(&config, 0, ranks), "direct");
        ck_assert_str_eq(allreduce(&config, config.direct_max, ranks), "direct");
        ck_assert_str_eq(allreduce(&config, config.direct_max + 1, ranks), "two_pass");
    }
    for (int ranks = 3; ranks < 5000; ranks *= 2) {
        ck_assert_str_eq(allreduce(&config, SIZE_MAX, ranks), "two_pass");
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

        ck_assert_str_eq(allreduce(&config, most - most / 1000, p), "grid");
        ck_assert_str_eq(allreduce(&config, most + most / 1000, p),
                         most < config.direct_max ? "direct" : "two_pass");
        ck_assert(most > config.direct_max || n == 4);
    }
    config.message_cost = 0; /* only bytes count: direct and two_pass never lose */
    for (int p = 3; p < 5000; p *= 2) {
        ck_assert_str_eq(allreduce(&config, config.direct_max + 1, p), "two_pass");
    }
}
END_TEST

START_TEST(defaults_are_those_of_the_settings)
{
    tw_policy_config_t config;

    ck_assert_int_eq(tw_settings_load(&quiet, &tw_policy_settings, &config), TW_OK);
    for (int o = 0; o < TW_OPERATIONS; o++) {
        ck_assert_int_eq(tw_policy_named(&config, (tw_operation_t)o), 0);
        ck_assert_int_eq(tw_policy_named(&tw_policy_defaults, (tw_operation_t)o), 0);
    }
    ck_assert_uint_eq(config.direct_max, tw_policy_defaults.direct_max);
    ck_assert_uint_eq(config.message_cost, tw_policy_defaults.message_cost);
}
END_TEST

/* Among few nodes, and of few bytes, all to all is one step; more nodes may send less. */
START_TEST(shares_where_many_nodes_send_much)
{
    size_t least = SIZE_MAX;

    ck_assert(!tw_policy_in_shares(TW_MESSAGE_COST, SIZE_MAX / 4, 1, 1));
    ck_assert(!tw_policy_in_shares(TW_MESSAGE_COST, SIZE_MAX / 4, 2, 1));
    ck_assert(!tw_policy_in_shares(TW_MESSAGE_COST, SIZE_MAX / 4, 1, 8));
    for (int ranks = 1; ranks <= 16; ranks *= 4) {
        least = SIZE_MAX;
        for (int nodes = 3; nodes < 2000; nodes *= 2) {
            /* (8 + N-1) M < (N-1) (K - 2/N) V: a step and N-1 messages more, one more in a node,
             * for all but 2/N of the K V of a node */
            const double others = nodes - 1, inside = ranks > 1 ? 1 : 0;
            const size_t bytes = (size_t)((8 + inside + others) * TW_MESSAGE_COST /
                                          (others * (ranks - 2.0 / nodes)));

            ck_assert(!tw_policy_in_shares(TW_MESSAGE_COST, bytes - 1, nodes, ranks));
            ck_assert(tw_policy_in_shares(TW_MESSAGE_COST, bytes + 2, nodes, ranks));
            ck_assert_uint_lt(bytes, least);
            least = bytes;
        }
    }
    ck_assert(tw_policy_in_shares(0, 1, 3, 1));
    ck_assert(tw_policy_in_shares(0, 1, 2, 2));
}
END_TEST

START_TEST(bundles_of_blocks_where_messages_cost_more)
{
    tw_policy_config_t config;

    ck_assert_int_eq(tw_settings_load(&quiet, &tw_policy_settings, &config), TW_OK);
    for (int p = 1; p < 16;
         p++) { /* a step costs eight messages, and no more than eight are saved */
        ck_assert(!tw_policy_allgather_grid(&config, p));
        ck_assert(!tw_policy_alltoall_grid(&config, 1, p));
    }
    for (int n = 4; n <= 64; n++) {
        const int    p     = n * n;
        const double saved = p - 1 - 2.0 * (n - 1); /* messages; and blocks that are sent besides */
        const size_t most  = (size_t)((saved - 8) * (double)config.message_cost / saved);

        ck_assert(tw_policy_allgather_grid(&config, p));
        ck_assert(tw_policy_alltoall_grid(&config, 0, p));
        ck_assert(tw_policy_alltoall_grid(&config, most - 1, p));
        ck_assert(!tw_policy_alltoall_grid(&config, most + 1, p));
        ck_assert_uint_lt(most, config.message_cost);
        ck_assert(!tw_policy_alltoall_grid(&config, SIZE_MAX, p));
    }
}
END_TEST

#define NAME(x, name, considered) #name,

/* Every name of an operation, and none of another's. */
/* As many ranks as wait for the first fragment make it shorter, and no other power of two costs
 * less. */
START_TEST(fragments_of_a_chain_shorten_with_its_length)
{
    static const int ranks[] = {1, 2, 3, 4, 32, 200, 1024};

    for (size_t r = 0; r < sizeof(ranks) / sizeof(ranks[0]); r++) {
        for (size_t encoded = 1; encoded < (size_t)1 << 34; encoded = encoded * 3 + 1) {
            const size_t found = tw_policy_chain_fragment(2048, encoded, ranks[r]);
            const double links = ranks[r] > 2 ? ranks[r] - 2 : 1;
            double       least = INFINITY;

            for (size_t s = TW_CHAIN_LEAST; s <= TW_FRAGMENT; s *= 2) {
                least = fmin(least, links * (double)s + (double)encoded / (double)s * 2048);
            }
            ck_assert_msg(links * (double)found + (double)encoded / (double)found * 2048 <=
                              1.1 * least + links * (double)TW_CHAIN_LEAST,
                          "%zu bytes, %d ranks: %zu", encoded, ranks[r], found);
        }
    }
    ck_assert_uint_eq(tw_policy_chain_fragment(2048, (size_t)64 << 20, 4), TW_FRAGMENT);
    ck_assert_uint_eq(tw_policy_chain_fragment(2048, (size_t)16 << 20, 1024), TW_FRAGMENT / 8);
    ck_assert_uint_eq(tw_policy_chain_fragment(0, 0, 0), TW_CHAIN_LEAST);
}
END_TEST

START_TEST(a_setting_names_an_algorithm)
{
    static const struct {
        tw_operation_t operation;
        const char    *setting;
        const char    *names[16];
    } all[] = {
        {TW_OPERATION_ALLREDUCE, "THINWIRE_ALLREDUCE", {TW_REDUCTION_ALGORITHMS(NAME, ) "auto"}},
        {TW_OPERATION_BCAST, "THINWIRE_BCAST", {TW_BCAST_ALGORITHMS(NAME, ) "auto"}},
        {TW_OPERATION_REDUCE_SCATTER,
         "THINWIRE_REDUCE_SCATTER",
         {TW_SCATTER_ALGORITHMS(NAME, ) "auto"}},
        {TW_OPERATION_ALLGATHER, "THINWIRE_ALLGATHER", {TW_ALLGATHER_ALGORITHMS(NAME, ) "auto"}},
        {TW_OPERATION_ALLTOALL, "THINWIRE_ALLTOALL", {TW_ALLTOALL_ALGORITHMS(NAME, ) "auto"}},
    };
    tw_policy_config_t config;

    for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
        for (int n = 0; all[i].names[n] != NULL; n++) {
            setenv(all[i].setting, all[i].names[n], 1);
            ck_assert_int_eq(tw_settings_load(&quiet, &tw_policy_settings, &config), TW_OK);
            ck_assert_str_eq(named(&config, all[i].operation), all[i].names[n]);
        }
        setenv(all[i].setting, i == 1 ? "two_pass" : "tree", 1);
        ck_assert_int_eq(tw_settings_load(&quiet, &tw_policy_settings, &config), TW_ERR_SETTING);
        unsetenv(all[i].setting);
    }
    setenv("THINWIRE_ALLREDUCE", "grid", 1);
    ck_assert_int_eq(tw_settings_load(&quiet, &tw_policy_settings, &config), TW_OK);
    ck_assert_str_eq(named(&config, TW_OPERATION_REDUCE), "grid");
    ck_assert_int_eq(tw_policy_number(TW_OPERATION_REDUCE_SCATTER, "node"), 3);
    ck_assert_int_eq(tw_policy_number(TW_OPERATION_BCAST, "direct"), 0);
}
END_TEST

START_TEST(long_vectors_are_broadcast_along_a_chain)
{
    tw_policy_config_t config;

    ck_assert_int_eq(tw_settings_load(&quiet, &tw_policy_settings, &config), TW_OK);
    ck_assert(!tw_policy_chain(&config, SIZE_MAX, 1));
    for (int ranks = 3; ranks < 70000; ranks += ranks / 2) {
        const double depth = ceil(log2(ranks)), latency = 8.0 * (double)config.message_cost;

        for (size_t bytes = 1; bytes < (size_t)1 << 40; bytes += bytes / 3 + 1) {
            const size_t cut      = tw_policy_chain_fragment(config.message_cost, bytes, ranks);
            const double fragment = (double)(cut < bytes ? cut : bytes);
            const double chain    = (ranks - 1) * latency + (double)bytes + (ranks - 2) * fragment;
            const double tree     = depth * (latency + (double)bytes);

            if (fabs(chain - tree) > depth) {
                ck_assert_msg(tw_policy_chain(&config, bytes, ranks) == (chain < tree),
                              "%zu bytes, %d ranks: %g, %g", bytes, ranks, chain, tree);
            }
        }
        ck_assert(tw_policy_chain(&config, SIZE_MAX, ranks));
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("policy");
    TCase *tcase = test_case(suite, "algorithms");

    tcase_add_test(tcase, defaults_are_those_of_the_settings);
    tcase_add_test(tcase, two_ranks_go_direct);
    tcase_add_test(tcase, more_ranks_go_direct_while_small);
    tcase_add_test(tcase, many_ranks_go_through_the_grid);
    tcase_add_test(tcase, shares_where_many_nodes_send_much);
    tcase_add_test(tcase, bundles_of_blocks_where_messages_cost_more);
    tcase_add_test(tcase, fragments_of_a_chain_shorten_with_its_length);
    tcase_add_test(tcase, a_setting_names_an_algorithm);
    tcase_add_test(tcase, long_vectors_are_broadcast_along_a_chain);
    return test_main(suite);
}
