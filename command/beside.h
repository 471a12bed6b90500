/* SPDX-License-Identifier: BSD-3-Clause
 * command/beside.h - files that results are written to: those that are no regular ones, and two that
 * are one.
 */
#ifndef COMMAND_BESIDE_H
#define COMMAND_BESIDE_H

#include <stdio.h>

/** Open a device or a pipe for writing, without waiting for who reads it.
 * @return NULL with errno; ENXIO: nobody reads the pipe. */
FILE *beside_special(const char *path);

/** See whether a device or a pipe can be written to: write white space, which changes nothing in front
 * of a JSON object. A pipe stays open until the process ends, or its reader would take that for all.
 * @return 0, or errno. */
int beside_try_special(const char *path);

/** What errno says of a file that cannot be written. */
const char *beside_error(int error);

/** Whether two paths lead to one file, that is there or would be made. */
int beside_same(const char *a, const char *b);

#endif /* COMMAND_BESIDE_H */
