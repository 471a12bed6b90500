/* SPDX-License-Identifier: BSD-3-Clause
 * tests/gpu/ranks_check.c - calls on device memory beside the same calls on host memory.
 */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/transport/comm/comm.h"
#include "runtime/transport/device/device.h"
#include "tests/gpu/ranks.h"

static int tests, failures;

/* A line of TAP for all ranks together. */
static void ok(int passed, const char *path, const char *what)
{
    int all = 0;

    MPI_Allreduce(&passed, &all, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
    tests++;
    failures += !all;
    if (rank == 0) {
        printf("%sok %d - %d ranks, %s: %s\n", all ? "" : "not ", tests, size, path, what);
        fflush(stdout);
    }
}

/* Where a rank's buffers are: said by exec, to be found out, or, on even ranks, not on the device
 * at all. */
typedef enum where { SAID, FOUND, MIXED } where_t;

/* Is the call on device memory the call on host memory, with residuals of either if they are not
 * NULL? */
static int same(const job_t *job, where_t where, void *on, tw_feedback_t *here,
                tw_feedback_t *there)
{
    const tw_exec_t exec = {.memory = TW_MEMORY_CUDA, .stream = on};
    const size_t    sent = sends(job) * job->element, got = receives(job) * job->element;
    const int       off  = where == MIXED && rank % 2 == 0;
    void           *send = host(sent), *recv = host(got), *back = host(got), *left = host(sent);
    void           *dsend = off ? host(sent) : device(sent), *drecv = off ? host(got) : device(got);
    int             equal;

    fill(send, job->element, sends(job), job->seed + (uint64_t)rank * 1000003);
    if (job->verb == BCAST && rank == size - 1) {
        fill(recv, job->element, receives(job), job->seed);
    }
    copy(dsend, send, sent, on);
    copy(drecv, recv, got, on);
    if (where != SAID) { /* else the call's work comes behind the copies */
        finish(on);
    }
    call(job, where == SAID ? &exec : NULL, there, dsend, drecv);
    copy(back, drecv, got, on);
    copy(left, dsend, sent, on);
    finish(on);
    call(job, NULL, here, send, recv);
    equal = memcmp(back, recv, got) == 0 && memcmp(left, send, sent) == 0;
    if (off) {
        free(dsend);
        free(drecv);
    } else {
        DEVICE.release(TW_DEVICE_MEMORY, dsend);
        DEVICE.release(TW_DEVICE_MEMORY, drecv);
    }
    free(send);
    free(recv);
    free(back);
    free(left);
    return equal;
}

static const struct {
    const char *spec;
    tw_dtype_t  dtype;
} codecs[] = {{"fp32", TW_F32},     {"bf16", TW_F32},   {"tree8", TW_F32},
              {"int8", TW_F32},     {"onebit", TW_F32}, {"bitpack:2,round", TW_F32},
              {"bitpack:3", TW_F64}};

#define UNIT 4096 /* elements: blocks of tree8 */

#define CODECS (sizeof(codecs) / sizeof(codecs[0]))

static int check_verb(verb_t verb, where_t where, bool quick)
{
    static const size_t counts[] = {1, 1000, 70001, 1 << 20, 5000003};
    const size_t        most     = quick ? 3 : sizeof(counts) / sizeof(counts[0]);
    int                 equal    = 1;

    for (size_t c = 0; c < CODECS; c++) {
        tw_codec_t *codec = codec_of(codecs[c].spec, codecs[c].dtype);

        for (size_t i = 0; i < most; i++) {
            const job_t job = {.verb    = verb,
                               .form    = (form_t)((c + i) % FORMS),
                               .count   = counts[i],
                               .codec   = codec,
                               .element = tw_dtype_size(codecs[c].dtype),
                               .seed    = 100 * c + i};

            if (!same(&job, where, (c + i) % 2 == 0 ? stream : NULL, NULL, NULL)) {
                printf("# rank %d: %s, %s, %zu values: differs from host memory\n", rank,
                       verbs[verb], codecs[c].spec, counts[i]);
                equal = 0;
            }
        }
        tw_codec_destroy(codec);
    }
    return equal;
}

/* Results and residuals, step after step, through both algorithms. */
static int check_feedback(const char *spec)
{
    enum { N = 100003, STEPS = 6 };
    tw_codec_t    *codec = codec_of(spec, TW_F32);
    float         *mine = host(N * sizeof(float)), *theirs = host(N * sizeof(float));
    tw_feedback_t *here, *there;
    int            equal = 1;

    must(tw_feedback_create(comm, "host", TW_F32, N, &here), "feedback");
    must(tw_feedback_create(comm, "device", TW_F32, N, &there), "feedback");
    for (unsigned step = 0; step < STEPS; step++) {
        const job_t job = {.verb    = step % 3 == 2 ? DIRECT : AVERAGE,
                           .form    = (form_t)(step % FORMS),
                           .count   = N,
                           .codec   = codec,
                           .element = sizeof(float),
                           .seed    = step};

        equal = same(&job, SAID, stream, here, there) && equal;
    }
    must(tw_feedback_read(here, mine), "residuals");
    must(tw_feedback_read(there, theirs), "residuals");
    equal = memcmp(mine, theirs, N * sizeof(float)) == 0 && equal;
    tw_feedback_destroy(here);
    tw_feedback_destroy(there);
    tw_codec_destroy(codec);
    free(mine);
    free(theirs);
    return equal;
}

/* Sharded weights of one group: copies, gradients and masters in memory of the device (exec), or of
 * the host (NULL). Steps in several codecs; what the last copies are goes to out[N]. */
static void step_weights(const tw_exec_t *exec, const char *name, size_t n, float *out)
{
    static const char *const  specs[] = {"fp32", "bitpack:1", "tree8", "bitpack:3"};
    const size_t              own = tw_weights_owned(TW_WEIGHTS_SHARDED, n, UNIT, rank, size, NULL);
    const size_t              bytes = n * sizeof(float), mine = own * sizeof(float);
    float                    *vector = host(bytes), *sum = host(mine);
    const tw_weights_config_t config = {.owners = TW_WEIGHTS_SHARDED, .exec = exec};
    tw_weights_group_t        group  = {.name     = name,
                                        .weights  = exec != NULL ? device(bytes) : host(bytes),
                                        .gradient = exec != NULL ? device(bytes) : host(bytes),
                                        .master   = exec != NULL ? device(mine) : host(mine),
                                        .count    = n,
                                        .unit     = UNIT,
                                        .codec    = specs[0]};
    tw_weights_t             *w;

    must(tw_weights_create(comm, &config, &group, 1, &w), "weights with owners");
    fill(sum, sizeof(float), own, 77 + (uint64_t)rank);
    for (size_t step = 0; step < sizeof(specs) / sizeof(specs[0]); step++) {
        copy(group.master, sum, mine, stream);
        finish(stream);
        must(tw_weights_set_codec(w, 0, specs[step]), "another codec");
        must(tw_weights_send(w, 0), "sending weights");
        must(tw_weights_wait(w, 0), "weights");
        fill(vector, sizeof(float), n, 1000 * step + (uint64_t)rank);
        copy(group.gradient, vector, bytes, stream);
        finish(stream);
        must(tw_weights_ready(w, 0), "the gradient");
        must(tw_weights_sum(w, 0), "its sum");
        copy(sum, group.gradient, mine, stream);
        finish(stream);
    }
    copy(out, group.weights, bytes, stream);
    finish(stream);
    tw_weights_destroy(w);
    if (exec != NULL) {
        DEVICE.release(TW_DEVICE_MEMORY, group.weights);
        DEVICE.release(TW_DEVICE_MEMORY, group.gradient);
        DEVICE.release(TW_DEVICE_MEMORY, group.master);
    } else {
        free(group.weights);
        free(group.gradient);
        free(group.master);
    }
    free(vector);
    free(sum);
}

/* The masters of a step are the sums of gradients of the one before, so the last copies say whether
 * all were right. */
static int check_weights(void)
{
    enum { N = 100003 };
    const tw_exec_t exec = {.memory = TW_MEMORY_CUDA, .stream = stream};
    float          *mine = host(N * sizeof(float)), *theirs = host(N * sizeof(float));
    int             equal;

    step_weights(NULL, "host", N, mine);
    step_weights(&exec, "device", N, theirs);
    equal = memcmp(mine, theirs, N * sizeof(float)) == 0;
    free(mine);
    free(theirs);
    return equal;
}

static void check_path(const char *path, bool quick)
{
    open_comm(path, 1);
    for (int verb = 0; verb < VERBS; verb++) {
        ok(check_verb((verb_t)verb, SAID, quick), path, verbs[verb]);
    }
    ok(check_verb(TWO_PASS, FOUND, true), path, "memory that is found to be the device's");
    ok(check_verb(ALLTOALL, MIXED, true), path, "even ranks in host memory");
    ok(check_feedback("onebit") && check_feedback("tree8"), path, "error feedback");
    ok(check_weights(), path, "weights with owners");
    close_comm();
}

#ifndef TW_ON_STUB
/* Each rank has the device of its place, which ranks may share; a number that is none leaves it
 * current. */
static int check_bind(void)
{
    int taken = -1, none = -1, current = -1;

    must(tw_comm_bind_device(comm, TW_BIND_ALIKE, &taken, NULL, 0), "a device for each rank");
    return taken >= 0 && tw_comm_bind_device(comm, 1000, &none, NULL, 0) == TW_ERR_RANGE &&
           DEVICE.current(&current) == TW_OK && current == taken;
}
#endif

/* In memory that the devices of two ranks share: encoded between nodes, and, where there is one
 * node, values as they are. */
static void check_nodes(void)
{
    static const verb_t some[] = {NODES, SCATTER, BCAST};

    open_comm("staged", 2);
    for (size_t i = 0; i < sizeof(some) / sizeof(some[0]); i++) {
        ok(check_verb(some[i], SAID, true), "nodes", verbs[some[i]]);
    }
    ok((comm->device->slots.state == TW_NODE_THERE) == SHARES, "nodes",
       "processes share memory of their devices (CUDA IPC)");
    close_comm();
}

int check(bool aware, bool quick)
{
    check_path("staged", quick);
    if (aware) {
        check_path("direct", quick);
    }
    check_nodes();
#ifndef TW_ON_STUB
    open_comm("staged", 0); /* the last: the stream may be another device's now */
    ok(check_bind(), "staged", "ranks take devices");
    close_comm();
#endif
    if (rank == 0) {
        printf("1..%d\n", tests);
    }
    return failures;
}
