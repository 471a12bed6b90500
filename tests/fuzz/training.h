/* SPDX-License-Identifier: BSD-3-Clause
 * tests/fuzz/training.h - a run of a small network, into which targets read files (checkpoint.c).
 */
#ifndef TW_TESTS_FUZZ_TRAINING_H
#define TW_TESTS_FUZZ_TRAINING_H

#include "train/training.h"

/* Create the run, on this rank; it stays. */
void fuzz_training(tw_train_options_t *options, tw_training_t *training);

#endif /* TW_TESTS_FUZZ_TRAINING_H */
