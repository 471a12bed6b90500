/* SPDX-License-Identifier: BSD-3-Clause
 * cuda/conv.c - convolution by cuDNN's legacy API, which is deprecated in cuDNN 9: all calls are in
 * this file, so that cuDNN's graph API can replace them.
 *
 * The algorithm of each computation is chosen when a graph is created: of those that add in a fixed
 * order the one that cuDNN predicts to be the fastest, which is equal in every run; or (fast) the
 * fastest of all by measurement. A shape without such an algorithm gets the next best, and the
 * backend gets a note about it.
 */
#include "config.h"

#include <stdio.h>

#include "train/compute/cuda/cuda.h"

enum { TW_WAYS = 3, TW_ALGORITHMS = 16 };
typedef enum tw_way { TW_WAY_FORWARD, TW_WAY_FILTER, TW_WAY_DATA } tw_way_t;

typedef struct tw_gpu_conv {
    tw_op_t                      op;
    const float                 *w, *b;
    float                       *gw, *gb;
    cudnnTensorDescriptor_t      x, y, bias; /* also of the gradients */
    cudnnFilterDescriptor_t      filter;
    cudnnConvolutionDescriptor_t conv[TW_WAYS]; /* they differ in precision */
    int                          algorithm[TW_WAYS];
    size_t                       workspace[TW_WAYS];
    tw_gpu_replay_t              replay[TW_WAYS];
} tw_gpu_conv_t;

/* An algorithm that cuDNN offers. */
typedef struct tw_found {
    int             algorithm, serves, fixed; /* fixed: it adds in a fixed order */
    cudnnMathType_t math;
} tw_found_t;

static const float one = 1.0f, none = 0.0f;

/* ---- running ---- */

static void work_forward(tw_op_t *op)
{
    const tw_gpu_conv_t *conv = (tw_gpu_conv_t *)op;
    tw_gpu_t            *gpu  = tw_gpu_of(op->graph);
    tw_tensor_t         *y    = op->y;
    const cudnnStatus_t  s    = gpu->lib.dnn.cudnnConvolutionForward(
            gpu->dnn, &one, conv->x, op->x[0]->value, conv->filter, conv->w, conv->conv[TW_WAY_FORWARD],
            (cudnnConvolutionFwdAlgo_t)conv->algorithm[TW_WAY_FORWARD], gpu->workspace,
            conv->workspace[TW_WAY_FORWARD], &none, conv->y, y->value);

    (void)tw_gpu_dnn(gpu, s, "a convolution", &op->graph->failure);
    if (conv->b != NULL) {
        const tw_task_t task = {.from = {y->value, conv->b},
                                .to   = {y->value},
                                .n    = {y->count, y->rows, y->shape.c},
                                .flag = {(int)op->activation}};

        (void)tw_gpu_start(gpu, tw_task_bias(), &task, TW_FOURS(y->count), &op->graph->failure);
    } else if (op->activation != TW_LINEAR) {
        tw_gpu_activate(y, y->value, op->activation);
    }
}

/* Behind tw_gradient_settled(). */
static void work_params(tw_op_t *op)
{
    const tw_gpu_conv_t *conv = (tw_gpu_conv_t *)op;
    tw_gpu_t            *gpu  = tw_gpu_of(op->graph);
    const float         *g    = op->y->settled;
    cudnnStatus_t        s    = gpu->lib.dnn.cudnnConvolutionBackwardFilter(
                  gpu->dnn, &one, conv->x, op->x[0]->value, conv->y, g, conv->conv[TW_WAY_FILTER],
                  (cudnnConvolutionBwdFilterAlgo_t)conv->algorithm[TW_WAY_FILTER], gpu->workspace,
                  conv->workspace[TW_WAY_FILTER], &none, conv->filter, conv->gw);

    if (s == CUDNN_STATUS_SUCCESS && conv->gb != NULL) {
        s = gpu->lib.dnn.cudnnConvolutionBackwardBias(gpu->dnn, &one, conv->y, g, &none, conv->bias,
                                                      conv->gb);
    }
    (void)tw_gpu_dnn(gpu, s, "a convolution's weights backward", &op->graph->failure);
}

