/* SPDX-License-Identifier: BSD-3-Clause
 * tests/scheduler/device.c - schedulers on device memory, with a stub for a device (tests/transport): its
 * work is done late, in an order drawn by lot, so that what does not wait for the right thing has bytes
 * that are not there yet. Results must be those of host memory, bit for bit.
 */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <thinwire/buckets.h>

#include "tests/transport/device_job.h"

#define TENSORS 6
#define STEPS   3
#define MOST    6007

static const size_t counts[TENSORS] = {10, 6007, 0, 64, 2304, 1500};

static const char *const small_fragments[] = {"CHUNK=1k", "WINDOW=3", NULL};

static float value(size_t tensor, size_t i, int step)
{
    const uint64_t x =
        t_mix(t_seed + (uint64_t)t_rank * 1000003u + tensor * 10007u + i + (uint64_t)step * 77);

    return (float)(x % 2001) / 64.0f - 15.0f;
}

/* Tensors one after another, `gap` elements apart, in memory of the device or of the host. */
typedef struct tensors {
    bool               device;
    void              *stream;
    float             *memory, *host; /* host: from which the device's copies come */
    size_t             size;          /* bytes */
    char               name[TENSORS][16];
    tw_bucket_tensor_t tensor[TENSORS];
} tensors_t;

static void make(tensors_t *t, size_t gap, bool device, void *stream)
{
    size_t at = 0;

    *t = (tensors_t){.device = device, .stream = stream};
    for (size_t i = 0; i < TENSORS; i++) {
        t->size += (counts[i] + gap) * sizeof(float);
    }
    t->host   = t_malloc(t->size);
    t->memory = t->host;
    if (device) {
        void *p = NULL;

        T_OK(stub_device.allocate(TW_DEVICE_MEMORY, t->size, &p));
        t->memory = p;
    }
    for (size_t i = 0; i < TENSORS; i++) {
        snprintf(t->name[i], sizeof(t->name[i]), "tensor%zu", i);
        t->tensor[i] = (tw_bucket_tensor_t){t->name[i], t->memory + at, counts[i], NULL};
        at += counts[i] + gap;
    }
}

static void unmake(tensors_t *t)
{
    if (t->device) {
        T_OK(stub_device.finish(t->stream));
        stub_device.release(TW_DEVICE_MEMORY, t->memory);
    }
    free(t->host);
}

/* A gradient is computed: on a device some time later. */
static void compute(tensors_t *t, size_t i, int step)
{
    float *there = t->tensor[i].data, *here = t->host + (there - t->memory);

    for (size_t k = 0; k < counts[i]; k++) {
        here[k] = value(i, k, step);
    }
    if (t->device && counts[i] > 0) {
        T_OK(stub_device.copy(there, here, counts[i] * sizeof(float), t->stream));
    }
}

/* The sums of a step, as work of the caller's sees them; [TENSORS][MOST]. */
static void look(tensors_t *t, float *sums)
{
    for (size_t i = 0; i < TENSORS; i++) {
        if (t->device && counts[i] > 0) {
            T_OK(stub_device.copy(sums + i * MOST, t->tensor[i].data, counts[i] * sizeof(float),
                                  t->stream));
        } else {
            memcpy(sums + i * MOST, t->tensor[i].data, counts[i] * sizeof(float));
        }
    }
    if (t->device) {
        T_OK(stub_device.finish(t->stream));
    }
}

static void train(tw_comm_t *comm, tensors_t *t, const tw_buckets_config_t *how, float *sums)
{
    tw_buckets_config_t config = *how;
    tw_exec_t           exec   = {.memory = TW_MEMORY_CUDA, .stream = t->stream};
    tw_buckets_t       *b      = NULL;

    config.exec = t->device ? &exec : NULL;
    T_OK(tw_buckets_create(comm, &config, t->tensor, TENSORS, &b));
    for (int step = 0; step < STEPS; step++) {
        for (size_t i = 0; i < TENSORS; i++) {
            compute(t, i, step);
            T_OK(tw_buckets_ready(b, i));
            T_OK(tw_buckets_advance(b));
        }
        T_OK(tw_buckets_finish(b));
        look(t, sums + (size_t)step * TENSORS * MOST);
    }
    tw_buckets_destroy(b);
}

