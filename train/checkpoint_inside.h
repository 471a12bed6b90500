/* SPDX-License-Identifier: BSD-3-Clause
 * train/checkpoint_inside.h - the parts of checkpoint.c: the header, and the tensors.
 */
#ifndef TW_TRAIN_CHECKPOINT_INSIDE_H
#define TW_TRAIN_CHECKPOINT_INSIDE_H

#include <stdio.h>

#include "train/checkpoint.h"

typedef struct tw_checkpoint_header {
    char     magic[8];
    uint64_t order, format;
    uint64_t epochs, step, evaluations, ranks;
    double   seconds;
    uint64_t seed, batch, data_hash, network_hash;
    uint64_t update_period;
    double   rate, momentum, decay;
    double   adaptive[TW_ADAPTIVE_NUMBERS];
    char model[64], codec[800], weights[200], scheme[24], scale[24], statistics[64], schedule[192];
} tw_checkpoint_header_t;

/* ---- the header (checkpoint_header.c) ------------------------------------------------------- */

/** What the file of this run would begin with now. */
void tw_checkpoint_header_fill(const tw_training_t *t, tw_checkpoint_header_t *header);

/** Open a checkpoint and read its header, on one rank: it is one of ours, its check sum holds, and
 * all that decides what comes next is what it is in this run, but for the number of ranks.
 * @param [out] stream_p  behind the header; to be closed if not NULL, whatever is returned.
 * @param [out] body_p    bytes of the file before the check sum. */
int tw_checkpoint_open(const tw_training_t *t, const char *path, FILE **stream_p, uint64_t *body_p,
                       tw_checkpoint_header_t *header, tw_problem_t *problem);

/** Check sum of the first `bytes` bytes of a stream; the position is behind them. -1: they cannot
 * be read. */
int tw_checkpoint_sum(FILE *stream, uint64_t bytes, uint64_t *sum_p);

/** "--checkpoint PATH: HOW"; -1. */
int tw_checkpoint_damaged(const char *path, const char *how, tw_problem_t *problem);

/* ---- the tensors (checkpoint_tensors.c) ----------------------------------------------------- */

/** Read on rank 0 and broadcast, collective. *bad_p, on rank 0: the file has ended. */
void tw_checkpoint_read_bcast(const tw_training_t *t, void *array, size_t bytes, FILE *stream,
                              int *bad_p);

/** Values and momentum of all tensors, and running statistics. Collective; write errors stay in the
 * stream's error flag. */
int tw_checkpoint_write_tensors(tw_training_t *t, FILE *stream, tw_problem_t *problem);

/** The same, read: values into the parameters, momentum where it is kept. Collective.
 * @param [out] bad_p  on rank 0: the file has ended; what was read then is garbage. */
int tw_checkpoint_read_tensors(tw_training_t *t, FILE *stream, int *bad_p, tw_problem_t *problem);

#endif /* TW_TRAIN_CHECKPOINT_INSIDE_H */
