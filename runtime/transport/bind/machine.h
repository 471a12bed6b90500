/* SPDX-License-Identifier: BSD-3-Clause
 * transport/bind/machine.h - what a rank knows of its machine without a message.
 */
#ifndef TW_TRANSPORT_BIND_MACHINE_H
#define TW_TRANSPORT_BIND_MACHINE_H

#include <stdbool.h>

#include <thinwire/topology.h>

#include "runtime/base/context.h"

/* The map of this machine, which is the context's and lives as long; described at the first call.
 * NULL: it cannot be. From any thread. */
tw_node_t *tw_machine_map(tw_context_t *ctx);

/* Which of the job's ranks on this machine this is, 0 .. *ranks_p - 1, as the launcher (mpirun of
 * Open MPI, MPICH or Intel MPI, srun) has it in the environment; false: it does not say. */
bool tw_machine_local(int *rank_p, int *ranks_p);

#endif /* TW_TRANSPORT_BIND_MACHINE_H */
