/* SPDX-License-Identifier: BSD-3-Clause
 * tools/program.h - the program that `thinwire run` shall start: where it is, and with which MPI it
 * is linked. Files are read, nothing is loaded or run.
 */
#ifndef TOOLS_PROGRAM_H
#define TOOLS_PROGRAM_H

#include <stddef.h>

/* MPI libraries with one binary interface. */
typedef enum family { FAMILY_UNKNOWN = -1, FAMILY_OPENMPI, FAMILY_MPICH, FAMILIES } family_t;

typedef struct program {
    int      is_static; /* an ELF program that no dynamic loader starts: LD_PRELOAD has no effect */
    family_t family;    /* of the MPI library that it is linked with                             */
} program_t;

/* Search as execvp() does. Returns 0, ENOENT, or EACCES (there is one, but it cannot be executed);
 * path is set on 0. */
int program_find(const char *name, char *path, size_t size);

/* The folder of that name beside the one that this executable is in: "lib" of PREFIX/bin/thinwire
 * is PREFIX/lib. @return 0, or -1 and "": that cannot be said. */
int program_beside(const char *name, char *folder, size_t size);

/* What the ELF header and the dynamic section say; a script or a damaged file says nothing. */
program_t program_look(const char *path);

#endif /* TOOLS_PROGRAM_H */
