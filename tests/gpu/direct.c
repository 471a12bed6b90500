/* SPDX-License-Identifier: BSD-3-Clause
 * tests/gpu/direct.c - of what cuDNN offers for a convolution only the algorithms that add up
 * products, in whatever order. The rounding of those by a transform (Winograd, FFT) has no bound
 * number by number.
 */
#include "config.h"

#include "tests/train/backend_here.h"

static __typeof__(&cudnnGetConvolutionForwardAlgorithm_v7)        their_forward;
static __typeof__(&cudnnGetConvolutionBackwardFilterAlgorithm_v7) their_filter;
static __typeof__(&cudnnGetConvolutionBackwardDataAlgorithm_v7)   their_data;

/* Leave out those that are not direct. */
#define KEEP(offered, count_p, direct)                                                             \
    do {                                                                                           \
        int kept = 0;                                                                              \
                                                                                                   \
        for (int i = 0; i < *(count_p); i++) {                                                     \
            if (direct((offered)[i].algo)) {                                                       \
                (offered)[kept++] = (offered)[i];                                                  \
            }                                                                                      \
        }                                                                                          \
        *(count_p) = kept;                                                                         \
    } while (0)

static int is_direct_forward(cudnnConvolutionFwdAlgo_t algo)
{
    return algo == CUDNN_CONVOLUTION_FWD_ALGO_IMPLICIT_GEMM ||
           algo == CUDNN_CONVOLUTION_FWD_ALGO_IMPLICIT_PRECOMP_GEMM ||
           algo == CUDNN_CONVOLUTION_FWD_ALGO_GEMM || algo == CUDNN_CONVOLUTION_FWD_ALGO_DIRECT;
}

static int is_direct_filter(cudnnConvolutionBwdFilterAlgo_t algo)
{
    return algo == CUDNN_CONVOLUTION_BWD_FILTER_ALGO_0 ||
           algo == CUDNN_CONVOLUTION_BWD_FILTER_ALGO_1 ||
           algo == CUDNN_CONVOLUTION_BWD_FILTER_ALGO_3;
}

static int is_direct_data(cudnnConvolutionBwdDataAlgo_t algo)
{
    return algo == CUDNN_CONVOLUTION_BWD_DATA_ALGO_0 || algo == CUDNN_CONVOLUTION_BWD_DATA_ALGO_1;
}

static cudnnStatus_t direct_forward(cudnnHandle_t handle, const cudnnTensorDescriptor_t x,
                                    const cudnnFilterDescriptor_t      w,
                                    const cudnnConvolutionDescriptor_t by,
                                    const cudnnTensorDescriptor_t y, int most, int *count_p,
                                    cudnnConvolutionFwdAlgoPerf_t *offered)
{
    const cudnnStatus_t status = their_forward(handle, x, w, by, y, most, count_p, offered);

    if (status == CUDNN_STATUS_SUCCESS) {
        KEEP(offered, count_p, is_direct_forward);
    }
    return status;
}

static cudnnStatus_t direct_filter(cudnnHandle_t handle, const cudnnTensorDescriptor_t x,
                                   const cudnnTensorDescriptor_t      dy,
                                   const cudnnConvolutionDescriptor_t by,
                                   const cudnnFilterDescriptor_t dw, int most, int *count_p,
                                   cudnnConvolutionBwdFilterAlgoPerf_t *offered)
{
    const cudnnStatus_t status = their_filter(handle, x, dy, by, dw, most, count_p, offered);

    if (status == CUDNN_STATUS_SUCCESS) {
        KEEP(offered, count_p, is_direct_filter);
    }
    return status;
}

static cudnnStatus_t direct_data(cudnnHandle_t handle, const cudnnFilterDescriptor_t w,
                                 const cudnnTensorDescriptor_t      dy,
                                 const cudnnConvolutionDescriptor_t by,
                                 const cudnnTensorDescriptor_t dx, int most, int *count_p,
                                 cudnnConvolutionBwdDataAlgoPerf_t *offered)
{
    const cudnnStatus_t status = their_data(handle, w, dy, by, dx, most, count_p, offered);

    if (status == CUDNN_STATUS_SUCCESS) {
        KEEP(offered, count_p, is_direct_data);
    }
    return status;
}

void backend_direct(tw_backend_t *backend)
{
    tw_gpu_t *gpu = (tw_gpu_t *)backend;

    their_forward = gpu->lib.dnn.cudnnGetConvolutionForwardAlgorithm_v7;
    their_filter  = gpu->lib.dnn.cudnnGetConvolutionBackwardFilterAlgorithm_v7;
    their_data    = gpu->lib.dnn.cudnnGetConvolutionBackwardDataAlgorithm_v7;

    gpu->lib.dnn.cudnnGetConvolutionForwardAlgorithm_v7        = direct_forward;
    gpu->lib.dnn.cudnnGetConvolutionBackwardFilterAlgorithm_v7 = direct_filter;
    gpu->lib.dnn.cudnnGetConvolutionBackwardDataAlgorithm_v7   = direct_data;
}
