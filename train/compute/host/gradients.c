/* SPDX-License-Identifier: BSD-3-Clause
 * host/gradients.c - sums of gradients, and derivatives of activations; see compute/gradients.c.
 */
#include "config.h"

#include "train/compute/host/host.h"

void tw_host_settle(tw_tensor_t *y, const float *g, const float *more, tw_activation_t how)
{
    const tw_host_t *b     = tw_host_of(y->graph);
    const size_t     parts = (size_t)b->threads;

#pragma omp parallel for num_threads(b->threads) if (b->threads > 1) schedule(static)
    for (size_t p = 0; p < parts; p++) {
        const size_t first = y->count * p / parts, end = y->count * (p + 1) / parts;

        b->loops->settle(y->settled + first, g + first, more == NULL ? NULL : more + first,
                         y->value + first, end - first, how);
    }
}

void tw_host_add_gradient(tw_tensor_t *x, const float *g)
{
    const tw_host_t *b     = tw_host_of(x->graph);
    const size_t     parts = (size_t)b->threads;

#pragma omp parallel for num_threads(b->threads) if (b->threads > 1) schedule(static)
    for (size_t p = 0; p < parts; p++) {
        const size_t first = x->count * p / parts, end = x->count * (p + 1) / parts;

        b->loops->add(x->grad + first, x->grad + first, g + first, end - first, TW_LINEAR);
    }
}
