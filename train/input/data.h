/* SPDX-License-Identifier: BSD-3-Clause
 * input/data.h - data sets in memory: images of 8-bit pixels with labels.
 */
#ifndef TW_INPUT_DATA_H
#define TW_INPUT_DATA_H

#include <stddef.h>
#include <stdint.h>

#include "train/problem.h"

typedef struct tw_set {
    size_t   n;
    uint8_t *pixels; /* [n][pixels of an image] */
    uint8_t *labels; /* [n]                     */
} tw_set_t;

typedef struct tw_data {
    size_t   pixels; /* of an image */
    tw_set_t train, test;
} tw_data_t;

/** Load a data set.
 * @param [in]  spec     "mnist:DIR" or "digits[:train=N][,seed=S]".
 * @param [in]  pixels   what the model takes per image.
 * @param [in]  classes  labels must be below it.
 * @return 0, or -1 with the problem set and nothing to release. Every rank gets the same data from
 * the same spec and files. */
int tw_data_load(tw_data_t *data, const char *spec, size_t pixels, size_t classes,
                 tw_problem_t *problem);

void tw_data_destroy(tw_data_t *data);

/** Hash of all pixels and labels. */
uint64_t tw_data_hash(const tw_data_t *data);

/** What data sets there are, for help and errors. */
#define TW_DATA_ACCEPTED "mnist:DIR or digits[:train=N][,seed=S]"

/** Allocate a set; -1 with the problem set. */
int  tw_set_create(tw_set_t *set, size_t n, size_t pixels, tw_problem_t *problem);
void tw_set_destroy(tw_set_t *set);

/** One pair of IDX files, plain or gzipped (input/idx.c).
 * @param [in] images, labels  paths; ".gz" is tried if there is no such file. */
int tw_idx_read(tw_set_t *set, const char *images, const char *labels, size_t pixels,
                size_t classes, tw_problem_t *problem);

/** Draw digits of 28x28 pixels (input/digits.c): images first .. first + set->n - 1 of the stream
 * that seed and stream name. set is allocated for 784 pixels. */
void tw_digits_draw(tw_set_t *set, uint64_t seed, uint64_t stream);

#endif /* TW_INPUT_DATA_H */
