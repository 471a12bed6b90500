/* SPDX-License-Identifier: BSD-3-Clause
 * transport/link/endpoint_mpi.c - messages by MPI_Isend and MPI_Irecv on the communicator's
 * duplicate.
 *
 * All messages of all operations are tested in one call: each test makes MPI progress all messages,
 * which over TCP is a system call, and there may be dozens of lanes. Any MPI call progresses the
 * messages that MPI has accepted, so the endpoint is always idle.
 */
#include "config.h"

#include <assert.h>
#include <dlfcn.h>
#include <string.h>

#include "runtime/base/descriptor.h"
#include "runtime/transport/engine/request.h"
#include "runtime/transport/link/link.h"

#define TW_MPI_SOME 256 /* messages that one call tests */

typedef struct tw_mpi_some {
    int          count;
    MPI_Request  requests[TW_MPI_SOME];
    MPI_Request *slots[TW_MPI_SOME]; /* where they are from */
    int          done[TW_MPI_SOME];
} tw_mpi_some_t;

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

/* Those that are complete become MPI_REQUEST_NULL. */
static tw_status_t tw_mpi_test_some(tw_comm_t *comm, tw_mpi_some_t *some)
{
    int         count  = 0;
    tw_status_t status = TW_OK;

    if (some->count > 0) {
        status = tw_comm_mpi(comm,
                             comm->mpi->Testsome(some->count, some->requests, &count, some->done,
                                                 MPI_STATUSES_IGNORE),
                             "MPI_Testsome");
    }
    for (int i = 0; status == TW_OK && i < count; i++) {
        *some->slots[some->done[i]] = MPI_REQUEST_NULL;
    }
    some->count = 0;
    return status;
}

static tw_status_t tw_mpi_add(tw_comm_t *comm, tw_mpi_some_t *some, const tw_messages_t *messages)
{
    MPI_Request *requests = messages->requests;
    tw_status_t  status   = TW_OK;

    for (int m = 0; m < messages->count && status == TW_OK; m++) {
        if (requests[m] == MPI_REQUEST_NULL) {
            continue;
        }
        some->requests[some->count] = requests[m];
        some->slots[some->count++]  = &requests[m];
        if (some->count == TW_MPI_SOME) {
            status = tw_mpi_test_some(comm, some);
        }
    }
    return status;
}

static tw_status_t tw_mpi_progress(tw_comm_t *comm)
{
    tw_status_t   status = TW_OK;
    tw_mpi_some_t some;

    some.count = 0;
    for (tw_request_t *op = comm->mpi->Testsome != NULL ? comm->running : NULL; op != NULL;
         op               = op->next) {
        for (int l = 0; l < op->lanes && status == TW_OK; l++) {
            if (op->lane[l].busy && op->lane[l].stage < op->algorithm->stages) {
                status = tw_mpi_add(comm, &some, &op->lane[l].messages[op->lane[l].stage]);
            }
        }
    }
    if (some.count == 0 && status == TW_OK && comm->mpi->Comm_progress != NULL) {
        return tw_comm_mpi(comm, comm->mpi->Comm_progress(comm->comm), "progress");
    }
    return status == TW_OK ? tw_mpi_test_some(comm, &some) : status;
}

static tw_status_t tw_mpi_test(tw_comm_t *comm, tw_messages_t *messages, bool *complete_p)
{
    MPI_Request *requests = messages->requests;
    int          complete = 1;
    tw_status_t  status   = TW_OK;

    if (comm->mpi->Testsome == NULL) {
        status = tw_comm_mpi(
            comm, comm->mpi->Testall(messages->count, requests, &complete, MPI_STATUSES_IGNORE),
            "MPI_Testall");
    } else { /* tw_mpi_progress() has asked */
        for (int m = 0; m < messages->count && complete; m++) {
            complete = requests[m] == MPI_REQUEST_NULL;
        }
    }
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

static bool tw_mpi_idle(tw_comm_t *comm)
{
    (void)comm;
    return true;
}

static int tw_mpi_descriptor(tw_comm_t *comm)
{
    return comm->mpi->Comm_descriptor != NULL ? comm->mpi->Comm_descriptor(comm->comm)
                                              : TW_DESCRIPTOR_NONE;
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
    .descriptor    = tw_mpi_descriptor,
    .aware         = tw_mpi_aware,
    .close         = tw_mpi_close,
    .abandon       = tw_mpi_abandon,
};
