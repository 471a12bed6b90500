/* SPDX-License-Identifier: BSD-3-Clause
 * cuda/norm.c - batch normalisation in phases: whoever runs the graph may merge moments and sums
 * with those of other ranks in between. All numbers stay on the device; see norm.cu.
 */
#include "config.h"

#include "train/compute/cuda/cuda.h"

enum { PARTS = 2 * TW_TASK_WARP }; /* of a channel at most: what a warp adds at once */

typedef struct tw_gpu_norm {
    tw_op_t      op;
    const float *gamma, *beta;
    float       *g_gamma, *g_beta;
    double       epsilon;
    int          fused; /* linear or rectified in the same pass                    */
    size_t       parts; /* thread blocks that share a channel's sums               */
    void        *memory;
    double      *part;        /* [c][parts][2]             */
    double      *own;         /* [2][c]: this graph's sums */
    double      *inverse;     /* [c]                       */
    float       *norm, *back; /* [3][c] each           */
} tw_gpu_norm_t;

/* What all kernels are told. */
static tw_task_t task_of(const tw_gpu_norm_t *norm)
{
    const tw_tensor_t *x = norm->op.x[0];

    return (tw_task_t){
        .n = {x->shape.c, x->rows, x->graph->n}, .real = {norm->epsilon}, .flag = {norm->fused}};
}

/* One thread for a channel. */
static void per_channel(tw_gpu_norm_t *norm, tw_task_fn kernel, const tw_task_t *task)
{
    tw_graph_t *graph = norm->op.graph;

    (void)tw_gpu_start(tw_gpu_of(graph), kernel, task, task->n[0], &graph->failure);
}

/* A warp for a channel. */
static void warp_per_channel(tw_gpu_norm_t *norm, tw_task_fn kernel, const tw_task_t *task)
{
    const size_t per_block = TW_TASK_THREADS / TW_TASK_WARP;
    tw_graph_t  *graph     = norm->op.graph;

    (void)tw_gpu_start_blocks(tw_gpu_of(graph), kernel, task,
                              (task->n[0] + per_block - 1) / per_block, &graph->failure);
}

/* One thread for four numbers. */
static void per_number(tw_gpu_norm_t *norm, tw_task_fn kernel, tw_task_t *task)
{
    tw_graph_t *graph = norm->op.graph;

    task->n[3] = norm->op.y->count;
    (void)tw_gpu_start(tw_gpu_of(graph), kernel, task, TW_FOURS(task->n[3]), &graph->failure);
}

/* Parts of each channel, a thread block for each. */
static void per_part(tw_gpu_norm_t *norm, tw_task_fn kernel, tw_task_t *task)
{
    tw_graph_t *graph = norm->op.graph;

    task->n[3]  = norm->parts;
    task->to[0] = norm->part;
    (void)tw_gpu_start_blocks(tw_gpu_of(graph), kernel, task, task->n[0] * norm->parts,
                              &graph->failure);
}

static void phase_moments(tw_op_t *op, double *moments)
{
    tw_gpu_norm_t *norm = (tw_gpu_norm_t *)op;
    tw_task_t      task = task_of(norm);

    task.from[0] = op->x[0]->value;
    per_part(norm, tw_task_moments(), &task);
    task.from[1] = norm->part;
    task.to[0]   = moments;
    warp_per_channel(norm, tw_task_moments_end(), &task);
}

static void set_by(tw_op_t *op, tw_task_fn kernel, const void *first, const void *second)
{
    tw_gpu_norm_t *norm = (tw_gpu_norm_t *)op;
    tw_task_t      task = task_of(norm);

    task.from[0] = first;
    task.from[1] = second;
    task.from[2] = norm->gamma;
    task.from[3] = norm->beta;
    task.to[0]   = norm->norm;
    task.to[1]   = norm->inverse;
    per_channel(norm, kernel, &task);
}

static void phase_set(tw_op_t *op, const double *moments)
{
    set_by(op, tw_task_norm_set(), moments, NULL);
}

static void phase_fixed(tw_op_t *op, const float *mean, const float *var)
{
    set_by(op, tw_task_norm_fixed(), mean, var);
}

static void norm_forward(tw_op_t *op, const tw_op_pass_t *pass)
{
    tw_gpu_norm_t *norm = (tw_gpu_norm_t *)op;
    tw_task_t      task = task_of(norm);

    (void)pass;
    task.from[0] = op->x[0]->value;
    task.from[1] = norm->norm;
    task.to[0]   = op->y->value;
    per_number(norm, tw_task_normalise(), &task);
    if (op->activation == TW_LOGISTIC) {
        tw_gpu_activate(op->y, op->y->value, TW_LOGISTIC);
    }
}

