/* SPDX-License-Identifier: BSD-3-Clause
 * interpose/mpi/move.c - see move.h. The transport gets blocks that follow each other in the order
 * of ranks: displacements may differ between ranks.
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

/* counts: of an allgather, a rank's bytes; NULL: a broadcast. */
static void tw_move_transport(const tw_call_t *call, tw_comm_t *comm, const void *from, void *to,
                              const size_t *counts, int root)
{
    const tw_how_t how = {.codec = tw_codec_bytes(), .exec = &tw_state.exec};
    tw_status_t    status;

    pthread_mutex_lock(&call->comm->lock);
    tw_device_enter(call->comm->handle, call->comm->device);
    status = counts != NULL ? tw_allgatherv(comm, from, to, counts, NULL, &how)
                            : tw_bcast(comm, to, call->bytes, root, &how);
    tw_device_leave(call->comm->device);
    pthread_mutex_unlock(&call->comm->lock);
    if (status != TW_OK) {
        tw_give_up(call->comm->handle, "the %s of %llu bytes failed: %s",
                   tw_rule_op_names[call->op], (unsigned long long)call->bytes,
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
    tw_move_transport(call, comm, NULL, copy != NULL ? copy : buffer, NULL, root);
    if (copy != NULL && !sender) {
        tw_form_unpack(call, &type, copy, items, buffer);
    }
    tw_buffer_put(copy);
    return true;
}

/* Do the blocks follow each other in the order of ranks? */
static bool tw_move_in_order(const tw_counts_t *counts)
{
    MPI_Aint next = 0;
    bool     any  = false;

    for (int r = 0; r < counts->ranks; r++) {
        if (tw_counts_at(counts, r) > 0) {
            if (any && tw_counts_first(counts, r) != next) {
                return false;
            }
            next = tw_counts_first(counts, r) + (MPI_Aint)tw_counts_at(counts, r);
            any  = true;
        }
    }
    return true;
}

/* Blocks that follow each other to where they belong. */
static void tw_move_place(const tw_call_t *call, const tw_type_t *type, const char *blocks,
                          void *buffer, const tw_counts_t *counts)
{
    for (int r = 0; r < counts->ranks; r++) {
        const size_t items = tw_counts_at(counts, r);

        if (items > 0) {
            tw_form_unpack(call, type, blocks, items,
                           tw_type_at(type, buffer, tw_counts_first(counts, r)));
            blocks += items * type->size;
        }
    }
}

/* The bytes of each rank's block; in all, and before this rank's. */
static size_t *tw_move_bytes(const tw_call_t *call, const tw_counts_t *counts, size_t *total,
                             size_t *before)
{
    size_t *bytes = tw_buffer_get(call->comm->handle, (size_t)counts->ranks * sizeof(*bytes));

    *total = *before = 0;
    for (int r = 0; r < counts->ranks; r++) {
        bytes[r] = tw_counts_at(counts, r) * call->type.size;
        *before += r < call->comm->rank ? bytes[r] : 0;
        *total += bytes[r];
    }
    return bytes;
}

bool tw_move_allgather(tw_call_t *call, const tw_items_t *own, void *recvbuf,
                       const tw_counts_t *counts)
{
    tw_type_t   from = own->type, to = call->type;
    void *const data = tw_counts_data(counts, &to, recvbuf);
    const bool  some = own->count * from.size > 0;
    const void *send = own->at;
    char       *copy, *mine;
    size_t     *bytes, total, before;
    tw_comm_t  *comm;

    if (!tw_call_moves(call) || !tw_move_reaches(call, data, &to.device) ||
        !tw_move_reaches(call, some ? send : NULL, &from.device)) {
        return false;
    }
    comm = tw_move_by(call);
    if (comm == NULL) {
        return false;
    }
    bytes = tw_move_bytes(call, counts, &total, &before);
    copy  = tw_type_at_hand(&to) && tw_move_in_order(counts)
                ? NULL
                : tw_buffer_get(call->comm->handle, total);
    mine  = (copy != NULL ? copy : (char *)data) + before;
    if (some && !tw_type_at_hand(&from)) {
        tw_form_pack(call, &from, send, own->count, mine);
        send = mine;
    }
    tw_move_transport(call, comm, some && send != mine ? send : TW_IN_PLACE, mine - before, bytes,
                      0);
    if (copy != NULL) {
        tw_move_place(call, &to, copy, recvbuf, counts);
    }
    tw_buffer_put(copy);
    tw_buffer_put(bytes);
    return true;
}
