/* SPDX-License-Identifier: BSD-3-Clause
 * tests/transport/device.c - collectives on device memory, with a stub for a device: staged through
 * pinned memory, and directly by an MPI that takes device memory. Results must be the model's, bit
 * for bit, which are also those of host memory (tests/mpi).
 */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "runtime/transport/device/device.h"
#include "tests/transport/device_job.h"
#include "tests/transport/device_nodes.h"

static const char *const small_fragments[] = {"CHUNK=1k", "WINDOW=3", NULL};
static const char *const other_settings[]  = {"CHUNK=1k",       "WINDOW=3",      "BCAST=chain",
                                              "ALLGATHER=grid", "ALLTOALL=grid", NULL};

/* Every collective, every codec, both element types. */
static void every_codec(path_t path, const char *const *settings)
{
    tw_context_t *ctx;
    tw_comm_t    *comm   = device_comm(path, settings, &ctx);
    void         *stream = NULL;

    T_OK(stub_device.stream_create(&stream));
    for (int kind = 0; kind < T_OPS; kind++) {
        t_shape_t shape;

        for (size_t i = 0; t_specs_f32[i] != NULL; i++) {
            device_shape(&shape, (t_op_t)kind, i);
            shape.spec = t_specs_f32[i];
            device_job_once(comm, &shape, 1, i % 2 != 0 ? stream : NULL, 1);
        }
        for (size_t i = 0; t_specs_f64[i] != NULL; i++) {
            device_shape(&shape, (t_op_t)kind, i + 1);
            shape.spec  = t_specs_f64[i];
            shape.dtype = TW_F64;
            device_job_once(comm, &shape, 1, stream, 1);
        }
        device_shape(&shape, (t_op_t)kind, 3);
        shape.count = 0;
        memset(shape.counts, 0, sizeof(shape.counts));
        device_job_once(comm, &shape, 1, NULL, 1);
    }
    stub_device.stream_destroy(stream);
    device_comm_done(comm, ctx);
}

static void every_codec_staged(void)
{
    every_codec(STAGED, small_fragments);
    every_codec(STAGED, other_settings);
}

static void every_codec_direct(void)
{
    every_codec(DIRECT, small_fragments);
    every_codec(DIRECT, other_settings);
}

/* Many operations at once, in all moods of the device, plans among them. */
static void overlapping(path_t path, const char *const *settings, int node_ranks)
{
    enum { MANY = 8 };
    static const int    diligences[] = {1024, 300, 20};
    static device_job_t jobs[MANY];
    tw_request_t       *requests[MANY] = {NULL};
    tw_context_t       *ctx;
    tw_comm_t          *comm   = device_comm(path, settings, &ctx);
    uint64_t            random = t_seed + 5;

    for (int turn = 0; turn < 9; turn++) {
        stub_diligence = diligences[(turn + t_rank) % 3];
        for (int i = 0; i < MANY; i++) {
            t_shape_t shape;

            device_shape_random(&shape, &random, 5000);
            shape.node_ranks = node_ranks;
            device_job_open(&jobs[i], comm, &shape, 1, NULL, 1, NULL, NULL);
            device_job_fill(&jobs[i], 0);
            T_OK(t_job_issue(&jobs[i].on, i % 3 == 2 ? T_PLAN : T_NONBLOCKING, &requests[i]));
        }
        for (int round = 1; round <= 2; round++) {
            for (int i = 2; i < MANY; i += 3) {
                T_OK(tw_start(requests[i]));
            }
            for (int k = 0; k < MANY; k++) {
                const int i = (k * 3 + turn) % MANY;

                if (round == 1 || i % 3 == 2) {
                    t_shape_note(&jobs[i].host.shape);
                    T_OK(tw_wait(&requests[i]));
                    device_job_check(&jobs[i]);
                }
            }
            for (int i = 2; i < MANY; i += 3) {
                device_job_fill(&jobs[i], (uint64_t)round);
            }
        }
        for (int i = 0; i < MANY; i++) {
            T_OK(tw_request_free(&requests[i]));
            device_job_close(&jobs[i]);
        }
    }
    stub_diligence = 512;
    device_comm_done(comm, ctx);
}

static void overlapping_staged(void)
{
    overlapping(STAGED, small_fragments, 0);
}

static void overlapping_direct(void)
{
    overlapping(DIRECT, small_fragments, 0);
}

/* MPI's own collectives are called in one order on all ranks, and in one with what ranks agree on,
 * whichever copies are done first. */
