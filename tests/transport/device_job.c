/* SPDX-License-Identifier: BSD-3-Clause
 * tests/transport/device_job.c - jobs in the stub device's memory.
 */
#include "config.h"

#include <string.h>

#include "runtime/transport/api/open.h"
#include "tests/transport/device_job.h"

#define MARGIN 96 /* bytes before and behind a buffer that must not change */

tw_comm_t *device_comm(path_t path, const char *const *settings, tw_context_t **ctx_p)
{
    const tw_mpi_ops_t *mpi  = path == DIRECT ? stub_mpi() : &tw_mpi_default;
    tw_comm_t          *comm = NULL;

    stub_seed = t_seed + (uint64_t)t_rank;
    t_settings_put(settings);
    *ctx_p = t_context();
    T_OK(tw_comm_create_with(*ctx_p, mpi, MPI_COMM_WORLD, &comm));
    t_settings_take_out(settings);
    comm->device->ops   = &stub_device;
    comm->device->aware = path == DIRECT;
    if (comm->config.progress == TW_PROGRESS_THREAD) {
        T_OK(tw_comm_start_progress(comm));
    }
    return comm;
}

void device_comm_done(tw_comm_t *comm, tw_context_t *ctx)
{
    t_comm_done(comm, ctx);
    T_CHECK(stub_objects == 0, "%d objects of the device are left", stub_objects);
}

/* ---- buffers -------------------------------------------------------------------------------- */

static void *buffer(size_t bytes, size_t misalign, unsigned char **data_p)
{
    void *base = NULL;

    T_OK(stub_device.allocate(TW_DEVICE_MEMORY, bytes + 64 + 2 * MARGIN, &base));
    memset(stub_real(base), 0x5a, bytes + 64 + 2 * MARGIN);
    *data_p = (unsigned char *)base + MARGIN + misalign;
    return base;
}

static void buffer_check(const void *base, const unsigned char *data, size_t bytes)
{
    const unsigned char *real   = stub_real(base);
    const size_t         before = (size_t)(data - (const unsigned char *)base);
    int                  intact = 1;

    for (size_t i = 0; i < bytes + 64 + 2 * MARGIN; i++) {
        intact &= (i >= before && i < before + bytes) || real[i] == 0x5a;
    }
    T_CHECK(intact, "something wrote outside its device buffer of %zu bytes", bytes);
}

void device_job_open(device_job_t *job, tw_comm_t *comm, const t_shape_t *shape, int on_device,
                     void *stream, int say, tw_feedback_t *feedback, t_model_feedback_t *model)
{
    memset(job, 0, sizeof(*job));
    t_job_open(&job->host, comm, shape, feedback, model);
    job->on        = job->host;
    job->on_device = on_device;
    if (!on_device) {
        return;
    }
    if (job->host.send != NULL) {
        job->send = buffer(job->host.send_span * job->host.element, shape->misalign, &job->on.send);
    }
    if (job->host.recv != NULL) {
        job->recv = buffer(job->host.recv_span * job->host.element, shape->misalign, &job->on.recv);
    }
    if (say) {
        job->on.exec     = (tw_exec_t){.memory = TW_MEMORY_CUDA, .stream = stream};
        job->on.how.exec = &job->on.exec;
        t_job_ask(&job->host, &job->on); /* may go another way than host memory */
    } else {
        job->on.how.exec = NULL;
    }
}

void device_job_fill(device_job_t *job, uint64_t round)
{
    t_job_fill(&job->host, round);
    if (job->send != NULL) {
        memcpy(stub_real(job->on.send), job->host.send, job->host.send_span * job->host.element);
    }
    if (job->recv != NULL) {
        memcpy(stub_real(job->on.recv), job->host.recv, job->host.recv_span * job->host.element);
    }
}

void device_job_check(device_job_t *job)
{
    const size_t send = job->host.send_span * job->host.element;
    const size_t recv = job->host.recv_span * job->host.element;

    if (job->send != NULL) {
        memcpy(job->host.send, stub_real(job->on.send), send);
        buffer_check(job->send, job->on.send, send);
    }
    if (job->recv != NULL) {
        memcpy(job->host.recv, stub_real(job->on.recv), recv);
        buffer_check(job->recv, job->on.recv, recv);
    }
    t_job_check(&job->host);
}

void device_job_close(device_job_t *job)
{
    if (job->send != NULL) {
        stub_device.release(TW_DEVICE_MEMORY, job->send);
    }
    if (job->recv != NULL) {
        stub_device.release(TW_DEVICE_MEMORY, job->recv);
    }
    t_job_close(&job->host);
}

void device_job_once(tw_comm_t *comm, const t_shape_t *shape, int on_device, void *stream, int say)
{
    device_job_t job;

    t_shape_note(shape);
    device_job_open(&job, comm, shape, on_device, stream, say, NULL, NULL);
    device_job_fill(&job, 0);
    T_OK(t_job_run(&job.on));
    device_job_check(&job);
    device_job_close(&job);
}

void device_shape_random(t_shape_t *shape, uint64_t *random, size_t max)
{
    do {
        t_shape_random(shape, random, t_size, max);
    } while (t_is_half(shape->dtype));
    shape->threads = 0;
}

void device_shape(t_shape_t *shape, t_op_t kind, size_t i)
{
    *shape = (t_shape_t){.kind      = kind,
                         .count     = i % 5 == 0 ? 1 : 700 + 613 * (i % 3),
                         .in_place  = (int)(i / 2 % 2),
                         .root      = (int)(i % (size_t)t_size),
                         .reduction = (tw_reduction_t)(i % TW_REDUCTION_ROWS),
                         .gap       = i % 2 == 0 ? 3 : 0,
                         .misalign  = i * 4 % 32,
                         .flags     = kind == T_BCAST && i % 2 == 0 ? TW_BCAST_SAME : 0,
                         .seed      = t_seed + i};
    if (kind == T_ALLREDUCE || kind == T_REDUCE) {
        shape->algorithm = (tw_algorithm_t)(i % (TW_ALGORITHM_GRID + 1));
    }
    for (int r = 0; r < t_size * t_size; r++) {
        const size_t from = (size_t)(r / t_size), to = (size_t)(r % t_size);

        shape->counts[from][to] =
            (from * to * 7 + from + to + i) % 5 * 300; /* symmetric: in place */
    }
}
