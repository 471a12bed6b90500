/* SPDX-License-Identifier: BSD-3-Clause
 * tests/gpu/standin/cudart_streams.c - the runtime: streams and events.
 */
#include "config.h"

#include "tests/gpu/standin/cudart.h"

/* ---- streams -------------------------------------------------------------------------------- */

static cudaError_t create(const char *call, cudaStream_t *stream_p, unsigned flags)
{
    cudaError_t error = standin_cuda_enter(call);

    if (error == cudaSuccess &&
        (stream_p == NULL || (flags & ~(unsigned)cudaStreamNonBlocking) != 0)) {
        error = cudaErrorInvalidValue;
    }
    if (error == cudaSuccess) {
        *stream_p = standin_stream_create(flags == cudaStreamDefault);
    }
    return standin_cuda_leave(error);
}

cudaError_t cudaStreamCreate(cudaStream_t *pStream)
{
    return create(__func__, pStream, cudaStreamDefault);
}

cudaError_t cudaStreamCreateWithFlags(cudaStream_t *pStream, unsigned int flags)
{
    return create(__func__, pStream, flags);
}

cudaError_t cudaStreamCreateWithPriority(cudaStream_t *pStream, unsigned int flags, int priority)
{
    (void)priority; /* a hint */
    return create(__func__, pStream, flags);
}

/* The stream, or an error. */
static cudaError_t find(cudaStream_t handle, struct CUstream_st **stream_p)
{
    *stream_p = standin_stream(handle);
    return *stream_p != NULL ? cudaSuccess : cudaErrorInvalidResourceHandle;
}

cudaError_t cudaStreamDestroy(cudaStream_t stream)
{
    cudaError_t         error = standin_cuda_enter(__func__);
    struct CUstream_st *s     = NULL;

    if (error == cudaSuccess &&
        (stream == NULL || stream == cudaStreamLegacy || stream == cudaStreamPerThread)) {
        standin_found("a default stream is not destroyed");
        error = cudaErrorInvalidResourceHandle;
    }
    if (error == cudaSuccess) {
        error = find(stream, &s);
    }
    if (error == cudaSuccess) {
        standin_stream_destroy(s);
    }
    return standin_cuda_leave(error);
}

cudaError_t cudaStreamGetDevice(cudaStream_t hStream, int *device)
{
    cudaError_t         error = standin_cuda_enter(__func__);
    struct CUstream_st *s     = NULL;

    if (error == cudaSuccess) {
        error = find(hStream, &s);
    }
    if (error == cudaSuccess) {
        *device = s->device;
    }
    return standin_cuda_leave(error);
}

/* The same, of one whose work is asked for or changed in ways that cannot be captured. */
static cudaError_t find_running(cudaStream_t handle, struct CUstream_st **stream_p)
{
    const cudaError_t error = find(handle, stream_p);

    return error == cudaSuccess && !standin_not_captured(*stream_p)
               ? cudaErrorStreamCaptureUnsupported
               : error;
}

cudaError_t cudaStreamQuery(cudaStream_t stream)
{
    cudaError_t         error = standin_cuda_enter(__func__);
    struct CUstream_st *s     = NULL;

    if (error == cudaSuccess) {
        error = find_running(stream, &s);
    }
    if (error == cudaSuccess && standin_busy(s)) {
        error = cudaErrorNotReady;
    }
    if (s != NULL && standin_broken[s->device] != 0) {
        error = (cudaError_t)standin_broken[s->device];
    }
    return standin_cuda_leave(error);
}

cudaError_t cudaStreamSynchronize(cudaStream_t stream)
{
    cudaError_t         error = standin_cuda_enter(__func__);
    struct CUstream_st *s     = NULL;

    if (error == cudaSuccess) {
        error = find_running(stream, &s);
    }
    if (error == cudaSuccess) {
        standin_finish(s);
        error = (cudaError_t)standin_broken[s->device];
    }
    return standin_cuda_leave(error);
}

typedef struct standin_callback {
    cudaHostFn_t function;
    void        *data;
} standin_callback_t;

static int callback_run(void *arg, bool dead)
{
    const standin_callback_t *callback = arg;

    if (!dead) {
        callback->function(callback->data);
    }
    return 0;
}

cudaError_t cudaLaunchHostFunc(cudaStream_t stream, cudaHostFn_t fn, void *userData)
{
    const standin_callback_t callback = {.function = fn, .data = userData};
    cudaError_t              error    = standin_cuda_enter(__func__);
    struct CUstream_st      *s        = NULL;

    if (error == cudaSuccess) {
        error = fn != NULL ? find_running(stream, &s) : cudaErrorInvalidValue;
    }
    if (error == cudaSuccess) {
        standin_put(s, callback_run, &callback, sizeof(callback), NULL, 0, true);
    }
    return standin_cuda_leave(error);
}

