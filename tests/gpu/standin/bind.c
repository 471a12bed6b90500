/* SPDX-License-Identifier: BSD-3-Clause
 * tests/gpu/standin/bind.c - ranks and their devices by the library's own code for CUDA: what each
 * takes of what CUDA shows it, and every way in which there is none. Each failure is on one rank
 * alone: with a number that rank says why in one line and all leave; with auto it goes on without;
 * for all or none all do, and know why. No rank waits, and no current device changes.
 *
 * On the stand-in GPU n has bus n + 1, so GPUs 2 to 5 are the first four of tests/topology/s4.xml.
 */
#include "config.h"

#include <cuda_runtime_api.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/gpu/standin/standin.h"
#include "tests/transport/made_up.h"

#define GPUS 8

static int gpus(void)
{
    return atoi(getenv("STANDIN_DEVICES"));
}

static void expect_current(int device)
{
    int current = -1;

    t_expect("cudaGetDevice()", (uint64_t)cudaGetDevice(&current), (uint64_t)cudaSuccess);
    t_expect("the current device", (uint64_t)current, (uint64_t)device);
}

static tw_comm_t *begin(tw_context_t **ctx_p, int count, const char *visible)
{
    if (visible != NULL) {
        setenv("CUDA_VISIBLE_DEVICES", visible, 1);
    } else {
        unsetenv("CUDA_VISIBLE_DEVICES");
    }
    standin_machine(count, visible, CUDART_VERSION);
    made_table = &tw_device_cuda;
    return open_comm(ctx_p);
}

static void end(tw_comm_t *comm, tw_context_t *ctx)
{
    unsetenv("CUDA_VISIBLE_DEVICES");
    standin_fail(NULL, 0, 0, STANDIN_ONCE);
    close_comm(comm, ctx);
}

/* ---- who takes which
 * --------------------------------------------------------------------------- */

/* auto: device_of GPU gpu_of; shared: do some ranks have the same? */
static void takes(const char *visible, int device, int gpu, int shared)
{
    const tw_place_t *place = NULL;
    tw_context_t     *ctx;
    tw_comm_t        *comm = begin(&ctx, GPUS, visible);
    int               got  = -7;

    T_OK(tw_comm_bind_device(comm, TW_BIND_AUTO, &got, NULL, 0));
    t_expect("device", (uint64_t)got, (uint64_t)device);
    if (device >= 0) {
        expect_current(device);
    }
    T_OK(tw_comm_place(comm, NULL, &place));
    t_expect("GPU", (uint64_t)place->gpu, (uint64_t)gpu);
    t_expect("lines", t_over_all((uint64_t)lines), (uint64_t)(shared || device < 0 ? 1 : 0));
    end(comm, ctx);
}

static void lists(void)
{
    char text[64];

    t_within("all see four");
    takes("2,3,4,GPU-00000005", t_rank % 4, t_rank % 4, t_size > 4);
    t_within("in another order");
    takes("5,4,3,2", t_rank % 4, 3 - t_rank % 4, t_size > 4);
    t_within("Slurm shows each its own");
    snprintf(text, sizeof(text), "%d", 2 + (t_rank + 1) % 4);
    takes(text, 0, (t_rank + 1) % 4, t_size > 4);
    t_within("each its own by UUID");
    snprintf(text, sizeof(text), "GPU-%08x", 2 + t_rank % 4);
    takes(text, 0, t_rank % 4, t_size > 4);
    t_within("the same of two for all");
    takes("3,2", t_rank % 2, 1 - t_rank % 2, t_size > 2);
    t_within("parts of one GPU");
    snprintf(text, sizeof(text), "MIG-GPU-00000003/%d/0", t_rank);
    takes(text, 0, 1, 0);
    t_within("one part for all");
    takes("MIG-GPU-00000003/1/0", 0, 1, t_size > 1);
}

