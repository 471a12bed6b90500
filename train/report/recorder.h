/* SPDX-License-Identifier: BSD-3-Clause
 * train/report/recorder.h - times of the layers in a training step, as a job of thinwire scale
 * (thinwire-job(5)).
 *
 * Records the first steps after two that include set-up. Times are medians on rank 0 without
 * communication, by the clock that reports use.
 */
#ifndef TW_TRAIN_RECORDER_H
#define TW_TRAIN_RECORDER_H

#include <stddef.h>

#include "command/problem.h"
#include "train/step/masters.h"
#include "train/model/network.h"
#include "train/step/weight_codec.h"

typedef struct tw_recorder tw_recorder_t;

/* Computation of a rank in a step. */
typedef enum tw_recorded {
    TW_RECORDED_INPUT,
    TW_RECORDED_FORWARD,  /* of a layer                                */
    TW_RECORDED_BACKWARD, /* of a layer                                */
    TW_RECORDED_UPDATE,   /* of layers that every rank has             */
    TW_RECORDED_SPLIT     /* update of this rank's part of split layers */
} tw_recorded_t;

/* Facts that are not measured. */
typedef struct tw_recorder_about {
    const tw_network_t      *network;
    int                      ranks, parts;  /* parts of split layers                        */
    size_t                   batch, bucket; /* examples; bytes                            */
    size_t                   period;        /* passes per update of split layers; 0: all  */
    int                      statistics;    /* steps exchange normalisation statistics    */
    int                      owners;        /* of weights, a tw_weights_owners_t, or 0    */
    const tw_weight_codec_t *weight;        /* with owners: codec of weights   */
    double                   own;           /* with owners: fraction that this rank updates */
} tw_recorder_about_t;

/** @return NULL without memory. */
tw_recorder_t *tw_recorder_create(size_t layers);
void           tw_recorder_destroy(tw_recorder_t *recorder); /* NULL is allowed */

/* With a NULL recorder these do nothing. Times are seconds of computation since the step began. */

void tw_recorder_step(tw_recorder_t *recorder);

/** Add the time since the last call, or since the step began, to `what`. */
void tw_recorder_was(tw_recorder_t *recorder, tw_recorded_t what, size_t layer, double computed);

/** The step is complete. masters: their exchange has started; the job has the codecs of the last
 * recorded step. NULL: weights have no owners. */
void tw_recorder_end(tw_recorder_t *recorder, const tw_masters_t *masters, double computed);

/** Write the job. @return 0, or -1 with the problem set: a file error, or no complete step. */
int tw_recorder_write(const tw_recorder_t *recorder, const char *path,
                      const tw_recorder_about_t *about, tw_problem_t *problem);

#endif /* TW_TRAIN_RECORDER_H */
