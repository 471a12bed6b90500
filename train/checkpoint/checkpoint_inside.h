/* SPDX-License-Identifier: BSD-3-Clause
 * train/checkpoint/checkpoint_inside.h - the parts of checkpoint.c: the header, its comparison
 * with this run, and the tensors.
 */
#ifndef TW_TRAIN_CHECKPOINT_INSIDE_H
#define TW_TRAIN_CHECKPOINT_INSIDE_H

#include <stdio.h>

#include "train/changes.h"
#include "train/checkpoint/checkpoint.h"

typedef struct tw_checkpoint_header {
    char     magic[8];
    uint64_t order, format;
    uint64_t epochs, step, evaluations, ranks;
    double   seconds;
    uint64_t steps, shift; /* of an epoch; tw_training_t.shift */
    uint64_t numbers;      /* of AWP, in the body              */
    uint64_t seed, batch, data_hash, network_hash;
    uint64_t shapes; /* tw_checkpoint_shapes() */
    uint64_t update_period;
    double   rate, momentum, decay;
    double   adaptive[TW_ADAPTIVE_NUMBERS];
    char     model[64], codec[256], split[528]; /* codec of gradients; of activations, or "" */
    char     weights[200], scheme[24], scale[24], statistics[64], schedule[192];
    char     dropout_schedule[192];
} tw_checkpoint_header_t;

/* ---- the header (checkpoint_header.c) ------------------------------------------------------- */

/** Fill the header that a checkpoint of this run would have now. */
void tw_checkpoint_header_fill(const tw_training_t *t, tw_checkpoint_header_t *header);

/** Open a checkpoint on one rank, read its header, and verify its format, its checksum, and that
 * this run may go on from it.
 * @param [out] stream_p  positioned after the header; close it if not NULL, even after an error.
 * @param [out] body_p    bytes of the file before the checksum. */
int tw_checkpoint_open(const tw_training_t *t, const char *path, FILE **stream_p, uint64_t *body_p,
                       tw_checkpoint_header_t *header, tw_problem_t *problem);

/** Checksum of the first `bytes` bytes of a stream, which is then positioned after them. -1: read
 * error. */
int tw_checkpoint_sum(FILE *stream, uint64_t bytes, uint64_t *sum_p);

/** Set the problem "--checkpoint PATH: HOW". @return -1. */
int tw_checkpoint_damaged(const char *path, const char *how, tw_problem_t *problem);

/* ---- comparison (checkpoint_compare.c) ------------------------------------------------------ */

/** Is what a file's header says of its run what this run has, but for the allowed changes? Ends the
 * file's texts. @return 0, or -1 with the problem set. */
int tw_checkpoint_compare(const char *path, unsigned allowed, tw_checkpoint_header_t *file,
                          const tw_checkpoint_header_t *run, tw_problem_t *problem);

/* Do both split dense layers, or neither? Are residuals of the same gradients in the same codec?
 * Has an epoch the same batches, but for the seed? */
int tw_checkpoint_same_split(const tw_checkpoint_header_t *a, const tw_checkpoint_header_t *b);
int tw_checkpoint_same_residuals(const tw_checkpoint_header_t *a, const tw_checkpoint_header_t *b);
int tw_checkpoint_same_order(const tw_checkpoint_header_t *a, const tw_checkpoint_header_t *b);

/* ---- the tensors (checkpoint_tensors.c) ----------------------------------------------------- */

/** The k-th of what the file has of tensors, values (*which_p: 0) and momentum (1) of each, in the
 * order of layers, however they are laid out here. NULL: there are no more. */
const tw_param_t *tw_checkpoint_tensor(const tw_training_t *t, size_t k, int *which_p);

/* Whole tensors pass rank 0 in pieces of bounded size. */
typedef struct tw_pieces {
    float *piece; /* units of one piece: what the file has, or will have */
    float *own;   /* and what this rank has of it                        */
    int   *counts, *places;
} tw_pieces_t;

/** Collective: all ranks learn whether all have the memory. Free them in both cases. */
int  tw_pieces_make(tw_pieces_t *pieces, const tw_training_t *t, tw_problem_t *problem);
void tw_pieces_free(tw_pieces_t *pieces);

/** Write or read values (which: 0) or momentum (1) of a whole tensor, or n elements that every rank
 * has, at the position of rank 0's stream. Collective. A device's failure is in the problem, and
 * the ranks go on together; write errors are in the stream's error flag; *bad_p, on rank 0: the
 * file has ended, and what was read is garbage. */
int  tw_pieces_write(tw_pieces_t *pieces, const tw_training_t *t, const tw_param_t *p, int which,
                     FILE *stream, tw_problem_t *problem);
void tw_pieces_read(tw_pieces_t *pieces, const tw_training_t *t, const tw_param_t *p, int which,
                    FILE *stream, int *bad_p, tw_problem_t *problem);
void tw_pieces_write_whole(tw_pieces_t *pieces, const tw_training_t *t, const float *array,
                           size_t n, FILE *stream, tw_problem_t *problem);
void tw_pieces_read_whole(tw_pieces_t *pieces, const tw_training_t *t, float *array, size_t n,
                          FILE *stream, int *bad_p, tw_problem_t *problem);

/** What one rank alone has met makes all of them stop. Collective. */
int tw_checkpoint_agreed(const tw_training_t *t, const tw_problem_t *problem);

/** A hash of the shapes of all whole tensors, in the order of the file. */
uint64_t tw_checkpoint_shapes(const tw_training_t *t);

/** Read on rank 0 and broadcast; collective. *bad_p, on rank 0: end of file. */
void tw_checkpoint_read_bcast(const tw_training_t *t, void *array, size_t bytes, FILE *stream,
                              int *bad_p);

/** Write values and momentum of all tensors, and running statistics. Collective; write errors are
 * only in the stream's error flag. */
int tw_checkpoint_write_tensors(tw_training_t *t, FILE *stream, tw_problem_t *problem);

/** Read them: values to the parameters, momentum to its owner. Collective.
 * @param [out] bad_p  on rank 0: end of file; the data read is then invalid. */
int tw_checkpoint_read_tensors(tw_training_t *t, FILE *stream, int *bad_p, tw_problem_t *problem);

/* ---- residuals of split layers (checkpoint_parts.c) ----------------------------------------- */

/** Write the residuals of the sums over groups of ranks, of each part of the dense layers; nothing,
 * if there is one group. Collective. @return 0, or -1 with the problem set, on some ranks fatal. */
int tw_checkpoint_write_parts(tw_training_t *t, FILE *stream, tw_problem_t *problem);

/** Restore them; those of layers split over another number of ranks are skipped. Collective. */
int tw_checkpoint_read_parts(tw_training_t *t, FILE *stream, tw_problem_t *problem);

#endif /* TW_TRAIN_CHECKPOINT_INSIDE_H */
