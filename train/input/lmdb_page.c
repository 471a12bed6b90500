/* SPDX-License-Identifier: BSD-3-Clause
 * input/lmdb_page.c - pages of an LMDB file and their nodes; the format is described in
 * lmdb_file.c.
 */
#include "config.h"

#include <string.h>

#include "train/input/lmdb_inside.h"

static uint16_t two(const uint8_t *at)
{
    uint16_t value;

    memcpy(&value, at, sizeof(value));
    return value;
}

size_t tw_lmdb_word(const uint8_t *at)
{
    size_t value;

    memcpy(&value, at, sizeof(value));
    return value;
}

/* The header of a page, if it has that number and is of that kind; NULL. */
static const uint8_t *header_of(const tw_lmdb_file_t *file, size_t number, unsigned kind)
{
    const uint8_t *at = file->map + number * file->page;

    return number >= 2 && number <= file->last && tw_lmdb_word(at) == number &&
                   (two(at + sizeof(size_t) + 2) & KINDS) == kind
               ? at + sizeof(size_t) + 4
               : NULL;
}

/* @return 0; -1: it is damaged. */
int tw_lmdb_take_page(const tw_lmdb_file_t *file, size_t number, int leaf, tw_lmdb_page_t *page)
{
    const uint8_t *bounds = header_of(file, number, leaf ? LEAF : BRANCH);
    size_t         lower;

    if (bounds == NULL) {
        return -1;
    }
    lower = two(bounds);
    *page = (tw_lmdb_page_t){.at    = file->map + number * file->page,
                             .size  = file->page,
                             .upper = two(bounds + 2),
                             .nodes = lower < PAGE_HEADER ? 0 : (lower - PAGE_HEADER) / 2,
                             .leaf  = leaf};
    return lower < PAGE_HEADER || lower % 2 != 0 || lower > page->upper ||
                   page->upper > page->size || page->nodes == 0
               ? -1
               : 0;
}

/* The value of a node on pages of its own, which may be more than it needs. */
static int take_value(const tw_lmdb_file_t *file, tw_lmdb_node_t *node)
{
    const uint8_t *pages;
    uint32_t       n;

    node->first = tw_lmdb_word(node->value);
    pages       = header_of(file, node->first, OVERFLOW);
    if (pages == NULL) {
        return -1;
    }
    memcpy(&n, pages, sizeof(n));
    node->pages = n;
    node->value = file->map + node->first * file->page + PAGE_HEADER;
    return node->pages <= file->last - node->first + 1 &&
                   node->value_n <= node->pages * file->page - PAGE_HEADER && n > 0
               ? 0
               : -1;
}

/* Node i of a page. @return 0; -1: it is damaged. */
int tw_lmdb_take_node(const tw_lmdb_file_t *file, const tw_lmdb_page_t *page, size_t i,
                      tw_lmdb_node_t *node)
{
    const size_t   at   = two(page->at + PAGE_HEADER + 2 * i);
    const uint8_t *head = page->at + at;
    size_t         room, low, high, flags;

    if (at < page->upper || at % 2 != 0 || at > page->size - NODE_HEADER) {
        return -1;
    }
    low   = two(head);
    high  = two(head + 2);
    flags = two(head + 4);
#ifdef WORDS_BIGENDIAN
    low  = two(head + 2);
    high = two(head);
#endif
    room  = page->size - NODE_HEADER - at;
    *node = (tw_lmdb_node_t){.key = head + NODE_HEADER, .key_n = two(head + 6)};
    if (node->key_n > KEY_MOST || node->key_n > room) {
        return -1;
    }
    room -= node->key_n;
    node->value   = node->key + node->key_n;
    node->value_n = low | high << 16;
    if (!page->leaf) {
        node->child = node->value_n;
#if SIZE_MAX > UINT32_MAX
        node->child |= flags << 32;
#endif
        return 0;
    }
    if (node->key_n == 0 || flags > BIG) {
        return -1;
    }
    if (flags == 0) {
        return node->value_n <= room ? 0 : -1;
    }
    return room < sizeof(size_t) ? -1 : take_value(file, node);
}
