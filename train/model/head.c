/* SPDX-License-Identifier: BSD-3-Clause
 * model/head.c - see head.h: the parts of a head and its workspace. head_pass.c runs it.
 */
#include "config.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "train/model/head_inside.h"

/* ---- memory --------------------------------------------------------------------------------- */

/* a * b elements of that size in the backend's memory; NULL if the product overflows too. At least
 * one element, so that NULL is always a failure. */
static void *head_take(tw_head_t *head, size_t a, size_t b, size_t size)
{
    size_t n, bytes;
    void  *data;

    if (__builtin_mul_overflow(a, b, &n) || __builtin_mul_overflow(n + (n == 0), size, &bytes) ||
        bytes > SIZE_MAX - 64 ||
        tw_backend_allocate(head->backend, bytes, &data, &head->refused) != 0) {
        return NULL;
    }
    head->bytes += bytes;
    return data;
}

static int take_layer(tw_head_t *head, size_t l, size_t rows)
{
    tw_head_layer_t *layer = &head->layer[l];
    const int        inner = l + 1 < head->layers || layer->by_input; /* all its units are met */

    layer->y    = head_take(head, layer->units, head->rows_max, sizeof(float));
    layer->all  = layer->y;
    layer->rows = NULL;
    if (inner && head->comm != NULL) {
        layer->all = head_take(head, layer->units_all, head->rows_max, sizeof(float));
    }
    if (inner) {
        layer->rows = head_take(head, layer->units_all, rows, sizeof(float));
    }
    return layer->y == NULL || layer->all == NULL || (inner && layer->rows == NULL) ? -1 : 0;
}

static int take_layers(tw_head_t *head, size_t rows, size_t *units_p, size_t *all_p)
{
    for (size_t l = 0; l < head->layers; l++) {
        const tw_head_layer_t *layer = &head->layer[l];

        if (take_layer(head, l, rows) != 0) {
            return -1;
        }
        if (l + 1 < head->layers) {
            *units_p = layer->units > *units_p ? layer->units : *units_p;
        }
        if (l + 1 < head->layers || layer->by_input) {
            *all_p = layer->units_all > *all_p ? layer->units_all : *all_p;
        }
    }
    return 0;
}

static int take_loss(tw_head_t *head)
{
    const size_t n = head->rows_max;

    head->loss.label = head_take(head, n, 1, sizeof(float));
    head->loss.mine  = head_take(head, n, TW_TOPS + 1, sizeof(float));
    head->loss.loss  = head_take(head, n, 1, sizeof(double));
    head->all        = head_take(head, n, (TW_TOPS + 1) * (size_t)head->ranks, sizeof(float));
    head->labels     = head_take(head, n, 1, sizeof(uint32_t));
    head->examples   = head_take(head, n, 1, sizeof(uint64_t));
    head->sums       = head_take(head, 1, 1, sizeof(tw_dense_sums_t));
    return head->loss.label == NULL || head->loss.mine == NULL || head->loss.loss == NULL ||
                   head->all == NULL || head->labels == NULL || head->examples == NULL ||
                   head->sums == NULL
               ? -1
               : 0;
}

static int take_work(tw_head_t *head)
{
    const size_t most = head->dense->rows, n = head->rows_max;
    const size_t rows  = most < n ? most : n;
    size_t       units = 0, all = 0;

    if (take_layers(head, rows, &units, &all) != 0) {
        return -1;
    }
    head->x = head->drops > 0 ? head_take(head, n, head->features, sizeof(float)) : NULL;
    if (head->layer[0].groups > 1) {
        head->grouped          = head_take(head, n, head->features, sizeof(float));
        head->grouped_gradient = head_take(head, n, head->features, sizeof(float));
        if (head->grouped == NULL || head->grouped_gradient == NULL) {
            return -1;
        }
    }
    head->gradient[0] = head_take(head, units, n, sizeof(float));
    head->gradient[1] = head_take(head, units, n, sizeof(float));
    head->sum         = head->comm != NULL ? head_take(head, all, n, sizeof(float)) : NULL;
    head->sum_rows    = head_take(head, all, rows, sizeof(float));
    return (head->drops > 0 && head->x == NULL) || head->gradient[0] == NULL ||
                   head->gradient[1] == NULL || (head->comm != NULL && head->sum == NULL) ||
                   head->sum_rows == NULL
               ? -1
               : take_loss(head);
}

