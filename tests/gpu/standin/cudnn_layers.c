/* SPDX-License-Identifier: BSD-3-Clause
 * tests/gpu/standin/cudnn_layers.c - cuDNN: pooling, activations, LRN, softmax, addition, by their
 * definitions.
 */
#include "config.h"

#include <math.h>

#include "tests/gpu/standin/cudnn_inside.h"

/* The beginning of a call with so many tensors; all of the dimensions of the first, if `alike`. */
static cudnnStatus_t begin(const char *call, cudnnHandle_t handle, standin_layer_t *l,
                           const cudnnTensorDescriptor_t *d, bool alike)
{
    const cudnnStatus_t status = standin_cudnn_enter(call, handle);

    for (int i = 0; i <= l->inputs && status == CUDNN_STATUS_SUCCESS; i++) {
        if (!standin_tensor(d[i], &l->shape[i])) {
            return CUDNN_STATUS_BAD_PARAM;
        }
        if (alike && !standin_same_dims(&l->shape[i], &l->shape[0])) {
            return standin_bad("tensors of different dimensions");
        }
    }
    return status;
}

static cudnnStatus_t end(cudnnStatus_t status, cudnnHandle_t handle, standin_layer_t *l,
                         const void *alpha, const void *beta)
{
    if (status == CUDNN_STATUS_SUCCESS) {
        status = standin_layer_put(handle, l, alpha, beta);
    }
    return standin_cudnn_leave(status);
}

/* ---- addition ------------------------------------------------------------------------------- */

/* A dimension of 1 is repeated. */
static void add(const standin_layer_t *l, const float *const *in, double *out)
{
    const standin_shape_t *a = &l->shape[0], *c = &l->shape[1];

    for (int n = 0; n < c->d[0]; n++) {
        for (int k = 0; k < c->d[1]; k++) {
            for (int h = 0; h < c->d[2]; h++) {
                for (int w = 0; w < c->d[3]; w++) {
                    out[standin_at(c, n, k, h, w)] = (double)
                        in[0][standin_at(a, n % a->d[0], k % a->d[1], h % a->d[2], w % a->d[3])];
                }
            }
        }
    }
}

cudnnStatus_t cudnnAddTensor(cudnnHandle_t handle, const void *alpha,
                             const cudnnTensorDescriptor_t ad, const void *a, const void *beta,
                             const cudnnTensorDescriptor_t cd, void *c)
{
    standin_layer_t l    = {.compute = add, .inputs = 1, .at = {a, c}};
    cudnnStatus_t status = begin(__func__, handle, &l, (cudnnTensorDescriptor_t[]){ad, cd}, false);

    for (int i = 0; i < 4 && status == CUDNN_STATUS_SUCCESS; i++) {
        if (l.shape[0].d[i] != 1 && l.shape[0].d[i] != l.shape[1].d[i]) {
            status = standin_bad("a dimension of A is neither C's nor 1");
        }
    }
    return end(status, handle, &l, alpha, beta);
}

/* ---- pooling -------------------------------------------------------------------------------- */

static int extent(const struct cudnnPoolingStruct *by, const standin_shape_t *x, int i)
{
    const int room = x->d[2 + i] + 2 * by->pad[i] - by->window[i];

    return room < 0 ? 0 : room / by->stride[i] + 1;
}

cudnnStatus_t cudnnGetPooling2dForwardOutputDim(const cudnnPoolingDescriptor_t d,
                                                const cudnnTensorDescriptor_t xd, int *n, int *c,
                                                int *h, int *w)
{
    cudnnStatus_t   status = (cudnnStatus_t)standin_enter(__func__, 0);
    standin_shape_t x;

    if (status == CUDNN_STATUS_SUCCESS && (!standin_pooling(d) || !standin_tensor(xd, &x))) {
        status = CUDNN_STATUS_BAD_PARAM;
    }
    if (status == CUDNN_STATUS_SUCCESS) {
        *n = x.d[0];
        *c = x.d[1];
        *h = extent(d, &x, 0);
        *w = extent(d, &x, 1);
    }
    return standin_cudnn_leave(status);
}

/* One window: its place in the image, cut to that, and how many elements count. */
typedef struct standin_window {
    int h0, h1, w0, w1, count;
} standin_window_t;

