/* SPDX-License-Identifier: BSD-3-Clause
 * model/head_pass.c - one run of a head on some examples: forward, loss, backward.
 *
 * Backward, a layer's gradient by its inputs comes first, so that its sum over the ranks travels
 * while the gradient of the weights is computed.
 */
#include "config.h"

#include <string.h>

#include "train/model/head_inside.h"
#include "train/random.h"

/* Between two calls of the hook: about a millisecond's work. */
#define TW_SLICE_WEIGHTS  ((size_t)2 << 20)
#define TW_SLICE_PRODUCTS ((size_t)64 << 20)
#define TW_SLICE_LEAST    ((size_t)96)

/* How many of `all` rows of a matrix of weights, or columns, are worked on between two calls of
 * the hook; `across` weights each. */
static size_t slice_of(const tw_head_t *head, size_t all, size_t across, size_t n)
{
    size_t weights = TW_SLICE_PRODUCTS / (n + 1);
    size_t slice;

    if (head->how.between == NULL) {
        return all + 1;
    }
    weights = weights < TW_SLICE_WEIGHTS ? weights : TW_SLICE_WEIGHTS;
    slice   = weights / (across + 1) / TW_SLICE_LEAST * TW_SLICE_LEAST;
    return slice < TW_SLICE_LEAST ? TW_SLICE_LEAST : slice;
}

static size_t least(size_t a, size_t b)
{
    return a < b ? a : b;
}

static size_t number_of(const tw_head_t *head, const tw_head_layer_t *layer)
{
    return (size_t)(layer->dense - head->network->layer);
}

static int before(const tw_head_t *head, const tw_head_layer_t *layer)
{
    return head->how.before != NULL ? head->how.before(head->how.user, number_of(head, layer)) : 0;
}

static void between(const tw_head_t *head)
{
    if (head->how.between != NULL) {
        head->how.between(head->how.user);
    }
}

static void ready(const tw_head_t *head, const tw_head_layer_t *layer)
{
    if (head->how.ready != NULL) {
        head->how.ready(head->how.user, number_of(head, layer));
    }
}

static int64_t begin(const tw_head_t *head, const char *name, const tw_head_layer_t *layer)
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

static tw_drop_t drop_of(const tw_head_pass_t *pass, const tw_network_layer_t *layer, size_t j)
{
    return tw_drop_make(tw_random_key(pass->seed, TW_RANDOM_DROPOUT, pass->step,
                                      pass->examples[j] * TW_NETWORK_DROPOUTS_MAX + layer->drop),
                        layer->rate);
}

/* The masks of a dropout layer, until the next call. */
static tw_masks_t masks_of(tw_head_t *head, const tw_head_pass_t *pass,
                           const tw_network_layer_t *layer)
{
    const tw_drop_t drop  = tw_drop_make(0, layer->rate);
    tw_masks_t      masks = {drop.threshold, drop.scale, head->keys, head->keys + pass->n};

    for (size_t j = 0; j < pass->n; j++) {
        const uint64_t key = drop_of(pass, layer, j).key;

        masks.low[j]  = (uint32_t)key;
        masks.high[j] = (uint32_t)(key >> 32);
    }
    return masks;
}

/* The dropouts before the first dense layer, of rows of examples; to may be from. */
static void drop_inputs(const tw_head_t *head, const tw_head_pass_t *pass, float *to,
                        const float *from)
{
    const size_t f = head->features;

#pragma omp parallel for num_threads(head->how.threads) if (head->how.threads > 1)
    for (size_t j = 0; j < pass->n; j++) {
        for (size_t k = 0; k < head->drops; k++) {
            const tw_drop_t drop = drop_of(pass, &head->drop[k], j);

            head->loops->drop(to + j * f, (k == 0 ? from : to) + j * f, f, &drop);
        }
    }
}

/* ---- forward -------------------------------------------------------------------------------- */

static void activate(tw_head_t *head, const tw_head_pass_t *pass, const tw_head_layer_t *layer)
{
    const size_t n = pass->n, each = layer->units / (size_t)head->how.threads + 1;
    const size_t drops = pass->training ? layer->drops : 0;
    tw_masks_t   masks;

    if (drops > 0) {
        masks = masks_of(head, pass, &layer->drop[0]);
    }
#pragma omp parallel for num_threads(head->how.threads) if (head->how.threads > 1)
    for (size_t u = 0; u < layer->units; u += each) {
        head->loops->forward(layer->y + u * n, layer->b == NULL ? NULL : layer->b + u,
                             least(each, layer->units - u), n, layer->dense->activation,
                             drops > 0 ? &masks : NULL, layer->first + u);
    }
    for (size_t k = 1; k < drops; k++) {
        masks = masks_of(head, pass, &layer->drop[k]);
        head->loops->mask(layer->y, layer->units, n, &masks, layer->first);
    }
}

