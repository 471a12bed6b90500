/* SPDX-License-Identifier: BSD-3-Clause
 * interpose/mpi/vectors.c - see vectors.h.
 */
#include "config.h"

#include <pthread.h>
#include <string.h>

#include <thinwire/collective.h>

#include "interpose/mpi/form.h"
#include "interpose/mpi/vectors.h"
#include "runtime/transport/comm/comm.h"
#include "runtime/transport/device/device.h"

/* Can the transport work where the vectors are? Then its work goes on our stream. */
static bool tw_vectors_on_device(const tw_call_t *call, const tw_vectors_t *v)
{
    tw_entry_t        *entry  = call->comm;
    const tw_choice_t *choice = call->choice;
    tw_device_t       *device = v->result_device;

    if (device == NULL || device != v->input_device || !device->kernels || choice->narrow ||
        !((choice->automatic && !(choice->absolute > 0)) || tw_codec_has_device(choice->codec)) ||
        entry->in_host || (entry->device != NULL && entry->device != device)) {
        return false;
    }
    pthread_mutex_lock(&entry->lock); /* another thread may advance what is under way */
    entry->device                    = device;
    entry->duplicate->device->stream = device->stream;
    pthread_mutex_unlock(&entry->lock);
    tw_device_enter(entry->handle, device);
    tw_device_check(entry->handle, tw_device_order(device));
    tw_device_leave(device);
    return true;
}

static void tw_vectors_copy(const tw_call_t *call, tw_device_t *device, void *to, const void *from,
                            size_t bytes)
{
    if (device != NULL) {
        tw_device_copy(call->comm->handle, device, to, from, bytes);
    } else {
        memcpy(to, from, bytes);
    }
}

static void tw_vectors_to_host(const tw_call_t *call, tw_vectors_t *v)
{
    if (v->copy != NULL || (v->input_device == NULL && v->result_device == NULL)) {
        return;
    }
    v->copy = tw_buffer_get(call->comm->handle, v->bytes);
    tw_vectors_copy(call, v->input_device, v->copy, v->input, v->bytes);
    v->from = TW_IN_PLACE;
    v->to   = v->copy;
}

void tw_vectors_make(const tw_call_t *call, tw_vectors_t *v, const void *sendbuf, void *recvbuf)
{
    const MPI_Comm comm     = call->comm->handle;
    const bool     in_place = sendbuf == MPI_IN_PLACE;

    *v = (tw_vectors_t){.from   = in_place ? TW_IN_PLACE : sendbuf,
                        .to     = recvbuf,
                        .input  = in_place ? recvbuf : sendbuf,
                        .result = recvbuf,
                        .bytes  = call->values * tw_kind_size(call->type.kind)};
    if (call->on_device) {
        v->result_device = tw_device_of(comm, recvbuf);
        v->input_device  = in_place ? v->result_device : tw_device_of(comm, sendbuf);
        if (!tw_vectors_on_device(call, v)) {
            tw_vectors_to_host(call, v);
        }
    }
    if (call->choice->narrow) {
        v->narrow = tw_buffer_get(comm, call->values * sizeof(*v->narrow));
        tw_form_narrow(v->from == TW_IN_PLACE ? v->to : v->from, call->values, v->narrow);
        v->from = TW_IN_PLACE;
        v->to   = v->narrow;
    }
}

bool tw_vectors_retry(const tw_call_t *call, tw_vectors_t *v, tw_status_t status)
{
    tw_entry_t *entry = call->comm;

    if (status != TW_ERR_UNSUPPORTED && status != TW_ERR_NO_MEMORY) {
        return false;
    }
    if (status == TW_ERR_NO_MEMORY && call->on_device && !entry->in_host) {
        tw_complain("no memory on a device for a sum: those of this communicator, of %d ranks, are "
                    "formed in host memory from now on",
                    entry->size);
    }
    entry->in_host = true;
    tw_vectors_to_host(call, v);
    return true;
}

void tw_vectors_finish(const tw_call_t *call, tw_vectors_t *v)
{
    if (v->narrow != NULL) {
        tw_form_widen(v->narrow, call->values, v->copy != NULL ? v->copy : v->result);
    }
    if (v->copy != NULL) {
        tw_vectors_copy(call, v->result_device, v->result, v->copy, v->bytes);
    }
    tw_vectors_drop(v);
}

void tw_vectors_drop(tw_vectors_t *v)
{
    tw_buffer_put(v->copy);
    tw_buffer_put(v->narrow);
    v->copy   = NULL;
    v->narrow = NULL;
}