/* Likewise, to where tw_gradient_take() says. */
static void work_data(tw_op_t *op)
{
    const tw_gpu_conv_t *conv = (tw_gpu_conv_t *)op;
    tw_gpu_t            *gpu  = tw_gpu_of(op->graph);
    const cudnnStatus_t  s    = gpu->lib.dnn.cudnnConvolutionBackwardData(
            gpu->dnn, &one, conv->filter, conv->w, conv->y, op->y->settled, conv->conv[TW_WAY_DATA],
            (cudnnConvolutionBwdDataAlgo_t)conv->algorithm[TW_WAY_DATA], gpu->workspace,
            conv->workspace[TW_WAY_DATA], &none, conv->x, tw_gradient_take(op->x[0]));

    (void)tw_gpu_dnn(gpu, s, "a convolution backward", &op->graph->failure);
}

/* The same work in every step, as long as it reads and writes the same: it is captured. */
static void conv_run(tw_op_t *op, tw_way_t way, const void *from, const void *to,
                     void (*work)(tw_op_t *op))
{
    tw_gpu_conv_t    *conv                        = (tw_gpu_conv_t *)op;
    const void *const addresses[TW_GPU_ADDRESSES] = {from, to, op->x[0]->value,
                                                     tw_gpu_of(op->graph)->workspace};

    tw_gpu_replay(&conv->replay[way], op, addresses, work);
}

static void conv_forward(tw_op_t *op, const tw_op_pass_t *pass)
{
    (void)pass;
    conv_run(op, TW_WAY_FORWARD, NULL, op->y->value, work_forward);
}

static void backward_params(tw_op_t *op)
{
    const float *g = tw_gradient_settled(op);

    if (((tw_gpu_conv_t *)op)->gw != NULL) {
        conv_run(op, TW_WAY_FILTER, g, NULL, work_params);
    }
}

static void backward_data(tw_op_t *op)
{
    const float *g  = tw_gradient_settled(op);
    float       *dx = tw_gradient_take(op->x[0]);

    conv_run(op, TW_WAY_DATA, g, dx, work_data);
    tw_gradient_put(op->x[0], dx);
}

static void conv_destroy(tw_op_t *op)
{
    tw_gpu_conv_t *conv = (tw_gpu_conv_t *)op;
    tw_gpu_t      *gpu  = tw_gpu_of(op->graph);

    tw_gpu_tensor_destroy(gpu, conv->x);
    tw_gpu_tensor_destroy(gpu, conv->y);
    tw_gpu_tensor_destroy(gpu, conv->bias);
    if (conv->filter != NULL) {
        (void)gpu->lib.dnn.cudnnDestroyFilterDescriptor(conv->filter);
    }
    for (int way = 0; way < TW_WAYS; way++) {
        tw_gpu_replay_end(&conv->replay[way]);
        if (conv->conv[way] != NULL) {
            (void)gpu->lib.dnn.cudnnDestroyConvolutionDescriptor(conv->conv[way]);
        }
    }
}

/* ---- algorithms ---- */

/* What cuDNN returns has another type for each way. */
#define TAKE(found, perf, count)                                                                   \
    for (int i = 0; i < (count); i++) {                                                            \
        (found)[i] = (tw_found_t){.algorithm = (int)(perf)[i].algo,                                \
                                  .serves    = (perf)[i].status == CUDNN_STATUS_SUCCESS,           \
                                  .fixed     = (perf)[i].determinism == CUDNN_DETERMINISTIC,       \
                                  .math      = (perf)[i].mathType};                                     \
    }

