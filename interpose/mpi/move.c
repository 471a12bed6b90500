/* SPDX-License-Identifier: BSD-3-Clause
 * interpose/mpi/move.c - see move.h.
 */
#include "config.h"

#include <thinwire/collective.h>

#include "interpose/mpi/device.h"
#include "interpose/mpi/form.h"
#include "interpose/mpi/move.h"
#include "interpose/state.h"
#include "runtime/transport/comm/comm.h"
#include "runtime/transport/shm/layout.h"

/* Memory of a device that MPI alone can use is so on all ranks. */
static bool tw_move_reaches(tw_call_t *call, const void *buffer, tw_device_t **device_p)
{
    const tw_owner_t owner = tw_device_find(call->comm->handle, buffer, device_p);

    call->on_device |= owner != TW_OWNER_HOST;
    return owner != TW_OWNER_UNKNOWN;
}

/* Within one node MPI's own goes through memory, too. */
static tw_comm_t *tw_move_by(tw_call_t *call)
{
    tw_comm_t *comm = tw_comms_duplicate(call->comm);

    if (comm == NULL || (comm->nodes->count == 1 && !tw_encode_always())) {
        return NULL;
    }
    call->why = TW_WHY_MOVED;
    return comm;
}

/* root -1: an allgather. */
static void tw_move_transport(const tw_call_t *call, tw_comm_t *comm, const void *from, void *to,
                              int root)
{
    const tw_how_t how = {.codec = tw_codec_bytes(), .exec = &tw_state.exec};
    tw_status_t    status;

    pthread_mutex_lock(&call->comm->lock);
    tw_device_enter(call->comm->handle, call->comm->device);
    status = root < 0 ? tw_allgather(comm, from, to, call->bytes, &how)
                      : tw_bcast(comm, to, call->bytes, root, &how);
    tw_device_leave(call->comm->device);
    pthread_mutex_unlock(&call->comm->lock);
    if (status != TW_OK) {
        tw_give_up(call->comm->handle, "the %s of %llu bytes failed: %s",
                   root < 0 ? "MPI_Allgather" : "MPI_Bcast", (unsigned long long)call->bytes,
                   tw_status_text(status));
    }
}

bool tw_move_bcast(tw_call_t *call, void *buffer, size_t items, int root)
{
    const bool sender = call->comm->rank == root;
    tw_type_t  type   = call->type;
    tw_comm_t *comm;
    void      *copy;

    if (!tw_call_moves(call) || !tw_move_reaches(call, buffer, &type.device)) {
        return false;
    }
    comm = tw_move_by(call);
    if (comm == NULL) {
        return false;
    }
    copy = tw_type_at_hand(&type) ? NULL : tw_buffer_get(call->comm->handle, call->bytes);
    if (copy != NULL && sender) {
        tw_form_pack(call, &type, buffer, items, copy);
    }
    tw_move_transport(call, comm, NULL, copy != NULL ? copy : buffer, root);
    if (copy != NULL && !sender) {
        tw_form_unpack(call, &type, copy, items, buffer);
    }
    tw_buffer_put(copy);
    return true;
}

bool tw_move_allgather(tw_call_t *call, const void *sendbuf, const tw_type_t *send,
                       size_t send_items, void *recvbuf, size_t items)
{
    const size_t ranks    = (size_t)call->comm->size;
    const bool   in_place = sendbuf == MPI_IN_PLACE;
    tw_type_t    from = *send, to = call->type;
    char        *own, *copy;
    tw_comm_t   *comm;

    if (!tw_call_moves(call) || !tw_move_reaches(call, recvbuf, &to.device) ||
        !tw_move_reaches(call, in_place ? recvbuf : sendbuf, &from.device)) {
        return false;
    }
    comm = tw_move_by(call);
    if (comm == NULL) {
        return false;
    }
    copy = tw_type_at_hand(&to) ? NULL : tw_buffer_get(call->comm->handle, ranks * call->bytes);
    own  = (copy != NULL ? copy : (char *)recvbuf) + (size_t)call->comm->rank * call->bytes;
    if (in_place && copy != NULL) {
        tw_form_pack(call, &to, tw_type_at(&to, recvbuf, (MPI_Aint)items * call->comm->rank), items,
                     own);
    } else if (!in_place && !tw_type_at_hand(&from)) {
        tw_form_pack(call, &from, sendbuf, send_items, own);
        sendbuf = own;
    }
    tw_move_transport(call, comm, in_place || sendbuf == own ? TW_IN_PLACE : sendbuf,
                      own - (size_t)call->comm->rank * call->bytes, -1);
    if (copy != NULL) {
        tw_form_unpack(call, &to, copy, ranks * items, recvbuf);
    }
    tw_buffer_put(copy);
    return true;
}
