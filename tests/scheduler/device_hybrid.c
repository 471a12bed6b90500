/* SPDX-License-Identifier: BSD-3-Clause
 * tests/scheduler/device_hybrid.c - hybrid runs; see device_cases.h. The divided part is x / (rank
 * + 2) for the gradient, so that a sum depends on its order; what it sees of each pass is kept.
 */
#include "config.h"

#include <stdlib.h>

#include <thinwire/hybrid.h>

#include "tests/scheduler/device_cases.h"

#define FEATURES 37
#define OWN      (7 * FEATURES)      /* values of a rank at most                    */
#define STEPS    3                   /* in the second without gradients             */
#define SEEN     (OWN * T_RANKS_MAX) /* values of all passes                        */
#define RESULTS  ((size_t)STEPS * (OWN + SEEN))

static const char *const small_fragments[] = {"CHUNK=1k", "WINDOW=3", NULL};

typedef struct run {
    place_t      place;
    tw_comm_t   *comm;
    tw_hybrid_t *hybrid;
    float       *seen; /* of this step, in host memory */
    size_t       at;
    bool         within; /* the callback has collectives of its own */
} run_t;

static int compute(void *user, const tw_hybrid_pass_t *pass)
{
    run_t       *run   = user;
    const size_t n     = pass->examples * FEATURES;
    float        one[] = {1.0f};

    place_copy(&run->place, run->seen + run->at, pass->x, n * sizeof(float));
    run->at += n;
    if (pass->gx != NULL) {
        place_copy(&run->place, pass->gx, pass->x, n * sizeof(float));
        tw_hybrid_advance(run->hybrid);
        place_divide(&run->place, pass->gx, n, t_rank + 2);
    }
    if (run->within) {
        T_OK(tw_allreduce(run->comm, TW_IN_PLACE, one, 1, TW_SUM, NULL));
        T_CHECK(one[0] == (float)t_size, "a sum within the callback is %g", (double)one[0]);
    }
    return 0;
}

/* x is written by work just before a run and again just after it; results are copied out by
 * work. */
static void train(tw_comm_t *comm, const tw_hybrid_config_t *how, const place_t *place,
                  const float *x, float *results)
{
    tw_hybrid_config_t config = *how;
    const size_t       bytes  = config.examples[t_rank] * FEATURES * sizeof(float);
    run_t     run  = {.place = *place, .comm = comm, .within = config.scheme == TW_SCHEME_C};
    float    *mine = place_get(place, bytes + 4), *gradient = place_get(place, bytes + 4);
    tw_exec_t exec;

    config.exec = place_exec(place, &exec);
    T_OK(tw_hybrid_create(comm, &config, &run.hybrid));
    for (int step = 0; step < STEPS; step++, results += OWN + SEEN) {
        place_copy(place, mine, x + step * OWN, bytes);
        run.seen = results + OWN;
        run.at   = 0;
        T_OK(tw_hybrid_run(run.hybrid, mine, step == 1 ? NULL : gradient, compute, &run));
        if (step != 1) {
            place_copy(place, results, gradient, bytes);
        }
    }
    tw_hybrid_destroy(run.hybrid);
    place_finish(place);
    place_put(place, mine);
    place_put(place, gradient);
}

/* Uneven, one rank without examples, all with one rank. */
static void distribute(size_t *examples, int run)
{
    for (int r = 0; r < t_size; r++) {
        examples[r] = run % 3 == 0   ? (size_t)(r * 5 + 3) % 7
                      : run % 3 == 1 ? (size_t)(r == 0 ? 0 : 4)
                                     : (size_t)(r == t_size - 1 ? 7 : 0);
    }
}

