/* SPDX-License-Identifier: BSD-3-Clause
 * input/lmdb_inside.h - the parts of lmdb_file.c: pages and their nodes (lmdb_page.c), and
 * whether all of a file fits (lmdb_check.c). The format is described in lmdb_file.c.
 */
#ifndef TW_INPUT_LMDB_INSIDE_H
#define TW_INPUT_LMDB_INSIDE_H

#include "train/input/lmdb_file.h"

#define TW_LMDB_DAMAGED "it is damaged: a page does not hold what it says"

enum {
    PAGE_HEADER = sizeof(size_t) + 8,
    LEAST       = 512, /* bytes of a page */
    MOST        = 65536,
    DEPTH_MOST  = 32,
    KEY_MOST    = 511,
    NODE_HEADER = 8,
    BRANCH      = 1, /* flags of a page */
    LEAF        = 2,
    OVERFLOW    = 4,
    KINDS       = 0x6f, /* all but LMDB's notes for itself */
    BIG         = 1,    /* flags of a node, of a tree */
    FIXED_MAP   = 1,
    INTEGER_KEY = 8
};

/* Page `number` is a branch or a leaf, and how many nodes it has. */
typedef struct tw_lmdb_page {
    const uint8_t *at;
    size_t         size, upper, nodes;
    int            leaf;
} tw_lmdb_page_t;

typedef struct tw_lmdb_node {
    const uint8_t *key, *value;
    size_t         key_n, value_n, child;
    size_t         first, pages; /* of a value that has pages of its own; else 0 */
} tw_lmdb_node_t;

size_t tw_lmdb_word(const uint8_t *at);

/** @return 0; -1: it is damaged. */
int tw_lmdb_take_page(const tw_lmdb_file_t *file, size_t number, int leaf, tw_lmdb_page_t *page);

/** Node i of a page. @return 0; -1: it is damaged. */
int tw_lmdb_take_node(const tw_lmdb_file_t *file, const tw_lmdb_page_t *page, size_t i,
                      tw_lmdb_node_t *node);

#endif /* TW_INPUT_LMDB_INSIDE_H */