static standin_window_t window(const struct cudnnPoolingStruct *by, const standin_shape_t *x, int p,
                               int q)
{
    const int        h = p * by->stride[0] - by->pad[0], w = q * by->stride[1] - by->pad[1];
    standin_window_t v = {.h0 = h > 0 ? h : 0,
                          .h1 = h + by->window[0] < x->d[2] ? h + by->window[0] : x->d[2],
                          .w0 = w > 0 ? w : 0,
                          .w1 = w + by->window[1] < x->d[3] ? w + by->window[1] : x->d[3]};

    v.count = by->mode == CUDNN_POOLING_AVERAGE_COUNT_INCLUDE_PADDING
                  ? by->window[0] * by->window[1]
                  : (v.h1 - v.h0) * (v.w1 - v.w0);
    return v;
}

static bool is_max(const struct cudnnPoolingStruct *by)
{
    return by->mode == CUDNN_POOLING_MAX || by->mode == CUDNN_POOLING_MAX_DETERMINISTIC;
}

/* The first of the largest. */
static size_t largest(const standin_layer_t *l, const standin_shape_t *t, const float *x, int n,
                      int c, const standin_window_t *v)
{
    size_t best = standin_at(t, n, c, v->h0, v->w0);

    for (int h = v->h0; h < v->h1; h++) {
        for (int w = v->w0; w < v->w1; w++) {
            const size_t i    = standin_at(t, n, c, h, w);
            const bool   more = l->by.pooling.nan == CUDNN_PROPAGATE_NAN
                                    ? x[i] > x[best] || (isnan(x[i]) && !isnan(x[best]))
                                    : x[i] > x[best] || (isnan(x[best]) && !isnan(x[i]));

            best = more ? i : best;
        }
    }
    return best;
}

static void pool(const standin_layer_t *l, const standin_shape_t *x, const standin_shape_t *y,
                 const float *in, const float *dy, double *out)
{
    const struct cudnnPoolingStruct *by = &l->by.pooling;

    for (size_t i = 0; i < standin_elements(y); i++) {
        const int q = (int)(i % (size_t)y->d[3]), p = (int)(i / (size_t)y->d[3] % (size_t)y->d[2]);
        const int nc = (int)(i / ((size_t)y->d[3] * (size_t)y->d[2]));
        const int n = nc / y->d[1], c = nc % y->d[1];
        const standin_window_t v = window(by, x, p, q);

        if (is_max(by)) {
            const size_t at = largest(l, x, in, n, c, &v);

            if (dy == NULL) {
                out[i] = (double)in[at];
            } else {
                out[at] += (double)dy[i];
            }
            continue;
        }
        for (int h = v.h0; h < v.h1; h++) {
            for (int w = v.w0; w < v.w1; w++) {
                const size_t at = standin_at(x, n, c, h, w);

                if (dy == NULL) {
                    out[i] += (double)in[at] / v.count;
                } else {
                    out[at] += (double)dy[i] / v.count;
                }
            }
        }
    }
}

static void pool_forward(const standin_layer_t *l, const float *const *in, double *out)
{
    pool(l, &l->shape[0], &l->shape[1], in[0], NULL, out);
}

/* y must be what x gives. */
static void pool_backward(const standin_layer_t *l, const float *const *in, double *out)
{
    const size_t n = standin_elements(&l->shape[0]);

    for (size_t i = 0; i < n && is_max(&l->by.pooling); i++) {
        const standin_shape_t *y  = &l->shape[0];
        const int              nc = (int)(i / ((size_t)y->d[3] * (size_t)y->d[2]));
        const standin_window_t v =
            window(&l->by.pooling, &l->shape[2], (int)(i / (size_t)y->d[3] % (size_t)y->d[2]),
                   (int)(i % (size_t)y->d[3]));
        const float most = in[2][largest(l, &l->shape[2], in[2], nc / y->d[1], nc % y->d[1], &v)];

        if (in[0][i] != most && !isnan(most)) {
            standin_found("y is not the result for x");
            break;
        }
    }
    pool(l, &l->shape[2], &l->shape[0], in[2], in[1], out);
}

