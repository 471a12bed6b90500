/* SPDX-License-Identifier: BSD-3-Clause
 * tests/gpu/standin/failures.c - a collective on device memory, of whose allocations each fails
 * once: all ranks are told, it works afterwards, and nothing is left. Then work fails on the
 * device. And what the driver is asked.
 */
#include "config.h"

#include <cuda_runtime_api.h>
#include <pthread.h>

#include "runtime/codec/owner.h"
#include "tests/gpu/standin/standin.h"
#include "tests/transport/device_job.h"

int cuDevicePrimaryCtxGetState(int dev, unsigned *flags, int *active);

static const char *const settings[] = {"CHUNK=1k", NULL};
static t_log_t           lines; /* they are meant */

static tw_comm_t *quiet_comm(tw_context_t **ctx_p)
{
    tw_comm_t *comm = device_comm(STAGED, settings, ctx_p);

    comm->log.fn  = t_log_take;
    comm->log.arg = &lines;
    return comm;
}

/* Does the n-th call fail, on the last rank, and are all told that? If there are that many. */
static int fails(const char *call, int n, cudaError_t error, tw_status_t told)
{
    const t_shape_t shape = {
        .kind = T_ALLREDUCE, .spec = "tree8", .count = 5000, .algorithm = TW_ALGORITHM_TWO_PASS};
    tw_context_t *ctx;
    tw_comm_t    *comm = quiet_comm(&ctx);
    device_job_t  job;
    tw_status_t   status;

    device_job_open(&job, comm, &shape, 1, NULL, 1, NULL, NULL);
    device_job_fill(&job, 0);
    if (t_rank == t_size - 1) {
        standin_fail(call, n, error, STANDIN_ONCE);
    }
    status = t_job_run(&job.on);
    standin_fail(NULL, 0, 0, STANDIN_ONCE);
    T_CHECK(status == TW_OK || status == told, "%s %d: %s", call, n, tw_status_text(status));
    if (status != TW_OK) {
        T_OK(t_job_run(&job.on));
    }
    device_job_check(&job);
    device_job_close(&job);
    device_comm_done(comm, ctx);
    T_CHECK(standin_findings() == 0, "%s", standin_finding());
    return status != TW_OK;
}

static void each_allocation_fails(void)
{
    static const char *const calls[] = {"cudaMalloc", "cudaMallocHost", "cudaStreamCreateWithFlags",
                                        "cudaEventCreateWithFlags"};

    for (size_t i = 0; i < sizeof(calls) / sizeof(calls[0]); i++) {
        int n = 1;

        while (fails(calls[i], n, cudaErrorMemoryAllocation, TW_ERR_NO_MEMORY) && n < 100) {
            n++;
        }
        T_CHECK(n > 1 && n < 100, "%s: %d calls", calls[i], n - 1);
        T_CHECK(fails(calls[i], 1, cudaErrorLaunchFailure, TW_ERR_IO), "%s does not fail",
                calls[i]);
    }
}

/* A handle that is not given, memory that cannot be opened, or none for the slots, on the last
 * rank: all ranks' elements go through the host instead, whoever had opened what. */
static void nothing_is_shared(void)
{
    static const char *const calls[]  = {"cudaIpcGetMemHandle", "cudaIpcOpenMemHandle",
                                         "cudaMalloc"};
    static const cudaError_t errors[] = {cudaErrorNotSupported, cudaErrorMapBufferObjectFailed,
                                         cudaErrorMemoryAllocation};
    const t_shape_t          shape    = {.kind      = T_ALLREDUCE,
                                         .spec      = "tree8",
                                         .count     = 5000,
                                         .algorithm = TW_ALGORITHM_HIERARCHICAL};

    for (size_t i = 0; i < sizeof(calls) / sizeof(calls[0]); i++) {
        for (int n = 1; n < (i == 1 ? t_size : 2); n++) {
            tw_context_t *ctx;
            tw_comm_t    *comm = quiet_comm(&ctx);
            device_job_t  job;

            t_note("%s %d", calls[i], n);
            device_job_open(&job, comm, &shape, 1, NULL, 1, NULL, NULL);
            device_job_fill(&job, 0);
            if (t_rank == t_size - 1) {
                standin_fail(calls[i], n, errors[i], STANDIN_ONCE);
            }
            T_OK(t_job_run(&job.on));
            standin_fail(NULL, 0, 0, STANDIN_ONCE);
            device_job_check(&job);
            device_job_fill(&job, 1);
            T_OK(t_job_run(&job.on));
            device_job_check(&job);
            T_CHECK(comm->device->slots.state == TW_NODE_ABSENT, "something is shared");
            device_job_close(&job);
            device_comm_done(comm, ctx);
        }
    }
    T_CHECK(standin_findings() == 0, "%s", standin_finding());
}

