/* SPDX-License-Identifier: BSD-3-Clause
 * tests/gpu/ranks_measure.c - how long calls take on either memory.
 */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>

#include "tests/gpu/ranks.h"

static int ascending(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

typedef struct buffers {
    void  *send, *recv, *host_send, *host_recv;
    size_t sent, got;
} buffers_t;

enum { HOST, COPIED, STAGED, STRAIGHT, IN_NODE, WAYS };

static void once(const job_t *job, const buffers_t *b, int way)
{
    const tw_exec_t exec = {.memory = TW_MEMORY_CUDA, .stream = stream};

    if (way == COPIED) {
        copy(b->host_send, b->send, b->sent, stream);
        finish(stream);
    }
    if (way == HOST || way == COPIED) {
        call(job, NULL, NULL, b->host_send, b->host_recv);
    } else {
        call(job, &exec, NULL, b->send, b->recv);
    }
    if (way == COPIED) {
        copy(b->recv, b->host_recv, b->got, stream);
        finish(stream);
    }
}

/* Milliseconds of the slowest rank: the median of some. */
static double median(const job_t *job, const buffers_t *b, int way)
{
    enum { TIMES = 11 };
    double took[TIMES];

    for (int i = -2; i < TIMES; i++) {
        double start;

        MPI_Barrier(MPI_COMM_WORLD);
        start = MPI_Wtime();
        once(job, b, way);
        start = MPI_Wtime() - start;
        if (i >= 0) {
            MPI_Allreduce(&start, &took[i], 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
        }
    }
    qsort(took, TIMES, sizeof(took[0]), ascending);
    return 1e3 * took[TIMES / 2];
}

static const verb_t      timed[]       = {TWO_PASS, ALLTOALL};
static const char *const timed_specs[] = {"fp32", "tree8", "onebit"};
static const size_t      mib[]         = {1, 16, 64};

enum { TIMED = 2, TIMED_SPECS = 3, MIB = 3 };

typedef double times_t[TIMED][TIMED_SPECS][MIB][WAYS];

/* Every row's times by these ways, so many ranks being a node; IN_NODE: of values as they are. */
static void measure_path(const char *path, int node_ranks, int first, int last, times_t times)
{
    open_comm(path, node_ranks);
    for (int v = 0; v < TIMED; v++) {
        for (int s = 0; s < (first == IN_NODE ? 1 : TIMED_SPECS); s++) {
            for (int m = 0; m < MIB; m++) {
                const size_t values = (mib[m] << 20) / sizeof(float);
                tw_codec_t  *codec  = codec_of(timed_specs[s], TW_F32);
                job_t        job    = {.verb = timed[v], .codec = codec, .element = sizeof(float)};
                buffers_t    b;

                job.count = job.verb == ALLTOALL ? values / (size_t)size : values;
                job.verb  = job.verb == TWO_PASS && first == IN_NODE ? NODE : job.verb;
                b.sent    = sends(&job) * sizeof(float);
                b.got     = receives(&job) * sizeof(float);
                b.send    = device(b.sent);
                b.recv    = device(b.got);
                must(DEVICE.allocate(TW_DEVICE_PINNED, b.sent, &b.host_send), "pinned memory");
                must(DEVICE.allocate(TW_DEVICE_PINNED, b.got, &b.host_recv), "pinned memory");
                fill(b.host_send, sizeof(float), sends(&job), (uint64_t)rank);
                copy(b.send, b.host_send, b.sent, stream);
                finish(stream);
                for (int way = first; way <= last; way++) {
                    times[v][s][m][way] = median(&job, &b, way);
                }
                DEVICE.release(TW_DEVICE_MEMORY, b.send);
                DEVICE.release(TW_DEVICE_MEMORY, b.recv);
                DEVICE.release(TW_DEVICE_PINNED, b.host_send);
                DEVICE.release(TW_DEVICE_PINNED, b.host_recv);
                tw_codec_destroy(codec);
            }
        }
    }
    close_comm();
}

void measure(bool aware)
{
    static times_t times;

    measure_path("staged", 1, HOST, STAGED, times);
    if (aware) {
        measure_path("direct", 1, STRAIGHT, STRAIGHT, times);
    }
    measure_path("staged", size, IN_NODE, IN_NODE, times);
    if (rank != 0) {
        return;
    }
    printf("# %d ranks of one machine, one device; milliseconds of the slowest rank, medians.\n"
           "# host: buffers in host memory; copied: in device memory, copied to pinned memory and "
           "back by the caller;\n# staged, direct: in device memory, codes through pinned memory "
           "or to MPI as they are;\n# node: values through memory that the devices share (the "
           "others take each rank for a node)\n%-20s %-8s %5s %9s %9s %9s %9s %9s\n",
           size, "operation", "codec", "MiB", "host", "copied", "staged", "direct", "node");
    for (int v = 0; v < TIMED; v++) {
        for (int s = 0; s < TIMED_SPECS; s++) {
            for (int m = 0; m < MIB; m++) {
                const double *row = times[v][s][m];

                printf("%-20s %-8s %5zu", verbs[timed[v]], timed_specs[s], mib[m]);
                for (int way = 0; way < WAYS; way++) {
                    if (row[way] > 0.0) {
                        printf(" %9.3f", row[way]);
                    } else {
                        printf(" %9s", "-");
                    }
                }
                printf("\n");
            }
        }
    }
}
