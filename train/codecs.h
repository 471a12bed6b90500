/* SPDX-License-Identifier: BSD-3-Clause
 * train/codecs.h - codecs by class of tensors, from one line of text.
 */
#ifndef TW_TRAIN_CODECS_H
#define TW_TRAIN_CODECS_H

#include <thinwire/thinwire.h>

#include "command/problem.h"
#include "train/step/weight_codec.h"

/* Gradients of layers that every rank has; activations in the forward pass; their gradients in the
 * backward pass; weights with owners. */
typedef enum tw_class {
    TW_CLASS_GRAD,
    TW_CLASS_ACT,
    TW_CLASS_BACK,
    TW_CLASS_WEIGHT,
    TW_CLASSES
} tw_class_t;

typedef struct tw_codecs {
    int               native; /* gradients by MPI_Allreduce: codec[TW_CLASS_GRAD] is NULL */
    tw_codec_t       *codec[TW_CLASS_WEIGHT];
    tw_weight_codec_t weight;  /* fp32 unless named */
    tw_codec_t       *storage; /* of outputs of layers; NULL: fp32 */
} tw_codecs_t;

/** Create the codecs that "SPEC" or "CLASS=SPEC,..." names. A class that is not named uses the SPEC
 * without a class, else fp32; back uses that of act; weight is fp32 unless it is named.
 * @param [in] owners  weights have owners: else a codec for them is rejected.
 * @param [in] split  activations are exchanged: else a codec for them is rejected.
 * @param [in] force  accept 1 bit for activations or weights, too (S1, section 3: too coarse
 *                    without residuals).
 * @return 0, or -1 with the problem set; destroy in both cases. */
int tw_codecs_create(tw_codecs_t *codecs, tw_context_t *ctx, const char *text, int owners,
                     int split, int force, tw_problem_t *problem);

/** The codec of --storage for codecs->storage: NULL for fp32.
 * @return 0, or -1 with the problem set. */
int tw_codecs_storage(tw_codecs_t *codecs, tw_context_t *ctx, const char *spec,
                      tw_problem_t *problem);

void tw_codecs_destroy(tw_codecs_t *codecs);

/** The full specs: only that of gradients if nothing else is exchanged, else "weight=...,grad=...,
 * act=...,back=..." without unused classes; truncated at size - 1 characters. */
void tw_codecs_text(const tw_codecs_t *codecs, int owners, int split, char *text, size_t size);

#endif /* TW_TRAIN_CODECS_H */
