/* SPDX-License-Identifier: BSD-3-Clause
 * simulation/world.h - the environment of the ranks of a simulation: all in one process, one at a
 * time, in simulated time. It is there twice: fifo.c, with links and ranks of this folder, and
 * smpi.c, on a platform of SimGrid. The functions are for the rank that runs.
 */
#ifndef SIMULATION_WORLD_H
#define SIMULATION_WORLD_H

#include <math.h>

#include "runtime/transport/comm/mpi_ops.h"
#include "scaling/script.h"

#define WORLD_EVER INFINITY

/** Let all ranks of a script run play(). @return 1 on the one place where the results may be
 * printed, 0 elsewhere; an exit on failure, after one line. */
int world_run(const script_t *script, void (*play)(int rank));

int          world_rank(void);
MPI_Comm     world_comm(void);
tw_mpi_ops_t world_ops(void);

double world_now(void);

/** The rank works for so long. The second may put that off until the rank looks for messages, or
 * works by the first. */
void world_work(double seconds);
void world_code(double seconds);

/** It waits until something may have come for it, or until then, whatever is first. polls: what it
 * waits for may come through its node's memory. */
void world_idle(double until, int polls);

/** Something moved, which ranks of its node may wait for in shared memory. */
void world_moved(void);

/** Of the first two ranks: print what the platform is, as script.h says. */
void world_describe(void);

/** One line on standard error, and the process ends. */
_Noreturn void world_fail(const char *format, ...) __attribute__((format(printf, 1, 2)));

#endif /* SIMULATION_WORLD_H */
