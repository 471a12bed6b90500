/* SPDX-License-Identifier: BSD-3-Clause
 * train/learning.h - what operations take from the training images before the run: means.
 *
 * The ranks share the images out; sums are whole numbers, so the result is the same for any number
 * of ranks. It is kept in a file, $XDG_CACHE_HOME/thinwire/HASH.mean, per data set and list.
 */
#ifndef TW_TRAIN_LEARNING_H
#define TW_TRAIN_LEARNING_H

#include <mpi.h>

#include "train/feed.h"

/** Fill in what the operations of a feed that is not yet started want. Collective.
 * @param hash  of the data, see tw_source_hash().
 * @return 0, or -1 with the problem set on one rank at least. */
int tw_learning_run(tw_feed_t *feed, const tw_compute_kernels_t *kernels, uint64_t hash,
                    MPI_Comm comm, tw_problem_t *problem);

#endif /* TW_TRAIN_LEARNING_H */
