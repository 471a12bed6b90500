/* SPDX-License-Identifier: BSD-3-Clause
 * host/norm.c - batch normalisation in phases, by own loops: whoever runs the graph may merge
 * moments and sums with those of other ranks in between.
 *
 * Two passes over memory forward and two backward, the rectification included: where a unit was cut
 * off is computed again from x, by the same operations. Moments are those of each run by chunks,
 * then of all examples, in double: no difference of large squares is ever taken. Every example
 * gives partial sums of its own, added in their order, so the number of threads changes nothing.
 */
#include "config.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "train/compute/host/host.h"

typedef struct tw_norm {
    tw_op_t      op;
    const float *gamma, *beta;
    float       *g_gamma, *g_beta;
    double       epsilon;
    int          relu;
    float       *norm, *back; /* [run][3][width] each: see loops.h                         */
    double      *partial;     /* [n][run][2][width]: means and squares, or sums of two kinds */
    double      *total;       /* [run][2][width]                                           */
    double      *inverse;     /* [c]: 1 / sqrt(var + epsilon)                              */
    double      *own;         /* [2 c]: this graph's sums                                  */
} tw_norm_t;

/* Where channel c's first of so many numbers stands. */
static size_t place(const tw_tensor_t *t, size_t c, size_t numbers)
{
    return c / t->width * numbers * t->width + c % t->width;
}

/* total = sum of partial over the examples. */
static void sum_partial(tw_norm_t *norm)
{
    const tw_tensor_t *x    = norm->op.x[0];
    const size_t       each = x->runs * 2 * x->width;

    memset(norm->total, 0, each * sizeof(double));
    for (size_t n = 0; n < norm->op.graph->n; n++) {
        const double *p = norm->partial + n * each;

        for (size_t i = 0; i < each; i++) {
            norm->total[i] += p[i];
        }
    }
}

/* To the sum of squares about their own means comes what the examples' means differ. */
static void add_between(tw_norm_t *norm)
{
    const tw_tensor_t *x     = norm->op.x[0];
    const size_t       width = x->width, n = norm->op.graph->n;

    for (size_t i = 0; i < n * x->runs; i++) {
        const double *means = norm->partial + i * 2 * width;
        double       *total = norm->total + i % x->runs * 2 * width;

        for (size_t k = 0; k < width; k++) {
            const double d = means[k] - total[k] / (double)n;

            total[width + k] += d * d * (double)x->rows;
        }
    }
}

static void phase_moments(tw_op_t *op, double *moments)
{
    tw_norm_t         *norm = (tw_norm_t *)op;
    const tw_host_t   *b    = tw_host_of(op->graph);
    const tw_tensor_t *x    = op->x[0];
    const size_t       run = x->rows * x->width, runs = op->graph->n * x->runs, c = x->shape.c;

#pragma omp parallel for num_threads(b->threads) if (b->threads > 1) schedule(static)
    for (size_t i = 0; i < runs; i++) {
        double *p = norm->partial + i * 2 * x->width;

        b->loops->moments(x->value + i * run, x->rows, x->width, p, p + x->width);
    }
    sum_partial(norm);
    add_between(norm);
    moments[0] = (double)op->graph->n * (double)x->rows;
    for (size_t i = 0; i < c; i++) {
        moments[1 + i]     = norm->total[place(x, i, 2)] / (double)op->graph->n;
        moments[1 + c + i] = norm->total[place(x, i, 2) + x->width];
    }
}

static void set_channel(tw_norm_t *norm, size_t c, double mean, double var)
{
    const tw_tensor_t *x  = norm->op.x[0];
    float             *at = norm->norm + place(x, c, 3);

    norm->inverse[c] = 1.0 / sqrt(var + norm->epsilon);
    at[0]            = (float)mean;
    at[x->width]     = (float)((double)norm->gamma[c] * norm->inverse[c]);
    at[2 * x->width] = norm->beta[c];
}

static void phase_set(tw_op_t *op, const double *moments)
{
    const size_t c = op->x[0]->shape.c;

    for (size_t i = 0; i < c; i++) {
        set_channel((tw_norm_t *)op, i, moments[1 + i], moments[1 + c + i] / moments[0]);
    }
}

static void phase_fixed(tw_op_t *op, const float *mean, const float *var)
{
    for (size_t i = 0; i < op->x[0]->shape.c; i++) {
        set_channel((tw_norm_t *)op, i, (double)mean[i], (double)var[i]);
    }
}

static void norm_forward(tw_op_t *op, const tw_op_pass_t *pass)
{
    const tw_norm_t   *norm = (tw_norm_t *)op;
    const tw_host_t   *b    = tw_host_of(op->graph);
    const tw_tensor_t *x    = op->x[0];
    const size_t       run = x->rows * x->width, runs = op->graph->n * x->runs;

    (void)pass;
#pragma omp parallel for num_threads(b->threads) if (b->threads > 1) schedule(static)
    for (size_t i = 0; i < runs; i++) {
        b->loops->normalise(op->y->value + i * run, x->value + i * run, x->rows, x->width,
                            norm->norm + i % x->runs * 3 * x->width, norm->relu);
    }
    if (op->activation == TW_LOGISTIC) {
        tw_activate(op->y, op->y->value, TW_LOGISTIC);
    }
}

