/* SPDX-License-Identifier: BSD-3-Clause
 * tests/gpu/standin/train.c - whole runs of training on devices of the stand-in, beside the same
 * runs on the processor: every scheme and kind of owners, 10 steps (TW_ALL: 20).
 *
 * How far may weights be apart? Sums over the images of a batch are in another order. So the order
 * of the images inside every batch is shuffled (tw_feed_shuffle()) and the run repeated on the
 * processor: mathematically it is the same, and how far its weights are from the others' is what
 * rounding makes of so many steps. Devices may be ten times as far off. Two runs on devices end
 * with the same bits, in whatever order the stand-in does their work.
 */
#include "config.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/gpu/standin/standin.h"
#include "tests/mpi/harness.h"
#include "tests/train/hybrid_net.h"
#include "tests/train/runs.h"
#include "train/checkpoint/checkpoint.h"

enum { ORDERS = 3, BATCH = 12 };

static char model[600], checkpoint[600];

static int seeds(void)
{
    return getenv("TW_ALL") != NULL ? 20 : 2;
}

static int steps(void)
{
    return getenv("TW_ALL") != NULL ? 20 : 10;
}

static tw_train_options_t options_of(const char *scheme, const char *update, const char *codec)
{
    tw_train_options_t options;
    tw_problem_t       problem = {0};
    const char        *words[] = {"x",
                                  "--model",
                                  model,
                                  "--scheme",
                                  scheme,
                                  "--data",
                                  "random:12x10x1,5,n=40,test=13",
                                  "--bn",
                                  "global",
                                  "--codec",
                                  codec,
                                  "--update",
                                  update,
                                  "--augment",
                                  "crop:pad=2 mirror mean:127.5 scale:0.00784"};

    tw_train_options_parse(&options, sizeof(words) / sizeof(words[0]), (char **)(uintptr_t)words,
                           &problem);
    T_CHECK(!problem.set, "%s", problem.text);
    options.batch      = BATCH;
    options.steps      = steps();
    options.eval_every = steps();
    return options;
}

