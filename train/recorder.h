/* SPDX-License-Identifier: BSD-3-Clause
 * train/recorder.h - what a training step computes and sends, as a job of thinwire scale
 * (thinwire-job(5)).
 *
 * Of the first steps behind two that prepare much; the times are medians of rank 0, without what it
 * spent on communication, by the clock that reports use. Data parallel steps, whose gradients are all
 * waited for at the end.
 */
#ifndef TW_TRAIN_RECORDER_H
#define TW_TRAIN_RECORDER_H

#include <stddef.h>

#include <thinwire/facts.h>

#include "train/problem.h"

typedef struct tw_recorder tw_recorder_t;

/* An exchange that a step starts. */
typedef struct tw_recorded {
    tw_operation_t operation;
    size_t         count;    /* as tw_operation_t says, of 4 bytes each            */
    int            gradient; /* of the codec of gradients; else it travels as it is */
    int            waits;    /* the step goes on when it is complete                */
} tw_recorded_t;

/** @return NULL without memory. */
tw_recorder_t *tw_recorder_create(void);
void           tw_recorder_destroy(tw_recorder_t *recorder); /* NULL is allowed */

/* All allow NULL, and do nothing then. Times are seconds of computation since the step began. */

void tw_recorder_step(tw_recorder_t *recorder);

/** An exchange starts. A step with more than 4096 of them cannot be written. */
void tw_recorder_start(tw_recorder_t *recorder, double computed, const tw_recorded_t *exchange);

/** All gradients are waited for; what follows is the same however many examples there are. */
void tw_recorder_gradients(tw_recorder_t *recorder, double computed);

void tw_recorder_end(tw_recorder_t *recorder, double computed);

/** Write the job. @return 0, or -1 with the problem set: the file, or no whole step was seen, or steps
 * differ. */
int tw_recorder_write(const tw_recorder_t *recorder, const char *path, const char *name, int ranks,
                      tw_problem_t *problem);

#endif /* TW_TRAIN_RECORDER_H */
