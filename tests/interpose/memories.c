/* SPDX-License-Identifier: BSD-3-Clause
 * tests/interpose/memories.c - what is special about device memory (memory.h): results are the same
 * bits in any memory, on each rank its own; what the default stream is still doing is done first;
 * the device that is current stays so; where nothing is sent or received any address may stand.
 */
#include "config.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/interpose/job.h"

#define CALLS  60
#define FLOATS 5000

static void run(t_job_t *job, const t_place_t *place, const t_call_t *call, const char *memory)
{
    MPI_Request request = MPI_REQUEST_NULL;

    setenv("TW_MEMORY", memory, 1);
    t_job_open(job, place, call);
    T_OK(t_job_issue(job, &request));
    if (call->form == T_PERSISTENT) {
        T_OK(MPI_Start(&request));
    }
    T_OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
    if (request != MPI_REQUEST_NULL) {
        T_OK(MPI_Request_free(&request));
    }
}

static void same_bits(void)
{
    const t_place_t   place    = t_place(MPI_COMM_WORLD, "world");
    const char *const kinds[]  = {"device", "mixed"};
    uint64_t          shared   = t_next_seed();
    const char *const as_it_is = getenv("TW_MEMORY");
    char              before[16];

    snprintf(before, sizeof(before), "%s", as_it_is != NULL ? as_it_is : "host");
    t_layouts_make();
    t_operations_make();
    for (int i = 0; i < CALLS; i++) {
        t_call_t call;
        t_job_t  host, other;

        t_call_draw(&call, &place, t_random(&shared), 3000, t_below(&shared, 2) == 0);
        t_note("%s %s, %d units", t_form_names[call.form], t_op_names[call.op], call.units);
        run(&host, &place, &call, "host");
        run(&other, &place, &call, kinds[i % 2]);
        T_CHECK(memcmp(host.recv.memory, other.recv.memory, host.recv.bytes) == 0 &&
                    memcmp(host.send.memory, other.send.memory, host.send.bytes) == 0,
                "other bits in memory that is %s", kinds[i % 2]);
        t_job_close(&host);
        t_job_close(&other);
    }
    setenv("TW_MEMORY", before, 1);
    t_operations_free();
    t_layouts_free();
}

/* ---- by hand
 * ------------------------------------------------------------------------------------ */

static int (*set_late)(void *p, int value, size_t bytes, void *stream);
static int (*get_device)(int *device);
static int (*set_device)(int device);
static int (*finish_device)(void);

static int (*attribute)(void *data, int attribute, unsigned long long pointer);

static int device_of(const t_memory_t *memory)
{
    int device = -1;

    attribute(&device, 9, (unsigned long long)(uintptr_t)memory->mpi); /* DEVICE_ORDINAL */
    return device;
}

static void functions(void)
{
    *(void **)&attribute     = t_memory_symbol("cuPointerGetAttribute");
    *(void **)&set_late      = t_memory_symbol("cudaMemsetAsync");
    *(void **)&get_device    = t_memory_symbol("cudaGetDevice");
    *(void **)&set_device    = t_memory_symbol("cudaSetDevice");
    *(void **)&finish_device = t_memory_symbol("cudaDeviceSynchronize");
}

static t_memory_t device_memory(int floats, float value)
{
    t_memory_t memory;

    setenv("TW_MEMORY", "device", 1);
    memory = t_memory_get((size_t)floats * sizeof(float), t_next_seed());
    for (int i = 0; i < floats; i++) {
        memcpy(memory.here + (size_t)i * sizeof(float), &value, sizeof(value));
    }
    return memory;
}

static void expect(const t_memory_t *memory, int floats, float want)
{
    for (int i = 0; i < floats; i++) {
        float got;

        memcpy(&got, memory->here + (size_t)i * sizeof(float), sizeof(got));
        if (got != want) {
            T_CHECK(0, "value %d is %g, not %g", i, (double)got, (double)want);
            return;
        }
    }
}

