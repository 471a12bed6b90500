/* SPDX-License-Identifier: BSD-3-Clause
 * tests/transport/device_errors.c - collectives on device memory that cannot be, or that fail:
 * wrong buffers, no device, no memory, an MPI that cannot, a device that breaks down.
 */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "runtime/transport/device/device.h"
#include "tests/transport/device_job.h"

static const tw_exec_t on_device = {.memory = TW_MEMORY_CUDA};

static tw_comm_t *logging_comm(const char *const *settings, t_log_t *log, tw_context_t **ctx_p)
{
    tw_comm_t *comm = device_comm(STAGED, settings, ctx_p);

    comm->log.fn  = t_log_take;
    comm->log.arg = log;
    return comm;
}

#define SAYS(log, line) T_CHECK(strstr((log).text, (line)) != NULL, "the log says: %s", (log).text)

static void wrong_buffers(void)
{
    static t_log_t log;
    const tw_how_t how = {.exec = &on_device};
    tw_context_t  *ctx;
    tw_comm_t     *comm    = logging_comm(NULL, &log, &ctx);
    float          host[4] = {0};
    void          *there   = NULL;

    T_OK(stub_device.allocate(TW_DEVICE_MEMORY, sizeof(host), &there));
    memset(stub_real(there), 0, sizeof(host));
    T_STATUS(tw_allreduce(comm, host, there, 4, TW_SUM, &how), TW_ERR_INVALID_ARG);
    T_STATUS(tw_allreduce(comm, there, host, 4, TW_SUM, NULL), TW_ERR_INVALID_ARG);
    SAYS(log, "a buffer is not memory of device 1");
    stub_current = 0;
    T_STATUS(tw_allreduce(comm, there, there, 4, TW_SUM, &how), TW_ERR_UNSUPPORTED);
    SAYS(log, "there is no device that works");
    stub_current = 2;
    T_STATUS(tw_allreduce(comm, TW_IN_PLACE, there, 4, TW_SUM, &how), TW_ERR_INVALID_ARG);
    SAYS(log, "device 2 is current");
    stub_current = 1;
    T_OK(tw_allreduce(comm, TW_IN_PLACE, there, 4, TW_SUM, &how));
    stub_device.release(TW_DEVICE_MEMORY, there);
    device_comm_done(comm, ctx);
}

/* No CUDA in the library, or no device here: one line says so. */
static void no_device(void)
{
    static t_log_t log;
    const tw_how_t how = {.exec = &on_device};
    tw_context_t  *ctx;
    tw_comm_t     *comm    = logging_comm(NULL, &log, &ctx);
    float          host[4] = {0};
    int            number;

    comm->device->ops = &tw_device_cuda;
    if (tw_device_cuda.current(&number) == TW_OK) {
        T_STATUS(tw_allreduce(comm, TW_IN_PLACE, host, 4, TW_SUM, &how), TW_ERR_INVALID_ARG);
    } else {
        T_STATUS(tw_allreduce(comm, TW_IN_PLACE, host, 4, TW_SUM, &how), TW_ERR_UNSUPPORTED);
        SAYS(log, "a call with device memory: ");
    }
    T_CHECK(!tw_device_cuda.owns(host, NULL) && !tw_device_cuda.owns(NULL, host),
            "host memory is no device's");
    T_OK(tw_allreduce(comm, TW_IN_PLACE, host, 4, TW_SUM, NULL));
    device_comm_done(comm, ctx);
}

/* The last rank has no device: all are told, in every form, whatever was agreed on before for host
 * memory, and it works when it has one. */
static void one_rank_without_a_device(void)
{
    static const tw_algorithm_t algorithms[] = {TW_ALGORITHM_AUTO, TW_ALGORITHM_DIRECT,
                                                TW_ALGORITHM_HIERARCHICAL, TW_ALGORITHM_MPI};
    static t_log_t              log;

    for (size_t i = 0; i < sizeof(algorithms) / sizeof(algorithms[0]); i++) {
        const tw_how_t on  = {.exec = &on_device, .algorithm = algorithms[i]};
        const tw_how_t off = {.algorithm = algorithms[i]};
        tw_context_t  *ctx;
        tw_comm_t     *comm    = logging_comm(NULL, &log, &ctx);
        float          host[4] = {0};
        void          *there   = NULL;
        tw_request_t  *plan    = NULL;

        T_OK(stub_device.allocate(TW_DEVICE_MEMORY, sizeof(host), &there));
        memset(stub_real(there), 0, sizeof(host));
        T_OK(tw_allreduce(comm, TW_IN_PLACE, host, 4, TW_SUM, &off));
        stub_current = t_rank == t_size - 1 ? 0 : 1;
        T_STATUS(tw_allreduce(comm, TW_IN_PLACE, there, 4, TW_SUM, &on), TW_ERR_UNSUPPORTED);
        SAYS(log, t_rank == t_size - 1 ? "there is no device that works"
                                       : "a rank cannot take part in this operation");
        T_STATUS(tw_allreduce_init(comm, TW_IN_PLACE, there, 4, TW_SUM, &on, &plan),
                 TW_ERR_UNSUPPORTED);
        stub_current = 1;
        T_OK(tw_allreduce(comm, TW_IN_PLACE, there, 4, TW_SUM, &on));
        stub_device.release(TW_DEVICE_MEMORY, there);
        device_comm_done(comm, ctx);
    }
}

