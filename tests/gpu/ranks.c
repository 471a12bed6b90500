/* SPDX-License-Identifier: BSD-3-Clause
 * tests/gpu/ranks.c - collectives on device memory, between ranks that share a device: the same
 * bits as the same calls on host memory, staged through pinned memory and, where MPI takes device
 * memory, directly; and how long they take.
 *
 *     mpirun -n 2 ranks check [quick]     TAP
 *     mpirun -n 2 ranks measure           a table
 *
 * Every rank is taken for a node of its own, so that messages are sent. Exit status: 0 all is well,
 * 1 something differs, 77 there is no device. Compiled with TW_ON_STUB it runs on the stub of
 * tests/transport instead, where nobody has a device: that shows that the program finds what it
 * looks for.
 */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/lsan_interface.h>
#endif

#include "runtime/transport/api/open.h"
#include "runtime/transport/comm/comm.h"
#include "runtime/transport/comm/endpoint.h"
#include "tests/gpu/ranks.h"

const char *const verbs[ALL_VERBS] = {"allreduce two_pass",
                                      "allreduce direct",
                                      "allreduce two_pass, average",
                                      "reduce_scatter_block",
                                      "bcast",
                                      "allgather",
                                      "alltoall",
                                      "allreduce hierarchical",
                                      "allreduce node"};

int        rank, size;
tw_comm_t *comm;
void      *stream;

static tw_context_t *ctx;

static void die(const char *what, const char *why)
{
    printf("Bail out! rank %d: %s: %s\n", rank, what, why);
    fflush(stdout);
    MPI_Abort(MPI_COMM_WORLD, 1);
    exit(1);
}

void must(tw_status_t status, const char *what)
{
    if (status != TW_OK) {
        die(what, tw_status_text(status));
    }
}

void open_comm(const char *path, int node_ranks)
{
    char number[16];

    snprintf(number, sizeof(number), "%d", node_ranks);
    setenv("THINWIRE_NODE_RANKS", number, 1);
    setenv("THINWIRE_DEVICE_PATH", path, 1);
    must(tw_context_create(&ctx), "context");
    must(tw_comm_create_with(ctx, MPI, MPI_COMM_WORLD, &comm), "communicator");
    comm->device->ops   = &DEVICE;
    comm->device->aware = AWARE;
}

void close_comm(void)
{
    must(tw_comm_destroy(comm), "communicator");
    tw_context_destroy(ctx);
}

/* ---- memory --------------------------------------------------------------------------------- */

void *host(size_t bytes)
{
    void *p = malloc(bytes + 1);

    if (p == NULL) {
        die("memory", "none left");
    }
    memset(p, 0x5a, bytes + 1);
    return p;
}

void *device(size_t bytes)
{
    void *p = NULL;

    must(DEVICE.allocate(TW_DEVICE_MEMORY, bytes + 1, &p), "device memory");
    return p;
}

void copy(void *to, const void *from, size_t bytes, void *on)
{
    must(bytes > 0 ? DEVICE.copy(to, from, bytes, on) : TW_OK, "a copy");
}

void finish(void *on)
{
    must(DEVICE.finish(on), "a stream");
}

/* Numbers of both signs and many magnitudes. */
void fill(void *dst, size_t element, size_t n, uint64_t seed)
{
    for (size_t i = 0; i < n; i++) {
        uint64_t z = (seed + i + 1) * UINT64_C(0x9e3779b97f4a7c15);
        double   d;
        float    f;

        z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
        z ^= z >> 27;
        d = ((double)(z >> 40) / (1 << 24) - 0.5) / (double)(1 << (z % 13));
        f = (float)d;
        memcpy((char *)dst + i * element, element == 8 ? (void *)&d : (void *)&f, element);
    }
}

tw_codec_t *codec_of(const char *spec, tw_dtype_t dtype)
{
    tw_codec_t *codec = NULL;
    char        why[256];

    if (tw_codec_create(ctx, spec, dtype, &codec, why, sizeof(why)) != TW_OK) {
        die(spec, why);
    }
    return codec;
}

/* ---- calls ---------------------------------------------------------------------------------- */

size_t sends(const job_t *job)
{
    return job->verb == BCAST                              ? 0
           : job->verb == SCATTER || job->verb == ALLTOALL ? job->count * (size_t)size
                                                           : job->count;
}

