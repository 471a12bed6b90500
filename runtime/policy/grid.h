/* SPDX-License-Identifier: BSD-3-Clause
 * policy/grid.h - the ranks in rows and columns, for the algorithms that pass bundles on.
 *
 * P ranks stand in ceil(sqrt(P)) columns, row by row; the last row may be short. What goes from
 * rank s to rank d takes two hops: along the row of s to the forwarder in the column of d, then
 * along that column. Where the last row has no rank in that column, the forwarder stands in one of
 * the rows above, which take such ranks in turn. The members of a forwarder are the ranks it
 * forwards for: its own row, and, in a column that the last row does not reach, some of the last
 * row.
 *
 *     P = 8:   0 1 2    0 -> 7: by 1, in the row of 0 and the column of 7
 *              3 4 5    6 -> 5: by 2, as the last row has no third column; 7 -> 2: by 5, which
 *              6 7      takes its turn; members of 2 are 0 1 2 6, members of 5 are 3 4 5 7
 *
 * Pure functions; no MPI.
 */
#ifndef TW_POLICY_GRID_H
#define TW_POLICY_GRID_H

typedef struct tw_grid {
    int ranks, rows, columns;
    int last; /* columns of the last row, 1 .. columns */
} tw_grid_t;

/* The grid of so many ranks (at least 1). A short last row is never the only one. */
static inline tw_grid_t tw_grid(int ranks)
{
    tw_grid_t grid = {.ranks = ranks, .columns = 1};

    while (grid.columns < ranks / grid.columns + (ranks % grid.columns != 0)) {
        grid.columns++;
    }
    grid.rows = ranks / grid.columns + (ranks % grid.columns != 0);
    grid.last = ranks - (grid.rows - 1) * grid.columns;
    return grid;
}

/* Ranks in a column. */
static inline int tw_grid_height(const tw_grid_t *grid, int column)
{
    return column < grid->last ? grid->rows : grid->rows - 1;
}

/* Ranks in the columns before this one. */
static inline int tw_grid_before(const tw_grid_t *grid, int column)
{
    return column * grid->rows - (column > grid->last ? column - grid->last : 0);
}

/* The row of the forwarder between `rank` and a column. */
static inline int tw_grid_via(const tw_grid_t *grid, int rank, int column)
{
    const int row = rank / grid->columns;

    return row < tw_grid_height(grid, column) ? row : rank % grid->columns % (grid->rows - 1);
}

/* Members of the rank at (row, column), itself included. */
static inline int tw_grid_members(const tw_grid_t *grid, int row, int column)
{
    const int above = grid->rows - 1;

    if (column < grid->last) {
        return row < above ? grid->columns : grid->last;
    }
    return grid->columns + (row < grid->last ? (grid->last - row + above - 1) / above : 0);
}

/* Member i (0 .. members-1) of the rank at (row, column): those of its row come first. */
static inline int tw_grid_member(const tw_grid_t *grid, int row, int i)
{
    return i < grid->columns
               ? row * grid->columns + i
               : (grid->rows - 1) * grid->columns + row + (i - grid->columns) * (grid->rows - 1);
}

/* Which member `rank` is of its forwarder to a column: the inverse of tw_grid_member. */
static inline int tw_grid_index(const tw_grid_t *grid, int rank, int column)
{
    const int at = rank % grid->columns;

    return rank / grid->columns < tw_grid_height(grid, column)
               ? at
               : grid->columns + at / (grid->rows - 1);
}

/* Messages that a rank in a full row sends in two hops (a forwarder for the last row: up to two
 * more). */
static inline int tw_grid_messages(int ranks)
{
    const tw_grid_t grid = tw_grid(ranks);

    return grid.rows - 1 + grid.columns - 1;
}

#endif /* TW_POLICY_GRID_H */
