/* SPDX-License-Identifier: BSD-3-Clause
 * transport/comm/mpi_ops.c - the default table. Only this file and its users (create.c, bind.c)
 * refer to MPI functions at link time.
 */
#include "config.h"

#include "runtime/transport/comm/mpi_ops.h"

const tw_mpi_ops_t tw_mpi_default = {.Comm_dup = MPI_Comm_dup,
                                     .Testall  = MPI_Testall,
                                     .Testsome = MPI_Testsome,
#ifdef TW_SOCKETS_MPI_H
                                     .Comm_progress   = tw_mpi_comm_progress,
                                     .Comm_descriptor = tw_mpi_comm_descriptor,
                                     .Comm_watch      = tw_mpi_comm_watch,
                                     .Comm_abandon    = tw_mpi_comm_abandon,
#endif
#define X(name) .name = MPI_##name,
                                     TW_MPI_OPS(X)
#undef X
};