/* A thread of the program whose current device is another one starts, advances and completes what
 * was made on device 1, and reads residuals that are there: its device is current afterwards. */
static void a_thread_with_another_device(void)
{
    static const tw_algorithm_t algorithms[] = {TW_ALGORITHM_TWO_PASS, TW_ALGORITHM_MPI};
    tw_context_t               *ctx;
    tw_comm_t                  *comm  = device_comm(STAGED, NULL, &ctx);
    float                      *first = t_malloc(5000 * sizeof(float));

    for (size_t i = 0; i < 2; i++) {
        t_shape_t          shape = {.kind      = i == 0 ? T_ALLREDUCE : T_BCAST,
                                    .spec      = i == 0 ? "tree8" : "fp32",
                                    .count     = 5000,
                                    .algorithm = algorithms[i]};
        tw_feedback_t     *fb    = NULL;
        t_model_feedback_t model;
        device_job_t       job;
        tw_request_t      *plan = NULL;

        t_model_feedback_open(&model, TW_F32, t_size, 5000);
        if (i == 0) {
            T_OK(tw_feedback_create(comm, "it", TW_F32, 5000, &fb));
        }
        device_job_open(&job, comm, &shape, 1, NULL, 1, fb, i == 0 ? &model : NULL);
        device_job_fill(&job, 0);
        T_OK(t_job_plan(&job.on, &plan));
        stub_current = 2;
        T_OK(tw_start(plan));
        T_OK(tw_wait(&plan));
        if (fb != NULL) {
            T_OK(tw_feedback_read(fb, first));
        }
        T_CHECK(stub_current == 2, "device %d is current", stub_current);
        stub_current = 1;
        device_job_check(&job);
        T_OK(tw_request_free(&plan));
        device_job_close(&job);
        tw_feedback_destroy(fb);
        t_model_feedback_close(&model);
    }
    free(first);
    stub_current = 2;
    device_comm_done(comm, ctx);
    stub_current = 1;
}

static void an_mpi_that_cannot(void)
{
    static const char *const direct[] = {"DEVICE_PATH=direct", NULL};
    static t_log_t           log;
    const tw_how_t           how = {.exec = &on_device};
    tw_context_t            *ctx;
    tw_comm_t               *comm  = logging_comm(direct, &log, &ctx);
    void                    *there = NULL;

    T_OK(stub_device.allocate(TW_DEVICE_MEMORY, 16, &there));
    T_STATUS(tw_allreduce(comm, TW_IN_PLACE, there, 4, TW_SUM, &how), TW_ERR_UNSUPPORTED);
    SAYS(log, "THINWIRE_DEVICE_PATH is direct");
    stub_device.release(TW_DEVICE_MEMORY, there);
    device_comm_done(comm, ctx);
}

/* The last rank has no device memory, or nothing to stage through: all ranks are told, and it works
 * again afterwards. */
static void memory_that_one_rank_lacks(void)
{
    t_shape_t      shape = {.kind  = T_ALLREDUCE,
                            .spec  = "tree8",
                            .count = 40000,
                            .algorithm =
                                TW_ALGORITHM_TWO_PASS}; /* named: nothing is asked of it before */
    static t_log_t log;

    for (int kind = TW_DEVICE_MEMORY; kind <= TW_DEVICE_PINNED; kind++) {
        tw_context_t *ctx;
        tw_comm_t    *comm = logging_comm(NULL, &log, &ctx);
        tw_request_t *plan = NULL;
        device_job_t  job;

        device_job_open(&job, comm, &shape, 1, NULL, 1, NULL, NULL);
        device_job_fill(&job, 0);
        if (t_rank == t_size - 1) {
            comm->device->pool[kind].limit = 1000;
        }
        T_STATUS(t_job_run(&job.on), TW_ERR_NO_MEMORY);
        T_STATUS(t_job_plan(&job.on, &plan), TW_ERR_NO_MEMORY);
        comm->device->pool[kind].limit = UINT64_MAX;
        T_OK(t_job_run(&job.on));
        device_job_check(&job);
        device_job_close(&job);
        device_comm_done(comm, ctx);
    }
    T_CHECK(t_log_holds(MPI_COMM_WORLD, &log, "device 1 has no"), "the log says: %s", log.text);
}