/* Set to zeros on the default stream, which a program may take for done. */
static void default_stream(void)
{
    t_memory_t   send = device_memory(FLOATS * t_size, 1.0f), recv = device_memory(FLOATS, 2.0f);
    const size_t bytes = (size_t)FLOATS * (size_t)t_size * sizeof(float);
    MPI_Request  request;

    functions();
    for (int i = 0; i < 6; i++) {
        for (size_t k = 0; k < bytes; k++) {
            send.here[k] = 0x3f;
        }
        T_CHECK(set_device(device_of(&send)) == 0, "cudaSetDevice");
        T_CHECK(set_late(send.mpi, 0, bytes, NULL) == 0, "cudaMemsetAsync");
        t_note("call %d", i);
        switch (i) {
        case 0:
            T_OK(MPI_Allreduce(send.mpi, recv.mpi, FLOATS, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD));
            break;
        case 1:
            T_OK(MPI_Iallreduce(send.mpi, recv.mpi, FLOATS, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD,
                                &request));
            T_OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
            break;
        case 2:
            T_OK(MPI_Reduce_scatter_block(send.mpi, recv.mpi, FLOATS, MPI_FLOAT, MPI_SUM,
                                          MPI_COMM_WORLD));
            break;
        case 3:
            T_OK(MPI_Alltoall(send.mpi, FLOATS / t_size, MPI_FLOAT, recv.mpi, FLOATS / t_size,
                              MPI_FLOAT, MPI_COMM_WORLD));
            break;
        case 4:
            T_OK(MPI_Ibcast(send.mpi, FLOATS, MPI_FLOAT, 0, MPI_COMM_WORLD, &request));
            T_OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
            expect(&send, t_rank == 0 ? FLOATS : 0, 0.0f);
            continue;
        default:
            T_OK(MPI_Allgather(send.mpi, FLOATS / t_size, MPI_FLOAT, recv.mpi, FLOATS / t_size,
                               MPI_FLOAT, MPI_COMM_WORLD));
            break;
        }
        expect(&recv, FLOATS / t_size * t_size, 0.0f);
    }
    for (int i = 0; i < 2; i++) { /* what a rank only receives lies over the zeros */
        for (int k = 0; k < FLOATS; k++) {
            const float one = 1.0f;

            memcpy(send.here + (size_t)k * sizeof(one), &one, sizeof(one));
        }
        T_CHECK(t_rank == 0 || set_late(send.mpi, 0, bytes, NULL) == 0, "cudaMemsetAsync");
        T_OK(i == 0 ? MPI_Bcast(send.mpi, FLOATS, MPI_FLOAT, 0, MPI_COMM_WORLD)
                    : MPI_Ibcast(send.mpi, FLOATS, MPI_FLOAT, 0, MPI_COMM_WORLD, &request));
        if (i == 1) {
            T_OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
        }
        T_CHECK(finish_device() == 0, "cudaDeviceSynchronize");
        t_note("broadcast %d", i);
        expect(&send, FLOATS, 1.0f);
    }
    t_memory_put(&send);
    t_memory_put(&recv);
}

static void *wait_for(void *request)
{
    int device = -1;

    T_OK(MPI_Wait(request, MPI_STATUS_IGNORE));
    T_CHECK(get_device(&device) == 0 && device == 0, "device %d is current in a new thread",
            device);
    return NULL;
}

static void current_device(void)
{
    int devices = 0, device;
    int (*count)(int *);

    functions();
    *(void **)&count = t_memory_symbol("cudaGetDeviceCount");
    T_CHECK(count(&devices) == 0, "cudaGetDeviceCount");
    for (int d = 0; d < devices; d++) {
        t_memory_t  send = device_memory(FLOATS, 1.0f), recv = device_memory(FLOATS, 2.0f);
        MPI_Request request;
        pthread_t   thread;

        T_CHECK(set_device(d) == 0, "cudaSetDevice");
        T_OK(MPI_Allreduce(send.mpi, recv.mpi, FLOATS, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD));
        T_CHECK(get_device(&device) == 0 && device == d, "device %d is current", device);
        expect(&recv, FLOATS, (float)t_size);
        T_OK(MPI_Iallreduce(send.mpi, recv.mpi, FLOATS, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD,
                            &request));
        T_CHECK(get_device(&device) == 0 && device == d, "device %d is current", device);
        pthread_create(&thread, NULL, wait_for, &request);
        pthread_join(thread, NULL);
        expect(&recv, FLOATS, (float)t_size);
        t_memory_put(&send);
        t_memory_put(&recv);
    }
}

