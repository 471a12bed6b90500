/* SPDX-License-Identifier: BSD-3-Clause
 * transport/comm/comm.c - communicators: death, time limit, rank and size.
 */
#include "config.h"

#include "runtime/transport/comm/comm.h"
#include "runtime/transport/comm/progress_thread.h"

tw_status_t tw_comm_check(const tw_comm_t *comm)
{
    return comm == NULL || tw_comm_status(comm) == TW_OK ? tw_comm_status(comm) : TW_ERR_DEAD;
}

/* What MPI says of a message that did not fit: ranks called with different counts, most likely. */
static const char *tw_comm_hint(const tw_comm_t *comm, int mpi_result)
{
    int class = MPI_SUCCESS;

    comm->mpi->Error_class(mpi_result, &class);
    return !comm->config.check && (class == MPI_ERR_TRUNCATE || class == MPI_ERR_IN_STATUS)
               ? "; THINWIRE_CHECK=1 names ranks that call with other counts"
               : "";
}

tw_status_t tw_comm_mpi(tw_comm_t *comm, int mpi_result, const char *call)
{
    char text[MPI_MAX_ERROR_STRING] = "unknown error";
    int  length                     = 0;

    if (mpi_result == MPI_SUCCESS) {
        return TW_OK;
    }
    if (comm->status == TW_OK) {
        comm->mpi->Error_string(mpi_result, text, &length);
        TW_ERROR(&comm->log, "%s%s%s; the communicator is dead%s",
                 comm->mpi->Comm_progress == NULL ? call : "",
                 comm->mpi->Comm_progress == NULL ? " failed: " : "", text,
                 tw_comm_hint(comm, mpi_result));
        comm->status = TW_ERR_MPI;
    }
    return TW_ERR_MPI;
}

int tw_comm_rank(const tw_comm_t *comm)
{
    return comm != NULL ? comm->rank : -1;
}

int tw_comm_size(const tw_comm_t *comm)
{
    return comm != NULL ? comm->size : 0;
}

tw_status_t tw_comm_status(const tw_comm_t *comm)
{
    tw_status_t status;

    if (comm == NULL) {
        return TW_ERR_INVALID_ARG;
    }
    tw_comm_enter(comm);
    status = comm->status;
    tw_comm_leave(comm);
    return status;
}

tw_status_t tw_comm_set_timeout(tw_comm_t *comm, double seconds)
{
    if (comm == NULL || !(seconds >= 0.0 || seconds < 0.0)) {
        return TW_ERR_INVALID_ARG;
    }
    tw_comm_enter(comm);
    comm->config.timeout = seconds > 0.0 ? seconds : 0.0;
    comm->patient        = false; /* on all ranks: MPI's own blocking calls know no limit */
    tw_comm_leave(comm);
    return TW_OK;
}

/* Without the lock, which a call that waits may hold. */
tw_status_t tw_comm_abort(tw_comm_t *comm)
{
    if (comm == NULL) {
        return TW_ERR_INVALID_ARG;
    }
    __atomic_store_n(&comm->status, TW_ERR_DEAD, __ATOMIC_RELAXED);
    return TW_OK;
}
