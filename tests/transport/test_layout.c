/* SPDX-License-Identifier: BSD-3-Clause
 * tests/transport/test_layout.c - which ranks share a node, from the lowest rank of each rank's
 * machine; the expected layouts are written down by hand, ranks dealt out in turn (round robin)
 * among them.
 */
#include "config.h"

#include "runtime/transport/shm/layout.h"
#include "tests/suite.h"

/* node_of, then member, of each rank. */
static void expect(const int *leader, int ranks, int node_ranks, int nodes, const int *node_of,
                   const int *member)
{
    for (int rank = 0; rank < ranks; rank++) {
        tw_nodes_t layout;

        ck_assert_int_eq(tw_nodes_make(leader, ranks, rank, node_ranks, &layout), TW_OK);
        ck_assert_int_eq(layout.count, nodes);
        ck_assert_int_eq(layout.mine, node_of[rank]);
        ck_assert_int_eq(tw_nodes_rank(&layout, layout.mine, layout.local), rank);
        for (int r = 0; r < ranks; r++) {
            ck_assert_int_eq(layout.node_of[r], node_of[r]);
            ck_assert_int_eq(layout.member[r], member[r]);
            ck_assert_int_eq(tw_nodes_rank(&layout, layout.node_of[r], tw_nodes_local(&layout, r)),
                             r);
        }
        tw_nodes_free(&layout);
    }
}

static void expect_sizes(const int *leader, int ranks, int node_ranks, int least, int most)
{
    tw_nodes_t layout;

    ck_assert_int_eq(tw_nodes_make(leader, ranks, 0, node_ranks, &layout), TW_OK);
    ck_assert_int_eq(layout.least, least);
    ck_assert_int_eq(layout.most, most);
    tw_nodes_free(&layout);
}

START_TEST(one_machine)
{
    const int leader[]  = {0, 0, 0, 0, 0};
    const int all[]     = {0, 0, 0, 0, 0};
    const int pairs[]   = {0, 0, 1, 1, 2};
    const int singles[] = {0, 1, 2, 3, 4};

    expect(leader, 5, 0, 1, all, singles);
    expect(leader, 5, 7, 1, all, singles);
    expect(leader, 5, 2, 3, pairs, singles);
    expect(leader, 5, 1, 5, singles, singles);
    expect_sizes(leader, 5, 0, 5, 5);
    expect_sizes(leader, 5, 2, 1, 2);
}
END_TEST

START_TEST(machines_in_turn)
{
    const int leader[]  = {0, 1, 2, 0, 1, 2, 0}; /* three machines: 0 3 6, 1 4, 2 5 */
    const int whole[]   = {0, 1, 2, 0, 1, 2, 0};
    const int by_node[] = {0, 3, 6, 1, 4, 2, 5};
    const int cut[]     = {0, 1, 2, 0, 1, 2, 3}; /* pairs: 0 3, 1 4, 2 5, 6 */
    const int by_pair[] = {0, 3, 1, 4, 2, 5, 6};

    expect(leader, 7, 0, 3, whole, by_node);
    expect(leader, 7, 2, 4, cut, by_pair);
    expect_sizes(leader, 7, 0, 2, 3);
    expect_sizes(leader, 7, 2, 1, 2);
}
END_TEST

START_TEST(machines_one_after_another)
{
    const int leader[]  = {0, 0, 0, 3, 3, 3, 3};
    const int whole[]   = {0, 0, 0, 1, 1, 1, 1};
    const int cut[]     = {0, 0, 1, 2, 2, 3, 3}; /* a node never reaches into the next machine */
    const int ordered[] = {0, 1, 2, 3, 4, 5, 6};

    expect(leader, 7, 0, 2, whole, ordered);
    expect(leader, 7, 2, 4, cut, ordered);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("layout");
    TCase *tcase = test_case(suite, "nodes");

    tcase_add_test(tcase, one_machine);
    tcase_add_test(tcase, machines_in_turn);
    tcase_add_test(tcase, machines_one_after_another);
    return test_main(suite);
}
