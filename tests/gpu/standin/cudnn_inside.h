/* SPDX-License-Identifier: BSD-3-Clause
 * tests/gpu/standin/cudnn_inside.h - what the files of the stand-in for cuDNN share.
 */
#ifndef TW_TESTS_GPU_STANDIN_CUDNN_INSIDE_H
#define TW_TESTS_GPU_STANDIN_CUDNN_INSIDE_H

#include <cudnn.h>

#include "tests/gpu/standin/core.h"

/* float32; strides in elements. Filters are (k, c, h, w), always dense. */
typedef struct standin_shape {
    int d[4], s[4];
} standin_shape_t;

struct cudnnContext {
    int          device;
    cudaStream_t stream;
};

struct cudnnTensorStruct {
    bool            set;
    standin_shape_t shape;
};

struct cudnnFilterStruct {
    bool            set;
    standin_shape_t shape;
};

struct cudnnConvolutionStruct {
    bool                   set;
    int                    pad[2], stride[2], dilation[2], groups;
    cudnnConvolutionMode_t mode;
    cudnnMathType_t        math;
};

struct cudnnPoolingStruct {
    bool                  set;
    cudnnPoolingMode_t    mode;
    cudnnNanPropagation_t nan;
    int                   window[2], pad[2], stride[2];
};

struct cudnnActivationStruct {
    bool                  set;
    cudnnActivationMode_t mode;
    cudnnNanPropagation_t nan;
    double                coef;
};

struct cudnnLRNStruct {
    bool   set;
    int    n;
    double alpha, beta, k;
};

/* Work: output = alpha compute(inputs) + beta output. Inputs and result are dense, (n, c, h, w). */
typedef struct standin_layer standin_layer_t;
struct standin_layer {
    void (*compute)(const standin_layer_t *layer, const float *const *in, double *out);
    int             device, inputs;
    standin_shape_t shape[4]; /* of the inputs, then of the output */
    const void     *at[4];
    float           alpha, beta;
    void           *workspace;
    size_t          workspace_bytes; /* that it needs */
    bool            in_place;        /* the output may be an input     */
    bool            rounded;         /* sums are rounded after each addition */
    bool            backwards;       /* sums in the other order */
    union {
        struct cudnnConvolutionStruct convolution;
        struct cudnnPoolingStruct     pooling;
        struct cudnnActivationStruct  activation;
        struct cudnnLRNStruct         lrn;
        struct {
            cudnnSoftmaxAlgorithm_t algo;
            cudnnSoftmaxMode_t      mode;
        } softmax;
    } by;
};

/* The beginning of a call, with a handle; the end of every call. */
cudnnStatus_t standin_cudnn_enter(const char *call, cudnnHandle_t handle);
cudnnStatus_t standin_cudnn_leave(cudnnStatus_t status);

/* Is it one that exists and was set? Else a finding. Copies its shape. */
bool standin_tensor(cudnnTensorDescriptor_t d, standin_shape_t *shape_p);
bool standin_filter(cudnnFilterDescriptor_t d, standin_shape_t *shape_p);
bool standin_convolution(cudnnConvolutionDescriptor_t d);
bool standin_pooling(cudnnPoolingDescriptor_t d);
bool standin_activation(cudnnActivationDescriptor_t d);
bool standin_lrn(cudnnLRNDescriptor_t d);

/* A finding, and its status. */
cudnnStatus_t standin_bad(const char *what);

bool   standin_same_dims(const standin_shape_t *a, const standin_shape_t *b);
size_t standin_elements(const standin_shape_t *shape);

/* Element (n, c, h, w) of a dense array. */
static inline size_t standin_at(const standin_shape_t *t, int n, int c, int h, int w)
{
    return (((size_t)n * (size_t)t->d[1] + (size_t)c) * (size_t)t->d[2] + (size_t)h) *
               (size_t)t->d[3] +
           (size_t)w;
}

/* Check the pointers, and put the work on the handle's stream. */
cudnnStatus_t standin_layer_put(cudnnHandle_t handle, standin_layer_t *layer, const void *alpha,
                                const void *beta);

#endif /* TW_TESTS_GPU_STANDIN_CUDNN_INSIDE_H */
