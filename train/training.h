/* SPDX-License-Identifier: BSD-3-Clause
 * train/training.h - one training run: its parts and its records, made and taken down.
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
#include "train/division.h"
#include "train/evaluations.h"
#include "train/exchange.h"
#include "train/feed.h"
#include "train/marks.h"
#include "train/model/head.h"
#include "train/model/network.h"
#include "train/model/params.h"
#include "train/model/trunk.h"
#include "train/normalisation.h"
#include "train/options.h"
#include "train/profile.h"
#include "train/recorder.h"
#include "train/rates.h"
#include "train/tuning.h"

/* One epoch, or what was done of it. Bytes are of the rank that sent most, and -1 where nobody
 * counts. */
typedef struct tw_training_record {
    double train_loss;                     /* mean over the training images, with dropout */
    double train_error;                    /* fraction, with dropout                      */
    double test_error;                     /* at its end; negative: not tested            */
    double test_error_top5;                /* the label is not among the first five       */
    double seconds;                        /* of training, without test and checkpoint; of
                                       the slowest rank */
    double step_seconds;                   /* median, without the first two steps         */
    double exposed;                        /* t_com / (t_com + t_c), S1: share of the time spent in
                                       communication that nothing hides; the largest of all ranks */
    double bytes_sent, bytes_uncompressed; /* per step                                    */
    double images;                         /* trained on                                  */
    double global;                         /* 1: batch statistics were global             */
    double waited;                         /* seconds that steps waited for images; of the rank that
                                              waited most                                         */
} tw_training_record_t;

/* Time of this rank since the stretch began that was communication and nothing else: starting
 * exchanges, advancing them between layers, waiting for them, codecs included. */
typedef struct tw_meter {
    double           communication;
    double           began;        /* when the communication at hand began */
    double           step, before; /* when the step began, and communication until then */
    tw_profile_row_t row;          /* of the profile, before it */
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
    tw_masters_t               *masters;     /* NULL: every rank updates all */
    tw_calibration_t           *calibration; /* NULL: none */
    tw_profile_t               *profile;     /* NULL: none */
    tw_recorder_t              *recorder;    /* NULL: none */
    tw_device_marks_t          *marks;       /* NULL: none, as where the processor computes */
    tw_division_set_t           division;    /* who gets which examples for the head */
    tw_normalisation_t          norm;
    tw_rates_t                  rates;

    uint64_t             *own;        /* the own images at hand, in the data     */
    uint64_t             *examples;   /* of the rows that go through the head    */
    uint32_t             *labels;     /* and their labels                        */
    float                *outputs;    /* their sums over views, in tests; there too */
    tw_hybrid_t          *running;    /* the division of the step at hand        */
    tw_problem_t         *problem;    /* of the step at hand                     */
    float                *gfeatures;  /* gradient of the features of the own examples, where the
                                         backend computes */
    double               *step_times; /* [2 steps]: this run's of this epoch; sorted */
    size_t                timed;      /* how many there are                      */
    size_t                steps;      /* per epoch                               */
    uint64_t              step;       /* done in all                             */
    uint64_t              epochs;     /* done so far                             */
    uint64_t              resumed;    /* of which before this run                */
    double                seconds;    /* of training in all, of the slowest rank */
    tw_training_record_t *records;    /* [room]                                  */
    uint64_t              room;
    tw_training_record_t  record; /* of the epoch under way: sums            */
    tw_evaluations_t      evaluations;
    uint64_t              hash; /* of all weights                          */
    tw_meter_t            meter;
    int                   terminal;     /* a progress line makes sense             */
    double                shown;        /* when it was last shown; 0: not          */
    double                pace;         /* its seconds of a step, smoothed         */
    double                loss;         /* mean of the last step                   */
    size_t                changes_told; /* of bits, of masters                 */
} tw_training_t;

/** Make everything ready. Collective.
 * @return 0, or -1 with the problem set on one rank at least, and printed; destroy it in both
 * cases. */
int tw_training_create(tw_training_t *t, const tw_train_options_t *options, tw_context_t *ctx,
                       MPI_Comm comm, tw_problem_t *problem);

/** Make ready only what loads images: network, data, loader. Otherwise as tw_training_create(). */
int tw_training_create_loader(tw_training_t *t, const tw_train_options_t *options,
                              tw_context_t *ctx, MPI_Comm comm, tw_problem_t *problem);

/** Collective. */
void tw_training_destroy(tw_training_t *t);

#endif /* TW_TRAIN_TRAINING_H */
