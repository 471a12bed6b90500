/* SPDX-License-Identifier: BSD-3-Clause
 * transport/link/endpoint_mpi.c - messages by MPI_Isend and MPI_Irecv on the communicator's duplicate.
 *
 * Each test makes MPI move all messages, and MPI keeps what it has taken moving from every other
 * call into it: nothing is left to do for progress, and it is always idle.
 */
#include "config.h"

#include <assert.h>
#include <dlfcn.h>
#include <string.h>

#include "runtime/transport/link/endpoint.h"

static tw_status_t tw_mpi_open(tw_comm_t *comm)
{
    (void)comm;
    return TW_OK;
}

/* The next free request of a batch. */
static MPI_Request *tw_mpi_request(tw_messages_t *messages, int peer)
{
    MPI_Request *requests = messages->requests;

    assert(messages->count < messages->capacity);
    messages->peers[messages->count] = peer;
    return &requests[messages->count++];
}

static tw_status_t tw_mpi_send(tw_comm_t *comm, const void *bytes, size_t size, int peer, int tag,
                               tw_messages_t *messages)
{
    return tw_comm_mpi(comm,
                       comm->mpi->Isend(bytes, (int)size, MPI_BYTE, peer, tag, comm->comm,
                                        tw_mpi_request(messages, peer)),
                       "MPI_Isend");
}

static tw_status_t tw_mpi_recv(tw_comm_t *comm, void *bytes, size_t size, int peer, int tag,
                               tw_messages_t *messages)
{
    return tw_comm_mpi(comm,
                       comm->mpi->Irecv(bytes, (int)size, MPI_BYTE, peer, tag, comm->comm,
                                        tw_mpi_request(messages, peer)),
                       "MPI_Irecv");
}

static tw_status_t tw_mpi_test(tw_comm_t *comm, tw_messages_t *messages, bool *complete_p)
{
    int               complete = 0;
    const tw_status_t status   = tw_comm_mpi(
          comm,
          comm->mpi->Testall(messages->count, messages->requests, &complete, MPI_STATUSES_IGNORE),
          "MPI_Testall");

    *complete_p = complete != 0;
    return status;
}

static bool tw_mpi_pending(tw_comm_t *comm, tw_messages_t *messages, int message)
{
    MPI_Request *requests = messages->requests;
    int          complete = 0;

    comm->mpi->Testall(1, &requests[message], &complete, MPI_STATUSES_IGNORE);
    return !complete;
}

static tw_status_t tw_mpi_progress(tw_comm_t *comm)
{
    (void)comm;
    return TW_OK;
}

static bool tw_mpi_idle(tw_comm_t *comm)
{
    (void)comm;
    return true;
}

static tw_status_t tw_mpi_close(tw_comm_t *comm)
{
    (void)comm;
    return TW_OK;
}

static void tw_mpi_abandon(tw_comm_t *comm)
{
    (void)comm;
}

/* An extension that Open MPI and MPICH have; where it is missing, nobody can say. */
static int tw_mpi_aware(tw_comm_t *comm)
{
    int (*query)(void) = NULL;
    void *symbol       = dlsym(RTLD_DEFAULT, "MPIX_Query_cuda_support");

    (void)comm;
    if (symbol == NULL) {
        return -1;
    }
    memcpy(&query, &symbol, sizeof(query));
    return query() != 0;
}

const tw_endpoint_ops_t tw_endpoint_mpi = {
    .name          = "mpi",
    .request_bytes = sizeof(MPI_Request),
    .open          = tw_mpi_open,
    .send          = tw_mpi_send,
    .recv          = tw_mpi_recv,
    .test          = tw_mpi_test,
    .pending       = tw_mpi_pending,
    .progress      = tw_mpi_progress,
    .idle          = tw_mpi_idle,
    .aware         = tw_mpi_aware,
    .close         = tw_mpi_close,
    .abandon       = tw_mpi_abandon,
};
