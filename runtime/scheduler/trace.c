/* SPDX-License-Identifier: BSD-3-Clause
 * scheduler/trace.c - recording spans in preallocated memory.
 */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "runtime/base/bytes.h"
#include "runtime/base/clock.h"
#include "runtime/scheduler/trace.h"

#define TW_TRACE_CAPACITY 65536

tw_status_t tw_trace_create(size_t capacity, tw_trace_t **trace_p)
{
    tw_trace_t *trace;
    size_t      bytes;

    if (trace_p == NULL) {
        return TW_ERR_INVALID_ARG;
    }
    capacity = capacity > 0 ? capacity : TW_TRACE_CAPACITY;
    if (!tw_size_mul(capacity, sizeof(tw_span_t), &bytes) ||
        !tw_size_add(bytes, sizeof(*trace), &bytes)) {
        return TW_ERR_RANGE;
    }
    trace = malloc(bytes);
    if (trace == NULL) {
        return TW_ERR_NO_MEMORY;
    }
    trace->capacity = capacity;
    tw_trace_clear(trace);
    *trace_p = trace;
    return TW_OK;
}

void tw_trace_destroy(tw_trace_t *trace)
{
    free(trace);
}

void tw_trace_clear(tw_trace_t *trace)
{
    if (trace != NULL) {
        trace->count   = 0;
        trace->dropped = 0;
    }
}

int64_t tw_trace_begin(tw_trace_t *trace, tw_trace_track_t track, const char *name, int64_t number)
{
    tw_span_t *span;

    if (trace == NULL) {
        return -1;
    }
    if (trace->count == trace->capacity) {
        trace->dropped++;
        return -1;
    }
    span = &trace->span[trace->count];
    memset(span, 0, sizeof(*span));
    strncpy(span->name, name != NULL ? name : "", TW_SPAN_NAME - 1);
    span->number = number;
    span->track  = (int32_t)track;
    span->begin  = tw_clock_ns();
    return (int64_t)trace->count++;
}

void tw_trace_end(tw_trace_t *trace, int64_t span)
{
    if (trace != NULL && span >= 0 && (size_t)span < trace->count && trace->span[span].end == 0) {
        trace->span[span].end = tw_clock_ns();
    }
}

void tw_trace_add(tw_trace_t *trace, tw_trace_track_t track, const char *name, int64_t number,
                  uint64_t begin, uint64_t end)
{
    const int64_t span = tw_trace_begin(trace, track, name, number);

    if (span >= 0) {
        trace->span[span].begin = begin;
        trace->span[span].end   = end;
    }
}

void tw_trace_mark(tw_trace_t *trace, tw_trace_track_t track, const char *name, int64_t number)
{
    const int64_t span = tw_trace_begin(trace, track, name, number);

    if (span >= 0) {
        trace->span[span].end  = trace->span[span].begin;
        trace->span[span].mark = 1;
    }
}
