/* SPDX-License-Identifier: BSD-3-Clause
 * topology/exchange.c - the order in which GPUs exchange pairwise.
 *
 * A PCIe switch has one link upwards: of the devices below it only one talks across it at a time
 * (Dettmers, 8-Bit Approximations for Parallelism in Deep Learning, section 2.3.2), while pairs
 * below it do not need that link. So the switches form a tree whose leaves are GPUs, and the order
 * is recursive: the orders of all branches of a switch, round by round at the same time; then its
 * branches meet each other in the rounds of a tournament, and when two branches meet, their GPUs do
 * so pair after pair. At the root, where there is no switch, branches meet in the same way. A
 * branch that is a single GPU has no inner pairs, so GPUs without switches have an ordinary
 * tournament. Pairs that NVLink or XGMI joins need no PCIe: they meet first, in a tournament of all
 * GPUs that such links hold together, in which the other pairs do not meet.
 */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "runtime/topology/node.h"

#define TW_EXCHANGE_GPUS 1024

typedef struct tw_meeting {
    int round, a, b;
} tw_meeting_t;

typedef struct tw_exchange_search {
    const tw_node_t *node;
    tw_meeting_t    *list;
    int              count;
    int *web;    /* by GPU: the least of those that links hold together with it; -1: none */
    int  nvlink; /* only pairs with a link are meeting now                             */
} tw_exchange_search_t;

/* GPUs that stand together below one part: a run of the sorted array. */
typedef struct tw_branch {
    const int *gpus;
    int        count;
} tw_branch_t;

/* The part below `above` (a switch, or -1 for the root) that holds a GPU: a switch or the GPU. */
static int tw_branch_of(const tw_node_t *node, int gpu, int above)
{
    const int leaf  = tw_node_at(node, TW_PART_GPU, gpu);
    int       child = leaf;

    for (int s = tw_node_above(node, leaf, TW_PART_SWITCH); s != above && s >= 0;
         s     = tw_node_above(node, s, TW_PART_SWITCH)) {
        child = s;
    }
    return child;
}

/* NVLink or XGMI, in both directions. */
static int tw_exchange_linked(const tw_exchange_search_t *x, int a, int b)
{
    return tw_node_nvlink(x->node, a, b) > 0 && tw_node_nvlink(x->node, b, a) > 0;
}

/* Two branches meet: pair after pair, from round `first`; only those with a link, or only the
 * others. Returns the round after the last. */
static int tw_exchange_meet(tw_exchange_search_t *x, const tw_branch_t *p, const tw_branch_t *q,
                            int first)
{
    for (int i = 0; i < p->count; i++) {
        for (int j = 0; j < q->count; j++) {
            const int a = p->gpus[i], b = q->gpus[j];

            if (tw_exchange_linked(x, a, b) == x->nvlink) {
                x->list[x->count++] = (tw_meeting_t){first++, a < b ? a : b, a < b ? b : a};
            }
        }
    }
    return first;
}

/* Who meets in match i of a step. A power of two meets by exclusive or, which brings neighbours
 * together first; other numbers by the circle method: the last of an even number stays, the others
 * go round. */
static void tw_exchange_match(int even, int step, int i, int *p, int *q)
{
    if ((even & (even - 1)) == 0) {
        const int top = step + 1, high = 1 << (31 - __builtin_clz((unsigned)top));

        /* The i-th number without the highest bit of the step in it. */
        *p = (i & (high - 1)) | (i & ~(high - 1)) << 1;
        *q = *p ^ top;
    } else {
        *p = i == 0 ? even - 1 : (step + i) % (even - 1);
        *q = (step + even - 1 - i) % (even - 1);
    }
}

/* Every branch meets every other one. Returns the round after the last. */
static int tw_exchange_tournament(tw_exchange_search_t *x, const tw_branch_t *branches, int n,
                                  int first)
{
    const int even = n + n % 2;

    for (int step = 0; step + 1 < even; step++) {
        int last = first;

        for (int i = 0; i < even / 2; i++) {
            int p, q;

            tw_exchange_match(even, step, i, &p, &q);
            if (p < n && q < n) {
                const int end =
                    tw_exchange_meet(x, &branches[p < q ? p : q], &branches[p < q ? q : p], first);

                last = end > last ? end : last;
            }
        }
        first = last;
    }
    return first;
}

/* All pairs among the GPUs below `above`, from round `first`. Returns the round after the last, or
 * -1 without memory. */
static int tw_exchange_below(tw_exchange_search_t *x, const int *gpus, int count, int above,
                             int first)
{
    tw_branch_t *branches = calloc((size_t)count, sizeof(*branches));
    int          n = 0, inner = first;

    if (branches == NULL) {
        return -1;
    }
    for (int i = 0; i < count; i++) {
        const int branch = tw_branch_of(x->node, gpus[i], above);

        if (i == 0 || branch != tw_branch_of(x->node, gpus[i - 1], above)) {
            branches[n++] = (tw_branch_t){gpus + i, 0};
        }
        branches[n - 1].count++;
    }
    for (int i = 0; i < n && inner >= 0; i++) {
        if (branches[i].count > 1) {
            const int branch = tw_branch_of(x->node, branches[i].gpus[0], above);
            const int end =
                tw_exchange_below(x, branches[i].gpus, branches[i].count, branch, first);

            inner = end < 0 || end > inner ? end : inner;
        }
    }
    if (inner >= 0) {
        inner = tw_exchange_tournament(x, branches, n, inner);
    }
    free(branches);
    return inner;
}