static void mpi_in_order(void)
{
    enum { MANY = 6, COUNT = 500 };
    static const char *const none[] = {NULL};
    tw_context_t            *ctx;
    tw_comm_t               *comm = device_comm(STAGED, none, &ctx);
    void                    *streams[2], *values[MANY];
    tw_exec_t                exec[2];
    tw_request_t            *requests[MANY] = {NULL};

    for (int s = 0; s < 2; s++) {
        T_OK(stub_device.stream_create(&streams[s]));
        exec[s] = (tw_exec_t){.memory = TW_MEMORY_CUDA, .stream = streams[s]};
    }
    for (int i = 0; i < MANY; i++) {
        T_OK(stub_device.allocate(TW_DEVICE_MEMORY, COUNT * sizeof(float), &values[i]));
    }
    stub_diligence = 200;
    for (int round = 0; round < 20; round++) {
        for (int i = 0; i < MANY; i++) {
            const tw_how_t how  = {.algorithm = TW_ALGORITHM_MPI, .exec = &exec[i % 2]};
            const int      root = (i + round) % t_size;
            float         *real = stub_real(values[i]);

            for (int k = 0; k < COUNT; k++) {
                real[k] = t_rank == root ? (float)(100 * round + i) : -1.0F;
            }
            T_OK(tw_ibcast(comm, values[i], COUNT, root, &how, &requests[i]));
        }
        T_OK(tw_comm_agree(comm, TW_OK));
        for (int i = MANY; i-- > 0;) {
            const float *real = stub_real(values[i]);

            T_OK(tw_wait(&requests[i]));
            T_CHECK(real[0] == (float)(100 * round + i) && real[COUNT - 1] == real[0],
                    "round %d: broadcast %d brought %g", round, i, (double)real[0]);
        }
    }
    stub_diligence = 512;
    for (int i = 0; i < MANY; i++) {
        stub_device.release(TW_DEVICE_MEMORY, values[i]);
    }
    stub_device.stream_destroy(streams[0]);
    stub_device.stream_destroy(streams[1]);
    device_comm_done(comm, ctx);
}

/* Most of them from node to node. */
static void overlapping_nodes(void)
{
    static const char *const nodes[] = {"NODE_RANKS=2",       "ALLREDUCE=hierarchical",
                                        "BCAST=hierarchical", "CHUNK=1k",
                                        "WINDOW=3",           NULL};

    overlapping(STAGED, nodes, 2);
    overlapping(DIRECT, nodes, 2);
}

/* Device memory is found out where nobody names it; and a rank may have its buffers in host memory
 * while others have theirs on a device: what travels is the same. */
static void mixed_and_found_out(void)
{
    tw_context_t *ctx;
    tw_comm_t    *comm   = device_comm(STAGED, small_fragments, &ctx);
    uint64_t      random = t_seed + 6;

    for (int i = 0; i < 60; i++) {
        t_shape_t shape;

        device_shape_random(&shape, &random, 3000);
        device_job_once(comm, &shape, (i + t_rank) % 3 != 0, NULL, 0);
    }
    device_comm_done(comm, ctx);
}

/* The first blocking call of a communicator, which some ranks make with host memory and the others,
 * unsaid, with device memory: these make a request, those take the short way (shm/quick.h), and so
 * do not agree with them on memory for one. */
static void first_mixed_call(void)
{
    static const t_op_t kinds[] = {T_ALLREDUCE, T_REDUCE, T_BCAST, T_ALLGATHER, T_ALLTOALL};

    for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
        for (size_t count = 3; count < 100000; count *= 300) { /* long ones are read */
            tw_context_t *ctx;
            tw_comm_t    *comm  = device_comm(STAGED, NULL, &ctx);
            t_shape_t     shape = {.kind = kinds[i], .count = count, .seed = t_seed + i};

            t_job_agree(comm, &shape);
            device_job_once(comm, &shape, t_rank % 2, NULL, 0);
            device_comm_done(comm, ctx);
        }
    }
}

