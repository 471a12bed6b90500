/* SPDX-License-Identifier: BSD-3-Clause
 * tools/scale/child.h - a program that this one starts, and whose lines it reads. It ends with this
 * process, however that ends.
 */
#ifndef TOOLS_SCALE_CHILD_H
#define TOOLS_SCALE_CHILD_H

#include <stddef.h>

#include "command/problem.h"

/** Run it to its end: each line that it says, on standard output or error, without its end.
 * @return 0 if it exited with 0; -1 with the problem set otherwise: its own
 *         complaint, a line that begins with "thinwire-player: ", or how it ended. */
int child_run(char *const argv[], void (*line)(void *context, const char *text), void *context,
              tw_problem_t *problem);

/** The path of a file beside this program, in libexec/thinwire/ in the build and once installed, or
 * where that was configured to be. @return 0, or -1: it is not there. */
int child_find(const char *name, char *path, size_t size);

#endif /* TOOLS_SCALE_CHILD_H */
