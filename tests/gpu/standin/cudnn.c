/* SPDX-License-Identifier: BSD-3-Clause
 * tests/gpu/standin/cudnn.c - cuDNN: handles, descriptors, and how work is done.
 */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "tests/gpu/standin/cudnn_inside.h"

static const char handles[] = "cuDNN handles", tensors[] = "tensor descriptors",
                  filters[] = "filter descriptors", convolutions[] = "convolution descriptors",
                  poolings[] = "pooling descriptors", activations[] = "activation descriptors",
                  lrns[] = "LRN descriptors";

cudnnStatus_t standin_cudnn_enter(const char *call, cudnnHandle_t handle)
{
    const cudnnStatus_t status = (cudnnStatus_t)standin_enter(call, CUDNN_STATUS_EXECUTION_FAILED);

    if (status == CUDNN_STATUS_SUCCESS && !standin_object_is(handles, handle)) {
        return CUDNN_STATUS_NOT_INITIALIZED;
    }
    if (status == CUDNN_STATUS_SUCCESS && handle->device != standin_current) {
        return standin_bad("the handle is not one of the current device");
    }
    return status;
}

cudnnStatus_t standin_cudnn_leave(cudnnStatus_t status)
{
    return (cudnnStatus_t)standin_leave((int)status);
}

cudnnStatus_t standin_bad(const char *what)
{
    standin_found("%s", what);
    return CUDNN_STATUS_BAD_PARAM;
}

size_t cudnnGetVersion(void)
{
    const char *other = getenv("STANDIN_CUDNN");

    return other != NULL && *other != '\0' ? strtoull(other, NULL, 10) : CUDNN_VERSION;
}

const char *cudnnGetErrorString(cudnnStatus_t status)
{
    switch ((int)status) {
    case CUDNN_STATUS_SUCCESS:
        return "CUDNN_STATUS_SUCCESS";
    case CUDNN_STATUS_NOT_INITIALIZED:
        return "CUDNN_STATUS_NOT_INITIALIZED";
    case CUDNN_STATUS_BAD_PARAM:
        return "CUDNN_STATUS_BAD_PARAM";
    case CUDNN_STATUS_NOT_SUPPORTED:
        return "CUDNN_STATUS_NOT_SUPPORTED";
    case CUDNN_STATUS_EXECUTION_FAILED:
        return "CUDNN_STATUS_EXECUTION_FAILED";
    default:
        return status / 1000 == 4 ? "CUDNN_STATUS_INTERNAL_ERROR" : "unknown";
    }
}

/* ---- handles -------------------------------------------------------------------------------- */

cudnnStatus_t cudnnCreate(cudnnHandle_t *handle)
{
    cudnnStatus_t status = (cudnnStatus_t)standin_enter(__func__, CUDNN_STATUS_NOT_INITIALIZED);

    if (status == CUDNN_STATUS_SUCCESS) {
        status = standin_devices == 0 ? CUDNN_STATUS_NOT_INITIALIZED
                 : handle == NULL     ? CUDNN_STATUS_BAD_PARAM
                                      : CUDNN_STATUS_SUCCESS;
    }
    if (status == CUDNN_STATUS_SUCCESS) {
        *handle           = standin_object_create(handles, sizeof(**handle));
        (*handle)->device = standin_current;
    }
    return standin_cudnn_leave(status);
}

/* As documented it waits for the device. */
cudnnStatus_t cudnnDestroy(cudnnHandle_t handle)
{
    const cudnnStatus_t status = standin_cudnn_enter(__func__, handle);

    if (status == CUDNN_STATUS_SUCCESS) {
        standin_finish_device(handle->device);
        standin_object_destroy(handles, handle);
    }
    return standin_cudnn_leave(status);
}

cudnnStatus_t cudnnSetStream(cudnnHandle_t handle, cudaStream_t stream)
{
    cudnnStatus_t             status = standin_cudnn_enter(__func__, handle);
    const struct CUstream_st *s      = NULL;

    if (status == CUDNN_STATUS_SUCCESS) {
        s      = standin_stream(stream);
        status = s == NULL ? CUDNN_STATUS_BAD_PARAM : status;
    }
    if (status == CUDNN_STATUS_SUCCESS && s->device != handle->device) {
        status = standin_bad("the stream is not one of the handle's device");
    }
    if (status == CUDNN_STATUS_SUCCESS) {
        handle->stream = stream;
    }
    return standin_cudnn_leave(status);
}

