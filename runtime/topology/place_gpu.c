/* SPDX-License-Identifier: BSD-3-Clause
 * topology/place_gpu.c - a GPU for every rank.
 *
 * What ranks take are units: GPUs, parts of GPUs where MIG divides them, and devices of CUDA whose
 * GPU is not on the map. In the order of ranks, each takes a unit that fewest have taken, of these
 * the nearest to its binding, of these the first in CUDA's order. Ranks without a binding (the
 * usual case) get GPU r mod n, so that neighbours in rank are neighbours on PCIe; their cores
 * follow the GPU. Where ranks see different units, some then change so that no unit has two ranks
 * more than one that they could reach; and two ranks swap where that brings them nearer, taken
 * together.
 */
#include "config.h"

#include <limits.h>
#include <stdlib.h>

#include "runtime/topology/place.h"

#define TW_SWAP_RANKS                                                                              \
    1024 /* more on one node share cores many times over: nearness is lost anyway */

#define TW_GPU_HIDDEN 100 /* farther than any: never taken */

static int tw_option_of(const tw_options_t *o, int unit)
{
    for (int i = 0; i < o->count; i++) {
        if (o->list[i].unit == unit) {
            return i;
        }
    }
    return -1;
}

static int tw_option_far(const tw_options_t *o, int unit)
{
    const int i = tw_option_of(o, unit);

    return i >= 0 ? o->list[i].far : TW_GPU_HIDDEN;
}

static int tw_taken(const tw_options_t *o)
{
    return o->taken >= 0 ? o->list[o->taken].unit : -1;
}

static void tw_take(tw_allotment_t *c, int r, int unit)
{
    tw_options_t *o = &c->options[r];

    if (o->taken >= 0) {
        c->units[tw_taken(o)].users--;
    }
    o->taken = tw_option_of(o, unit);
    c->units[unit].users++;
}

static void tw_take_first(tw_allotment_t *c, int r)
{
    const tw_options_t *o    = &c->options[r];
    int                 best = -1;

    for (int i = 0; i < o->count; i++) {
        const int users = c->units[o->list[i].unit].users;
        const int least = best >= 0 ? c->units[o->list[best].unit].users : INT_MAX;

        if (users < least || (users == least && o->list[i].far < o->list[best].far)) {
            best = i;
        }
    }
    if (best >= 0) {
        tw_take(c, r, o->list[best].unit);
    }
}

/* Ranks change along a way of units, from one that has too many to one that has too few. */
static int tw_relieve(tw_allotment_t *c, int start)
{
    int *queue = c->scratch, head = 0, tail = 0;

    for (int u = 0; u < c->count; u++) {
        c->units[u].by = -1;
    }
    queue[tail++] = start;
    while (head < tail) {
        const int u = queue[head++];

        for (int r = 0; r < c->ranks; r++) {
            const tw_options_t *o = &c->options[r];

            for (int i = 0; tw_taken(o) == u && i < o->count; i++) {
                int v = o->list[i].unit;

                if (v == start || c->units[v].by >= 0) {
                    continue;
                }
                c->units[v].by   = r;
                c->units[v].from = u;
                if (c->units[v].users + 2 <= c->units[start].users) {
                    for (; v != start; v = c->units[v].from) {
                        tw_take(c, c->units[v].by, v);
                    }
                    return 1;
                }
                queue[tail++] = v;
            }
        }
    }
    return 0;
}

static void tw_balance(tw_allotment_t *c)
{
    for (int u = 0; u < c->count; u++) {
        while (c->units[u].users > 1 && tw_relieve(c, u)) {
            u = 0; /* ranks on the way have changed, too */
        }
    }
}

/* One rank goes to a unit with fewer ranks where that is nearer. */
static int tw_move(tw_allotment_t *c, int r)
{
    const tw_options_t *o     = &c->options[r];
    int                 moved = 0;

    for (int i = 0; i < o->count; i++) {
        const int here = tw_taken(o), there = o->list[i].unit;

        if (o->list[i].far < o->list[o->taken].far &&
            c->units[there].users < c->units[here].users) {
            tw_take(c, r, there);
            moved = 1;
        }
    }
    return moved;
}

/* Two ranks swap where both together come nearer. */
static int tw_swap(tw_allotment_t *c, int a, int b)
{
    const tw_options_t *of_a = &c->options[a], *of_b = &c->options[b];
    const int           p = tw_taken(of_a), q = tw_taken(of_b);

    if (p < 0 || q < 0 || p == q ||
        of_a->list[of_a->taken].far + of_b->list[of_b->taken].far == 0 ||
        tw_option_far(of_a, q) + tw_option_far(of_b, p) >=
            of_a->list[of_a->taken].far + of_b->list[of_b->taken].far) {
        return 0;
    }
    tw_take(c, a, q);
    tw_take(c, b, p);
    return 1;
}

static void tw_come_nearer(tw_allotment_t *c)
{
    for (int pass = 0, changed = 1; changed && pass < c->ranks; pass++) {
        changed = 0;
        for (int a = 0; a < c->ranks; a++) {
            changed |= tw_move(c, a);
            for (int b = a + 1; b < c->ranks; b++) {
                changed |= tw_swap(c, a, b);
            }
        }
    }
}

static void tw_allotment_make(tw_allotment_t *c)
{
    for (int r = 0; r < c->ranks; r++) {
        tw_take_first(c, r);
    }
    tw_balance(c);
    if (c->ranks <= TW_SWAP_RANKS) {
        tw_come_nearer(c);
    }
    for (int r = 0; r < c->ranks; r++) {
        const tw_options_t *o    = &c->options[r];
        tw_seat_t          *seat = &c->seats[r];

        seat->gpu        = o->taken >= 0 ? c->units[tw_taken(o)].gpu : -1;
        seat->device     = o->taken >= 0 ? o->list[o->taken].device : -1;
        seat->shares_gpu = o->taken >= 0 && c->units[tw_taken(o)].users > 1;
        seat->home =
            seat->gpu >= 0 ? tw_node_where(c->node, TW_PART_GPU, seat->gpu) : (tw_where_t){-1, -1};
    }
}

tw_status_t tw_place_gpus(const tw_node_t *node, tw_seat_t *seats, int ranks, int *units_p)
{
    const int      gpus = node->count[TW_PART_GPU];
    tw_allotment_t c = {.node = node, .seats = seats, .ranks = ranks, .count = gpus, .room = gpus};
    tw_status_t    status = TW_ERR_NO_MEMORY;

    c.units   = calloc((size_t)gpus + 1, sizeof(*c.units));
    c.scratch = calloc((size_t)gpus + 1, sizeof(*c.scratch));
    c.options = calloc((size_t)ranks, sizeof(*c.options));
    if (c.units != NULL && c.scratch != NULL && c.options != NULL) {
        status = tw_allotment_fill(&c);
    }
    if (status == TW_OK) {
        tw_allotment_make(&c);
    }
    *units_p = 0;
    for (int u = 0; u < c.count && c.units != NULL; u++) {
        *units_p += c.units[u].users > 0;
    }
    for (int r = 0; r < ranks && c.options != NULL; r++) {
        free(c.options[r].list);
    }
    free(c.options);
    free(c.scratch);
    free(c.units);
    return status;
}