static cudnnStatus_t find_forward(const tw_gpu_conv_t *c, tw_found_t *found, int *count_p)
{
    const tw_gpu_t                 *gpu = tw_gpu_of(c->op.graph);
    const __typeof__(gpu->lib.dnn) *dnn = &gpu->lib.dnn;
    cudnnConvolutionFwdAlgoPerf_t   perf[TW_ALGORITHMS];
    const cudnnStatus_t             s = (gpu->fast ? dnn->cudnnFindConvolutionForwardAlgorithm
                                                   : dnn->cudnnGetConvolutionForwardAlgorithm_v7)(
        gpu->dnn, c->x, c->filter, c->conv[TW_WAY_FORWARD], c->y, TW_ALGORITHMS, count_p, perf);

    TAKE(found, perf, s == CUDNN_STATUS_SUCCESS ? *count_p : 0)
    return s;
}

static cudnnStatus_t find_filter(const tw_gpu_conv_t *c, tw_found_t *found, int *count_p)
{
    const tw_gpu_t                     *gpu = tw_gpu_of(c->op.graph);
    const __typeof__(gpu->lib.dnn)     *dnn = &gpu->lib.dnn;
    cudnnConvolutionBwdFilterAlgoPerf_t perf[TW_ALGORITHMS];
    const cudnnStatus_t s = (gpu->fast ? dnn->cudnnFindConvolutionBackwardFilterAlgorithm
                                       : dnn->cudnnGetConvolutionBackwardFilterAlgorithm_v7)(
        gpu->dnn, c->x, c->y, c->conv[TW_WAY_FILTER], c->filter, TW_ALGORITHMS, count_p, perf);

    TAKE(found, perf, s == CUDNN_STATUS_SUCCESS ? *count_p : 0)
    return s;
}

static cudnnStatus_t find_data(const tw_gpu_conv_t *c, tw_found_t *found, int *count_p)
{
    const tw_gpu_t                   *gpu = tw_gpu_of(c->op.graph);
    const __typeof__(gpu->lib.dnn)   *dnn = &gpu->lib.dnn;
    cudnnConvolutionBwdDataAlgoPerf_t perf[TW_ALGORITHMS];
    const cudnnStatus_t s = (gpu->fast ? dnn->cudnnFindConvolutionBackwardDataAlgorithm
                                       : dnn->cudnnGetConvolutionBackwardDataAlgorithm_v7)(
        gpu->dnn, c->filter, c->y, c->conv[TW_WAY_DATA], c->x, TW_ALGORITHMS, count_p, perf);

    TAKE(found, perf, s == CUDNN_STATUS_SUCCESS ? *count_p : 0)
    return s;
}

/* The workspace of an algorithm with the descriptors as they are, or that it does not take them. */
static cudnnStatus_t ask_workspace(const tw_gpu_conv_t *c, tw_way_t way, int algorithm,
                                   size_t *bytes_p)
{
    const tw_gpu_t                 *gpu = tw_gpu_of(c->op.graph);
    const __typeof__(gpu->lib.dnn) *dnn = &gpu->lib.dnn;

    switch (way) {
    case TW_WAY_FORWARD:
        return dnn->cudnnGetConvolutionForwardWorkspaceSize(
            gpu->dnn, c->x, c->filter, c->conv[way], c->y, (cudnnConvolutionFwdAlgo_t)algorithm,
            bytes_p);
    case TW_WAY_FILTER:
        return dnn->cudnnGetConvolutionBackwardFilterWorkspaceSize(
            gpu->dnn, c->x, c->y, c->conv[way], c->filter,
            (cudnnConvolutionBwdFilterAlgo_t)algorithm, bytes_p);
    default:
        return dnn->cudnnGetConvolutionBackwardDataWorkspaceSize(
            gpu->dnn, c->filter, c->y, c->conv[way], c->x, (cudnnConvolutionBwdDataAlgo_t)algorithm,
            bytes_p);
    }
}

/* What algorithms may do, from what is asked for to what is better than none. */
typedef enum tw_licence {
    TW_AS_ASKED,  /* sums in a fixed order, unless fast; factors of float32, unless tf32 */
    TW_ANY_ORDER, /* sums in an order that differs from run to run                       */
    TW_ANY_FACTORS,
    TW_LICENCES
} tw_licence_t;

