/* SPDX-License-Identifier: BSD-3-Clause
 * interpose/record/fold.c - see fold.h.
 *
 * The end of the sequence is looked at whenever something is added: it may be one more round of a
 * loop that ends where it begins, or the second of two equal pieces, the start of a loop. As a loop
 * is an element of what is around it, loops are found from the inside to the outside. Pieces are
 * compared by hashes of the sequence up to their ends, then for certain. Few places are tried: the
 * nearest loops, and those where the last element stands as well.
 *
 * Inspired by the loop compression of ScalaTrace (Noeth, Ratn, Mueller, Schulz, de Supinski:
 * ScalaTrace: scalable compression and replay of communication traces, J. Parallel Distrib. Comput.
 * 69, 2009); that compares within a window, this finds pieces of any length by their hashes.
 */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "interpose/record/fold_nodes.h"

enum { TW_FOLD_TRIES = 32, TW_FOLD_ENDS = 6, TW_FOLD_ROOM = 16 };

uint64_t tw_fold_loop_hash(const tw_fold_node_t *loop)
{
    return tw_fold_mix(loop->body_hash ^ tw_fold_mix(loop->times) ^ ((uint64_t)loop->length << 40));
}

/* ---- nodes --------------------------------------------------------------------------------- */

void tw_fold_free(tw_fold_node_t *nodes, size_t length)
{
    for (size_t i = 0; i < length; i++) {
        if (nodes[i].length > 0) {
            tw_fold_free(nodes[i].body, nodes[i].length);
            free(nodes[i].body);
        }
    }
}

static bool tw_fold_equal(const tw_fold_node_t *a, const tw_fold_node_t *b, size_t length)
{
    for (size_t i = 0; i < length; i++) {
        if (a[i].length != b[i].length ||
            (a[i].length == 0
                 ? a[i].id != b[i].id
                 : a[i].times != b[i].times || !tw_fold_equal(a[i].body, b[i].body, a[i].length))) {
            return false;
        }
    }
    return true;
}

/* b's times go to a, which is equal; b's memory is released. */
static void tw_fold_merge(tw_fold_node_t *a, tw_fold_node_t *b, size_t length)
{
    for (size_t i = 0; i < length; i++) {
        if (a[i].length > 0) {
            tw_fold_merge(a[i].body, b[i].body, a[i].length);
            free(b[i].body);
        } else {
            a[i].compute += b[i].compute;
            a[i].fixed += b[i].fixed;
            a[i].runs += b[i].runs;
        }
    }
}

static size_t tw_fold_nodes(const tw_fold_node_t *nodes, size_t length)
{
    size_t sum = 0;

    for (size_t i = 0; i < length; i++) {
        sum += nodes[i].nodes;
    }
    return sum;
}

uint32_t tw_fold_depth(const tw_fold_node_t *nodes, size_t length)
{
    uint32_t depth = 0;

    for (size_t i = 0; i < length; i++) {
        depth = nodes[i].depth > depth ? nodes[i].depth : depth;
    }
    return depth;
}

/* ---- where what stands --------------------------------------------------------------------- */

/* The slot of a hash, or the free one where it would be. */
static tw_fold_slot_t *tw_fold_look(const tw_fold_t *fold, uint64_t hash)
{
    size_t at = (size_t)hash & (fold->slots - 1);

    while (fold->slot[at].hash != 0 && fold->slot[at].hash != hash) {
        at = (at + 1) & (fold->slots - 1);
    }
    return &fold->slot[at];
}

/* Room in the table for one more; hashes that stand nowhere any more are dropped. */
static bool tw_fold_slots(tw_fold_t *fold)
{
    tw_fold_slot_t *old  = fold->slot;
    const size_t    had  = fold->slots;
    size_t          live = 0;

    if (2 * (fold->used + 1) <= had) {
        return true;
    }
    for (size_t i = 0; i < had; i++) {
        live += old[i].hash != 0 && old[i].last >= 0;
    }
    fold->slots = had == 0 ? 2 * TW_FOLD_ROOM : 4 * (live + 1) > had ? 2 * had : had;
    fold->slot  = calloc(fold->slots, sizeof(*fold->slot));
    if (fold->slot == NULL) {
        fold->slot  = old;
        fold->slots = had;
        return false;
    }
    fold->used = 0;
    for (size_t i = 0; i < had; i++) {
        if (old[i].hash != 0 && old[i].last >= 0) {
            *tw_fold_look(fold, old[i].hash) = old[i];
            fold->used++;
        }
    }
    free(old);
    return true;
}

/* All that stands there now will not grow any more. There is room in the table. */
static void tw_fold_seal(tw_fold_t *fold)
{
    for (; fold->sealed < fold->length; fold->sealed++) {
        tw_fold_slot_t *slot = tw_fold_look(fold, fold->top[fold->sealed].hash);

        fold->same[fold->sealed] = slot->hash != 0 ? slot->last : -1;
        fold->used += slot->hash == 0;
        *slot = (tw_fold_slot_t){fold->top[fold->sealed].hash, (int32_t)fold->sealed};
    }
}

