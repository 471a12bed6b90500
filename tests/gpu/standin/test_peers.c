/* SPDX-License-Identifier: BSD-3-Clause
 * tests/gpu/standin/test_peers.c - the stand-in for the CUDA runtime: memory of other devices, and
 * of other processes, which are children that have used no device.
 */
#include "config.h"

#include <check.h>
#include <cuda_runtime_api.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/gpu/standin/expect.h"
#include "tests/gpu/standin/standin.h"
#include "tests/suite.h"

enum { BYTES = 20000 };

/* In the child, which has no checks: which line failed. */
#define MUST(condition)                                                                            \
    do {                                                                                           \
        if (!(condition)) {                                                                        \
            fprintf(stderr, "# child: line %d: %s\n", __LINE__, #condition);                       \
            _exit(1);                                                                              \
        }                                                                                          \
    } while (0)

static unsigned char there[BYTES], want[BYTES];

/* A child that works on what it is told, and the ways to and from it. */
typedef struct child {
    pid_t pid;
    int   to, from;
} child_t;

static void tell(int file, const void *what, size_t n)
{
    MUST(write(file, what, n) == (ssize_t)n);
}

static void hear(int file, void *what, size_t n)
{
    MUST(read(file, what, n) == (ssize_t)n);
}

static child_t child_begin(void (*work)(int in, int out))
{
    int     to[2], from[2];
    child_t child;

    ck_assert(pipe(to) == 0 && pipe(from) == 0);
    child = (child_t){fork(), to[1], from[0]};
    if (child.pid == 0) {
        work(to[0], from[1]);
        exit(0); /* 99: with findings, or something left */
    }
    close(to[0]);
    close(from[1]);
    return child;
}

static int child_end(const child_t *child)
{
    int status;

    ck_assert(waitpid(child->pid, &status, 0) == child->pid && WIFEXITED(status));
    close(child->to);
    close(child->from);
    return WEXITSTATUS(status);
}

/* ---- processes ------------------------------------------------------------------------------ */

static void add_one(int in, int out)
{
    cudaIpcMemHandle_t handle;
    unsigned char     *p, *again;

    hear(in, &handle, sizeof(handle));
    MUST(cudaSetDevice(1) == cudaSuccess);
    MUST(cudaIpcOpenMemHandle((void **)&p, handle, 0) == cudaErrorInvalidValue);
    MUST(standin_findings() == 1);
    MUST(cudaIpcOpenMemHandle((void **)&p, handle, cudaIpcMemLazyEnablePeerAccess) == cudaSuccess);
    MUST(cudaIpcOpenMemHandle((void **)&again, handle, cudaIpcMemLazyEnablePeerAccess) ==
             cudaSuccess &&
         again == p);
    MUST(cudaIpcCloseMemHandle(again) == cudaSuccess); /* it is still open once */
    MUST(cudaMemcpy(there, p, BYTES, cudaMemcpyDefault) == cudaSuccess);
    for (int i = 0; i < BYTES; i++) {
        there[i]++;
    }
    MUST(cudaMemcpy(p, there, BYTES, cudaMemcpyDefault) == cudaSuccess);
    MUST(cudaDeviceSynchronize() == cudaSuccess);
    MUST(cudaMemcpyAsync(there, p + 1, BYTES, cudaMemcpyDefault, NULL) == cudaErrorInvalidValue);
    MUST(standin_findings() == 1 && strstr(standin_finding(), "out of the bounds") != NULL);
    MUST(cudaFree(p) == cudaErrorInvalidValue && standin_findings() == 1);
    MUST(cudaIpcCloseMemHandle(p) == cudaSuccess);
    MUST(cudaIpcCloseMemHandle(p) == cudaErrorInvalidValue && standin_findings() == 1);
    tell(out, "x", 1);
}

START_TEST(memory_of_another_process)
{
    const child_t      child = child_begin(add_one);
    cudaIpcMemHandle_t handle;
    unsigned char     *p;
    char               done;

    CUDA(cudaMalloc((void **)&p, BYTES));
    CUDA(cudaMemcpy(p, want, BYTES, cudaMemcpyDefault));
    CUDA(cudaIpcGetMemHandle(&handle, p));
    CUDA(cudaDeviceSynchronize());
    tell(child.to, &handle, sizeof(handle));
    hear(child.from, &done, 1);
    CUDA(cudaMemcpy(there, p, BYTES, cudaMemcpyDefault));
    for (int i = 0; i < BYTES; i++) {
        ck_assert_uint_eq(there[i], (unsigned char)(want[i] + 1));
    }
    CUDA(cudaFree(p));
    ck_assert_int_eq(child_end(&child), 0);
    ck_assert_int_eq(standin_findings(), 0);
}
END_TEST

START_TEST(handles_of_what_has_none)
{
    cudaIpcMemHandle_t handle;
    unsigned char     *p, *pinned;
    void              *q;

    CUDA(cudaMalloc((void **)&p, BYTES));
    CUDA(cudaMallocHost((void **)&pinned, BYTES));
    REFUSED(cudaIpcGetMemHandle(&handle, p + 256), cudaErrorInvalidValue, "begins");
    REFUSED(cudaIpcGetMemHandle(&handle, pinned), cudaErrorInvalidValue, "begins");
    REFUSED(cudaIpcGetMemHandle(&handle, there), cudaErrorInvalidValue, "begins");
    CUDA(cudaIpcGetMemHandle(&handle, p));
    REFUSED(cudaIpcOpenMemHandle(&q, handle, cudaIpcMemLazyEnablePeerAccess),
            cudaErrorInvalidResourceHandle, "one of this process");
    REFUSED(cudaIpcCloseMemHandle(p), cudaErrorInvalidValue, "not memory of another process");
    CUDA(cudaFree(p));
    CUDA(cudaFreeHost(pinned));
}
END_TEST

static void use_too_late(int in, int out)
{
    cudaIpcMemHandle_t handle;
    unsigned char     *p;
    char               gone;

    hear(in, &handle, sizeof(handle));
    MUST(cudaIpcOpenMemHandle((void **)&p, handle, cudaIpcMemLazyEnablePeerAccess) == cudaSuccess);
    tell(out, "x", 1);
    hear(in, &gone, 1);
    MUST(cudaMemcpy(there, p, 1, cudaMemcpyDefault) == cudaErrorInvalidValue);
    MUST(standin_findings() == 1 && strstr(standin_finding(), "its process has released") != NULL);
    MUST(cudaIpcCloseMemHandle(p) == cudaSuccess);
    MUST(cudaIpcOpenMemHandle((void **)&p, handle, cudaIpcMemLazyEnablePeerAccess) ==
         cudaErrorMapBufferObjectFailed);
}

START_TEST(released_before_it_is_closed)
{
    const child_t      child = child_begin(use_too_late);
    cudaIpcMemHandle_t handle;
    void              *p;
    char               open;

    CUDA(cudaMalloc(&p, BYTES));
    CUDA(cudaIpcGetMemHandle(&handle, p));
    tell(child.to, &handle, sizeof(handle));
    hear(child.from, &open, 1);
    CUDA(cudaFree(p));
    FOUND("20000 bytes are released that another process has open");
    tell(child.to, "x", 1);
    ck_assert_int_eq(child_end(&child), 0);
}
END_TEST

static void leave_it_open(int in, int out)
{
    cudaIpcMemHandle_t handle;
    void              *p;

    hear(in, &handle, sizeof(handle));
    MUST(cudaIpcOpenMemHandle(&p, handle, cudaIpcMemLazyEnablePeerAccess) == cudaSuccess);
    tell(out, "x", 1);
}

START_TEST(what_stays_open_is_left)
{
    const child_t      child = child_begin(leave_it_open);
    cudaIpcMemHandle_t handle;
    void              *p;

    CUDA(cudaMalloc(&p, BYTES));
    CUDA(cudaIpcGetMemHandle(&handle, p));
    tell(child.to, &handle, sizeof(handle));
    ck_assert_int_eq(child_end(&child), 99);
    CUDA(cudaFree(p));
    (void)standin_findings();
}
END_TEST

/* ---- devices -------------------------------------------------------------------------------- */

typedef struct standin_touch {
    unsigned char *at;
} standin_touch_t;

static void touch(const void *kernel, unsigned blocks, unsigned threads, const void *parameter)
{
    const standin_touch_t *t = parameter;

    (void)kernel;
    (void)blocks;
    (void)threads;
    t->at[0] = 42;
}

static cudaError_t launch(unsigned char *at)
{
    static const size_t            pointers[] = {0};
    static const standin_kernels_t kernels    = {
           .bytes = sizeof(standin_touch_t), .pointers = pointers, .count = 1, .run = touch};
    standin_touch_t   t      = {at};
    void             *args[] = {&t};
    const struct dim3 one    = {1, 1, 1};

    standin_kernels_set(&kernels);
    CUDA(cudaLaunchKernel(want, one, one, args, 0, NULL));
    return cudaDeviceSynchronize();
}

START_TEST(memory_of_another_device)
{
    unsigned char *p;
    int            can;

    CUDA(cudaMalloc((void **)&p, BYTES));
    CUDA(cudaSetDevice(1));
    CUDA(cudaDeviceCanAccessPeer(&can, 1, 0));
    ck_assert_int_eq(can, 1);
    ck_assert_int_eq(cudaDeviceDisablePeerAccess(0), cudaErrorPeerAccessNotEnabled);
    ck_assert_int_eq(cudaDeviceEnablePeerAccess(0, 1), cudaErrorInvalidValue);
    ck_assert_int_eq(cudaDeviceEnablePeerAccess(1, 0), cudaErrorInvalidDevice);
    CUDA(cudaDeviceEnablePeerAccess(0, 0));
    ck_assert_int_eq(cudaDeviceEnablePeerAccess(0, 0), cudaErrorPeerAccessAlreadyEnabled);
    (void)cudaGetLastError();
    CUDA(launch(p));
    CUDA(cudaMemcpy(there, p, 1, cudaMemcpyDefault));
    ck_assert_uint_eq(there[0], 42);
    CUDA(cudaDeviceDisablePeerAccess(0));
    ck_assert_int_eq(launch(p), cudaErrorIllegalAddress);
    FOUND("memory of another device");
    CUDA(cudaSetDevice(0));
    CUDA(cudaFree(p));
}
END_TEST

static void none_for_another_device(int in, int out)
{
    cudaIpcMemHandle_t handle;
    void              *p;

    hear(in, &handle, sizeof(handle));
    MUST(cudaSetDevice(1) == cudaSuccess);
    MUST(cudaIpcOpenMemHandle(&p, handle, cudaIpcMemLazyEnablePeerAccess) ==
         cudaErrorPeerAccessUnsupported);
    MUST(cudaSetDevice(0) == cudaSuccess); /* its own device reaches it */
    MUST(cudaIpcOpenMemHandle(&p, handle, cudaIpcMemLazyEnablePeerAccess) == cudaSuccess);
    MUST(cudaIpcCloseMemHandle(p) == cudaSuccess);
    tell(out, "x", 1);
}

START_TEST(devices_that_do_not_reach_each_other)
{
    child_t            child;
    cudaIpcMemHandle_t handle;
    void              *p;
    int                can;

    setenv("STANDIN_PEERS", "0", 1);
    child = child_begin(none_for_another_device);
    CUDA(cudaDeviceCanAccessPeer(&can, 1, 0));
    ck_assert_int_eq(can, 0);
    ck_assert_int_eq(cudaDeviceEnablePeerAccess(1, 0), cudaErrorPeerAccessUnsupported);
    CUDA(cudaMalloc(&p, BYTES));
    CUDA(cudaIpcGetMemHandle(&handle, p));
    tell(child.to, &handle, sizeof(handle));
    ck_assert_int_eq(child_end(&child), 0);
    CUDA(cudaFree(p));
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("gpu/standin/peers");
    TCase *tcase = test_case_within(suite, "devices and processes", 60.0);

    setenv("STANDIN_DEVICES", "2", 1);
    setenv("CK_FORK", "yes", 1);
    for (int i = 0; i < BYTES; i++) {
        want[i] = (unsigned char)(i * 7 + i / 256);
    }
    tcase_add_test(tcase, memory_of_another_process);
    tcase_add_test(tcase, handles_of_what_has_none);
    tcase_add_test(tcase, released_before_it_is_closed);
    tcase_add_test(tcase, what_stays_open_is_left);
    tcase_add_test(tcase, memory_of_another_device);
    tcase_add_test(tcase, devices_that_do_not_reach_each_other);
    return test_main(suite);
}