static void release_layers(tw_head_t *head)
{
    for (size_t l = 0; head->layer != NULL && l < head->layers; l++) {
        if (head->layer[l].all != head->layer[l].y) {
            tw_backend_release(head->backend, head->layer[l].all);
        }
        tw_backend_release(head->backend, head->layer[l].y);
        tw_backend_release(head->backend, head->layer[l].rows);
    }
}

void tw_head_destroy(tw_head_t *head)
{
    if (head == NULL) {
        return;
    }
    release_layers(head);
    tw_backend_release(head->backend, head->x);
    tw_backend_release(head->backend, head->grouped);
    tw_backend_release(head->backend, head->grouped_gradient);
    tw_backend_release(head->backend, head->gradient[0]);
    tw_backend_release(head->backend, head->gradient[1]);
    tw_backend_release(head->backend, head->sum);
    tw_backend_release(head->backend, head->sum_rows);
    tw_backend_release(head->backend, head->loss.label);
    tw_backend_release(head->backend, head->loss.mine);
    tw_backend_release(head->backend, head->loss.loss);
    tw_backend_release(head->backend, head->all);
    tw_backend_release(head->backend, head->labels);
    tw_backend_release(head->backend, head->examples);
    tw_backend_release(head->backend, head->sums);
    tw_dense_destroy(head->dense);
    free(head->layer);
    free(head->shares);
    free(head->counts);
    free(head);
}

size_t tw_head_hidden(const tw_head_t *head)
{
    return head->layers - 1;
}

const float *tw_head_hidden_outputs(const tw_head_t *head, size_t l, size_t *units_p)
{
    *units_p = head->layer[l].units;
    return head->layer[l].y;
}

size_t tw_head_outputs(const tw_head_t *head)
{
    return head->layer[head->layers - 1].units;
}

size_t tw_head_memory(const tw_head_t *head)
{
    return head->bytes;
}

/* ---- sums ----------------------------------------------------------------------------------- */

int tw_head_take(tw_head_t *head, double *loss_p, tw_head_wrong_t *wrong_p, tw_problem_t *problem)
{
    tw_dense_sums_t sums;

    if (tw_backend_get(head->backend, &sums, head->sums, sizeof(sums), problem) != 0 ||
        tw_backend_zero(head->backend, head->sums, sizeof(sums), problem) != 0) {
        return -1;
    }
    *loss_p = sums.loss;
    if (wrong_p != NULL) {
        *wrong_p = (tw_head_wrong_t){(size_t)sums.one, (size_t)sums.five};
    }
    return 0;
}

void tw_head_give(tw_head_t *head, float *extra)
{
    head->ops->give(head->dense, extra, head->sums);
}

/* ---- layers --------------------------------------------------------------------------------- */

/* Weights of the units, or of the inputs, that this rank has. */
static int weights_fit(const tw_head_t *head, const tw_params_t *params,
                       const tw_head_layer_t *layer, const tw_param_t *w)
{
    const size_t all  = layer->by_input ? layer->in : layer->units_all;
    const size_t each = layer->by_input ? layer->units_all : layer->fan;
    size_t       first;
    const size_t units =
        tw_params_share(all, head->ranks > 1 ? params->rank : 0, head->ranks, &first);

    return w != NULL && w->units_all == all && w->per_unit == each && w->units == units &&
           w->units_first == first;
}

/* A layer's tensors and where its units are. */
static int find_tensors(tw_head_t *head, const tw_params_t *params, size_t index,
                        tw_head_layer_t *layer, size_t *shares, tw_problem_t *problem)
{
    const tw_param_t *w = tw_params_find(params, index, TW_WEIGHT);
    const tw_param_t *b = tw_params_find(params, index, TW_BIAS);
    size_t            first, units;

    units =
        tw_params_share(layer->units_all, head->ranks > 1 ? params->rank : 0, head->ranks, &first);
    if (!weights_fit(head, params, layer, w) || (b == NULL) != !layer->dense->bias) {
        return tw_problem_set(problem,
                              "layer %s: its tensors are not those of a layer of %zu units on rank "
                              "%d of %d",
                              layer->dense->name, layer->units_all, params->rank, head->ranks);
    }
    layer->first   = first;
    layer->units   = units;
    layer->shares  = shares;
    layer->weights = w->count;
    layer->w       = params->value + w->first;
    layer->gw      = params->gradient + w->first;
    layer->b       = b == NULL ? NULL : params->value + b->first;
    layer->gb      = b == NULL ? NULL : params->gradient + b->first;
    for (int r = 0; r < head->ranks; r++) {
        shares[r] = tw_params_share(layer->units_all, r, head->ranks, &first);
    }
    return 0;
}