cudnnStatus_t cudnnGetStream(cudnnHandle_t handle, cudaStream_t *stream)
{
    cudnnStatus_t status = standin_cudnn_enter(__func__, handle);

    if (status == CUDNN_STATUS_SUCCESS && stream == NULL) {
        status = CUDNN_STATUS_BAD_PARAM;
    }
    if (status == CUDNN_STATUS_SUCCESS) {
        *stream = handle->stream;
    }
    return standin_cudnn_leave(status);
}

/* ---- descriptors ---------------------------------------------------------------------------- */

/* Of a kind; they need no device, and no handle. */
#define DESCRIPTOR(Name, list)                                                                     \
    cudnnStatus_t cudnnCreate##Name##Descriptor(cudnn##Name##Descriptor_t *d)                      \
    {                                                                                              \
        cudnnStatus_t status = (cudnnStatus_t)standin_enter(__func__, 0);                          \
                                                                                                   \
        if (status == CUDNN_STATUS_SUCCESS && d == NULL) {                                         \
            status = CUDNN_STATUS_BAD_PARAM;                                                       \
        }                                                                                          \
        if (status == CUDNN_STATUS_SUCCESS) {                                                      \
            *d = standin_object_create(list, sizeof(**d));                                         \
        }                                                                                          \
        return standin_cudnn_leave(status);                                                        \
    }                                                                                              \
    cudnnStatus_t cudnnDestroy##Name##Descriptor(cudnn##Name##Descriptor_t d)                      \
    {                                                                                              \
        cudnnStatus_t status = (cudnnStatus_t)standin_enter(__func__, 0);                          \
                                                                                                   \
        if (status == CUDNN_STATUS_SUCCESS && !standin_object_destroy(list, d)) {                  \
            status = CUDNN_STATUS_BAD_PARAM;                                                       \
        }                                                                                          \
        return standin_cudnn_leave(status);                                                        \
    }

DESCRIPTOR(Tensor, tensors)
DESCRIPTOR(Filter, filters)
DESCRIPTOR(Convolution, convolutions)
DESCRIPTOR(Pooling, poolings)
DESCRIPTOR(Activation, activations)
DESCRIPTOR(LRN, lrns)

/* The beginning of a setter. */
static cudnnStatus_t setter(const char *call, const char *list, const void *d)
{
    cudnnStatus_t status = (cudnnStatus_t)standin_enter(call, 0);

    return status == CUDNN_STATUS_SUCCESS && !standin_object_is(list, d) ? CUDNN_STATUS_BAD_PARAM
                                                                         : status;
}

/* Is it one of the kind, and was it set? */
static bool usable(const char *list, const void *d, const bool *set)
{
    if (!standin_object_is(list, d)) {
        return false;
    }
    if (!*set) {
        standin_found("one of the %s was never set", list);
    }
    return *set;
}

bool standin_tensor(cudnnTensorDescriptor_t d, standin_shape_t *shape_p)
{
    const bool good = d != NULL ? usable(tensors, d, &d->set) : standin_object_is(tensors, d);

    if (good) {
        *shape_p = d->shape;
    }
    return good;
}

bool standin_filter(cudnnFilterDescriptor_t d, standin_shape_t *shape_p)
{
    const bool good = d != NULL ? usable(filters, d, &d->set) : standin_object_is(filters, d);

    if (good) {
        *shape_p = d->shape;
    }
    return good;
}

bool standin_convolution(cudnnConvolutionDescriptor_t d)
{
    return d != NULL ? usable(convolutions, d, &d->set) : standin_object_is(convolutions, d);
}

bool standin_pooling(cudnnPoolingDescriptor_t d)
{
    return d != NULL ? usable(poolings, d, &d->set) : standin_object_is(poolings, d);
}

bool standin_activation(cudnnActivationDescriptor_t d)
{
    return d != NULL ? usable(activations, d, &d->set) : standin_object_is(activations, d);
}

bool standin_lrn(cudnnLRNDescriptor_t d)
{
    return d != NULL ? usable(lrns, d, &d->set) : standin_object_is(lrns, d);
}

static standin_shape_t dense(int n, int c, int h, int w)
{
    return (standin_shape_t){.d = {n, c, h, w}, .s = {c * h * w, h * w, w, 1}};
}