static void phase_sums(tw_op_t *op, double *sums)
{
    tw_norm_t         *norm = (tw_norm_t *)op;
    const tw_host_t   *b    = tw_host_of(op->graph);
    const tw_tensor_t *x    = op->x[0];
    const float       *g    = tw_gradient_settled(op);
    const size_t       run = x->rows * x->width, runs = op->graph->n * x->runs, c = x->shape.c;

#pragma omp parallel for num_threads(b->threads) if (b->threads > 1) schedule(static)
    for (size_t i = 0; i < runs; i++) {
        double *p = norm->partial + i * 2 * x->width;

        b->loops->norm_sums(g + i * run, x->value + i * run, x->rows, x->width,
                            norm->norm + i % x->runs * 3 * x->width, norm->relu, p, p + x->width);
    }
    sum_partial(norm);
    for (size_t i = 0; i < c; i++) {
        norm->own[i]     = norm->total[place(x, i, 2)];
        norm->own[c + i] = norm->total[place(x, i, 2) + x->width] * norm->inverse[i];
    }
    memcpy(sums, norm->own, 2 * c * sizeof(double));
}

static void phase_set_sums(tw_op_t *op, const double *sums, const double *moments)
{
    tw_norm_t         *norm  = (tw_norm_t *)op;
    const tw_tensor_t *x     = op->x[0];
    const size_t       c     = x->shape.c;
    const double       count = moments[0];

    for (size_t i = 0; i < c; i++) {
        float *at = norm->back + place(x, i, 3);

        at[0]            = (float)(sums[i] / count);
        at[x->width]     = (float)(sums[c + i] / count * norm->inverse[i]);
        at[2 * x->width] = (float)((double)norm->gamma[i] * norm->inverse[i]);
    }
}

static int phase_running(tw_backend_t *backend, float *mean, float *var, const double *moments,
                         size_t c, double momentum, tw_problem_t *problem)
{
    const double freedom = moments[0] > 1.0 ? moments[0] - 1.0 : 1.0;

    (void)backend, (void)problem;
    for (size_t i = 0; moments[0] > 0.0 && i < c; i++) {
        mean[i] = (float)(momentum * mean[i] + (1.0 - momentum) * moments[1 + i]);
        var[i]  = (float)(momentum * var[i] + (1.0 - momentum) * moments[1 + c + i] / freedom);
    }
    return 0;
}

const tw_norm_ops_t tw_host_norm_ops = {.moments  = phase_moments,
                                        .set      = phase_set,
                                        .fixed    = phase_fixed,
                                        .sums     = phase_sums,
                                        .set_sums = phase_set_sums,
                                        .running  = phase_running};

static void backward_params(tw_op_t *op)
{
    const tw_norm_t *norm = (tw_norm_t *)op;
    const size_t     c    = op->x[0]->shape.c;

    for (size_t i = 0; norm->g_gamma != NULL && i < c; i++) {
        norm->g_gamma[i] = (float)norm->own[c + i];
        norm->g_beta[i]  = (float)norm->own[i];
    }
}

static void backward_data(tw_op_t *op)
{
    const tw_norm_t *norm = (tw_norm_t *)op;
    const tw_host_t *b    = tw_host_of(op->graph);
    tw_tensor_t     *x    = op->x[0];
    const float     *g    = tw_gradient_settled(op);
    float           *to   = tw_gradient_take(x);
    const size_t     run = x->rows * x->width, runs = op->graph->n * x->runs;

#pragma omp parallel for num_threads(b->threads) if (b->threads > 1) schedule(static)
    for (size_t i = 0; i < runs; i++) {
        const size_t at = i % x->runs * 3 * x->width;

        b->loops->norm_back(to + i * run, g + i * run, x->value + i * run, x->rows, x->width,
                            norm->norm + at, norm->back + at, norm->relu);
    }
    tw_gradient_put(x, to);
}

static void norm_destroy(tw_op_t *op)
{
    tw_norm_t *norm = (tw_norm_t *)op;

    free(norm->norm);
    free(norm->back);
    free(norm->partial);
    free(norm->total);
    free(norm->inverse);
    free(norm->own);
}

static int norm_make(tw_op_t *op, const tw_network_layer_t *layer, tw_op_params_t params,
                     tw_problem_t *problem)
{
    const tw_tensor_t *x    = op->x[0];
    const size_t       all  = x->runs * x->width;
    tw_norm_t         *norm = (tw_norm_t *)op;

    norm->relu    = layer->activation == TW_RELU;
    norm->epsilon = (double)layer->epsilon;
    norm->gamma   = params.w;
    norm->beta    = params.b;
    norm->g_gamma = params.gw;
    norm->g_beta  = params.gb;
    norm->norm    = calloc(3 * all, sizeof(float));
    norm->back    = calloc(3 * all, sizeof(float));
    norm->partial = calloc(2 * all * op->graph->n, sizeof(double));
    norm->total   = calloc(2 * all, sizeof(double));
    norm->inverse = calloc(x->shape.c, sizeof(double));
    norm->own     = calloc(2 * x->shape.c, sizeof(double));
    return norm->norm != NULL && norm->back != NULL && norm->partial != NULL &&
                   norm->total != NULL && norm->inverse != NULL && norm->own != NULL
               ? 0
               : tw_problem_set(problem, "no memory for batch statistics");
}

const tw_op_class_t tw_host_norm = {.name     = "norm",
                                    .bytes    = sizeof(tw_norm_t),
                                    .in_place = 1,
                                    .early    = 1,
                                    .forward  = norm_forward,
                                    .params   = backward_params,
                                    .data     = backward_data,
                                    .destroy  = norm_destroy,
                                    .make     = norm_make};