/* Cut the sequence to so many; what was behind is the caller's. */
static void tw_fold_cut(tw_fold_t *fold, size_t length)
{
    while (fold->sealed > length) {
        tw_fold_slot_t *slot = tw_fold_look(fold, fold->top[--fold->sealed].hash);
        const size_t    next = (size_t)(slot - fold->slot + 1) & (fold->slots - 1);

        slot->last = fold->same[fold->sealed];
        if (slot->last < 0 && fold->slot[next].hash == 0) { /* no other was put behind it */
            slot->hash = 0;
            fold->used--;
        }
    }
    fold->length = length;
}

static uint64_t tw_fold_power(size_t n)
{
    uint64_t power = 1, base = TW_FOLD_BASE;

    for (; n > 0; n >>= 1) {
        power *= n & 1 ? base : 1;
        base *= base;
    }
    return power;
}

static uint64_t tw_fold_range(const tw_fold_t *fold, size_t from, size_t to)
{
    return fold->prefix[to] - fold->prefix[from] * tw_fold_power(to - from);
}

/* The last of the sequence has this hash. */
static void tw_fold_close(tw_fold_t *fold)
{
    const size_t last = fold->length - 1;

    fold->prefix[last + 1] = fold->prefix[last] * TW_FOLD_BASE + fold->top[last].hash;
    fold->loop[last]       = last == 0                        ? -1
                             : fold->top[last - 1].length > 0 ? (int32_t)last - 1
                                                              : fold->loop[last - 1];
}

/* ---- the end of the sequence --------------------------------------------------------------- */

/* The loop at `at` has gone through `times` more rounds, the last of which are behind it. */
static void tw_fold_more(tw_fold_t *fold, size_t at, uint64_t times)
{
    tw_fold_node_t *loop = &fold->top[at];

    tw_fold_cut(fold, at); /* its hash changes */
    fold->length = at + 1;
    loop->times += times;
    loop->hash = tw_fold_loop_hash(loop);
    tw_fold_close(fold);
}

/* Is the end of the sequence one more round of a loop before it? */
static bool tw_fold_round(tw_fold_t *fold)
{
    const size_t n  = fold->length;
    int32_t      at = fold->loop[n - 1];

    for (int k = 0; at >= 0 && k < TW_FOLD_TRIES; k++, at = fold->loop[at]) {
        tw_fold_node_t *loop   = &fold->top[at];
        const size_t    length = n - 1 - (size_t)at;

        if (length == loop->length && loop->body[length - 1].hash == fold->top[n - 1].hash &&
            tw_fold_range(fold, (size_t)at + 1, n) == loop->body_hash &&
            tw_fold_equal(loop->body, loop + 1, length)) {
            fold->nodes -= tw_fold_nodes(loop + 1, length);
            tw_fold_merge(loop->body, loop + 1, length);
            tw_fold_more(fold, (size_t)at, 1);
            return true;
        }
    }
    return false;
}

/* Two loops of the same body behind each other, as renumbering may make them. */
static bool tw_fold_joined(tw_fold_t *fold)
{
    tw_fold_node_t *b = &fold->top[fold->length - 1], *a = b - 1;
    uint64_t        times;

    if (fold->length < 2 || b->length == 0 || a->length != b->length ||
        a->body_hash != b->body_hash || !tw_fold_equal(a->body, b->body, a->length)) {
        return false;
    }
    times = b->times;
    fold->nodes -= b->nodes;
    tw_fold_merge(a->body, b->body, a->length);
    free(b->body);
    tw_fold_more(fold, fold->length - 2, times);
    return true;
}

/* The last 2 * length become a loop. */
static bool tw_fold_loop(tw_fold_t *fold, size_t length)
{
    const size_t    from = fold->length - 2 * length;
    tw_fold_node_t *a = &fold->top[from], *b = a + length;
    tw_fold_node_t  loop = {.times = 2, .length = (uint32_t)length};

    loop.depth = tw_fold_depth(a, length) + 1;
    if (loop.depth > fold->deepest || !tw_fold_equal(a, b, length)) {
        return false;
    }
    loop.body = malloc(length * sizeof(*loop.body));
    if (loop.body == NULL) {
        return false; /* then it stays as it is */
    }
    loop.body_hash = tw_fold_range(fold, from, from + length);
    loop.nodes     = (uint32_t)tw_fold_nodes(a, length) + 1;
    loop.hash      = tw_fold_loop_hash(&loop);
    fold->nodes -= loop.nodes - 2;
    memcpy(loop.body, a, length * sizeof(*a));
    tw_fold_merge(loop.body, b, length);
    tw_fold_cut(fold, from);
    fold->top[fold->length++] = loop;
    tw_fold_close(fold);
    return true;
}

