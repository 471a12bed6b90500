/* SPDX-License-Identifier: BSD-3-Clause
 * input/data.h - data sets in memory: images of 8-bit pixels with labels.
 */
#ifndef TW_INPUT_DATA_H
#define TW_INPUT_DATA_H

#include <stddef.h>
#include <stdint.h>

#include "command/problem.h"
#include "train/base/shape.h"

typedef struct tw_set {
    size_t    n;
    uint8_t  *pixels; /* [n][c][h][w]: planes */
    uint16_t *labels; /* [n]                  */
} tw_set_t;

typedef struct tw_data {
    tw_shape_t shape;   /* of an image                                    */
    size_t     pixels;  /* of an image: c h w                             */
    size_t     classes; /* of the data set; every label is below it       */
    tw_set_t   train, test;
} tw_data_t;

/** Load one of the sets that are kept in memory: mnist:, cifar10:, digits, random:.
 * @param spec  as in --data.
 * @return 0, or -1 with the problem set and nothing to release. */
int tw_data_load(tw_data_t *data, const char *spec, tw_problem_t *problem);

void tw_data_destroy(tw_data_t *data);

#endif /* TW_INPUT_DATA_H */