/* Nothing is sent: memory that was released will do. */
static void nothing(void)
{
    t_memory_t send = device_memory(FLOATS, 1.0f), recv = device_memory(FLOATS, 2.0f);
    void      *gone              = send.mpi;
    int        none[T_RANKS_MAX] = {0}, all[T_RANKS_MAX], at[T_RANKS_MAX] = {0};

    t_memory_put(&send);
    T_OK(MPI_Allreduce(gone, recv.mpi, 0, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD));
    T_OK(MPI_Bcast(gone, 0, MPI_FLOAT, 0, MPI_COMM_WORLD));
    T_OK(MPI_Alltoall(gone, 0, MPI_FLOAT, recv.mpi, 0, MPI_FLOAT, MPI_COMM_WORLD));
    T_OK(MPI_Alltoallv(gone, none, at, MPI_FLOAT, recv.mpi, none, at, MPI_FLOAT, MPI_COMM_WORLD));
    send = device_memory(FLOATS, 3.0f);
    for (int r = 0; r < t_size; r++) {
        all[r] = r == 0 ? FLOATS : 0;
    }
    T_OK(MPI_Allgatherv(t_rank == 0 ? send.mpi : gone, t_rank == 0 ? FLOATS : 0, MPI_FLOAT,
                        recv.mpi, all, at, MPI_FLOAT, MPI_COMM_WORLD));
    expect(&recv, FLOATS, 3.0f);
    /* In place the input of a rank without a share stands where nothing is received. */
    T_OK(MPI_Reduce_scatter(MPI_IN_PLACE, recv.mpi, all, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD));
    expect(&recv, t_rank == 0 ? FLOATS : 0, 3.0f * (float)t_size);
    t_memory_put(&send);
    t_memory_put(&recv);
}

/* All of a program's memory goes, and so does what the drop-in has there. */
static void reset(void)
{
    int (*reset_device)(void);

    functions();
    *(void **)&reset_device = t_memory_symbol("cudaDeviceReset");
    for (int i = 0; i < 3; i++) {
        t_memory_t  send = device_memory(FLOATS, 1.0f), recv = device_memory(FLOATS, 2.0f);
        const int   devices[2] = {device_of(&send), device_of(&recv)};
        MPI_Request request;

        T_OK(MPI_Allreduce(send.mpi, recv.mpi, FLOATS, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD));
        expect(&recv, FLOATS, (float)t_size);
        T_OK(MPI_Iallreduce(MPI_IN_PLACE, recv.mpi, FLOATS, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD,
                            &request));
        T_OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
        expect(&recv, FLOATS, (float)(t_size * t_size));
        t_memory_put(&send);
        t_memory_put(&recv);
        for (int k = 0; k < 2; k++) {
            T_CHECK(set_device(devices[k]) == 0, "cudaSetDevice");
            T_CHECK(reset_device() == 0, "cudaDeviceReset");
        }
    }
}

static const t_case_t cases[] = {{"same bits in any memory", same_bits, 2},
                                 {"after the default stream", default_stream, 2},
                                 {"the current device", current_device, 2},
                                 {"nothing to send", nothing, 2},
                                 {"a device that was reset", reset, 2}};

int main(int argc, char **argv)
{
    t_thread_level = MPI_THREAD_MULTIPLE;
    return t_main(argc, argv, cases, sizeof(cases) / sizeof(cases[0]));
}
