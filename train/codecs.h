/* SPDX-License-Identifier: BSD-3-Clause
 * train/codecs.h - which codec for which class of tensors, from one line of text.
 */
#ifndef TW_TRAIN_CODECS_H
#define TW_TRAIN_CODECS_H

#include <thinwire/thinwire.h>

#include "train/problem.h"

/* Gradients of what every rank has; activations on their way forward; their gradients on the way
 * back. */
typedef enum tw_class { TW_CLASS_GRAD, TW_CLASS_ACT, TW_CLASS_BACK, TW_CLASSES } tw_class_t;

typedef struct tw_codecs {
    int         plain; /* gradients by a plain MPI_Allreduce: codec[TW_CLASS_GRAD] is NULL */
    tw_codec_t *codec[TW_CLASSES];
} tw_codecs_t;

/** Make the codecs that "SPEC" or "CLASS=SPEC,..." names. A class that is not named takes the SPEC
 * without a class, else fp32; back takes that of act.
 * @param [in] split  activations travel between ranks: 1 bit for them is refused unless forced
 *                    (S1, section 3: too coarse for activations, which no residual corrects).
 * @return 0, or -1 with the problem set; destroy in both cases. */
int tw_codecs_create(tw_codecs_t *codecs, tw_context_t *ctx, const char *text, int split, int force,
                     tw_problem_t *problem);

void tw_codecs_destroy(tw_codecs_t *codecs);

/** The full specs: one of them where activations do not travel, else "grad=...,act=...,back=...";
 * cut at size - 1 characters. */
void tw_codecs_text(const tw_codecs_t *codecs, int split, char *text, size_t size);

#endif /* TW_TRAIN_CODECS_H */
