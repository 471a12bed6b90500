/* SPDX-License-Identifier: BSD-3-Clause
 * tests/gpu/standin/failures.c - a collective on device memory, of whose allocations each fails once: all ranks are
 * told, it works afterwards, and nothing is left. Then work fails on the device.
 */
#include "config.h"

#include <cuda_runtime_api.h>

#include "tests/gpu/standin/standin.h"
#include "tests/transport/device_job.h"

static const char *const settings[] = {"CHUNK=1k", NULL};
static t_log_t           lines; /* they are meant */

static tw_comm_t *quiet_comm(tw_context_t **ctx_p)
{
    tw_comm_t *comm = device_comm(STAGED, settings, ctx_p);

    comm->log.fn  = t_log_take;
    comm->log.arg = &lines;
    return comm;
}

/* Does the n-th call fail, on the last rank or everywhere? If there are that many. */
static int fails(const char *call, int n, int everywhere)
{
    const t_shape_t shape = {
        .kind = T_ALLREDUCE, .spec = "tree8", .count = 5000, .algorithm = TW_ALGORITHM_TWO_PASS};
    tw_context_t *ctx;
    tw_comm_t    *comm = quiet_comm(&ctx);
    device_job_t  job;
    tw_status_t   status;

    device_job_open(&job, comm, &shape, 1, NULL, 1, NULL, NULL);
    device_job_fill(&job, 0);
    if (everywhere || t_rank == t_size - 1) {
        standin_fail(call, n, cudaErrorMemoryAllocation, STANDIN_ONCE);
    }
    status = t_job_run(&job.on);
    standin_fail(NULL, 0, 0, STANDIN_ONCE);
    T_CHECK(status == TW_OK || status == TW_ERR_NO_MEMORY, "%s %d: %s", call, n,
            tw_status_text(status));
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
        const int everywhere = i == 2; /* streams are made before ranks agree on anything */
        int       n          = 1;

        while (fails(calls[i], n, everywhere) && n < 100) {
            n++;
        }
        T_CHECK(n > 1 && n < 100, "%s: %d calls", calls[i], n - 1);
    }
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

static const t_case_t cases[] = {
    {"each allocation fails", each_allocation_fails, 1},
    {"a kernel fails late", a_kernel_fails_late, 1},
};

T_MAIN(cases)
