/* SPDX-License-Identifier: BSD-3-Clause
 * train/sheet.h - input images of the network, side by side in a PNG file, for inspection.
 */
#ifndef TW_TRAIN_SHEET_H
#define TW_TRAIN_SHEET_H

#include <stddef.h>
#include <stdint.h>

#include "command/problem.h"
#include "train/base/shape.h"

/** Write n images in rows, each with its label as a number below it. Values are scaled from the
 * minimum of all, black, to the maximum. Of images with 2 or more than 3 planes only the first
 * plane is shown.
 * @param images  [n][c][h][w], finite. @param n  at least 1.
 * @return 0, or -1 with the problem set. */
int tw_sheet_write(const char *path, const float *images, const uint32_t *labels, size_t n,
                   tw_shape_t shape, tw_problem_t *problem);

#endif /* TW_TRAIN_SHEET_H */
