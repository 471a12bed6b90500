/* SPDX-License-Identifier: BSD-3-Clause
 * transport/api/scheduler.c - see scheduler.h. The progress thread uses the device, too, so calls
 * for side streams hold the communicator's lock.
 */
#include "config.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/topology/near.h"
#include "runtime/transport/api/collective.h"
#include "runtime/transport/api/open.h"
#include "runtime/transport/api/scheduler.h"
#include "runtime/transport/auto/auto.h"
#include "runtime/transport/bind/place.h"
#include "runtime/transport/comm/progress_thread.h"

/* ---- communicators ------------------------------------------------------------------------- */

const tw_log_t *tw_comm_log(const tw_comm_t *comm)
{
    return &comm->log;
}

tw_context_t *tw_comm_context(const tw_comm_t *comm)
{
    return comm->ctx;
}

const tw_codec_t *tw_comm_fp32(const tw_comm_t *comm)
{
    return comm->fp32;
}

const tw_nodes_t *tw_comm_layout(const tw_comm_t *comm)
{
    return comm->nodes;
}

bool tw_comm_in_shares(const tw_comm_t *comm, size_t bytes)
{
    return tw_policy_in_shares(comm->policy.message_cost, bytes, comm->nodes->count,
                               comm->nodes->most);
}

tw_status_t tw_comm_groups(const tw_comm_t *comm, int group, int *position)
{
    int        *order;
    tw_status_t status;

    for (int r = 0; r < comm->size; r++) {
        position[r] = r;
    }
    if (comm->seat == NULL) {
        return TW_OK;
    }
    order = malloc((size_t)comm->size * sizeof(*order));
    if (order == NULL) {
        return TW_ERR_NO_MEMORY;
    }
    status = tw_near_groups(comm->seat->levels, comm->size, group, order);
    for (int i = 0; i < comm->size && status == TW_OK; i++) {
        position[order[i]] = i;
    }
    free(order);
    return status;
}

tw_status_t tw_comm_split(tw_comm_t *world, int color, tw_comm_t **own_p)
{
    MPI_Comm    group = MPI_COMM_NULL;
    tw_status_t status;

    status = tw_comm_mpi(world, MPI_Comm_split(world->comm, color, world->rank, &group),
                         "MPI_Comm_split");
    if (status == TW_OK && group != MPI_COMM_NULL) {
        status = tw_comm_create_with(world->ctx, world->mpi, group, own_p);
        MPI_Comm_free(&group);
        if (status == TW_OK) {
            (*own_p)->device->ops    = world->device->ops;
            (*own_p)->device->number = world->device->number;
        }
    }
    return status;
}

void tw_comm_follow(tw_comm_t *own, const tw_comm_t *world)
{
    if (tw_comm_status(world) != TW_OK) {
        own->status = TW_ERR_DEAD;
    }
}

tw_status_t tw_comm_restock(tw_comm_t *comm)
{
    tw_status_t status;

    tw_comm_enter(comm);
    status = tw_pool_reserve(&comm->pool, comm->reserved);
    tw_comm_leave(comm);
    return status;
}

/* ---- memory and streams -------------------------------------------------------------------- */

tw_status_t tw_side_open(tw_side_stream_t *side, tw_comm_t *comm, const tw_exec_t *exec,
                         const char *who)
{
    tw_status_t status = TW_OK;

    *side = (tw_side_stream_t){.comm = comm, .open = true, .given = exec != NULL};
    if (exec != NULL) {
        side->exec = *exec;
    }
    tw_comm_enter(comm);
    comm->requests++;
    if (exec != NULL && exec->memory == TW_MEMORY_CUDA) {
        status = tw_comm_device_open(comm);
        if (status == TW_OK) {
            side->ops    = comm->device->ops;
            side->caller = exec->stream;
        }
        if (status == TW_OK && who != NULL) {
            status = side->ops->stream_create(&side->own);
            if (status != TW_OK) {
                TW_ERROR(&comm->log, "%s: device %d gives no stream", who, comm->device->number);
                side->own = NULL;
            }
        }
        side->exec.stream = side->own;
    }
    tw_comm_leave(comm);
    return status;
}

/* The device's pool of a kind of memory; -1: the communicator's. */
static int tw_side_pool(const tw_side_stream_t *side, tw_side_kind_t kind)
{
    return side->ops == NULL || kind == TW_SIDE_HOST ? -1
           : kind == TW_SIDE_PINNED                  ? (int)TW_DEVICE_PINNED
                                                     : (int)TW_DEVICE_MEMORY;
}

