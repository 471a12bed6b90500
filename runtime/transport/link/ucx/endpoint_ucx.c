/* SPDX-License-Identifier: BSD-3-Clause
 * transport/link/ucx/endpoint_ucx.c - messages as UCP tagged messages.
 *
 * Tag: the sender's rank in the upper 32 bits, the engine's tag in the lower ones. A worker belongs
 * to one communicator, so messages of different communicators never match. Requests are UCP's; NULL
 * is a complete request.
 *
 * UCP may complete a send while its last bytes are still in UCP's buffers (TCP with a full socket);
 * only ucp_worker_progress sends them. So that a rank can leave the library once its operation is
 * complete, the communicator's progress thread (progress_thread.h) continues to call it until a
 * flush is complete. The thread makes no MPI call.
 */
#include "config.h"

#include <assert.h>

#include "runtime/base/descriptor.h"
#include "runtime/transport/comm/progress_thread.h"
#include "runtime/transport/device/device.h"
#include "runtime/transport/link/ucx/ucx.h"

static ucp_tag_t tw_ucx_tag(int sender, int tag)
{
    return (ucp_tag_t)(uint32_t)sender << 32 | (uint32_t)tag;
}

/* The communicator is dead, because of a message to or from `peer`; logged, if it was not yet. */
static tw_status_t tw_ucx_fail(tw_comm_t *comm, int peer, ucs_status_t status)
{
    const tw_ucx_t *ucx = comm->endpoint_state;

    if (comm->status == TW_OK) {
        TW_ERROR(&comm->log, "rank %d cannot be reached by UCX: %s; the communicator is dead", peer,
                 ucx->call.ucs_status_string(status));
        comm->status = TW_ERR_NETWORK;
    }
    return TW_ERR_NETWORK;
}

/* Append what UCP gave for a message to a batch. */
static tw_status_t tw_ucx_append(tw_comm_t *comm, tw_messages_t *messages, int peer,
                                 ucs_status_ptr_t request)
{
    ucs_status_ptr_t *requests = messages->requests;

    assert(messages->count < messages->capacity);
    if (UCS_PTR_IS_ERR(request)) {
        return tw_ucx_fail(comm, peer, UCS_PTR_STATUS(request));
    }
    messages->peers[messages->count] = peer;
    requests[messages->count++]      = request;
    return TW_OK;
}

/* UCX need not find out what memory it is given, unless it may be a device's. */
static const ucp_request_param_t *tw_ucx_param(const tw_comm_t *comm)
{
    static const ucp_request_param_t host = {.op_attr_mask = UCP_OP_ATTR_FIELD_MEMORY_TYPE,
                                             .memory_type  = UCS_MEMORY_TYPE_HOST};
    static const ucp_request_param_t any  = {.op_attr_mask = 0};

    return comm->device->open && comm->device->direct ? &any : &host;
}

static tw_status_t tw_ucx_send(tw_comm_t *comm, const void *bytes, size_t size, int peer, int tag,
                               tw_messages_t *messages)
{
    tw_ucx_t *ucx = comm->endpoint_state;

    ucx->posted++;
    tw_progress_thread_wake(comm);
    return tw_ucx_append(comm, messages, peer,
                         ucx->call.ucp_tag_send_nbx(ucx->peers[peer].ep, bytes, size,
                                                    tw_ucx_tag(comm->rank, tag),
                                                    tw_ucx_param(comm)));
}

static tw_status_t tw_ucx_recv(tw_comm_t *comm, void *bytes, size_t size, int peer, int tag,
                               tw_messages_t *messages)
{
    const tw_ucx_t *ucx = comm->endpoint_state;

    return tw_ucx_append(comm, messages, peer,
                         ucx->call.ucp_tag_recv_nbx(ucx->worker, bytes, size, tw_ucx_tag(peer, tag),
                                                    ~(ucp_tag_t)0, tw_ucx_param(comm)));
}

