/* SPDX-License-Identifier: BSD-3-Clause
 * command/level.h - which level of threads to ask MPI for.
 */
#ifndef COMMAND_LEVEL_H
#define COMMAND_LEVEL_H

/** MPI_THREAD_MULTIPLE where THINWIRE_PROGRESS=thread asks for a thread that calls MPI beside the
 * program, else `least`. */
int level_wanted(int least);

#endif /* COMMAND_LEVEL_H */
