/* SPDX-License-Identifier: BSD-3-Clause
 * train/checkpoint/safetensors.h - the weights of a network for and from other programs (--export,
 * --import), in the format safetensors.
 *
 * Layout: 8 bytes, little endian: the length of the header; the header, a JSON object, filled up
 * with spaces to a multiple of 8; the data. The header has for each tensor
 *     "conv1.weight": {"dtype": "F32", "shape": [20, 1, 5, 5], "data_offsets": [0, 2000]}
 * with offsets in bytes from the beginning of the data, which the tensors fill without gaps. Names
 * and shapes are those of PyTorch's modules: a layer's weight (convolution [out][in][h][w], dense
 * [units][inputs], normalisation [channels]), bias, running_mean and running_var.
 * Source: github.com/huggingface/safetensors, "Format".
 */
#ifndef TW_TRAIN_SAFETENSORS_H
#define TW_TRAIN_SAFETENSORS_H

#include "command/problem.h"
#include "train/training.h"

/** Write whole weights and running statistics, whoever holds or owns them, at --export. Collective.
 * @return 0, or -1 with the problem set, maybe not on every rank; nothing half-written. */
int tw_safetensors_write(tw_training_t *t, tw_problem_t *problem);

/** Set params and running statistics from --import, which has all of them in these shapes and no
 * others, but for PyTorch's num_batches_tracked. Collective, before the weights of owners are sent.
 * Same returns. */
int tw_safetensors_read(tw_training_t *t, tw_problem_t *problem);

#endif /* TW_TRAIN_SAFETENSORS_H */
