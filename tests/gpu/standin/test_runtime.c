/* SPDX-License-Identifier: BSD-3-Clause
 * tests/gpu/standin/test_runtime.c - the stand-in for the CUDA runtime: what is right comes out
 * right in every order of execution, and what is wrong is found.
 */
#include "config.h"

#include <check.h>
#include <cuda_runtime_api.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/gpu/standin/expect.h"
#include "tests/gpu/standin/standin.h"
#include "tests/suite.h"

enum { BYTES = 20000, SEEDS = 40 };

static cudaStream_t   a, b; /* that do not wait for the default stream */
static unsigned char *on, *other, *pinned, *second;
static unsigned char  host[BYTES], want[BYTES];
static test_random_t  r;

static void set_up(void)
{
    r.state = test_seed();
    standin_seed(test_next(&r));
    CUDA(cudaStreamCreateWithFlags(&a, cudaStreamNonBlocking));
    CUDA(cudaStreamCreateWithFlags(&b, cudaStreamNonBlocking));
    CUDA(cudaMalloc((void **)&on, BYTES));
    CUDA(cudaMalloc((void **)&other, BYTES));
    CUDA(cudaMallocHost((void **)&pinned, BYTES));
    CUDA(cudaMallocHost((void **)&second, BYTES));
    for (int i = 0; i < BYTES; i++) {
        want[i] = (unsigned char)(i * 7 + i / 256);
    }
}

static void tear_down(void)
{
    CUDA(cudaDeviceSynchronize());
    CUDA(cudaStreamDestroy(a));
    CUDA(cudaStreamDestroy(b));
    CUDA(cudaFree(on));
    CUDA(cudaFree(other));
    CUDA(cudaFreeHost(pinned));
    CUDA(cudaFreeHost(second));
    ck_assert_int_eq(standin_objects(), 0);
    ck_assert_int_eq(standin_findings(), 0);
}

static void copy(void *dst, const void *src, size_t n, cudaStream_t stream)
{
    CUDA(cudaMemcpyAsync(dst, src, n, cudaMemcpyDefault, stream));
}

/* ---- memory --------------------------------------------------------------------------------- */

START_TEST(the_host_reads_device_memory)
{
    volatile unsigned char *p = on + 5;

    want[0] = *p; /* it ends here */
}
END_TEST

START_TEST(the_host_writes_released_memory)
{
    CUDA(cudaFree(on));
    on[0] = 1;
}
END_TEST

START_TEST(pointers_are_what_they_are)
{
    struct cudaPointerAttributes of;
    unsigned char               *managed;

    CUDA(cudaMallocManaged((void **)&managed, BYTES, cudaMemAttachGlobal));
    CUDA(cudaPointerGetAttributes(&of, on + 1));
    ck_assert(of.type == cudaMemoryTypeDevice && of.device == 0 && of.hostPointer == NULL);
    CUDA(cudaPointerGetAttributes(&of, pinned + BYTES - 1));
    ck_assert(of.type == cudaMemoryTypeHost && of.hostPointer == pinned + BYTES - 1);
    CUDA(cudaPointerGetAttributes(&of, managed));
    ck_assert(of.type == cudaMemoryTypeManaged);
    CUDA(cudaPointerGetAttributes(&of, host));
    ck_assert(of.type == cudaMemoryTypeUnregistered);
    CUDA(cudaHostRegister(host, BYTES, cudaHostRegisterDefault));
    ck_assert_int_eq(cudaHostRegister(host + 9, 1, cudaHostRegisterDefault),
                     cudaErrorHostMemoryAlreadyRegistered);
    CUDA(cudaPointerGetAttributes(&of, host));
    ck_assert(of.type == cudaMemoryTypeHost);
    CUDA(cudaHostUnregister(host));
    memcpy(managed, want, BYTES);
    copy(on, managed, BYTES, a);
    copy(host, on, BYTES, a);
    CUDA(cudaStreamSynchronize(a));
    ck_assert_mem_eq(host, want, BYTES);
    CUDA(cudaFree(managed));
}
END_TEST