size_t receives(const job_t *job)
{
    return job->verb == ALLGATHER || job->verb == ALLTOALL ? job->count * (size_t)size : job->count;
}

/* Blocking, or, where plan_p is not NULL, a plan, which is enough to have it in all other forms. */
#define CALL(name, ...)                                                                            \
    return plan_p != NULL ? tw_##name##_init(comm, __VA_ARGS__, how, plan_p)                       \
                          : tw_##name(comm, __VA_ARGS__, how)

static tw_status_t issue(const job_t *job, const tw_how_t *how, const void *send, void *recv,
                         tw_request_t **plan_p)
{
    switch (job->verb) {
    case SCATTER:
        CALL(reduce_scatter_block, send, recv, job->count, TW_SUM);
    case BCAST:
        CALL(bcast, recv, job->count, size - 1);
    case ALLGATHER:
        CALL(allgather, send, recv, job->count);
    case ALLTOALL:
        CALL(alltoall, send, recv, job->count);
    default:
        CALL(allreduce, send, recv, job->count, job->verb == AVERAGE ? TW_AVERAGE : TW_SUM);
    }
}

void call(const job_t *job, const tw_exec_t *exec, tw_feedback_t *feedback, const void *send,
          void *recv)
{
    const tw_how_t how     = {.codec     = job->codec,
                              .exec      = exec,
                              .feedback  = feedback,
                              .flags     = job->verb == BCAST ? TW_BCAST_SAME : 0,
                              .algorithm = job->verb == DIRECT ? TW_ALGORITHM_DIRECT
                                           : job->verb == TWO_PASS || job->verb == AVERAGE
                                               ? TW_ALGORITHM_TWO_PASS
                                           : job->verb == NODES ? TW_ALGORITHM_HIERARCHICAL
                                           : job->verb == NODE  ? TW_ALGORITHM_NODE
                                                                : TW_ALGORITHM_AUTO};
    tw_request_t  *request = NULL;
    int            done    = 0;

    if (job->form == BLOCKING) {
        must(issue(job, &how, send, recv, NULL), verbs[job->verb]);
        return;
    }
    must(issue(job, &how, send, recv, &request), verbs[job->verb]);
    must(tw_start(request), "tw_start");
    if (job->form == NONBLOCKING) {
        while (!done) {
            must(tw_test(&request, &done), "tw_test");
        }
    } else {
        must(tw_wait(&request), "tw_wait");
    }
    must(tw_request_free(&request), "tw_request_free");
}

/* ---- start ---------------------------------------------------------------------------------- */

/* Says why direct is left out. */
static int ask_aware(void)
{
    int aware;

    open_comm("staged", 1);
    aware = AWARE == TW_DEVICE_NOT_ASKED ? comm->endpoint->aware(comm) : AWARE;
    close_comm();
    if (aware != 1 && rank == 0) {
        printf("skipped: MPI %s\n",
               aware == 0 ? "is not CUDA-aware" : "does not say whether it is CUDA-aware");
    }
    return aware;
}

int main(int argc, char **argv)
{
    const int measures = argc > 1 && strcmp(argv[1], "measure") == 0;
    const int quick    = argc > 2 && strcmp(argv[2], "quick") == 0;
    int       number, aware, failures = 0;

    if (argc < 2 || argc > 3 || (!measures && strcmp(argv[1], "check") != 0) ||
        (argc > 2 && !quick)) {
        fprintf(stderr, "usage: ranks check [quick] | measure\n");
        return 2;
    }
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    if (DEVICE.current(&number) != TW_OK) {
        if (rank == 0) {
            printf("skipped: no CUDA device\n");
        }
        MPI_Finalize();
        return 77;
    }
    must(DEVICE.stream_create(&stream), "a stream");
    aware = ask_aware();
    if (measures) {
        measure(aware == 1);
    } else {
        failures = check(aware == 1, quick);
    }
    DEVICE.stream_destroy(stream);
#if defined(__SANITIZE_ADDRESS__)
    __lsan_do_leak_check(); /* at exit the MPI library's components are unloaded, and so unnamed */
#endif
    MPI_Finalize();
    return failures > 0;
}
