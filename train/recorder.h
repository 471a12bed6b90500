/* SPDX-License-Identifier: BSD-3-Clause
 * train/recorder.h - what the layers of a training step take, as a job of thinwire scale
 * (thinwire-job(5)).
 *
 * Of the first steps behind two that prepare much; the times are medians of rank 0, without what it
 * spent on communication, by the clock that reports use.
 */
#ifndef TW_TRAIN_RECORDER_H
#define TW_TRAIN_RECORDER_H

#include <stddef.h>

#include "command/problem.h"
#include "train/masters.h"
#include "train/model/network.h"
#include "train/weight_codec.h"

typedef struct tw_recorder tw_recorder_t;

/* What a rank computes in a step. */
typedef enum tw_recorded {
    TW_RECORDED_INPUT,
    TW_RECORDED_FORWARD,  /* of a layer                                */
    TW_RECORDED_BACKWARD, /* of a layer                                */
    TW_RECORDED_UPDATE,   /* of what every rank has                    */
    TW_RECORDED_SPLIT     /* updating this rank's part of split layers */
} tw_recorded_t;

/* What is not measured. */
typedef struct tw_recorder_about {
    const tw_network_t      *network;
    int                      ranks;
    size_t                   batch, bucket; /* examples; bytes                            */
    int                      statistics;    /* of normalisations are exchanged in steps   */
    int                      owners;        /* of weights, a tw_weights_owners_t, or 0    */
    const tw_weight_codec_t *weight;        /* with owners: how weights travel */
    double                   own;           /* of what is updated with owners, this rank's part */
} tw_recorder_about_t;

/** @return NULL without memory. */
tw_recorder_t *tw_recorder_create(size_t layers);
void           tw_recorder_destroy(tw_recorder_t *recorder); /* NULL is allowed */

/* All allow NULL, and do nothing then. Times are seconds of computation since the step began. */

void tw_recorder_step(tw_recorder_t *recorder);

/** What came since the last call, or since the step began, was this. */
void tw_recorder_was(tw_recorder_t *recorder, tw_recorded_t what, size_t layer, double computed);

/** The step is done. masters: whose weights have started to travel, in codecs that count if this is
 * the last one that is recorded; NULL: weights have no owners. */
void tw_recorder_end(tw_recorder_t *recorder, const tw_masters_t *masters, double computed);

/** Write the job. @return 0, or -1 with the problem set: the file, or no whole step was seen. */
int tw_recorder_write(const tw_recorder_t *recorder, const char *path,
                      const tw_recorder_about_t *about, tw_problem_t *problem);

#endif /* TW_TRAIN_RECORDER_H */