/* Are x and y (the shapes of these numbers) those of the pooling? */
static cudnnStatus_t pool_check(cudnnStatus_t status, standin_layer_t *l,
                                cudnnPoolingDescriptor_t d, int x, int y)
{
    const standin_shape_t *sx = &l->shape[x], *sy = &l->shape[y];

    if (status == CUDNN_STATUS_SUCCESS && !standin_pooling(d)) {
        return CUDNN_STATUS_BAD_PARAM;
    }
    if (status == CUDNN_STATUS_SUCCESS) {
        l->by.pooling = *d;
        if (sy->d[0] != sx->d[0] || sy->d[1] != sx->d[1] || sy->d[2] != extent(d, sx, 0) ||
            sy->d[3] != extent(d, sx, 1) || extent(d, sx, 0) < 1 || extent(d, sx, 1) < 1) {
            standin_found("the result is described as %d x %d x %d x %d, and has %d x %d x %d x %d",
                          sy->d[0], sy->d[1], sy->d[2], sy->d[3], sx->d[0], sx->d[1],
                          extent(d, sx, 0), extent(d, sx, 1));
            return CUDNN_STATUS_BAD_PARAM;
        }
        if (d->pad[0] >= d->window[0] || d->pad[1] >= d->window[1]) {
            return standin_bad("windows that lie in the padding alone");
        }
    }
    return status;
}

cudnnStatus_t cudnnPoolingForward(cudnnHandle_t handle, const cudnnPoolingDescriptor_t d,
                                  const void *alpha, const cudnnTensorDescriptor_t xd,
                                  const void *x, const void *beta, const cudnnTensorDescriptor_t yd,
                                  void *y)
{
    standin_layer_t l    = {.compute = pool_forward, .inputs = 1, .at = {x, y}};
    cudnnStatus_t status = begin(__func__, handle, &l, (cudnnTensorDescriptor_t[]){xd, yd}, false);

    return end(pool_check(status, &l, d, 0, 1), handle, &l, alpha, beta);
}

cudnnStatus_t cudnnPoolingBackward(cudnnHandle_t handle, const cudnnPoolingDescriptor_t d,
                                   const void *alpha, const cudnnTensorDescriptor_t yd,
                                   const void *y, const cudnnTensorDescriptor_t dyd, const void *dy,
                                   const cudnnTensorDescriptor_t xd, const void *x,
                                   const void *beta, const cudnnTensorDescriptor_t dxd, void *dx)
{
    standin_layer_t l = {.compute = pool_backward, .inputs = 3, .at = {y, dy, x, dx}};
    cudnnStatus_t   status =
        begin(__func__, handle, &l, (cudnnTensorDescriptor_t[]){yd, dyd, xd, dxd}, false);

    if (status == CUDNN_STATUS_SUCCESS && (!standin_same_dims(&l.shape[0], &l.shape[1]) ||
                                           !standin_same_dims(&l.shape[2], &l.shape[3]))) {
        status = standin_bad("a gradient has other dimensions than its tensor");
    }
    return end(pool_check(status, &l, d, 2, 0), handle, &l, alpha, beta);
}

/* ---- activations ---------------------------------------------------------------------------- */

static double activated(const struct cudnnActivationStruct *by, double x)
{
    switch (by->mode) {
    case CUDNN_ACTIVATION_SIGMOID:
        return 1 / (1 + exp(-x));
    case CUDNN_ACTIVATION_RELU:
        return x > 0 || (isnan(x) && by->nan == CUDNN_PROPAGATE_NAN) ? x : 0;
    case CUDNN_ACTIVATION_TANH:
        return tanh(x);
    case CUDNN_ACTIVATION_CLIPPED_RELU:
        return x > by->coef ? by->coef : x > 0 ? x : 0;
    case CUDNN_ACTIVATION_ELU:
        return x > 0 ? x : by->coef * expm1(x);
    default:
        return x;
    }
}

static double slope(const struct cudnnActivationStruct *by, double x, double y)
{
    switch (by->mode) {
    case CUDNN_ACTIVATION_SIGMOID:
        return y * (1 - y);
    case CUDNN_ACTIVATION_RELU:
        return x > 0;
    case CUDNN_ACTIVATION_TANH:
        return 1 - y * y;
    case CUDNN_ACTIVATION_CLIPPED_RELU:
        return x > 0 && x < by->coef;
    case CUDNN_ACTIVATION_ELU:
        return x > 0 ? 1 : y + by->coef;
    default:
        return 1;
    }
}

