/* SPDX-License-Identifier: BSD-3-Clause
 * interpose/mpi/pack.c - items of any layout to consecutive values and back; see types.h.
 */
#include "config.h"

#include <limits.h>
#include <string.h>

#include "interpose/mpi/device.h"
#include "interpose/next.h"
#include "interpose/state.h"
#include "interpose/mpi/types.h"
#include "runtime/transport/link/mpi_type.h"

/* MPI_Pack counts bytes in ints, and MPICH's refuses MPI_BOTTOM. A message to oneself, the
 * program's type on one side and values alone on the other, can do both. One thread at a time, or
 * they would meet. */
static bool tw_type_by_message(const tw_type_t *type, void *buffer, size_t count, void *vector,
                               bool pack)
{
    static pthread_mutex_t lock   = PTHREAD_MUTEX_INITIALIZER;
    const bool             known  = tw_kind_is_values(type->kind);
    const size_t           width  = known ? tw_kind_size(type->kind) : 1;
    const MPI_Datatype     single = known ? tw_mpi_type(tw_kind_dtype(type->kind)) : MPI_BYTE;
    const size_t           values = count * type->size / width;
    int                    result;

    if (count > INT_MAX || values > INT_MAX) {
        return false;
    }
    pthread_mutex_lock(&lock);
    result = pack ? tw_next.Sendrecv(buffer, (int)count, type->handle, 0, 0, vector, (int)values,
                                     single, 0, 0, tw_state_quiet(), MPI_STATUS_IGNORE)
                  : tw_next.Sendrecv(vector, (int)values, single, 0, 0, buffer, (int)count,
                                     type->handle, 0, 0, tw_state_quiet(), MPI_STATUS_IGNORE);
    pthread_mutex_unlock(&lock);
    return result == MPI_SUCCESS;
}

static bool tw_type_wants_message(const tw_type_t *type, const void *buffer)
{
    return buffer == MPI_BOTTOM || type->size > INT_MAX;
}

/* Items that MPI_Pack can take at once, whose counts of bytes are ints. */
static size_t tw_pack_step(const tw_type_t *type)
{
    const size_t most = (size_t)1 << 30;

    return type->size >= most ? 1 : most / type->size;
}

static void tw_type_copy(const tw_type_t *type, void *to, const void *from, size_t bytes)
{
    if (type->device != NULL) {
        tw_device_copy(MPI_COMM_WORLD, type->device, to, from, bytes);
    } else {
        memcpy(to, from, bytes);
    }
}

bool tw_type_pack(const tw_type_t *type, const void *buffer, size_t count, void *vector)
{
    char  *to   = vector;
    size_t step = 0;

    if (type->dense || type->size == 0) {
        tw_type_copy(type, vector, buffer, count * type->size);
        return true;
    }
    if (tw_type_wants_message(type, buffer)) {
        return tw_type_by_message(type, (void *)(uintptr_t)buffer, count, vector, true);
    }
    for (size_t at = 0; at < count; at += step) {
        int position = 0;

        step = tw_pack_step(type) < count - at ? tw_pack_step(type) : count - at;
        if (tw_next.Pack(tw_type_at(type, buffer, (MPI_Aint)at), (int)step, type->handle, to,
                         (int)(step * type->size), &position, tw_state_quiet()) != MPI_SUCCESS) {
            return false;
        }
        to += step * type->size;
    }
    return true;
}

bool tw_type_unpack(const tw_type_t *type, const void *vector, size_t count, void *buffer)
{
    const char *from = vector;
    size_t      step = 0;

    if (type->dense || type->size == 0) {
        tw_type_copy(type, buffer, vector, count * type->size);
        return true;
    }
    if (tw_type_wants_message(type, buffer)) {
        return tw_type_by_message(type, buffer, count, (void *)(uintptr_t)vector, false);
    }
    for (size_t at = 0; at < count; at += step) {
        int position = 0;

        step = tw_pack_step(type) < count - at ? tw_pack_step(type) : count - at;
        if (tw_next.Unpack(from, (int)(step * type->size), &position,
                           tw_type_at(type, buffer, (MPI_Aint)at), (int)step, type->handle,
                           tw_state_quiet()) != MPI_SUCCESS) {
            return false;
        }
        from += step * type->size;
    }
    return true;
}