static void tw_side_put(tw_side_stream_t *side)
{
    while (side->buffers > 0) {
        void *const buffer = side->buffer[--side->buffers];
        const int   pool   = tw_side_pool(side, side->kind[side->buffers]);

        if (pool < 0) {
            tw_pool_put(&side->comm->pool, buffer);
        } else {
            tw_comm_device_put(side->comm, (tw_device_memory_t)pool, buffer);
        }
    }
}

void tw_side_close(tw_side_stream_t *side)
{
    tw_comm_t *comm = side->comm;

    if (!side->open) {
        return;
    }
    tw_comm_enter(comm);
    if (side->own != NULL) {
        side->ops->finish(side->own);
    }
    if (side->ops != NULL) {
        side->ops->finish(side->caller);
    }
    while (side->events != NULL) {
        tw_device_event_t *event = side->events;

        side->events = event->next;
        tw_comm_device_event_put(comm, event);
    }
    if (comm->status == TW_OK) { /* else MPI may still write into them */
        tw_side_put(side);
    }
    if (side->own != NULL) {
        side->ops->stream_destroy(side->own);
    }
    side->open = false;
    comm->requests--;
    tw_comm_leave(comm);
}

bool tw_side_has(const tw_side_stream_t *side, const void *p)
{
    const tw_device_ops_t *ops = side->comm->device->ops;

    return p == NULL || (side->ops != NULL ? ops->check(p) == TW_OK : !ops->owns(p, NULL));
}

tw_status_t tw_side_check(const tw_side_stream_t *side, const void *p, const char *who,
                          const char *what, const char *name)
{
    const bool well = tw_side_has(side, p);

    if (!well) {
        TW_ERROR(&side->comm->log, "%s: %s '%.80s' is %s", who, what, name,
                 side->ops != NULL ? "not memory of the device, as exec says"
                                   : "device memory; exec must say TW_MEMORY_CUDA");
    }
    return well ? TW_OK : TW_ERR_INVALID_ARG;
}

static void tw_side_keep(tw_side_stream_t *side, tw_side_kind_t kind, void *buffer)
{
    assert(side->buffers < TW_SIDE_BUFFERS);
    side->kind[side->buffers]     = kind;
    side->buffer[side->buffers++] = buffer;
}

void *tw_side_get(tw_side_stream_t *side, tw_side_kind_t kind, size_t bytes, tw_status_t *status_p)
{
    const int pool   = tw_side_pool(side, kind);
    void     *buffer = NULL;

    if (*status_p != TW_OK || (pool < 0 && kind == TW_SIDE_PINNED)) {
        return NULL;
    }
    tw_comm_enter(side->comm);
    *status_p = pool < 0 ? tw_pool_get(&side->comm->pool, bytes, &buffer)
                         : tw_comm_device_get(side->comm, (tw_device_memory_t)pool, bytes, &buffer);
    tw_comm_leave(side->comm);
    if (*status_p != TW_OK) {
        return NULL;
    }
    tw_side_keep(side, kind, buffer);
    return buffer;
}

tw_device_event_t *tw_side_event(tw_side_stream_t *side, tw_status_t *status_p)
{
    tw_device_event_t *event = NULL;

    if (*status_p == TW_OK && side->ops != NULL) {
        tw_comm_enter(side->comm);
        *status_p = tw_comm_device_event_get(side->comm, &event);
        tw_comm_leave(side->comm);
    }
    if (event != NULL) {
        event->next  = side->events;
        side->events = event;
    }
    return event;
}

tw_status_t tw_side_agreed_get(tw_side_stream_t *side, tw_status_t mine, size_t bytes, void **p)
{
    mine = tw_comm_agreed_get_if(side->comm, mine, bytes, p);
    if (mine == TW_OK) {
        tw_side_keep(side, TW_SIDE_HOST, *p);
    }
    return mine;
}

/* Work on a stream was enqueued, with the lock held. */
static tw_status_t tw_side_enqueued(const tw_side_stream_t *side, tw_status_t status,
                                    const char *what)
{
    status = tw_comm_device_failed(side->comm, status, what);
    tw_comm_leave(side->comm);
    return status;
}

tw_status_t tw_side_mark(const tw_side_stream_t *side, tw_device_event_t *event)
{
    if (event == NULL) {
        return TW_OK;
    }
    tw_comm_enter(side->comm);
    return tw_side_enqueued(side, side->ops->record(event->event, side->caller), "an event");
}