static int allowed(const tw_gpu_t *gpu, const tw_found_t *found, tw_licence_t licence)
{
    const int rounds =
        found->math == CUDNN_TENSOR_OP_MATH || found->math == CUDNN_TENSOR_OP_MATH_ALLOW_CONVERSION;

    return found->serves && (found->fixed || gpu->fast || licence >= TW_ANY_ORDER) &&
           (!rounds || gpu->tf32 || licence >= TW_ANY_FACTORS);
}

/* Take an algorithm: 1 if it can be, 0 if it cannot, -1 with the problem set. Its workspace is an
 * eighth of the device's memory at most; *large: it would be more, or there is none. */
static int try_algorithm(tw_gpu_conv_t *c, tw_way_t way, const tw_found_t *found, const char *layer,
                         int *large, tw_problem_t *problem)
{
    tw_gpu_t     *gpu       = tw_gpu_of(c->op.graph);
    tw_problem_t  no_memory = {.set = 0};
    size_t        bytes     = 0;
    cudnnStatus_t s         = CUDNN_STATUS_SUCCESS;

    if (gpu->tf32 || found->math == CUDNN_TENSOR_OP_MATH ||
        found->math == CUDNN_TENSOR_OP_MATH_ALLOW_CONVERSION) {
        s = gpu->lib.dnn.cudnnSetConvolutionMathType(c->conv[way], found->math);
    }
    if (s == CUDNN_STATUS_SUCCESS) {
        s = ask_workspace(c, way, found->algorithm, &bytes);
    }
    if ((int)s / 1000 == CUDNN_STATUS_NOT_SUPPORTED / 1000) {
        return 0;
    }
    if (tw_gpu_dnn(gpu, s, layer, problem) != 0) {
        return -1;
    }
    if (bytes > tw_gpu_memory_total(&gpu->base) / 8 ||
        tw_gpu_workspace(gpu, bytes, &no_memory) != 0) {
        *large = 1;
        return 0;
    }
    c->algorithm[way] = found->algorithm;
    c->workspace[way] = bytes;
    return 1;
}

/* The first one that can be used and does what is asked for; where there is none, whatever its
 * workspace, the first one at all. */
static int choose(tw_gpu_conv_t *c, tw_way_t way, const tw_found_t *found, int count,
                  const char *layer, tw_problem_t *problem)
{
    static const char *const notes[] = {[TW_ANY_ORDER]   = "results differ from run to run",
                                        [TW_ANY_FACTORS] = "factors are rounded to 10 bits"};
    tw_gpu_t                *gpu     = tw_gpu_of(c->op.graph);
    int                      taken = 0, large = 0;

    for (int licence = TW_AS_ASKED; licence < TW_LICENCES && taken == 0 && !large; licence++) {
        for (int i = 0; i < count && taken == 0; i++) {
            taken = allowed(gpu, &found[i], (tw_licence_t)licence)
                        ? try_algorithm(c, way, &found[i], layer, &large, problem)
                        : 0;
        }
        if (taken > 0 && licence > TW_AS_ASKED) {
            (void)snprintf(gpu->base.note, sizeof(gpu->base.note),
                           "layer %.60s: cuDNN has no other algorithm for this shape than one by "
                           "which %s",
                           layer, notes[licence]);
        }
    }
    if (taken != 0) {
        return taken > 0 ? 0 : -1;
    }
    return tw_problem_machine(problem,
                              "GPU %d: layer %s: cuDNN has no algorithm that can be used%s",
                              gpu->device, layer, large ? " in the memory that is left" : "");
}

