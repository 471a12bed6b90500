/* SPDX-License-Identifier: BSD-3-Clause
 * scaling/owners.h - a training step whose weights have owners, in the groups and the order of
 * <thinwire/weights.h> and thinwire-train: biases and parameters of normalisation as fp32, then the
 * weights of each layer or block. Inside of training.h.
 */
#ifndef SCALING_OWNERS_H
#define SCALING_OWNERS_H

#include <math.h>

#include "scaling/builder.h"

/* Elements that stay with one owner, as tw_weights_create() has it for codecs of short blocks. */
#define OWNERS_UNIT 64

/* Elements of `count` that the first owner has, who has most (tw_weights_owned()). */
static inline double owners_share(double count, double unit, int ranks)
{
    return fmin(ceil(ceil(count / unit) / ranks) * unit, count);
}

/** Of the layers below `layers`: b->owners, if their weights have owners and there are several
 * ranks. */
void owners_create(builder_t *b, size_t layers);
void owners_destroy(builder_t *b);

/* All but the last do nothing where there are no owners. */

/** A layer is about to compute: copies of its weights, and of all before it, are waited for. */
void owners_need(builder_t *b, size_t layer);

/** Its gradients are final, from the last layer to the first: those of a block with its first
 * layer. */
void owners_ready(builder_t *b, size_t layer);

/** Loss and errors to all ranks; all sums of gradients are with the owners. */
void owners_finish(builder_t *b);

/** Norms, where the precision adapts; then copies start to travel. */
void owners_send(builder_t *b);

/** Of all updating, what the rank does that has most of it. */
double owners_part(const builder_t *b);

#endif /* SCALING_OWNERS_H */