/* A run with its images in another order inside each batch, to be destroyed. */
static void run_in_order(tw_training_t *t, const tw_train_options_t *options, uint64_t order)
{
    tw_problem_t problem = {0};

    if (tw_training_create(t, options, t_ctx, MPI_COMM_WORLD, &problem) != 0) {
        fprintf(stderr, "rank %d: no run: %s\n", t_rank, problem.text);
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
    if (order != 0) {
        tw_feed_shuffle(t->feed, order);
    }
    if (tw_training_run(t, &problem) != 0) {
        fprintf(stderr, "rank %d: a run failed: %s\n", t_rank, problem.text);
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
}

/* The weights of this rank in memory of the host. */
static float *weights_of(const tw_training_t *t)
{
    float       *host    = malloc(t->params.total * sizeof(*host) + 1);
    tw_problem_t problem = {0};

    T_CHECK(tw_params_get(&t->params, host, t->params.value, t->params.total, &problem) == 0, "%s",
            problem.text);
    return host;
}

static float *run_for_weights(const tw_train_options_t *options, uint64_t order, uint64_t *hash_p)
{
    tw_training_t t;
    float        *weights;

    run_in_order(&t, options, order);
    T_CHECK(t.options->device == TW_BIND_NONE || tw_backend_memory(t.backend) == TW_MEMORY_CUDA,
            "it runs on the processor");
    weights = weights_of(&t);
    *hash_p = t.hash;
    tw_training_destroy(&t);
    return weights;
}

/* Of the weights of all ranks together, by their norms. */
static double apart(const float *a, const float *b, size_t n)
{
    double sum = 0.0, all = 0.0;

    for (size_t i = 0; i < n; i++) {
        sum += pow((double)a[i] - (double)b[i], 2.0);
    }
    MPI_Allreduce(&sum, &all, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    return sqrt(all);
}

static size_t count_weights(const tw_train_options_t *options)
{
    tw_training_t t;
    tw_problem_t  problem = {0};
    size_t        n;

    T_CHECK(tw_training_create(&t, options, t_ctx, MPI_COMM_WORLD, &problem) == 0, "%s",
            problem.text);
    n = t.params.total;
    tw_training_destroy(&t);
    return n;
}

/* What rounding makes of the run. */
static double rounding_of(const tw_train_options_t *options, const float *weights, size_t n)
{
    double   most = 0.0;
    uint64_t hash;

    for (uint64_t order = 1; order <= ORDERS; order++) {
        float       *other = run_for_weights(options, order, &hash);
        const double far   = apart(weights, other, n);

        most = far > most ? far : most;
        free(other);
    }
    return most;
}

static void as_on_the_processor(const char *scheme, const char *update)
{
    tw_train_options_t options = options_of(scheme, update, "fp32");
    const size_t       n       = count_weights(&options);
    uint64_t           hash, first = 0;
    float             *host     = run_for_weights(&options, 0, &hash);
    const double       rounding = rounding_of(&options, host, n);

    options.device = TW_BIND_AUTO;
    for (int k = 0; k < seeds(); k++) {
        float *device;
        double far;

        standin_seed((uint64_t)k + t_seed);
        device = run_for_weights(&options, 0, &hash);
        far    = apart(host, device, n);
        first  = k == 0 ? hash : first;
        T_CHECK(far <= 10.0 * rounding && rounding > 0.0, "%g apart; rounding makes %g", far,
                rounding);
        T_CHECK(hash == first, "order %d of execution gives other weights", k);
        free(device);
    }
    free(host);
}

static void every_scheme(void)
{
    static const char *const schemes[] = {"data", "a", "b", "c", "group=2"};

    for (size_t k = 0; k < sizeof(schemes) / sizeof(schemes[0]); k++) {
        t_within("scheme %s", schemes[k]);
        as_on_the_processor(schemes[k], "replicated");
    }
}

static void every_owner(void)
{
    t_within("sharded, scheme data");
    as_on_the_processor("data", "sharded");
    t_within("root, scheme c");
    as_on_the_processor("c", "root");
}

/* Codecs that lose something, and MPI's own sums: two orders of execution give the same bits. */
static void every_kind_of_codec(void)
{
    static const char *const codecs[]  = {"onebit", "act=tree8,grad=fp16", "mpi",
                                          "weight=awp:T=1e9,interval=3,grad=tree8"};
    static const char *const schemes[] = {"data", "c", "data", "data"};
    static const char *const updates[] = {"replicated", "replicated", "replicated", "sharded"};

    for (size_t k = 0; k < sizeof(codecs) / sizeof(codecs[0]); k++) {
        tw_train_options_t options = options_of(schemes[k], updates[k], codecs[k]);
        uint64_t           hash[2];

        t_within("codec %s", codecs[k]);
        options.steps = options.eval_every = 7;
        options.device                     = TW_BIND_AUTO;
        for (int i = 0; i < 2; i++) {
            standin_seed((uint64_t)i + t_seed);
            free(run_for_weights(&options, 0, &hash[i]));
        }
        T_CHECK(hash[0] == hash[1], "another order of execution gives other weights");
    }
}

/* Four steps on one kind of device, their checkpoint on another, and two more there. */
static float *resumed(const tw_train_options_t *how, int writer, int reader, uint64_t *hash_p)
{
    tw_train_options_t options = *how;
    tw_training_t      first, second;

    options.checkpoint = checkpoint;
    options.steps = options.eval_every = 4;
    options.device                     = writer;
    run(&first, &options, MPI_COMM_WORLD);
    MPI_Barrier(MPI_COMM_WORLD);
    options.device = reader;
    options.resume = 1;
    run(&second, &options, MPI_COMM_WORLD);
    T_CHECK(second.step == 4 && second.hash == first.hash, "other weights");
    tw_training_destroy(&second);
    tw_training_destroy(&first);
    options.steps = options.eval_every = 6;
    return run_for_weights(&options, 0, hash_p);
}

/* A run that was stopped ends as one that was not: with the same bits where both were on devices,
 * as near as runs on both are where it has changed the kind. */
static void goes_on(const tw_train_options_t *how)
{
    static const int   kinds[] = {TW_BIND_NONE, TW_BIND_AUTO};
    tw_train_options_t options = *how;
    const size_t       n       = count_weights(&options);
    uint64_t           whole, hash;
    float             *host = run_for_weights(&options, 0, &hash);
    const double       most = 10.0 * rounding_of(&options, host, n);

    options.device = TW_BIND_AUTO;
    free(run_for_weights(&options, 0, &whole));
    for (int k = 1; k < 4; k++) { /* from the processor to it: tests/train */
        float       *weights = resumed(how, kinds[k / 2], kinds[k % 2], &hash);
        const double far     = apart(host, weights, n);

        T_CHECK(far <= most, "from kind %d to %d: %g apart; at most %g", k / 2, k % 2, far, most);
        T_CHECK(k < 3 || hash == whole, "other weights than in one go");
        free(weights);
    }
    free(host);
}

/* A checkpoint is the same state wherever it was written and is read. */
static void checkpoints_go_between(void)
{
    static const char *const updates[] = {"replicated", "sharded"};
    static const char *const schemes[] = {"data", "c"};

    for (int k = 0; k < 2; k++) {
        tw_train_options_t options = options_of(schemes[k], updates[k], "fp32");

        t_within("scheme %s, %s", schemes[k], updates[k]);
        options.steps = options.eval_every = 6;
        goes_on(&options);
    }
}

static void write_model(void)
{
    hybrid_net_write(model, sizeof(model), HYBRID_CODED, "");
    hybrid_path(checkpoint, sizeof(checkpoint), "checkpoint");
}

static void schemes_begin(void)
{
    write_model();
    every_scheme();
}

static void owners_begin(void)
{
    write_model();
    every_owner();
}

static void codecs_begin(void)
{
    write_model();
    every_kind_of_codec();
}

static void checkpoints_begin(void)
{
    write_model();
    checkpoints_go_between();
}

static const t_case_t cases[] = {
    {"every scheme", schemes_begin, 1},
    {"every owner", owners_begin, 1},
    {"every kind of codec", codecs_begin, 1},
    {"checkpoints go between", checkpoints_begin, 1},
};

T_MAIN(cases)
