/* SPDX-License-Identifier: BSD-3-Clause
 * host/loss.c - the losses of dense.h on the processor. Sums over ranks and examples are in their
 * order.
 */
#include "config.h"

#include <math.h>

#include "train/compute/host/dense.h"

/* The row of example j's label among this rank's, or units where another rank has it. */
static size_t label_at(const tw_dense_loss_t *loss, size_t j)
{
    const size_t label = loss->labels[j];

    return label < loss->first || label - loss->first >= loss->units ? loss->units
                                                                     : label - loss->first;
}

void tw_host_keep_labels(tw_dense_t *dense, const tw_dense_loss_t *loss)
{
    (void)dense;
    for (size_t j = 0; j < loss->n; j++) {
        const size_t u = label_at(loss, j);

        loss->label[j] = u < loss->units ? loss->z[u * loss->n + j] : 0.0f;
    }
}

/* The gradient of an example's loss by its label's output is that of any other less scale. */
static void subtract_labels(const tw_dense_loss_t *loss)
{
    for (size_t j = 0; j < loss->n; j++) {
        const size_t u = label_at(loss, j);

        if (u < loss->units) {
            loss->z[u * loss->n + j] -= loss->scale;
        }
    }
}

void tw_host_find_tops(tw_dense_t *dense, const tw_dense_loss_t *loss)
{
    const tw_unit_loops_t *loops = tw_host_dense_of(dense)->loops;

    (loss->tops == 1 ? loops->top : loops->tops)(loss->mine, loss->z, loss->units, loss->n);
}

void tw_host_exponentials(tw_dense_t *dense, const tw_dense_loss_t *loss)
{
    tw_host_dense_of(dense)->loops->exponentials(
        loss->z, loss->mine, loss->mine + loss->tops * loss->n, loss->units, loss->n);
}

/* The largest output of example j on any rank. Not a NaN: those are in the sums. */
static float common_top(const tw_dense_loss_t *loss, size_t j)
{
    float top = -INFINITY;

    for (size_t r = 0; r < loss->holders; r++) {
        const float mine = loss->all[r * loss->shared + j];

        top = mine > top ? mine : top;
    }
    return top;
}

/* The sum of all ranks' exponentials of example j, relative to top. */
static float common_sum(const tw_dense_loss_t *loss, size_t j, float top)
{
    float total = 0.0f;

    for (size_t r = 0; r < loss->holders; r++) {
        const float *shared = loss->all + r * loss->shared;

        total += shared[loss->tops * loss->n + j] * tw_kernels_exp(shared[j] - top);
    }
    return total;
}

void tw_host_softmax(tw_dense_t *dense, const tw_dense_loss_t *loss, int backward)
{
    float *factors = loss->mine + loss->tops * loss->n;
    double total   = 0.0;

    for (size_t j = 0; j < loss->n; j++) {
        const float top = common_top(loss, j);
        const float sum = common_sum(loss, j, top);

        if (label_at(loss, j) < loss->units) {
            total += (double)top - (double)loss->label[j] + log((double)sum);
        }
        factors[j] = loss->scale * tw_kernels_exp(loss->mine[j] - top) / sum;
    }
    loss->sums->loss += total;
    if (backward) {
        tw_host_dense_of(dense)->loops->scale(loss->z, factors, loss->units, loss->n);
        subtract_labels(loss);
    }
}

void tw_host_logistic(tw_dense_t *dense, const tw_dense_loss_t *loss)
{
    double total = 0.0;

    for (size_t j = 0; j < loss->n; j++) {
        loss->loss[j] = -(double)loss->label[j]; /* 0 of others' labels */
    }
    tw_host_dense_of(dense)->loops->logistic_loss(loss->z, loss->loss, loss->units, loss->n,
                                                  loss->scale);
    for (size_t j = 0; j < loss->n; j++) {
        total += loss->loss[j];
    }
    loss->sums->loss += total;
    subtract_labels(loss);
}

/* The outputs of example j that are greater than its label's; of those beyond TW_TOPS on a rank
 * none need be among them. */
static size_t count_greater(const tw_dense_loss_t *loss, size_t j)
{
    size_t greater = 0;

    for (size_t r = 0; r < loss->holders; r++) {
        const float *shared = loss->all + r * loss->shared;

        for (size_t k = 0; k < loss->tops; k++) {
            greater += shared[k * loss->n + j] > loss->label[j];
        }
    }
    return greater;
}

void tw_host_count(tw_dense_t *dense, const tw_dense_loss_t *loss, int five)
{
    (void)dense;
    for (size_t j = 0; j < loss->n; j++) {
        if (label_at(loss, j) < loss->units) {
            const size_t greater = count_greater(loss, j);
            const int    none    = isnan(loss->label[j]) != 0;

            loss->sums->one += none || greater > 0;
            loss->sums->five += five && (none || greater >= TW_TOPS);
        }
    }
}

void tw_host_give(tw_dense_t *dense, float *to, tw_dense_sums_t *sums)
{
    (void)dense;
    to[0] = (float)sums->loss;
    to[1] = (float)sums->one;
    *sums = (tw_dense_sums_t){.loss = 0.0};
}