/* Algorithms that work in host memory: the node's, from node to node, and MPI's own. */
static void through_the_host(void)
{
    static const char *const nodes[] = {"NODE_RANKS=2", "CHUNK=1k", NULL};
    static const t_op_t      moved[] = {T_BCAST, T_ALLGATHER, T_ALLTOALL};
    tw_context_t            *ctx;
    tw_comm_t               *comm = device_comm(STAGED, nodes, &ctx);
    t_shape_t                shape;

    for (size_t i = 0; i < 12; i++) {
        device_shape(&shape, moved[i % 3], i);
        shape.algorithm = TW_ALGORITHM_MPI;
        device_job_once(comm, &shape, i % 2 != 0 || t_rank > 0, NULL, 0);
        device_shape(&shape, T_BCAST, i);
        shape.spec      = "tree8";
        shape.count     = 20000;
        shape.algorithm = t_size > 2 ? TW_ALGORITHM_HIERARCHICAL : TW_ALGORITHM_AUTO;
        device_job_once(comm, &shape, i % 2 != 0 || t_rank > 0, NULL, 0);
    }
    device_comm_done(comm, ctx);
    comm = device_comm(STAGED, NULL, &ctx); /* one node */
    for (size_t i = 0; i < 12; i++) {
        device_shape(&shape, (t_op_t)(i % T_OPS), i);
        shape.algorithm = TW_ALGORITHM_AUTO;
        shape.count     = i % 2 == 0 ? 100 : 30000;
        device_job_once(comm, &shape, i % 4 > 1 || t_rank > 0, NULL, 0);
    }
    device_comm_done(comm, ctx);
}

/* MPI's own collective on input that work on the caller's stream has yet to write: blocking, and as
 * an operation. The device does nothing that nobody waits for; with a time limit the blocking call
 * would be an operation, too, which asks and does not wait. */
static void native_after_the_stream(void)
{
    enum { N = 500, COPIES = 60 };
    static const char *const no_limit[] = {"TIMEOUT=0", NULL};
    const size_t             bytes      = N * sizeof(float);
    tw_context_t            *ctx;
    tw_comm_t               *comm = device_comm(STAGED, no_limit, &ctx);
    void                    *stream, *junk, *input, *values;

    T_OK(stub_device.stream_create(&stream));
    T_OK(stub_device.allocate(TW_DEVICE_MEMORY, bytes, &junk));
    T_OK(stub_device.allocate(TW_DEVICE_MEMORY, bytes, &input));
    T_OK(stub_device.allocate(TW_DEVICE_MEMORY, bytes, &values));
    for (int blocking = 1; blocking >= 0; blocking--) {
        const tw_exec_t exec    = {.memory = TW_MEMORY_CUDA, .stream = stream};
        const tw_how_t  how     = {.exec = &exec, .algorithm = TW_ALGORITHM_MPI};
        tw_request_t   *request = NULL;
        float          *at      = stub_real(input);
        int             right   = 1;

        memset(stub_real(junk), 0, bytes);
        for (int i = 0; i < N; i++) {
            at[i] = (float)(i + t_rank);
        }
        stub_diligence = 0;
        for (int i = 0; i < COPIES; i++) {
            T_OK(stub_device.copy(values, i < COPIES - 1 ? junk : input, bytes, stream));
        }
        if (blocking) {
            T_OK(tw_allreduce(comm, TW_IN_PLACE, values, N, TW_SUM, &how));
        } else {
            T_OK(tw_iallreduce(comm, TW_IN_PLACE, values, N, TW_SUM, &how, &request));
            stub_diligence = 512;
            T_OK(tw_wait(&request));
        }
        stub_diligence = 512;
        at             = stub_real(values);
        for (int i = 0; i < N; i++) {
            right &= at[i] == (float)(i * t_size + t_size * (t_size - 1) / 2);
        }
        T_CHECK(right, "%s: the input was taken before it was there",
                blocking ? "blocking" : "nonblocking");
    }
    stub_device.release(TW_DEVICE_MEMORY, junk);
    stub_device.release(TW_DEVICE_MEMORY, input);
    stub_device.release(TW_DEVICE_MEMORY, values);
    stub_device.stream_destroy(stream);
    device_comm_done(comm, ctx);
}

/* Large enough for full fragments and many rounds, cut by the largest message. */
static void long_vectors(void)
{
    static const char *const settings[] = {"MESSAGE_LIMIT=1500", "CHUNK=16k", "NODE_RANKS=2", NULL};
    tw_context_t            *ctx;

    for (int path = STAGED; path <= DIRECT; path++) {
        tw_comm_t *comm = device_comm((path_t)path, settings, &ctx);

        for (int kind = 0; kind < T_OPS; kind++) {
            t_shape_t shape;

            device_shape(&shape, (t_op_t)kind, 4);
            shape.spec       = "tree8";
            shape.count      = 60000;
            shape.node_ranks = 2;
            for (int r = 0; r < t_size * t_size; r++) {
                shape.counts[r / t_size][r % t_size] =
                    20000 + 500u * (unsigned)(r / t_size + r % t_size);
            }
            device_job_once(comm, &shape, 1, NULL, 1);
        }
        device_comm_done(comm, ctx);
    }
}

