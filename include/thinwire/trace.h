/* SPDX-License-Identifier: BSD-3-Clause
 * thinwire/trace.h - what each rank computed and what travelled meanwhile, on one time axis.
 *
 * A trace is a list of spans in memory, made before the work and written after it as Chrome trace
 * JSON, which Perfetto and chrome://tracing show: a process per rank, and in it a thread per track.
 * Spans on TW_TRACE_COMPUTE nest as calls do; spans on other tracks may overlap in any way and are
 * laid out on as many threads as that takes.
 *
 * Memory is bounded: what does not fit is counted and said in the file. A span costs one look at
 * the clock at either end and makes no call to MPI. NULL may be passed wherever a trace may:
 * nothing is kept.
 *
 * Clocks: every rank notes its own monotonic clock. tw_trace_write() compares each with that of
 * rank 0 by a few messages there and back and takes the fastest: ranks are aligned to half of that
 * time at the moment of writing (some microseconds over Ethernet). How fast clocks run is not
 * corrected: two hosts may drift apart by some 10 us per second. Order within one rank is exact.
 */
#ifndef THINWIRE_TRACE_H
#define THINWIRE_TRACE_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <thinwire/comm.h>
#include <thinwire/declare.h>
#include <thinwire/status.h>

TW_BEGIN_DECLS

typedef struct tw_trace tw_trace_t;

typedef enum tw_trace_track {
    TW_TRACE_COMPUTE  = 0,
    TW_TRACE_NETWORK  = 1,
    TW_TRACE_READ     = 2, /* input, by threads of its own: read from files,  */
    TW_TRACE_PREPARE  = 3, /* operations on it,                               */
    TW_TRACE_TRANSFER = 4, /* and its way to the device                       */
    TW_TRACE_DEVICE   = 5  /* what a device did, by its own clock             */
} tw_trace_track_t;

/** Make a trace of one rank. Local. One thread at a time may use it.
 * @param [in]  capacity  spans it can hold, of 64 bytes each; 0: 65536.
 * @param [out] trace_p   set only on TW_OK; release with tw_trace_destroy().
 * @return TW_OK, TW_ERR_INVALID_ARG, TW_ERR_RANGE, TW_ERR_NO_MEMORY. */
tw_status_t tw_trace_create(size_t capacity, tw_trace_t **trace_p);

/** Release; local; NULL is allowed. Nothing that was given the trace may use it afterwards. */
void tw_trace_destroy(tw_trace_t *trace);

/** Forget all spans. Local. A span that was not ended may not be ended afterwards. */
void tw_trace_clear(tw_trace_t *trace);

/** Begin a span now.
 * @param [in] name    copied, cut to 31 bytes; what the viewer shows.
 * @param [in] number  shown beside it (a pass, a layer, a bucket); negative: none.
 * @return a name for tw_trace_end(); -1 if there is no trace or no room. */
int64_t tw_trace_begin(tw_trace_t *trace, tw_trace_track_t track, const char *name, int64_t number);

/** End the span now. -1, and a span that has ended, are left alone. */
void tw_trace_end(tw_trace_t *trace, int64_t span);

/** A moment rather than a span. */
void tw_trace_mark(tw_trace_t *trace, tw_trace_track_t track, const char *name, int64_t number);

/** Add a span that is over: one that another thread noted, for instance.
 * @param [in] begin, end  CLOCK_MONOTONIC in nanoseconds, begin <= end, both above 0. */
void tw_trace_add(tw_trace_t *trace, tw_trace_track_t track, const char *name, int64_t number,
                  uint64_t begin, uint64_t end);

/** Write the spans of all ranks. Collective, with nothing else outstanding that the caller wants to
 * go on undisturbed; ranks whose trace is NULL have none. Spans that have not ended end now in the
 * file. Time 0 is the first span of all. Rank 0 needs memory for a few pieces only, whatever the
 * ranks.
 * @param [in] stream  open for writing, on rank 0; ignored elsewhere.
 * @return the same on every rank: TW_OK, TW_ERR_INVALID_ARG (no stream), TW_ERR_IO,
 *         TW_ERR_NO_MEMORY, TW_ERR_MPI, TW_ERR_TIMEOUT, TW_ERR_DEAD. */
tw_status_t tw_trace_write(tw_comm_t *comm, const tw_trace_t *trace, FILE *stream);

TW_END_DECLS

#endif /* THINWIRE_TRACE_H */
