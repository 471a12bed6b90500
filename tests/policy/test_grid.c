/* SPDX-License-Identifier: BSD-3-Clause
 * tests/policy/test_grid.c - the grid of ranks: every message of every pair finds a forwarder,
 * bundles fit their slots, and messages grow with the square root, for every number of ranks up to
 * 400.
 */
#include "config.h"

#include <math.h>

#include "runtime/policy/grid.h"
#include "tests/suite.h"

#define RANKS 400

/* ck_assert(), which says to its parent that it was there, would take most of the time: millions of
 * times. */
#define HOLDS(condition)                                                                           \
    do {                                                                                           \
        if (!(condition)) {                                                                        \
            ck_abort_msg("%s", #condition);                                                        \
        }                                                                                          \
    } while (0)

START_TEST(a_grid_is_as_square_as_it_can_be)
{
    for (int ranks = 1; ranks <= 5000; ranks++) {
        const tw_grid_t grid = tw_grid(ranks);
        int             held = 0;

        HOLDS(grid.columns == (int)ceil(sqrt(ranks)));
        HOLDS(grid.rows == (ranks + grid.columns - 1) / grid.columns);
        HOLDS(grid.last >= 1 && grid.last <= grid.columns);
        HOLDS(grid.rows > 1 || grid.last == grid.columns);
        for (int column = 0; column < grid.columns; column++) {
            HOLDS(tw_grid_before(&grid, column) == held);
            held += tw_grid_height(&grid, column);
        }
        HOLDS(held == ranks);
        HOLDS(tw_grid_messages(ranks) == grid.rows + grid.columns - 2);
    }
}
END_TEST

/* Each rank is a member of one forwarder per column, which is itself in that column; and the
 * members of a forwarder are numbered without gaps. */
START_TEST(every_rank_has_a_forwarder_to_every_column)
{
    static int seen[RANKS];

    for (int ranks = 1; ranks <= RANKS; ranks++) {
        const tw_grid_t grid = tw_grid(ranks);

        for (int column = 0; column < grid.columns; column++) {
            int members = 0;

            for (int r = 0; r < ranks; r++) {
                const int row = tw_grid_via(&grid, r, column);
                const int at  = row * grid.columns + column;
                const int i   = tw_grid_index(&grid, r, column);

                HOLDS(row >= 0 && at < ranks);
                HOLDS(i >= 0 && i < tw_grid_members(&grid, row, column));
                HOLDS(tw_grid_member(&grid, row, i) == r);
                seen[r] = 1;
            }
            for (int row = 0; row < tw_grid_height(&grid, column); row++) {
                members += tw_grid_members(&grid, row, column);
                HOLDS(seen[row * grid.columns + column]);
            }
            HOLDS(members == ranks);
        }
        for (int r = 0; r < ranks; r++) { /* its own forwarder to its own column */
            const int column = r % grid.columns;

            HOLDS(tw_grid_via(&grid, r, column) == r / grid.columns);
            HOLDS(tw_grid_index(&grid, r, column) == column);
        }
    }
}
END_TEST

/* What transport/coll/grid/deliver.c keeps in P slots each. */
START_TEST(bundles_fit_their_slots)
{
    for (int ranks = 1; ranks <= 5000; ranks++) {
        const tw_grid_t grid = tw_grid(ranks);

        for (int column = 0; column < grid.columns; column++) {
            const int height = tw_grid_height(&grid, column);

            for (int row = 0; row < height; row++) {
                const int members = tw_grid_members(&grid, row, column);

                HOLDS((members - 1) * height <= ranks);
                HOLDS(members * (height - 1) <= ranks);
            }
        }
    }
}
END_TEST

START_TEST(messages_grow_with_the_root)
{
    for (int ranks = 1; ranks <= 5000; ranks++) {
        const tw_grid_t grid = tw_grid(ranks);

        HOLDS(tw_grid_messages(ranks) <= 2.0 * sqrt(ranks));
        for (int column = 0; column < grid.columns; column++) {
            for (int row = 0; row < tw_grid_height(&grid, column); row++) {
                HOLDS(tw_grid_members(&grid, row, column) <= grid.columns + 2);
            }
        }
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("grid");
    TCase *tcase = test_case(suite, "routes");

    tcase_add_test(tcase, a_grid_is_as_square_as_it_can_be);
    tcase_add_test(tcase, every_rank_has_a_forwarder_to_every_column);
    tcase_add_test(tcase, bundles_fit_their_slots);
    tcase_add_test(tcase, messages_grow_with_the_root);
    return test_main(suite);
}
