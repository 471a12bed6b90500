/* SPDX-License-Identifier: BSD-3-Clause
 * model/head_pass.c - one run of a head on some examples: forward, loss, backward.
 *
 * Backward computes a layer's gradient by its inputs first, so that its reduction over the ranks
 * overlaps with the computation of the gradient of the weights.
 */
#include "config.h"

#include "train/model/head_inside.h"

static size_t number_of(const tw_head_t *head, const tw_head_layer_t *layer)
{
    return (size_t)(layer->dense - head->network->layer);
}

static int before(const tw_head_t *head, const tw_head_layer_t *layer)
{
    return head->how.before != NULL ? head->how.before(head->how.user, number_of(head, layer)) : 0;
}

static void ready(const tw_head_t *head, const tw_head_layer_t *layer)
{
    if (head->how.ready != NULL) {
        head->how.ready(head->how.user, number_of(head, layer));
    }
}

static int64_t head_pass_begin(const tw_head_t *head, const char *name,
                               const tw_head_layer_t *layer)
{
    return tw_trace_begin(head->how.trace, TW_TRACE_COMPUTE, name, (int64_t)number_of(head, layer));
}

static void end(const tw_head_t *head, int64_t span, const tw_head_layer_t *layer, int backward)
{
    tw_trace_end(head->how.trace, span);
    if (head->how.worked != NULL) {
        head->how.worked(head->how.user, number_of(head, layer), backward);
    }
}

/* ---- dropout -------------------------------------------------------------------------------- */

static tw_dense_drop_t drop_of(const tw_head_t *head, const tw_head_pass_t *pass,
                               const tw_network_layer_t *layer)
{
    return (tw_dense_drop_t){pass->seed, pass->step, layer->drop,
                             tw_drop_rate(layer->rate, pass->less), head->examples};
}

/* The dropouts before the first dense layer, of rows of examples; to may be from. */
static void drop_inputs(const tw_head_t *head, const tw_head_pass_t *pass, float *to,
                        const float *from)
{
    tw_dense_drop_t drop[TW_NETWORK_DROPOUTS_MAX];

    for (size_t k = 0; k < head->drops; k++) {
        drop[k] = drop_of(head, pass, &head->drop[k]);
    }
    head->ops->drop(head->dense, to, from, pass->n, head->features, drop, head->drops);
}

/* The input of a first layer with groups, group by group. */
static int group_inputs(const tw_head_t *head, const tw_head_pass_t *pass, tw_problem_t *problem)
{
    const float *x = head->drops > 0 && pass->training ? head->x : pass->x;

    return tw_head_regroup(head, head->grouped, (float *)(uintptr_t)x, pass->n, 0, problem);
}

/* ---- forward -------------------------------------------------------------------------------- */

static void head_pass_activate(const tw_head_t *head, const tw_head_pass_t *pass,
                               const tw_head_layer_t *layer)
{
    const size_t           drops = pass->training ? layer->drops : 0;
    const tw_dense_drop_t *first = NULL;
    tw_dense_drop_t        drop;

    if (drops > 0) {
        drop  = drop_of(head, pass, &layer->drop[0]);
        first = &drop;
    }
    head->ops->activate(head->dense, layer->y, layer->b, layer->units, pass->n,
                        layer->dense->activation, first, layer->first);
    for (size_t k = 1; k < drops; k++) {
        drop = drop_of(head, pass, &layer->drop[k]);
        head->ops->mask(head->dense, layer->y, layer->units, pass->n, &drop, layer->first);
    }
}

static int in_rows(const tw_head_t *head, size_t n)
{
    return n <= head->dense->rows;
}

/* The input of layer l and its layout. */
static const float *input_of(const tw_head_t *head, const tw_head_pass_t *pass, size_t l,
                             int *rows_p)
{
    *rows_p = l == 0 || in_rows(head, pass->n);
    if (l == 0) {
        return head->layer[0].groups > 1           ? head->grouped
               : head->drops > 0 && pass->training ? head->x
                                                   : pass->x;
    }
    return *rows_p ? head->layer[l - 1].rows : head->layer[l - 1].all;
}

/* The outputs of a layer that is split by input. *span_p: of the work around the exchange. */
static int forward_added(tw_head_t *head, const tw_head_layer_t *layer, size_t n, int64_t *span_p,
                         tw_problem_t *problem)
{
    float *sum = head->comm == NULL ? layer->y : head->sum;

    tw_head_added_forward(head, layer, n, in_rows(head, n), sum);
    if (head->comm == NULL) {
        return 0;
    }
    tw_trace_end(head->how.trace, *span_p);
    if (tw_head_add(head, layer, n, sum, problem) != 0) {
        return -1;
    }
    *span_p = head_pass_begin(head, "forward", layer);
    return 0;
}

