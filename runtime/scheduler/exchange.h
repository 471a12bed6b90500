/* SPDX-License-Identifier: BSD-3-Clause
 * scheduler/exchange.h - what buckets, weights, statistics and hybrid runs have in common:
 * arguments that are equal on all ranks, and operations in flight.
 */
#ifndef TW_SCHEDULER_EXCHANGE_H
#define TW_SCHEDULER_EXCHANGE_H

#include <thinwire/trace.h>

#include "runtime/base/bytes.h"
#include "runtime/scheduler/specs.h"

#define TW_ITEM_NAME 64 /* bytes, with the NUL: as names of feedback objects */
#define TW_SAME_MAX  8
#define TW_WORDS     (sizeof(double) / sizeof(float)) /* fp32 words that carry a double */

/* ---- arguments ------------------------------------------------------------------------------- */

/* Checksum of a value that must be equal on all ranks. */
typedef struct tw_same {
    const char *name; /* name in the log           */
    uint64_t    hash; /* tw_fnv1a()                */
} tw_same_t;

#define TW_HASH(hash, value) tw_fnv1a(hash, &(value), sizeof(value))

uint64_t tw_same_text(uint64_t hash, const char *text);

/* Collective, one small message: are the fields, and the side's kind of memory, equal on all ranks?
 * TW_OK; TW_ERR_MISMATCH on all ranks (rank 0 logs the fields of `what` that differ); or the error
 * of the message. */
tw_status_t tw_same_everywhere(const tw_side_stream_t *side, const char *what,
                               const tw_same_t *fields, size_t n);

/* Has the i-th of an array of structs, of `stride` bytes each, that begin with their names, one of
 * 1 to TW_ITEM_NAME - 1 bytes that none before it has? Names stand in files, and tell residuals
 * apart. TW_OK, TW_ERR_INVALID_ARG (logged: `what` is "tensor"). */
tw_status_t tw_item_check(const tw_comm_t *comm, const char *who, const char *what,
                          const void *items, size_t stride, size_t i);

/* ---- operations ------------------------------------------------------------------------------ */

/* Start a plan, in a span of this name. */
tw_status_t tw_flight_start(tw_flight_t *flight, tw_trace_t *trace, const char *name, size_t n);

/* Has it ended? That ends its span. Advances nothing. */
bool tw_flight_ended(tw_flight_t *flight, tw_trace_t *trace);

/* Wait, in a span of this name, for at most `milliseconds`; -1: without a limit. *done_p (if not
 * NULL): it is complete or has failed. */
tw_status_t tw_flight_wait(tw_flight_t *flight, tw_trace_t *trace, const char *name, size_t n,
                           int milliseconds, int *done_p);

#endif /* TW_SCHEDULER_EXCHANGE_H */