static void activate(const standin_layer_t *l, const float *const *in, double *out)
{
    for (size_t i = 0; i < standin_elements(&l->shape[0]); i++) {
        out[i] = activated(&l->by.activation, (double)in[0][i]);
    }
}

static void activate_backward(const standin_layer_t *l, const float *const *in, double *out)
{
    for (size_t i = 0; i < standin_elements(&l->shape[0]); i++) {
        out[i] = (double)in[1][i] * slope(&l->by.activation, (double)in[2][i], (double)in[0][i]);
    }
}

static cudnnStatus_t activation_check(cudnnStatus_t status, standin_layer_t *l,
                                      cudnnActivationDescriptor_t d, bool backward)
{
    if (status == CUDNN_STATUS_SUCCESS && !standin_activation(d)) {
        return CUDNN_STATUS_BAD_PARAM;
    }
    if (status == CUDNN_STATUS_SUCCESS) {
        l->by.activation = *d;
        l->in_place      = true;
        if (backward && d->mode == CUDNN_ACTIVATION_IDENTITY) {
            return CUDNN_STATUS_NOT_SUPPORTED;
        }
    }
    return status;
}

cudnnStatus_t cudnnActivationForward(cudnnHandle_t handle, cudnnActivationDescriptor_t d,
                                     const void *alpha, const cudnnTensorDescriptor_t xd,
                                     const void *x, const void *beta,
                                     const cudnnTensorDescriptor_t yd, void *y)
{
    standin_layer_t     l = {.compute = activate, .inputs = 1, .at = {x, y}};
    const cudnnStatus_t status =
        begin(__func__, handle, &l, (cudnnTensorDescriptor_t[]){xd, yd}, true);

    return end(activation_check(status, &l, d, false), handle, &l, alpha, beta);
}

cudnnStatus_t cudnnActivationBackward(cudnnHandle_t handle, cudnnActivationDescriptor_t d,
                                      const void *alpha, const cudnnTensorDescriptor_t yd,
                                      const void *y, const cudnnTensorDescriptor_t dyd,
                                      const void *dy, const cudnnTensorDescriptor_t xd,
                                      const void *x, const void *beta,
                                      const cudnnTensorDescriptor_t dxd, void *dx)
{
    standin_layer_t     l = {.compute = activate_backward, .inputs = 3, .at = {y, dy, x, dx}};
    const cudnnStatus_t status =
        begin(__func__, handle, &l, (cudnnTensorDescriptor_t[]){yd, dyd, xd, dxd}, true);

    return end(activation_check(status, &l, d, true), handle, &l, alpha, beta);
}

/* ---- LRN ------------------------------------------------------------------------------------ */

/* k + alpha / n * the sum of squares in the window of channel c. */
static double lrn_scale(const standin_layer_t *l, const float *x, int n, int c, int h, int w)
{
    const struct cudnnLRNStruct *by     = &l->by.lrn;
    const standin_shape_t       *t      = &l->shape[0];
    const int                    behind = (by->n - 1) / 2, ahead = by->n - behind - 1;
    double                       sum = 0;

    for (int i = c - behind < 0 ? 0 : c - behind; i <= c + ahead && i < t->d[1]; i++) {
        const double v = (double)x[standin_at(t, n, i, h, w)];

        sum += v * v;
    }
    return by->k + by->alpha / by->n * sum;
}

#define EACH(t)                                                                                    \
    for (int n = 0; n < (t)->d[0]; n++)                                                            \
        for (int c = 0; c < (t)->d[1]; c++)                                                        \
            for (int h = 0; h < (t)->d[2]; h++)                                                    \
                for (int w = 0; w < (t)->d[3]; w++)

static void lrn(const standin_layer_t *l, const float *const *in, double *out)
{
    const standin_shape_t *t = &l->shape[0];

    EACH(t)
    {
        const size_t i = standin_at(t, n, c, h, w);

        out[i] = (double)in[0][i] * pow(lrn_scale(l, in[0], n, c, h, w), -l->by.lrn.beta);
    }
}

