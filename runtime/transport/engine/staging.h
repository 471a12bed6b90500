/* SPDX-License-Identifier: BSD-3-Clause
 * transport/engine/staging.h - operations whose elements are device memory.
 *
 * Codes are made, and decoded, in device memory, by work on the caller's stream. Between there and
 * MPI they go
 *
 *     staged:  through pinned memory, which mirrors the lane's slots. What is to be sent is copied
 *              out on a stream of the communicator's as soon as it is encoded, while the next
 *              fragment is encoded; what has arrived is copied in on another, and decoding follows
 *              it.
 *     direct:  not at all: MPI takes the device's addresses.
 *
 * Nothing waits. A step of an algorithm puts work on streams and asks for messages; those that
 * carry what the device has yet to do are held. An event behind the step's work is polled with
 * everything else: when it is done the held messages are posted, and only then are the lane's
 * messages looked at. What arrived and is handed on as it is needs no device, and leaves at once.
 * Order on the caller's stream is that of the host path, so results are the same bits.
 */
#ifndef TW_TRANSPORT_ENGINE_STAGING_H
#define TW_TRANSPORT_ENGINE_STAGING_H

#include "runtime/transport/engine/request.h"

/* Codes of a lane that messages may carry as they stand, in the mirror or in device memory. */
typedef struct tw_range {
    size_t first, bytes; /* from lane->codes                               */
    int    stage;        /* received: that completes it                    */
    bool   received;     /* from another rank; else copied out for sending */
    bool   uploaded;     /* received, and on its way into the device       */
} tw_range_t;

typedef struct tw_held {
    int         stage, tag_stage, peer;
    const void *bytes;
    size_t      size;
} tw_held_t;

typedef struct tw_lane_device {
    uint8_t           *mirror;   /* of lane->codes, in pinned memory; NULL: direct   */
    tw_device_event_t *order;    /* between streams                                 */
    tw_device_event_t *done;     /* behind the work of the last step                */
    bool               pending;  /* `done` has not been seen to be done             */
    bool               copied;   /* this step copies out                            */
    unsigned           phase;    /* to be raised when `done` is; 0: none            */
    bool               complete; /* and the ticket completed                       */
    tw_range_t        *ranges;
    tw_held_t         *held;
    int                range_count, held_count, capacity;
} tw_lane_device_t;

typedef struct tw_op_device {
    bool             worked; /* something was put on the caller's stream in this step */
    void            *memory, *pinned;
    int              lanes;
    tw_lane_device_t lane[TW_WINDOW_MAX];
} tw_op_device_t;

/* Buffers and events for `lanes` lanes: codes bytes of slots and sum bytes each, on the device;
 * messages: the most that a lane asks for. Sets op->device. Local: TW_OK, TW_ERR_NO_MEMORY, or what
 * the device says (logged). */
tw_status_t tw_staging_create(tw_request_t *op, int lanes, size_t codes, size_t sum, int messages);

/* Let the lanes of op use them. */
void tw_staging_carve(tw_request_t *op, size_t codes, size_t sum);

/* Give them back; NULL in op->device is allowed. */
void tw_staging_release(tw_request_t *op);

/* A message to be sent: where it lies if it may be posted now; NULL if it is held, or on failure.
 */
const void *tw_staging_send(tw_request_t *op, tw_lane_t *lane, const tw_held_t *message,
                            tw_status_t *status_p);

/* A message to be received: where MPI is to put it. */
void *tw_staging_recv(tw_lane_t *lane, int stage, void *bytes, size_t size);

/* Codes are about to be written here: what was copied out from there no longer holds. */
void tw_staging_written(tw_request_t *op, const void *codes, size_t size);

/* The messages of lane->stage have completed: what they brought goes to the device. */
tw_status_t tw_staging_arrived(tw_request_t *op, tw_lane_t *lane);

/* A round begins; a step, and what arrived for it, begins; it ends. */
void        tw_staging_round(tw_lane_t *lane);
void        tw_staging_begin(tw_request_t *op, tw_lane_t *lane);
tw_status_t tw_staging_end(tw_request_t *op, tw_lane_t *lane);

/* Is there work of the last step, or something to be said when it is done? */
static inline bool tw_staging_owes(const tw_lane_t *lane)
{
    return lane->device->pending || lane->device->phase > 0 || lane->device->complete;
}

/* Is the work of the last step done? Posts what was held for it, and says what is there. */
bool tw_staging_ready(tw_request_t *op, tw_lane_t *lane, tw_status_t *status_p);

#endif /* TW_TRANSPORT_ENGINE_STAGING_H */
