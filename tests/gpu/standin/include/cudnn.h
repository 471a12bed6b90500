/* SPDX-License-Identifier: BSD-3-Clause
 * cudnn.h - the part of cuDNN 9's ABI that tests/gpu/standin has; see cuda_runtime_api.h.
 */
#ifndef TW_STANDIN_CUDNN_H
#define TW_STANDIN_CUDNN_H

#include <cuda_runtime_api.h>

#define CUDNN_MAJOR      9
#define CUDNN_MINOR      0
#define CUDNN_PATCHLEVEL 0
#define CUDNN_VERSION    (CUDNN_MAJOR * 10000 + CUDNN_MINOR * 100 + CUDNN_PATCHLEVEL)
#define CUDNNWINAPI

typedef enum {
    CUDNN_STATUS_SUCCESS                                 = 0,
    CUDNN_STATUS_NOT_INITIALIZED                         = 1001,
    CUDNN_STATUS_BAD_PARAM                               = 2000,
    CUDNN_STATUS_NOT_SUPPORTED                           = 3000,
    CUDNN_STATUS_INTERNAL_ERROR                          = 4000,
    CUDNN_STATUS_ALLOC_FAILED                            = 4003,
    CUDNN_STATUS_INTERNAL_ERROR_HOST_ALLOCATION_FAILED   = 4003,
    CUDNN_STATUS_INTERNAL_ERROR_DEVICE_ALLOCATION_FAILED = 4004,
    CUDNN_STATUS_EXECUTION_FAILED                        = 5000
} cudnnStatus_t;

typedef enum { CUDNN_DATA_FLOAT = 0, CUDNN_DATA_DOUBLE = 1, CUDNN_DATA_HALF = 2 } cudnnDataType_t;

typedef enum { CUDNN_TENSOR_NCHW = 0, CUDNN_TENSOR_NHWC = 1 } cudnnTensorFormat_t;

typedef enum {
    CUDNN_DEFAULT_MATH                    = 0,
    CUDNN_TENSOR_OP_MATH                  = 1,
    CUDNN_TENSOR_OP_MATH_ALLOW_CONVERSION = 2,
    CUDNN_FMA_MATH                        = 3
} cudnnMathType_t;

typedef enum { CUDNN_NOT_PROPAGATE_NAN = 0, CUDNN_PROPAGATE_NAN = 1 } cudnnNanPropagation_t;
typedef enum { CUDNN_NON_DETERMINISTIC = 0, CUDNN_DETERMINISTIC = 1 } cudnnDeterminism_t;
typedef enum { CUDNN_CONVOLUTION = 0, CUDNN_CROSS_CORRELATION = 1 } cudnnConvolutionMode_t;
typedef enum { CUDNN_LRN_CROSS_CHANNEL_DIM1 = 0 } cudnnLRNMode_t;

typedef enum {
    CUDNN_SOFTMAX_FAST     = 0,
    CUDNN_SOFTMAX_ACCURATE = 1,
    CUDNN_SOFTMAX_LOG      = 2
} cudnnSoftmaxAlgorithm_t;

typedef enum { CUDNN_SOFTMAX_MODE_INSTANCE = 0, CUDNN_SOFTMAX_MODE_CHANNEL = 1 } cudnnSoftmaxMode_t;

typedef enum {
    CUDNN_POOLING_MAX                           = 0,
    CUDNN_POOLING_AVERAGE_COUNT_INCLUDE_PADDING = 1,
    CUDNN_POOLING_AVERAGE_COUNT_EXCLUDE_PADDING = 2,
    CUDNN_POOLING_MAX_DETERMINISTIC             = 3
} cudnnPoolingMode_t;

typedef enum {
    CUDNN_ACTIVATION_SIGMOID      = 0,
    CUDNN_ACTIVATION_RELU         = 1,
    CUDNN_ACTIVATION_TANH         = 2,
    CUDNN_ACTIVATION_CLIPPED_RELU = 3,
    CUDNN_ACTIVATION_ELU          = 4,
    CUDNN_ACTIVATION_IDENTITY     = 5
} cudnnActivationMode_t;

