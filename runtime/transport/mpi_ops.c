/* SPDX-License-Identifier: BSD-3-Clause
 * transport/mpi_ops.c - the default table, and communicators that use it: all of the transport that
 * needs MPI's functions when it is linked.
 */
#include "config.h"

#include "runtime/transport/bind.h"
#include "runtime/transport/comm.h"
#include "runtime/transport/helper.h"
#include "runtime/transport/mpi_ops.h"

const tw_mpi_ops_t tw_mpi_default = {
    .Comm_dup            = MPI_Comm_dup,
    .Comm_free           = MPI_Comm_free,
    .Comm_rank           = MPI_Comm_rank,
    .Comm_size           = MPI_Comm_size,
    .Comm_test_inter     = MPI_Comm_test_inter,
    .Comm_split_type     = MPI_Comm_split_type,
    .Comm_set_errhandler = MPI_Comm_set_errhandler,
    .Comm_get_attr       = MPI_Comm_get_attr,
    .Initialized         = MPI_Initialized,
    .Isend               = MPI_Isend,
    .Irecv               = MPI_Irecv,
    .Testall             = MPI_Testall,
    .Ibcast              = MPI_Ibcast,
    .Iallreduce          = MPI_Iallreduce,
    .Iallgather          = MPI_Iallgather,
    .Allreduce           = MPI_Allreduce,
    .Reduce              = MPI_Reduce,
    .Reduce_scatter_block = MPI_Reduce_scatter_block,
    .Bcast               = MPI_Bcast,
    .Allgather           = MPI_Allgather,
    .Alltoall            = MPI_Alltoall,
    .Ireduce             = MPI_Ireduce,
    .Ireduce_scatter     = MPI_Ireduce_scatter,
    .Ireduce_scatter_block = MPI_Ireduce_scatter_block,
    .Iallgatherv         = MPI_Iallgatherv,
    .Ialltoall           = MPI_Ialltoall,
    .Get_library_version = MPI_Get_library_version,
    .Error_string        = MPI_Error_string,
};

/* THINWIRE_PROGRESS=thread. Without one everything works, later: ranks may differ in it. */
static void tw_comm_thread(tw_comm_t *comm)
{
    int level = MPI_THREAD_SINGLE;

    if (comm->config.progress != TW_PROGRESS_THREAD) {
        return;
    }
    MPI_Query_thread(&level);
    if (level == MPI_THREAD_MULTIPLE && tw_helper_start(comm, true)) {
        return;
    }
    tw_log_write(&comm->log, comm->rank == 0 ? TW_LOG_WARN : TW_LOG_INFO,
                 "THINWIRE_PROGRESS=thread: %s; going on without",
                 level == MPI_THREAD_MULTIPLE ? "no thread can be started"
                                              : "MPI was not initialised with MPI_THREAD_MULTIPLE");
}

tw_status_t tw_comm_create(tw_context_t *ctx, MPI_Comm parent, tw_comm_t **comm_p)
{
    tw_comm_t  *comm;
    tw_status_t status;
    int         initialised = 0;

    tw_mpi_default.Initialized(&initialised);
    if (!initialised || comm_p == NULL) {
        return TW_ERR_INVALID_ARG;
    }
    status = tw_comm_create_with(ctx, &tw_mpi_default, parent, &comm);
    if (status == TW_OK) {
        status = tw_comm_bind(comm);
        if (status != TW_OK) {
            tw_comm_destroy(comm);
        }
    }
    if (status == TW_OK) {
        tw_comm_thread(comm);
        *comm_p = comm;
    }
    return status;
}