/* CUDA_VISIBLE_DEVICES of a process on four GPUs: which ones it has, by bus; and drivers that do
 * not serve. */
static const struct {
    const char *visible;
    int         count, gpu[4];
} views[] = {{NULL, 4, {0, 1, 2, 3}},
             {"", 0, {0}},
             {"-1", 0, {0}},
             {"2,0", 2, {2, 0}},
             {"1,4,2", 1, {1}},
             {"1,1", 0, {0}},
             {"3,-1,2", 1, {3}},
             {"GPU-00000002", 1, {2}},
             {"MIG-00000001-a,MIG-00000001-b", 1, {1}},
             {"MIG-GPU-00000003/7/0,2", 1, {3}}};

START_TEST(visible_devices)
{
    char bus[32], expected[32];
    int  count = -1;

    standin_machine(4, views[_i].visible, CUDART_VERSION);
    ck_assert_int_eq(cudaGetDeviceCount(&count),
                     views[_i].count > 0 ? cudaSuccess : cudaErrorNoDevice);
    ck_assert_int_eq(count, views[_i].count);
    for (int d = 0; d < count; d++) {
        snprintf(expected, sizeof(expected), "0000:%02X:00.0", (unsigned)views[_i].gpu[d] + 1);
        CUDA(cudaDeviceGetPCIBusId(bus, sizeof(bus), d));
        ck_assert_str_eq(bus, expected);
    }
    ck_assert_int_eq(cudaInitDevice(count, 0, 0),
                     count > 0 ? cudaErrorInvalidDevice : cudaErrorNoDevice);
    (void)cudaGetLastError();
}
END_TEST

START_TEST(drivers)
{
    static const int versions[] = {0, 12090, 13010};
    int              version = -1, count = -1;

    for (int i = 0; i < 3; i++) {
        standin_machine(2, NULL, versions[i]);
        CUDA(cudaDriverGetVersion(&version));
        ck_assert_int_eq(version, versions[i]);
        ck_assert_int_eq(cudaGetDeviceCount(&count),
                         i == 2 ? cudaSuccess : cudaErrorInsufficientDriver);
        ck_assert_int_eq(cudaSetDevice(1), i == 2 ? cudaSuccess : cudaErrorInsufficientDriver);
    }
    CUDA(cudaInitDevice(0, 0, 0));
    CUDA(cudaGetDevice(&count));
    ck_assert_int_eq(count, 1);
    REFUSED(cudaInitDevice(0, 1, 1), cudaErrorInvalidValue, "no flags");
}
END_TEST

START_TEST(wrong_pointers_are_found)
{
    unsigned char *there, *gone;

    CUDA(cudaSetDevice(1));
    CUDA(cudaMalloc((void **)&there, 1000));
    CUDA(cudaMalloc((void **)&gone, 1000));
    CUDA(cudaFree(gone));
    CUDA(cudaSetDevice(0));
    REFUSED(cudaMemcpyAsync(on + 1, host, BYTES, cudaMemcpyDefault, a), cudaErrorInvalidValue,
            "out of the bounds");
    REFUSED(cudaMemcpyAsync(host, gone, 10, cudaMemcpyDefault, a), cudaErrorInvalidValue,
            "released");
    REFUSED(cudaMemcpyAsync(on, host, 10, cudaMemcpyDeviceToDevice, a), cudaErrorInvalidValue,
            "the source is not device memory");
    REFUSED(cudaMemcpyAsync(host, on, 10, cudaMemcpyHostToHost, a), cudaErrorInvalidValue,
            "the source is not host memory");
    REFUSED(cudaMemsetAsync(host, 0, 10, a), cudaErrorInvalidValue, "pageable host memory");
    REFUSED(cudaMemcpyPeerAsync(on, 0, there, 2, 10, a), cudaErrorInvalidValue, "another device");
    REFUSED(cudaFree(gone), cudaErrorInvalidValue, "released before");
    REFUSED(cudaFree(on + 256), cudaErrorInvalidValue, "not what such memory is released by");
    REFUSED(cudaFreeHost(on), cudaErrorInvalidValue, "not what such memory is released by");
    ck_assert_int_eq(cudaGetLastError(), cudaErrorInvalidValue);
    ck_assert_int_eq(cudaGetLastError(), cudaSuccess);
    ck_assert_int_eq(cudaMalloc((void **)&gone, (size_t)1 << 40), cudaErrorMemoryAllocation);
    CUDA(cudaMemcpyPeerAsync(on, 0, there, 1, 10, a));
    CUDA(cudaStreamSynchronize(a));
    CUDA(cudaFree(there));
}
END_TEST

