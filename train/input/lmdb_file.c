/* SPDX-License-Identifier: BSD-3-Clause
 * input/lmdb_file.c - see lmdb_file.h.
 *
 * A file begins with two meta pages, of which the one with the later transaction counts; numbers
 * and sizes are those of the machine. A meta page, after a page header of 16 bytes with 64-bit
 * sizes and of 12 bytes with 32-bit sizes (lmdb's MDB_page, MDB_meta, MDB_db):
 *
 *     uint32 magic, version; size_t address, map size;
 *     twice { uint32 pad; uint16 flags, depth; size_t branch, leaf, overflow, entries, root };
 *     size_t last page, transaction
 *
 * The first pad is the page size.
 */
#include "config.h"

#include <errno.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "train/input/lmdb_file.h"

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

enum { PAGE_HEADER = sizeof(size_t) + 8, LEAST = 512, MOST = 65536 };

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

const char *tw_lmdb_unfit(int fd)
{
    tw_lmdb_meta_t meta[2];
    struct stat    info;
    const char    *why = take_meta(fd, 0, &meta[0]);
    size_t         last, page;

    if (why == NULL) {
        why = take_meta(fd, (off_t)meta[0].db[0].pad, &meta[1]);
    }
    if (why != NULL) {
        return why;
    }
    if (fstat(fd, &info) != 0) {
        return strerror(errno);
    }
    page = meta[0].db[0].pad;
    last = meta[meta[1].transaction > meta[0].transaction].last;
    if (meta[1].db[0].pad != page) {
        return "it is damaged: its meta pages differ in page size";
    }
    /* The last page too has to be there as a whole. */
    return last < 1 || (uint64_t)info.st_size / page <= last ? "it ends too early" : NULL;
}