/* Each output that has channel c in its window hands something back to it. */
static void lrn_backward(const standin_layer_t *l, const float *const *in, double *out)
{
    const struct cudnnLRNStruct *by     = &l->by.lrn;
    const standin_shape_t       *t      = &l->shape[0];
    const int                    behind = (by->n - 1) / 2, ahead = by->n - behind - 1;

    EACH(t)
    {
        const double scale = lrn_scale(l, in[2], n, c, h, w);
        const size_t o     = standin_at(t, n, c, h, w);
        const double dy = (double)in[1][o], x = (double)in[2][o];

        out[o] += dy * pow(scale, -by->beta);
        for (int i = c - behind < 0 ? 0 : c - behind; i <= c + ahead && i < t->d[1]; i++) {
            const size_t at = standin_at(t, n, i, h, w);

            out[at] -= 2 * by->alpha * by->beta / by->n * dy * x * pow(scale, -by->beta - 1) *
                       (double)in[2][at];
        }
    }
}

static cudnnStatus_t lrn_check(cudnnStatus_t status, standin_layer_t *l, cudnnLRNDescriptor_t d,
                               cudnnLRNMode_t mode)
{
    if (status == CUDNN_STATUS_SUCCESS && !standin_lrn(d)) {
        return CUDNN_STATUS_BAD_PARAM;
    }
    if (status == CUDNN_STATUS_SUCCESS) {
        l->by.lrn = *d;
        if (mode != CUDNN_LRN_CROSS_CHANNEL_DIM1) {
            return standin_bad("an unknown mode");
        }
        for (int i = 0; i <= l->inputs; i++) {
            const standin_shape_t *t = &l->shape[i];

            if (t->s[3] != 1 || t->s[2] != t->d[3] || t->s[1] != t->s[2] * t->d[2] ||
                t->s[0] != t->s[1] * t->d[1]) {
                standin_found("a tensor is not dense NCHW");
                return CUDNN_STATUS_NOT_SUPPORTED;
            }
        }
    }
    return status;
}

cudnnStatus_t cudnnLRNCrossChannelForward(cudnnHandle_t handle, cudnnLRNDescriptor_t d,
                                          cudnnLRNMode_t mode, const void *alpha,
                                          const cudnnTensorDescriptor_t xd, const void *x,
                                          const void *beta, const cudnnTensorDescriptor_t yd,
                                          void *y)
{
    standin_layer_t     l = {.compute = lrn, .inputs = 1, .at = {x, y}};
    const cudnnStatus_t status =
        begin(__func__, handle, &l, (cudnnTensorDescriptor_t[]){xd, yd}, true);

    return end(lrn_check(status, &l, d, mode), handle, &l, alpha, beta);
}

cudnnStatus_t cudnnLRNCrossChannelBackward(cudnnHandle_t handle, cudnnLRNDescriptor_t d,
                                           cudnnLRNMode_t mode, const void *alpha,
                                           const cudnnTensorDescriptor_t yd, const void *y,
                                           const cudnnTensorDescriptor_t dyd, const void *dy,
                                           const cudnnTensorDescriptor_t xd, const void *x,
                                           const void *beta, const cudnnTensorDescriptor_t dxd,
                                           void *dx)
{
    standin_layer_t     l = {.compute = lrn_backward, .inputs = 3, .at = {y, dy, x, dx}};
    const cudnnStatus_t status =
        begin(__func__, handle, &l, (cudnnTensorDescriptor_t[]){yd, dyd, xd, dxd}, true);

    return end(lrn_check(status, &l, d, mode), handle, &l, alpha, beta);
}

/* ---- softmax -------------------------------------------------------------------------------- */

/* Element i of group g of a dense tensor: groups are images, or pixels of images. */
static size_t member(const standin_layer_t *l, size_t g, size_t i)
{
    const standin_shape_t *t     = &l->shape[0];
    const size_t           plane = (size_t)t->d[2] * (size_t)t->d[3];

    return l->by.softmax.mode == CUDNN_SOFTMAX_MODE_INSTANCE
               ? g * (size_t)t->d[1] * plane + i
               : g / plane * (size_t)t->d[1] * plane + i * plane + g % plane;
}

