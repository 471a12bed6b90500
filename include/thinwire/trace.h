/* SPDX-License-Identifier: BSD-3-Clause
 * thinwire/trace.h - computation and communication of each rank on one time axis.
 *
 * A trace is a list of spans in memory, allocated before the work and written after it as Chrome
 * trace JSON for Perfetto and chrome://tracing: a process per rank, and in it a thread per track.
 * Spans on TW_TRACE_COMPUTE nest as calls do; spans on other tracks may overlap in any way, and
 * take as many threads as needed.
 *
 * Memory is bounded: spans that do not fit are counted, and the file has their number. A span reads
 * the clock twice and makes no MPI call. Every function accepts NULL as the trace, and then records
 * nothing.
 *
 * Clocks: each rank records its own monotonic clock. tw_trace_write() measures the offset of each
 * clock from that of rank 0 by the fastest of a few round trips: ranks are aligned to half of that
 * round-trip time at the moment of writing (some microseconds over Ethernet). Drift is not
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
    TW_TRACE_READ     = 2, /* input, by threads of its own: reading files, */
    TW_TRACE_PREPARE  = 3, /* processing, */
    TW_TRACE_TRANSFER = 4, /* and transfer to the device */
    TW_TRACE_DEVICE   = 5  /* work of a device, by its own clock */
} tw_trace_track_t;

/** Create a trace of one rank. Local. One thread at a time may use it.
 * @param [in]  capacity  most spans, of 64 bytes each; 0: 65536.
 * @param [out] trace_p   set only on TW_OK; release with tw_trace_destroy().
 * @return TW_OK, TW_ERR_INVALID_ARG, TW_ERR_RANGE, TW_ERR_NO_MEMORY. */
tw_status_t tw_trace_create(size_t capacity, tw_trace_t **trace_p);

/** Release; local; NULL is allowed. Objects created with the trace must not use it afterwards. */
void tw_trace_destroy(tw_trace_t *trace);

/** Discard all spans. Local. Do not end a discarded span afterwards. */
void tw_trace_clear(tw_trace_t *trace);

/** Begin a span now.
 * @param [in] name    copied, truncated to 31 bytes; shown by the viewer.
 * @param [in] number  shown beside the name (a pass, a layer, a bucket); negative: none.
 * @return a handle for tw_trace_end(); -1 if trace is NULL or full. */
int64_t tw_trace_begin(tw_trace_t *trace, tw_trace_track_t track, const char *name, int64_t number);

/** End a span now. Does nothing for -1 and for a span that has ended. */
void tw_trace_end(tw_trace_t *trace, int64_t span);

/** Record an instant instead of a span. */
void tw_trace_mark(tw_trace_t *trace, tw_trace_track_t track, const char *name, int64_t number);

/** Add a completed span, for example one timed by another thread.
 * @param [in] begin, end  CLOCK_MONOTONIC in nanoseconds, begin <= end, both above 0. */
void tw_trace_add(tw_trace_t *trace, tw_trace_track_t track, const char *name, int64_t number,
                  uint64_t begin, uint64_t end);

/** Write the spans of all ranks. Collective; outstanding operations may be delayed. A rank that
 * passes NULL has no spans. Spans that have not ended end now in the file. Time 0 is the first span
 * of all. Rank 0 needs memory for a few pieces only, for any number of ranks.
 * @param [in] stream  open for writing, on rank 0; ignored elsewhere.
 * @return the same on every rank: TW_OK, TW_ERR_INVALID_ARG (no stream), TW_ERR_IO,
 *         TW_ERR_NO_MEMORY, TW_ERR_MPI, TW_ERR_TIMEOUT, TW_ERR_DEAD. */
tw_status_t tw_trace_write(tw_comm_t *comm, const tw_trace_t *trace, FILE *stream);

TW_END_DECLS

#endif /* THINWIRE_TRACE_H */