/* ---- order ---------------------------------------------------------------------------------- */

/* From pinned through `on` to host memory by two streams. Are the bytes there? */
static bool two_streams(uint64_t seed, bool event_between)
{
    cudaEvent_t done;

    standin_seed(seed);
    CUDA(cudaEventCreateWithFlags(&done, cudaEventDisableTiming));
    CUDA(cudaMemset(on, 0, BYTES));
    CUDA(cudaDeviceSynchronize());
    memcpy(pinned, want, BYTES);
    copy(on, pinned, BYTES, a);
    CUDA(cudaEventRecord(done, a));
    if (event_between) {
        CUDA(cudaStreamWaitEvent(b, done, 0));
    }
    copy(second, on, BYTES, b);
    CUDA(cudaStreamSynchronize(b));
    CUDA(cudaDeviceSynchronize());
    CUDA(cudaEventDestroy(done));
    return memcmp(second, want, BYTES) == 0;
}

START_TEST(an_event_orders_streams_and_a_missing_one_shows)
{
    int right = 0;

    for (int i = 0; i < SEEDS; i++) {
        ck_assert(two_streams(test_next(&r), true));
        right += two_streams(test_next(&r), false);
    }
    ck_assert_msg(right < SEEDS / 2, "%d of %d right without the event", right, SEEDS);
}
END_TEST

START_TEST(nothing_is_there_before_it_is_waited_for)
{
    memcpy(pinned, want, BYTES);
    copy(on, pinned, BYTES, a);
    copy(second + 3, on, 500, a); /* less than a page: it may be looked at */
    ck_assert(memcmp(second + 3, want, 500) != 0);
    CUDA(cudaStreamSynchronize(a));
    ck_assert_mem_eq(second + 3, want, 500);
}
END_TEST

START_TEST(polling_ends)
{
    cudaEvent_t from, to;
    float       ms;
    cudaError_t error;

    CUDA(cudaEventCreate(&from));
    CUDA(cudaEventCreate(&to));
    REFUSED(cudaEventElapsedTime(&ms, from, to), cudaErrorInvalidResourceHandle, "no times");
    CUDA(cudaEventQuery(to));
    CUDA(cudaEventRecord(from, a));
    memcpy(pinned, want, BYTES);
    copy(on, pinned, BYTES, a);
    CUDA(cudaEventRecord(to, a));
    do {
        error = cudaEventQuery(to);
    } while (error == cudaErrorNotReady);
    ck_assert_int_eq(error, cudaSuccess);
    CUDA(cudaEventElapsedTime(&ms, from, to));
    ck_assert(ms > 0);
    CUDA(cudaEventDestroy(from));
    CUDA(cudaEventDestroy(to));
    REFUSED(cudaEventQuery(to), cudaErrorInvalidResourceHandle, "does not exist");
    (void)cudaGetLastError();
}
END_TEST

