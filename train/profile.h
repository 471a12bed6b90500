/* SPDX-License-Identifier: BSD-3-Clause
 * train/profile.h - where the time of steps goes (S0, Tables II and III).
 *
 * At any time a rank is in one row. Time is added to a row where the rank leaves it, so the rows of
 * a rank add up to its steps. Without a profile, NULL, all calls do nothing.
 */
#ifndef TW_TRAIN_PROFILE_H
#define TW_TRAIN_PROFILE_H

#include <stdint.h>

#include <mpi.h>

#include <thinwire/thinwire.h>

#include "command/problem.h"
#include "train/marks.h"

typedef enum tw_profile_row {
    TW_PROFILE_WEIGHTS,   /* travelling                                                */
    TW_PROFILE_GRADIENTS, /* travelling                                                */
    TW_PROFILE_CONVOLUTIONS,
    TW_PROFILE_DENSE,
    TW_PROFILE_LAYERS, /* all others                                                */
    TW_PROFILE_UPDATE,
    TW_PROFILE_NORM, /* of AWP                                                    */
    TW_PROFILE_PACKING,
    TW_PROFILE_UNPACKING,
    TW_PROFILE_INPUT,
    TW_PROFILE_EVALUATION, /* beside the steps                                          */
    TW_PROFILE_REST,
    TW_PROFILE_ROWS
} tw_profile_row_t;

typedef struct tw_profile tw_profile_t;

/** @param [in] comm  whose time in codecs is taken out of what travels.
 * @return 0, or -1 with the problem set. */
int tw_profile_create(tw_profile_t **profile_p, const tw_comm_t *comm, tw_problem_t *problem);

/** NULL is allowed. */
void tw_profile_destroy(tw_profile_t *profile);

/** Be in that row from now on. @return the one until now, to go back to. */
tw_profile_row_t tw_profile_enter(tw_profile_t *profile, tw_profile_row_t row);

/** The time since the last call was of that row; the row stays what it is. */
void tw_profile_was(tw_profile_t *profile, tw_profile_row_t row);

/** A step begins, in the rest; it ends, and has taken so long by another clock. What is between
 * steps is in no row. The first two steps prepare much: they count only until a third begins. */
int  tw_profile_begin(tw_profile_t *profile); /* 1: what came before is forgotten now */
void tw_profile_end(tw_profile_t *profile, double seconds);

/** More of the last step: in that row, until tw_profile_end() tells how long; it is no step. */
void tw_profile_more(tw_profile_t *profile, tw_profile_row_t row);

/** Evaluation: whatever rows are entered until it ends, this one counts. */
void tw_profile_evaluation(tw_profile_t *profile, int begins);

typedef struct tw_profile_facts {
    int      rank;                 /* the slowest, whose the numbers are       */
    uint64_t steps;                /* that count                               */
    double   seconds;              /* of these steps                           */
    double   row[TW_PROFILE_ROWS]; /* seconds in all                           */
    int      on_device;            /* what follows counts                      */
    double   device[TW_MARKEDS];   /* seconds in all, by a device's clock      */
} tw_profile_facts_t;

/** What this rank's device did, before the next call. */
void tw_profile_device(tw_profile_t *profile, const tw_device_marks_t *marks);

/** Of the rank whose steps took longest. Collective; not for NULL. */
void tw_profile_slowest(tw_profile_t *profile, MPI_Comm comm);

/** After tw_profile_slowest(). */
const tw_profile_facts_t *tw_profile_facts(const tw_profile_t *profile);

#endif /* TW_TRAIN_PROFILE_H */
