/* SPDX-License-Identifier: BSD-3-Clause
 * topology/near.c - see near.h.
 */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "runtime/topology/near.h"
#include "runtime/topology/node.h"

/* The first level that joins two ranks. */
static int tw_near_level(const tw_node_t *node, const tw_place_t *a, const tw_place_t *b)
{
    const int        both   = a->gpu >= 0 && b->gpu >= 0;
    const tw_part_t *part_a = a->gpu >= 0 ? tw_node_find(node, TW_PART_GPU, a->gpu)
                                          : tw_node_find(node, TW_PART_CORE, a->cores[0]);
    const tw_part_t *part_b = b->gpu >= 0 ? tw_node_find(node, TW_PART_GPU, b->gpu)
                                          : tw_node_find(node, TW_PART_CORE, b->cores[0]);
    const int        far    = (int)tw_node_distance(node, part_a, part_b);

    if (both && (a->gpu == b->gpu || tw_node_nvlink(node, a->gpu, b->gpu) > 0)) {
        return a->gpu == b->gpu || far == (int)TW_NEAR_SWITCH ? 0 : 1;
    }
    return 2 + far;
}

void tw_near_levels(const tw_node_t *node, const tw_place_t *places, int ranks, int *levels)
{
    for (int r = 0; r < ranks; r++) {
        levels[r * TW_NEAR_LEVELS] = r;
    }
    for (int l = 0; l < TW_NEAR_LEVELS; l++) {
        for (int r = 0; r < ranks; r++) {
            int *mine = &levels[r * TW_NEAR_LEVELS + l];

            *mine = l > 0 ? mine[-1] : r;
        }
        for (int a = 0; a < ranks; a++) {
            for (int b = a + 1; b < ranks; b++) {
                const int p = levels[a * TW_NEAR_LEVELS + l], q = levels[b * TW_NEAR_LEVELS + l];

                if (p == q || tw_near_level(node, &places[a], &places[b]) > l) {
                    continue;
                }
                for (int r = 0; r < ranks; r++) {
                    int *mine = &levels[r * TW_NEAR_LEVELS + l];

                    *mine = *mine == p || *mine == q ? (p < q ? p : q) : *mine;
                }
            }
        }
    }
}

/* A rank that has no group yet, and what joins it with its neighbours in the line. */
typedef struct tw_near_rank {
    int rank, joined;
    int at; /* its place in the line before */
} tw_near_rank_t;

static int tw_by_joined(const void *a, const void *b)
{
    const tw_near_rank_t *x = a, *y = b;

    return x->joined != y->joined ? x->joined - y->joined : x->at - y->at;
}

static int tw_by_rank(const void *a, const void *b)
{
    return *(const int *)a - *(const int *)b;
}

/* Groups out of each run of the line that is joined; the others stay in it. Returns how many
 * stay. */
static int tw_near_take(tw_near_rank_t *line, int count, int group, int *order, int *ordered_p)
{
    int stay = 0;

    for (int from = 0, end; from < count; from = end) {
        int full;

        for (end = from; end < count && line[end].joined == line[from].joined; end++) {
        }
        full = from + (end - from) / group * group;
        for (int i = from; i < full; i++) {
            order[(*ordered_p)++] = line[i].rank;
        }
        for (int i = full; i < end; i++) {
            line[stay++] = line[i];
        }
    }
    return stay;
}

tw_status_t tw_near_groups(const int *levels, int ranks, int group, int *order)
{
    tw_near_rank_t *line    = calloc((size_t)ranks, sizeof(*line));
    int            *groups  = malloc((size_t)ranks * sizeof(*groups));
    int             ordered = 0, stay = ranks;

    if (line == NULL || groups == NULL) {
        free(line);
        free(groups);
        return TW_ERR_NO_MEMORY;
    }
    for (int r = 0; r < ranks; r++) {
        line[r].rank = r;
    }
    for (int l = 0; l <= TW_NEAR_LEVELS; l++) { /* at last all of them */
        for (int i = 0; i < stay; i++) {
            line[i].at     = i;
            line[i].joined = l < TW_NEAR_LEVELS ? levels[line[i].rank * TW_NEAR_LEVELS + l] : 0;
        }
        qsort(line, (size_t)stay, sizeof(*line), tw_by_joined);
        stay = tw_near_take(line, stay, group, groups, &ordered);
    }
    for (int i = 0; i < ordered; i += group) {
        qsort(groups + i, (size_t)group, sizeof(int), tw_by_rank);
    }
    qsort(groups, (size_t)(ordered / group), (size_t)group * sizeof(int), tw_by_rank);
    memcpy(order, groups, (size_t)ordered * sizeof(int));
    for (int i = 0; i < stay; i++) {
        order[ordered + i] = line[i].rank;
    }
    qsort(order + ordered, (size_t)stay, sizeof(int), tw_by_rank);
    free(line);
    free(groups);
    return TW_OK;
}

tw_status_t tw_place_groups(const tw_node_t *node, const tw_place_t *places, int ranks, int group,
                            int *order)
{
    int        *levels;
    tw_status_t status;

    if (node == NULL || places == NULL || order == NULL) {
        return TW_ERR_INVALID_ARG;
    }
    if (ranks < 1 || ranks > TW_PLACE_RANKS || group < 1 || group > ranks) {
        return TW_ERR_RANGE;
    }
    levels = malloc((size_t)ranks * TW_NEAR_LEVELS * sizeof(*levels));
    if (levels == NULL) {
        return TW_ERR_NO_MEMORY;
    }
    tw_near_levels(node, places, ranks, levels);
    status = tw_near_groups(levels, ranks, group, order);
    free(levels);
    return status;
}
