/* SPDX-License-Identifier: BSD-3-Clause
 * transport/device/device.h - device state of a communicator: whether its MPI accepts device
 * memory, streams for copies, memory pools, events.
 *
 * It is created at the first call with device buffers, for the device that is current then.
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

/* Buffers of one kind of memory. Their metadata is in separate host memory, since the host may not
 * access the buffers. */
typedef struct tw_device_pool {
    struct tw_device_buf *bufs;  /* all of them, idle or in use           */
    uint64_t              bytes; /* held now                              */
    uint64_t              limit; /* most bytes; no limit at first         */
} tw_device_pool_t;

typedef struct tw_comm_device {
    const tw_device_ops_t *ops;
    int   aware; /* does the endpoint accept device memory? 1, 0; -1: unknown       */
    bool  open;
    bool  direct;   /* pass device memory to MPI; else copy through pinned memory   */
    int   number;   /* of the device */
    void *out, *in; /* streams of copies from and to the device */
    /* Stream for device memory that calls do not declare; NULL: the default stream. */
    void                   *stream;
    tw_device_pool_t        pool[2]; /* by tw_device_memory_t */
    struct tw_device_event *events;  /* idle ones */
    tw_device_slots_t       slots;   /* shared by the node's ranks; created on first use     */
} tw_comm_device_t;

#define TW_DEVICE_NOT_ASKED (-2) /* aware */

/* Must precede all other functions. */
void tw_comm_device_init(struct tw_comm *comm);

/* Ensure that the current device is that of earlier calls, and that streams exist.
 * TW_ERR_UNSUPPORTED, TW_ERR_INVALID_ARG (another device is current), TW_ERR_NO_MEMORY, TW_ERR_IO:
 * logged in one line. */
tw_status_t tw_comm_device_open(struct tw_comm *comm);

/* Release all resources; none may be in use. */
void tw_comm_device_close(struct tw_comm *comm);

/* Make the communicator's device, if any, current in this thread; leave() restores the program's
 * device. All device calls need this, except in calls with buffers, where the device is current by
 * contract. The caller reports a failure (tw_comm_device_failed()); *before_p is always set. */
tw_status_t tw_comm_device_enter(struct tw_comm *comm, int *before_p);
void        tw_comm_device_leave(struct tw_comm *comm, int before);

/* If status is a failure of the device, log it and kill the communicator. Returns the status. */
tw_status_t tw_comm_device_failed(struct tw_comm *comm, tw_status_t status, const char *what);

/* Is one of two buffers (which may be NULL) device memory? Local and fast. */
bool tw_comm_device_owns(const struct tw_comm *comm, const void *const *values);

/* A buffer of at least `bytes` bytes, contents undefined. */
tw_status_t tw_comm_device_get(struct tw_comm *comm, tw_device_memory_t kind, size_t bytes,
                               void **p);

/* Return a buffer to the pool; NULL is allowed. */
void tw_comm_device_put(struct tw_comm *comm, tw_device_memory_t kind, void *p);

tw_status_t tw_comm_device_event_get(struct tw_comm *comm, struct tw_device_event **event_p);
void        tw_comm_device_event_put(struct tw_comm *comm, struct tw_device_event *event);

typedef struct tw_device_event {
    void                   *event; /* the device's */
    struct tw_device_event *next;
} tw_device_event_t;

#endif /* TW_TRANSPORT_DEVICE_DEVICE_H */
