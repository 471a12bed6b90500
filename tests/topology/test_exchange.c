/* SPDX-License-Identifier: BSD-3-Clause
 * tests/topology/test_exchange.c - the order of exchange: every pair once, a matching in every
 * round, the switch rule; S4's machine with its order printed and checked; random machines.
 */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/topology/common.h"

#define GPUS TEST_GPUS

/* Two switches of four GPUs. Inside, 4 GPUs have 6 pairs, 2 at a time: 3 rounds, both switches at
 * once. Across there are 4 x 4 pairs, and each switch lets one out at a time: 16 rounds of one
 * pair. */
START_TEST(s4_two_groups_of_four)
{
    static const int gpus[] = {0, 1, 2, 3, 4, 5, 6, 7};
    tw_node_t       *node   = test_node(test_source("s4.xml"), NULL);
    tw_round_t      *rounds;
    const int        count = test_order(node, gpus, 8, &rounds);

    for (int r = 0; r < count; r++) {
        printf("# round %2d:", r + 1);
        for (int k = 0; k < rounds[r].count; k++) {
            printf(" %d-%d", rounds[r].pairs[k].a, rounds[r].pairs[k].b);
        }
        printf("\n");
    }
    ck_assert_int_eq(count, 19);
    for (int r = 0; r < count; r++) {
        ck_assert_int_eq(rounds[r].count, r < 3 ? 4 : 1);
        ck_assert_int_eq(rounds[r].distance, r < 3 ? TW_NEAR_SWITCH : TW_FAR);
    }
    free(rounds);
    tw_node_destroy(node);
}
END_TEST

/* Three of one group and one of the other: 3 rounds inside (of 3 GPUs one rests), then 3 across. */
START_TEST(s4_part_of_the_gpus)
{
    static const int gpus[] = {6, 0, 3, 2}, one[] = {5};
    tw_node_t       *node = test_node(test_source("s4.xml"), NULL);
    tw_round_t      *rounds;
    int              count = test_order(node, gpus, 4, &rounds);

    ck_assert_int_eq(count, 6);
    free(rounds);
    ck_assert_int_eq(test_order(node, one, 1, &rounds), 0);
    free(rounds);
    tw_node_destroy(node);
}
END_TEST

START_TEST(wrong_arguments)
{
    static const int twice[] = {1, 2, 1}, none[] = {0, 8}, negative[] = {-1, 0};
    tw_node_t       *node   = test_node(test_source("s4.xml"), NULL);
    tw_round_t      *rounds = NULL;
    int              count  = -1;

    ck_assert_int_eq(tw_exchange_order(node, twice, 3, &rounds, &count), TW_ERR_INVALID_ARG);
    ck_assert_int_eq(tw_exchange_order(node, none, 2, &rounds, &count), TW_ERR_INVALID_ARG);
    ck_assert_int_eq(tw_exchange_order(node, negative, 2, &rounds, &count), TW_ERR_INVALID_ARG);
    ck_assert_int_eq(tw_exchange_order(node, twice, 0, &rounds, &count), TW_ERR_RANGE);
    ck_assert_int_eq(tw_exchange_order(node, twice, 1025, &rounds, &count), TW_ERR_RANGE);
    ck_assert_int_eq(tw_exchange_order(NULL, twice, 2, &rounds, &count), TW_ERR_INVALID_ARG);
    ck_assert_int_eq(tw_exchange_order(node, NULL, 2, &rounds, &count), TW_ERR_INVALID_ARG);
    ck_assert_int_eq(tw_exchange_order(node, twice, 2, NULL, &count), TW_ERR_INVALID_ARG);
    ck_assert_int_eq(tw_exchange_order(node, twice, 2, &rounds, NULL), TW_ERR_INVALID_ARG);
    ck_assert_ptr_null(rounds);
    ck_assert_int_eq(count, -1);
    tw_node_destroy(node);
}
END_TEST

/* Any set of GPUs of any machine. */
START_TEST(random_machines)
{
    test_random_t random = {test_seed() + 1000u * (uint64_t)_i};
    size_t        size;
    char         *xml  = test_random_machine(&random, &size);
    tw_node_t    *node = test_node(test_write(xml, size), NULL);
    const int     all  = tw_node_count(node, TW_PART_GPU);
    int           gpus[GPUS], n = 0;
    tw_round_t   *rounds;

    for (int g = 0; g < all && n < GPUS && g < GPUS; g++) {
        if (test_below(&random, 4) > 0) {
            gpus[n] = g;
            n++;
        }
    }
    for (int i = n - 1; i > 0; i--) { /* in any order */
        const int j = test_below(&random, i + 1), g = gpus[i];

        gpus[i] = gpus[j];
        gpus[j] = g;
    }
    if (n > 0) {
        test_order(node, gpus, n, &rounds);
        free(rounds);
    }
    free(xml);
    tw_node_destroy(node);
    test_forget();
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("exchange");
    TCase *tcase = test_case(suite, "exchange");

    tcase_add_test(tcase, s4_two_groups_of_four);
    tcase_add_test(tcase, s4_part_of_the_gpus);
    tcase_add_test(tcase, wrong_arguments);
    tcase_add_loop_test(tcase, random_machines, 0, 200);
    return test_main(suite);
}