static int make_way(tw_gpu_conv_t *c, tw_way_t way, const tw_network_layer_t *layer,
                    tw_problem_t *problem)
{
    static cudnnStatus_t (*const find[])(const tw_gpu_conv_t *, tw_found_t *,
                                         int *) = {find_forward, find_filter, find_data};
    tw_gpu_t     *gpu                           = tw_gpu_of(c->op.graph);
    tw_found_t    found[TW_ALGORITHMS];
    int           count = 0;
    cudnnStatus_t s     = gpu->lib.dnn.cudnnCreateConvolutionDescriptor(&c->conv[way]);

    if (s != CUDNN_STATUS_SUCCESS) {
        c->conv[way] = NULL;
    } else {
        s = gpu->lib.dnn.cudnnSetConvolution2dDescriptor(
            c->conv[way], (int)layer->pad[0], (int)layer->pad[1], (int)layer->stride[0],
            (int)layer->stride[1], 1, 1, CUDNN_CROSS_CORRELATION, CUDNN_DATA_FLOAT);
    }
    if (s == CUDNN_STATUS_SUCCESS) {
        s = gpu->lib.dnn.cudnnSetConvolutionMathType(c->conv[way], gpu->tf32 ? CUDNN_DEFAULT_MATH
                                                                             : CUDNN_FMA_MATH);
    }
    if (s == CUDNN_STATUS_SUCCESS) {
        s = find[way](c, found, &count);
    }
    return tw_gpu_dnn(gpu, s, layer->name, problem) == 0
               ? choose(c, way, found, count, layer->name, problem)
               : -1;
}

/* ---- making ---- */

static int make_filter(tw_gpu_conv_t *c, const tw_network_layer_t *layer, tw_problem_t *problem)
{
    tw_gpu_t     *gpu = tw_gpu_of(c->op.graph);
    cudnnStatus_t s   = gpu->lib.dnn.cudnnCreateFilterDescriptor(&c->filter);

    if (s != CUDNN_STATUS_SUCCESS) {
        c->filter = NULL;
    } else {
        s = gpu->lib.dnn.cudnnSetFilter4dDescriptor(c->filter, CUDNN_DATA_FLOAT, CUDNN_TENSOR_NCHW,
                                                    (int)layer->out.c, (int)layer->in.c,
                                                    (int)layer->kernel[0], (int)layer->kernel[1]);
    }
    return tw_gpu_dnn(gpu, s, layer->name, problem);
}

static int make_all(tw_gpu_conv_t *c, const tw_network_layer_t *layer, tw_problem_t *problem)
{
    const tw_graph_t *graph = c->op.graph;
    tw_gpu_t         *gpu   = tw_gpu_of(graph);

    if (tw_gpu_tensor(gpu, graph->n, layer->in, &c->x, problem) != 0 ||
        tw_gpu_tensor(gpu, graph->n, layer->out, &c->y, problem) != 0 ||
        tw_gpu_tensor(gpu, 1, (tw_shape_t){layer->out.c, 1, 1}, &c->bias, problem) != 0 ||
        make_filter(c, layer, problem) != 0 || make_way(c, TW_WAY_FORWARD, layer, problem) != 0) {
        return -1;
    }
    if (c->gw != NULL && make_way(c, TW_WAY_FILTER, layer, problem) != 0) {
        return -1;
    }
    return c->op.x[0]->wanted ? make_way(c, TW_WAY_DATA, layer, problem) : 0;
}

static int conv_make(tw_op_t *op, const tw_network_layer_t *layer, tw_op_params_t params,
                     tw_problem_t *problem)
{
    tw_gpu_conv_t *conv = (tw_gpu_conv_t *)op;

    conv->w  = params.w;
    conv->b  = params.b;
    conv->gw = params.gw;
    conv->gb = params.gb;
    if (layer->groups > 1) {
        return tw_problem_set(problem, "layer %s: conv with groups is unsupported by %s",
                              layer->name, op->graph->backend->name);
    }
    return make_all(conv, layer, problem);
}

const tw_op_class_t tw_gpu_conv = {.name    = "conv",
                                   .bytes   = sizeof(tw_gpu_conv_t),
                                   .forward = conv_forward,
                                   .params  = backward_params,
                                   .data    = backward_data,
                                   .destroy = conv_destroy,
                                   .make    = conv_make};