/* The first incomplete message decides; complete ones before it are given back. */
static tw_status_t tw_ucx_test(tw_comm_t *comm, tw_messages_t *messages, bool *complete_p)
{
    const tw_ucx_t   *ucx      = comm->endpoint_state;
    ucs_status_ptr_t *requests = messages->requests;

    *complete_p = false;
    for (int m = 0; m < messages->count; m++) {
        ucs_status_t status;

        if (requests[m] == NULL) {
            continue;
        }
        status = ucx->call.ucp_request_check_status(requests[m]);
        if (status == UCS_INPROGRESS) {
            return TW_OK;
        }
        ucx->call.ucp_request_free(requests[m]);
        requests[m] = NULL;
        if (status != UCS_OK) {
            return tw_ucx_fail(comm, messages->peers[m], status);
        }
    }
    *complete_p = true;
    return TW_OK;
}

static bool tw_ucx_pending(tw_comm_t *comm, tw_messages_t *messages, int message)
{
    const tw_ucx_t   *ucx      = comm->endpoint_state;
    ucs_status_ptr_t *requests = messages->requests;

    return requests[message] != NULL &&
           ucx->call.ucp_request_check_status(requests[message]) == UCS_INPROGRESS;
}

/* Without MPI also the connections that tell who is lost. */
tw_status_t tw_ucx_progress(tw_comm_t *comm)
{
    tw_ucx_t      *ucx   = comm->endpoint_state;
    const unsigned moved = ucx->call.ucp_worker_progress(ucx->worker);

    ucx->moved |= moved > 0;
    if (ucx->lost >= 0 && !ucx->closing) {
        return tw_ucx_fail(comm, ucx->lost, ucx->lost_status);
    }
    return moved == 0 && comm->mpi->Comm_progress != NULL
               ? tw_comm_mpi(comm, comm->mpi->Comm_progress(comm->comm), "progress")
               : TW_OK;
}

bool tw_ucx_idle(tw_comm_t *comm)
{
    static const ucp_request_param_t param = {0};
    tw_ucx_t                        *ucx   = comm->endpoint_state;

    if (ucx->flush != NULL && ucx->call.ucp_request_check_status(ucx->flush) != UCS_INPROGRESS) {
        ucx->call.ucp_request_free(ucx->flush);
        ucx->flush     = NULL;
        ucx->delivered = ucx->flushing;
    }
    if (ucx->flush == NULL && ucx->delivered < ucx->posted) {
        ucx->flushing = ucx->posted;
        ucx->flush    = ucx->call.ucp_worker_flush_nbx(ucx->worker, &param);
        if (!UCS_PTR_IS_PTR(ucx->flush)) { /* complete; or failed, and then a peer is lost */
            ucx->flush     = NULL;
            ucx->delivered = ucx->flushing;
        }
    }
    return ucx->delivered == ucx->posted;
}

static int tw_ucx_aware(tw_comm_t *comm)
{
    const tw_ucx_t    *ucx        = comm->endpoint_state;
    ucp_context_attr_t attributes = {.field_mask = UCP_ATTR_FIELD_MEMORY_TYPES};

    if (ucx->call.ucp_context_query(ucx->context, &attributes) != UCS_OK) {
        return -1;
    }
    return (attributes.memory_types & UCS_BIT(UCS_MEMORY_TYPE_CUDA)) != 0;
}

/* That of the connections, which watches UCX's (connect.c) once it is armed; beside MPI none. */
static int tw_ucx_descriptor(tw_comm_t *comm)
{
    tw_ucx_t  *ucx   = comm->endpoint_state;
    const bool again = ucx->moved;
    int        descriptor;

    if (comm->mpi->Comm_descriptor == NULL) {
        return TW_DESCRIPTOR_NONE;
    }
    ucx->moved = false;
    descriptor = comm->mpi->Comm_descriptor(comm->comm);
    return descriptor >= 0 && (again || ucx->call.ucp_worker_arm(ucx->worker) != UCS_OK)
               ? TW_DESCRIPTOR_AGAIN
               : descriptor;
}

const tw_endpoint_ops_t tw_endpoint_ucx = {
    .name          = "ucx",
    .request_bytes = sizeof(ucs_status_ptr_t),
    .open          = tw_ucx_open,
    .send          = tw_ucx_send,
    .recv          = tw_ucx_recv,
    .test          = tw_ucx_test,
    .pending       = tw_ucx_pending,
    .progress      = tw_ucx_progress,
    .idle          = tw_ucx_idle,
    .descriptor    = tw_ucx_descriptor,
    .aware         = tw_ucx_aware,
    .close         = tw_ucx_close,
    .abandon       = tw_ucx_abandon,
};
