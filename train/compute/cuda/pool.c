/* SPDX-License-Identifier: BSD-3-Clause
 * cuda/pool.c - pooling and local response normalisation by cuDNN, and by an own kernel the
 * poolings whose last windows reach beyond the border: cuDNN rounds the number of windows down.
 */
#include "config.h"

#include "train/compute/cuda/cuda.h"

typedef struct tw_gpu_pool {
    tw_op_t                  op;
    int                      own; /* by own kernels                              */
    void                    *at;  /* where each maximum is, in memory of the device */
    tw_task_t                how; /* of own kernels                              */
    cudnnPoolingDescriptor_t windows;
    cudnnLRNDescriptor_t     lrn;
    cudnnTensorDescriptor_t  x, y; /* also of the gradients                      */
} tw_gpu_pool_t;

static const float one = 1.0f, none = 0.0f;

/* ---- pooling ---- */

static void pool_own(tw_gpu_pool_t *pool, int back)
{
    tw_op_t     *op   = &pool->op;
    tw_task_t    task = pool->how;
    const size_t n    = back ? op->x[0]->count : op->y->count;

    task.n[0] = n;
    if (back) {
        task.from[0] = op->y->settled;
        task.from[1] = pool->at;
        task.to[0]   = tw_gradient_take(op->x[0]);
    } else {
        task.from[0] = op->x[0]->value;
        task.to[0]   = op->y->value;
        task.to[1]   = pool->at;
    }
    (void)tw_gpu_start(tw_gpu_of(op->graph), back ? tw_task_pool_back() : tw_task_pool(), &task, n,
                       &op->graph->failure);
    if (back) {
        tw_gradient_put(op->x[0], task.to[0]);
    }
}

static void pool_forward(tw_op_t *op, const tw_op_pass_t *pass)
{
    tw_gpu_pool_t *pool = (tw_gpu_pool_t *)op;
    tw_gpu_t      *gpu  = tw_gpu_of(op->graph);

    (void)pass;
    if (pool->own) {
        pool_own(pool, 0);
        return;
    }
    (void)tw_gpu_dnn(gpu,
                     gpu->lib.dnn.cudnnPoolingForward(gpu->dnn, pool->windows, &one, pool->x,
                                                      op->x[0]->value, &none, pool->y,
                                                      op->y->value),
                     "a pooling", &op->graph->failure);
}

static void pool_data(tw_op_t *op)
{
    tw_gpu_pool_t *pool = (tw_gpu_pool_t *)op;
    tw_gpu_t      *gpu  = tw_gpu_of(op->graph);
    const float   *g    = tw_gradient_settled(op);
    float         *dx;

    if (pool->own) {
        pool_own(pool, 1);
        return;
    }
    dx = tw_gradient_take(op->x[0]);
    (void)tw_gpu_dnn(gpu,
                     gpu->lib.dnn.cudnnPoolingBackward(gpu->dnn, pool->windows, &one, pool->y,
                                                       op->y->value, pool->y, g, pool->x,
                                                       op->x[0]->value, &none, pool->x, dx),
                     "a pooling backward", &op->graph->failure);
    tw_gradient_put(op->x[0], dx);
}

static void pool_destroy(tw_op_t *op)
{
    tw_gpu_pool_t        *pool = (tw_gpu_pool_t *)op;
    const tw_libraries_t *lib  = &tw_gpu_of(op->graph)->lib;

    if (pool->windows != NULL) {
        (void)lib->dnn.cudnnDestroyPoolingDescriptor(pool->windows);
    }
    if (pool->lrn != NULL) {
        (void)lib->dnn.cudnnDestroyLRNDescriptor(pool->lrn);
    }
    tw_gpu_tensor_destroy(tw_gpu_of(op->graph), pool->x);
    tw_gpu_tensor_destroy(tw_gpu_of(op->graph), pool->y);
    tw_backend_release(op->graph->backend, pool->at);
}

static int describe_both(tw_gpu_pool_t *pool, tw_problem_t *problem)
{
    const tw_graph_t *graph = pool->op.graph;
    tw_gpu_t         *gpu   = tw_gpu_of(graph);

    return tw_gpu_tensor(gpu, graph->n, pool->op.x[0]->shape, &pool->x, problem) == 0
               ? tw_gpu_tensor(gpu, graph->n, pool->op.y->shape, &pool->y, problem)
               : -1;
}

static int make_own(tw_gpu_pool_t *pool, const tw_network_layer_t *layer, tw_problem_t *problem)
{
    const int mean = layer->pooling == TW_POOL_AVERAGE;

    pool->own = 1;
    pool->how = (tw_task_t){.n    = {0, layer->in.h, layer->in.w, layer->out.h, layer->out.w,
                                     layer->kernel[0] << 32 | layer->kernel[1],
                                     layer->stride[0] << 32 | layer->stride[1],
                                     layer->pad[0] << 32 | layer->pad[1]},
                            .flag = {mean, layer->count_pad}};
    return mean ? 0
                : tw_backend_allocate(pool->op.graph->backend, pool->op.y->count * sizeof(uint32_t),
                                      &pool->at, problem);
}

