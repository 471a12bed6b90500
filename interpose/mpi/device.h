/* SPDX-License-Identifier: BSD-3-Clause
 * interpose/mpi/device.h - buffers of the program's in device memory.
 *
 * Work on them is put on a stream of our own in the context that the memory is of, and waited for
 * before the program's call returns: it may use what it got on any stream then. The context is the
 * current one only meanwhile. MPI wants that what is sent is ready when the call is made.
 *
 * Codes are the same bytes wherever they are made, so whether a rank's buffer is device memory
 * decides nothing that other ranks could see. What the device cannot do (no kernels for a codec or
 * a device, no memory left) is done in host memory, with a copy of the elements.
 */
#ifndef TW_INTERPOSE_DEVICE_H
#define TW_INTERPOSE_DEVICE_H

#include <stdbool.h>
#include <stddef.h>

#include "interpose/mpi/late.h"
#include "runtime/codec/device.h"
#include "runtime/codec/owner.h"

/* What we keep in a context: a stream, buffers. It stays until MPI_Finalize. */
typedef struct tw_device {
    struct tw_device *next;
    void             *context, *stream;
    void             *before; /* an event, of the default stream */
    void *mark; /* memory that is no more when the program has reset the device; or NULL */
    unsigned long long mark_id;
    bool               gone;    /* it has: nothing of this is left                              */
    bool               usable;  /* the CUDA runtime works with this driver                        */
    bool               kernels; /* this device runs ours                                          */
    bool direct; /* MPI takes device memory: codes need no way through pinned memory */
    struct tw_device_buffer *buffers[2]; /* by tw_device_memory_t */
} tw_device_t;

/* Whose memory a buffer is: TW_OWNER_CUDA with the device in *device_p; TW_OWNER_UNKNOWN where
 * nobody but MPI can use it, as without CUDA in the build. comm: ends if the device fails. */
tw_owner_t tw_device_find(MPI_Comm comm, const void *buffer, tw_device_t **device_p);

/* The same in a call that has been found to be ours: NULL for memory of the host. Ends where it can
 * no longer be known. */
tw_device_t *tw_device_of(MPI_Comm comm, const void *buffer);

/* Has the program reset the device? Memory that it gets afterwards is of a new one. */
bool tw_device_gone(tw_device_t *device);

/* Around all work: the device's context is the current one of this thread. NULL, and one that is
 * gone: nothing. */
void tw_device_enter(MPI_Comm comm, tw_device_t *device);
void tw_device_leave(const tw_device_t *device);

/* Between enter and leave. Before the program's memory is used: work follows what is on the default
 * stream. A cudaMemset() that has returned may still be there, and so may a cudaMemcpy() from
 * pageable memory. */
tw_status_t tw_device_order(const tw_device_t *device);

/* Between enter and leave. A buffer that is kept; TW_ERR_NO_MEMORY. NULL may be given back. */
tw_status_t tw_device_get(tw_device_t *device, tw_device_memory_t kind, size_t bytes, void **p);
void        tw_device_put(tw_device_t *device, tw_device_memory_t kind, void *p);

/* Copy now, with host memory of any kind on one side; enters, orders and leaves. */
void tw_device_copy(MPI_Comm comm, tw_device_t *device, void *dst, const void *src, size_t bytes);

/* One line and the end, unless the status is TW_OK: other ranks wait. */
void tw_device_check(MPI_Comm comm, tw_status_t status);

/* At MPI_Finalize, where nothing is outstanding. */
void tw_devices_stop(void);

#endif /* TW_INTERPOSE_DEVICE_H */
