/* SPDX-License-Identifier: BSD-3-Clause
 * train/training.h - one training run: its parts, its records, its loop.
 */
#ifndef TW_TRAIN_TRAINING_H
#define TW_TRAIN_TRAINING_H

#include <stddef.h>
#include <stdint.h>

#include <mpi.h>

#include "train/exchange.h"
#include "train/input/data.h"
#include "train/model/net.h"
#include "train/options.h"

/* One epoch. Bytes are of the rank that sent most, and -1 where nobody counts. */
typedef struct tw_record {
    double train_loss;              /* mean over the training images, with dropout */
    double train_error;             /* fraction, with dropout                      */
    double test_error;              /* fraction                                    */
    double seconds;                 /* of training, without test and checkpoint    */
    double bytes_sent, bytes_plain; /* per step                        */
} tw_record_t;

typedef struct tw_training {
    const tw_train_options_t *options;
    const tw_model_t         *model;
    MPI_Comm                  comm;
    int                       rank, size;
    tw_data_t                 data;
    uint64_t                  data_hash;
    tw_net_t                  net;
    tw_exchange_t            *exchange;
    uint32_t                 *order;    /* of the training images in this epoch */
    uint8_t                  *labels;   /* of the rows at hand                  */
    size_t                    steps;    /* per epoch                            */
    uint64_t                  epochs;   /* done so far                          */
    uint64_t                  resumed;  /* of which before this run             */
    tw_record_t              *records;  /* [options->epochs]                    */
    uint64_t                  hash;     /* of all weights                       */
    int                       terminal; /* a progress line makes sense          */
    double                    shown;    /* when it was last shown; 0: not       */
} tw_training_t;

/** Make everything ready. Collective.
 * @return 0, or -1 with the problem set on one rank at least, and printed; destroy it in both
 * cases. */
int tw_training_create(tw_training_t *t, const tw_train_options_t *options, tw_context_t *ctx,
                       MPI_Comm comm, tw_problem_t *problem);

/** Collective. */
void tw_training_destroy(tw_training_t *t);

/** Train until --epochs or --until. Collective.
 * @return 0, or -1 with the problem set on one rank at least, and printed. */
int tw_training_run(tw_training_t *t, tw_problem_t *problem);

/** Whether the last epoch's test error is at most that of --until; 1 without --until. */
int tw_training_reached(const tw_training_t *t);

/** The share of rank r of n rows: contiguous, sizes differ by at most one, the first ranks get the
 * remainder. */
void tw_share(size_t n, int size, int r, size_t *first_p, size_t *count_p);

/** This rank's part of a step of the epoch at hand.
 * @param [out] begin_p, n_p  the whole batch: its first place in the order, and its size. */
tw_pass_t tw_training_pass(const tw_training_t *t, size_t step, size_t *begin_p, size_t *n_p);

/** The order of n images in an epoch. */
void tw_order_draw(uint32_t *order, size_t n, uint64_t seed, uint64_t epoch);

#endif /* TW_TRAIN_TRAINING_H */