static int make_dnn(tw_gpu_pool_t *pool, const tw_network_layer_t *layer, tw_problem_t *problem)
{
    tw_gpu_t                *gpu = tw_gpu_of(pool->op.graph);
    const cudnnPoolingMode_t how = layer->pooling == TW_POOL_MAX ? CUDNN_POOLING_MAX_DETERMINISTIC
                                   : layer->count_pad ? CUDNN_POOLING_AVERAGE_COUNT_INCLUDE_PADDING
                                                      : CUDNN_POOLING_AVERAGE_COUNT_EXCLUDE_PADDING;
    cudnnStatus_t            s   = gpu->lib.dnn.cudnnCreatePoolingDescriptor(&pool->windows);

    if (s != CUDNN_STATUS_SUCCESS) {
        pool->windows = NULL;
        return tw_gpu_dnn(gpu, s, layer->name, problem);
    }
    s = gpu->lib.dnn.cudnnSetPooling2dDescriptor(
        pool->windows, how, CUDNN_PROPAGATE_NAN, (int)layer->kernel[0], (int)layer->kernel[1],
        (int)layer->pad[0], (int)layer->pad[1], (int)layer->stride[0], (int)layer->stride[1]);
    return tw_gpu_dnn(gpu, s, layer->name, problem) == 0 ? describe_both(pool, problem) : -1;
}

/* Whether as many windows as lie in the image and its border are all. */
static int rounded_down(const tw_network_layer_t *layer, size_t in, size_t out, int side)
{
    return (in + 2 * layer->pad[side] - layer->kernel[side]) / layer->stride[side] + 1 == out;
}

static int pool_make(tw_op_t *op, const tw_network_layer_t *layer, tw_op_params_t params,
                     tw_problem_t *problem)
{
    (void)params;
    return rounded_down(layer, layer->in.h, layer->out.h, 0) &&
                   rounded_down(layer, layer->in.w, layer->out.w, 1)
               ? make_dnn((tw_gpu_pool_t *)op, layer, problem)
               : make_own((tw_gpu_pool_t *)op, layer, problem);
}

const tw_op_class_t tw_gpu_pool = {.name    = "pool",
                                   .bytes   = sizeof(tw_gpu_pool_t),
                                   .forward = pool_forward,
                                   .data    = pool_data,
                                   .destroy = pool_destroy,
                                   .make    = pool_make};

/* ---- local response normalisation ---- */

static void lrn_forward(tw_op_t *op, const tw_op_pass_t *pass)
{
    const tw_gpu_pool_t *lrn = (tw_gpu_pool_t *)op;
    tw_gpu_t            *gpu = tw_gpu_of(op->graph);

    (void)pass;
    (void)tw_gpu_dnn(gpu,
                     gpu->lib.dnn.cudnnLRNCrossChannelForward(
                         gpu->dnn, lrn->lrn, CUDNN_LRN_CROSS_CHANNEL_DIM1, &one, lrn->x,
                         op->x[0]->value, &none, lrn->y, op->y->value),
                     "a response normalisation", &op->graph->failure);
}

static void lrn_data(tw_op_t *op)
{
    const tw_gpu_pool_t *lrn = (tw_gpu_pool_t *)op;
    tw_gpu_t            *gpu = tw_gpu_of(op->graph);
    const float         *g   = tw_gradient_settled(op);
    float               *dx  = tw_gradient_take(op->x[0]);

    (void)tw_gpu_dnn(gpu,
                     gpu->lib.dnn.cudnnLRNCrossChannelBackward(
                         gpu->dnn, lrn->lrn, CUDNN_LRN_CROSS_CHANNEL_DIM1, &one, lrn->y,
                         op->y->value, lrn->y, g, lrn->x, op->x[0]->value, &none, lrn->x, dx),
                     "a response normalisation backward", &op->graph->failure);
    tw_gradient_put(op->x[0], dx);
}

static int lrn_make(tw_op_t *op, const tw_network_layer_t *layer, tw_op_params_t params,
                    tw_problem_t *problem)
{
    tw_gpu_t      *gpu = tw_gpu_of(op->graph);
    tw_gpu_pool_t *lrn = (tw_gpu_pool_t *)op;
    cudnnStatus_t  s;

    (void)params;
    if (layer->lrn_size > CUDNN_LRN_MAX_N || (double)layer->lrn_power < CUDNN_LRN_MIN_BETA ||
        (double)layer->lrn_k < CUDNN_LRN_MIN_K) {
        return tw_problem_set(problem,
                              "layer %s: lrn is unsupported by cuDNN with more than %d channels, a "
                              "power below %g or k below %g",
                              layer->name, CUDNN_LRN_MAX_N, CUDNN_LRN_MIN_BETA, CUDNN_LRN_MIN_K);
    }
    s = gpu->lib.dnn.cudnnCreateLRNDescriptor(&lrn->lrn);
    if (s != CUDNN_STATUS_SUCCESS) {
        lrn->lrn = NULL;
        return tw_gpu_dnn(gpu, s, layer->name, problem);
    }
    /* cuDNN divides its alpha by the number of channels. */
    s = gpu->lib.dnn.cudnnSetLRNDescriptor(lrn->lrn, (unsigned)layer->lrn_size,
                                           (double)layer->lrn_scale * (double)layer->lrn_size,
                                           (double)layer->lrn_power, (double)layer->lrn_k);
    return tw_gpu_dnn(gpu, s, layer->name, problem) == 0 ? describe_both(lrn, problem) : -1;
}

const tw_op_class_t tw_gpu_lrn = {.name    = "lrn",
                                  .bytes   = sizeof(tw_gpu_pool_t),
                                  .forward = lrn_forward,
                                  .data    = lrn_data,
                                  .destroy = pool_destroy,
                                  .make    = lrn_make};
