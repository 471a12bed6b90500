/* SPDX-License-Identifier: BSD-3-Clause
 * model/head_loss.c - the losses of a head whose classes may be split over ranks, see
 * head_inside.h.
 *
 * Softmax: every rank takes exponentials relative to the largest of its own outputs; (largest, sum)
 * of all ranks give the common largest and the common sum, taken in rank order, the same bits on
 * all ranks. Logistic: every output stands for itself. Where the label of an example belongs to
 * another rank, this rank adds no loss of it (softmax), or that of "not this class" (logistic).
 *
 * Whether five outputs of all are greater than the label's, the five largest of each rank tell.
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

/* How many numbers of n examples each rank gives to all: the largest outputs, then with softmax the
 * sums. */
static size_t shared_count(const tw_head_t *head, size_t n)
{
    return (head->tops + (head->network->loss == TW_LOSS_SOFTMAX)) * n;
}

/* What rank r has given. */
static const float *shared_of(const tw_head_t *head, size_t n, int r)
{
    return head->comm == NULL ? head->mine : head->all + (size_t)r * shared_count(head, n);
}

static void find_tops(tw_head_t *head, const tw_head_layer_t *last, size_t n, int five)
{
    head->tops = five ? TW_TOPS : 1;
    if (five) {
        head->loops->tops(head->mine, last->y, last->units, n);
    } else {
        head->loops->top(head->mine, last->y, last->units, n);
    }
}

/* The largest output of example j on any rank. Not a NaN: those are in the sums. */
static float common_top(const tw_head_t *head, size_t n, size_t j)
{
    float top = -INFINITY;

    for (int r = 0; r < head->ranks; r++) {
        const float mine = shared_of(head, n, r)[j];

        top = mine > top ? mine : top;
    }
    return top;
}

/* The sum of all ranks' exponentials of example j, relative to top. */
static float common_sum(const tw_head_t *head, const tw_head_layer_t *last, size_t n, size_t j,
                        float top)
{
    float total = 0.0f;

    for (int r = 0; r < head->ranks; r++) {
        const float *shared = shared_of(head, n, r);

        if (last->shares[r] > 0) {
            total += shared[head->tops * n + j] * tw_kernels_exp(shared[j] - top);
        }
    }
    return total;
}

/* The outputs of example j that are greater than its label's; of those beyond TW_TOPS on a rank
 * none need be among them. */
static size_t count_greater(const tw_head_t *head, size_t n, size_t j)
{
    size_t greater = 0;

    for (int r = 0; r < head->ranks; r++) {
        const float *shared = shared_of(head, n, r);

        for (size_t k = 0; k < head->tops; k++) {
            greater += shared[k * n + j] > head->label[j];
        }
    }
    return greater;
}

static int softmax(tw_head_t *head, const tw_head_pass_t *pass, int backward, int five,
                   double *loss_p, tw_problem_t *problem)
{
    tw_head_layer_t *last = last_of(head);
    const size_t     n    = pass->n;
    float           *sums;

    find_tops(head, last, n, five);
    sums = head->mine + head->tops * n;
    head->loops->exponentials(last->y, head->mine, sums, last->units, n);
    if (head->comm != NULL && (tw_head_share(head, shared_count(head, n), problem) != 0 ||
                               tw_head_share_wait(head, problem) != 0)) {
        return -1;
    }
    for (size_t j = 0; j < n; j++) {
        const float top = common_top(head, n, j);
        const float sum = common_sum(head, last, n, j, top);

        if (label_at(last, pass, j) < last->units) {
            *loss_p += (double)top - (double)head->label[j] + log((double)sum);
        }
        sums[j] = pass->scale * tw_kernels_exp(head->mine[j] - top) / sum;
    }
    if (backward) {
        head->loops->scale(last->y, sums, last->units, n);
        subtract_labels(last, pass);
    }
    return 0;
}

static int logistic(tw_head_t *head, const tw_head_pass_t *pass, int count, int five,
                    double *loss_p, tw_problem_t *problem)
{
    tw_head_layer_t *last   = last_of(head);
    const size_t     n      = pass->n;
    int              status = 0;

    if (count) {
        find_tops(head, last, n, five);
        status = head->comm == NULL ? 0 : tw_head_share(head, shared_count(head, n), problem);
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
    const int five = count && pass->five;

    keep_labels(head, pass);
    return head->network->loss == TW_LOSS_SOFTMAX
               ? softmax(head, pass, backward, five, loss_p, problem)
               : logistic(head, pass, count, five, loss_p, problem);
}

int tw_head_wrong(tw_head_t *head, const tw_head_pass_t *pass, tw_head_wrong_t *wrong_p,
                  tw_problem_t *problem)
{
    const tw_head_layer_t *last = last_of(head);

    if (head->comm != NULL && tw_head_share_wait(head, problem) != 0) {
        return -1;
    }
    for (size_t j = 0; j < pass->n; j++) {
        if (label_at(last, pass, j) < last->units) {
            const size_t greater = count_greater(head, pass->n, j);
            const int    none    = isnan(head->label[j]) != 0;

            wrong_p->one += none || greater > 0;
            wrong_p->five += pass->five && (none || greater >= TW_TOPS);
        }
    }
    return 0;
}
