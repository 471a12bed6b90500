/* SPDX-License-Identifier: BSD-3-Clause
 * transport/engine/staging.h - operations whose elements are device memory.
 *
 * Codes are encoded and decoded in device memory, on the caller's stream. They reach MPI
 *
 *     staged:  through pinned memory, which mirrors the lane's slots. Codes to send are copied out
 *              on a stream of the communicator as soon as they are encoded, while the next fragment
 *              is encoded. Received codes are copied in on another stream, and decoded after that.
 *     direct:  by device address, without a copy.
 *
 * Nothing blocks. A step of an algorithm enqueues work on streams and posts messages; a message
 * with codes that the device has yet to encode is held. The engine polls an event recorded after
 * the step's work: when the event is complete, the held messages are posted, and only then are the
 * lane's messages tested. Received codes that are forwarded unchanged do not need the device and
 * are sent at once. The order on the caller's stream is that of the host path, so results are
 * bitwise equal.
 */
#ifndef TW_TRANSPORT_ENGINE_STAGING_H
#define TW_TRANSPORT_ENGINE_STAGING_H

#include "runtime/transport/engine/request.h"

/* Codes of a lane that are ready for messages, in the mirror or in device memory. */
typedef struct tw_range {
    size_t first, bytes; /* offset from lane->codes                        */
    int    stage;        /* received: the stage that completes it          */
    bool   received;     /* from another rank; else copied out for sending */
    bool   uploaded;     /* received, and its copy to the device enqueued  */
} tw_range_t;

typedef struct tw_held {
    int         stage, tag_stage, peer;
    const void *bytes;
    size_t      size;
} tw_held_t;

typedef struct tw_lane_device {
    uint8_t           *mirror;   /* of lane->codes, in pinned memory; NULL: direct   */
    tw_device_event_t *order;    /* orders work between streams                     */
    tw_device_event_t *done;     /* recorded after the work of the last step        */
    bool               pending;  /* `done` is not known to be complete              */
    bool               copied;   /* this step copies out                            */
    unsigned           phase;    /* phase to raise after `done`; 0: none            */
    bool               complete; /* complete the ticket after `done`               */
    tw_range_t        *ranges;
    tw_held_t         *held;
    int                range_count, held_count, capacity;
} tw_lane_device_t;

typedef struct tw_op_device {
    bool             worked; /* this step has enqueued work on the caller's stream    */
    void            *memory, *pinned;
    int              lanes;
    tw_lane_device_t lane[TW_WINDOW_MAX];
} tw_op_device_t;

/* Allocate device buffers and events for `lanes` lanes: `codes` bytes of slots and `sum` bytes
 * each; `messages`: the most messages of a lane. Sets op->device. Local: TW_OK, TW_ERR_NO_MEMORY,
 * or the device's error (logged). */
tw_status_t tw_staging_create(tw_request_t *op, int lanes, size_t codes, size_t sum, int messages);

/* Assign the buffers and events to the lanes of op. */
void tw_staging_carve(tw_request_t *op, size_t codes, size_t sum);

/* Release buffers and events; NULL in op->device is allowed. */
void tw_staging_release(tw_request_t *op);

/* Send: the address of the codes if the message may be posted now; NULL if it is held, or on
 * failure. */
const void *tw_staging_send(tw_request_t *op, tw_lane_t *lane, const tw_held_t *message,
                            tw_status_t *status_p);

/* Receive: the address at which MPI receives the message. */
void *tw_staging_recv(tw_lane_t *lane, int stage, void *bytes, size_t size);

/* Codes are about to be written here: invalidate overlapping ranges. */
void tw_staging_written(tw_request_t *op, const void *codes, size_t size);

/* The messages of lane->stage are complete: copy the received codes to the device. */
tw_status_t tw_staging_arrived(tw_request_t *op, tw_lane_t *lane);

/* round: a round begins. begin: a step begins, before tw_staging_arrived(). end: the step ends. */
void        tw_staging_round(tw_lane_t *lane);
void        tw_staging_begin(tw_request_t *op, tw_lane_t *lane);
tw_status_t tw_staging_end(tw_request_t *op, tw_lane_t *lane);

/* Has the last step pending work, or a flag or ticket to publish after it? */
static inline bool tw_staging_owes(const tw_lane_t *lane)
{
    return lane->device->pending || lane->device->phase > 0 || lane->device->complete;
}

/* Is the work of the last step complete? If so, post held messages and publish flag and ticket. */
bool tw_staging_ready(tw_request_t *op, tw_lane_t *lane, tw_status_t *status_p);

#endif /* TW_TRANSPORT_ENGINE_STAGING_H */
