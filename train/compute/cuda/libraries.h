/* SPDX-License-Identifier: BSD-3-Clause
 * cuda/libraries.h - cuDNN and cuBLAS, loaded when a device is used: the program starts without
 * them. Each function in use is one line in a list.
 */
#ifndef TW_COMPUTE_CUDA_LIBRARIES_H
#define TW_COMPUTE_CUDA_LIBRARIES_H

#include <cublas_v2.h>
#include <cudnn.h>

#include "command/problem.h"

#define TW_CUDNN_FUNCTIONS(X)                                                                      \
    X(cudnnGetVersion)                                                                             \
    X(cudnnGetErrorString)                                                                         \
    X(cudnnCreate)                                                                                 \
    X(cudnnDestroy)                                                                                \
    X(cudnnSetStream)                                                                              \
    X(cudnnCreateTensorDescriptor)                                                                 \
    X(cudnnSetTensor4dDescriptor)                                                                  \
    X(cudnnDestroyTensorDescriptor)                                                                \
    X(cudnnCreateFilterDescriptor)                                                                 \
    X(cudnnSetFilter4dDescriptor)                                                                  \
    X(cudnnDestroyFilterDescriptor)                                                                \
    X(cudnnCreateConvolutionDescriptor)                                                            \
    X(cudnnSetConvolution2dDescriptor)                                                             \
    X(cudnnSetConvolutionMathType)                                                                 \
    X(cudnnDestroyConvolutionDescriptor)                                                           \
    X(cudnnGetConvolutionForwardAlgorithm_v7)                                                      \
    X(cudnnGetConvolutionBackwardFilterAlgorithm_v7)                                               \
    X(cudnnGetConvolutionBackwardDataAlgorithm_v7)                                                 \
    X(cudnnGetConvolutionForwardWorkspaceSize)                                                     \
    X(cudnnGetConvolutionBackwardFilterWorkspaceSize)                                              \
    X(cudnnGetConvolutionBackwardDataWorkspaceSize)                                                \
    X(cudnnFindConvolutionForwardAlgorithm)                                                        \
    X(cudnnFindConvolutionBackwardFilterAlgorithm)                                                 \
    X(cudnnFindConvolutionBackwardDataAlgorithm)                                                   \
    X(cudnnConvolutionForward)                                                                     \
    X(cudnnConvolutionBackwardFilter)                                                              \
    X(cudnnConvolutionBackwardBias)                                                                \
    X(cudnnConvolutionBackwardData)                                                                \
    X(cudnnCreatePoolingDescriptor)                                                                \
    X(cudnnSetPooling2dDescriptor)                                                                 \
    X(cudnnDestroyPoolingDescriptor)                                                               \
    X(cudnnPoolingForward)                                                                         \
    X(cudnnPoolingBackward)                                                                        \
    X(cudnnCreateLRNDescriptor)                                                                    \
    X(cudnnSetLRNDescriptor)                                                                       \
    X(cudnnDestroyLRNDescriptor)                                                                   \
    X(cudnnLRNCrossChannelForward)                                                                 \
    X(cudnnLRNCrossChannelBackward)

/* cublas_v2.h defines its names as those with _v2, so both are given: the name that is called, and
 * that in the library. */
#define TW_CUBLAS_FUNCTIONS(X)                                                                     \
    X(create, cublasCreate_v2)                                                                     \
    X(destroy, cublasDestroy_v2)                                                                   \
    X(set_stream, cublasSetStream_v2)                                                              \
    X(set_workspace, cublasSetWorkspace_v2)                                                        \
    X(set_math, cublasSetMathMode)                                                                 \
    X(status_name, cublasGetStatusName)                                                            \
    X(sgemm, cublasSgemm_v2)                                                                       \
    X(sgemv, cublasSgemv_v2)

#define TW_CUDNN_MEMBER(name)        __typeof__(&name) name;
#define TW_CUBLAS_MEMBER(call, name) __typeof__(&name) call;

typedef struct tw_libraries {
    struct {
        TW_CUDNN_FUNCTIONS(TW_CUDNN_MEMBER)
    } dnn;
    struct {
        TW_CUBLAS_FUNCTIONS(TW_CUBLAS_MEMBER)
    } blas;
    size_t dnn_version; /* as cudnnGetVersion() */
} tw_libraries_t;

/** Load both; they stay loaded.
 * @return 0, or -1 with one line about what is missing. */
int tw_libraries_load(tw_libraries_t *libraries, tw_problem_t *problem);

#endif /* TW_COMPUTE_CUDA_LIBRARIES_H */
