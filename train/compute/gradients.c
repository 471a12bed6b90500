/* SPDX-License-Identifier: BSD-3-Clause
 * compute/gradients.c - assignment of gradient memory, and sums of the gradients of several
 * consumers.
 *
 * A gradient lives from the first consumer that writes it to its producer, which runs later. So
 * memory is shared in slots, planned once by a backward walk over the operations. If an operation
 * passes its gradient unchanged (an addition), the slot is shared, not copied: as the gradient
 * itself to an input with only this consumer, else as an addend, which is added in the pass that
 * applies the activation's derivative. A slot with several users is never changed in place.
 */
#include "config.h"

#include <stdlib.h>

#include "train/compute/backend_ops.h"

/* A free slot that is large enough and the smallest such, or the largest free one, which grows, or
 * a new one; fresh: a new one. graph->slot has room for as many as there are requests. */
static tw_gradient_slot_t *slot_take(tw_graph_t *graph, size_t bytes, int fresh)
{
    tw_gradient_slot_t *best = NULL;

    for (size_t i = 0; !fresh && i < graph->slots; i++) {
        tw_gradient_slot_t *s = &graph->slot[i];

        if (s->users == 0 &&
            (best == NULL || (best->bytes < bytes ? s->bytes > best->bytes
                                                  : s->bytes >= bytes && s->bytes < best->bytes))) {
            best = s;
        }
    }
    if (best == NULL) {
        best = &graph->slot[graph->slots++];
    }
    best->bytes = best->bytes < bytes ? bytes : best->bytes;
    best->users = 1;
    return best;
}

static void need_slot(tw_tensor_t *t)
{
    if (t->grad_slot == NULL) {
        t->grad_slot = slot_take(t->graph, t->count * sizeof(float), 0);
    }
}

/* The slot of y's gradient after addend and activation: in place if y alone uses it. Normalisations
 * settle theirs early, when operations that come before them backward may not be done yet: no
 * memory of those. */
static void plan_settled(tw_op_t *op)
{
    tw_tensor_t        *y     = op->y;
    tw_gradient_slot_t *first = y->grad_slot != NULL ? y->grad_slot : y->addend_slot;

    y->settled_slot = first;
    if ((op->masked || y->addend_slot != NULL) && first->users > 1) {
        y->settled_slot = slot_take(op->graph, y->count * sizeof(float), op->class->early);
        first->users--;
    }
    if (y->addend_slot != NULL && y->addend_slot != first) {
        y->addend_slot->users--;
    }
}

static void plan_input(tw_op_t *op, size_t i)
{
    tw_tensor_t        *x    = op->x[i];
    tw_gradient_slot_t *slot = op->y->settled_slot;

    if (op->passes[i] && x->consumers == 1) {
        op->handing[i] = TW_HAND_MEMORY;
        x->grad_slot   = slot;
        slot->users++;
    } else if (op->passes[i] && x->addend_slot == NULL) {
        op->handing[i] = TW_HAND_ADDEND;
        x->addend_slot = slot;
        slot->users++;
    } else if (op->class->in_place && x->consumers == 1 && slot->users == 1) {
        x->grad_slot = slot;
        slot->users++;
    } else {
        op->handing[i] = TW_HAND_COPY;
        need_slot(x);
    }
}

/* Behind a rectification that only a maximum uses, the maximum's own gradient is cut off where it
 * is 0: the same units, but fewer of them to go over. */
static void move_mask(tw_op_t *op)
{
    const tw_tensor_t *x = op->x[0];

    if (x->consumers == 1 && x->producer->masked && x->producer->activation == TW_RELU) {
        x->producer->masked = 0;
        op->activation      = TW_RELU;
        op->masked          = 1;
    }
}

static int plan_op(tw_op_t *op, tw_problem_t *problem)
{
    tw_tensor_t *y = op->y;

    if (y->grad_slot == NULL && y->addend_slot == NULL) {
        return tw_problem_set(problem, "nothing uses the result of a layer (%s)", op->class->name);
    }
    if (op->maximum && op->x[0]->wanted) {
        move_mask(op);
    }
    plan_settled(op);
    for (size_t i = 0; i < op->inputs; i++) {
        if (op->x[i]->wanted) {
            plan_input(op, i);
        }
    }
    y->settled_slot->users--;
    return 0;
}

int tw_gradients_plan(tw_graph_t *graph, tw_problem_t *problem)
{
    size_t tensors = 0;

    for (tw_tensor_t *t = graph->tensors; t != NULL; t = t->next) {
        tensors++;
    }
    graph->slot = calloc(2 * tensors + 1, sizeof(*graph->slot));
    if (graph->slot == NULL) {
        return tw_problem_set(problem, "no memory for gradients");
    }
    for (tw_op_t *op = graph->last; op != NULL; op = op->before) {
        if (op->y->wanted && plan_op(op, problem) != 0) {
            return -1;
        }
    }
    for (size_t i = 0; i < graph->slots; i++) {
        void *p;

        if (tw_backend_allocate(graph->backend, graph->slot[i].bytes, &p, problem) != 0) {
            return -1;
        }
        graph->slot[i].data = p;
    }
    for (tw_tensor_t *t = graph->tensors; t != NULL; t = t->next) {
        t->grad    = t->grad_slot == NULL ? NULL : t->grad_slot->data;
        t->settled = t->settled_slot == NULL ? NULL : t->settled_slot->data;
    }
    return 0;
}

/* out = (grad + addend) * derivative of the activation at y, where there are such. */
static void settle(tw_op_t *op)
{
    tw_tensor_t          *y    = op->y;
    const tw_activation_t how  = op->masked ? op->activation : TW_LINEAR;
    const float          *g    = y->written ? y->grad : y->addend;
    const float          *more = y->written ? y->addend : NULL;

    if (g == NULL) {
        (void)tw_problem_set(&op->graph->failure,
                             "a layer (%s) is run backward before those that use it",
                             op->class->name);
        return;
    }
    if (g != y->settled || more != NULL || how != TW_LINEAR) {
        op->graph->backend->ops->settle(y, g, more, how);
    }
}

float *tw_gradient_settled(tw_op_t *op)
{
    if (!op->settled) {
        settle(op);
        op->settled = 1;
    }
    return op->y->settled;
}

float *tw_gradient_take(tw_tensor_t *x)
{
    return x->written ? x->graph->backend->sum : x->grad;
}

void tw_gradient_put(tw_tensor_t *x, float *data)
{
    if (!x->written) {
        x->written = 1;
        return;
    }
    x->graph->backend->ops->add_gradient(x, data);
}

void tw_gradient_hand(tw_op_t *op, size_t i)
{
    tw_tensor_t *x = op->x[i];
    float       *g = tw_gradient_settled(op), *to;

    if (op->handing[i] == TW_HAND_MEMORY) {
        x->written = 1;
    } else if (op->handing[i] == TW_HAND_ADDEND) {
        x->addend = g;
    } else {
        to = tw_gradient_take(x);
        (void)tw_backend_copy(op->graph->backend, to, g, x->count * sizeof(float),
                              &op->graph->failure);
        tw_gradient_put(x, to);
    }
}
