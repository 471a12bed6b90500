/* SPDX-License-Identifier: BSD-3-Clause
 * tests/scheduler/device_buckets.c - buckets; see device_cases.h.
 */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>

#include <thinwire/buckets.h>

#include "runtime/transport/api/open.h"
#include "tests/scheduler/device_cases.h"

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
    place_t            place;
    float             *memory, *host; /* host: from which the device's copies come */
    size_t             size;          /* bytes */
    char               name[TENSORS][16];
    tw_bucket_tensor_t tensor[TENSORS];
} tensors_t;

static void make(tensors_t *t, size_t gap, bool device, void *stream)
{
    size_t at = 0;

    *t = (tensors_t){.place = {device, stream}};
    for (size_t i = 0; i < TENSORS; i++) {
        t->size += (counts[i] + gap) * sizeof(float);
    }
    t->host   = t_malloc(t->size);
    t->memory = device ? place_get(&t->place, t->size) : t->host;
    for (size_t i = 0; i < TENSORS; i++) {
        snprintf(t->name[i], sizeof(t->name[i]), "tensor%zu", i);
        t->tensor[i] =
            (tw_bucket_tensor_t){.name = t->name[i], .data = t->memory + at, .count = counts[i]};
        at += counts[i] + gap;
    }
}

static void unmake(tensors_t *t)
{
    if (t->place.device) {
        place_finish(&t->place);
        place_put(&t->place, t->memory);
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
    if (t->place.device) {
        place_copy(&t->place, there, here, counts[i] * sizeof(float));
    }
}

/* The sums of a step, as work of the caller's sees them; [TENSORS][MOST]. */
static void look(tensors_t *t, float *sums)
{
    for (size_t i = 0; i < TENSORS; i++) {
        place_copy(&t->place, sums + i * MOST, t->tensor[i].data, counts[i] * sizeof(float));
    }
    place_finish(&t->place);
}

static void train(tw_comm_t *comm, tensors_t *t, const tw_buckets_config_t *how, float *sums)
{
    tw_buckets_config_t config = *how;
    tw_exec_t           exec;
    tw_buckets_t       *b = NULL;

    config.exec = place_exec(&t->place, &exec);
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

        device_mood(run);
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

void buckets_staged(void)
{
    same_sums(STAGED);
}

void buckets_direct(void)
{
    same_sums(DIRECT);
}

/* Memory that is not what exec says, a device that fails on one rank, and one that is not there. */
void buckets_refused(void)
{
    static t_log_t      log;
    tw_exec_t           exec   = {.memory = TW_MEMORY_CUDA};
    tw_buckets_config_t config = {.exec = &exec};
    tw_buckets_t       *b      = NULL;
    tw_context_t       *ctx;
    tw_comm_t          *comm = device_logged(&log, &ctx);
    tensors_t           host, device;

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
    stub_current = t_rank == t_size - 1 ? 0 : 1; /* one alone */
    T_STATUS(tw_buckets_create(comm, &config, device.tensor, TENSORS, &b), TW_ERR_UNSUPPORTED);
    stub_current = 1;
    T_STATUS(tw_buckets_create(comm, &config, (t_rank == 0 ? &host : &device)->tensor, TENSORS, &b),
             TW_ERR_INVALID_ARG);
    if (t_size > 1) {
        config.exec = t_rank == 0 ? NULL : &exec;
        T_STATUS(
            tw_buckets_create(comm, &config, (t_rank == 0 ? &host : &device)->tensor, TENSORS, &b),
            TW_ERR_MISMATCH);
        T_CHECK(t_log_holds(MPI_COMM_WORLD, &log, "kinds of memory differ"), "%s", log.text);
    }
    unmake(&host);
    unmake(&device);
    device_comm_done(comm, ctx);
}

/* A bucket waits for nothing that the caller computes after it, though the host has run ahead and
 * made the next one ready: not all of that is done when its sum is there. One rank, so no time
 * passes. */
void buckets_independent(void)
{
    enum { LATER = 20000, N = 500 };
    const place_t       place     = {true, NULL};
    float              *memory    = place_get(&place, (2 * N + LATER) * sizeof(float));
    float              *ones      = place_get(&place, N * sizeof(float));
    tw_bucket_tensor_t  tensors[] = {{.name = "first", .data = memory, .count = N},
                                     {.name = "second", .data = memory + N, .count = N}};
    tw_exec_t           exec;
    tw_buckets_config_t config = {
        .codec = t_codec("tree8", TW_F32), .small = 1, .exec = place_exec(&place, &exec)};
    tw_context_t *ctx   = t_context();
    tw_comm_t    *comm  = NULL;
    tw_buckets_t *b     = NULL;
    size_t        later = 0;

    T_OK(tw_comm_create_with(ctx, &tw_mpi_default, MPI_COMM_SELF, &comm));
    comm->device->ops   = &stub_device;
    comm->device->aware = 0;
    stub_diligence      = 1024;
    memset(stub_real(memory), 0, (2 * N + LATER) * sizeof(float));
    memset(stub_real(ones), 0x3f, N * sizeof(float));
    T_OK(tw_buckets_create(comm, &config, tensors, 2, &b));
    place_copy(&place, memory, ones, N * sizeof(float));
    T_OK(tw_buckets_ready(b, 0));
    for (size_t i = 0; i < LATER; i++) {
        place_copy(&place, memory + 2 * N + i, ones, sizeof(float));
    }
    T_OK(tw_buckets_ready(b, 1));
    T_OK(tw_buckets_wait(b, 0));
    for (size_t i = 0; i < LATER; i++) {
        float x;

        memcpy(&x, stub_real(memory + 2 * N + i), sizeof(x));
        later += x != 0.0f;
    }
    T_CHECK(later < LATER, "the first bucket waited for the second");
    T_OK(tw_buckets_finish(b));
    tw_buckets_destroy(b);
    stub_diligence = 512;
    place_put(&place, memory);
    place_put(&place, ones);
    device_comm_done(comm, ctx);
}