/* The input of layer l and its layout. */
static const float *input_of(const tw_head_t *head, const tw_head_pass_t *pass, size_t l,
                             int *rows_p)
{
    *rows_p = l == 0 || tw_product_rows(&head->product, pass->n);
    if (l == 0) {
        return head->drops > 0 && pass->training ? head->x : pass->x;
    }
    return *rows_p ? head->layer[l - 1].rows : head->layer[l - 1].all;
}

static int forward(tw_head_t *head, const tw_head_pass_t *pass, size_t l, tw_problem_t *problem)
{
    const tw_head_layer_t *layer = &head->layer[l];
    tw_product_size_t      size  = {.in = layer->in, .n = pass->n};
    const float           *x     = input_of(head, pass, l, &size.rows);
    const size_t           each  = slice_of(head, layer->units, layer->in, pass->n);
    int64_t                span;

    if (before(head, layer) != 0) {
        return -1;
    }
    span = begin(head, "forward", layer);
    for (size_t u = 0; u < layer->units; u += each) {
        size.units = least(each, layer->units - u);
        tw_product_forward(&head->product, &size, layer->y + u * pass->n, layer->w + u * layer->in,
                           x);
        between(head);
    }
    activate(head, pass, layer);
    end(head, span, layer, 0);
    if (l + 1 == head->layers) {
        return 0;
    }
    if (head->comm != NULL && tw_head_gather(head, layer, pass->n, problem) != 0) {
        return -1;
    }
    if (tw_product_rows(&head->product, pass->n)) {
        tw_transpose(layer->rows, layer->all, layer->units_all, pass->n, head->how.threads);
    }
    return 0;
}

/* ---- backward ------------------------------------------------------------------------------- */

/* From the gradient by a layer's own outputs to that before dropout and activation. */
static void deactivate(tw_head_t *head, const tw_head_pass_t *pass, const tw_head_layer_t *layer,
                       float *d)
{
    const size_t n = pass->n, each = layer->units / (size_t)head->how.threads + 1;
    float        scale = 1.0f;

    for (size_t k = 0; pass->training && k < layer->drops; k++) {
        scale *= tw_drop_make(0, layer->drop[k].rate).scale;
        if (layer->dense->activation == TW_LINEAR) {
            const tw_masks_t masks = masks_of(head, pass, &layer->drop[k]);

            head->loops->mask(d, layer->units, n, &masks, layer->first);
        }
    }
#pragma omp parallel for num_threads(head->how.threads) if (head->how.threads > 1)
    for (size_t u = 0; u < layer->units; u += each) {
        head->loops->backward(d + u * n, layer->y + u * n, least(each, layer->units - u), n,
                              layer->dense->activation, scale);
    }
}

/* e: this rank's summand of the gradient by a layer's inputs. */
static void backward_inputs(const tw_head_t *head, const tw_head_layer_t *layer, size_t n, int rows,
                            const float *d, float *e)
{
    const tw_product_size_t size = {layer->units, layer->in, n, rows};
    const size_t            each = slice_of(head, layer->in, layer->units, n);
    const int64_t           span = begin(head, "backward", layer);

    for (size_t i = 0; i < layer->in; i += each) {
        tw_product_backward(&head->product, &size, e, layer->w, d, i,
                            i + least(each, layer->in - i));
        between(head);
    }
    end(head, span, layer, 1);
}

/* The gradient by the own outputs of the layer below, there after tw_head_scatter_wait(). */
static int backward_below(tw_head_t *head, const tw_head_pass_t *pass, size_t l, const float *d,
                          float *below, tw_problem_t *problem)
{
    const tw_head_layer_t *layer = &head->layer[l];
    const int              rows  = tw_product_rows(&head->product, pass->n);
    float                 *sum   = head->comm == NULL ? below : head->sum;

    backward_inputs(head, layer, pass->n, rows, d, rows ? head->sum_rows : sum);
    if (rows) {
        tw_transpose(sum, head->sum_rows, pass->n, layer->in, head->how.threads);
    }
    return head->comm == NULL
               ? 0
               : tw_head_scatter(head, &head->layer[l - 1], pass->n, sum, below, problem);
}

static void backward_input(const tw_head_t *head, const tw_head_pass_t *pass, const float *d)
{
    if (pass->gx == NULL) {
        return;
    }
    backward_inputs(head, &head->layer[0], pass->n, 1, d, pass->gx);
    if (pass->training && head->drops > 0) {
        drop_inputs(head, pass, pass->gx, pass->gx);
    }
}

