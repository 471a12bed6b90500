/* SPDX-License-Identifier: BSD-3-Clause
 * train/training.h - one training run: its parts and records, creation and destruction.
 */
#ifndef TW_TRAIN_TRAINING_H
#define TW_TRAIN_TRAINING_H

#include <stddef.h>
#include <stdint.h>

#include <mpi.h>

#include <thinwire/thinwire.h>

#include "train/calibration.h"
#include "train/codecs.h"
#include "train/compute/update.h"
#include "train/step/division.h"
#include "train/step/split.h"
#include "train/report/evaluations.h"
#include "train/step/exchange.h"
#include "train/feed/feed.h"
#include "train/report/marks.h"
#include "train/model/head.h"
#include "train/model/network.h"
#include "train/model/params.h"
#include "train/model/trunk.h"
#include "train/step/normalisation.h"
#include "train/options.h"
#include "train/report/profile.h"
#include "train/report/recorder.h"
#include "train/rates.h"
#include "train/feed/tuning.h"

/* One epoch, or its completed part. Bytes are those of the rank that sent most, or -1 if they are
 * not counted. */
typedef struct tw_training_record {
    double train_loss;                     /* mean over the training images, with dropout */
    double train_error;                    /* fraction, with dropout                      */
    double test_error;                     /* at its end; negative: not tested            */
    double test_error_top5;                /* the label is not among the first five       */
    double seconds;                        /* of training, without test and checkpoint; of
                                       the slowest rank */
    double step_seconds;                   /* median, without the first two steps         */
    double exposed;                        /* t_com / (t_com + t_c), S1: fraction of the time in
                                       exposed communication; the largest of all ranks            */
    double bytes_sent, bytes_uncompressed; /* per step                                    */
    double images;                         /* trained on                                  */
    double global;                         /* 1: batch statistics were global             */
    double waited;                         /* seconds that steps waited for images; of the rank that
                                              waited most                                         */
    double steps;                          /* done                                        */
} tw_training_record_t;

/* Time of this rank in exposed communication: starting exchanges, advancing them between layers,
 * waiting for them, including codecs. */
typedef struct tw_meter {
    double           communication;
    double           began;        /* start of the current communication   */
    double           step, before; /* start of the step, and communication before it    */
    tw_profile_row_t row;          /* of the profile, before the communication */
} tw_meter_t;

typedef struct tw_training {
    const tw_train_options_t *options;
    tw_context_t             *ctx; /* the caller's */
    tw_network_t              network;
    uint64_t                  network_hash; /* of the model's text */
    uint64_t                  batch, epochs_wanted;
    MPI_Comm                  comm;
    int                       rank, size, split; /* split: dense layers by output unit */
    tw_feed_t                *feed;
    tw_tuning_t              *tuning;
    uint64_t                  data_hash;

    tw_comm_t                  *wire;
    tw_codecs_t                 codecs;
    char                        codec_text[800];
    tw_exec_t                   exec;
    tw_trace_t                 *trace;
    const tw_compute_kernels_t *kernels;
    tw_backend_t               *backend;
    tw_params_t                 params;
    tw_trunk_t                 *trunk;
    tw_head_t                  *head;
    tw_exchange_t              *exchange;
    tw_split_t                  parts;       /* of the dense layers; zeros: data parallel */
    tw_exchange_t              *peers;       /* sums gradients of parts; NULL: one group */
    tw_masters_t               *masters;     /* NULL: every rank updates all */
    tw_calibration_t           *calibration; /* NULL: none */
    tw_profile_t               *profile;     /* NULL: none */
    tw_recorder_t              *recorder;    /* NULL: none */
    tw_device_marks_t          *marks;       /* NULL: none, as on the processor             */
    tw_division_set_t           division;    /* assignment of examples for the head  */
    tw_normalisation_t          norm;
    tw_rates_t                  rates;

    uint64_t     *own;          /* this rank's current images, in the data */
    uint64_t     *examples;     /* of the rows that pass the head          */
    uint32_t     *labels;       /* labels of these rows                    */
    float        *outputs;      /* in tests, sums of outputs over views, for these rows */
    tw_hybrid_t  *running;      /* the division of the current step        */
    tw_problem_t *problem;      /* of the current step                     */
    float        *gfeatures;    /* gradient of the features of this rank's examples, in memory
                                         of the backend */
    double       *network_sent; /* [size]: bytes to other nodes, of each rank in this run */
    uint64_t      counted;      /* steps in which they were counted        */
    double       *step_times;   /* [2 steps]: of this epoch in this run, then sorted */
    size_t        timed;        /* number of step_times                    */
    size_t        steps;        /* per epoch                               */
    uint64_t      step;         /* completed steps, `steps` for every epoch */
    uint64_t shift;  /* as many more have been done (modulo 2^64), since a checkpoint was of another
                       batch or other data; else 0 */
    uint64_t epochs; /* completed epochs                        */
    uint64_t resumed;              /* of these, completed before this run     */
    double   seconds;              /* total training time of the slowest rank */
    tw_training_record_t *records; /* [room]                                  */
    uint64_t              room;
    tw_training_record_t  record; /* sums of the current epoch               */
    tw_evaluations_t      evaluations;
    uint64_t              hash; /* of all weights                          */
    tw_meter_t            meter;
    int                   terminal;     /* a progress line is shown                */
    double                shown;        /* time of its last update; 0: not shown   */
    double                pace;         /* smoothed seconds per step, for it       */
    double                loss;         /* mean of the last step                   */
    size_t                changes_told; /* reported changes of bits            */
} tw_training_t;

/** Create all parts. Collective.
 * @return 0, or -1 with the problem set on one rank at least, and printed; destroy it in both
 * cases. */
int tw_training_create(tw_training_t *t, const tw_train_options_t *options, tw_context_t *ctx,
                       MPI_Comm comm, tw_problem_t *problem);

/** Create only network, data and loader. Otherwise as tw_training_create(). */
int tw_training_create_loader(tw_training_t *t, const tw_train_options_t *options,
                              tw_context_t *ctx, MPI_Comm comm, tw_problem_t *problem);

/* Steps that the run has done; t->step if all had the same batch and data. */
static inline uint64_t tw_training_done(const tw_training_t *t)
{
    return t->step + t->shift;
}

/* Weights have owners: not every rank updates all. */
static inline int tw_training_has_owners(const tw_training_t *t)
{
    return t->masters != NULL;
}

/* So has this tensor. */
static inline int tw_training_owned(const tw_training_t *t, const tw_param_t *p)
{
    return tw_training_has_owners(t) && p->ownable;
}

/** Collective. */
void tw_training_destroy(tw_training_t *t);

#endif /* TW_TRAIN_TRAINING_H */
