/* SPDX-License-Identifier: BSD-3-Clause
 * tests/gpu/standin/stub_device.c - what tests/transport/stub_device.h promises, by the library's
 * own table for CUDA (runtime/codec/cuda) on the stand-in. So the programs that take the stub run
 * on it unchanged.
 *
 * The stub counts devices from 1; number n here is device n - 1 of the stand-in, and further by the
 * number of this process among those of the job, so that ranks have different devices where there
 * are several.
 *
 * STANDIN_FAULT=event leaves out every wait for an event, STANDIN_FAULT=read has the host read what
 * a copy begins with: so that tests see both be found.
 */
#include "config.h"

#include <cuda_runtime_api.h>
#include <stdlib.h>
#include <string.h>

#include "tests/gpu/standin/standin.h"
#include "tests/transport/stub_device.h"

uint64_t stub_seed;
int      stub_current   = 1;
int      stub_diligence = 512;
int      stub_calls_left;
int      stub_shares = 1;
int      stub_objects;

void *stub_real(const void *p)
{
    return standin_real(p);
}

static int rank_of_process(void)
{
    const char *const names[] = {"OMPI_COMM_WORLD_RANK", "PMI_RANK"};

    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        const char *text = getenv(names[i]);

        if (text != NULL) {
            return atoi(text);
        }
    }
    return 0;
}

/* What the test has set since the last call. */
static void set_up(void)
{
    static uint64_t seed;
    const int       number = stub_current > 0 ? stub_current - 1 : 0;
    int             devices;

    if (stub_seed != seed) {
        seed = stub_seed;
        standin_seed(seed);
    }
    standin_diligence(stub_diligence);
    if (cudaGetDeviceCount(&devices) == cudaSuccess) {
        (void)cudaSetDevice((rank_of_process() + number) % devices);
    }
}

/* The same before a call that may be meant to fail. */
static void set_up_work(void)
{
    set_up();
    if (stub_calls_left > 0 && --stub_calls_left == 0) {
        standin_fail("*", 1, cudaErrorLaunchFailure, STANDIN_STICKY);
    }
}

static tw_status_t current(int *device_p)
{
    set_up();
    *device_p = stub_current;
    return stub_current != 0 ? TW_OK : TW_ERR_UNSUPPORTED;
}

/* By numbers of the stub's: two of them may be one device of the stand-in. */
static tw_status_t use(int device, int *before_p)
{
    const int before = stub_current;

    stub_current = device;
    set_up();
    if (before_p != NULL) {
        *before_p = before != device ? before : -1;
    }
    return TW_OK;
}

static bool owns(const void *p, const void *q)
{
    return tw_device_cuda.owns(p, q);
}

static tw_status_t check(const void *p)
{
    set_up();
    return tw_device_cuda.check(p);
}

static tw_status_t allocate(tw_device_memory_t kind, size_t bytes, void **p)
{
    tw_status_t status;

    set_up();
    status       = tw_device_cuda.allocate(kind, bytes, p);
    stub_objects = standin_objects();
    return status;
}

static void release(tw_device_memory_t kind, void *p)
{
    tw_device_cuda.release(kind, p);
    stub_objects = standin_objects();
}

static tw_status_t share(void *p, tw_device_handle_t *handle)
{
    set_up();
    return stub_shares ? tw_device_cuda.share(p, handle) : TW_ERR_UNSUPPORTED;
}

static tw_status_t open_shared(const tw_device_handle_t *handle, void **p)
{
    tw_status_t status;

    set_up();
    status       = tw_device_cuda.open(handle, p);
    stub_objects = standin_objects();
    return status;
}

static void close_shared(void *p)
{
    tw_device_cuda.close(p);
    stub_objects = standin_objects();
}

static tw_status_t stream_create(void **stream_p)
{
    tw_status_t status;

    set_up();
    if (stub_calls_left > 0 && --stub_calls_left == 0) {
        standin_fail("cudaStreamCreateWithFlags", 1, cudaErrorUnknown, STANDIN_ONCE);
    }
    status       = tw_device_cuda.stream_create(stream_p);
    stub_objects = standin_objects();
    return status;
}

