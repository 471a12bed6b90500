/* SPDX-License-Identifier: BSD-3-Clause
 * command/beside.h - the file that is written beside another one and then renamed to it.
 */
#ifndef COMMAND_BESIDE_H
#define COMMAND_BESIDE_H

#include <stddef.h>

/** A new file beside target, whatever stands there: what has a name that it could have had, a link or
 * what a killed process left, is neither followed nor touched.
 * @param [out] name  its name. @return its descriptor, for reading and writing; -1 with errno. */
int beside_open(const char *target, char *name, size_t size);

#endif /* COMMAND_BESIDE_H */