cudnnStatus_t cudnnSetTensor4dDescriptor(cudnnTensorDescriptor_t d, cudnnTensorFormat_t format,
                                         cudnnDataType_t type, int n, int c, int h, int w)
{
    cudnnStatus_t status = setter(__func__, tensors, d);

    if (status == CUDNN_STATUS_SUCCESS && (n < 1 || c < 1 || h < 1 || w < 1)) {
        status = standin_bad("a dimension is below 1");
    } else if (status == CUDNN_STATUS_SUCCESS && type != CUDNN_DATA_FLOAT) {
        status = CUDNN_STATUS_NOT_SUPPORTED;
    } else if (status == CUDNN_STATUS_SUCCESS && format != CUDNN_TENSOR_NCHW &&
               format != CUDNN_TENSOR_NHWC) {
        status = standin_bad("the format is neither NCHW nor NHWC");
    }
    if (status == CUDNN_STATUS_SUCCESS) {
        d->set   = true;
        d->shape = dense(n, c, h, w);
        if (format == CUDNN_TENSOR_NHWC) {
            d->shape = (standin_shape_t){.d = {n, c, h, w}, .s = {h * w * c, 1, w * c, c}};
        }
    }
    return standin_cudnn_leave(status);
}

cudnnStatus_t cudnnSetTensor4dDescriptorEx(cudnnTensorDescriptor_t d, cudnnDataType_t type, int n,
                                           int c, int h, int w, int sn, int sc, int sh, int sw)
{
    cudnnStatus_t status = setter(__func__, tensors, d);

    if (status == CUDNN_STATUS_SUCCESS &&
        (n < 1 || c < 1 || h < 1 || w < 1 || sn < 1 || sc < 1 || sh < 1 || sw < 1)) {
        status = standin_bad("a dimension or a stride is below 1");
    } else if (status == CUDNN_STATUS_SUCCESS && type != CUDNN_DATA_FLOAT) {
        status = CUDNN_STATUS_NOT_SUPPORTED;
    }
    if (status == CUDNN_STATUS_SUCCESS) {
        d->set   = true;
        d->shape = (standin_shape_t){.d = {n, c, h, w}, .s = {sn, sc, sh, sw}};
    }
    return standin_cudnn_leave(status);
}

cudnnStatus_t cudnnSetFilter4dDescriptor(cudnnFilterDescriptor_t d, cudnnDataType_t type,
                                         cudnnTensorFormat_t format, int k, int c, int h, int w)
{
    cudnnStatus_t status = setter(__func__, filters, d);

    if (status == CUDNN_STATUS_SUCCESS && (k < 1 || c < 1 || h < 1 || w < 1)) {
        status = standin_bad("a dimension is below 1");
    } else if (status == CUDNN_STATUS_SUCCESS &&
               (type != CUDNN_DATA_FLOAT || format != CUDNN_TENSOR_NCHW)) {
        status = CUDNN_STATUS_NOT_SUPPORTED;
    }
    if (status == CUDNN_STATUS_SUCCESS) {
        d->set   = true;
        d->shape = dense(k, c, h, w);
    }
    return standin_cudnn_leave(status);
}

cudnnStatus_t cudnnSetConvolution2dDescriptor(cudnnConvolutionDescriptor_t d, int pad_h, int pad_w,
                                              int stride_h, int stride_w, int dilation_h,
                                              int dilation_w, cudnnConvolutionMode_t mode,
                                              cudnnDataType_t type)
{
    cudnnStatus_t status = setter(__func__, convolutions, d);

    if (status == CUDNN_STATUS_SUCCESS &&
        (pad_h < 0 || pad_w < 0 || stride_h < 1 || stride_w < 1 || dilation_h < 1 ||
         dilation_w < 1 || (mode != CUDNN_CONVOLUTION && mode != CUDNN_CROSS_CORRELATION))) {
        status = standin_bad("padding below 0, stride or dilation below 1, or an unknown mode");
    } else if (status == CUDNN_STATUS_SUCCESS && type != CUDNN_DATA_FLOAT) {
        status = CUDNN_STATUS_NOT_SUPPORTED;
    }
    if (status == CUDNN_STATUS_SUCCESS) {
        *d = (struct cudnnConvolutionStruct){.set      = true,
                                             .pad      = {pad_h, pad_w},
                                             .stride   = {stride_h, stride_w},
                                             .dilation = {dilation_h, dilation_w},
                                             .groups   = 1,
                                             .mode     = mode,
                                             .math     = CUDNN_DEFAULT_MATH};
    }
    return standin_cudnn_leave(status);
}

