/* SPDX-License-Identifier: BSD-3-Clause
 * input/lmdb_file.h - whether a file is one that LMDB may be given: it maps it and believes its
 * pages, so a file that ends too early would end the process.
 */
#ifndef TW_INPUT_LMDB_FILE_H
#define TW_INPUT_LMDB_FILE_H

/** See whether both meta pages are there and every page that they count.
 * @return NULL; or what is wrong. */
const char *tw_lmdb_unfit(int fd);

#endif /* TW_INPUT_LMDB_FILE_H */
