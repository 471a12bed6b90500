/* SPDX-License-Identifier: BSD-3-Clause
 * transport/link/mpi_ops.c - the default table. With what uses it (create.c, bind.c) it is all of the
 * transport that needs MPI's functions when it is linked.
 */
#include "config.h"

#include "runtime/transport/link/mpi_ops.h"

const tw_mpi_ops_t tw_mpi_default = {
    .Comm_dup              = MPI_Comm_dup,
    .Comm_free             = MPI_Comm_free,
    .Comm_rank             = MPI_Comm_rank,
    .Comm_size             = MPI_Comm_size,
    .Comm_test_inter       = MPI_Comm_test_inter,
    .Comm_split_type       = MPI_Comm_split_type,
    .Comm_set_errhandler   = MPI_Comm_set_errhandler,
    .Comm_get_attr         = MPI_Comm_get_attr,
    .Initialized           = MPI_Initialized,
    .Isend                 = MPI_Isend,
    .Irecv                 = MPI_Irecv,
    .Testall               = MPI_Testall,
    .Ibcast                = MPI_Ibcast,
    .Iallreduce            = MPI_Iallreduce,
    .Iallgather            = MPI_Iallgather,
    .Allreduce             = MPI_Allreduce,
    .Reduce                = MPI_Reduce,
    .Reduce_scatter_block  = MPI_Reduce_scatter_block,
    .Bcast                 = MPI_Bcast,
    .Allgather             = MPI_Allgather,
    .Alltoall              = MPI_Alltoall,
    .Ireduce               = MPI_Ireduce,
    .Ireduce_scatter       = MPI_Ireduce_scatter,
    .Ireduce_scatter_block = MPI_Ireduce_scatter_block,
    .Iallgatherv           = MPI_Iallgatherv,
    .Ialltoall             = MPI_Ialltoall,
    .Get_library_version   = MPI_Get_library_version,
    .Error_class           = MPI_Error_class,
    .Error_string          = MPI_Error_string,
};
