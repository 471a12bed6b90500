/* SPDX-License-Identifier: BSD-3-Clause
 * transport/device/device.h - a communicator's part in a device: whether its MPI takes device
 * memory, streams for copies, memory that is kept and reused, events.
 *
 * Nothing of it exists before the first call with device buffers. It belongs to the device that was
 * current then.
 */
#ifndef TW_TRANSPORT_DEVICE_DEVICE_H
#define TW_TRANSPORT_DEVICE_DEVICE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "runtime/codec/device.h"
#include "runtime/transport/device/slots.h"

struct tw_comm;

enum { TW_DEVICE_PATH_AUTO = 0, TW_DEVICE_PATH_DIRECT = 1, TW_DEVICE_PATH_STAGED = 2 };

/* Buffers of one kind of memory. What there is to know about them lies in host memory of its own:
 * the buffers themselves may not be touched. */
typedef struct tw_device_pool {
    struct tw_device_buf *bufs;  /* all of them, idle or in use           */
    uint64_t              bytes; /* held now                              */
    uint64_t              limit; /* bytes it may hold; none at first      */
} tw_device_pool_t;

typedef struct tw_comm_device {
    const tw_device_ops_t *ops;
    int   aware; /* does the endpoint take device memory? 1, 0; -1: it does not say */
    bool  open;
    bool  direct;   /* codes go to MPI as device memory; else through pinned memory */
    int   number;   /* of the device */
    void *out, *in; /* streams of copies from and to the device */
    /* Of work on memory that calls do not say is the device's; NULL: its default one. */
    void                   *stream;
    tw_device_pool_t        pool[2]; /* by tw_device_memory_t */
    struct tw_device_event *events;  /* idle ones */
    tw_device_slots_t       slots;   /* that ranks of the node share; made when first needed */
} tw_comm_device_t;

#define TW_DEVICE_NOT_ASKED (-2) /* aware */

/* Before anything else. */
void tw_comm_device_init(struct tw_comm *comm);

/* There is a current device, and it is the one of earlier calls; streams exist. TW_ERR_UNSUPPORTED,
 * TW_ERR_INVALID_ARG (another device is current now), TW_ERR_NO_MEMORY, TW_ERR_IO: one line in the
 * log. */
tw_status_t tw_comm_device_open(struct tw_comm *comm);

/* Release everything; nothing may be in use. */
void tw_comm_device_close(struct tw_comm *comm);

/* The communicator's device, if it has one, becomes the current one of this thread, and leave()
 * makes the program's current again: around all that calls the device, but in calls for which the
 * device is current by contract, since they come with buffers. A failure is the caller's to report
 * (tw_comm_device_failed()); *before_p is set in any case. */
tw_status_t tw_comm_device_enter(struct tw_comm *comm, int *before_p);
void        tw_comm_device_leave(struct tw_comm *comm, int before);

/* The device failed: log it, kill the communicator. Returns the status. */
tw_status_t tw_comm_device_failed(struct tw_comm *comm, tw_status_t status, const char *what);

/* Is one of two buffers, NULL or not, device memory? Local, and cheap. */
bool tw_comm_device_owns(const struct tw_comm *comm, const void *const *values);

/* A buffer of at least `bytes` bytes, contents undefined. */
tw_status_t tw_comm_device_get(struct tw_comm *comm, tw_device_memory_t kind, size_t bytes,
                               void **p);

/* Give it back; NULL is allowed. */
void tw_comm_device_put(struct tw_comm *comm, tw_device_memory_t kind, void *p);

tw_status_t tw_comm_device_event_get(struct tw_comm *comm, struct tw_device_event **event_p);
void        tw_comm_device_event_put(struct tw_comm *comm, struct tw_device_event *event);

typedef struct tw_device_event {
    void                   *event; /* the device's */
    struct tw_device_event *next;
} tw_device_event_t;

#endif /* TW_TRANSPORT_DEVICE_DEVICE_H */
