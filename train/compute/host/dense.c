/* SPDX-License-Identifier: BSD-3-Clause
 * host/dense.c - dense layers on the processor: the loops of units.c and the products of product.c
 * behind the table of dense.h; and the optimizers of update.c behind that of the backend.
 */
#include "config.h"

#include <stdlib.h>

#include "train/compute/host/dense.h"
#include "train/compute/host/host.h"
#include "train/base/random.h"

static size_t least(size_t a, size_t b)
{
    return a < b ? a : b;
}

/* ---- products ------------------------------------------------------------------------------- */

static void dense_forward(tw_dense_t *dense, const tw_product_size_t *size, float *y,
                          const float *w, const float *x)
{
    tw_product_forward(&tw_host_dense_of(dense)->product, size, y, w, x);
}

static void dense_backward(tw_dense_t *dense, const tw_product_size_t *size, float *e,
                           const float *w, const float *d, size_t from, size_t to)
{
    tw_product_backward(&tw_host_dense_of(dense)->product, size, e, w, d, from, to);
}

static void gradient(tw_dense_t *dense, const tw_product_size_t *size, float *g, const float *d,
                     const float *x, int add)
{
    tw_product_gradient(&tw_host_dense_of(dense)->product, size, g, d, x, add);
}

static void transpose(tw_dense_t *dense, float *to, const float *from, size_t rows, size_t columns)
{
    tw_transpose(to, from, rows, columns, tw_host_dense_of(dense)->threads);
}

/* ---- dropout -------------------------------------------------------------------------------- */

static tw_drop_t drop_of(const tw_dense_drop_t *drop, size_t j)
{
    return tw_drop_make(tw_random_key(drop->seed, TW_RANDOM_DROPOUT, drop->step,
                                      drop->examples[j] * TW_NETWORK_DROPOUTS_MAX + drop->layer),
                        drop->rate);
}

/* The masks of a dropout layer, until the next call. */
static tw_masks_t masks_of(const tw_host_dense_t *host, const tw_dense_drop_t *drop, size_t n)
{
    const tw_drop_t all   = tw_drop_make(0, drop->rate);
    tw_masks_t      masks = {all.threshold, all.scale, host->keys, host->keys + n};

    for (size_t j = 0; j < n; j++) {
        const uint64_t key = drop_of(drop, j).key;

        masks.low[j]  = (uint32_t)key;
        masks.high[j] = (uint32_t)(key >> 32);
    }
    return masks;
}

static void mask(tw_dense_t *dense, float *y, size_t units, size_t n, const tw_dense_drop_t *drop,
                 size_t first)
{
    const tw_host_dense_t *host  = tw_host_dense_of(dense);
    const tw_masks_t       masks = masks_of(host, drop, n);

    host->loops->mask(y, units, n, &masks, first);
}

static void drop_rows(tw_dense_t *dense, float *to, const float *from, size_t n, size_t units,
                      const tw_dense_drop_t *drop, size_t drops)
{
    const tw_host_dense_t *host = tw_host_dense_of(dense);

#pragma omp parallel for num_threads(host->threads) if (host->threads > 1)
    for (size_t j = 0; j < n; j++) {
        for (size_t k = 0; k < drops; k++) {
            const tw_drop_t one = drop_of(&drop[k], j);

            host->loops->drop(to + j * units, (k == 0 ? from : to) + j * units, units, &one);
        }
    }
}

/* ---- outputs -------------------------------------------------------------------------------- */

static void dense_activate(tw_dense_t *dense, float *y, const float *bias, size_t units, size_t n,
                           tw_activation_t activation, const tw_dense_drop_t *drop, size_t first)
{
    const tw_host_dense_t *host = tw_host_dense_of(dense);
    const size_t           each = units / (size_t)host->threads + 1;
    tw_masks_t             masks;

    if (drop != NULL) {
        masks = masks_of(host, drop, n);
    }
#pragma omp parallel for num_threads(host->threads) if (host->threads > 1)
    for (size_t u = 0; u < units; u += each) {
        host->loops->forward(y + u * n, bias == NULL ? NULL : bias + u, least(each, units - u), n,
                             activation, drop != NULL ? &masks : NULL, first + u);
    }
}

