/* SPDX-License-Identifier: BSD-3-Clause
 * train/loading.h - runs without training: only the loader (--no-train), and a sheet of images
 * (--show-images).
 */
#ifndef TW_TRAIN_LOADING_H
#define TW_TRAIN_LOADING_H

#include "train/training.h"

/** Prepare the batches of --epochs (default 1) or --steps and discard them; print and write the
 * times. Collective. @return 0, or -1 with the problem set on one rank at least, and printed. */
int tw_loading_run(tw_training_t *t, int argc, char **argv, tw_problem_t *problem);

/** Write the first training images of the run to --show-images. Collective. Same returns. */
int tw_loading_show(tw_training_t *t, tw_problem_t *problem);

#endif /* TW_TRAIN_LOADING_H */
