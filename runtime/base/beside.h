/* SPDX-License-Identifier: BSD-3-Clause
 * base/beside.h - the file that is written beside another one and then renamed to it:
 * TARGET.PID.tmp, or TARGET.PID-N.tmp.
 */
#ifndef TW_BASE_BESIDE_H
#define TW_BASE_BESIDE_H

#include <stddef.h>

/** A new file beside target, whatever stands there: what has a name that it could have had, a link or
 * a file, is neither followed nor touched. Those that dead processes of this machine have left beside
 * target are removed; of others, and of processes elsewhere that hold the lock that a writer has, none.
 * @param [out] name  its name. @return its descriptor, for reading and writing; -1 with errno. */
int tw_beside_open(const char *target, char *name, size_t size);

#endif /* TW_BASE_BESIDE_H */
