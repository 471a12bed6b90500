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
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "train/input/lmdb_inside.h"

#define TW_LMDB_MAGIC   0xBEEFC0DEu
#define TW_LMDB_VERSION 1u

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

        if (tw_lmdb_take_node(file, page, middle, node) != 0) {
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
    if (tw_lmdb_take_node(file, page, low - 1, node) != 0) {
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

        if (tw_lmdb_take_page(file, number, level == file->main.depth, &page) != 0 ||
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