/* Blocking streams and the default stream wait for one another, others do not. */
START_TEST(the_default_stream)
{
    cudaStream_t blocking;
    int          early = 0;

    CUDA(cudaStreamCreate(&blocking));
    memcpy(pinned, want, BYTES);
    for (int i = 0; i < SEEDS; i++) {
        CUDA(cudaMemset(on, 1, BYTES));
        copy(other, on, BYTES, blocking);
        copy(second, other, BYTES, NULL);
        CUDA(cudaStreamSynchronize(NULL));
        ck_assert(second[0] == 1 && second[BYTES - 1] == 1);
        CUDA(cudaMemset(on, 2, BYTES));
        copy(second, on, BYTES, a);
        CUDA(cudaStreamSynchronize(a));
        early += second[0] == 1;
        CUDA(cudaDeviceSynchronize());
    }
    ck_assert_int_gt(early, SEEDS / 4);
    CUDA(cudaStreamDestroy(blocking));
}
END_TEST

static void count(void *data)
{
    *(int *)data += memcmp(second, want, BYTES) == 0;
}

static void call_cuda(void *data)
{
    *(cudaError_t *)data = cudaStreamSynchronize(NULL);
}

START_TEST(functions_of_the_host_come_in_order)
{
    int         right = 0;
    cudaError_t error = cudaSuccess;

    memcpy(pinned, want, BYTES);
    copy(on, pinned, BYTES, a);
    copy(second, on, BYTES, a);
    CUDA(cudaLaunchHostFunc(a, count, &right));
    CUDA(cudaStreamSynchronize(a));
    ck_assert_int_eq(right, 1);
    CUDA(cudaLaunchHostFunc(a, call_cuda, &error));
    CUDA(cudaStreamSynchronize(a));
    ck_assert_int_eq(error, cudaErrorNotPermitted);
    FOUND("host function");
    (void)cudaGetLastError();
}
END_TEST

START_TEST(what_a_stream_holds_outlives_it)
{
    cudaStream_t short_lived;

    CUDA(cudaStreamCreateWithFlags(&short_lived, cudaStreamNonBlocking));
    memcpy(pinned, want, BYTES);
    copy(on, pinned, BYTES, short_lived);
    CUDA(cudaStreamDestroy(short_lived));
    REFUSED(cudaStreamSynchronize(short_lived), cudaErrorInvalidResourceHandle, "does not exist");
    (void)cudaGetLastError();
    CUDA(cudaDeviceSynchronize());
    copy(host, on, BYTES, a);
    CUDA(cudaStreamSynchronize(a));
    ck_assert_mem_eq(host, want, BYTES);
}
END_TEST

/* ---- host memory that a copy still uses ----------------------------------------------------- */

/* _i: at the end, which is less than a page; and in a page that the copy has for itself. */
START_TEST(the_host_writes_what_a_copy_reads)
{
    copy(on, pinned, BYTES, a);
    pinned[_i == 0 ? BYTES - 1 : BYTES / 2] ^= 1;
    if (_i == 1) {
        FOUND("a pending copy uses");
    }
    CUDA(cudaStreamSynchronize(a));
    FOUND("changed while cudaMemcpyAsync was still to read");
    pinned[BYTES / 2] ^= 1; /* now it may */
    ck_assert_int_eq(standin_findings(), 0);
}
END_TEST

START_TEST(the_host_reads_what_a_copy_writes)
{
    volatile unsigned char *p = second + BYTES / 2;

    copy(second, on, BYTES, a);
    want[0] = *p;
    FOUND("a pending copy uses");
    second[BYTES - 1] = 1;
    CUDA(cudaStreamSynchronize(a));
    FOUND("still to write");
}
END_TEST

