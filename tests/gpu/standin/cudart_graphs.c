/* SPDX-License-Identifier: BSD-3-Clause
 * tests/gpu/standin/cudart_graphs.c - the runtime: work of one stream that is captured in the place
 * of being done, as a graph of one piece after another, and launched as often as wanted. Kernels
 * and functions of libraries can be captured; copies and events, which these graphs do not need,
 * are findings.
 */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "tests/gpu/standin/cudart.h"

static const char *const graphs = "graphs", *const executables = "executable graphs";

cudaError_t cudaStreamBeginCapture(cudaStream_t stream, enum cudaStreamCaptureMode mode)
{
    cudaError_t         error = standin_cuda_enter(__func__);
    struct CUstream_st *s     = NULL;

    if (error == cudaSuccess && (int)mode > cudaStreamCaptureModeRelaxed) {
        error = cudaErrorInvalidValue;
    }
    if (error == cudaSuccess &&
        (stream == NULL || stream == cudaStreamLegacy || stream == cudaStreamPerThread)) {
        error = cudaErrorStreamCaptureUnsupported;
    }
    if (error == cudaSuccess) {
        s     = standin_stream(stream);
        error = s != NULL ? cudaSuccess : cudaErrorInvalidResourceHandle;
    }
    if (error == cudaSuccess && s->capture != NULL) {
        standin_found("the stream is captured already");
        error = cudaErrorIllegalState;
    }
    if (error == cudaSuccess) {
        s->capture = standin_capture_create();
    }
    return standin_cuda_leave(error);
}

cudaError_t cudaStreamEndCapture(cudaStream_t stream, cudaGraph_t *pGraph)
{
    cudaError_t         error = standin_cuda_enter(__func__);
    struct CUstream_st *s     = standin_stream(stream);

    if (error == cudaSuccess && s == NULL) {
        error = cudaErrorInvalidResourceHandle;
    }
    if (error == cudaSuccess && s->capture == NULL) {
        standin_found("the stream is not captured");
        error = cudaErrorIllegalState;
    }
    if (error == cudaSuccess) {
        standin_capture_t *capture = s->capture;

        s->capture = NULL;
        *pGraph    = NULL;
        if (capture->broken) {
            standin_capture_drop(capture);
            error = cudaErrorStreamCaptureInvalidated;
        } else {
            *pGraph            = standin_object_create(graphs, sizeof(**pGraph));
            (*pGraph)->capture = capture;
        }
    } else if (s != NULL && s->capture != NULL) { /* the call fails by demand: nothing is left */
        standin_capture_drop(s->capture);
        s->capture = NULL;
    }
    return standin_cuda_leave(error);
}

cudaError_t cudaGraphInstantiateWithFlags(cudaGraphExec_t *pGraphExec, cudaGraph_t graph,
                                          unsigned long long flags)
{
    cudaError_t error = standin_cuda_enter(__func__);

    if (error == cudaSuccess && (flags != 0 || !standin_object_is(graphs, graph))) {
        error = cudaErrorInvalidValue;
    }
    if (error == cudaSuccess) {
        *pGraphExec            = standin_object_create(executables, sizeof(**pGraphExec));
        (*pGraphExec)->capture = graph->capture;
        (*pGraphExec)->device  = standin_current;
        graph->capture->users++;
    }
    return standin_cuda_leave(error);
}

cudaError_t cudaGraphLaunch(cudaGraphExec_t graphExec, cudaStream_t stream)
{
    cudaError_t         error = standin_cuda_enter(__func__);
    struct CUstream_st *s     = NULL;

    if (error == cudaSuccess && !standin_object_is(executables, graphExec)) {
        error = cudaErrorInvalidValue;
    }
    if (error == cudaSuccess) {
        s     = standin_stream(stream);
        error = s != NULL ? cudaSuccess : cudaErrorInvalidResourceHandle;
    }
    if (error == cudaSuccess && (s->device != standin_current || s->device != graphExec->device)) {
        standin_found("a graph of device %d, a stream of device %d, device %d is current",
                      graphExec->device, s->device, standin_current);
        error = cudaErrorInvalidResourceHandle;
    }
    if (error == cudaSuccess) {
        standin_capture_put(graphExec->capture, s);
    }
    return standin_cuda_leave(error);
}

cudaError_t cudaGraphDestroy(cudaGraph_t graph)
{
    cudaError_t        error   = standin_cuda_enter_any(__func__);
    standin_capture_t *capture = NULL;

    if (error == cudaSuccess) {
        capture = standin_object_is(graphs, graph) ? graph->capture : NULL;
        error   = standin_object_destroy(graphs, graph) ? cudaSuccess : cudaErrorInvalidValue;
    }
    if (capture != NULL) {
        standin_capture_drop(capture);
    }
    return standin_cuda_leave(error);
}

/* What was launched is still done. */
cudaError_t cudaGraphExecDestroy(cudaGraphExec_t graphExec)
{
    cudaError_t        error   = standin_cuda_enter_any(__func__);
    standin_capture_t *capture = NULL;

    if (error == cudaSuccess) {
        capture = standin_object_is(executables, graphExec) ? graphExec->capture : NULL;
        error =
            standin_object_destroy(executables, graphExec) ? cudaSuccess : cudaErrorInvalidValue;
    }
    if (capture != NULL) {
        standin_capture_drop(capture);
    }
    return standin_cuda_leave(error);
}
