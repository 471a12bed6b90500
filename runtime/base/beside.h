/* SPDX-License-Identifier: BSD-3-Clause
 * base/beside.h - files that results are written to, and the one that is written beside another and
 * then renamed to it: TARGET.PID.tmp, or TARGET.PID-N.tmp.
 */
#ifndef TW_BASE_BESIDE_H
#define TW_BASE_BESIDE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

/** A new file beside target, whatever stands there: what has a name that it could have had, a link
 * or a file, is neither followed nor touched. Those that dead processes of this machine have left
 * beside target are removed; of others, and of processes elsewhere that hold the lock that a writer
 * has, none.
 * @param [out] name  its name. @return its descriptor, for reading and writing; -1 with errno. */
int tw_beside_open(const char *target, char *name, size_t size);

/* Open for writing what is there, or a new file, without waiting for who reads a pipe. NULL with
 * errno; ENXIO: nobody does. */
FILE *tw_file_open(const char *path);

/* What errno says of a file that cannot be written. */
const char *tw_file_error(int error);

/* Do two paths lead to one file, that is there or would be made? Terminals and the like are
 * none. */
bool tw_file_same(const char *a, const char *b);

#endif /* TW_BASE_BESIDE_H */