/* A shape that was seen before takes no memory from anywhere. */
static void memory_is_reused(void)
{
    tw_context_t *ctx;
    tw_comm_t    *comm  = device_comm(STAGED, NULL, &ctx);
    t_shape_t     shape = {.kind = T_ALLREDUCE, .spec = "tree8", .count = 9000};
    tw_stats_t    stats;

    device_job_once(comm, &shape, 1, NULL, 1);
    T_OK(tw_comm_stats_reset(comm));
    for (int i = 0; i < 5; i++) {
        device_job_once(comm, &shape, 1, NULL, 1);
    }
    T_OK(tw_comm_stats(comm, &stats));
    T_CHECK(stats.pool_allocations == 0, "%d allocations", (int)stats.pool_allocations);
    device_comm_done(comm, ctx);
}

/* ---- error feedback ------------------------------------------------------------------------- */

/* Steps that go from the host to the device and back, and from one algorithm to another. */
static void feedback(tw_dtype_t dtype, const char *spec, path_t path)
{
    static const size_t         count      = 3001;
    static const char *const    settings[] = {"CHUNK=1k", "WINDOW=3", "NODE_RANKS=2", NULL};
    static const tw_algorithm_t turns[]    = {TW_ALGORITHM_TWO_PASS, TW_ALGORITHM_DIRECT,
                                              TW_ALGORITHM_HIERARCHICAL};
    tw_context_t               *ctx;
    tw_comm_t                  *comm = device_comm(path, settings, &ctx);
    tw_feedback_t              *fb   = NULL;
    t_model_feedback_t          model;
    unsigned char              *got = t_malloc(count * 8), *want = t_malloc(count * 8);

    t_model_feedback_open(&model, dtype, t_size, count);
    T_OK(tw_feedback_create(comm, "weights", dtype, count, &fb));
    for (unsigned step = 0; step < 12; step++) {
        t_shape_t    shape = {.kind       = T_ALLREDUCE,
                              .spec       = spec,
                              .dtype      = dtype,
                              .count      = count,
                              .algorithm  = turns[step / 2 % 3],
                              .node_ranks = 2,
                              .seed       = t_seed + step};
        device_job_t job;

        t_shape_note(&shape);
        device_job_open(&job, comm, &shape, step < 8 || step % 2 == 0, NULL, 1, fb, &model);
        device_job_fill(&job, step);
        T_OK(t_job_run(&job.on));
        device_job_check(&job);
        device_job_close(&job);
        if (step == 5 || step > 7) { /* looking at it must not change it */
            double norm;

            T_OK(tw_feedback_read(fb, got));
            t_model_feedback_read(&model, t_rank, want);
            T_SAME(dtype, got, want, count);
            T_OK(tw_feedback_norm(fb, &norm));
        }
        if (step == 10) {
            T_OK(tw_feedback_clear(fb));
            t_model_feedback_clear(&model);
        }
    }
    tw_feedback_destroy(fb);
    t_model_feedback_close(&model);
    free(got);
    free(want);
    device_comm_done(comm, ctx);
}

static void residuals_follow(void)
{
    feedback(TW_F32, "onebit:block=64", STAGED);
    feedback(TW_F32, "tree8:block=64", DIRECT);
    feedback(TW_F64, "bitpack:2", STAGED);
}

static const t_case_t cases[] = {
    {"every codec, staged", every_codec_staged, 1},
    {"every codec, direct", every_codec_direct, 1},
    {"overlapping, staged", overlapping_staged, 1},
    {"overlapping, direct", overlapping_direct, 1},
    {"overlapping, from node to node", overlapping_nodes, 1},
    {"MPI's own in order", mpi_in_order, 1},
    {"mixed and found out", mixed_and_found_out, 1},
    {"first mixed call", first_mixed_call, 1},
    {"through the host", through_the_host, 1},
    {"native after the stream", native_after_the_stream, 1},
    {"from node to node", from_node_to_node_shared, 1},
    {"from node to node, one not shared", from_node_to_node_apart, 2},
    {"in a node", in_a_node, 2},
    {"slow readers", slow_readers, 2},
    {"long vectors", long_vectors, 1},
    {"memory is reused", memory_is_reused, 1},
    {"residuals follow", residuals_follow, 1},
};

T_MAIN(cases)