/* Do two pieces of so many elements, which follow each other at the end, look alike? Their ends
 * first: most do not. */
static bool tw_fold_alike(const tw_fold_t *fold, size_t length)
{
    const tw_fold_node_t *last = &fold->top[fold->length - 1];
    const size_t          n    = fold->length;

    for (size_t k = 1; k < length && k <= TW_FOLD_ENDS; k++) {
        if (last[-(ptrdiff_t)k].hash != last[-(ptrdiff_t)(k + length)].hash) {
            return false;
        }
    }
    return tw_fold_range(fold, n - 2 * length, n - length) == tw_fold_range(fold, n - length, n);
}

/* Are the last two pieces of some length equal? */
static bool tw_fold_twice(tw_fold_t *fold)
{
    const size_t          n    = fold->length;
    const tw_fold_slot_t *slot = tw_fold_look(fold, fold->top[n - 1].hash);
    int32_t               at   = slot->hash != 0 ? slot->last : -1;

    for (int k = 0; at >= 0 && k < TW_FOLD_TRIES; k++, at = fold->same[at]) {
        const size_t length = n - 1 - (size_t)at;

        if (2 * length > n) {
            return false;
        }
        if (tw_fold_alike(fold, length) && tw_fold_loop(fold, length)) {
            return true;
        }
    }
    return false;
}

/* ---- adding -------------------------------------------------------------------------------- */

static bool tw_fold_grow(tw_fold_t *fold)
{
    const size_t room = fold->room > 0 ? 2 * fold->room : TW_FOLD_ROOM;
    void        *more;

    if (fold->length + 1 < fold->room) {
        return true;
    }
#define TW_FOLD_MORE(list)                                                                         \
    more = realloc(fold->list, (room + 1) * sizeof(*fold->list));                                  \
    if (more == NULL) {                                                                            \
        return false;                                                                              \
    }                                                                                              \
    fold->list = more;
    TW_FOLD_MORE(top)
    TW_FOLD_MORE(prefix)
    TW_FOLD_MORE(same)
    TW_FOLD_MORE(loop)
#undef TW_FOLD_MORE
    fold->prefix[0] = 0;
    fold->room      = room;
    return true;
}

bool tw_fold_push(tw_fold_t *fold, const tw_fold_node_t *node)
{
    if (fold->nodes + node->nodes > fold->most || !tw_fold_grow(fold) || !tw_fold_slots(fold)) {
        return false;
    }
    tw_fold_seal(fold);
    fold->top[fold->length++] = *node;
    fold->nodes += node->nodes;
    tw_fold_close(fold);
    while (tw_fold_joined(fold) || tw_fold_round(fold) || tw_fold_twice(fold)) {
    }
    return true;
}

bool tw_fold_init(tw_fold_t *fold, size_t most)
{
    *fold =
        (tw_fold_t){.most = most < INT32_MAX / 4 ? most : INT32_MAX / 4, .deepest = TW_FOLD_DEPTH};
    if (!tw_fold_grow(fold) || !tw_fold_slots(fold)) {
        tw_fold_fini(fold);
        return false;
    }
    return true;
}

void tw_fold_fini(tw_fold_t *fold)
{
    tw_fold_free(fold->top, fold->length);
    free(fold->top);
    free(fold->prefix);
    free(fold->same);
    free(fold->loop);
    free(fold->slot);
    *fold = (tw_fold_t){.top = NULL};
}

tw_fold_node_t tw_fold_leaf(uint32_t id, double compute, double fixed, uint64_t runs)
{
    return (tw_fold_node_t){.hash    = tw_fold_mix((uint64_t)id + 1),
                            .compute = compute,
                            .fixed   = fixed,
                            .runs    = runs,
                            .id      = id,
                            .nodes   = 1};
}

bool tw_fold_add(tw_fold_t *fold, uint32_t id, double compute, double fixed)
{
    return tw_fold_add_runs(fold, id, compute, fixed, 1);
}

bool tw_fold_add_runs(tw_fold_t *fold, uint32_t id, double compute, double fixed, uint64_t runs)
{
    tw_fold_node_t node = tw_fold_leaf(id, compute, fixed, runs);

    if (runs > 1) {
        tw_fold_node_t *body = malloc(sizeof(*body));

        if (body == NULL) {
            return false;
        }
        *body = node;
        node  = (tw_fold_node_t){.body = body, .times = runs, .length = 1, .nodes = 2, .depth = 1};
        node.body_hash = body->hash;
        node.hash      = tw_fold_loop_hash(&node);
    }
    if (!tw_fold_push(fold, &node)) {
        tw_fold_free(&node, 1);
        return false;
    }
    return true;
}
