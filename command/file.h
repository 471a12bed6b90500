/* SPDX-License-Identifier: BSD-3-Clause
 * command/file.h - files that are written whole or not at all.
 */
#ifndef TW_COMMAND_FILE_H
#define TW_COMMAND_FILE_H

#include <stdio.h>

#include "command/problem.h"

typedef struct tw_file {
    const char *path;   /* as it was given                                       */
    char       *target; /* what it leads to, if it is a link to a file; or NULL  */
    FILE       *stream;
    int         special; /* a device or pipe: written directly */
    char        beside[4096];
} tw_file_t;

/** See whether path can be written, and leave nothing behind. @param what  "--json", for errors. */
int tw_file_try(const char *what, const char *path, tw_problem_t *problem);

/** Open a file beside path for writing and reading. @return 0, or -1 with the problem set. */
int tw_file_begin(tw_file_t *file, const char *what, const char *path, tw_problem_t *problem);

/** Flush to the disk and rename to path. @return 0, or -1 with the problem set; nothing is left. */
int tw_file_end(tw_file_t *file, const char *what, tw_problem_t *problem);

/** Throw the file away. */
void tw_file_drop(tw_file_t *file);

#endif /* TW_COMMAND_FILE_H */
