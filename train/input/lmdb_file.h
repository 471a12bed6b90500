/* SPDX-License-Identifier: BSD-3-Clause
 * input/lmdb_file.h - the file of an LMDB database, read without LMDB, which believes its pages and
 * dies of damaged ones. Nothing in the file is believed here.
 */
#ifndef TW_INPUT_LMDB_FILE_H
#define TW_INPUT_LMDB_FILE_H

#include <stddef.h>
#include <stdint.h>

typedef struct tw_lmdb_tree {
    size_t   root, entries;
    unsigned depth; /* pages from the root to a leaf, both counted; 0: it is empty */
} tw_lmdb_tree_t;

/* Mapped, for reading only. */
typedef struct tw_lmdb_file {
    const uint8_t *map;
    size_t         bytes;      /* that are mapped                          */
    size_t         page, last; /* bytes of a page, and the last one's number */
    tw_lmdb_tree_t free, main; /* numbers of free pages; keys and values    */
} tw_lmdb_file_t;

/** Map a file that has both meta pages and every page that they count.
 * @param [out] file  set on success. @return NULL; or what is wrong. */
const char *tw_lmdb_file_open(tw_lmdb_file_t *file, int fd);

/** A zeroed one is allowed. */
void tw_lmdb_file_close(tw_lmdb_file_t *file);

/** Find a key's value. From any thread.
 * @param [out] value_p  where it lies in the map; NULL: there is no such key.
 * @return NULL; or what is wrong with a page on the way. */
const char *tw_lmdb_file_get(const tw_lmdb_file_t *file, const uint8_t *key, size_t n,
                             const uint8_t **value_p, size_t *n_p);

/** See whether LMDB may be given a file, to read and to write: all pages of both trees are as it
 * leaves them, and none is used twice. @return NULL; or what is wrong. */
const char *tw_lmdb_unfit(int fd);

#endif /* TW_INPUT_LMDB_FILE_H */
