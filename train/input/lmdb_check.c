/* SPDX-License-Identifier: BSD-3-Clause
 * input/lmdb_check.c - whether all pages of an LMDB file hold what they say.
 */
#include "config.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "train/input/lmdb_inside.h"

typedef struct tw_lmdb_walk {
    const tw_lmdb_file_t *file;
    uint8_t              *used; /* a bit for each page */
    int                   free; /* the tree of free pages */
} tw_lmdb_walk_t;

/* Note that pages are used. @return 0; -1: they are not there, or used already. */
static int use(tw_lmdb_walk_t *walk, size_t first, size_t n)
{
    if (first < 2 || first > walk->file->last || n > walk->file->last - first + 1) {
        return -1;
    }
    for (size_t number = first; number < first + n; number++) {
        uint8_t *byte = &walk->used[number / 8], bit = (uint8_t)(1 << number % 8);

        if ((*byte & bit) != 0) {
            return -1;
        }
        *byte |= bit;
    }
    return 0;
}

/* Numbers of free pages: how many, and they, descending. */
static int use_free(tw_lmdb_walk_t *walk, const tw_lmdb_node_t *node)
{
    const size_t most = node->value_n / sizeof(size_t);
    const size_t n    = most > 0 ? tw_lmdb_word(node->value) : 0;
    size_t       last = SIZE_MAX;

    if (node->key_n != sizeof(size_t) || most == 0 || n != most - 1 ||
        node->value_n % sizeof(size_t) != 0) {
        return -1;
    }
    for (size_t i = 1; i <= n; i++) {
        const size_t number = tw_lmdb_word(node->value + i * sizeof(size_t));

        if (number >= last || use(walk, number, 1) != 0) {
            return -1;
        }
        last = number;
    }
    return 0;
}

/* A page and all below it. */
static int walk_page(tw_lmdb_walk_t *walk, size_t number, unsigned levels)
{
    tw_lmdb_page_t page;
    tw_lmdb_node_t node;
    size_t         taken = 0;

    if (use(walk, number, 1) != 0 ||
        tw_lmdb_take_page(walk->file, number, levels == 1, &page) != 0) {
        return -1;
    }
    for (size_t i = 0; i < page.nodes; i++) {
        if (tw_lmdb_take_node(walk->file, &page, i, &node) != 0) {
            return -1;
        }
        taken += (NODE_HEADER + node.key_n + 1 +
                  (node.first != 0 ? sizeof(size_t)
                   : page.leaf     ? node.value_n
                                   : 0)) /
                 2 * 2;
        if (taken > page.size - page.upper ||
            (!page.leaf && walk_page(walk, node.child, levels - 1) != 0) ||
            (node.first != 0 && use(walk, node.first, node.pages) != 0) ||
            (page.leaf && walk->free && use_free(walk, &node) != 0)) {
            return -1;
        }
    }
    return 0;
}

const char *tw_lmdb_unfit(int fd)
{
    tw_lmdb_file_t file;
    tw_lmdb_walk_t walk = {.file = &file};
    const char    *why  = tw_lmdb_file_open(&file, fd);

    if (why != NULL) {
        return why;
    }
    walk.used = calloc(file.last / 8 + 1, 1);
    if (walk.used == NULL) {
        why = strerror(ENOMEM);
    } else if (file.main.depth > 0 && walk_page(&walk, file.main.root, file.main.depth) != 0) {
        why = TW_LMDB_DAMAGED;
    }
    walk.free = 1;
    if (why == NULL && file.free.depth > 0 &&
        walk_page(&walk, file.free.root, file.free.depth) != 0) {
        why = TW_LMDB_DAMAGED;
    }
    free(walk.used);
    tw_lmdb_file_close(&file);
    return why;
}
