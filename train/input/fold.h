/* SPDX-License-Identifier: BSD-3-Clause
 * input/fold.h - the last operations on an image as one pass over its values, for a device: what is
 * seen of the image, and what is done to each value that is seen. The same bits as the operations
 * one by one.
 *
 * Crops and mirrors are views; means, scales, deviations and noise are numbers. What reads
 * neighbours (resizing, contrast) or bytes of a file has no place in it.
 */
#ifndef TW_INPUT_FOLD_H
#define TW_INPUT_FOLD_H

#include <stddef.h>
#include <stdint.h>

#include "train/input/transform.h"

enum { TW_FOLD_STEPS = 8, TW_FOLD_PLANES = 4 };

typedef struct tw_folded {
    tw_image_t image; /* as it is seen in the end; of values that the operations have not changed */

    /* First, value (c, y, x) of data as it lies there, not as it is seen, becomes the value minus
     * pixel[c * pixel_plane + pixel_first + y * pixel_row + x * pixel_column]. NULL: it stays. */
    const float *pixel;
    int64_t      pixel_first, pixel_row, pixel_column, pixel_plane;
    size_t       pixels; /* numbers of `pixel` in all */

    /* Then, for each step, (value - mean[c]) * scale[c]. */
    size_t steps;
    struct {
        float mean[TW_FOLD_PLANES], scale[TW_FOLD_PLANES];
    } step[TW_FOLD_STEPS];
} tw_folded_t;

/** The first operation from which on all fold: operations in front of it must have been run. The
 * number of operations where the last does not. */
size_t tw_fold_first(const tw_transforms_t *list);

/** Fold operations `first` .. of a list, at least tw_fold_first().
 * @param planned  planned, and `first` operations have been run on planned->image, whose data lies
 *                 without gaps and not mirrored; data is not read. */
void tw_fold_make(const tw_transforms_t *list, size_t first, const tw_planned_t *planned,
                  tw_folded_t *fold);

#endif /* TW_INPUT_FOLD_H */