static void same_runs(path_t path)
{
    static const char *const codecs[][2] = {
        {"", ""}, {"tree8:block=64", "int8:block=64"}, {"bitpack:2", ""}, {"", "bf16"}};
    float        *results[2] = {calloc(RESULTS, sizeof(float)), calloc(RESULTS, sizeof(float))};
    float        *x          = t_malloc(STEPS * OWN * sizeof(float));
    void         *stream     = NULL;
    tw_context_t *ctx;
    tw_comm_t    *comm = device_comm(path, small_fragments, &ctx);

    T_CHECK(results[0] != NULL && results[1] != NULL, "out of memory");
    T_OK(stub_device.stream_create(&stream));
    t_fill(TW_F32, t_seed, t_rank, STEPS * OWN, x);
    for (int run = 0; run < 16; run++) {
        size_t             examples[T_RANKS_MAX];
        tw_hybrid_config_t config = {.scheme   = (tw_scheme_t)(run % 4),
                                     .group    = (t_size + 1) / 2,
                                     .features = FEATURES,
                                     .examples = examples,
                                     .act      = t_codec(codecs[run / 4][0], TW_F32),
                                     .back     = t_codec(codecs[run / 4][1], TW_F32)};

        t_note("scheme %d, act '%s', back '%s'", run % 4, codecs[run / 4][0], codecs[run / 4][1]);
        distribute(examples, run);
        device_mood(run);
        for (int device = 0; device < 2; device++) {
            const place_t place = {device, run % 3 == 0 ? NULL : stream};

            train(comm, &config, &place, x, results[device]);
        }
        T_CHECK(memcmp(results[0], results[1], RESULTS * sizeof(float)) == 0,
                "what passes see, or gradients, differ from those in host memory");
    }
    stub_diligence = 512;
    stub_device.stream_destroy(stream);
    device_comm_done(comm, ctx);
    free(results[0]);
    free(results[1]);
    free(x);
}

void hybrid_staged(void)
{
    same_runs(STAGED);
}

void hybrid_direct(void)
{
    same_runs(DIRECT);
}

/* Memory of the other kind, on all ranks and on one; a rank whose device is not there, or fails. */
void hybrid_refused(void)
{
    static t_log_t     log;
    size_t             examples[T_RANKS_MAX] = {1, 1, 1, 1, 1, 1, 1};
    const bool         last                  = t_rank == t_size - 1;
    const place_t      device                = {true, NULL};
    tw_exec_t          exec;
    tw_hybrid_config_t on  = {.scheme   = TW_SCHEME_B,
                              .features = FEATURES,
                              .examples = examples,
                              .exec     = place_exec(&device, &exec)};
    tw_hybrid_config_t off = {.scheme = TW_SCHEME_B, .features = FEATURES, .examples = examples};
    float              here[FEATURES], *there = place_get(&device, sizeof(here));
    tw_hybrid_t       *h = NULL;
    tw_context_t      *ctx;
    tw_comm_t         *comm = device_logged(&log, &ctx);

    stub_current = last ? 0 : 1;
    T_STATUS(tw_hybrid_create(comm, &on, &h), TW_ERR_UNSUPPORTED);
    T_CHECK(!last || strstr(log.text, "there is no device that works") != NULL, "%s", log.text);
    stub_current    = 1;
    stub_calls_left = last ? 1 : 0;
    T_STATUS(tw_hybrid_create(comm, &on, &h), TW_ERR_IO);
    stub_calls_left = 0;
    if (t_size > 1) {
        T_STATUS(tw_hybrid_create(comm, last ? &off : &on, &h), TW_ERR_MISMATCH);
        T_CHECK(t_log_holds(MPI_COMM_WORLD, &log, "kinds of memory differ"), "%s", log.text);
    }
    if (last) {
        comm->device->pool[TW_DEVICE_MEMORY].limit = 1000;
    }
    T_STATUS(tw_hybrid_create(comm, &on, &h), t_size > 1 ? TW_ERR_NO_MEMORY : TW_OK);
    tw_hybrid_destroy(h);
    comm->device->pool[TW_DEVICE_MEMORY].limit = UINT64_MAX;
    T_OK(tw_hybrid_create(comm, &on, &h));
    T_STATUS(tw_hybrid_run(h, here, there, compute, NULL), TW_ERR_INVALID_ARG);
    SAYS(log, "buffer 'x' is not memory of the device");
    T_STATUS(tw_hybrid_run(h, there, here, compute, NULL), TW_ERR_INVALID_ARG);
    tw_hybrid_destroy(h);
    T_OK(tw_hybrid_create(comm, &off, &h));
    T_STATUS(tw_hybrid_run(h, here, there, compute, NULL), TW_ERR_INVALID_ARG);
    SAYS(log, "buffer 'gx' is device memory; exec must say TW_MEMORY_CUDA");
    tw_hybrid_destroy(h);
    place_put(&device, there);
    device_comm_done(comm, ctx);
}
