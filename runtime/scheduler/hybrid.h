/* SPDX-License-Identifier: BSD-3-Clause
 * scheduler/hybrid.h - the schedule of a hybrid run, and its messages in flight.
 */
#ifndef TW_SCHEDULER_HYBRID_H
#define TW_SCHEDULER_HYBRID_H

#include <thinwire/hybrid.h>

#include "runtime/scheduler/exchange.h"

/* A message of the run that may be in flight. */
typedef struct tw_hybrid_flight {
    tw_flight_t flight;
    tw_status_t status; /* after completion                    */
    const char *name;   /* name in the trace                   */
    const char *wait;   /* name in the trace of the wait for it */
    size_t      pass;
} tw_hybrid_flight_t;

/* This struct, the passes and their arrays lie in one buffer of the communicator's pool. Examples
 * and gradients lie in a second buffer, in the memory of the caller's data. */
struct tw_hybrid {
    tw_comm_t        *comm;
    tw_side_stream_t  side;
    void             *room; /* the second buffer; NULL: one rank */
    size_t            features;
    size_t            passes;
    size_t            own;     /* examples of this rank    */
    size_t            longest; /* rows of the longest pass */
    size_t            memory;
    tw_how_t          act, back;
    bool              exact; /* act is lossless: the owner computes with its own data  */
    tw_trace_t       *trace;
    tw_hybrid_pass_t *pass;     /* [passes]                                         */
    size_t           *elements; /* [size] of the message to post                    */
    float            *x[2]; /* [longest][features]; equal where there is one pass; NULL: one rank */
    float            *gx[2];
    bool              running;
    tw_hybrid_flight_t exchange;    /* of the next pass             */
    tw_hybrid_flight_t gradient[2]; /* of the last two passes, by parity */
};

/* ---- the schedule: pure ---------------------------------------------------------------------- */

/* Number of passes with examples, and rows of the longest one. position[r]: index of rank r in the
 * order from which groups are formed. */
size_t tw_hybrid_count(tw_scheme_t scheme, int group, const size_t *examples, const int *position,
                       int size, size_t *longest_p);

/* Fill the passes; pass[p].first and .count point to arrays of `size`. */
void tw_hybrid_schedule(tw_scheme_t scheme, int group, const size_t *examples, const int *position,
                        int size, tw_hybrid_pass_t *pass, size_t *arrays);

/* The only rank with examples in this pass, or -1 if there are several. */
int tw_hybrid_owner(const tw_hybrid_pass_t *pass, int size);

/* ---- messages -------------------------------------------------------------------------------- */

/* Start, behind the flight's event, the operation that sends a pass's examples to all ranks, into
 * `to`, or its gradients from `from` to their owners; or only create its plan. `mine` holds, or
 * receives, those of this rank. Sets flight->request. */
tw_status_t tw_hybrid_exchange(tw_hybrid_t *h, const tw_hybrid_pass_t *pass, const float *mine,
                               float *to, bool plan, tw_flight_t *flight);
tw_status_t tw_hybrid_return(tw_hybrid_t *h, const tw_hybrid_pass_t *pass, const float *from,
                             float *mine, bool plan, tw_flight_t *flight);

#endif /* TW_SCHEDULER_HYBRID_H */