static size_t members(const standin_layer_t *l)
{
    const standin_shape_t *t = &l->shape[0];

    return l->by.softmax.mode == CUDNN_SOFTMAX_MODE_INSTANCE
               ? (size_t)t->d[1] * (size_t)t->d[2] * (size_t)t->d[3]
               : (size_t)t->d[1];
}

static void softmax(const standin_layer_t *l, const float *const *in, double *out)
{
    const size_t m = members(l), groups = standin_elements(&l->shape[0]) / m;

    for (size_t g = 0; g < groups; g++) {
        float most = -INFINITY;
        float sum  = 0; /* as float: without the largest taken off it overflows */

        for (size_t i = 0; i < m; i++) {
            most = fmaxf(most, in[0][member(l, g, i)]);
        }
        most = l->by.softmax.algo == CUDNN_SOFTMAX_FAST ? 0 : most;
        for (size_t i = 0; i < m; i++) {
            sum += expf(in[0][member(l, g, i)] - most);
        }
        for (size_t i = 0; i < m; i++) {
            const size_t at = member(l, g, i);

            out[at] = l->by.softmax.algo == CUDNN_SOFTMAX_LOG
                          ? (double)(in[0][at] - most) - log((double)sum)
                          : (double)(expf(in[0][at] - most) / sum);
        }
    }
}

static void softmax_backward(const standin_layer_t *l, const float *const *in, double *out)
{
    const size_t m = members(l), groups = standin_elements(&l->shape[0]) / m;
    const bool   log = l->by.softmax.algo == CUDNN_SOFTMAX_LOG;

    for (size_t g = 0; g < groups; g++) {
        double sum = 0;

        for (size_t i = 0; i < m; i++) {
            const size_t at = member(l, g, i);

            sum += (double)in[1][at] * (log ? 1.0 : (double)in[0][at]);
        }
        for (size_t i = 0; i < m; i++) {
            const size_t at = member(l, g, i);
            const double y = (double)in[0][at], dy = (double)in[1][at];

            out[at] = log ? dy - exp(y) * sum : y * (dy - sum);
        }
    }
}

static cudnnStatus_t softmax_check(cudnnStatus_t status, standin_layer_t *l,
                                   cudnnSoftmaxAlgorithm_t algo, cudnnSoftmaxMode_t mode)
{
    if (status == CUDNN_STATUS_SUCCESS &&
        ((int)algo < CUDNN_SOFTMAX_FAST || algo > CUDNN_SOFTMAX_LOG ||
         (mode != CUDNN_SOFTMAX_MODE_INSTANCE && mode != CUDNN_SOFTMAX_MODE_CHANNEL))) {
        return standin_bad("an unknown algorithm or mode");
    }
    l->by.softmax.algo = algo;
    l->by.softmax.mode = mode;
    l->in_place        = true;
    return status;
}

cudnnStatus_t cudnnSoftmaxForward(cudnnHandle_t handle, cudnnSoftmaxAlgorithm_t algo,
                                  cudnnSoftmaxMode_t mode, const void *alpha,
                                  const cudnnTensorDescriptor_t xd, const void *x, const void *beta,
                                  const cudnnTensorDescriptor_t yd, void *y)
{
    standin_layer_t     l = {.compute = softmax, .inputs = 1, .at = {x, y}};
    const cudnnStatus_t status =
        begin(__func__, handle, &l, (cudnnTensorDescriptor_t[]){xd, yd}, true);

    return end(softmax_check(status, &l, algo, mode), handle, &l, alpha, beta);
}

cudnnStatus_t cudnnSoftmaxBackward(cudnnHandle_t handle, cudnnSoftmaxAlgorithm_t algo,
                                   cudnnSoftmaxMode_t mode, const void *alpha,
                                   const cudnnTensorDescriptor_t yd, const void *y,
                                   const cudnnTensorDescriptor_t dyd, const void *dy,
                                   const void *beta, const cudnnTensorDescriptor_t dxd, void *dx)
{
    standin_layer_t     l = {.compute = softmax_backward, .inputs = 2, .at = {y, dy, dx}};
    const cudnnStatus_t status =
        begin(__func__, handle, &l, (cudnnTensorDescriptor_t[]){yd, dyd, dxd}, true);

    return end(softmax_check(status, &l, algo, mode), handle, &l, alpha, beta);
}
