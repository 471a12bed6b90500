/* SPDX-License-Identifier: BSD-3-Clause
 * topology/place_package.c - the cores of one package, divided over its ranks.
 *
 * Every rank has a quota, an equal part of the cores. It takes them first from the NUMA node of its
 * GPU, next to the other ranks of that node, and then from what the package has left: what stands
 * nearer to the beginning goes to the ranks whose NUMA nodes do. So all cores of the package are
 * used, none twice, a rank's cores are few runs of neighbours, and each rank has some where its GPU
 * is.
 */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "runtime/topology/place.h"

int tw_seat_add(tw_seat_t *seat, int core)
{
    if ((seat->count & (seat->count - 1)) == 0) { /* grows at powers of two */
        int *more =
            realloc(seat->cores, (seat->count > 0 ? 2 * (size_t)seat->count : 1) * sizeof(*more));

        if (more == NULL) {
            return 0;
        }
        seat->cores = more;
    }
    seat->cores[seat->count++] = core;
    return 1;
}

/* Part i of n things divided into parts that differ by one at most. */
static int tw_part_of(int n, int parts, int i)
{
    return n / parts + (i < n % parts);
}

static int tw_numa_of(const tw_node_t *node, int core)
{
    return tw_node_where(node, TW_PART_CORE, core).numa;
}

/* Ranks order[from..to-1] have the same NUMA node as home: its free cores, up to each one's quota.
 */
static int tw_place_home(const tw_node_t *node, tw_seat_t *seats, const int *order, int from,
                         int to, const int *quota, const tw_cores_t *pool, char *taken)
{
    const int home = seats[order[from]].home.numa;
    int       here = 0, at = 0;

    for (int i = 0; i < pool->count; i++) {
        here += tw_numa_of(node, pool->list[i]) == home;
    }
    for (int i = from; i < to; i++) {
        const int share  = tw_part_of(here, to - from, i - from);
        int       wanted = share < quota[i] ? share : quota[i];

        for (; wanted > 0 && at < pool->count; at++) {
            if (tw_numa_of(node, pool->list[at]) == home) {
                if (!tw_seat_add(&seats[order[i]], pool->list[at])) {
                    return 0;
                }
                taken[at] = 1;
                wanted--;
            }
        }
    }
    return 1;
}

/* More ranks than cores: core after core, again and again. */
static int tw_place_shared(tw_seat_t *seats, const int *order, int ranks, const tw_cores_t *pool)
{
    for (int i = 0; i < ranks; i++) {
        if (!tw_seat_add(&seats[order[i]], pool->list[i % pool->count])) {
            return 0;
        }
    }
    return 1;
}

static int tw_place_rest(tw_seat_t *seats, const int *order, int ranks, const int *quota,
                         const tw_cores_t *pool, const char *taken)
{
    int at = 0;

    for (int i = 0; i < ranks; i++) {
        for (; seats[order[i]].count < quota[i] && at < pool->count; at++) {
            if (!taken[at] && !tw_seat_add(&seats[order[i]], pool->list[at])) {
                return 0;
            }
        }
    }
    return 1;
}

tw_status_t tw_place_package(const tw_node_t *node, tw_seat_t *seats, const int *order, int ranks,
                             const tw_cores_t *pool)
{
    char *taken;
    int  *quota;
    int   well = 1;

    if (ranks > pool->count) {
        return tw_place_shared(seats, order, ranks, pool) ? TW_OK : TW_ERR_NO_MEMORY;
    }
    quota = calloc((size_t)ranks, sizeof(*quota));
    taken = calloc((size_t)pool->count, 1);
    for (int i = 0; quota != NULL && i < ranks; i++) {
        quota[i] = tw_part_of(pool->count, ranks, i);
    }
    well = quota != NULL && taken != NULL;
    for (int from = 0, to; well && from < ranks; from = to) {
        for (to = from + 1;
             to < ranks && seats[order[to]].home.numa == seats[order[from]].home.numa; to++) {
        }
        if (seats[order[from]].home.numa >= 0) {
            well = tw_place_home(node, seats, order, from, to, quota, pool, taken);
        }
    }
    well = well && tw_place_rest(seats, order, ranks, quota, pool, taken);
    free(quota);
    free(taken);
    return well ? TW_OK : TW_ERR_NO_MEMORY;
}