static int add_dense(tw_head_t *head, const tw_params_t *params, size_t index,
                     tw_problem_t *problem)
{
    const tw_network_layer_t *dense = &head->network->layer[index];
    tw_head_layer_t          *layer = &head->layer[head->layers];

    layer->dense     = dense;
    layer->drop      = dense + 1;
    layer->in        = tw_shape_size(dense->in);
    layer->units_all = dense->out.c;
    layer->by_input  = dense->by_input;
    layer->groups    = dense->groups;
    layer->fan       = layer->in / layer->groups;
    if (layer->in > INT_MAX || layer->units_all > INT_MAX) {
        return tw_problem_set(problem,
                              "layer %s: %zu inputs and %zu units; at most %d are possible",
                              dense->name, layer->in, layer->units_all, INT_MAX);
    }
    if (find_tensors(head, params, index, layer, head->shares + head->layers * (size_t)head->ranks,
                     problem) != 0) {
        return -1;
    }
    head->layers++;
    return 0;
}

/* Dense layers, each with the dropouts behind it. */
static int find_layers(tw_head_t *head, const tw_params_t *params, tw_problem_t *problem)
{
    const tw_network_t       *network = head->network;
    const tw_network_layer_t *last    = NULL;

    head->drop = &network->layer[network->first_dense];
    for (size_t i = network->first_dense; i < network->layers; i++) {
        const tw_network_layer_t *layer = &network->layer[i];

        if (layer->kind == TW_DENSE) {
            if (add_dense(head, params, i, problem) != 0) {
                return -1;
            }
        } else if (layer->kind != TW_DROPOUT) {
            return tw_problem_set(problem,
                                  "layer %s: only dense layers and dropout can follow a dense one",
                                  layer->name);
        } else if (head->layers > 0) {
            head->layer[head->layers - 1].drops++;
        } else {
            head->drops++;
        }
        last = layer;
    }
    if (last == NULL || last->kind != TW_DENSE || last->activation != TW_LINEAR ||
        last->out.c != network->classes) {
        return tw_problem_set(problem,
                              "network %s: the last layer must be dense and linear, with a "
                              "unit for each class",
                              network->name);
    }
    head->features = head->layer[0].in;
    return 0;
}

int tw_head_create(tw_head_t **head_p, const tw_network_t *network, tw_params_t *params,
                   const tw_head_how_t *how, size_t rows_max, tw_problem_t *problem)
{
    tw_head_t   *head   = calloc(1, sizeof(*head));
    const int    ranks  = how->comm == NULL ? 1 : tw_comm_size(how->comm);
    const size_t layers = network->layers - network->first_dense;

    if (head == NULL) {
        return tw_problem_set(problem, "out of memory");
    }
    *head        = (tw_head_t){.how      = *how,
                               .comm     = ranks > 1 ? how->comm : NULL,
                               .ranks    = ranks,
                               .backend  = params->backend,
                               .network  = network,
                               .rows_max = rows_max};
    head->layer  = calloc(layers + 1, sizeof(*head->layer));
    head->shares = calloc((layers + 1) * (size_t)ranks, sizeof(*head->shares));
    head->counts = calloc((size_t)ranks, sizeof(*head->counts));
    if (head->layer == NULL || head->shares == NULL || head->counts == NULL) {
        tw_head_destroy(head);
        return tw_problem_set(problem, "out of memory");
    }
    if (rows_max > INT_MAX) {
        tw_head_destroy(head);
        return tw_problem_set(problem, "passes of %zu examples; at most %d are possible", rows_max,
                              INT_MAX);
    }
    if (tw_backend_dense(head->backend, rows_max, &head->dense, problem) != 0 ||
        find_layers(head, params, problem) != 0) {
        tw_head_destroy(head);
        return -1;
    }
    head->ops = head->dense->ops;
    if (take_work(head) != 0) {
        tw_problem_set(problem, "the outputs of the dense layers, passes of %zu examples: %.400s",
                       rows_max, head->refused.set ? head->refused.text : "out of memory");
        tw_head_destroy(head);
        return -1;
    }
    *head_p = head;
    return 0;
}
