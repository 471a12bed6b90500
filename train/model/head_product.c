/* SPDX-License-Identifier: BSD-3-Clause
 * model/head_product.c - the products of a head's layers with their inputs, see head_inside.h:
 * group by group, and in pieces, between which exchanges are advanced.
 */
#include "config.h"

#include "train/model/head_inside.h"

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

    if (head->how.between == NULL || head->ops->queued) {
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

static void between(const tw_head_t *head)
{
    if (head->how.between != NULL) {
        head->how.between(head->how.user);
    }
}

/* ---- groups --------------------------------------------------------------------------------- */

/* The group of this rank's unit u, and how many units from it on are of that group: `most` of them
 * at most. */
static size_t piece_of(const tw_head_layer_t *layer, size_t u, size_t most, size_t *group_p)
{
    const size_t each = layer->units_all / layer->groups, at = layer->first + u;

    *group_p = at / each;
    return least(least(most, each - at % each), layer->units - u);
}

/* This rank's units of group g, and the first of them, counted from its own first. */
static size_t units_of(const tw_head_layer_t *layer, size_t g, size_t *first_p)
{
    const size_t each = layer->units_all / layer->groups, own = layer->first + layer->units;
    const size_t from = g * each > layer->first ? g * each : layer->first;
    const size_t to   = least((g + 1) * each, own);

    *first_p = from < to ? from - layer->first : 0;
    return from < to ? to - from : 0;
}

void tw_head_turn(const tw_head_t *head, const tw_head_layer_t *layer, float *to, const float *from,
                  size_t n, int back)
{
    for (size_t g = 0; g < layer->groups; g++) {
        const size_t at = g * layer->fan * n;

        head->ops->transpose(head->dense, to + at, from + at, back ? n : layer->fan,
                             back ? layer->fan : n);
    }
}

int tw_head_regroup(const tw_head_t *head, float *grouped, float *x, size_t n, int back,
                    tw_problem_t *problem)
{
    const tw_head_layer_t *layer = &head->layer[0];

    for (size_t i = 0; i < n * layer->groups; i++) {
        const size_t g = i / n, j = i % n;
        float       *one = grouped + i * layer->fan, *other = x + j * layer->in + g * layer->fan;

        if (tw_backend_copy(head->backend, back ? other : one, back ? one : other,
                            layer->fan * sizeof(float), problem) != 0) {
            problem->fatal |= head->comm != NULL; /* others may not see it */
            return -1;
        }
    }
    return 0;
}

/* ---- products ------------------------------------------------------------------------------- */

void tw_head_forward(const tw_head_t *head, const tw_head_layer_t *layer, size_t n, int rows,
                     const float *x)
{
    tw_product_size_t size = {.in = layer->fan, .n = n, .rows = rows};
    const size_t      each = slice_of(head, layer->units, layer->fan, n);
    size_t            g;

    for (size_t u = 0; u < layer->units; u += size.units) {
        size.units = piece_of(layer, u, each, &g);
        head->ops->forward(head->dense, &size, layer->y + u * n, layer->w + u * layer->fan,
                           x + g * layer->fan * n);
        between(head);
    }
}

void tw_head_backward(const tw_head_t *head, const tw_head_layer_t *layer, size_t n, int rows,
                      const float *d, float *e)
{
    tw_product_size_t size = {.in = layer->fan, .n = n, .rows = rows};
    const size_t      each = slice_of(head, layer->fan, layer->units, n);
    size_t            first;

    for (size_t g = 0; g < layer->groups; g++) {
        size.units = units_of(layer, g, &first);
        for (size_t i = 0; i < layer->fan; i += each) {
            head->ops->backward(head->dense, &size, e + g * layer->fan * n,
                                layer->w + first * layer->fan, d + first * n, i,
                                i + least(each, layer->fan - i));
            between(head);
        }
    }
}

void tw_head_gradient(const tw_head_t *head, const tw_head_layer_t *layer, size_t n, int rows,
                      const float *d, const float *x, int add)
{
    tw_product_size_t size = {.in = layer->fan, .n = n, .rows = rows};
    const size_t      each = slice_of(head, layer->units, layer->fan, n);
    size_t            g;

    for (size_t u = 0; u < layer->units; u += size.units) {
        size.units = piece_of(layer, u, each, &g);
        head->ops->gradient(head->dense, &size, layer->gw + u * layer->fan, d + u * n,
                            x + g * layer->fan * n, add);
        between(head);
    }
}

/* ---- split by input -------------------------------------------------------------------------- */

/* The layer as the products above see it: its inputs on this rank are their units, its units their
 * inputs, so the one way's forward is the other's backward. */
static tw_head_layer_t turned_of(const tw_head_layer_t *layer, float *y)
{
    return (tw_head_layer_t){.in        = layer->units_all,
                             .units_all = layer->in,
                             .groups    = 1,
                             .fan       = layer->units_all,
                             .first     = layer[-1].first,
                             .units     = layer[-1].units,
                             .w         = layer->w,
                             .gw        = layer->gw,
                             .y         = y};
}

static const float *spread_of(const tw_head_t *head, const tw_head_layer_t *layer, int rows,
                              const float *d)
{
    return rows ? layer->rows : head->comm == NULL ? d : layer->all;
}

void tw_head_added_forward(const tw_head_t *head, const tw_head_layer_t *layer, size_t n, int rows,
                           float *sum)
{
    const tw_head_layer_t turned = turned_of(layer, NULL);

    tw_head_backward(head, &turned, n, rows, layer[-1].y, rows ? head->sum_rows : sum);
    if (rows) {
        tw_head_turn(head, &turned, sum, head->sum_rows, n, 1);
    }
}

void tw_head_added_backward(const tw_head_t *head, const tw_head_layer_t *layer, size_t n, int rows,
                            const float *d, float *below)
{
    const tw_head_layer_t turned = turned_of(layer, below);

    if (rows) {
        tw_head_turn(head, &turned, layer->rows, spread_of(head, layer, 0, d), n, 0);
    }
    tw_head_forward(head, &turned, n, rows, spread_of(head, layer, rows, d));
}

void tw_head_added_gradient(const tw_head_t *head, const tw_head_layer_t *layer, size_t n, int rows,
                            const float *d, int add)
{
    const tw_head_layer_t turned = turned_of(layer, NULL);

    tw_head_gradient(head, &turned, n, rows, layer[-1].y, spread_of(head, layer, rows, d), add);
}
