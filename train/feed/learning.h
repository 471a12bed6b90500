/* SPDX-License-Identifier: BSD-3-Clause
 * train/feed/learning.h - statistics (means) that operations compute from training images before
 * the run.
 *
 * The images are divided among the ranks. Sums are integers, so the result is equal for any number
 * of ranks. It is cached in a file per data set and list, $XDG_CACHE_HOME/thinwire/HASH.mean.
 */
#ifndef TW_TRAIN_LEARNING_H
#define TW_TRAIN_LEARNING_H

#include <mpi.h>

#include "train/feed/feed.h"

/** Compute the statistics for the operations of a feed that is not started yet. Collective.
 * @param hash  of the data, see tw_source_hash().
 * @return 0, or -1 with the problem set on one rank at least. */
int tw_learning_run(tw_feed_t *feed, const tw_compute_kernels_t *kernels, uint64_t hash,
                    MPI_Comm comm, tw_problem_t *problem);

#endif /* TW_TRAIN_LEARNING_H */
