/* SPDX-License-Identifier: BSD-3-Clause
 * interpose/record/fold.h - a sequence of numbers, each with times, as loops: "a b b b a b b b"
 * becomes 2 x (a, 3 x (b)). Added to one by one, in memory that does not grow with the sequence.
 *
 * Only the numbers decide what is alike; the times of what is folded together are added up.
 * Unfolded, it is the sequence again, whatever it was. Knows no MPI.
 */
#ifndef TW_INTERPOSE_FOLD_H
#define TW_INTERPOSE_FOLD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { TW_FOLD_DEPTH = 8 }; /* of loops in loops, as in thinwire-job(5) */

/* An element of the sequence, or a loop of such. */
typedef struct tw_fold_node {
    uint64_t hash; /* of the structure                                              */
    union {
        struct { /* an element, everywhere in the sequence where it stands here   */
            double   compute, fixed; /* seconds before it: sums over all rounds              */
            uint64_t runs;
        };
        struct { /* a loop */
            struct tw_fold_node *body;
            uint64_t             body_hash;
            uint64_t             times;
        };
    };
    uint32_t id;     /* of an element                                                 */
    uint32_t length; /* of a loop's body; 0: an element                               */
    uint32_t nodes;  /* this one and all in it                                        */
    uint32_t depth;  /* of loops, this one included                                   */
} tw_fold_node_t;

typedef struct tw_fold_slot {
    uint64_t hash;
    int32_t  last; /* its last place in the sequence, -1: none; of a hash of 0: a free slot */
} tw_fold_slot_t;

typedef struct tw_fold {
    tw_fold_node_t *top;
    size_t          length, room;
    size_t          sealed;      /* so many of top are in the table of places              */
    uint64_t       *prefix;      /* [i]: hash of the first i of top                         */
    int32_t        *same;        /* the place before with the same hash, or -1              */
    int32_t        *loop;        /* the nearest loop before, or -1                          */
    tw_fold_slot_t *slot;        /* by hash                                                 */
    size_t          slots, used; /* slots: a power of two                                   */
    size_t          nodes, most; /* in all; at most                                         */
    uint32_t        deepest;     /* loops in loops, at most                                 */
} tw_fold_t;

/** An empty sequence, which may take so many nodes in memory. false: no memory. */
bool tw_fold_init(tw_fold_t *fold, size_t most);

void tw_fold_fini(tw_fold_t *fold);

/** Add an element behind the others.
 * @return false, and nothing is added: it would take too many nodes, or there is no memory. */
bool tw_fold_add(tw_fold_t *fold, uint32_t id, double compute, double fixed);

/** The same as a loop of so many rounds, with the times of all of them; not one round. */
bool tw_fold_add_runs(tw_fold_t *fold, uint32_t id, double compute, double fixed, uint64_t runs);

/** The same sequence of other numbers, map[id], into `to`, which is empty: more may be alike.
 * `from` is empty afterwards. @return false: it takes too many nodes even so, or there is no
 * memory; then `from` is as it was, and `to` holds a part. */
bool tw_fold_renumber(tw_fold_t *from, const uint32_t *map, tw_fold_t *to);

/** Elements in it, where a loop has those of one round. */
size_t tw_fold_leaves(const tw_fold_t *fold);

/** For each of them, in order. */
typedef void (*tw_fold_visit_t)(void *arg, tw_fold_node_t *leaf);
void tw_fold_each(tw_fold_t *fold, tw_fold_visit_t visit, void *arg);

/** A number that says what is looped how often, where word[id] says what an element is. */
uint64_t tw_fold_structure(const tw_fold_t *fold, const uint64_t *word);

/** A number that says what it is unfolded, whatever loops were found. */
uint64_t tw_fold_sequence(const tw_fold_t *fold, const uint64_t *word);

/* ---- two beside each other ----------------------------------------------------------------- */

/* A node in an array of all of them, each before what it holds: as one process tells another. */
typedef struct tw_fold_shape {
    uint64_t word;  /* of an element; of a loop its rounds                              */
    uint32_t nodes; /* this one and all in it: 1 is an element                          */
    uint32_t leaf;  /* which element it is, from 0, in the order of tw_fold_each()      */
} tw_fold_shape_t;

/** The array, of fold->nodes. */
void tw_fold_shape(const tw_fold_t *fold, const uint64_t *word, tw_fold_shape_t *shape);

/** Go through both as they are unfolded, in steps that are at most as many as their elements: leaf
 * `a` of the one stands where leaf `b` of the other does, `runs` times on end.
 * @return false: they are not the same sequence; some of it may have been visited. */
typedef void (*tw_fold_beside_t)(void *arg, uint32_t a, uint32_t b, uint64_t runs);
bool tw_fold_beside(const tw_fold_shape_t *a, size_t a_nodes, const tw_fold_shape_t *b,
                    size_t b_nodes, tw_fold_beside_t visit, void *arg);

#endif /* TW_INTERPOSE_FOLD_H */
