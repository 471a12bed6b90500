/* SPDX-License-Identifier: BSD-3-Clause
 * train/report/profile.h - breakdown of the time of steps (S0, Tables II and III).
 *
 * At any time a rank is in one row. Time is added to a row when the rank leaves it, so the rows of
 * a rank add up to the time of its steps. With a NULL profile all calls do nothing.
 */
#ifndef TW_TRAIN_PROFILE_H
#define TW_TRAIN_PROFILE_H

#include <stdint.h>

#include <mpi.h>

#include <thinwire/thinwire.h>

#include "command/problem.h"
#include "train/report/marks.h"

typedef enum tw_profile_row {
    TW_PROFILE_WEIGHTS,   /* communication                                             */
    TW_PROFILE_GRADIENTS, /* communication                                             */
    TW_PROFILE_CONVOLUTIONS,
    TW_PROFILE_DENSE,
    TW_PROFILE_LAYERS, /* all others                                                */
    TW_PROFILE_UPDATE,
    TW_PROFILE_NORM, /* of AWP                                                    */
    TW_PROFILE_PACKING,
    TW_PROFILE_UNPACKING,
    TW_PROFILE_INPUT,
    TW_PROFILE_EVALUATION, /* not part of the steps                                     */
    TW_PROFILE_REST,
    TW_PROFILE_ROWS
} tw_profile_row_t;

typedef struct tw_profile tw_profile_t;

/** @param [in] comm  its time in codecs is subtracted from communication.
 * @return 0, or -1 with the problem set. */
int tw_profile_create(tw_profile_t **profile_p, const tw_comm_t *comm, tw_problem_t *problem);

/** NULL is allowed. */
void tw_profile_destroy(tw_profile_t *profile);

/** Enter a row. @return the previous row, to return to. */
tw_profile_row_t tw_profile_enter(tw_profile_t *profile, tw_profile_row_t row);

/** Add the time since the last call to `row`; the current row does not change. */
void tw_profile_was(tw_profile_t *profile, tw_profile_row_t row);

/** A step begins in TW_PROFILE_REST; it ends, with its seconds by another clock. Time between steps
 * is in no row. The first two steps include set-up: they are discarded when a third begins. */
int  tw_profile_begin(tw_profile_t *profile); /* 1: earlier steps are discarded now */
void tw_profile_end(tw_profile_t *profile, double seconds);

/** Continue the last step in `row` until tw_profile_end(); does not count as a step. */
void tw_profile_more(tw_profile_t *profile, tw_profile_row_t row);

/** Evaluation begins or ends: all time between counts as TW_PROFILE_EVALUATION. */
void tw_profile_evaluation(tw_profile_t *profile, int begins);

typedef struct tw_profile_facts {
    int      rank;                 /* the slowest rank, which has these facts  */
    uint64_t steps;                /* counted steps                            */
    double   seconds;              /* of these steps                           */
    double   row[TW_PROFILE_ROWS]; /* total seconds                            */
    int      on_device;            /* device[] is valid                        */
    double   device[TW_MARKEDS];   /* total seconds, by a device's clock       */
} tw_profile_facts_t;

/** Set the times of this rank's device; call it before tw_profile_slowest(). */
void tw_profile_device(tw_profile_t *profile, const tw_device_marks_t *marks);

/** Take the facts of the rank with the longest steps. Collective; NULL is not allowed. */
void tw_profile_slowest(tw_profile_t *profile, MPI_Comm comm);

/** After tw_profile_slowest(). */
const tw_profile_facts_t *tw_profile_facts(const tw_profile_t *profile);

#endif /* TW_TRAIN_PROFILE_H */
