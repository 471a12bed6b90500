/* SPDX-License-Identifier: BSD-3-Clause
 * scheduler/exchange.c - see exchange.h. Equality is seen from the minimum over the ranks of each
 * checksum and of its complement.
 */
#include "config.h"

#include <assert.h>
#include <string.h>

#include "runtime/scheduler/exchange.h"

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

    assert(n < TW_SAME_MAX);
    for (size_t i = 0; i <= n; i++) {
        mine[2 * i]     = i < n ? fields[i].hash : memory.hash;
        mine[2 * i + 1] = ~mine[2 * i];
    }
    status = tw_sync_allreduce(side->comm, mine, least, (int)(2 * n + 2), sizeof(mine[0]),
                               MPI_UINT64_T, MPI_MIN, what);
    for (size_t i = 0; i <= n && status == TW_OK; i++) {
        if (least[2 * i] != ~least[2 * i + 1]) {
            if (tw_comm_rank(side->comm) == 0) {
                TW_ERROR(tw_comm_log(side->comm),
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
        TW_ERROR(tw_comm_log(comm),
                 "%s: %s %zu ('%.80s') has a name that is not 1 to %d bytes long", who, what, i,
                 name != NULL ? name : "", TW_ITEM_NAME - 1);
        return TW_ERR_INVALID_ARG;
    }
    for (size_t k = 0; k < i; k++) {
        if (strcmp(tw_item_name(items, stride, k), name) == 0) {
            TW_ERROR(tw_comm_log(comm), "%s: %ss %zu and %zu are both called '%s'", who, what, k, i,
                     name);
            return TW_ERR_INVALID_ARG;
        }
    }
    return TW_OK;
}

/* ---- operations ---------------------------------------------------------------------------- */

tw_status_t tw_flight_start(tw_flight_t *flight, tw_trace_t *trace, const char *name, size_t n)
{
    flight->span = tw_trace_begin(trace, TW_TRACE_NETWORK, name, (int64_t)n);
    return tw_start(flight->request);
}

bool tw_flight_ended(tw_flight_t *flight, tw_trace_t *trace)
{
    const bool ended = tw_flight_idle(flight);

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
