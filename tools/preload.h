/* SPDX-License-Identifier: BSD-3-Clause
 * tools/preload.h - the libraries that `thinwire run` puts between a program and its MPI: one for
 * each family of MPI libraries.
 */
#ifndef TOOLS_PRELOAD_H
#define TOOLS_PRELOAD_H

#include <stddef.h>

#include "tools/program.h"

extern const char
    *const preload_names[FAMILIES + 1]; /* "openmpi", "mpich", NULL: --mpi takes these */
extern const char *const preload_families[FAMILIES + 1]; /* "Open MPI", "MPICH", NULL */

/* The family that the launcher's variables speak of. */
family_t preload_launcher(void);

/* The family to use where --mpi does not say it: the launcher's, unless the program is linked with
 * the other one; else the program's; else the one that thinwire was built with. */
family_t preload_choose(const program_t *program);

/* Path of the library: in ../lib beside this executable, else in the configured libdir.
 * @return 0, or -1 with one line in why: it was not built. */
int preload_find(family_t family, char *path, size_t size, char *why, size_t why_size);

/* Set LD_PRELOAD (and LD_LIBRARY_PATH, where the path holds a blank).
 * @return 0, or -1 with one line in why: that cannot be expressed. */
int preload_set(const char *path, char *why, size_t why_size);

#endif /* TOOLS_PRELOAD_H */