cudnnStatus_t cudnnSetConvolutionMathType(cudnnConvolutionDescriptor_t d, cudnnMathType_t math)
{
    cudnnStatus_t status = setter(__func__, convolutions, d);

    if (status == CUDNN_STATUS_SUCCESS &&
        ((int)math < CUDNN_DEFAULT_MATH || math > CUDNN_FMA_MATH)) {
        status = standin_bad("an unknown mode");
    }
    if (status == CUDNN_STATUS_SUCCESS) {
        d->math = math;
    }
    return standin_cudnn_leave(status);
}

cudnnStatus_t cudnnSetConvolutionGroupCount(cudnnConvolutionDescriptor_t d, int groups)
{
    cudnnStatus_t status = setter(__func__, convolutions, d);

    if (status == CUDNN_STATUS_SUCCESS && groups < 1) {
        status = standin_bad("fewer groups than 1");
    }
    if (status == CUDNN_STATUS_SUCCESS) {
        d->groups = groups;
    }
    return standin_cudnn_leave(status);
}

cudnnStatus_t cudnnSetPooling2dDescriptor(cudnnPoolingDescriptor_t d, cudnnPoolingMode_t mode,
                                          cudnnNanPropagation_t nan, int h, int w, int pad_h,
                                          int pad_w, int stride_h, int stride_w)
{
    cudnnStatus_t status = setter(__func__, poolings, d);

    if (status == CUDNN_STATUS_SUCCESS &&
        (h < 1 || w < 1 || pad_h < 0 || pad_w < 0 || stride_h < 1 || stride_w < 1 ||
         (int)mode < CUDNN_POOLING_MAX || mode > CUDNN_POOLING_MAX_DETERMINISTIC)) {
        status = standin_bad("window or stride below 1, padding below 0, or an unknown mode");
    }
    if (status == CUDNN_STATUS_SUCCESS) {
        *d = (struct cudnnPoolingStruct){.set    = true,
                                         .mode   = mode,
                                         .nan    = nan,
                                         .window = {h, w},
                                         .pad    = {pad_h, pad_w},
                                         .stride = {stride_h, stride_w}};
    }
    return standin_cudnn_leave(status);
}

cudnnStatus_t cudnnSetActivationDescriptor(cudnnActivationDescriptor_t d,
                                           cudnnActivationMode_t mode, cudnnNanPropagation_t nan,
                                           double coef)
{
    cudnnStatus_t status = setter(__func__, activations, d);

    if (status == CUDNN_STATUS_SUCCESS &&
        ((int)mode < CUDNN_ACTIVATION_SIGMOID || mode > CUDNN_ACTIVATION_IDENTITY)) {
        status = standin_bad("an unknown mode");
    }
    if (status == CUDNN_STATUS_SUCCESS) {
        *d = (struct cudnnActivationStruct){.set = true, .mode = mode, .nan = nan, .coef = coef};
    }
    return standin_cudnn_leave(status);
}

cudnnStatus_t cudnnSetLRNDescriptor(cudnnLRNDescriptor_t d, unsigned n, double alpha, double beta,
                                    double k)
{
    cudnnStatus_t status = setter(__func__, lrns, d);

    if (status == CUDNN_STATUS_SUCCESS && (n < CUDNN_LRN_MIN_N || n > CUDNN_LRN_MAX_N ||
                                           beta < CUDNN_LRN_MIN_BETA || k < CUDNN_LRN_MIN_K)) {
        status = standin_bad("n outside 1 .. 16, beta below 0.01, or k below 1e-5");
    }
    if (status == CUDNN_STATUS_SUCCESS) {
        *d =
            (struct cudnnLRNStruct){.set = true, .n = (int)n, .alpha = alpha, .beta = beta, .k = k};
    }
    return standin_cudnn_leave(status);
}

/* ---- work ----------------------------------------------------------------------------------- */

bool standin_same_dims(const standin_shape_t *a, const standin_shape_t *b)
{
    return memcmp(a->d, b->d, sizeof(a->d)) == 0;
}

size_t standin_elements(const standin_shape_t *shape)
{
    return (size_t)shape->d[0] * (size_t)shape->d[1] * (size_t)shape->d[2] * (size_t)shape->d[3];
}