/* By lot the bytes are taken at once, or not: a program may not rely on either. */
START_TEST(pageable_memory)
{
    int found = 0;

    for (int i = 0; i < SEEDS; i++) {
        copy(on, host, BYTES, a);
        host[5]++;
        CUDA(cudaStreamSynchronize(a));
        found += standin_findings() > 0;
    }
    ck_assert(found > 0 && found < SEEDS);
    for (int i = 0; i < SEEDS; i++) { /* but for the call that waits */
        memset(host, i, BYTES);
        CUDA(cudaMemcpy(on, host, BYTES, cudaMemcpyHostToDevice));
        memset(host, 99, BYTES);
        CUDA(cudaMemcpy(host, on, BYTES, cudaMemcpyDeviceToHost));
        ck_assert(host[0] == i && host[BYTES - 1] == i);
    }
}
END_TEST

START_TEST(pinned_memory_is_released_too_early)
{
    unsigned char *brief;

    CUDA(cudaMallocHost((void **)&brief, BYTES));
    copy(on, brief, BYTES, a);
    CUDA(cudaFreeHost(brief));
    FOUND("not done");
}
END_TEST

/* ---- kernels -------------------------------------------------------------------------------- */

typedef struct standin_fill {
    unsigned char *at;
    long           n;
} standin_fill_t;

static void fill(const void *kernel, unsigned blocks, unsigned threads, const void *parameter)
{
    const standin_fill_t *f = parameter;

    (void)kernel;
    for (long i = 0; i < f->n; i++) {
        ((volatile unsigned char *)f->at)[i] = (unsigned char)(blocks * threads);
    }
}

static cudaError_t launch(unsigned char *at, long n, unsigned threads, cudaStream_t stream)
{
    static const size_t            pointers[] = {offsetof(standin_fill_t, at)};
    static const standin_kernels_t kernels    = {
           .bytes = sizeof(standin_fill_t), .pointers = pointers, .count = 1, .run = fill};
    standin_fill_t    f      = {at, n};
    void             *args[] = {&f};
    const struct dim3 one = {1, 1, 1}, block = {threads, 1, 1};

    standin_kernels_set(&kernels);
    return cudaLaunchKernel(want, one, block, args, 0, stream);
}

START_TEST(kernels)
{
    cudaStream_t there;

    CUDA(launch(on, BYTES, 7, a));
    copy(host, on, BYTES, a);
    CUDA(cudaStreamSynchronize(a));
    ck_assert(host[0] == 7 && host[BYTES - 1] == 7);
    CUDA(launch(on, BYTES + 1, 7, a)); /* one byte too much */
    CUDA(cudaStreamSynchronize(a));
    FOUND("wrote beside 20000 bytes of device memory, at byte 20000");
    REFUSED(launch(on, 1, 1025, a), cudaErrorInvalidConfiguration, "1025");
    CUDA(cudaSetDevice(1));
    CUDA(cudaStreamCreate(&there));
    CUDA(cudaSetDevice(0));
    REFUSED(launch(on, 1, 1, there), cudaErrorInvalidResourceHandle,
            "the stream is one of device 1");
    (void)cudaGetLastError();
    CUDA(cudaStreamDestroy(there));
}
END_TEST

