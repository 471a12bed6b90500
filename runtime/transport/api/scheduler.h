/* SPDX-License-Identifier: BSD-3-Clause
 * transport/api/scheduler.h - what the scheduler uses of the transport beside the public calls.
 *
 * A side stream is the memory of a scheduler object: host memory, or device memory with two
 * streams.
 *
 *     caller's   computation; copies between the memory of the caller and of the object
 *     own        encoding and decoding of the exchanges
 *
 * An operation begins when an event recorded after the caller's work is complete (tw_side_mark(),
 * tw_flight_t.event); progress of the communicator polls the event. So no work on the own stream
 * waits for pending work of the caller, and no decoding is queued behind a later exchange. After an
 * operation is complete, its result is visible to work enqueued on any stream. Nothing blocks.
 */
#ifndef TW_TRANSPORT_API_SCHEDULER_H
#define TW_TRANSPORT_API_SCHEDULER_H

#include <stdbool.h>
#include <stddef.h>

#include <thinwire/collective.h>

#include "runtime/base/log.h"
#include "runtime/codec/device.h"
#include "runtime/transport/coll/call.h"
#include "runtime/transport/comm/agree.h"
#include "runtime/transport/comm/sync.h"
#include "runtime/transport/shm/layout.h"

/* ---- communicators --------------------------------------------------------------------------- */

const tw_log_t   *tw_comm_log(const tw_comm_t *comm);
tw_context_t     *tw_comm_context(const tw_comm_t *comm);
const tw_codec_t *tw_comm_fp32(const tw_comm_t *comm);

/* Groups of `group` ranks that are near each other: position[r] is the index of rank r in the
 * concatenation of the groups; equal on all ranks. Without places position[r] = r. @return TW_OK,
 * TW_ERR_NO_MEMORY. Local. */
tw_status_t tw_comm_groups(const tw_comm_t *comm, int group, int *position);

/* Which ranks share a node; equal on all ranks. */
const tw_nodes_t *tw_comm_layout(const tw_comm_t *comm);

/* Of vectors of `bytes` that no reduction adds: is it quicker that they are merged in each node,
 * each rank gets a share of all nodes' and sends its result to all, than that all send all to all?
 * Equal on all ranks. */
bool tw_comm_in_shares(const tw_comm_t *comm, size_t bytes);

/* Collective over world: a communicator of the ranks with the same color (MPI_UNDEFINED: none),
 * which are not bound to places again. It has no progress thread, and looks at world's events. */
tw_status_t tw_comm_split(tw_comm_t *world, int color, tw_comm_t **own_p);

/* If world is dead, so is own: its ranks may be gone, too. */
void tw_comm_follow(tw_comm_t *own, const tw_comm_t *world);

/* Reserve again what the ranks have agreed to have. Local. TW_OK, TW_ERR_NO_MEMORY. */
tw_status_t tw_comm_restock(tw_comm_t *comm);

/* ---- memory and streams ---------------------------------------------------------------------- */

#define TW_SIDE_BUFFERS 4

/* Memory of the kind of the caller's data; pinned memory, which a side of host memory has not;
 * memory of the host. */
typedef enum tw_side_kind { TW_SIDE_DATA, TW_SIDE_PINNED, TW_SIDE_HOST } tw_side_kind_t;

typedef struct tw_side_stream {
    tw_comm_t              *comm;
    const tw_device_ops_t  *ops; /* NULL: host memory, where copies are memcpy() */
    void                   *caller;
    void                   *own; /* NULL: none */
    tw_exec_t               exec;
    bool                    open, given; /* given: exec is the caller's, on the own stream */
    struct tw_device_event *events;
    void                   *buffer[TW_SIDE_BUFFERS];
    tw_side_kind_t          kind[TW_SIDE_BUFFERS];
    int                     buffers;
} tw_side_stream_t;

/* Open it for the memory in exec (NULL: host memory), on a device with an own stream unless `who`,
 * such as "tw_buckets_create", which begins the lines of the log, is NULL. Until it is closed, the
 * object counts as a plan of the communicator, which cannot be destroyed before it. Local: TW_OK,
 * TW_ERR_UNSUPPORTED, TW_ERR_INVALID_ARG, TW_ERR_NO_MEMORY, TW_ERR_IO; logged. */