#define CUDNN_LRN_MIN_N    1
#define CUDNN_LRN_MAX_N    16
#define CUDNN_LRN_MIN_K    1e-5
#define CUDNN_LRN_MIN_BETA 0.01

typedef enum {
    CUDNN_CONVOLUTION_FWD_ALGO_IMPLICIT_GEMM         = 0,
    CUDNN_CONVOLUTION_FWD_ALGO_IMPLICIT_PRECOMP_GEMM = 1,
    CUDNN_CONVOLUTION_FWD_ALGO_GEMM                  = 2,
    CUDNN_CONVOLUTION_FWD_ALGO_DIRECT                = 3,
    CUDNN_CONVOLUTION_FWD_ALGO_FFT                   = 4,
    CUDNN_CONVOLUTION_FWD_ALGO_FFT_TILING            = 5,
    CUDNN_CONVOLUTION_FWD_ALGO_WINOGRAD              = 6,
    CUDNN_CONVOLUTION_FWD_ALGO_WINOGRAD_NONFUSED     = 7,
    CUDNN_CONVOLUTION_FWD_ALGO_COUNT                 = 8
} cudnnConvolutionFwdAlgo_t;

typedef enum {
    CUDNN_CONVOLUTION_BWD_FILTER_ALGO_0                 = 0,
    CUDNN_CONVOLUTION_BWD_FILTER_ALGO_1                 = 1,
    CUDNN_CONVOLUTION_BWD_FILTER_ALGO_FFT               = 2,
    CUDNN_CONVOLUTION_BWD_FILTER_ALGO_3                 = 3,
    CUDNN_CONVOLUTION_BWD_FILTER_ALGO_WINOGRAD          = 4,
    CUDNN_CONVOLUTION_BWD_FILTER_ALGO_WINOGRAD_NONFUSED = 5,
    CUDNN_CONVOLUTION_BWD_FILTER_ALGO_FFT_TILING        = 6,
    CUDNN_CONVOLUTION_BWD_FILTER_ALGO_COUNT             = 7
} cudnnConvolutionBwdFilterAlgo_t;

typedef enum {
    CUDNN_CONVOLUTION_BWD_DATA_ALGO_0                 = 0,
    CUDNN_CONVOLUTION_BWD_DATA_ALGO_1                 = 1,
    CUDNN_CONVOLUTION_BWD_DATA_ALGO_FFT               = 2,
    CUDNN_CONVOLUTION_BWD_DATA_ALGO_FFT_TILING        = 3,
    CUDNN_CONVOLUTION_BWD_DATA_ALGO_WINOGRAD          = 4,
    CUDNN_CONVOLUTION_BWD_DATA_ALGO_WINOGRAD_NONFUSED = 5,
    CUDNN_CONVOLUTION_BWD_DATA_ALGO_COUNT             = 6
} cudnnConvolutionBwdDataAlgo_t;

typedef struct cudnnContext           *cudnnHandle_t;
typedef struct cudnnTensorStruct      *cudnnTensorDescriptor_t;
typedef struct cudnnFilterStruct      *cudnnFilterDescriptor_t;
typedef struct cudnnConvolutionStruct *cudnnConvolutionDescriptor_t;
typedef struct cudnnPoolingStruct     *cudnnPoolingDescriptor_t;
typedef struct cudnnActivationStruct  *cudnnActivationDescriptor_t;
typedef struct cudnnLRNStruct         *cudnnLRNDescriptor_t;

typedef struct cudnnConvolutionFwdAlgoPerfStruct {
    cudnnConvolutionFwdAlgo_t algo;
    cudnnStatus_t             status;
    float                     time;
    size_t                    memory;
    cudnnDeterminism_t        determinism;
    cudnnMathType_t           mathType;
    int                       reserved[3];
} cudnnConvolutionFwdAlgoPerf_t;

