/* SPDX-License-Identifier: BSD-3-Clause
 * input/readers.h - sources of the images of data.h: files and generators.
 */
#ifndef TW_INPUT_READERS_H
#define TW_INPUT_READERS_H

#include "train/input/data.h"

/** Allocate a set; -1 with the problem set. */
int  tw_set_create(tw_set_t *set, size_t n, size_t pixels, tw_problem_t *problem);
void tw_set_destroy(tw_set_t *set);

/** One pair of IDX files, plain or gzipped (input/idx.c).
 * @param [in]  images, labels  paths; ".gz" is tried if there is no such file.
 * @param [in]  pixels   of an image; 0: any.
 * @param [in]  classes  labels must be below it.
 * @param [out] shape_p  what came. */
int tw_idx_read(tw_set_t *set, const char *images, const char *labels, size_t pixels,
                size_t classes, tw_shape_t *shape_p, tw_problem_t *problem);

/** The files data_batch*.bin and test_batch*.bin of a folder, plain or with .gz, in the order of
 * their names (input/cifar.c). data has the shape of CIFAR-10. */
int tw_cifar_read(tw_data_t *data, const char *folder, tw_problem_t *problem);

/** Draw digits of 28x28 pixels (input/digits.c): images first .. first + set->n - 1 of the stream
 * that seed and stream name. set is allocated for 784 pixels. */
void tw_digits_draw(tw_set_t *set, uint64_t seed, uint64_t stream);

/** Draw pixels and labels with equal chances (input/noise.c), for speed; set is allocated. */
void tw_noise_draw(tw_set_t *set, size_t pixels, size_t classes, uint64_t seed, uint64_t stream);

/** A number that a data set takes by name. */
typedef struct tw_data_option {
    const char *name; /* with its "=" */
    uint64_t    low, high;
    uint64_t   *value_p;
} tw_data_option_t;

/** Read "name=number", one after another with commas (input/spec.c).
 * @param [in] spec      the whole of --data, for the line of the problem.
 * @param [in] at        where in spec the options begin; "" for none.
 * @param [in] accepted  the form of the data set. */
int tw_data_options(const char *spec, const char *at, const char *accepted,
                    const tw_data_option_t *option, size_t options, tw_problem_t *problem);

#endif /* TW_INPUT_READERS_H */