/* ---- buckets --------------------------------------------------------------------------------- */

static void same_sums(path_t path)
{
    static const char *const specs[] = {"fp32", "bitpack:2", "tree8:block=64", "onebit:block=64"};
    static const int         moods[] = {1024, 300, 20};
    const size_t             all     = (size_t)STEPS * TENSORS * MOST;
    float                   *sums[2] = {calloc(all, sizeof(float)), calloc(all, sizeof(float))};
    void                    *stream  = NULL;
    tw_context_t            *ctx;
    tw_comm_t               *comm = device_comm(path, small_fragments, &ctx);

    T_CHECK(sums[0] != NULL && sums[1] != NULL, "out of memory");
    T_OK(stub_device.stream_create(&stream));
    for (int run = 0; run < 8; run++) {
        const size_t        gap    = run < 4 ? 0 : 3;
        const tw_codec_t   *codec  = t_codec(specs[run % 4], TW_F32);
        tw_buckets_config_t config = {
            .codec = codec, .bytes = run % 3 == 0 ? 0 : 8000, .small = 65};
        tensors_t t;

        stub_diligence = moods[(run + t_rank) % 3];
        for (int device = 0; device < 2; device++) {
            make(&t, gap, device, run % 2 == 0 ? stream : NULL);
            train(comm, &t, &config, sums[device]);
            unmake(&t);
        }
        T_CHECK(memcmp(sums[0], sums[1], all * sizeof(float)) == 0,
                "%s, %zu elements apart: sums in device memory are not those in host memory",
                specs[run % 4], gap);
    }
    stub_diligence = 512;
    stub_device.stream_destroy(stream);
    device_comm_done(comm, ctx);
    free(sums[0]);
    free(sums[1]);
}

static void buckets_staged(void)
{
    same_sums(STAGED);
}

static void buckets_direct(void)
{
    same_sums(DIRECT);
}

#define SAYS(log, line) T_CHECK(strstr((log).text, (line)) != NULL, "the log says: %s", (log).text)

/* Memory that is not what exec says, a device that fails on one rank, and one that is not there. */
static void refused(void)
{
    static t_log_t      log;
    tw_exec_t           exec   = {.memory = TW_MEMORY_CUDA};
    tw_buckets_config_t config = {.exec = &exec};
    tw_buckets_t       *b      = NULL;
    tw_context_t       *ctx;
    tw_comm_t          *comm = device_comm(STAGED, NULL, &ctx);
    tensors_t           host, device;

    comm->log.fn  = t_log_take;
    comm->log.arg = &log;
    make(&host, 0, false, NULL);
    make(&device, 0, true, NULL);
    T_STATUS(tw_buckets_create(comm, &config, host.tensor, TENSORS, &b), TW_ERR_INVALID_ARG);
    SAYS(log, "tensor 'tensor0' is not memory of the device");
    config.exec = NULL;
    T_STATUS(tw_buckets_create(comm, &config, device.tensor, TENSORS, &b), TW_ERR_INVALID_ARG);
    SAYS(log, "tensor 'tensor0' is device memory; exec must say TW_MEMORY_CUDA");
    config.exec     = &exec;
    stub_calls_left = t_rank == t_size - 1 ? 1 : 0;
    T_STATUS(tw_buckets_create(comm, &config, device.tensor, TENSORS, &b), TW_ERR_IO);
    stub_calls_left = 0;
    stub_current    = 0;
    T_STATUS(tw_buckets_create(comm, &config, device.tensor, TENSORS, &b), TW_ERR_UNSUPPORTED);
    SAYS(log, "there is no device that works");
    stub_current = 1;
    unmake(&host);
    unmake(&device);
    device_comm_done(comm, ctx);
}

static const t_case_t cases[] = {
    {"buckets of device memory, staged", buckets_staged, 1},
    {"buckets of device memory, directly", buckets_direct, 1},
    {"buckets of other memory than exec says", refused, 1},
};

T_MAIN(cases)