typedef struct cudnnConvolutionBwdDataAlgoPerfStruct {
    cudnnConvolutionBwdDataAlgo_t algo;
    cudnnStatus_t                 status;
    float                         time;
    size_t                        memory;
    cudnnDeterminism_t            determinism;
    cudnnMathType_t               mathType;
    int                           reserved[3];
} cudnnConvolutionBwdDataAlgoPerf_t;

typedef struct cudnnConvolutionBwdFilterAlgoPerfStruct {
    cudnnConvolutionBwdFilterAlgo_t algo;
    cudnnStatus_t                   status;
    float                           time;
    size_t                          memory;
    cudnnDeterminism_t              determinism;
    cudnnMathType_t                 mathType;
    int                             reserved[3];
} cudnnConvolutionBwdFilterAlgoPerf_t;

size_t CUDNNWINAPI        cudnnGetVersion(void);
const char *CUDNNWINAPI   cudnnGetErrorString(cudnnStatus_t status);
cudnnStatus_t CUDNNWINAPI cudnnCreate(cudnnHandle_t *handle);
cudnnStatus_t CUDNNWINAPI cudnnDestroy(cudnnHandle_t handle);
cudnnStatus_t CUDNNWINAPI cudnnSetStream(cudnnHandle_t handle, cudaStream_t stream);
cudnnStatus_t CUDNNWINAPI cudnnGetStream(cudnnHandle_t handle, cudaStream_t *stream);

cudnnStatus_t CUDNNWINAPI cudnnCreateTensorDescriptor(cudnnTensorDescriptor_t *d);
cudnnStatus_t CUDNNWINAPI cudnnSetTensor4dDescriptor(cudnnTensorDescriptor_t d,
                                                     cudnnTensorFormat_t     format,
                                                     cudnnDataType_t type, int n, int c, int h,
                                                     int w);
cudnnStatus_t CUDNNWINAPI cudnnSetTensor4dDescriptorEx(cudnnTensorDescriptor_t d,
                                                       cudnnDataType_t type, int n, int c, int h,
                                                       int w, int sn, int sc, int sh, int sw);
cudnnStatus_t CUDNNWINAPI cudnnDestroyTensorDescriptor(cudnnTensorDescriptor_t d);
cudnnStatus_t CUDNNWINAPI cudnnCreateFilterDescriptor(cudnnFilterDescriptor_t *d);
cudnnStatus_t CUDNNWINAPI cudnnSetFilter4dDescriptor(cudnnFilterDescriptor_t d,
                                                     cudnnDataType_t         type,
                                                     cudnnTensorFormat_t format, int k, int c,
                                                     int h, int w);
cudnnStatus_t CUDNNWINAPI cudnnDestroyFilterDescriptor(cudnnFilterDescriptor_t d);
cudnnStatus_t CUDNNWINAPI cudnnAddTensor(cudnnHandle_t handle, const void *alpha,
                                         const cudnnTensorDescriptor_t ad, const void *a,
                                         const void *beta, const cudnnTensorDescriptor_t cd,
                                         void *c);

cudnnStatus_t CUDNNWINAPI cudnnCreatePoolingDescriptor(cudnnPoolingDescriptor_t *d);
cudnnStatus_t CUDNNWINAPI cudnnSetPooling2dDescriptor(cudnnPoolingDescriptor_t d,
                                                      cudnnPoolingMode_t       mode,
                                                      cudnnNanPropagation_t nan, int h, int w,
                                                      int pad_h, int pad_w, int stride_h,
                                                      int stride_w);
cudnnStatus_t CUDNNWINAPI cudnnGetPooling2dForwardOutputDim(const cudnnPoolingDescriptor_t d,
                                                            const cudnnTensorDescriptor_t  xd,
                                                            int *n, int *c, int *h, int *w);