/* Work on the device that takes longer than the time limit is nobody's absence: no operation gives
 * up while its own device, which does nothing at first, is not done. */
static void work_longer_than_the_limit(void)
{
    static const tw_algorithm_t algorithms[] = {TW_ALGORITHM_TWO_PASS, TW_ALGORITHM_MPI};
    static t_log_t              log;
    tw_context_t               *ctx;
    tw_comm_t                  *comm = logging_comm(NULL, &log, &ctx);

    for (size_t i = 0; i < sizeof(algorithms) / sizeof(algorithms[0]); i++) {
        t_shape_t     shape = {.kind      = i == 0 ? T_ALLREDUCE : T_BCAST,
                               .spec      = i == 0 ? "tree8" : "fp32",
                               .count     = 3000,
                               .algorithm = algorithms[i]};
        device_job_t  job;
        tw_request_t *plan = NULL;
        double        start;
        int           done = 0;

        device_job_open(&job, comm, &shape, 1, NULL, 1, NULL, NULL);
        device_job_fill(&job, 0);
        T_OK(t_job_plan(&job.on, &plan));
        comm->config.timeout = 0.05;
        stub_diligence       = 0;
        T_OK(tw_start(plan));
        for (start = MPI_Wtime(); MPI_Wtime() - start < 0.15 && !done;) {
            T_OK(tw_test(&plan, &done));
        }
        T_CHECK(!done, "the device has not done its work");
        comm->config.timeout = 0.0; /* however late the other ranks are */
        stub_diligence       = 512;
        T_OK(tw_wait(&plan));
        device_job_check(&job);
        T_OK(tw_request_free(&plan));
        device_job_close(&job);
    }
    device_comm_done(comm, ctx);
}

/* The device of rank 0 fails in the middle: that rank says so, the others find out by the time
 * limit. What was under way is abandoned, so this is the last case. */
static void a_device_that_fails(void)
{
    static const char *const settings[] = {"TIMEOUT=1", "CHUNK=1k", NULL};
    static t_log_t           log;
    t_shape_t                shape = {.kind  = T_ALLREDUCE,
                                      .spec  = "tree8",
                                      .count = 9000,
                                      .algorithm = stub_shares && t_size == 4 ? TW_ALGORITHM_HIERARCHICAL
                                                                              : TW_ALGORITHM_AUTO};
    tw_context_t            *ctx;
    tw_comm_t               *comm = logging_comm(settings, &log, &ctx);
    device_job_t             job;

    device_job_open(&job, comm, &shape, 1, NULL, 1, NULL, NULL);
    device_job_fill(&job, 0);
    T_OK(t_job_run(&job.on));
    device_job_check(&job);
    stub_calls_left = t_rank == 0 ? 20 : 0;
    T_STATUS(t_job_run(&job.on), t_rank == 0 ? TW_ERR_IO : TW_ERR_TIMEOUT);
    T_CHECK(strstr(log.text, t_rank == 0 ? "device 1 failed" : "waiting for rank") != NULL,
            "the log says: %s", log.text);
    T_STATUS(t_job_run(&job.on), TW_ERR_DEAD);
    T_OK(tw_comm_destroy(comm));
    tw_context_destroy(ctx);
    MPI_Barrier(MPI_COMM_WORLD);
    t_job_close(&job.host);
}

static const t_case_t cases[] = {
    {"wrong buffers", wrong_buffers, 1},
    {"no device", no_device, 1},
    {"one rank without a device", one_rank_without_a_device, 2},
    {"a thread with another device", a_thread_with_another_device, 1},
    {"an MPI that cannot", an_mpi_that_cannot, 1},
    {"memory that one rank lacks", memory_that_one_rank_lacks, 1},
    {"work longer than the limit", work_longer_than_the_limit, 1},
    {"a device that fails", a_device_that_fails, 1},
};

T_MAIN(cases)
