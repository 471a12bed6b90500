/* SPDX-License-Identifier: BSD-3-Clause
 * input/fold.h - the last operations on an image as one pass over its values, for a device: the
 * view of the image, and the arithmetic on each value in it. Bitwise equal to the single
 * operations.
 *
 * Crops and mirrors are views; means, scales, deviations and noise are arithmetic. Operations that
 * read neighbours (resizing, contrast) or bytes of a file cannot be folded.
 */
#ifndef TW_INPUT_FOLD_H
#define TW_INPUT_FOLD_H

#include <stddef.h>
#include <stdint.h>

#include "train/input/transform.h"

enum { TW_FOLD_STEPS = 8, TW_FOLD_PLANES = 4 };

typedef struct tw_folded {
    tw_image_t image; /* the final view, of values without the folded arithmetic                  */

    /* First, subtract pixel[c * pixel_plane + pixel_first + y * pixel_row + x * pixel_column] from
     * value (c, y, x), with coordinates in data, not in the view. NULL: subtract nothing. */
    const float *pixel;
    int64_t      pixel_first, pixel_row, pixel_column, pixel_plane;
    size_t       pixels; /* total numbers of `pixel` */

    /* Then, for each step, (value - mean[c]) * scale[c]. */
    size_t steps;
    struct {
        float mean[TW_FOLD_PLANES], scale[TW_FOLD_PLANES];
    } step[TW_FOLD_STEPS];
} tw_folded_t;

/** The first operation from which on all can be folded: earlier operations must have been run. The
 * number of operations if the last cannot be folded. */
size_t tw_fold_first(const tw_transforms_t *list);

/** Fold operations `first` .. of a list, at least tw_fold_first().
 * @param planned  planned, with `first` operations run on planned->image, whose data is contiguous
 *                 and not mirrored; data is not read. */
void tw_fold_make(const tw_transforms_t *list, size_t first, const tw_planned_t *planned,
                  tw_folded_t *fold);

#endif /* TW_INPUT_FOLD_H */