cudnnStatus_t CUDNNWINAPI cudnnDestroyPoolingDescriptor(cudnnPoolingDescriptor_t d);
cudnnStatus_t CUDNNWINAPI cudnnPoolingForward(cudnnHandle_t                  handle,
                                              const cudnnPoolingDescriptor_t d, const void *alpha,
                                              const cudnnTensorDescriptor_t xd, const void *x,
                                              const void *beta, const cudnnTensorDescriptor_t yd,
                                              void *y);
cudnnStatus_t CUDNNWINAPI cudnnPoolingBackward(cudnnHandle_t                  handle,
                                               const cudnnPoolingDescriptor_t d, const void *alpha,
                                               const cudnnTensorDescriptor_t yd, const void *y,
                                               const cudnnTensorDescriptor_t dyd, const void *dy,
                                               const cudnnTensorDescriptor_t xd, const void *x,
                                               const void *beta, const cudnnTensorDescriptor_t dxd,
                                               void *dx);

cudnnStatus_t CUDNNWINAPI cudnnCreateActivationDescriptor(cudnnActivationDescriptor_t *d);
cudnnStatus_t CUDNNWINAPI cudnnSetActivationDescriptor(cudnnActivationDescriptor_t d,
                                                       cudnnActivationMode_t       mode,
                                                       cudnnNanPropagation_t nan, double coef);
cudnnStatus_t CUDNNWINAPI cudnnDestroyActivationDescriptor(cudnnActivationDescriptor_t d);
cudnnStatus_t CUDNNWINAPI cudnnActivationForward(cudnnHandle_t               handle,
                                                 cudnnActivationDescriptor_t d, const void *alpha,
                                                 const cudnnTensorDescriptor_t xd, const void *x,
                                                 const void *beta, const cudnnTensorDescriptor_t yd,
                                                 void *y);
cudnnStatus_t CUDNNWINAPI cudnnActivationBackward(cudnnHandle_t               handle,
                                                  cudnnActivationDescriptor_t d, const void *alpha,
                                                  const cudnnTensorDescriptor_t yd, const void *y,
                                                  const cudnnTensorDescriptor_t dyd, const void *dy,
                                                  const cudnnTensorDescriptor_t xd, const void *x,
                                                  const void                   *beta,
                                                  const cudnnTensorDescriptor_t dxd, void *dx);

cudnnStatus_t CUDNNWINAPI cudnnCreateLRNDescriptor(cudnnLRNDescriptor_t *d);
cudnnStatus_t CUDNNWINAPI cudnnSetLRNDescriptor(cudnnLRNDescriptor_t d, unsigned n, double alpha,
                                                double beta, double k);
cudnnStatus_t CUDNNWINAPI cudnnDestroyLRNDescriptor(cudnnLRNDescriptor_t d);
cudnnStatus_t CUDNNWINAPI cudnnLRNCrossChannelForward(cudnnHandle_t handle, cudnnLRNDescriptor_t d,
                                                      cudnnLRNMode_t mode, const void *alpha,
                                                      const cudnnTensorDescriptor_t xd,
                                                      const void *x, const void *beta,
                                                      const cudnnTensorDescriptor_t yd, void *y);
cudnnStatus_t CUDNNWINAPI cudnnLRNCrossChannelBackward(
    cudnnHandle_t handle, cudnnLRNDescriptor_t d, cudnnLRNMode_t mode, const void *alpha,
    const cudnnTensorDescriptor_t yd, const void *y, const cudnnTensorDescriptor_t dyd,
    const void *dy, const cudnnTensorDescriptor_t xd, const void *x, const void *beta,
    const cudnnTensorDescriptor_t dxd, void *dx);

