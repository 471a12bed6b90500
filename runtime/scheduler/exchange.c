/* SPDX-License-Identifier: BSD-3-Clause
 * scheduler/exchange.c - see exchange.h. Equality is seen from the minimum over the ranks of each
 * checksum and of its complement.
 */
#include "config.h"

#include <string.h>

#include "runtime/scheduler/exchange.h"
#include "runtime/transport/comm/sync.h"

/* ---- arguments ----------------------------------------------------------------------------- */

uint64_t tw_same_text(uint64_t hash, const char *text)
{
    return tw_fnv1a(hash, text, strlen(text) + 1);
}

tw_status_t tw_same_everywhere(const tw_side_stream_t *side, const char *what,
                               const tw_same_t *fields, size_t n)
{
    const bool      device = side->ops != NULL;
    const tw_same_t memory = {"kinds of memory", TW_HASH(TW_FNV_START, device)};
    uint64_t        mine[2 * TW_SAME_MAX], least[2 * TW_SAME_MAX];
    tw_status_t     status;

    for (size_t i = 0; i <= n; i++) {
        mine[2 * i]     = i < n ? fields[i].hash : memory.hash;
        mine[2 * i + 1] = ~mine[2 * i];
    }
    status = tw_sync_allreduce(side->comm, mine, least, (int)(2 * n + 2), sizeof(mine[0]),
                               MPI_UINT64_T, MPI_MIN, what);
    for (size_t i = 0; i <= n && status == TW_OK; i++) {
        if (least[2 * i] != ~least[2 * i + 1]) {
            if (side->comm->rank == 0) {
                TW_ERROR(&side->comm->log,
                         "%s: %s differ between the ranks; they must be equal on all", what,
                         i < n ? fields[i].name : memory.name);
            }
            status = TW_ERR_MISMATCH;
        }
    }
    return status;
}

static const char *tw_item_name(const void *items, size_t stride, size_t i)
{
    return *(const char *const *)(const void *)((const char *)items + i * stride);
}

tw_status_t tw_item_check(const tw_comm_t *comm, const char *who, const char *what,
                          const void *items, size_t stride, size_t i)
{
    const char *name = tw_item_name(items, stride, i);

    if (name == NULL || name[0] == '\0' || strlen(name) >= TW_ITEM_NAME) {
        TW_ERROR(&comm->log, "%s: %s %zu ('%.80s') has a name that is not 1 to %d bytes long", who,
                 what, i, name != NULL ? name : "", TW_ITEM_NAME - 1);
        return TW_ERR_INVALID_ARG;
    }
    for (size_t k = 0; k < i; k++) {
        if (strcmp(tw_item_name(items, stride, k), name) == 0) {
            TW_ERROR(&comm->log, "%s: %ss %zu and %zu are both called '%s'", who, what, k, i, name);
            return TW_ERR_INVALID_ARG;
        }
    }
    return TW_OK;
}

/* ---- operations ---------------------------------------------------------------------------- */

tw_status_t tw_flight_call(const tw_side_stream_t *side, tw_collective_call_t *call, tw_form_t form,
                           tw_flight_t *flight)
{
    const tw_status_t status = form == TW_PLAN ? TW_OK : tw_side_mark(side, flight->event);

    call->after = flight->event;
    return status == TW_OK ? tw_collective(call, form, &flight->request) : status;
}

tw_status_t tw_flight_once(const tw_side_stream_t *side, tw_collective_call_t *call,
                           tw_device_event_t *event)
{
    tw_flight_t flight = {.event = event};
    tw_status_t status =
        tw_flight_call(side, call, event != NULL ? TW_NONBLOCKING : TW_BLOCKING, &flight);

    return status == TW_OK ? tw_wait(&flight.request) : status;
}

tw_status_t tw_flight_start(tw_flight_t *flight, tw_trace_t *trace, const char *name, size_t n)
{
    flight->span = tw_trace_begin(trace, TW_TRACE_NETWORK, name, (int64_t)n);
    return tw_start(flight->request);
}

bool tw_flight_ended(tw_flight_t *flight, tw_trace_t *trace)
{
    const bool ended = flight->request == NULL || !flight->request->running;

    if (ended) {
        tw_trace_end(trace, flight->span);
        flight->span = -1;
    }
    return ended;
}

tw_status_t tw_flight_wait(tw_flight_t *flight, tw_trace_t *trace, const char *name, size_t n,
                           int milliseconds, int *done_p)
{
    const int64_t     span   = tw_trace_begin(trace, TW_TRACE_COMPUTE, name, (int64_t)n);
    int               done   = 1;
    const tw_status_t status = milliseconds < 0
                                   ? tw_wait(&flight->request)
                                   : tw_wait_for(&flight->request, milliseconds, &done);

    if (done) {
        tw_trace_end(trace, flight->span);
        flight->span = -1;
    }
    tw_trace_end(trace, span);
    if (done_p != NULL) {
        *done_p = done;
    }
    return status;
}
