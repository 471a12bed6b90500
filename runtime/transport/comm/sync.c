/* SPDX-License-Identifier: BSD-3-Clause
 * transport/comm/sync.c - see sync.h.
 */
#include "config.h"

#include <string.h>

#include "runtime/transport/comm/sync.h"
#include "runtime/transport/comm/progress_thread.h"

tw_status_t tw_sync_wait(tw_comm_t *comm, int count, MPI_Request *requests, const char *what)
{
    tw_status_t status = TW_OK;
    int         done   = 0;

    tw_comm_moved(comm);
    while (status == TW_OK && !done) {
        status = tw_comm_mpi(comm, comm->mpi->Testall(count, requests, &done, MPI_STATUSES_IGNORE),
                             "MPI_Testall");
        if (status == TW_OK && !done) {
            bool moved = false;

            comm->engine->progress(comm, &moved);
            comm->system->yield(comm->engine->descriptor(comm));
            status = comm->status;
            if (status != TW_OK || moved || !tw_comm_timed_out(comm)) {
                continue;
            }
            TW_ERROR(&comm->log, "%s: not every rank came within %g s; the communicator is dead",
                     what, comm->config.timeout);
            status = comm->status = TW_ERR_TIMEOUT;
        }
    }
    return status;
}

/* Enter, behind the collectives of MPI's that operations have yet to call. */
static tw_status_t tw_sync_enter(tw_comm_t *comm)
{
    tw_comm_enter(comm);
    while (comm->engine->owes_mpi(comm) && comm->status == TW_OK) {
        comm->engine->wait_some(comm);
    }
    return comm->engine->owes_mpi(comm) ? comm->status : TW_OK;
}

static void *tw_sync_room(uint8_t *small, const void *given, size_t size)
{
    return size <= TW_SYNC_SMALL ? small : (void *)(uintptr_t)given;
}

tw_status_t tw_sync_allreduce(tw_comm_t *comm, const void *in, void *out, int count, size_t element,
                              MPI_Datatype type, MPI_Op op, const char *what)
{
    const size_t size = (size_t)count * element;
    void        *from = tw_sync_room(comm->small_in, in, size);
    void        *to   = tw_sync_room(comm->small_out, out, size);
    MPI_Request  request;
    tw_status_t  status;

    status = tw_sync_enter(comm);
    if (from != in) {
        memcpy(from, in, size);
    }
    if (status == TW_OK) {
        status = tw_comm_mpi(comm,
                             comm->mpi->Iallreduce(from, to, count, type, op, comm->comm, &request),
                             "MPI_Iallreduce");
    }
    if (status == TW_OK) {
        status = tw_sync_wait(comm, 1, &request, what);
    }
    if (status == TW_OK && to != out) {
        memcpy(out, to, size);
    }
    tw_comm_leave(comm);
    return status;
}

tw_status_t tw_sync_allgather(tw_comm_t *comm, const void *mine, void *all, int bytes,
                              const char *what)
{
    void       *from = tw_sync_room(comm->small_in, mine, (size_t)bytes);
    MPI_Request request;
    tw_status_t status;

    status = tw_sync_enter(comm);
    if (from != mine) {
        memcpy(from, mine, (size_t)bytes);
    }
    if (status == TW_OK) {
        status = tw_comm_mpi(comm,
                             comm->mpi->Iallgather(from, bytes, MPI_BYTE, all, bytes, MPI_BYTE,
                                                   comm->comm, &request),
                             "MPI_Iallgather");
    }
    if (status == TW_OK) {
        status = tw_sync_wait(comm, 1, &request, what);
    }
    tw_comm_leave(comm);
    return status;
}

tw_status_t tw_sync_bcast(tw_comm_t *comm, void *bytes, int size, const char *what)
{
    void       *at = tw_sync_room(comm->small_in, bytes, (size_t)size);
    MPI_Request request;
    tw_status_t status;

    status = tw_sync_enter(comm);
    if (at != bytes) {
        memcpy(at, bytes, (size_t)size);
    }
    if (status == TW_OK) {
        status = tw_comm_mpi(comm, comm->mpi->Ibcast(at, size, MPI_BYTE, 0, comm->comm, &request),
                             "MPI_Ibcast");
    }
    if (status == TW_OK) {
        status = tw_sync_wait(comm, 1, &request, what);
    }
    if (status == TW_OK && at != bytes) {
        memcpy(bytes, at, (size_t)size);
    }
    tw_comm_leave(comm);
    return status;
}

tw_status_t tw_sync_message(tw_comm_t *comm, bool sending, void *bytes, int size, int peer,
                            const char *what)
{
    void       *at = tw_sync_room(sending ? comm->small_in : comm->small_out, bytes, (size_t)size);
    MPI_Request request;
    tw_status_t status;

    tw_comm_enter(comm);
    if (sending && at != bytes) {
        memcpy(at, bytes, (size_t)size);
    }
    status = tw_comm_mpi(
        comm,
        sending ? comm->mpi->Isend(at, size, MPI_BYTE, peer, TW_TAG_SYNC, comm->comm, &request)
                : comm->mpi->Irecv(at, size, MPI_BYTE, peer, TW_TAG_SYNC, comm->comm, &request),
        sending ? "MPI_Isend" : "MPI_Irecv");
    if (status == TW_OK) {
        status = tw_sync_wait(comm, 1, &request, what);
    }
    if (status == TW_OK && !sending && at != bytes) {
        memcpy(bytes, at, (size_t)size);
    }
    tw_comm_leave(comm);
    return status;
}
