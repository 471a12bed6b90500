/* SPDX-License-Identifier: BSD-3-Clause
 * input/lmdb_file.c - see lmdb_file.h.
 *
 * Numbers and sizes are those of the machine (lmdb's MDB_page, MDB_meta, MDB_db, MDB_node). A file
 * begins with two meta pages, of which the one with the later transaction counts. Each page begins
 * with a header of 16 bytes with 64-bit sizes, 12 with 32-bit sizes:
 *
 *     size_t number; uint16 pad, flags, then lower, upper; or uint32 pages of a value
 *
 * A meta page goes on with
 *
 *     uint32 magic, version; size_t address, map size;
 *     twice { uint32 pad; uint16 flags, depth; size_t branch, leaf, overflow, entries, root };
 *     size_t last page, transaction
 *
 * where the first pad is the page size and the two are the trees of free pages and of all else. A
 * branch or a leaf goes on with the offsets of its nodes, uint16, up to lower; nodes stand from
 * upper on, each { uint16 low, high (as the machine orders them), flags, length of the key }, the
 * key, the value. In a leaf low and high are the value's length, and with flag 1 the value is the
 * number of its first page; in a branch they and the flags are the number of the child, whose keys
 * are not below the node's; the first one's key does not count.
 */
#include "config.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "train/input/lmdb_file.h"

#define TW_LMDB_MAGIC   0xBEEFC0DEu
#define TW_LMDB_VERSION 1u
#define TW_LMDB_DAMAGED "it is damaged: a page does not hold what it says"

typedef struct tw_lmdb_db {
    uint32_t pad;
    uint16_t flags, depth;
    size_t   branch, leaf, overflow, entries, root;
} tw_lmdb_db_t;

typedef struct tw_lmdb_meta {
    uint32_t     magic, version;
    size_t       address, map;
    tw_lmdb_db_t db[2];
    size_t       last, transaction;
} tw_lmdb_meta_t;

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

/* ---- opening -------------------------------------------------------------------------------- */

/* Read the meta page at an offset; what is wrong, NULL for nothing. */
static const char *take_meta(int fd, off_t at, tw_lmdb_meta_t *meta)
{
    const ssize_t got = pread(fd, meta, sizeof(*meta), at + PAGE_HEADER);

    if (got < 0) {
        return strerror(errno);
    }
    if ((size_t)got < sizeof(*meta)) {
        return "it ends too early";
    }
    if (meta->magic != TW_LMDB_MAGIC || meta->version != TW_LMDB_VERSION ||
        meta->db[0].pad < LEAST || meta->db[0].pad > MOST ||
        (meta->db[0].pad & (meta->db[0].pad - 1)) != 0) {
        return "it is no LMDB database of a machine like this";
    }
    return NULL;
}

static tw_lmdb_tree_t tree_of(const tw_lmdb_db_t *db)
{
    return (tw_lmdb_tree_t){.root = db->root, .entries = db->entries, .depth = db->depth};
}

/* What both meta pages say, without the map. */
static const char *take_metas(int fd, tw_lmdb_file_t *file)
{
    tw_lmdb_meta_t        meta[2];
    const tw_lmdb_meta_t *now;
    const char           *why = take_meta(fd, 0, &meta[0]);

    if (why == NULL) {
        why = take_meta(fd, (off_t)meta[0].db[0].pad, &meta[1]);
    }
    if (why != NULL) {
        return why;
    }
    if (meta[1].db[0].pad != meta[0].db[0].pad) {
        return "it is damaged: its meta pages differ in page size";
    }
    now = &meta[meta[1].transaction > meta[0].transaction];
    if (now->db[0].depth > DEPTH_MOST || now->db[1].depth > DEPTH_MOST ||
        (now->db[0].flags & (FIXED_MAP | INTEGER_KEY)) != INTEGER_KEY || now->db[1].flags != 0) {
        return "it is no LMDB database of thinwire-train pack";
    }
    *file = (tw_lmdb_file_t){.page = now->db[0].pad,
                             .last = now->last,
                             .free = tree_of(&now->db[0]),
                             .main = tree_of(&now->db[1])};
    return NULL;
}

