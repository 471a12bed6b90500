/* SPDX-License-Identifier: BSD-3-Clause
 * interpose/fold_renumber.c - a folded sequence as a whole: with other numbers, element by element, as one
 * number; see fold.h.
 */
#include "config.h"

#include <stdlib.h>

#include "interpose/fold_nodes.h"

/* ---- other numbers ------------------------------------------------------------------------- */

static bool tw_fold_renumber_list(const tw_fold_node_t *from, size_t length, const uint32_t *map,
                                  tw_fold_t *to);

/* A loop whose body has other numbers: of what is one loop itself it has the rounds more often. */
static bool tw_fold_renumber_loop(const tw_fold_node_t *from, const uint32_t *map,
                                  const tw_fold_t *around, tw_fold_node_t *to)
{
    tw_fold_t body;
    bool      well = tw_fold_init(&body, around->most);

    if (!well) {
        return false;
    }
    body.deepest = around->deepest - 1;
    well         = tw_fold_renumber_list(from->body, from->length, map, &body);
    if (well && body.length == 1 && body.top[0].length > 0) {
        *to = body.top[0];
        to->times *= from->times;
        body.length = 0;
    } else if (well) {
        *to           = *from;
        to->body      = body.top;
        to->body_hash = body.prefix[body.length];
        to->length    = (uint32_t)body.length;
        to->nodes     = (uint32_t)body.nodes + 1;
        to->depth     = tw_fold_depth(body.top, body.length) + 1;
        body.top      = NULL;
        body.length   = 0;
    }
    if (well) {
        to->hash = tw_fold_loop_hash(to);
    }
    tw_fold_fini(&body);
    return well;
}

static bool tw_fold_renumber_list(const tw_fold_node_t *from, size_t length, const uint32_t *map,
                                  tw_fold_t *to)
{
    for (size_t i = 0; i < length; i++) {
        tw_fold_node_t node;

        if (from[i].length == 0) {
            node = tw_fold_leaf(map[from[i].id], from[i].compute, from[i].fixed, from[i].runs);
        } else if (!tw_fold_renumber_loop(&from[i], map, to, &node)) {
            return false;
        }
        if (!tw_fold_push(to, &node)) {
            tw_fold_free(&node, 1);
            return false;
        }
    }
    return true;
}

bool tw_fold_renumber(tw_fold_t *from, const uint32_t *map, tw_fold_t *to)
{
    const bool well = tw_fold_renumber_list(from->top, from->length, map, to);

    if (well) {
        tw_fold_fini(from);
    }
    return well;
}

/* ---- looking ------------------------------------------------------------------------------- */

static void tw_fold_each_of(tw_fold_node_t *nodes, size_t length, tw_fold_visit_t visit, void *arg)
{
    for (size_t i = 0; i < length; i++) {
        if (nodes[i].length > 0) {
            tw_fold_each_of(nodes[i].body, nodes[i].length, visit, arg);
        } else {
            visit(arg, &nodes[i]);
        }
    }
}

void tw_fold_each(tw_fold_t *fold, tw_fold_visit_t visit, void *arg)
{
    tw_fold_each_of(fold->top, fold->length, visit, arg);
}

static size_t tw_fold_leaves_of(const tw_fold_node_t *nodes, size_t length)
{
    size_t sum = 0;

    for (size_t i = 0; i < length; i++) {
        sum += nodes[i].length > 0 ? tw_fold_leaves_of(nodes[i].body, nodes[i].length) : 1;
    }
    return sum;
}

size_t tw_fold_leaves(const tw_fold_t *fold)
{
    return tw_fold_leaves_of(fold->top, fold->length);
}

static uint64_t tw_fold_structure_of(const tw_fold_node_t *nodes, size_t length,
                                     const uint64_t *word)
{
    uint64_t hash = length;

    for (size_t i = 0; i < length; i++) {
        const uint64_t one =
            nodes[i].length > 0
                ? tw_fold_mix(tw_fold_structure_of(nodes[i].body, nodes[i].length, word) +
                              tw_fold_mix(nodes[i].times))
                : tw_fold_mix(word[nodes[i].id]);

        hash = tw_fold_mix(hash * TW_FOLD_BASE + one);
    }
    return hash;
}

uint64_t tw_fold_structure(const tw_fold_t *fold, const uint64_t *word)
{
    return tw_fold_structure_of(fold->top, fold->length, word);
}
