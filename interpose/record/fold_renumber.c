/* SPDX-License-Identifier: BSD-3-Clause
 * interpose/record/fold_renumber.c - a folded sequence as a whole: with other numbers, element by
 * element, as one number, beside another one; see fold.h.
 */
#include "config.h"

#include <stdlib.h>

#include "interpose/record/fold_nodes.h"

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

/* ---- unfolded ------------------------------------------------------------------------------ */

/* A piece of a sequence: its hash, and that by which one before it is multiplied. */
typedef struct tw_fold_piece {
    uint64_t hash, power;
} tw_fold_piece_t;

static const tw_fold_piece_t tw_fold_nothing = {0, 1};

static tw_fold_piece_t tw_fold_join(tw_fold_piece_t a, tw_fold_piece_t b)
{
    return (tw_fold_piece_t){a.hash * b.power + b.hash, a.power * b.power};
}

static tw_fold_piece_t tw_fold_sequence_of(const tw_fold_node_t *nodes, size_t length,
                                           const uint64_t *word)
{
    tw_fold_piece_t all = tw_fold_nothing;

    for (size_t i = 0; i < length; i++) {
        if (nodes[i].length == 0) {
            all =
                tw_fold_join(all, (tw_fold_piece_t){tw_fold_mix(word[nodes[i].id]), TW_FOLD_BASE});
        } else {
            tw_fold_piece_t rounds = tw_fold_sequence_of(nodes[i].body, nodes[i].length, word);

            for (uint64_t times = nodes[i].times; times > 0; times >>= 1) {
                all    = (times & 1) != 0 ? tw_fold_join(all, rounds) : all;
                rounds = tw_fold_join(rounds, rounds);
            }
        }
    }
    return all;
}

uint64_t tw_fold_sequence(const tw_fold_t *fold, const uint64_t *word)
{
    return tw_fold_sequence_of(fold->top, fold->length, word).hash;
}

/* ---- two beside each other ----------------------------------------------------------------- */

static tw_fold_shape_t *tw_fold_shape_of(const tw_fold_node_t *nodes, size_t length,
                                         const uint64_t *word, tw_fold_shape_t *to, uint32_t *leaf)
{
    for (size_t i = 0; i < length; i++) {
        if (nodes[i].length == 0) {
            *to++ = (tw_fold_shape_t){word[nodes[i].id], 1, (*leaf)++};
        } else {
            *to++ = (tw_fold_shape_t){nodes[i].times, nodes[i].nodes, *leaf};
            to    = tw_fold_shape_of(nodes[i].body, nodes[i].length, word, to, leaf);
        }
    }
    return to;
}

void tw_fold_shape(const tw_fold_t *fold, const uint64_t *word, tw_fold_shape_t *shape)
{
    uint32_t leaf = 0;

    tw_fold_shape_of(fold->top, fold->length, word, shape, &leaf);
}

/* On the way through one of them. */
typedef struct tw_fold_walk {
    const tw_fold_shape_t *shape, *leaf; /* leaf: where it is                                */
    uint64_t               left;         /* so often on end                                  */
    size_t                 at;
    int                    depth;
    struct {
        size_t   begin, end;
        uint64_t rounds; /* still to go, this one included */
    } loop[TW_FOLD_DEPTH + 1];
} tw_fold_walk_t;

/* To the next leaf. A loop of one leaf is one step. False: there is none. */
static bool tw_fold_step(tw_fold_walk_t *walk)
{
    for (;;) {
        const tw_fold_shape_t *shape = &walk->shape[walk->at];

        if (walk->at == walk->loop[walk->depth].end) {
            if (--walk->loop[walk->depth].rounds > 0) {
                walk->at = walk->loop[walk->depth].begin;
            } else if (walk->depth-- == 0) {
                return false;
            }
        } else if (shape->nodes <= 2) {
            walk->leaf = shape + shape->nodes - 1;
            walk->left = shape->nodes == 2 ? shape->word : 1;
            walk->at += shape->nodes;
            return true;
        } else {
            walk->depth++;
            walk->loop[walk->depth].begin  = walk->at + 1;
            walk->loop[walk->depth].end    = walk->at + shape->nodes;
            walk->loop[walk->depth].rounds = shape->word;
            walk->at++;
        }
    }
}

bool tw_fold_beside(const tw_fold_shape_t *a, size_t a_nodes, const tw_fold_shape_t *b,
                    size_t b_nodes, tw_fold_beside_t visit, void *arg)
{
    tw_fold_walk_t x = {.shape = a, .loop = {{0, a_nodes, 1}}};
    tw_fold_walk_t y = {.shape = b, .loop = {{0, b_nodes, 1}}};

    for (;;) {
        const bool in_x = x.left > 0 || tw_fold_step(&x), in_y = y.left > 0 || tw_fold_step(&y);
        uint64_t   runs;

        if (!in_x || !in_y) {
            return in_x == in_y;
        }
        if (x.leaf->word != y.leaf->word) {
            return false;
        }
        runs = x.left < y.left ? x.left : y.left;
        visit(arg, x.leaf->leaf, y.leaf->leaf, runs);
        x.left -= runs;
        y.left -= runs;
    }
}
