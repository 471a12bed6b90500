/* SPDX-License-Identifier: BSD-3-Clause
 * scheduler/trace.h - what a trace holds; shared by those who note spans and those who write them.
 */
#ifndef TW_SCHEDULER_TRACE_H
#define TW_SCHEDULER_TRACE_H

#include <thinwire/trace.h>

#define TW_SPAN_NAME 32 /* bytes, with the NUL */

/* As it is in memory, and as it travels to rank 0: ranks have a byte order in common. */
typedef struct tw_span {
    char     name[TW_SPAN_NAME];
    int64_t  number;     /* negative: none                                      */
    uint64_t begin, end; /* tw_clock_ns(); end 0: it goes on                    */
    int32_t  track;      /* tw_trace_track_t                                    */
    int32_t  mark;       /* a moment                                            */
} tw_span_t;

struct tw_trace {
    size_t    capacity, count;
    uint64_t  dropped; /* for want of room                        */
    tw_span_t span[];  /* in the order in which they were noted   */
};

#endif /* TW_SCHEDULER_TRACE_H */
