/* SPDX-License-Identifier: BSD-3-Clause
 * model/head_loss.c - the losses of a head whose classes may be split over ranks, see
 * head_inside.h.
 *
 * Softmax: every rank takes exponentials relative to the largest of its own outputs; (largest, sum)
 * of all ranks give the common largest and the common sum, taken in rank order, the same bits on
 * all ranks. Logistic: every output stands for itself. Where the label of an example belongs to
 * another rank, this rank adds no loss of it (softmax), or that of "not this class" (logistic).
 */
#include "config.h"

#include <math.h>

#include "train/model/head_inside.h"

static tw_head_layer_t *last_of(const tw_head_t *head)
{
    return &head->layer[head->layers - 1];
}

/* The row of example j's label among this rank's, or units where another rank has it. */
static size_t label_at(const tw_head_layer_t *last, const tw_head_pass_t *pass, size_t j)
{
    const size_t label = pass->labels[j];

    return label < last->first || label - last->first >= last->units ? last->units
                                                                     : label - last->first;
}

static void keep_labels(tw_head_t *head, const tw_head_pass_t *pass)
{
    const tw_head_layer_t *last = last_of(head);

    for (size_t j = 0; j < pass->n; j++) {
        const size_t u = label_at(last, pass, j);

        head->label[j] = u < last->units ? last->y[u * pass->n + j] : 0.0f;
    }
}

/* The gradient of an example's loss by its label's output is that of any other less scale. */
static void subtract_labels(const tw_head_layer_t *last, const tw_head_pass_t *pass)
{
    for (size_t j = 0; j < pass->n; j++) {
        const size_t u = label_at(last, pass, j);

        if (u < last->units) {
            last->y[u * pass->n + j] -= pass->scale;
        }
    }
}

/* Entry j of block r of the ranks' largest outputs, a block being `count` long. */
static float top_of(const tw_head_t *head, size_t count, int r, size_t j)
{
    return head->comm == NULL ? head->mine[j] : head->all[(size_t)r * count + j];
}

/* The largest output of example j on any rank. Not a NaN: those are in the sums. */
static float common_top(const tw_head_t *head, size_t count, size_t j)
{
    float top = -INFINITY;

    for (int r = 0; r < head->ranks; r++) {
        top = top_of(head, count, r, j) > top ? top_of(head, count, r, j) : top;
    }
    return top;
}

/* The sum of all ranks' exponentials of example j, relative to top. */
static float common_sum(const tw_head_t *head, const tw_head_layer_t *last, size_t n, size_t j,
                        float top)
{
    const float *all   = head->comm == NULL ? head->mine : head->all;
    float        total = 0.0f;

    for (int r = 0; r < head->ranks; r++) {
        if (last->shares[r] > 0) {
            total +=
                all[(size_t)r * 2 * n + n + j] * tw_kernels_exp(top_of(head, 2 * n, r, j) - top);
        }
    }
    return total;
}

static int softmax(tw_head_t *head, const tw_head_pass_t *pass, int backward, double *loss_p,
                   tw_problem_t *problem)
{
    tw_head_layer_t *last = last_of(head);
    const size_t     n    = pass->n;

    head->loops->top(head->mine, last->y, last->units, n);
    head->loops->exponentials(last->y, head->mine, head->mine + n, last->units, n);
    if (head->comm != NULL &&
        (tw_head_share(head, 2 * n, problem) != 0 || tw_head_share_wait(head, problem) != 0)) {
        return -1;
    }
    for (size_t j = 0; j < n; j++) {
        const float top = common_top(head, 2 * n, j);
        const float sum = common_sum(head, last, n, j, top);

        if (label_at(last, pass, j) < last->units) {
            *loss_p += (double)top - (double)head->label[j] + log((double)sum);
        }
        head->mine[n + j] = pass->scale * tw_kernels_exp(head->mine[j] - top) / sum;
    }
    if (backward) {
        head->loops->scale(last->y, head->mine + n, last->units, n);
        subtract_labels(last, pass);
    }
    return 0;
}

static int logistic(tw_head_t *head, const tw_head_pass_t *pass, int count, double *loss_p,
                    tw_problem_t *problem)
{
    tw_head_layer_t *last   = last_of(head);
    const size_t     n      = pass->n;
    int              status = 0;

    if (count) {
        head->loops->top(head->mine, last->y, last->units, n);
        status = head->comm == NULL ? 0 : tw_head_share(head, n, problem);
    }
    for (size_t j = 0; j < n; j++) {
        head->loss[j] = -(double)head->label[j]; /* 0 of others' labels */
    }
    head->loops->logistic_loss(last->y, head->loss, last->units, n, pass->scale);
    for (size_t j = 0; j < n; j++) {
        *loss_p += head->loss[j];
    }
    subtract_labels(last, pass);
    return status;
}

int tw_head_loss(tw_head_t *head, const tw_head_pass_t *pass, int backward, int count,
                 double *loss_p, tw_problem_t *problem)
{
    keep_labels(head, pass);
    return head->network->loss == TW_LOSS_SOFTMAX ? softmax(head, pass, backward, loss_p, problem)
                                                  : logistic(head, pass, count, loss_p, problem);
}

int tw_head_wrong(tw_head_t *head, const tw_head_pass_t *pass, size_t *wrong_p,
                  tw_problem_t *problem)
{
    const tw_head_layer_t *last  = last_of(head);
    const size_t           count = head->network->loss == TW_LOSS_SOFTMAX ? 2 * pass->n : pass->n;

    if (head->comm != NULL && tw_head_share_wait(head, problem) != 0) {
        return -1;
    }
    for (size_t j = 0; j < pass->n; j++) {
        /* A NaN is wrong. */
        *wrong_p += label_at(last, pass, j) < last->units &&
                    !(common_top(head, count, j) <= head->label[j]);
    }
    return 0;
}
