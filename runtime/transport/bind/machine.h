/* SPDX-License-Identifier: BSD-3-Clause
 * transport/bind/machine.h - facts of this machine that a rank gets without communication.
 */
#ifndef TW_TRANSPORT_BIND_MACHINE_H
#define TW_TRANSPORT_BIND_MACHINE_H

#include <stdbool.h>

#include <thinwire/topology.h>

#include "runtime/base/context.h"

/* The map of this machine, created at the first call and owned by the context. NULL if that fails.
 * Thread-safe. */
tw_node_t *tw_machine_map(tw_context_t *ctx);

/* This rank's number among the job's ranks on this machine, 0 .. *ranks_p - 1, from the launcher's
 * environment variables (mpirun of Open MPI, MPICH or Intel MPI, srun); false if they are not
 * set. */
bool tw_machine_local(int *rank_p, int *ranks_p);

#endif /* TW_TRANSPORT_BIND_MACHINE_H */
