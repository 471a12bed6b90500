/* SPDX-License-Identifier: BSD-3-Clause
 * scaling/passes.h - the passes of a step through split layers: computations and messages as in
 * <thinwire/hybrid.h>, written as a loop. Inside of training.h.
 */
#ifndef SCALING_PASSES_H
#define SCALING_PASSES_H

#include "scaling/builder.h"
#include "scaling/scheme.h"

/** The layers from training_t.dense on, split over b->parts ranks. @return the number of passes. */
double passes_put(builder_t *b, const scheme_t *scheme);

#endif /* SCALING_PASSES_H */
