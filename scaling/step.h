/* SPDX-License-Identifier: BSD-3-Clause
 * scaling/step.h - how long a step takes: the computation on one line, the exchanges one after
 * the other on another, as the library carries them out.
 */
#ifndef SCALING_STEP_H
#define SCALING_STEP_H

#include "scaling/workload.h"

/* What a step takes on some ranks; seconds, bytes that the busiest rank sends. */
typedef struct step_time {
    double seconds, compute, exposed, codec, bytes;
    double first; /* bytes that the first rank sends, which is the root of some exchanges */
} step_time_t;

typedef struct step_case {
    const tw_facts_t *facts;
    const char       *spec;           /* codec of what may be compressed                     */
    const char       *algorithm;      /* of allreduces; NULL: the fastest                    */
    const char       *act;            /* of classes act and back; NULL: spec                 */
    const char       *weights;        /* of a training's weights; NULL: as the job says      */
    int               only_gradients; /* it is for class grad alone; others travel as fp32 */
    int               narrow;         /* doubles too, as by thinwire run --double */
    double            share;          /* examples of a rank, of those in the measurement     */
} step_case_t;

/* One exchange of a job, as it travels in such a case. */
typedef struct step_exchange {
    double count; /* of values, on such ranks      */
    int    ranks; /* that take part; 1: nothing is sent, and the rest is not set */
    const tw_codec_facts_t
                   *codec; /* what they are encoded by: in the facts; by MPI's own: NULL, or any */
    tw_prediction_t prediction;
} step_exchange_t;

/** @return 0, or -1 with the problem set. */
int step_exchange(const exchange_t *x, const step_case_t *how, step_exchange_t *found,
                  tw_problem_t *problem);

/** How much longer a computation takes where ranks share processors than where the job was
 * measured. */
double step_slower(const workload_t *work, const tw_facts_t *facts);

/** A step once the program has run for a while: the third.
 * @return 0, or -1 with the problem set: no memory, or an exchange that the facts' codecs or
 *         algorithms cannot serve. */
int step_time(const workload_t *work, const step_case_t *how, step_time_t *time,
              tw_problem_t *problem);

#endif /* SCALING_STEP_H */