static void phase_sums(tw_op_t *op, double *sums)
{
    tw_gpu_norm_t *norm = (tw_gpu_norm_t *)op;
    tw_task_t      task = task_of(norm);

    task.from[0] = tw_gradient_settled(op);
    task.from[1] = op->x[0]->value;
    task.from[2] = norm->norm;
    per_part(norm, tw_task_norm_sums(), &task);
    task.from[0] = norm->part;
    task.from[1] = norm->inverse;
    task.from[2] = NULL;
    task.to[0]   = sums;
    task.to[1]   = norm->own;
    warp_per_channel(norm, tw_task_norm_sums_end(), &task);
}

static void phase_set_sums(tw_op_t *op, const double *sums, const double *moments)
{
    tw_gpu_norm_t *norm = (tw_gpu_norm_t *)op;
    tw_task_t      task = task_of(norm);

    task.from[0] = sums;
    task.from[1] = moments;
    task.from[2] = norm->inverse;
    task.from[3] = norm->gamma;
    task.to[0]   = norm->back;
    per_channel(norm, tw_task_norm_set_sums(), &task);
}

static int phase_running(tw_backend_t *backend, float *mean, float *var, const double *moments,
                         size_t c, double momentum, tw_problem_t *problem)
{
    const tw_task_t task = {.from = {moments}, .to = {mean, var}, .n = {c}, .real = {momentum}};

    return tw_gpu_start((tw_gpu_t *)backend, tw_task_norm_running(), &task, c, problem);
}

const tw_norm_ops_t tw_gpu_norm_ops = {.moments  = phase_moments,
                                       .set      = phase_set,
                                       .fixed    = phase_fixed,
                                       .sums     = phase_sums,
                                       .set_sums = phase_set_sums,
                                       .running  = phase_running};

static void backward_params(tw_op_t *op)
{
    tw_gpu_norm_t *norm = (tw_gpu_norm_t *)op;
    tw_task_t      task = task_of(norm);

    if (norm->g_gamma != NULL) {
        task.from[0] = norm->own;
        task.to[0]   = norm->g_gamma;
        task.to[1]   = norm->g_beta;
        per_channel(norm, tw_task_norm_params(), &task);
    }
}

static void backward_data(tw_op_t *op)
{
    tw_gpu_norm_t *norm = (tw_gpu_norm_t *)op;
    tw_task_t      task = task_of(norm);

    task.from[0] = tw_gradient_settled(op);
    task.from[1] = op->x[0]->value;
    task.from[2] = norm->norm;
    task.from[3] = norm->back;
    task.to[0]   = tw_gradient_take(op->x[0]);
    per_number(norm, tw_task_norm_back(), &task);
    tw_gradient_put(op->x[0], task.to[0]);
}

static void norm_destroy(tw_op_t *op)
{
    tw_backend_release(op->graph->backend, ((tw_gpu_norm_t *)op)->memory);
}

/* One piece of memory for all. */
static int make_memory(tw_gpu_norm_t *norm, tw_problem_t *problem)
{
    const tw_tensor_t *x = norm->op.x[0];
    const size_t       c = x->shape.c, numbers = x->graph->n * x->rows;
    double            *next;

    norm->parts = numbers / 2048 < 1 ? 1 : numbers / 2048 < PARTS ? numbers / 2048 : PARTS;
    if (tw_backend_allocate(norm->op.graph->backend,
                            c * ((2 * norm->parts + 3) * sizeof(double) + 6 * sizeof(float)),
                            &norm->memory, problem) != 0) {
        return -1;
    }
    next          = norm->memory;
    norm->part    = next;
    norm->own     = norm->part + 2 * c * norm->parts;
    norm->inverse = norm->own + 2 * c;
    norm->norm    = (float *)(norm->inverse + c);
    norm->back    = norm->norm + 3 * c;
    return 0;
}

static int norm_make(tw_op_t *op, const tw_network_layer_t *layer, tw_op_params_t params,
                     tw_problem_t *problem)
{
    tw_gpu_norm_t *norm = (tw_gpu_norm_t *)op;

    norm->fused   = layer->activation == TW_RELU ? TW_TASK_RELU : TW_TASK_LINEAR;
    norm->epsilon = (double)layer->epsilon;
    norm->gamma   = params.w;
    norm->beta    = params.b;
    norm->g_gamma = params.gw;
    norm->g_beta  = params.gb;
    return make_memory(norm, problem);
}

const tw_op_class_t tw_gpu_norm = {.name     = "norm",
                                   .bytes    = sizeof(tw_gpu_norm_t),
                                   .in_place = 1,
                                   .early    = 1,
                                   .forward  = norm_forward,
                                   .params   = backward_params,
                                   .data     = backward_data,
                                   .destroy  = norm_destroy,
                                   .make     = norm_make};