static void none_visible(void)
{
    static const char *const texts[] = {"", "-1", "NoDevFiles", "9", "2,2"};

    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
        tw_context_t *ctx;
        tw_comm_t    *comm = begin(&ctx, GPUS, texts[i]);
        char          why[TW_BIND_WHY];
        int           device = -7;

        t_within("CUDA_VISIBLE_DEVICES='%s'", texts[i]);
        T_OK(tw_comm_bind_device(comm, TW_BIND_AUTO, &device, why, sizeof(why)));
        t_expect("device", (uint64_t)device, (uint64_t)-1);
        t_expect("why", strcmp(why, "CUDA sees no device") == 0, 1);
        end(comm, ctx);
    }
}

/* ---- none can be had
 * --------------------------------------------------------------------------- */

static const struct failure {
    const char *call; /* that fails; NULL: the driver is of this version */
    int         error;
    tw_status_t status;
    const char *says;
} failures[] = {
    {NULL, 0, TW_ERR_UNSUPPORTED, "there is no CUDA driver"},
    {NULL, 12040, TW_ERR_UNSUPPORTED,
     "the driver is too old: it is for CUDA 12.4, thinwire for 13.0"},
    {"cudaGetDeviceCount", cudaErrorNoDevice, TW_ERR_UNSUPPORTED, "CUDA sees no device"},
    {"cudaInitDevice", cudaErrorDevicesUnavailable, TW_ERR_BUSY,
     "is busy, or another process has it alone"},
    {"cudaInitDevice", cudaErrorDeviceAlreadyInUse, TW_ERR_BUSY,
     "another process has it alone (compute mode)"},
    {"cudaInitDevice", cudaErrorMemoryAllocation, TW_ERR_NO_MEMORY, "has no memory left"},
};

static bool on_last(void)
{
    return t_rank == t_size - 1;
}

static void prepare(const struct failure *f)
{
    standin_machine(gpus(), NULL, f->call == NULL && on_last() ? f->error : CUDART_VERSION);
    if (f->call != NULL && on_last()) {
        standin_fail(f->call, 1, f->error, STANDIN_ONCE);
    }
    lines   = 0;
    last[0] = '\0';
}

/* What is current after a failure, where the driver can be asked. */
static void expect_first(const struct failure *f)
{
    if (f->call != NULL || !on_last()) {
        expect_current(0);
    }
}

static void number(tw_comm_t *comm, const struct failure *f)
{
    const int wished = gpus() - 1;
    char      by[64];
    int       device = -7;

    prepare(f);
    T_STATUS(tw_comm_bind_device(comm, wished, &device, NULL, 0), f->status);
    snprintf(by, sizeof(by), "device %d: ", wished);
    t_expect("device", (uint64_t)device, (uint64_t)-7);
    if (t_rank > 0) { /* who says that ranks share a device */
        t_expect("a line on this rank", (uint64_t)lines, on_last());
    }
    t_expect("what was wrong", strstr(last, f->says) != NULL && strncmp(last, by, strlen(by)) == 0,
             on_last());
    t_expect("what is accepted", strstr(last, "; accepted: auto") != NULL, on_last());
    expect_first(f);
}

static void automatic(tw_comm_t *comm, const struct failure *f)
{
    char why[TW_BIND_WHY];
    int  device = -7;

    prepare(f);
    T_OK(tw_comm_bind_device(comm, TW_BIND_AUTO, &device, why, sizeof(why)));
    t_expect("device", (uint64_t)device, (uint64_t)(on_last() ? -1 : t_rank % gpus()));
    t_expect("why", strstr(why, f->says) != NULL, on_last());
    t_expect("says so", strstr(last, "; computing on the processor") != NULL, on_last());
    if (!on_last()) {
        expect_current(device);
    }
}

