/* SPDX-License-Identifier: BSD-3-Clause
 * model/head_fault.c - which dense layer first gave Inf or NaN.
 */
#include "config.h"

#include <math.h>

#include "train/model/head_inside.h"

const char *tw_head_first_nonfinite(const tw_head_t *head, size_t n)
{
    for (size_t l = 0; l < head->layers; l++) {
        const tw_head_layer_t *layer = &head->layer[l];

        for (size_t i = 0; i < layer->units * n; i++) {
            if (!isfinite(layer->y[i])) {
                return layer->dense->name;
            }
        }
    }
    return NULL;
}
