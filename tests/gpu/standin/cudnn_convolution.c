/* SPDX-License-Identifier: BSD-3-Clause
 * tests/gpu/standin/cudnn_convolution.c - cuDNN: convolutions, by their definition.
 *
 * Which algorithms there are for a case, and how much workspace each needs, is made up, but so that
 * programs have to ask. Algorithms that cuDNN calls non-deterministic add in an order that is drawn
 * by lot.
 */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "tests/gpu/standin/cudnn_inside.h"

/* A convolution: x, w, y are shapes of image, filter and result, whichever of them is computed. */
typedef struct standin_case {
    standin_shape_t               x, w, y;
    struct cudnnConvolutionStruct by;
} standin_case_t;

typedef enum standin_direction { FORWARD, BACKWARD_DATA, BACKWARD_FILTER } standin_direction_t;

static int extent(const struct cudnnConvolutionStruct *by, const standin_shape_t *x,
                  const standin_shape_t *w, int i)
{
    const int window = by->dilation[i] * (w->d[2 + i] - 1) + 1;
    const int room   = x->d[2 + i] + 2 * by->pad[i] - window;

    return room < 0 ? 0 : room / by->stride[i] + 1;
}

static cudnnStatus_t case_check(standin_case_t *c, cudnnTensorDescriptor_t xd,
                                cudnnFilterDescriptor_t wd, cudnnConvolutionDescriptor_t d,
                                cudnnTensorDescriptor_t yd)
{
    if (!standin_tensor(xd, &c->x) || !standin_filter(wd, &c->w) || !standin_convolution(d) ||
        (yd != NULL && !standin_tensor(yd, &c->y))) {
        return CUDNN_STATUS_BAD_PARAM;
    }
    c->by = *d;
    if (c->x.d[1] != c->w.d[1] * d->groups || c->w.d[0] % d->groups != 0) {
        standin_found("%d channels, filters of %d, %d of them, %d groups", c->x.d[1], c->w.d[1],
                      c->w.d[0], d->groups);
        return CUDNN_STATUS_BAD_PARAM;
    }
    if (extent(d, &c->x, &c->w, 0) == 0 || extent(d, &c->x, &c->w, 1) == 0) {
        return standin_bad("the filter is larger than the padded image");
    }
    if (yd != NULL &&
        (c->y.d[0] != c->x.d[0] || c->y.d[1] != c->w.d[0] ||
         c->y.d[2] != extent(d, &c->x, &c->w, 0) || c->y.d[3] != extent(d, &c->x, &c->w, 1))) {
        standin_found("the result is described as %d x %d x %d x %d, and has %d x %d x %d x %d",
                      c->y.d[0], c->y.d[1], c->y.d[2], c->y.d[3], c->x.d[0], c->w.d[0],
                      extent(d, &c->x, &c->w, 0), extent(d, &c->x, &c->w, 1));
        return CUDNN_STATUS_BAD_PARAM;
    }
    return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnGetConvolution2dForwardOutputDim(const cudnnConvolutionDescriptor_t d,
                                                    const cudnnTensorDescriptor_t      xd,
                                                    const cudnnFilterDescriptor_t wd, int *n,
                                                    int *c, int *h, int *w)
{
    cudnnStatus_t  status = (cudnnStatus_t)standin_enter(__func__, 0);
    standin_case_t k      = {0};

    if (status == CUDNN_STATUS_SUCCESS) {
        status = case_check(&k, xd, wd, d, NULL);
    }
    if (status == CUDNN_STATUS_SUCCESS) {
        *n = k.x.d[0];
        *c = k.w.d[0];
        *h = extent(d, &k.x, &k.w, 0);
        *w = extent(d, &k.x, &k.w, 1);
    }
    return standin_cudnn_leave(status);
}

/* ---- algorithms ----------------------------------------------------------------------------- */

typedef enum standin_method { ALWAYS, FFT, WINOGRAD, NEVER } standin_method_t;

static const struct {
    standin_method_t method;
    bool             drawn, workspace;
} algorithms[3][8] = {{{ALWAYS, false, false},
                       {ALWAYS, false, true},
                       {ALWAYS, false, true},
                       {NEVER, false, false},
                       {FFT, false, true},
                       {FFT, false, true},
                       {WINOGRAD, false, false},
                       {WINOGRAD, false, true}},
                      {{ALWAYS, true, false},
                       {ALWAYS, false, true},
                       {FFT, false, true},
                       {FFT, false, true},
                       {WINOGRAD, false, false},
                       {WINOGRAD, false, true}},
                      {{ALWAYS, true, false},
                       {ALWAYS, false, true},
                       {FFT, false, true},
                       {ALWAYS, true, true},
                       {NEVER, false, false},
                       {WINOGRAD, false, true},
                       {FFT, false, true}}};

static const int counts[] = {CUDNN_CONVOLUTION_FWD_ALGO_COUNT,
                             CUDNN_CONVOLUTION_BWD_DATA_ALGO_COUNT,
                             CUDNN_CONVOLUTION_BWD_FILTER_ALGO_COUNT};

static cudnnStatus_t serves(const standin_case_t *c, standin_direction_t way, int algo)
{
    const bool plain = c->by.stride[0] == 1 && c->by.stride[1] == 1 && c->by.dilation[0] == 1 &&
                       c->by.dilation[1] == 1;
    standin_method_t method;

    if (algo < 0 || algo >= counts[way]) {
        return standin_bad("an unknown algorithm");
    }
    method = algorithms[way][algo].method;
    return method == ALWAYS || (method == FFT && plain) ||
                   (method == WINOGRAD && plain && c->w.d[2] == 3 && c->w.d[3] == 3)
               ? CUDNN_STATUS_SUCCESS
               : CUDNN_STATUS_NOT_SUPPORTED;
}

static bool drawn(standin_direction_t way, int algo)
{
    return algorithms[way][algo].drawn || getenv("STANDIN_DRAWN") != NULL;
}

static size_t workspace(const standin_case_t *c, standin_direction_t way, int algo)
{
    return algorithms[way][algo].workspace
               ? sizeof(float) * standin_elements(&c->w) * (size_t)(algo + 2) + 16 * (size_t)algo
               : 0;
}

/* Both kinds of results are the same but for the type of one enumeration. */
#define RANK(type, way)                                                                            \
    int got = 0;                                                                                   \
                                                                                                   \
    if (status == CUDNN_STATUS_SUCCESS && (requested < 1 || returned == NULL || perf == NULL)) {   \
        status = standin_bad("no room for an answer");                                             \
    }                                                                                              \
    for (int pass = 0; pass < 2 && status == CUDNN_STATUS_SUCCESS; pass++) {                       \
        for (int algo = 0; algo < counts[way] && got < requested; algo++) {                        \
            const cudnnStatus_t good = serves(&k, way, algo);                                      \
                                                                                                   \
            if ((good == CUDNN_STATUS_SUCCESS) == (pass == 0)) {                                   \
                memset(&perf[got], 0, sizeof(perf[got]));                                          \
                perf[got].algo   = (type)algo;                                                     \
                perf[got].status = good;                                                           \
                perf[got].time   = good == CUDNN_STATUS_SUCCESS ? (float)(1 + got) : -1.0f;        \
                perf[got].memory = workspace(&k, way, algo);                                       \
                perf[got].determinism =                                                            \
                    drawn(way, algo) ? CUDNN_NON_DETERMINISTIC : CUDNN_DETERMINISTIC;              \
                perf[got].mathType = k.by.math;                                                    \
                got++;                                                                             \
            }                                                                                      \
        }                                                                                          \
    }                                                                                              \
    if (status == CUDNN_STATUS_SUCCESS) {                                                          \
        *returned = got;                                                                           \
    }

static cudnnStatus_t begin(const char *call, cudnnHandle_t handle, standin_case_t *k,
                           cudnnTensorDescriptor_t xd, cudnnFilterDescriptor_t wd,
                           cudnnConvolutionDescriptor_t d, cudnnTensorDescriptor_t yd)
{
    cudnnStatus_t status = standin_cudnn_enter(call, handle);

    if (status == CUDNN_STATUS_SUCCESS && yd == NULL) {
        status = standin_bad("a descriptor is NULL");
    }
    return status == CUDNN_STATUS_SUCCESS ? case_check(k, xd, wd, d, yd) : status;
}

cudnnStatus_t cudnnGetConvolutionForwardAlgorithm_v7(
    cudnnHandle_t handle, const cudnnTensorDescriptor_t xd, const cudnnFilterDescriptor_t wd,
    const cudnnConvolutionDescriptor_t d, const cudnnTensorDescriptor_t yd, const int requested,
    int *returned, cudnnConvolutionFwdAlgoPerf_t *perf)
{
    standin_case_t k      = {0};
    cudnnStatus_t  status = begin(__func__, handle, &k, xd, wd, d, yd);

    RANK(cudnnConvolutionFwdAlgo_t, FORWARD)
    return standin_cudnn_leave(status);
}

cudnnStatus_t cudnnGetConvolutionBackwardDataAlgorithm_v7(
    cudnnHandle_t handle, const cudnnFilterDescriptor_t wd, const cudnnTensorDescriptor_t dyd,
    const cudnnConvolutionDescriptor_t d, const cudnnTensorDescriptor_t dxd, const int requested,
    int *returned, cudnnConvolutionBwdDataAlgoPerf_t *perf)
{
    standin_case_t k      = {0};
    cudnnStatus_t  status = begin(__func__, handle, &k, dxd, wd, d, dyd);

    RANK(cudnnConvolutionBwdDataAlgo_t, BACKWARD_DATA)
    return standin_cudnn_leave(status);
}

cudnnStatus_t cudnnGetConvolutionBackwardFilterAlgorithm_v7(
    cudnnHandle_t handle, const cudnnTensorDescriptor_t xd, const cudnnTensorDescriptor_t dyd,
    const cudnnConvolutionDescriptor_t d, const cudnnFilterDescriptor_t dwd, const int requested,
    int *returned, cudnnConvolutionBwdFilterAlgoPerf_t *perf)
{
    standin_case_t k      = {0};
    cudnnStatus_t  status = begin(__func__, handle, &k, xd, dwd, d, dyd);

    RANK(cudnnConvolutionBwdFilterAlgo_t, BACKWARD_FILTER)
    return standin_cudnn_leave(status);
}

/* Find measures, and returns by rising time: an order drawn by lot. It may use the device, and
 * memory of it. */
#define FIND                                                                                       \
    for (int i = 0; i < got && perf[i].status == CUDNN_STATUS_SUCCESS; i++) {                      \
        const int other = (int)standin_lot((unsigned)i + 1);                                       \
                                                                                                   \
        if (other != i) {                                                                          \
            __typeof__(*perf) swapped = perf[i];                                                   \
                                                                                                   \
            perf[i]          = perf[other];                                                        \
            perf[other]      = swapped;                                                            \
            swapped.time     = perf[i].time;                                                       \
            perf[i].time     = perf[other].time;                                                   \
            perf[other].time = swapped.time;                                                       \
        }                                                                                          \
    }

cudnnStatus_t cudnnFindConvolutionForwardAlgorithm(
    cudnnHandle_t handle, const cudnnTensorDescriptor_t xd, const cudnnFilterDescriptor_t wd,
    const cudnnConvolutionDescriptor_t d, const cudnnTensorDescriptor_t yd, const int requested,
    int *returned, cudnnConvolutionFwdAlgoPerf_t *perf)
{
    standin_case_t k      = {0};
    cudnnStatus_t  status = begin(__func__, handle, &k, xd, wd, d, yd);

    RANK(cudnnConvolutionFwdAlgo_t, FORWARD)
    FIND return standin_cudnn_leave(status);
}

cudnnStatus_t cudnnFindConvolutionBackwardDataAlgorithm(
    cudnnHandle_t handle, const cudnnFilterDescriptor_t wd, const cudnnTensorDescriptor_t dyd,
    const cudnnConvolutionDescriptor_t d, const cudnnTensorDescriptor_t dxd, const int requested,
    int *returned, cudnnConvolutionBwdDataAlgoPerf_t *perf)
{
    standin_case_t k      = {0};
    cudnnStatus_t  status = begin(__func__, handle, &k, dxd, wd, d, dyd);

    RANK(cudnnConvolutionBwdDataAlgo_t, BACKWARD_DATA)
    FIND return standin_cudnn_leave(status);
}

cudnnStatus_t cudnnFindConvolutionBackwardFilterAlgorithm(
    cudnnHandle_t handle, const cudnnTensorDescriptor_t xd, const cudnnTensorDescriptor_t dyd,
    const cudnnConvolutionDescriptor_t d, const cudnnFilterDescriptor_t dwd, const int requested,
    int *returned, cudnnConvolutionBwdFilterAlgoPerf_t *perf)
{
    standin_case_t k      = {0};
    cudnnStatus_t  status = begin(__func__, handle, &k, xd, dwd, d, dyd);

    RANK(cudnnConvolutionBwdFilterAlgo_t, BACKWARD_FILTER)
    FIND return standin_cudnn_leave(status);
}

static cudnnStatus_t size(cudnnStatus_t status, const standin_case_t *k, standin_direction_t way,
                          int algo, size_t *bytes)
{
    if (status == CUDNN_STATUS_SUCCESS) {
        status = bytes == NULL ? CUDNN_STATUS_BAD_PARAM : serves(k, way, algo);
    }
    if (status == CUDNN_STATUS_SUCCESS) {
        *bytes = workspace(k, way, algo);
    }
    return standin_cudnn_leave(status);
}

cudnnStatus_t cudnnGetConvolutionForwardWorkspaceSize(cudnnHandle_t                      handle,
                                                      const cudnnTensorDescriptor_t      xd,
                                                      const cudnnFilterDescriptor_t      wd,
                                                      const cudnnConvolutionDescriptor_t d,
                                                      const cudnnTensorDescriptor_t      yd,
                                                      cudnnConvolutionFwdAlgo_t algo, size_t *bytes)
{
    standin_case_t      k      = {0};
    const cudnnStatus_t status = begin(__func__, handle, &k, xd, wd, d, yd);

    return size(status, &k, FORWARD, (int)algo, bytes);
}

cudnnStatus_t cudnnGetConvolutionBackwardDataWorkspaceSize(
    cudnnHandle_t handle, const cudnnFilterDescriptor_t wd, const cudnnTensorDescriptor_t dyd,
    const cudnnConvolutionDescriptor_t d, const cudnnTensorDescriptor_t dxd,
    cudnnConvolutionBwdDataAlgo_t algo, size_t *bytes)
{
    standin_case_t      k      = {0};
    const cudnnStatus_t status = begin(__func__, handle, &k, dxd, wd, d, dyd);

    return size(status, &k, BACKWARD_DATA, (int)algo, bytes);
}

cudnnStatus_t cudnnGetConvolutionBackwardFilterWorkspaceSize(
    cudnnHandle_t handle, const cudnnTensorDescriptor_t xd, const cudnnTensorDescriptor_t dyd,
    const cudnnConvolutionDescriptor_t d, const cudnnFilterDescriptor_t dwd,
    cudnnConvolutionBwdFilterAlgo_t algo, size_t *bytes)
{
    standin_case_t      k      = {0};
    const cudnnStatus_t status = begin(__func__, handle, &k, xd, dwd, d, dyd);

    return size(status, &k, BACKWARD_FILTER, (int)algo, bytes);
}

/* ---- work ----------------------------------------------------------------------------------- */

/* rounded: so that the order of additions shows. */
static void add_to(double *sum, double product, bool rounded)
{
    *sum += product;
    if (rounded) {
        *sum = (double)(float)*sum;
    }
}

/* For each product x * w that belongs to an element of y: out += the two others' product, `out`
 * being the one that is computed. */
static void convolve(const standin_layer_t *l, standin_direction_t way, const standin_case_t *k,
                     const float *x, const float *w, const float *y, double *out)
{
    const struct cudnnConvolutionStruct *by   = &l->by.convolution;
    const size_t                         n    = standin_elements(&k->y);
    const int                            each = k->w.d[0] / by->groups;

    for (size_t turn = 0; turn < n; turn++) {
        const size_t i = l->backwards ? n - 1 - turn : turn;
        const int    q = (int)(i % (size_t)k->y.d[3]);
        const int    p = (int)(i / (size_t)k->y.d[3] % (size_t)k->y.d[2]);
        const int    m = (int)(i / ((size_t)k->y.d[3] * (size_t)k->y.d[2]) % (size_t)k->y.d[1]);
        const int    b = (int)(i / ((size_t)k->y.d[3] * (size_t)k->y.d[2] * (size_t)k->y.d[1]));

        for (int c = 0; c < k->w.d[1]; c++) {
            for (int r = 0; r < k->w.d[2]; r++) {
                for (int s = 0; s < k->w.d[3]; s++) {
                    const bool flip = by->mode == CUDNN_CONVOLUTION;
                    const int  h    = p * by->stride[0] - by->pad[0] + r * by->dilation[0];
                    const int  v    = q * by->stride[1] - by->pad[1] + s * by->dilation[1];
                    size_t     at_x, at_w;

                    if (h < 0 || v < 0 || h >= k->x.d[2] || v >= k->x.d[3]) {
                        continue;
                    }
                    at_x = standin_at(&k->x, b, m / each * k->w.d[1] + c, h, v);
                    at_w = standin_at(&k->w, m, c, flip ? k->w.d[2] - 1 - r : r,
                                      flip ? k->w.d[3] - 1 - s : s);
                    switch (way) {
                    case FORWARD:
                        add_to(&out[i], (double)x[at_x] * (double)w[at_w], l->rounded);
                        break;
                    case BACKWARD_DATA:
                        add_to(&out[at_x], (double)y[i] * (double)w[at_w], l->rounded);
                        break;
                    default:
                        add_to(&out[at_w], (double)y[i] * (double)x[at_x], l->rounded);
                        break;
                    }
                }
            }
        }
    }
}

static void forward(const standin_layer_t *l, const float *const *in, double *out)
{
    const standin_case_t k = {.x = l->shape[0], .w = l->shape[1], .y = l->shape[2]};

    convolve(l, FORWARD, &k, in[0], in[1], NULL, out);
}

static void backward_data(const standin_layer_t *l, const float *const *in, double *out)
{
    const standin_case_t k = {.w = l->shape[0], .y = l->shape[1], .x = l->shape[2]};

    convolve(l, BACKWARD_DATA, &k, NULL, in[0], in[1], out);
}

static void backward_filter(const standin_layer_t *l, const float *const *in, double *out)
{
    const standin_case_t k = {.x = l->shape[0], .y = l->shape[1], .w = l->shape[2]};

    convolve(l, BACKWARD_FILTER, &k, in[0], NULL, in[1], out);
}

/* Is there an algorithm, and a workspace for it? Then put the work. */
static cudnnStatus_t run(cudnnStatus_t status, cudnnHandle_t handle, const standin_case_t *k,
                         standin_direction_t way, int algo, size_t bytes, standin_layer_t *l,
                         const void *alpha, const void *beta)
{
    if (status == CUDNN_STATUS_SUCCESS) {
        status = serves(k, way, algo);
    }
    if (status == CUDNN_STATUS_SUCCESS && bytes < workspace(k, way, algo)) {
        standin_found("a workspace of %zu bytes, %zu are needed", bytes, workspace(k, way, algo));
        status = CUDNN_STATUS_BAD_PARAM;
    }
    if (status == CUDNN_STATUS_SUCCESS) {
        l->inputs          = 2;
        l->workspace_bytes = workspace(k, way, algo);
        l->rounded         = drawn(way, algo);
        l->backwards       = l->rounded && standin_lot(2) == 0;
        l->by.convolution  = k->by;
        status             = standin_layer_put(handle, l, alpha, beta);
    }
    return standin_cudnn_leave(status);
}

cudnnStatus_t cudnnConvolutionForward(cudnnHandle_t handle, const void *alpha,
                                      const cudnnTensorDescriptor_t xd, const void *x,
                                      const cudnnFilterDescriptor_t wd, const void *w,
                                      const cudnnConvolutionDescriptor_t d,
                                      cudnnConvolutionFwdAlgo_t algo, void *workspace_at,
                                      size_t bytes, const void *beta,
                                      const cudnnTensorDescriptor_t yd, void *y)
{
    standin_case_t      k      = {0};
    const cudnnStatus_t status = begin(__func__, handle, &k, xd, wd, d, yd);
    standin_layer_t     l      = {
                 .compute = forward, .at = {x, w, y}, .shape = {k.x, k.w, k.y}, .workspace = workspace_at};

    return run(status, handle, &k, FORWARD, (int)algo, bytes, &l, alpha, beta);
}

cudnnStatus_t cudnnConvolutionBackwardData(cudnnHandle_t handle, const void *alpha,
                                           const cudnnFilterDescriptor_t wd, const void *w,
                                           const cudnnTensorDescriptor_t dyd, const void *dy,
                                           const cudnnConvolutionDescriptor_t d,
                                           cudnnConvolutionBwdDataAlgo_t algo, void *workspace_at,
                                           size_t bytes, const void *beta,
                                           const cudnnTensorDescriptor_t dxd, void *dx)
{
    standin_case_t      k      = {0};
    const cudnnStatus_t status = begin(__func__, handle, &k, dxd, wd, d, dyd);
    standin_layer_t     l      = {.compute   = backward_data,
                                  .at        = {w, dy, dx},
                                  .shape     = {k.w, k.y, k.x},
                                  .workspace = workspace_at};

    return run(status, handle, &k, BACKWARD_DATA, (int)algo, bytes, &l, alpha, beta);
}

cudnnStatus_t cudnnConvolutionBackwardFilter(cudnnHandle_t handle, const void *alpha,
                                             const cudnnTensorDescriptor_t xd, const void *x,
                                             const cudnnTensorDescriptor_t dyd, const void *dy,
                                             const cudnnConvolutionDescriptor_t d,
                                             cudnnConvolutionBwdFilterAlgo_t    algo,
                                             void *workspace_at, size_t bytes, const void *beta,
                                             const cudnnFilterDescriptor_t dwd, void *dw)
{
    standin_case_t      k      = {0};
    const cudnnStatus_t status = begin(__func__, handle, &k, xd, dwd, d, dyd);
    standin_layer_t     l      = {.compute   = backward_filter,
                                  .at        = {x, dy, dw},
                                  .shape     = {k.x, k.y, k.w},
                                  .workspace = workspace_at};

    return run(status, handle, &k, BACKWARD_FILTER, (int)algo, bytes, &l, alpha, beta);
}

/* ---- bias ----------------------------------------------------------------------------------- */

static void bias(const standin_layer_t *l, const float *const *in, double *out)
{
    const standin_shape_t *t = &l->shape[0];
    const size_t           n = standin_elements(t), plane = (size_t)t->d[2] * (size_t)t->d[3];

    for (size_t i = 0; i < n; i++) {
        out[i / plane % (size_t)t->d[1]] += (double)in[0][i];
    }
}

cudnnStatus_t cudnnConvolutionBackwardBias(cudnnHandle_t handle, const void *alpha,
                                           const cudnnTensorDescriptor_t dyd, const void *dy,
                                           const void *beta, const cudnnTensorDescriptor_t dbd,
                                           void *db)
{
    cudnnStatus_t   status = standin_cudnn_enter(__func__, handle);
    standin_layer_t l      = {.compute = bias, .inputs = 1, .at = {dy, db}};

    if (status == CUDNN_STATUS_SUCCESS &&
        (!standin_tensor(dyd, &l.shape[0]) || !standin_tensor(dbd, &l.shape[1]))) {
        status = CUDNN_STATUS_BAD_PARAM;
    }
    if (status == CUDNN_STATUS_SUCCESS &&
        (l.shape[1].d[0] != 1 || l.shape[1].d[1] != l.shape[0].d[1] || l.shape[1].d[2] != 1 ||
         l.shape[1].d[3] != 1)) {
        status = standin_bad("the bias is not 1 x C x 1 x 1");
    }
    if (status == CUDNN_STATUS_SUCCESS) {
        status = standin_layer_put(handle, &l, alpha, beta);
    }
    return standin_cudnn_leave(status);
}