/* Fill web: GPUs of the set that links join, directly or one through another. */
static void tw_exchange_webs(tw_exchange_search_t *x, const int *gpus, int count)
{
    for (int i = 0; i < x->node->count[TW_PART_GPU]; i++) {
        x->web[i] = -1;
    }
    for (int i = 0; i < count; i++) {
        x->web[gpus[i]] = gpus[i];
    }
    for (int pass = 0, changed = 1; changed && pass < count; pass++) {
        changed = 0;
        for (int i = 0; i < count; i++) {
            for (int j = 0; j < count; j++) {
                if (x->web[gpus[j]] < x->web[gpus[i]] && tw_exchange_linked(x, gpus[i], gpus[j])) {
                    x->web[gpus[i]] = x->web[gpus[j]];
                    changed         = 1;
                }
            }
        }
    }
}

/* The tournaments of all webs, at the same time. Returns the round after the last, or -1. */
static int tw_exchange_nvlink(tw_exchange_search_t *x, const int *gpus, int count)
{
    tw_branch_t *branches = calloc((size_t)count, sizeof(*branches));
    int          last     = branches != NULL ? 0 : -1;

    x->nvlink = 1;
    for (int i = 0; i < count && last >= 0; i++) {
        int n = 0, end;

        for (int j = 0; j < count && x->web[gpus[i]] == gpus[i]; j++) {
            if (x->web[gpus[j]] == gpus[i]) {
                branches[n++] = (tw_branch_t){gpus + j, 1};
            }
        }
        end  = n > 1 ? tw_exchange_tournament(x, branches, n, 0) : 0;
        last = end > last ? end : last;
    }
    x->nvlink = 0;
    free(branches);
    return last;
}

static int tw_by_part(const void *a, const void *b, void *node)
{
    return tw_node_at(node, TW_PART_GPU, *(const int *)a) -
           tw_node_at(node, TW_PART_GPU, *(const int *)b);
}

static int tw_by_round(const void *a, const void *b)
{
    const tw_meeting_t *x = a, *y = b;

    return x->round != y->round ? x->round - y->round : x->a - y->a;
}

/* Meetings, sorted by round, as rounds with their pairs behind them. */
static tw_round_t *tw_exchange_pack(const tw_exchange_search_t *x, int rounds, int nvlink)
{
    tw_round_t *list =
        malloc(((size_t)rounds + 1) * sizeof(*list) + (size_t)x->count * sizeof(tw_pair_t));
    tw_pair_t *pairs;

    if (list == NULL) {
        return NULL;
    }
    pairs = (tw_pair_t *)(list + rounds + 1);
    for (int r = 0; r < rounds; r++) {
        list[r] = (tw_round_t){.distance = TW_NEAR_SWITCH, .nvlink = r < nvlink};
    }
    for (int i = 0; i < x->count; i++) {
        const tw_meeting_t *m     = &x->list[i];
        tw_round_t         *round = &list[m->round];
        const tw_distance_t far =
            tw_node_distance(x->node, tw_node_find(x->node, TW_PART_GPU, m->a),
                             tw_node_find(x->node, TW_PART_GPU, m->b));

        pairs[i]        = (tw_pair_t){m->a, m->b};
        round->pairs    = round->count == 0 ? &pairs[i] : round->pairs;
        round->distance = far > round->distance ? far : round->distance;
        round->count++;
    }
    return list;
}

/* Whether the set is one of GPUs of this node, each once. */
static int tw_exchange_valid(const tw_node_t *node, const int *gpus, int count)
{
    for (int i = 0; i < count; i++) {
        if (gpus[i] < 0 || gpus[i] >= node->count[TW_PART_GPU]) {
            return 0;
        }
        for (int j = 0; j < i; j++) {
            if (gpus[i] == gpus[j]) {
                return 0;
            }
        }
    }
    return 1;
}

tw_status_t tw_exchange_order(const tw_node_t *node, const int *gpus, int count,
                              tw_round_t **rounds_p, int *rounds_count_p)
{
    tw_exchange_search_t x      = {.node = node};
    tw_round_t          *list   = NULL;
    int                  rounds = -1, nvlink = 0;
    int                 *sorted;

    if (node == NULL || gpus == NULL || rounds_p == NULL || rounds_count_p == NULL) {
        return TW_ERR_INVALID_ARG;
    }
    if (count < 1 || count > TW_EXCHANGE_GPUS) {
        return TW_ERR_RANGE;
    }
    if (!tw_exchange_valid(node, gpus, count)) {
        return TW_ERR_INVALID_ARG;
    }
    sorted = malloc((size_t)count * sizeof(*sorted));
    x.list = calloc((size_t)count * (size_t)count, sizeof(*x.list));
    x.web  = calloc((size_t)node->count[TW_PART_GPU], sizeof(*x.web));
    if (sorted != NULL && x.list != NULL && x.web != NULL) {
        /* In the order of the tree, so that what stands below one part is a run. */
        memcpy(sorted, gpus, (size_t)count * sizeof(*sorted));
        qsort_r(sorted, (size_t)count, sizeof(*sorted), tw_by_part, (void *)(uintptr_t)node);
        tw_exchange_webs(&x, sorted, count);
        nvlink = tw_exchange_nvlink(&x, sorted, count);
        rounds = nvlink >= 0 ? tw_exchange_below(&x, sorted, count, -1, nvlink) : -1;
    }
    if (rounds >= 0) {
        qsort(x.list, (size_t)x.count, sizeof(*x.list), tw_by_round);
        list = tw_exchange_pack(&x, rounds, nvlink);
    }
    free(sorted);
    free(x.list);
    free(x.web);
    if (list == NULL) {
        return TW_ERR_NO_MEMORY;
    }
    *rounds_p       = list;
    *rounds_count_p = rounds;
    return TW_OK;
}
