/* SPDX-License-Identifier: BSD-3-Clause
 * model/head_fault.c - finding the first dense layer with Inf or NaN in its output.
 */
#include "config.h"

#include <math.h>
#include <stdlib.h>

#include "train/model/head_inside.h"

/* 0: one of n numbers is not finite, or they cannot be read. */
static int all_finite(const tw_head_t *head, const float *x, size_t n, float *host)
{
    tw_problem_t problem = {.set = 0};

    if (tw_backend_get(head->backend, host, x, n * sizeof(*host), &problem) != 0) {
        return 0;
    }
    for (size_t i = 0; i < n; i++) {
        if (!isfinite(host[i])) {
            return 0;
        }
    }
    return 1;
}

const char *tw_head_first_nonfinite(const tw_head_t *head, size_t n)
{
    const char *name = NULL;

    for (size_t l = 0; l < head->layers && name == NULL; l++) {
        const tw_head_layer_t *layer = &head->layer[l];
        const size_t           count = layer->units * n;
        float                 *host  = malloc((count + 1) * sizeof(*host));

        name = host == NULL || all_finite(head, layer->y, count, host) ? NULL : layer->dense->name;
        free(host);
    }
    return name;
}
