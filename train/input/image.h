/* SPDX-License-Identifier: BSD-3-Clause
 * input/image.h - an image on its way from a source into a batch: a view of bytes that others own.
 *
 * Crops and mirrors change the view and move no bytes. Values stay 8 bits until an operation needs
 * floats (S2, slide 20). Pixels stand in planes, as networks take them: value (c, y, x) of what is
 * present is data[c * plane + y * row + x].
 *
 * An image may be larger than what is present of it: what lies outside becomes 0 in the batch,
 * whatever operations follow (a crop that reaches beyond the border), and what no later operation
 * needs is never computed (the rest of a resized image that is cropped).
 */
#ifndef TW_INPUT_IMAGE_H
#define TW_INPUT_IMAGE_H

#include <stddef.h>
#include <stdint.h>

#include "train/base/shape.h"

typedef enum tw_image_type { TW_IMAGE_FILE, TW_IMAGE_PIXELS, TW_IMAGE_FLOATS } tw_image_type_t;

/* A rectangle of an image: rows top .. top + h - 1, columns left .. left + w - 1. */
typedef struct tw_region {
    size_t top, left, h, w;
} tw_region_t;

typedef struct tw_image {
    tw_image_type_t type;
    const void     *data;    /* a file's bytes; else the first value of what is present           */
    size_t          bytes;   /* of a file                                                         */
    tw_shape_t      shape;   /* of the whole image, as it is seen; of a file zeros                */
    tw_region_t     present; /* where in the whole, as it is seen, the values of data are         */
    size_t          row;     /* values from one row of data to the next                           */
    size_t          plane;   /* values from one plane of data to the next                         */
    int mirrored;            /* a row of data is seen from its right end to its left              */
} tw_image_t;

#endif /* TW_INPUT_IMAGE_H */