static void all_or_none(tw_comm_t *comm, const struct failure *f)
{
    char why[TW_BIND_WHY], by[32];
    int  device = -7;

    prepare(f);
    T_OK(tw_comm_bind_device(comm, TW_BIND_ALIKE, &device, why, sizeof(why)));
    snprintf(by, sizeof(by), "rank %d: ", t_size - 1);
    t_expect("device", (uint64_t)device, (uint64_t)-1);
    t_expect("why", strstr(why, f->says) != NULL && strncmp(why, by, strlen(by)) == 0, 1);
    t_expect("nothing is current", standin_objects() == 0, 1);
    expect_first(f);
}

static void none_on_one_rank(void)
{
    tw_context_t *ctx;
    tw_comm_t    *comm = begin(&ctx, gpus(), NULL);

    for (size_t i = 0; i < sizeof(failures) / sizeof(failures[0]); i++) {
        t_within("%s %d", failures[i].call != NULL ? failures[i].call : "driver",
                 failures[i].error);
        number(comm, &failures[i]);
        automatic(comm, &failures[i]);
        all_or_none(comm, &failures[i]);
    }
    T_OK(tw_comm_status(comm));
    end(comm, ctx);
}

/* The device starts, and cannot be made the current one: all have the one before again. The only
 * one is current already. */
static void not_current(void)
{
    tw_context_t *ctx;
    tw_comm_t    *comm;
    int           device = -7;

    if (gpus() == 1) {
        return;
    }
    comm = begin(&ctx, gpus(), NULL);
    if (on_last()) {
        standin_fail("cudaSetDevice", 1, cudaErrorDevicesUnavailable, STANDIN_ONCE);
    }
    T_STATUS(tw_comm_bind_device(comm, gpus() - 1, &device, NULL, 0), TW_ERR_UNSUPPORTED);
    t_expect("says so", strstr(last, "does not make device") != NULL, on_last());
    expect_current(0);
    end(comm, ctx);
}

/* A bus that cannot be told, and a communicator that THINWIRE_DEVICE makes or does not make. */
static void by_setting(void)
{
    tw_context_t *ctx;
    tw_comm_t    *comm = begin(&ctx, gpus(), NULL), *other = NULL;
    char          text[64];

    setenv("THINWIRE_DEVICE", "auto", 1);
    for (int i = 0; i < 2; i++) { /* no driver: a line, not one for each communicator */
        standin_machine(gpus(), NULL, 0);
        T_OK(tw_comm_create(ctx, MPI_COMM_WORLD, &other));
        T_OK(tw_comm_destroy(other));
        t_expect("lines", (uint64_t)lines, 1);
    }
    standin_machine(gpus(), NULL, CUDART_VERSION);
    standin_fail("cudaDeviceGetPCIBusId", 1, cudaErrorInvalidDevice, STANDIN_ONCE);
    T_OK(tw_comm_create(ctx, MPI_COMM_WORLD, &other));
    T_OK(tw_comm_destroy(other));
    expect_current(t_rank % gpus());
    standin_machine(gpus(), NULL, CUDART_VERSION);
    lines = 0;
    snprintf(text, sizeof(text), "%d", on_last() ? gpus() + 3 : 0);
    setenv("THINWIRE_DEVICE", text, 1);
    T_STATUS(tw_comm_create(ctx, MPI_COMM_WORLD, &other), TW_ERR_SETTING);
    snprintf(text, sizeof(text), "accepted: auto, none, 0 to %d", gpus() - 1);
    t_expect("what is accepted", strstr(last, text) != NULL, on_last());
    expect_current(0);
    standin_fail("cudaInitDevice", 1, cudaErrorMemoryAllocation, STANDIN_ONCE);
    setenv("THINWIRE_DEVICE", "0", 1);
    T_STATUS(tw_comm_create(ctx, MPI_COMM_WORLD, &other), TW_ERR_NO_MEMORY);
    unsetenv("THINWIRE_DEVICE");
    end(comm, ctx);
}

static const t_case_t cases[] = {
    {"lists", lists, 1},
    {"none is visible", none_visible, 1},
    {"none on one rank", none_on_one_rank, 1},
    {"not current", not_current, 1},
    {"by setting", by_setting, 1},
};

T_MAIN(cases)