/* ---- events --------------------------------------------------------------------------------- */

cudaError_t cudaEventCreateWithFlags(cudaEvent_t *event, unsigned int flags)
{
    cudaError_t error = standin_cuda_enter(__func__);

    if (error == cudaSuccess &&
        (event == NULL ||
         (flags & ~(unsigned)(cudaEventBlockingSync | cudaEventDisableTiming)) != 0)) {
        error = cudaErrorInvalidValue;
    }
    if (error == cudaSuccess) {
        *event = standin_event_create((flags & cudaEventDisableTiming) == 0);
    }
    return standin_cuda_leave(error);
}

cudaError_t cudaEventCreate(cudaEvent_t *event)
{
    return cudaEventCreateWithFlags(event, cudaEventDefault);
}

static cudaError_t find_event(cudaEvent_t handle, struct CUevent_st **event_p)
{
    *event_p = standin_event(handle);
    return *event_p != NULL ? cudaSuccess : cudaErrorInvalidResourceHandle;
}

cudaError_t cudaEventDestroy(cudaEvent_t event)
{
    cudaError_t        error = standin_cuda_enter(__func__);
    struct CUevent_st *e     = NULL;

    if (error == cudaSuccess) {
        error = find_event(event, &e);
    }
    if (error == cudaSuccess) {
        standin_event_destroy(e);
    }
    return standin_cuda_leave(error);
}

cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream)
{
    cudaError_t         error = standin_cuda_enter(__func__);
    struct CUevent_st  *e     = NULL;
    struct CUstream_st *s     = NULL;

    if (error == cudaSuccess) {
        error = find_event(event, &e);
    }
    if (error == cudaSuccess) {
        error = find_running(stream, &s);
    }
    if (error == cudaSuccess && e->device != s->device) {
        standin_found("an event of device %d on a stream of device %d", e->device, s->device);
        error = cudaErrorInvalidResourceHandle;
    }
    if (error == cudaSuccess) {
        standin_event_record(e, s);
    }
    return standin_cuda_leave(error);
}

/* The stream, or the event, may be of another device. */
cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned int flags)
{
    cudaError_t         error = standin_cuda_enter(__func__);
    struct CUevent_st  *e     = NULL;
    struct CUstream_st *s     = NULL;

    if (error == cudaSuccess && flags != 0) {
        error = cudaErrorInvalidValue;
    }
    if (error == cudaSuccess) {
        error = find_event(event, &e);
    }
    if (error == cudaSuccess) {
        error = find_running(stream, &s);
    }
    if (error == cudaSuccess) {
        standin_event_follow(s, e);
    }
    return standin_cuda_leave(error);
}

cudaError_t cudaEventQuery(cudaEvent_t event)
{
    cudaError_t        error = standin_cuda_enter(__func__);
    struct CUevent_st *e     = NULL;

    if (error == cudaSuccess) {
        error = find_event(event, &e);
    }
    if (error == cudaSuccess && !standin_event_done(e)) {
        error = cudaErrorNotReady;
    }
    if (e != NULL && standin_broken[e->device] != 0) {
        error = (cudaError_t)standin_broken[e->device];
    }
    return standin_cuda_leave(error);
}

cudaError_t cudaEventSynchronize(cudaEvent_t event)
{
    cudaError_t        error = standin_cuda_enter(__func__);
    struct CUevent_st *e     = NULL;

    if (error == cudaSuccess) {
        error = find_event(event, &e);
    }
    if (error == cudaSuccess) {
        standin_event_finish(e);
        error = (cudaError_t)standin_broken[e->device];
    }
    return standin_cuda_leave(error);
}

cudaError_t cudaEventElapsedTime(float *ms, cudaEvent_t start, cudaEvent_t end)
{
    cudaError_t        error = standin_cuda_enter(__func__);
    struct CUevent_st *from = NULL, *to = NULL;

    if (error == cudaSuccess) {
        error = find_event(start, &from);
    }
    if (error == cudaSuccess) {
        error = find_event(end, &to);
    }
    if (error == cudaSuccess && (!from->timing || !to->timing || from->device != to->device ||
                                 !standin_event_recorded(from) || !standin_event_recorded(to))) {
        standin_found("the events have no times that can be compared");
        error = cudaErrorInvalidResourceHandle;
    }
    if (error == cudaSuccess && (!standin_event_done(from) || !standin_event_done(to))) {
        error = cudaErrorNotReady;
    }
    if (error == cudaSuccess) {
        *ms = (float)(standin_event_time(to) - standin_event_time(from));
    }
    return standin_cuda_leave(error);
}
