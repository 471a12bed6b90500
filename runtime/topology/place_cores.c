/* SPDX-License-Identifier: BSD-3-Clause
 * topology/place_cores.c - cores for every rank: which ranks divide which package.
 *
 * Ranks with the same binding, or with none, are a group that divides its cores. A rank goes to the
 * package of its GPU. Ranks whose GPU is nowhere, or that have none, are spread over the packages
 * in their order; if they are no more than the packages, each gets whole ones. A package that would
 * get more ranks than its part passes its last ones on to the emptiest one.
 */
#include "config.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/topology/place.h"

/* A group while its ranks are sent to packages. */
typedef struct tw_group {
    const tw_node_t *node;
    tw_seat_t       *seats;
    int             *ranks; /* of the group, ascending                        */
    int              count;
    tw_cores_t       pool;    /* its cores, ascending                           */
    int             *package; /* by position in ranks                           */
    int             *cores;   /* by package: how many of the pool               */
    int             *users;   /* by package: how many of the ranks              */
    int             *limit;   /* by package: how many ranks it may have             */
    int              packages;
} tw_group_t;

static int tw_package_of(const tw_node_t *node, int core)
{
    return tw_node_where(node, TW_PART_CORE, core).package;
}

/* The pool: cores inside the binding that nobody has; if all are taken, all inside the binding. */
static void tw_group_pool(tw_group_t *g, const int *users)
{
    const hwloc_bitmap_t set = g->seats[g->ranks[0]].set;

    for (int free_only = 1; free_only >= 0 && g->pool.count == 0; free_only--) {
        for (int c = 0; c < g->node->count[TW_PART_CORE]; c++) {
            if ((set == NULL || hwloc_bitmap_intersects(set, g->node->core_pus[c])) &&
                (!free_only || users[c] == 0)) {
                g->pool.list[g->pool.count++] = c;
            }
        }
    }
    for (int i = 0; i < g->pool.count; i++) {
        g->cores[tw_package_of(g->node, g->pool.list[i])]++;
    }
}

/* Fewer ranks than packages, and none with a home: whole packages. */
static tw_status_t tw_group_whole(tw_group_t *g, int used)
{
    int number = -1, last = -1;

    for (int i = 0; i < g->pool.count; i++) {
        const int package = tw_package_of(g->node, g->pool.list[i]);
        int       k;

        number += package != last;
        last = package;
        /* Rank k begins with package k * used / count, rounded down. */
        k = (int)((((long long)number + 1) * g->count - 1) / used);
        if (!tw_seat_add(&g->seats[g->ranks[k]], g->pool.list[i])) {
            return TW_ERR_NO_MEMORY;
        }
    }
    return TW_OK;
}

/* A package for every rank; returns how many had a home. */
static int tw_group_send(tw_group_t *g)
{
    int homeless = 0, seen = 0;

    for (int i = 0; i < g->count; i++) {
        const int home = g->seats[g->ranks[i]].home.package;

        g->package[i] = home >= 0 && home < g->packages && g->cores[home] > 0 ? home : -1;
        homeless += g->package[i] < 0;
    }
    for (int i = 0; i < g->count; i++) {
        if (g->package[i] < 0) {
            g->package[i] =
                tw_package_of(g->node, g->pool.list[(long long)seen++ * g->pool.count / homeless]);
            g->seats[g->ranks[i]].home = (tw_where_t){-1, -1};
        }
        g->users[g->package[i]]++;
    }
    return g->count - homeless;
}

/* How many ranks a package may have: one per core; if there are too few cores, its part of the
 * ranks, and what division leaves goes to the packages that most ranks want. */
static void tw_group_limits(tw_group_t *g)
{
    int rest = g->count;

    for (int p = 0; p < g->packages; p++) {
        g->limit[p] = g->cores[p];
        if (g->count > g->pool.count) {
            g->limit[p] = (int)((long long)g->count * g->cores[p] / g->pool.count);
            rest -= g->limit[p];
        }
    }
    for (; g->count > g->pool.count && rest > 0; rest--) {
        int best = -1;

        for (int p = 0; p < g->packages; p++) {
            /* Once each: a limit that was raised is above the division. */
            if (g->cores[p] > 0 &&
                g->limit[p] == (int)((long long)g->count * g->cores[p] / g->pool.count) &&
                (best < 0 || g->users[p] - g->limit[p] > g->users[best] - g->limit[best])) {
                best = p;
            }
        }
        g->limit[best]++;
    }
}