static int head_pass_forward(tw_head_t *head, const tw_head_pass_t *pass, size_t l,
                             tw_problem_t *problem)
{
    const tw_head_layer_t *layer = &head->layer[l];
    int                    rows;
    const float           *x = input_of(head, pass, l, &rows);
    int64_t                span;

    if (before(head, layer) != 0) {
        return -1;
    }
    span = head_pass_begin(head, "forward", layer);
    if (!layer->by_input) {
        tw_head_forward(head, layer, pass->n, rows, x);
    } else if (forward_added(head, layer, pass->n, &span, problem) != 0) {
        return -1;
    }
    head_pass_activate(head, pass, layer);
    end(head, span, layer, 0);
    if (l + 1 == head->layers || layer[1].by_input) {
        return 0;
    }
    if (head->comm != NULL && tw_head_gather(head, layer, pass->n, problem) != 0) {
        return -1;
    }
    if (in_rows(head, pass->n)) {
        tw_head_turn(head, layer + 1, layer->rows, layer->all, pass->n, 0);
    }
    return 0;
}

/* ---- backward ------------------------------------------------------------------------------- */

/* From the gradient by a layer's own outputs to that before dropout and activation. */
static void deactivate(const tw_head_t *head, const tw_head_pass_t *pass,
                       const tw_head_layer_t *layer, float *d)
{
    float scale = 1.0f;

    for (size_t k = 0; pass->training && k < layer->drops; k++) {
        const tw_dense_drop_t drop = drop_of(head, pass, &layer->drop[k]);

        scale *= tw_drop_make(0, drop.rate).scale;
        if (layer->dense->activation == TW_LINEAR) {
            head->ops->mask(head->dense, d, layer->units, pass->n, &drop, layer->first);
        }
    }
    head->ops->deactivate(head->dense, d, layer->y, layer->units, pass->n, layer->dense->activation,
                          scale);
}

/* e: this rank's summand of the gradient by a layer's inputs. */
static void backward_inputs(const tw_head_t *head, const tw_head_layer_t *layer, size_t n, int rows,
                            const float *d, float *e)
{
    const int64_t span = head_pass_begin(head, "backward", layer);

    tw_head_backward(head, layer, n, rows, d, e);
    end(head, span, layer, 1);
}

/* From the gradients by all outputs of a layer that is split by input to those by its inputs. */
static int backward_spread(tw_head_t *head, const tw_head_layer_t *layer, size_t n, const float *d,
                           float *below, tw_problem_t *problem)
{
    int64_t span;

    if (head->comm != NULL && tw_head_spread(head, layer, n, d, problem) != 0) {
        return -1;
    }
    span = head_pass_begin(head, "backward", layer);
    tw_head_added_backward(head, layer, n, in_rows(head, n), d, below);
    end(head, span, layer, 1);
    return 0;
}

/* The gradient by the own outputs of the layer below, there after tw_head_scatter_wait(). */
static int backward_below(tw_head_t *head, const tw_head_pass_t *pass, size_t l, const float *d,
                          float *below, tw_problem_t *problem)
{
    const tw_head_layer_t *layer = &head->layer[l];
    const int              rows  = in_rows(head, pass->n);
    float                 *sum   = head->comm == NULL ? below : head->sum;

    if (layer->by_input) {
        return backward_spread(head, layer, pass->n, d, below, problem);
    }
    backward_inputs(head, layer, pass->n, rows, d, rows ? head->sum_rows : sum);
    if (rows) {
        tw_head_turn(head, layer, sum, head->sum_rows, pass->n, 1);
    }
    return head->comm == NULL
               ? 0
               : tw_head_scatter(head, &head->layer[l - 1], pass->n, sum, below, problem);
}

static int backward_input(const tw_head_t *head, const tw_head_pass_t *pass, const float *d,
                          tw_problem_t *problem)
{
    const int grouped = head->layer[0].groups > 1;

    if (pass->gx == NULL) {
        return 0;
    }
    backward_inputs(head, &head->layer[0], pass->n, 1, d,
                    grouped ? head->grouped_gradient : pass->gx);
    if (grouped &&
        tw_head_regroup(head, head->grouped_gradient, pass->gx, pass->n, 1, problem) != 0) {
        return -1;
    }
    if (pass->training && head->drops > 0) {
        drop_inputs(head, pass, pass->gx, pass->gx);
    }
    return 0;
}

static void backward_weights(const tw_head_t *head, const tw_head_pass_t *pass, size_t l,
                             const float *d)
{
    const tw_head_layer_t *layer = &head->layer[l];
    int                    rows;
    const float           *x    = input_of(head, pass, l, &rows);
    const int64_t          span = head_pass_begin(head, "gradient", layer);

    if (layer->gb != NULL) {
        head->ops->sum(head->dense, layer->gb, d, layer->units, pass->n, pass->accumulate);
    }
    if (layer->by_input) {
        tw_head_added_gradient(head, layer, pass->n, in_rows(head, pass->n), d, pass->accumulate);
    } else {
        tw_head_gradient(head, layer, pass->n, rows, d, x, pass->accumulate);
    }
    end(head, span, layer, 1);
    ready(head, layer);
}