tw_status_t tw_side_open(tw_side_stream_t *side, tw_comm_t *comm, const tw_exec_t *exec,
                         const char *who);

/* Wait for all work on both streams and release them, the events and, unless the communicator is
 * dead, the buffers. A side that was not opened, and a zeroed one, are allowed. */
void tw_side_close(tw_side_stream_t *side);

/* For tw_how_t: exec on the own stream; NULL: the caller gave none. */
static inline const tw_exec_t *tw_side_exec(const tw_side_stream_t *side)
{
    return side->given ? &side->exec : NULL;
}

/* Is p NULL or memory of the side's kind? */
bool tw_side_has(const tw_side_stream_t *side, const void *p);

/* The same: TW_OK, TW_ERR_INVALID_ARG (logged with `what` and `name`). */
tw_status_t tw_side_check(const tw_side_stream_t *side, const void *p, const char *who,
                          const char *what, const char *name);

/* A buffer, of at most TW_SIDE_BUFFERS, or an event for one operation at a time; NULL where the
 * side has no such memory, and if *status_p is or becomes a failure: TW_ERR_NO_MEMORY.
 * tw_side_close() releases them. */
void *tw_side_get(tw_side_stream_t *side, tw_side_kind_t kind, size_t bytes, tw_status_t *status_p);
struct tw_device_event *tw_side_event(tw_side_stream_t *side, tw_status_t *status_p);

/* Collective: a buffer of the host on every rank, or on none, as tw_comm_agreed_get_if(). */
tw_status_t tw_side_agreed_get(tw_side_stream_t *side, tw_status_t mine, size_t bytes, void **p);

/* Record the event after all work on the caller's stream. NULL is allowed. A failure of the device,
 * here and below, kills the communicator. */
tw_status_t tw_side_mark(const tw_side_stream_t *side, struct tw_device_event *event);

/* Copy, and set to zero, on the caller's stream. dst and src do not overlap. */
tw_status_t tw_side_copy(const tw_side_stream_t *side, void *dst, const void *src, size_t bytes);
tw_status_t tw_side_zero(const tw_side_stream_t *side, void *dst, size_t bytes);

/* On a device, on the caller's stream: the kernels of tw_device_ops_t with these names. */
tw_status_t tw_side_square_sum(const tw_side_stream_t *side, const float *values, size_t n,
                               double *work, double *sum);
tw_status_t tw_side_moments_empty(const tw_side_stream_t *side, double *moments, size_t n);

/* ---- operations ------------------------------------------------------------------------------ */

/* A plan, or an operation that may be in flight. */
typedef struct tw_flight {
    tw_request_t           *request; /* or NULL                                                  */
    struct tw_device_event *event;   /* after the work that computes its data; NULL: host memory */
    int64_t                 span;    /* in the scheduler's trace; -1: none                       */
    size_t                  room;    /* bytes of the largest buffer of its plans                 */
} tw_flight_t;

/* Create a plan behind the event, in a buffer as large as that of any plan before; or start an
 * operation; or execute the call. */
tw_status_t tw_flight_plan(tw_collective_call_t *call, tw_flight_t *flight);
tw_status_t tw_flight_post(const tw_side_stream_t *side, tw_collective_call_t *call,
                           tw_flight_t *flight);
tw_status_t tw_flight_once(const tw_side_stream_t *side, tw_collective_call_t *call,
                           struct tw_device_event *event);

/* By which algorithm sums of any length are added in one order: hierarchical in host memory, where
 * several nodes have several ranks, unless a setting names another; else TW_ALGORITHM_AUTO. Equal
 * on all ranks; collective the first time. */
tw_algorithm_t tw_flight_sums_by(tw_comm_t *comm, const tw_how_t *how);

/* Have a call take the algorithm of nodes if it serves, where several nodes are, one of several
 * ranks, and no setting names another. */
void tw_flight_by_nodes(tw_collective_call_t *call);

/* Have a plan begin behind the event. */
void tw_flight_behind(tw_flight_t *flight);

/* Is there no operation that runs? Advances nothing. */
bool tw_flight_idle(const tw_flight_t *flight);

/* Of the request; NULL: there is none. */
const tw_codec_t *tw_flight_codec(const tw_flight_t *flight);

#endif /* TW_TRANSPORT_API_SCHEDULER_H */
