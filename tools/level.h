/* SPDX-License-Identifier: BSD-3-Clause
 * tools/level.h - which level of threads to ask MPI for.
 */
#ifndef TOOLS_LEVEL_H
#define TOOLS_LEVEL_H

/** MPI_THREAD_MULTIPLE where THINWIRE_PROGRESS=thread asks for a thread that calls MPI beside the
 * program, else `least`. */
int level_wanted(int least);

#endif /* TOOLS_LEVEL_H */
