/* SPDX-License-Identifier: BSD-3-Clause
 * host/dense.h - shared declarations of dense.c and loss.c.
 */
#ifndef TW_HOST_DENSE_H
#define TW_HOST_DENSE_H

#include "train/compute/dense.h"
#include "train/compute/units.h"

typedef struct tw_host_dense {
    tw_dense_t             base;
    const tw_unit_loops_t *loops;
    tw_product_t           product;
    int                    threads;
    uint32_t              *keys; /* [2][rows_max] halves of the keys of a dropout's masks */
} tw_host_dense_t;

static inline tw_host_dense_t *tw_host_dense_of(tw_dense_t *dense)
{
    return (tw_host_dense_t *)dense;
}

/* Slots: see tw_dense_ops_t. */
void tw_host_keep_labels(tw_dense_t *dense, const tw_dense_loss_t *loss);
void tw_host_find_tops(tw_dense_t *dense, const tw_dense_loss_t *loss);
void tw_host_exponentials(tw_dense_t *dense, const tw_dense_loss_t *loss);
void tw_host_softmax(tw_dense_t *dense, const tw_dense_loss_t *loss, int backward);
void tw_host_logistic(tw_dense_t *dense, const tw_dense_loss_t *loss);
void tw_host_count(tw_dense_t *dense, const tw_dense_loss_t *loss, int five);
void tw_host_give(tw_dense_t *dense, float *to, tw_dense_sums_t *sums);

#endif /* TW_HOST_DENSE_H */