/* What is captured is done by each launch, and by nothing else. */
START_TEST(graphs)
{
    cudaGraph_t     graph;
    cudaGraphExec_t exec;

    CUDA(cudaMemsetAsync(on, 1, BYTES, a));
    CUDA(cudaStreamBeginCapture(a, cudaStreamCaptureModeThreadLocal));
    CUDA(launch(on, 5, 7, a));
    CUDA(launch(on, 3, 8, a));
    CUDA(cudaStreamEndCapture(a, &graph));
    CUDA(cudaGraphInstantiateWithFlags(&exec, graph, 0));
    CUDA(cudaGraphDestroy(graph));
    copy(host, on, BYTES, a);
    CUDA(cudaStreamSynchronize(a));
    ck_assert(host[0] == 1 && host[4] == 1);
    for (int i = 0; i < 2; i++) {
        CUDA(cudaMemsetAsync(on, 1, BYTES, a));
        CUDA(cudaGraphLaunch(exec, a));
        copy(host, on, BYTES, a);
        CUDA(cudaStreamSynchronize(a));
        ck_assert(host[0] == 8 && host[2] == 8 && host[3] == 7 && host[4] == 7 && host[5] == 1);
    }
    CUDA(cudaGraphLaunch(exec, a)); /* done all the same */
    CUDA(cudaGraphExecDestroy(exec));
    CUDA(cudaStreamSynchronize(a));
    CUDA(cudaStreamBeginCapture(a, cudaStreamCaptureModeThreadLocal));
    REFUSED(cudaStreamBeginCapture(a, cudaStreamCaptureModeThreadLocal), cudaErrorIllegalState,
            "captured already");
    REFUSED(cudaStreamSynchronize(a), cudaErrorStreamCaptureUnsupported, "is captured");
    REFUSED(cudaMemsetAsync(on, 1, 1, a), cudaErrorStreamCaptureUnsupported, "is captured");
    ck_assert_int_eq(cudaStreamEndCapture(a, &graph), cudaErrorStreamCaptureInvalidated);
    REFUSED(cudaStreamEndCapture(a, &graph), cudaErrorIllegalState, "is not captured");
    REFUSED(cudaGraphLaunch(exec, a), cudaErrorInvalidValue, "none of the executable graphs");
    ck_assert_int_eq(cudaStreamBeginCapture(NULL, cudaStreamCaptureModeThreadLocal),
                     cudaErrorStreamCaptureUnsupported);
    (void)cudaGetLastError();
}
END_TEST

START_TEST(a_kernel_goes_far_out_of_bounds)
{
    CUDA(launch(on, 1 << 20, 7, a));
    CUDA(cudaStreamSynchronize(a)); /* it ends here */
}
END_TEST

/* The launch says nothing; then the device is broken. */
START_TEST(a_kernel_on_host_memory)
{
    CUDA(launch(host, 10, 7, a));
    ck_assert_int_eq(cudaStreamSynchronize(a), cudaErrorIllegalAddress);
    FOUND("pageable host memory");
    ck_assert_int_eq(cudaMemsetAsync(on, 0, 1, b), cudaErrorIllegalAddress);
    ck_assert_int_eq(cudaFree(on), cudaErrorIllegalAddress);
    CUDA(cudaSetDevice(2)); /* the others are not */
    CUDA(cudaDeviceSynchronize());
}
END_TEST

/* ---- errors on demand ----------------------------------------------------------------------- */

START_TEST(calls_fail_on_demand)
{
    void               *p[3]   = {NULL};
    const unsigned long before = standin_calls("cudaMalloc");

    standin_fail("cudaMalloc", 2, cudaErrorMemoryAllocation, STANDIN_ONCE);
    for (int i = 0; i < 3; i++) {
        ck_assert_int_eq(cudaMalloc(&p[i], 10), i == 1 ? cudaErrorMemoryAllocation : cudaSuccess);
    }
    ck_assert_uint_eq(standin_calls("cudaMalloc"), before + 3);
    (void)cudaGetLastError();
    CUDA(cudaFree(p[0]));
    CUDA(cudaFree(p[2]));
}
END_TEST

START_TEST(errors_stick)
{
    memcpy(pinned, want, BYTES);
    if (_i == 0) {
        standin_fail("cudaMemcpyAsync", 1, cudaErrorLaunchFailure, STANDIN_STICKY);
        ck_assert_int_eq(cudaMemcpyAsync(on, pinned, BYTES, cudaMemcpyDefault, a),
                         cudaErrorLaunchFailure);
    } else {
        standin_fail("cudaMemcpyAsync", 1, cudaErrorLaunchFailure, STANDIN_LATE);
        copy(on, pinned, BYTES, a);
        ck_assert_int_eq(cudaStreamSynchronize(a), cudaErrorLaunchFailure);
    }
    ck_assert_int_eq(cudaStreamSynchronize(b), cudaErrorLaunchFailure);
    ck_assert_int_eq(cudaGetLastError(), cudaErrorLaunchFailure);
    ck_assert_int_eq(cudaGetLastError(), cudaErrorLaunchFailure);
}
END_TEST

