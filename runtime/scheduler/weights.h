/* SPDX-License-Identifier: BSD-3-Clause
 * scheduler/weights.h - groups of weights, their owners and plans, and the state of a step.
 */
#ifndef TW_SCHEDULER_WEIGHTS_H
#define TW_SCHEDULER_WEIGHTS_H

#include <thinwire/weights.h>

#include "runtime/scheduler/exchange.h"

#define TW_WEIGHTS_UNIT 64 /* elements: whole lines of memory, whatever the codec */

typedef struct tw_weights_part {
    char              name[TW_ITEM_NAME];
    float            *weights, *gradient, *master;
    size_t            count, unit;
    size_t            first, own, at; /* see tw_weights_share_t         */
    const tw_codec_t *codec;          /* of the weights; never NULL     */
    const tw_codec_t *summed;         /* of the gradient; NULL: fp32    */
    tw_feedback_t    *feedback;       /* or NULL                        */
    tw_flight_t       sum;            /* plans; NULL: no communication is needed */
    tw_flight_t       send;
    bool              ready, started, complete; /* the sum                            */
    bool              wanted, travels;          /* by tw_weights_send(); its plan is started */
} tw_weights_part_t;

struct tw_weights {
    tw_comm_t              *comm;
    tw_weights_owners_t     owners;
    tw_how_t                how; /* exec, or none */
    tw_side_stream_t        side;
    struct tw_device_event *event; /* of norms and of tw_weights_collect() */
    tw_trace_t             *trace;
    tw_specs_t              specs;
    size_t                  parts;
    tw_weights_part_t      *part;   /* [parts]                                              */
    size_t                 *counts; /* [ranks] buffer for the shares of a group             */
    void    *masters; /* for groups without memory of the caller; or NULL               */
    float   *squares; /* pairs: [parts] of this rank, then [ranks][parts]; in the pool; or NULL */
    double  *device_squares; /* [parts] and workspace, in device memory; or NULL    */
    void    *pinned;         /* pairs of this rank, instead of the first in squares; or NULL  */
    size_t   sums;           /* groups whose sum may start: 0 .. sums - 1            */
    size_t   summed;         /* groups whose wait has ended in this step             */
    size_t   sends;          /* next group to send                                   */
    uint64_t changes;
};

/* Fill w->counts with each rank's share of a group. */
void tw_weights_shares(const tw_weights_t *w, const tw_weights_part_t *part);

/* The call by which all ranks get the whole of a group, from its owners' shares or from rank 0. */
void tw_weights_call(tw_weights_t *w, const tw_weights_part_t *part, const tw_how_t *how,
                     const float *share, float *whole, tw_collective_call_t *call);

/* Create the plan that sends group i's weights in its codec. Collective. */
tw_status_t tw_weights_plan(tw_weights_t *w, size_t i);

/* Create all plans. Collective. */
tw_status_t tw_weights_plans(tw_weights_t *w);

#endif /* TW_SCHEDULER_WEIGHTS_H */