tw_status_t tw_side_copy(const tw_side_stream_t *side, void *dst, const void *src, size_t bytes)
{
    if (bytes > 0 && side->ops == NULL) {
        memcpy(dst, src, bytes);
    }
    if (bytes == 0 || side->ops == NULL) {
        return TW_OK;
    }
    tw_comm_enter(side->comm);
    return tw_side_enqueued(side, side->ops->copy(dst, src, bytes, side->caller), "a copy");
}

tw_status_t tw_side_zero(const tw_side_stream_t *side, void *dst, size_t bytes)
{
    if (bytes > 0 && side->ops == NULL) {
        memset(dst, 0, bytes);
    }
    if (bytes == 0 || side->ops == NULL) {
        return TW_OK;
    }
    tw_comm_enter(side->comm);
    return tw_side_enqueued(side, side->ops->zero(dst, bytes, side->caller), "setting it to zero");
}

tw_status_t tw_side_square_sum(const tw_side_stream_t *side, const float *values, size_t n,
                               double *work, double *sum)
{
    tw_comm_enter(side->comm);
    return tw_side_enqueued(side, side->ops->square_sum(values, n, work, sum, side->caller),
                            "a norm");
}

tw_status_t tw_side_moments_empty(const tw_side_stream_t *side, double *moments, size_t n)
{
    tw_comm_enter(side->comm);
    return tw_side_enqueued(side, side->ops->moments_empty(moments, n, side->caller), "a kernel");
}

/* ---- operations ---------------------------------------------------------------------------- */

tw_status_t tw_flight_plan(tw_collective_call_t *call, tw_flight_t *flight)
{
    tw_status_t status;

    call->after = flight->event;
    call->room  = flight->room;
    status      = tw_collective(call, TW_PLAN, &flight->request);
    if (status == TW_OK && flight->request->room > flight->room) {
        flight->room = flight->request->room;
    }
    return status;
}

tw_status_t tw_flight_post(const tw_side_stream_t *side, tw_collective_call_t *call,
                           tw_flight_t *flight)
{
    const tw_status_t status = tw_side_mark(side, flight->event);

    call->after = flight->event;
    return status == TW_OK ? tw_collective(call, TW_NONBLOCKING, &flight->request) : status;
}

tw_status_t tw_flight_once(const tw_side_stream_t *side, tw_collective_call_t *call,
                           tw_device_event_t *event)
{
    tw_flight_t flight = {.event = event};
    tw_status_t status;

    if (event == NULL) {
        return tw_collective(call, TW_BLOCKING, NULL);
    }
    status = tw_flight_post(side, call, &flight);
    return status == TW_OK ? tw_wait(&flight.request) : status;
}

tw_algorithm_t tw_flight_sums_by(tw_comm_t *comm, const tw_how_t *how)
{
    const tw_algorithm_row_t  *row  = tw_collective_row(&tw_collective_allreduce, "hierarchical");
    const tw_collective_call_t call = {.comm = comm, .how = how, .codec = tw_how_codec(comm, how)};

    if (comm->nodes->count < 2 || comm->nodes->least < 2 || tw_auto_asked(how) ||
        tw_how_on_device(how) || tw_policy_named(&comm->policy, TW_OPERATION_ALLREDUCE) > 0) {
        return TW_ALGORITHM_AUTO;
    }
    return row->serves(&call) == TW_OK ? row->number : TW_ALGORITHM_AUTO;
}

void tw_flight_by_nodes(tw_collective_call_t *call)
{
    const tw_comm_t *comm = call->comm;

    if (comm->nodes->count > 1 && comm->nodes->most > 1 &&
        tw_policy_named(&comm->policy, call->collective->operation) == 0) {
        call->algorithm = tw_collective_row(call->collective, "hierarchical");
    }
}

void tw_flight_behind(tw_flight_t *flight)
{
    flight->request->after = flight->event;
}

bool tw_flight_idle(const tw_flight_t *flight)
{
    const tw_request_t *request = flight->request;
    bool                idle    = true;

    if (request != NULL) {
        tw_comm_enter(request->comm);
        idle = !request->running;
        tw_comm_leave(request->comm);
    }
    return idle;
}

const tw_codec_t *tw_flight_codec(const tw_flight_t *flight)
{
    return flight->request != NULL ? flight->request->codec : NULL;
}