static void backward_weights(const tw_head_t *head, const tw_head_pass_t *pass, size_t l,
                             const float *d)
{
    const tw_head_layer_t *layer = &head->layer[l];
    tw_product_size_t      size  = {.in = layer->in, .n = pass->n};
    const float           *x     = input_of(head, pass, l, &size.rows);
    const size_t           each  = slice_of(head, layer->units, layer->in, pass->n);
    const int64_t          span  = begin(head, "gradient", layer);

    if (layer->gb != NULL) {
        head->loops->sums(layer->gb, d, layer->units, pass->n, pass->accumulate);
    }
    for (size_t u = 0; u < layer->units; u += each) {
        size.units = least(each, layer->units - u);
        tw_product_gradient(&head->product, &size, layer->gw + u * layer->in, d + u * pass->n, x,
                            pass->accumulate);
        between(head);
    }
    end(head, span, layer, 1);
    ready(head, layer);
}

static int backward(tw_head_t *head, const tw_head_pass_t *pass, tw_problem_t *problem)
{
    const float *d = head->layer[head->layers - 1].y;

    for (size_t l = head->layers - 1; l > 0; l--) {
        float *below = head->gradient[l % 2];

        if (backward_below(head, pass, l, d, below, problem) != 0) {
            return -1;
        }
        backward_weights(head, pass, l, d);
        if (head->comm != NULL && tw_head_scatter_wait(head, problem) != 0) {
            return -1;
        }
        deactivate(head, pass, &head->layer[l - 1], below);
        d = below;
    }
    backward_input(head, pass, d);
    backward_weights(head, pass, 0, d);
    return 0;
}

/* ---- the pass ------------------------------------------------------------------------------- */

static int check(const tw_head_t *head, const tw_head_pass_t *pass, tw_problem_t *problem)
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
static void clear(const tw_head_t *head)
{
    for (size_t l = head->layers; l-- > 0;) {
        const tw_head_layer_t *layer = &head->layer[l];

        memset(layer->gw, 0, layer->units * layer->in * sizeof(float));
        if (layer->gb != NULL) {
            memset(layer->gb, 0, layer->units * sizeof(float));
        }
        ready(head, layer);
    }
}

/* Of several views: their sum, and in the last pass their mean, takes the place of the outputs.
 * @return whether this is the last. */
static int average(const tw_head_t *head, const tw_head_pass_t *pass)
{
    const tw_head_layer_t *last = &head->layer[head->layers - 1];
    const size_t           n    = last->units * pass->n;
    const int              done = pass->view + 1 == pass->views;

    for (size_t i = 0; i < n; i++) {
        pass->outputs[i] = pass->view == 0 ? last->y[i] : pass->outputs[i] + last->y[i];
    }
    for (size_t i = 0; i < n && done; i++) {
        last->y[i] = pass->outputs[i] / (float)pass->views;
    }
    return done;
}

static int run(tw_head_t *head, const tw_head_pass_t *pass, double *loss_p,
               tw_head_wrong_t *wrong_p, tw_problem_t *problem)
{
    const int both = pass->training || pass->gx != NULL;

    if (pass->training && head->drops > 0) {
        drop_inputs(head, pass, head->x, pass->x);
    }
    for (size_t l = 0; l < head->layers; l++) {
        if (forward(head, pass, l, problem) != 0) {
            return -1;
        }
    }
    if (pass->outputs != NULL && !average(head, pass)) {
        return 0;
    }
    if (tw_head_loss(head, pass, both, wrong_p != NULL, loss_p, problem) != 0 ||
        (both && backward(head, pass, problem) != 0)) {
        return -1;
    }
    return wrong_p == NULL ? 0 : tw_head_wrong(head, pass, wrong_p, problem);
}

int tw_head_run(tw_head_t *head, const tw_head_pass_t *pass, double *loss_p,
                tw_head_wrong_t *wrong_p, tw_problem_t *problem)
{
    int status;

    *loss_p = 0.0;
    if (wrong_p != NULL) {
        *wrong_p = (tw_head_wrong_t){.one = 0};
    }
    if (check(head, pass, problem) != 0) {
        return -1;
    }
    if (pass->n == 0) {
        if ((pass->training || pass->gx != NULL) && !pass->accumulate) {
            clear(head);
        }
        return 0;
    }
    status = run(head, pass, loss_p, wrong_p, problem);
    if (status != 0 && head->comm != NULL) {
        tw_head_abandon(head);
    }
    return status;
}