/* A kernel is started, and fails: the rank says so, and the communicator is dead. */
static void a_kernel_fails_late(void)
{
    const t_shape_t shape = {.kind = T_ALLREDUCE, .spec = "tree8", .count = 5000};
    tw_context_t   *ctx;
    tw_comm_t      *comm = quiet_comm(&ctx);
    device_job_t    job;

    device_job_open(&job, comm, &shape, 1, NULL, 1, NULL, NULL);
    device_job_fill(&job, 0);
    standin_fail("cudaLaunchKernel", 1, cudaErrorLaunchFailure, STANDIN_LATE);
    T_STATUS(t_job_run(&job.on), TW_ERR_IO);
    T_STATUS(t_job_run(&job.on), TW_ERR_DEAD);
    T_OK(tw_comm_destroy(comm));
    tw_context_destroy(ctx);
    t_job_close(&job.host);
}

/* A thread that has named no device yet, so that 0 is current. */
static void *fresh_thread(void *before_p)
{
    const int mine = t_rank % 3;
    int       device;

    T_OK(tw_device_cuda.use(mine, before_p));
    T_OK(tw_device_cuda.current(&device));
    T_CHECK(device == mine, "device %d is current, not %d", device, mine);
    return NULL;
}

/* A device is current again afterwards, unless that would start it: 0 is another rank's. */
static void a_device_that_is_not_started(void)
{
    int       devices = 0, before = -2;
    unsigned  flags;
    int       active = 1;
    pthread_t thread;

    T_CHECK(cudaGetDeviceCount(&devices) == cudaSuccess, "%d devices", devices);
    if (devices < 3) {
        t_skip("fewer than three devices");
        return;
    }
    T_CHECK(pthread_create(&thread, NULL, fresh_thread, &before) == 0, "no thread");
    pthread_join(thread, NULL);
    T_CHECK(before == -1, "device %d is to be made current again", before);
    T_CHECK(cuDevicePrimaryCtxGetState(0, &flags, &active) == 0 && !active, "device 0 was started");
    T_OK(tw_device_cuda.use(1, &before));
    T_OK(tw_device_cuda.use(2, &before));
    T_CHECK(before == 1, "device %d was current, not 1", before);
    T_OK(tw_device_cuda.use(2, &before));
    T_CHECK(before == -1, "device %d was current, not 2", before);
}

static void memory_is(const void *p, tw_owner_t owner, const char *what)
{
    const tw_owner_t is = tw_owner_of(p);

    T_CHECK(is == owner, "%s: %d, not %d", what, (int)is, (int)owner);
    T_CHECK(standin_objects_of("retained contexts") == 0 &&
                standin_objects_of("pushed contexts") == 0,
            "%s: a context is left", what);
}

static void *thread_without_context(void *p)
{
    memory_is(&p, TW_OWNER_HOST, "memory of the host, without a context");
    memory_is(p, TW_OWNER_CUDA, "memory of the device, without a context");
    return NULL;
}

/* Device 0 is not started yet, nor is it by the question. */
static void whose_memory_without_a_context(void)
{
    void     *memory = NULL, *context = NULL;
    unsigned  flags  = 0;
    int       active = 1;
    pthread_t thread;

    memory_is(&flags, TW_OWNER_HOST, "memory of the host, device 0 not being started");
    T_CHECK(cuDevicePrimaryCtxGetState(0, &flags, &active) == 0 && !active, "device 0 was started");
    T_OK(tw_device_cuda.allocate(TW_DEVICE_MEMORY, 100, &memory));
    memory_is(&flags, TW_OWNER_HOST, "memory of the host");
    memory_is(memory, TW_OWNER_CUDA, "memory of the device");
    T_CHECK(pthread_create(&thread, NULL, thread_without_context, memory) == 0, "no thread");
    pthread_join(thread, NULL);
    standin_fail("cuPointerGetAttribute", 1, cudaErrorInvalidValue,
                 STANDIN_ONCE); /* as of a pool's */
    T_OK(tw_device_cuda.context(memory, &context));
    memory_is(memory, TW_OWNER_CUDA, "memory of no context");
    T_OK(tw_device_cuda.push(context));
    tw_device_cuda.pop();
    tw_device_cuda.release(TW_DEVICE_MEMORY, memory);
    T_CHECK(standin_findings() == 0, "%s", standin_finding());
}

static const t_case_t cases[] = {
    {"a device that is not started", a_device_that_is_not_started, 1},
    {"whose memory, without a context", whose_memory_without_a_context, 1},
    {"each allocation fails", each_allocation_fails, 1},
    {"nothing is shared", nothing_is_shared, 1},
    {"a kernel fails late", a_kernel_fails_late, 1},
};

T_MAIN(cases)
