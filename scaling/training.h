/* SPDX-License-Identifier: BSD-3-Clause
 * scaling/training.h - a training step as layers, from which the computations and collectives of a
 * step follow for any number of ranks and any way of dividing the work: what thinwire-train does.
 */
#ifndef SCALING_TRAINING_H
#define SCALING_TRAINING_H

#include <stdio.h>

#include "scaling/scheme.h"
#include "scaling/workload.h"

/** The step of a training on so many ranks, per_node of them on a node: its items take fixed times.
 * @param batch   examples of all ranks
 * @param lossy   the codec of gradients loses something: each tensor of weights travels on its own,
 *                the others as fp32
 * @param [out] work  name and ranks are those of *of, which must outlive it; release with
 *                    workload_free()
 * @return 0, or -1 with the problem set: out of memory, a scheme that cannot be. */
int training_step(const workload_t *of, const scheme_t *scheme, int ranks, int per_node,
                  double batch, int lossy, workload_t *work, tw_problem_t *problem);

/** Of a tw_weights_owners_t, or 0: replicated, root, sharded; NULL: there is none such. */
const char *training_owners(int owners);

/** The file that workload_read() would read. Errors show in ferror(to). */
void training_write(FILE *to, const workload_t *work);

#endif /* SCALING_TRAINING_H */