/* Bytes from the first element to the end of the last one. */
static size_t span(const standin_shape_t *shape)
{
    size_t last = 0;

    for (int i = 0; i < 4; i++) {
        last += (size_t)(shape->d[i] - 1) * (size_t)shape->s[i];
    }
    return (last + 1) * sizeof(float);
}

/* Element i of a dense array, at this element of the tensor. */
static size_t place(const standin_shape_t *shape, size_t i)
{
    size_t at = 0;

    for (int k = 3; k >= 0; k--) {
        at += i % (size_t)shape->d[k] * (size_t)shape->s[k];
        i /= (size_t)shape->d[k];
    }
    return at;
}

static const char *const names[] = {"the first tensor", "the second tensor", "the third tensor",
                                    "the fourth tensor"};

static float *real(const standin_layer_t *l, int i)
{
    return (float *)(void *)standin_bytes(names[i], l->at[i], span(&l->shape[i]), sizeof(float),
                                          l->device, false);
}

static bool all_there(const standin_layer_t *l)
{
    bool there = true;

    for (int i = 0; i <= l->inputs; i++) {
        there = real(l, i) != NULL && there;
    }
    return (l->workspace_bytes == 0 ||
            standin_bytes("the workspace", l->workspace, l->workspace_bytes, 16, l->device,
                          false) != NULL) &&
           there;
}

static int layer_run(void *arg, bool dead)
{
    const standin_layer_t *l     = arg;
    const int              o     = l->inputs;
    const size_t           n     = standin_elements(&l->shape[o]);
    float                 *in[3] = {NULL}, *out;
    double                *result;

    if (dead) {
        return 0;
    }
    if (!all_there(l)) {
        return cudaErrorIllegalAddress;
    }
    if (l->workspace_bytes > 0) {
        memset(
            standin_bytes("the workspace", l->workspace, l->workspace_bytes, 16, l->device, false),
            0xd7, l->workspace_bytes);
    }
    for (int i = 0; i < o; i++) { /* behind the workspace: if that lies over one, it shows */
        const size_t m = standin_elements(&l->shape[i]);

        in[i] = malloc(m * sizeof(float));
        for (size_t k = 0; k < m; k++) {
            in[i][k] = real(l, i)[place(&l->shape[i], k)];
        }
    }
    result = calloc(n, sizeof(*result));
    l->compute(l, (const float *const *)in, result);
    out = real(l, o);
    for (size_t k = 0; k < n; k++) {
        float *at = &out[place(&l->shape[o], k)];

        *at = (float)(l->alpha * result[k] + (l->beta != 0 ? (double)l->beta * (double)*at : 0));
    }
    free(result);
    for (int i = 0; i < o; i++) {
        free(in[i]);
    }
    return 0;
}

static bool on_device(const void *p)
{
    const standin_memory_t *m = standin_memory_of(p);

    return m != NULL && m->kind == STANDIN_DEVICE;
}

/* An output may be an input, element by element, where that is allowed. */
static void look_at_overlaps(const standin_layer_t *l)
{
    const uint8_t *out = l->at[l->inputs], *end = out + span(&l->shape[l->inputs]);

    for (int i = 0; i < l->inputs; i++) {
        const uint8_t *in = l->at[i];

        if (in < end && out < in + span(&l->shape[i]) && !(l->in_place && in == out)) {
            standin_found("the output lies over %s", names[i]);
        }
    }
}

cudnnStatus_t standin_layer_put(cudnnHandle_t handle, standin_layer_t *layer, const void *alpha,
                                const void *beta)
{
    struct CUstream_st *on = standin_stream(handle->stream);
    const void *uses[] = {layer->at[0], layer->at[1], layer->at[2], layer->at[3], layer->workspace};

    if (on == NULL || alpha == NULL || beta == NULL) {
        return on == NULL ? CUDNN_STATUS_EXECUTION_FAILED : standin_bad("alpha or beta is NULL");
    }
    if (on_device(alpha) || on_device(beta)) {
        return standin_bad("alpha or beta is device memory");
    }
    memcpy(&layer->alpha, alpha, sizeof(float));
    memcpy(&layer->beta, beta, sizeof(float));
    layer->device = handle->device;
    if (!all_there(layer)) {
        return CUDNN_STATUS_BAD_PARAM;
    }
    look_at_overlaps(layer);
    standin_put(on, layer_run, layer, sizeof(*layer), uses, sizeof(uses) / sizeof(uses[0]), false);
    return CUDNN_STATUS_SUCCESS;
}