/* A package passes the ranks beyond its limit, the last ones, to the one with the most room. */
static void tw_group_balance(tw_group_t *g)
{
    tw_group_limits(g);
    for (int i = g->count - 1; i >= 0; i--) {
        const int p        = g->package[i];
        int       emptiest = p;

        if (g->users[p] <= g->limit[p]) {
            continue;
        }
        for (int q = 0; q < g->packages; q++) {
            if (g->limit[q] - g->users[q] > g->limit[emptiest] - g->users[emptiest]) {
                emptiest = q;
            }
        }
        g->users[p]--;
        g->users[emptiest]++;
        g->package[i]              = emptiest;
        g->seats[g->ranks[i]].home = (tw_where_t){-1, -1};
    }
}

/* The ranks of a package: by the NUMA node of their GPU, those without at the end, then by rank. */
static int tw_group_order(const tw_group_t *g, int package, int *order)
{
    const int numas = g->node->count[TW_PART_NUMA];
    int       n     = 0;

    for (int numa = 0; numa <= numas; numa++) {
        for (int i = 0; i < g->count; i++) {
            const int home = g->seats[g->ranks[i]].home.numa;

            if (g->package[i] == package && (home >= 0 ? home : numas) == numa) {
                order[n++] = g->ranks[i];
            }
        }
    }
    return n;
}

static tw_status_t tw_group_divide(tw_group_t *g, int *order)
{
    tw_status_t status = TW_OK;
    int         from   = 0, to;

    for (; from < g->pool.count && status == TW_OK; from = to) {
        const int  package = tw_package_of(g->node, g->pool.list[from]);
        tw_cores_t part    = {g->pool.list + from, 0};
        int        ranks;

        for (to = from; to < g->pool.count && tw_package_of(g->node, g->pool.list[to]) == package;
             to++) {
        }
        part.count = to - from;
        ranks      = tw_group_order(g, package, order);
        if (ranks > 0) {
            status = tw_place_package(g->node, g->seats, order, ranks, &part);
        }
    }
    return status;
}

static int tw_by_package(const void *a, const void *b, void *node)
{
    const int x = *(const int *)a, y = *(const int *)b;
    const int p = tw_package_of(node, x), q = tw_package_of(node, y);

    return p != q ? p - q : x - y;
}

/* Place one group; ranks[] holds its members. */
static tw_status_t tw_group_place(tw_group_t *g, const int *users, int *order)
{
    int used = 0;

    g->pool.count = 0;
    memset(g->cores, 0, (size_t)g->packages * sizeof(int));
    memset(g->users, 0, (size_t)g->packages * sizeof(int));
    tw_group_pool(g, users);
    qsort_r(g->pool.list, (size_t)g->pool.count, sizeof(int), tw_by_package,
            (void *)(uintptr_t)g->node);
    for (int p = 0; p < g->packages; p++) {
        used += g->cores[p] > 0;
    }
    if (tw_group_send(g) == 0 && g->count <= used) {
        return tw_group_whole(g, used);
    }
    tw_group_balance(g);
    return tw_group_divide(g, order);
}

/* The next group: the unplaced rank with the narrowest binding, and all with the same one. */
static int tw_group_next(tw_group_t *g, int ranks)
{
    int first = -1, least = 0;

    for (int r = 0; r < ranks; r++) {
        const int weight =
            g->seats[r].set != NULL ? hwloc_bitmap_weight(g->seats[r].set) : INT32_MAX;

        if (g->seats[r].count == 0 && (first < 0 || weight < least)) {
            first = r;
            least = weight;
        }
    }
    g->count = 0;
    for (int r = first; first >= 0 && r < ranks; r++) {
        const hwloc_bitmap_t a = g->seats[first].set, b = g->seats[r].set;

        if (g->seats[r].count == 0 &&
            (a == b || (a != NULL && b != NULL && hwloc_bitmap_isequal(a, b)))) {
            g->ranks[g->count++] = r;
        }
    }
    return g->count;
}

tw_status_t tw_place_cores(const tw_node_t *node, tw_seat_t *seats, int ranks, int *users)
{
    const int  packages = node->count[TW_PART_PACKAGE], cores = node->count[TW_PART_CORE];
    int       *room = calloc((size_t)ranks * 3 + (size_t)packages * 3 + (size_t)cores, sizeof(int));
    tw_group_t g    = {.node = node, .seats = seats, .packages = packages};
    int       *order;
    tw_status_t status = TW_OK;

    if (room == NULL) {
        return TW_ERR_NO_MEMORY;
    }
    g.ranks     = room;
    g.package   = g.ranks + ranks;
    order       = g.package + ranks;
    g.cores     = order + ranks;
    g.users     = g.cores + packages;
    g.limit     = g.users + packages;
    g.pool.list = g.limit + packages;
    while (status == TW_OK && tw_group_next(&g, ranks) > 0) {
        status = tw_group_place(&g, users, order);
        for (int i = 0; i < g.count; i++) {
            for (int c = 0; c < seats[g.ranks[i]].count; c++) {
                users[seats[g.ranks[i]].cores[c]]++;
            }
        }
    }
    free(room);
    return status;
}