const char *tw_lmdb_file_open(tw_lmdb_file_t *file, int fd)
{
    tw_lmdb_file_t is;
    struct stat    info;
    const char    *why = take_metas(fd, &is);
    void          *map;

    if (why != NULL) {
        return why;
    }
    if (fstat(fd, &info) != 0) {
        return strerror(errno);
    }
    /* The last page too has to be there as a whole. */
    if (is.last < 1 || (uint64_t)info.st_size / is.page <= is.last) {
        return "it ends too early";
    }
    is.bytes = (is.last + 1) * is.page;
    map      = mmap(NULL, is.bytes, PROT_READ, MAP_SHARED, fd, 0);
    if (map == MAP_FAILED) {
        return strerror(errno);
    }
    (void)madvise(map, is.bytes, MADV_RANDOM);
    is.map = map;
    *file  = is;
    return NULL;
}

void tw_lmdb_file_close(tw_lmdb_file_t *file)
{
    if (file->map != NULL) {
        munmap((void *)(uintptr_t)file->map, file->bytes);
    }
    *file = (tw_lmdb_file_t){.map = NULL};
}

/* ---- pages ---------------------------------------------------------------------------------- */

static uint16_t two(const uint8_t *at)
{
    uint16_t value;

    memcpy(&value, at, sizeof(value));
    return value;
}

static size_t word(const uint8_t *at)
{
    size_t value;

    memcpy(&value, at, sizeof(value));
    return value;
}

/* The header of a page, if it has that number and is of that kind; NULL. */
static const uint8_t *header_of(const tw_lmdb_file_t *file, size_t number, unsigned kind)
{
    const uint8_t *at = file->map + number * file->page;

    return number >= 2 && number <= file->last && word(at) == number &&
                   (two(at + sizeof(size_t) + 2) & KINDS) == kind
               ? at + sizeof(size_t) + 4
               : NULL;
}

/* @return 0; -1: it is damaged. */
static int take_page(const tw_lmdb_file_t *file, size_t number, int leaf, tw_lmdb_page_t *page)
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

    node->first = word(node->value);
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
static int take_node(const tw_lmdb_file_t *file, const tw_lmdb_page_t *page, size_t i,
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

/* ---- finding -------------------------------------------------------------------------------- */

static int compare(const uint8_t *a, size_t n, const tw_lmdb_node_t *b)
{
    const int order = memcmp(a, b->key, n < b->key_n ? n : b->key_n);

    return order != 0 ? order : n < b->key_n ? -1 : n > b->key_n;
}

/* The last node of a page that is not above a key; in a branch the first one at least.
 * @param [out] order_p  0: it is the key's; above: it is below it; below: all are above.
 * @return 0; -1: it is damaged. */
static int search(const tw_lmdb_file_t *file, const tw_lmdb_page_t *page, const uint8_t *key,
                  size_t n, tw_lmdb_node_t *node, int *order_p)
{
    size_t low = page->leaf ? 0 : 1, high = page->nodes;

    while (low < high) {
        const size_t middle = low + (high - low) / 2;

        if (take_node(file, page, middle, node) != 0) {
            return -1;
        }
        if (compare(key, n, node) < 0) {
            high = middle;
        } else {
            low = middle + 1;
        }
    }
    *order_p = -1;
    if (low == 0) {
        return 0;
    }
    if (take_node(file, page, low - 1, node) != 0) {
        return -1;
    }
    *order_p = compare(key, n, node);
    return 0;
}

const char *tw_lmdb_file_get(const tw_lmdb_file_t *file, const uint8_t *key, size_t n,
                             const uint8_t **value_p, size_t *n_p)
{
    size_t number = file->main.root;

    *value_p = NULL;
    for (unsigned level = 1; level <= file->main.depth; level++) {
        tw_lmdb_page_t page;
        tw_lmdb_node_t node = {.key = NULL};
        int            order;

        if (take_page(file, number, level == file->main.depth, &page) != 0 ||
            search(file, &page, key, n, &node, &order) != 0) {
            return TW_LMDB_DAMAGED;
        }
        number = node.child;
        if (page.leaf && order == 0) {
            *value_p = node.value;
            *n_p     = node.value_n;
        }
    }
    return NULL;
}

/* ---- all of it ------------------------------------------------------------------------------ */

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
    const size_t n    = most > 0 ? word(node->value) : 0;
    size_t       last = SIZE_MAX;

    if (node->key_n != sizeof(size_t) || most == 0 || n != most - 1 ||
        node->value_n % sizeof(size_t) != 0) {
        return -1;
    }
    for (size_t i = 1; i <= n; i++) {
        const size_t number = word(node->value + i * sizeof(size_t));

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

    if (use(walk, number, 1) != 0 || take_page(walk->file, number, levels == 1, &page) != 0) {
        return -1;
    }
    for (size_t i = 0; i < page.nodes; i++) {
        if (take_node(walk->file, &page, i, &node) != 0) {
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