static int head_pass_backward(tw_head_t *head, const tw_head_pass_t *pass, tw_problem_t *problem)
{
    const float *d = head->layer[head->layers - 1].y;

    for (size_t l = head->layers - 1; l > 0; l--) {
        float *below = head->gradient[l % 2];

        if (backward_below(head, pass, l, d, below, problem) != 0) {
            return -1;
        }
        backward_weights(head, pass, l, d);
        if (head->comm != NULL && !head->layer[l].by_input &&
            tw_head_scatter_wait(head, &head->layer[l - 1], problem) != 0) {
            return -1;
        }
        deactivate(head, pass, &head->layer[l - 1], below);
        d = below;
    }
    if (backward_input(head, pass, d, problem) != 0) {
        return -1;
    }
    backward_weights(head, pass, 0, d);
    return 0;
}

/* ---- the pass ------------------------------------------------------------------------------- */

static int head_pass_check(const tw_head_t *head, const tw_head_pass_t *pass, tw_problem_t *problem)
{
    if (pass->n > head->rows_max) {
        return tw_problem_set(problem, "a pass of %zu examples; the dense layers were made for %zu",
                              pass->n, head->rows_max);
    }
    for (size_t j = 0; j < pass->n; j++) {
        if (pass->labels[j] >= head->network->classes) {
            return tw_problem_set(problem, "a label is %lu; the network has %zu classes",
                                  (unsigned long)pass->labels[j], head->network->classes);
        }
    }
    return 0;
}

/* No examples: nothing to exchange, but gradients all the same. */
static int clear(const tw_head_t *head, tw_problem_t *problem)
{
    for (size_t l = head->layers; l-- > 0;) {
        const tw_head_layer_t *layer = &head->layer[l];
        const size_t           units = layer->units * sizeof(float);

        if (tw_backend_zero(head->backend, layer->gw, layer->weights * sizeof(float), problem) !=
                0 ||
            (layer->gb != NULL && tw_backend_zero(head->backend, layer->gb, units, problem) != 0)) {
            return -1;
        }
        ready(head, layer);
    }
    return 0;
}

/* What the pass says of its examples, to where it is computed. */
static int put(tw_head_t *head, const tw_head_pass_t *pass, tw_problem_t *problem)
{
    return tw_backend_put(head->backend, head->labels, pass->labels,
                          pass->n * sizeof(*pass->labels), problem) != 0 ||
                   (pass->training &&
                    tw_backend_put(head->backend, head->examples, pass->examples,
                                   pass->n * sizeof(*pass->examples), problem) != 0)
               ? -1
               : 0;
}

static int head_pass_run(tw_head_t *head, const tw_head_pass_t *pass, tw_problem_t *problem)
{
    const tw_head_layer_t *last = &head->layer[head->layers - 1];
    const int              both = pass->training || pass->gx != NULL;

    if (pass->training && head->drops > 0) {
        drop_inputs(head, pass, head->x, pass->x);
    }
    if (head->layer[0].groups > 1 && group_inputs(head, pass, problem) != 0) {
        return -1;
    }
    for (size_t l = 0; l < head->layers; l++) {
        if (head_pass_forward(head, pass, l, problem) != 0) {
            return -1;
        }
    }
    if (pass->outputs != NULL) {
        head->ops->view(head->dense, pass->outputs, last->y, last->units * pass->n, pass->view,
                        pass->views);
        if (pass->view + 1 < pass->views) {
            return 0;
        }
    }
    if (tw_head_loss(head, pass, both, problem) != 0 ||
        (both && head_pass_backward(head, pass, problem) != 0)) {
        return -1;
    }
    return pass->count ? tw_head_wrong(head, pass, problem) : 0;
}

/* The backend may fail on this rank alone, while those that share the layers wait for it: so the
 * pass goes on to its exchanges, whatever is in them, and the failure is told at the end. */
static int run_all(tw_head_t *head, const tw_head_pass_t *pass, tw_problem_t *problem)
{
    int status = put(head, pass, problem);

    if (head_pass_run(head, pass, problem) != 0) {
        return -1;
    }
    if (head->ops->check(head->dense, problem) != 0) {
        status = -1;
    }
    problem->fatal |= status != 0 && head->comm != NULL;
    return status;
}

int tw_head_run(tw_head_t *head, const tw_head_pass_t *pass, tw_problem_t *problem)
{
    int status;

    if (head_pass_check(head, pass, problem) != 0) {
        return -1;
    }
    if (pass->n == 0) {
        status =
            (pass->training || pass->gx != NULL) && !pass->accumulate ? clear(head, problem) : 0;
        problem->fatal |= status != 0 && head->comm != NULL;
        return status;
    }
    status = run_all(head, pass, problem);
    if (status != 0 && head->comm != NULL) {
        tw_head_abandon(head);
    }
    return status;
}