cudnnStatus_t CUDNNWINAPI cudnnSoftmaxForward(cudnnHandle_t handle, cudnnSoftmaxAlgorithm_t algo,
                                              cudnnSoftmaxMode_t mode, const void *alpha,
                                              const cudnnTensorDescriptor_t xd, const void *x,
                                              const void *beta, const cudnnTensorDescriptor_t yd,
                                              void *y);
cudnnStatus_t CUDNNWINAPI cudnnSoftmaxBackward(cudnnHandle_t handle, cudnnSoftmaxAlgorithm_t algo,
                                               cudnnSoftmaxMode_t mode, const void *alpha,
                                               const cudnnTensorDescriptor_t yd, const void *y,
                                               const cudnnTensorDescriptor_t dyd, const void *dy,
                                               const void *beta, const cudnnTensorDescriptor_t dxd,
                                               void *dx);

cudnnStatus_t CUDNNWINAPI cudnnCreateConvolutionDescriptor(cudnnConvolutionDescriptor_t *d);
cudnnStatus_t CUDNNWINAPI cudnnSetConvolution2dDescriptor(cudnnConvolutionDescriptor_t d, int pad_h,
                                                          int pad_w, int stride_h, int stride_w,
                                                          int dilation_h, int dilation_w,
                                                          cudnnConvolutionMode_t mode,
                                                          cudnnDataType_t        type);
cudnnStatus_t CUDNNWINAPI cudnnSetConvolutionMathType(cudnnConvolutionDescriptor_t d,
                                                      cudnnMathType_t              math);
cudnnStatus_t CUDNNWINAPI cudnnSetConvolutionGroupCount(cudnnConvolutionDescriptor_t d, int groups);
cudnnStatus_t CUDNNWINAPI cudnnGetConvolution2dForwardOutputDim(
    const cudnnConvolutionDescriptor_t d, const cudnnTensorDescriptor_t xd,
    const cudnnFilterDescriptor_t wd, int *n, int *c, int *h, int *w);
cudnnStatus_t CUDNNWINAPI cudnnDestroyConvolutionDescriptor(cudnnConvolutionDescriptor_t d);

cudnnStatus_t CUDNNWINAPI cudnnGetConvolutionForwardAlgorithm_v7(
    cudnnHandle_t handle, const cudnnTensorDescriptor_t xd, const cudnnFilterDescriptor_t wd,
    const cudnnConvolutionDescriptor_t d, const cudnnTensorDescriptor_t yd, const int requested,
    int *returned, cudnnConvolutionFwdAlgoPerf_t *perf);
cudnnStatus_t CUDNNWINAPI cudnnFindConvolutionForwardAlgorithm(
    cudnnHandle_t handle, const cudnnTensorDescriptor_t xd, const cudnnFilterDescriptor_t wd,
    const cudnnConvolutionDescriptor_t d, const cudnnTensorDescriptor_t yd, const int requested,
    int *returned, cudnnConvolutionFwdAlgoPerf_t *perf);
cudnnStatus_t CUDNNWINAPI cudnnGetConvolutionForwardWorkspaceSize(
    cudnnHandle_t handle, const cudnnTensorDescriptor_t xd, const cudnnFilterDescriptor_t wd,
    const cudnnConvolutionDescriptor_t d, const cudnnTensorDescriptor_t yd,
    cudnnConvolutionFwdAlgo_t algo, size_t *bytes);
cudnnStatus_t CUDNNWINAPI cudnnConvolutionForward(cudnnHandle_t handle, const void *alpha,
                                                  const cudnnTensorDescriptor_t xd, const void *x,
                                                  const cudnnFilterDescriptor_t wd, const void *w,
                                                  const cudnnConvolutionDescriptor_t d,
                                                  cudnnConvolutionFwdAlgo_t algo, void *workspace,
                                                  size_t bytes, const void *beta,
                                                  const cudnnTensorDescriptor_t yd, void *y);
