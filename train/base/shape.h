/* SPDX-License-Identifier: BSD-3-Clause
 * train/base/shape.h - the shape of one example: c planes of h rows of w values.
 */
#ifndef TW_TRAIN_SHAPE_H
#define TW_TRAIN_SHAPE_H

#include <stddef.h>

typedef struct tw_shape {
    size_t c, h, w;
} tw_shape_t;

/* Values of an example. */
static inline size_t tw_shape_size(tw_shape_t shape)
{
    return shape.c * shape.h * shape.w;
}

#endif /* TW_TRAIN_SHAPE_H */