static void deactivate(tw_dense_t *dense, float *d, const float *y, size_t units, size_t n,
                       tw_activation_t activation, float scale)
{
    const tw_host_dense_t *host = tw_host_dense_of(dense);
    const size_t           each = units / (size_t)host->threads + 1;

#pragma omp parallel for num_threads(host->threads) if (host->threads > 1)
    for (size_t u = 0; u < units; u += each) {
        host->loops->backward(d + u * n, y + u * n, least(each, units - u), n, activation, scale);
    }
}

static void sum_examples(tw_dense_t *dense, float *sum, const float *d, size_t units, size_t n,
                         int add)
{
    tw_host_dense_of(dense)->loops->sums(sum, d, units, n, add);
}

static void view_outputs(tw_dense_t *dense, float *sum, float *y, size_t count, size_t view,
                         size_t views)
{
    (void)dense;
    for (size_t i = 0; i < count; i++) {
        sum[i] = view == 0 ? y[i] : sum[i] + y[i];
    }
    for (size_t i = 0; i < count && view + 1 == views; i++) {
        y[i] = sum[i] / (float)views;
    }
}

/* ---- the object ----------------------------------------------------------------------------- */

static void dense_destroy(tw_dense_t *dense)
{
    free(tw_host_dense_of(dense)->keys);
    free(dense);
}

static int dense_check(tw_dense_t *dense, tw_problem_t *problem)
{
    (void)dense, (void)problem;
    return 0;
}

static const tw_dense_ops_t ops = {
    .destroy      = dense_destroy,
    .check        = dense_check,
    .forward      = dense_forward,
    .backward     = dense_backward,
    .gradient     = gradient,
    .transpose    = transpose,
    .activate     = dense_activate,
    .mask         = mask,
    .deactivate   = deactivate,
    .sum          = sum_examples,
    .drop         = drop_rows,
    .view         = view_outputs,
    .keep_labels  = tw_host_keep_labels,
    .find_tops    = tw_host_find_tops,
    .exponentials = tw_host_exponentials,
    .softmax      = tw_host_softmax,
    .logistic     = tw_host_logistic,
    .count        = tw_host_count,
    .give         = tw_host_give,
};

int tw_host_dense(tw_backend_t *backend, size_t rows_max, tw_dense_t **dense_p,
                  tw_problem_t *problem)
{
    const tw_host_t *from = (const tw_host_t *)backend;
    tw_host_dense_t *host = calloc(1, sizeof(*host));

    if (host == NULL || (host->keys = calloc(2 * rows_max + 1, sizeof(*host->keys))) == NULL) {
        free(host);
        return tw_problem_set(problem, "out of memory");
    }
    host->base.ops  = &ops;
    host->loops     = TW_KERNELS_OF(from->kernels, tw_unit_loops);
    host->product   = tw_product_make(from->kernels, from->threads);
    host->threads   = from->threads;
    host->base.rows = host->product.thin->most;
    *dense_p        = &host->base;
    return 0;
}

/* ---- optimizers ----------------------------------------------------------------------------- */

static const tw_update_t *update_of(tw_backend_t *backend)
{
    return TW_KERNELS_OF(((tw_host_t *)backend)->kernels, tw_update);
}

int tw_host_sgd(tw_backend_t *backend, float *w, float *v, const float *g, size_t n,
                const tw_sgd_rule_t *rule, tw_problem_t *problem)
{
    (void)problem;
    update_of(backend)->sgd(w, v, g, n, rule);
    return 0;
}

int tw_host_rmsprop(tw_backend_t *backend, float *w, float *m, const float *g, size_t n,
                    const tw_rms_rule_t *rule, tw_problem_t *problem)
{
    (void)problem;
    update_of(backend)->rmsprop(w, m, g, n, rule);
    return 0;
}

int tw_host_max_norm(tw_backend_t *backend, float *w, size_t units, size_t per_unit, float most,
                     tw_problem_t *problem)
{
    (void)problem;
    update_of(backend)->max_norm(w, units, per_unit, most);
    return 0;
}
