/* SPDX-License-Identifier: BSD-3-Clause
 * transport/auto/abs.h - the codec `abs:E`: collectives whose results are within E of the exact
 * ones in every call.
 *
 * Allreduce, bcast and allgather(v) try a grid whose bits follow from earlier results
 * (policy/abs.h), and are repeated without loss where the result, which all ranks have, shows that
 * something did not fit. In the other collectives ranks have different results: they agree on the
 * largest value first. Nonblocking calls and plans can do neither, and are lossless.
 */
#ifndef TW_TRANSPORT_AUTO_ABS_H
#define TW_TRANSPORT_AUTO_ABS_H

#include "runtime/policy/abs.h"
#include "runtime/transport/coll/collective.h"

/* What is known of calls of one kind. */
typedef struct tw_abs_kind {
    double              error;
    tw_operation_t      operation;
    tw_reduction_t      reduction;
    tw_dtype_t          dtype;
    int                 class_index; /* of the count */
    tw_abs_level_t      level;
    struct tw_abs_kind *next;
} tw_abs_kind_t;

/* Of a communicator. */
typedef struct tw_abs_state {
    tw_abs_kind_t *kinds;
    uint64_t       repeats; /* calls that did not fit           */
    int            bits;    /* of the last call; 0: as they are */
    bool           told;    /* that a grid has too few bits     */
} tw_abs_state_t;

/* Is the codec of a call `abs`? */
bool tw_abs_asked(const tw_how_t *how);

/* Such a call, checked. Where it has to be lossless, *done_p is false and *how_p the way without
 * loss: the driver goes on. Else it was executed. */
tw_status_t tw_abs_take(const tw_collective_call_t *call, tw_form_t form, tw_how_t *how_p,
                        bool *done_p);

/* When a communicator is destroyed. */
void tw_abs_close(tw_abs_state_t *state);

#endif /* TW_TRANSPORT_AUTO_ABS_H */