/* ---- leaks ---------------------------------------------------------------------------------- */

/* What a process that does this ends with. */
static int status_after(void (*function)(void))
{
    const pid_t child = fork();
    int         status;

    if (child == 0) {
        function();
        exit(0);
    }
    ck_assert(waitpid(child, &status, 0) == child && WIFEXITED(status));
    return WEXITSTATUS(status);
}

static void leave_a_stream(void)
{
    cudaStream_t stream;

    (void)cudaStreamCreate(&stream);
}

static void leave_nothing(void)
{
    cudaStream_t stream;

    (void)cudaStreamCreate(&stream);
    (void)cudaStreamDestroy(stream);
}

static void misuse(void)
{
    (void)cudaMemset(host, 0, 1);
}

START_TEST(what_is_left_is_said_at_the_end)
{
    void *p;

    ck_assert_int_eq(status_after(leave_nothing), 0);
    ck_assert_int_eq(status_after(leave_a_stream), 99);
    ck_assert_int_eq(status_after(misuse), 99);
    CUDA(cudaMallocHost(&p, 1));
    ck_assert_int_eq(standin_objects_of("pinned memory"), 1);
    CUDA(cudaFreeHost(p));
    ck_assert_int_eq(standin_objects(), 0);
}
END_TEST

int main(void)
{
    Suite *suite  = suite_create("gpu/standin/runtime");
    TCase *tcase  = test_case_within(suite, "right and wrong", 60.0);
    TCase *deadly = test_case_within(suite, "deadly",
                                     60.0); /* tests that end in a signal, or a broken device */
    TCase *alone  = test_case_within(suite, "alone", 60.0);

    setenv("STANDIN_DEVICES", "3", 1);
    setenv("CK_FORK", "yes", 1);
    tcase_add_checked_fixture(tcase, set_up, tear_down);
    tcase_add_test(tcase, pointers_are_what_they_are);
    tcase_add_test(tcase, wrong_pointers_are_found);
    tcase_add_test(tcase, an_event_orders_streams_and_a_missing_one_shows);
    tcase_add_test(tcase, nothing_is_there_before_it_is_waited_for);
    tcase_add_test(tcase, polling_ends);
    tcase_add_test(tcase, the_default_stream);
    tcase_add_test(tcase, functions_of_the_host_come_in_order);
    tcase_add_test(tcase, what_a_stream_holds_outlives_it);
    tcase_add_loop_test(tcase, the_host_writes_what_a_copy_reads, 0, 2);
    tcase_add_test(tcase, the_host_reads_what_a_copy_writes);
    tcase_add_test(tcase, pageable_memory);
    tcase_add_test(tcase, pinned_memory_is_released_too_early);
    tcase_add_test(tcase, kernels);
    tcase_add_test(tcase, graphs);
    tcase_add_test(tcase, calls_fail_on_demand);
    tcase_add_checked_fixture(deadly, set_up, NULL);
    tcase_add_test_raise_signal(deadly, the_host_reads_device_memory, SIGSEGV);
    tcase_add_test_raise_signal(deadly, the_host_writes_released_memory, SIGSEGV);
    tcase_add_test_raise_signal(deadly, a_kernel_goes_far_out_of_bounds, SIGSEGV);
    tcase_add_test(deadly, a_kernel_on_host_memory);
    tcase_add_loop_test(deadly, errors_stick, 0, 2);
    tcase_add_loop_test(alone, visible_devices, 0, sizeof(views) / sizeof(views[0]));
    tcase_add_test(alone, drivers);
    tcase_add_test(alone, what_is_left_is_said_at_the_end);
    return test_main(suite);
}