static void stream_destroy(void *stream)
{
    tw_device_cuda.stream_destroy(stream);
    stub_objects = standin_objects();
}

static tw_status_t event_create(void **event_p)
{
    tw_status_t status;

    set_up();
    status       = tw_device_cuda.event_create(event_p);
    stub_objects = standin_objects();
    return status;
}

static void event_destroy(void *event)
{
    tw_device_cuda.event_destroy(event);
    stub_objects = standin_objects();
}

static tw_status_t record(void *event, void *stream)
{
    set_up_work();
    return tw_device_cuda.record(event, stream);
}

static bool fault(const char *which)
{
    const char *text = getenv("STANDIN_FAULT");

    return text != NULL && strcmp(text, which) == 0;
}

static tw_status_t follow(void *stream, void *event)
{
    set_up_work();
    if (fault("event")) {
        return TW_OK;
    }
    return tw_device_cuda.follow(stream, event);
}

static tw_status_t query(void *event, bool *done_p)
{
    set_up_work();
    return tw_device_cuda.query(event, done_p);
}

static tw_status_t finish(void *stream)
{
    set_up_work();
    return tw_device_cuda.finish(stream);
}

static tw_status_t copy(void *dst, const void *src, size_t bytes, void *stream)
{
    set_up_work();
    if (fault("read")) {
        (void)*(const volatile unsigned char *)src;
    }
    return tw_device_cuda.copy(dst, src, bytes, stream);
}

static tw_status_t zero(void *dst, size_t bytes, void *stream)
{
    set_up_work();
    return tw_device_cuda.zero(dst, bytes, stream);
}

static tw_status_t encode(const tw_codec_t *codec, const tw_exec_t *exec, const void *src, size_t n,
                          void *dst)
{
    set_up_work();
    return tw_device_cuda.encode(codec, exec, src, n, dst);
}

static tw_status_t decode(const tw_codec_t *codec, const tw_exec_t *exec, const void *src, size_t n,
                          void *dst)
{
    set_up_work();
    return tw_device_cuda.decode(codec, exec, src, n, dst);
}

static tw_status_t decode_add(const tw_codec_t *codec, const tw_exec_t *exec, const void *src,
                              size_t n, void *acc)
{
    set_up_work();
    return tw_device_cuda.decode_add(codec, exec, src, n, acc);
}

static tw_status_t encode_feedback(const tw_codec_t *codec, const tw_exec_t *exec, const void *src,
                                   size_t n, void *residual, void *dst)
{
    set_up_work();
    return tw_device_cuda.encode_feedback(codec, exec, src, n, residual, dst);
}

static tw_status_t add(void *values, const void *from, size_t n, size_t element, void *stream)
{
    set_up_work();
    return tw_device_cuda.add(values, from, n, element, stream);
}

static tw_status_t divide(void *values, size_t n, size_t element, int divisor, void *stream)
{
    set_up_work();
    return tw_device_cuda.divide(values, n, element, divisor, stream);
}

static tw_status_t moments_empty(double *moments, size_t n, void *stream)
{
    set_up_work();
    return tw_device_cuda.moments_empty(moments, n, stream);
}

static tw_status_t square_sum(const float *src, size_t n, double *work, double *sum, void *stream)
{
    set_up_work();
    return tw_device_cuda.square_sum(src, n, work, sum, stream);
}

const tw_device_ops_t stub_device = {
    .name            = "stand-in",
    .current         = current,
    .use             = use,
    .owns            = owns,
    .check           = check,
    .allocate        = allocate,
    .release         = release,
    .share           = share,
    .open            = open_shared,
    .close           = close_shared,
    .stream_create   = stream_create,
    .stream_destroy  = stream_destroy,
    .event_create    = event_create,
    .event_destroy   = event_destroy,
    .record          = record,
    .follow          = follow,
    .query           = query,
    .finish          = finish,
    .copy            = copy,
    .zero            = zero,
    .encode          = encode,
    .decode          = decode,
    .decode_add      = decode_add,
    .encode_feedback = encode_feedback,
    .add             = add,
    .divide          = divide,
    .moments_empty   = moments_empty,
    .square_sum      = square_sum,
};
