/* SPDX-License-Identifier: BSD-3-Clause
 * model/head_loss.c - the losses of a head whose classes may be split over ranks, see
 * head_inside.h.
 *
 * Softmax: every rank computes exponentials relative to the largest of its own outputs; (largest,
 * sum) of all ranks give the common largest and the common sum, in rank order, with equal bits on
 * all ranks. Logistic: outputs are independent. If the label of an example belongs to another rank,
 * this rank adds no loss for it (softmax), or that of "not this class" (logistic).
 *
 * The five largest outputs of each rank show whether five outputs are greater than the label's.
 */
#include "config.h"

#include "train/model/head_inside.h"

/* Ranks that have classes: the first ones. */
static size_t holders_of(const tw_head_t *head, const tw_head_layer_t *last)
{
    size_t holders = 0;

    for (int r = 0; r < head->ranks; r++) {
        holders += last->shares[r] > 0;
    }
    return holders;
}

static void set_loss(tw_head_t *head, const tw_head_pass_t *pass)
{
    const tw_head_layer_t *last = &head->layer[head->layers - 1];
    const int              sums = head->network->loss == TW_LOSS_SOFTMAX;
    tw_dense_loss_t       *loss = &head->loss;

    loss->n       = pass->n;
    loss->units   = last->units;
    loss->first   = last->first;
    loss->labels  = head->labels;
    loss->scale   = pass->scale;
    loss->z       = last->y;
    loss->tops    = pass->count && pass->five ? TW_TOPS : 1;
    loss->shared  = (loss->tops + (size_t)sums) * pass->n;
    loss->all     = head->comm == NULL ? loss->mine : head->all;
    loss->holders = holders_of(head, last);
    loss->sums    = head->sums;
}

static int softmax(tw_head_t *head, int backward, tw_problem_t *problem)
{
    head->ops->find_tops(head->dense, &head->loss);
    head->ops->exponentials(head->dense, &head->loss);
    if (head->comm != NULL &&
        (tw_head_share(head, problem) != 0 || tw_head_share_wait(head, problem) != 0)) {
        return -1;
    }
    head->ops->softmax(head->dense, &head->loss, backward);
    return 0;
}

static int logistic(tw_head_t *head, int count, tw_problem_t *problem)
{
    int status = 0;

    if (count) {
        head->ops->find_tops(head->dense, &head->loss);
        status = head->comm == NULL ? 0 : tw_head_share(head, problem);
    }
    head->ops->logistic(head->dense, &head->loss);
    return status;
}

int tw_head_loss(tw_head_t *head, const tw_head_pass_t *pass, int backward, tw_problem_t *problem)
{
    set_loss(head, pass);
    head->ops->keep_labels(head->dense, &head->loss);
    return head->network->loss == TW_LOSS_SOFTMAX ? softmax(head, backward, problem)
                                                  : logistic(head, pass->count, problem);
}

int tw_head_wrong(tw_head_t *head, const tw_head_pass_t *pass, tw_problem_t *problem)
{
    if (head->comm != NULL && tw_head_share_wait(head, problem) != 0) {
        return -1;
    }
    head->ops->count(head->dense, &head->loss, pass->five);
    return 0;
}