cudnnStatus_t CUDNNWINAPI cudnnConvolutionBackwardBias(cudnnHandle_t handle, const void *alpha,
                                                       const cudnnTensorDescriptor_t dyd,
                                                       const void *dy, const void *beta,
                                                       const cudnnTensorDescriptor_t dbd, void *db);
cudnnStatus_t CUDNNWINAPI cudnnGetConvolutionBackwardDataAlgorithm_v7(
    cudnnHandle_t handle, const cudnnFilterDescriptor_t wd, const cudnnTensorDescriptor_t dyd,
    const cudnnConvolutionDescriptor_t d, const cudnnTensorDescriptor_t dxd, const int requested,
    int *returned, cudnnConvolutionBwdDataAlgoPerf_t *perf);
cudnnStatus_t CUDNNWINAPI cudnnFindConvolutionBackwardDataAlgorithm(
    cudnnHandle_t handle, const cudnnFilterDescriptor_t wd, const cudnnTensorDescriptor_t dyd,
    const cudnnConvolutionDescriptor_t d, const cudnnTensorDescriptor_t dxd, const int requested,
    int *returned, cudnnConvolutionBwdDataAlgoPerf_t *perf);
cudnnStatus_t CUDNNWINAPI cudnnGetConvolutionBackwardDataWorkspaceSize(
    cudnnHandle_t handle, const cudnnFilterDescriptor_t wd, const cudnnTensorDescriptor_t dyd,
    const cudnnConvolutionDescriptor_t d, const cudnnTensorDescriptor_t dxd,
    cudnnConvolutionBwdDataAlgo_t algo, size_t *bytes);
cudnnStatus_t CUDNNWINAPI cudnnConvolutionBackwardData(
    cudnnHandle_t handle, const void *alpha, const cudnnFilterDescriptor_t wd, const void *w,
    const cudnnTensorDescriptor_t dyd, const void *dy, const cudnnConvolutionDescriptor_t d,
    cudnnConvolutionBwdDataAlgo_t algo, void *workspace, size_t bytes, const void *beta,
    const cudnnTensorDescriptor_t dxd, void *dx);
cudnnStatus_t CUDNNWINAPI cudnnGetConvolutionBackwardFilterAlgorithm_v7(
    cudnnHandle_t handle, const cudnnTensorDescriptor_t xd, const cudnnTensorDescriptor_t dyd,
    const cudnnConvolutionDescriptor_t d, const cudnnFilterDescriptor_t dwd, const int requested,
    int *returned, cudnnConvolutionBwdFilterAlgoPerf_t *perf);
cudnnStatus_t CUDNNWINAPI cudnnFindConvolutionBackwardFilterAlgorithm(
    cudnnHandle_t handle, const cudnnTensorDescriptor_t xd, const cudnnTensorDescriptor_t dyd,
    const cudnnConvolutionDescriptor_t d, const cudnnFilterDescriptor_t dwd, const int requested,
    int *returned, cudnnConvolutionBwdFilterAlgoPerf_t *perf);
cudnnStatus_t CUDNNWINAPI cudnnGetConvolutionBackwardFilterWorkspaceSize(
    cudnnHandle_t handle, const cudnnTensorDescriptor_t xd, const cudnnTensorDescriptor_t dyd,
    const cudnnConvolutionDescriptor_t d, const cudnnFilterDescriptor_t dwd,
    cudnnConvolutionBwdFilterAlgo_t algo, size_t *bytes);
cudnnStatus_t CUDNNWINAPI cudnnConvolutionBackwardFilter(
    cudnnHandle_t handle, const void *alpha, const cudnnTensorDescriptor_t xd, const void *x,
    const cudnnTensorDescriptor_t dyd, const void *dy, const cudnnConvolutionDescriptor_t d,
    cudnnConvolutionBwdFilterAlgo_t algo, void *workspace, size_t bytes, const void *beta,
    const cudnnFilterDescriptor_t dwd, void *dw);

#endif /* TW_STANDIN_CUDNN_H */
