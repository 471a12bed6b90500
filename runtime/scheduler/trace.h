/* SPDX-License-Identifier: BSD-3-Clause
 * scheduler/trace.h - data of a trace, for recording and writing spans.
 */
#ifndef TW_SCHEDULER_TRACE_H
#define TW_SCHEDULER_TRACE_H

#include <thinwire/trace.h>

#define TW_SPAN_NAME 32 /* bytes, with the NUL */

/* Layout in memory and in messages to rank 0: all ranks have the same byte order. */
typedef struct tw_span {
    char     name[TW_SPAN_NAME];
    int64_t  number;     /* negative: none                                      */
    uint64_t begin, end; /* tw_clock_ns(); end 0: still open                    */
    int32_t  track;      /* tw_trace_track_t                                    */
    int32_t  mark;       /* an instant event                                    */
} tw_span_t;

struct tw_trace {
    size_t    capacity, count;
    uint64_t  dropped; /* because the trace was full              */
    tw_span_t span[];  /* in the order of recording               */
};

#endif /* TW_SCHEDULER_TRACE_H */
