/* SPDX-License-Identifier: BSD-3-Clause
 * tests/train/ranks.c - training on several ranks: the same as on one with fp32, runs that go on
 * on one, checkpoints that are not believed, errors that reach every rank.
 */
#include "config.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/mpi/harness.h"
#include "tests/train/hybrid_net.h"
#include "tests/train/small_net.h"
#include "tests/train/runs.h"
#include "train/checkpoint/checkpoint.h"
#include "train/loop.h"

static char scratch[512];

static tw_train_options_t options_of(const char *model, const char *codec, uint64_t epochs)
{
    tw_train_options_t options;
    tw_problem_t       problem = {0};
    char               name[] = "thinwire-train", *argv[] = {name};

    tw_train_options_parse(&options, 1, argv, &problem);
    options.model  = model;
    options.data   = "digits:train=203";
    options.codec  = codec;
    options.epochs = epochs;
    options.batch  = 100;
    return options;
}

/* ---- as on one rank ------------------------------------------------------------------------ */

/* How far values are from others, relative to the way they have gone. Nothing is split here. */
static double distance(const tw_params_t *a, const tw_params_t *b, const tw_params_t *start)
{
    double apart = 0.0, way = 0.0;

    for (size_t i = 0; i < a->total; i++) {
        apart += pow((double)a->value[i] - b->value[i], 2.0);
        way += pow((double)b->value[i] - start->value[i], 2.0);
    }
    return sqrt(apart / way);
}

static void compare(const tw_training_t *many, const tw_training_t *one, const tw_training_t *start)
{
    const double losses[2] = {many->records[1].train_loss, one->records[1].train_loss};
    const double apart     = distance(&many->params, &one->params, &start->params);

    T_CHECK(apart < (t_size == 1 ? 1e-30 : 2e-4), "%g apart", apart);
    T_CHECK(fabs(losses[0] - losses[1]) < 1e-4 * losses[1], "losses %.9g and %.9g", losses[0],
            losses[1]);
}

/* 203 images in batches of 100: shares differ in size, and the last batch leaves ranks idle. */
static void equals_one_rank(void)
{
    static const char *const codecs[] = {"fp32", "mpi"};

    for (size_t k = 0; k < 2; k++) {
        const tw_train_options_t options = options_of("mlp", codecs[k], 2);
        tw_training_t            many, one, start;
        tw_problem_t             problem = {0};

        t_note("codec %s", codecs[k]);
        run(&many, &options, MPI_COMM_WORLD);
        if (t_rank == 0) {
            run(&one, &options, MPI_COMM_SELF);
            T_CHECK(tw_training_create(&start, &options, t_ctx, MPI_COMM_SELF, &problem) == 0, "-");
            compare(&many, &one, &start);
            tw_training_destroy(&start);
            tw_training_destroy(&one);
        }
        MPI_Barrier(MPI_COMM_WORLD);
        tw_training_destroy(&many);
    }
}

/* ---- stop and go on ------------------------------------------------------------------------ */

/* Codecs that want error feedback get it: the residuals of all ranks are in the checkpoint. */
static void residuals_are_kept(void)
{
    static const char *const codecs[] = {"fp32", "tree8", "onebit"};
    long                     bytes[3] = {0};

    hybrid_path(scratch, sizeof(scratch), "residuals");
    for (size_t k = 0; k < 3; k++) {
        tw_train_options_t options = options_of("linear", codecs[k], 1);
        tw_training_t      t;
        FILE              *file;

        options.checkpoint = scratch;
        run(&t, &options, MPI_COMM_WORLD);
        tw_training_destroy(&t);
        if (t_rank == 0) {
            file = fopen(scratch, "rb");
            fseek(file, 0, SEEK_END);
            bytes[k] = ftell(file);
            fclose(file);
        }
    }
    T_CHECK(bytes[1] == bytes[0], "tree8 %ld, fp32 %ld bytes", bytes[1], bytes[0]);
    T_CHECK(t_rank != 0 || bytes[2] > bytes[0] + 7840L * 4 * t_size, "onebit %ld, fp32 %ld bytes",
            bytes[2], bytes[0]);
}

/* A checkpoint of all ranks, gone on with by one. */
static void can_go_on(const char *model)
{
    tw_train_options_t options = options_of(model, "onebit", 2);
    tw_training_t      many, one;

    hybrid_path(scratch, sizeof(scratch), "others");
    options.checkpoint = scratch;
    run(&many, &options, MPI_COMM_WORLD);
    MPI_Barrier(MPI_COMM_WORLD);
    options.resume = 1;
    if (t_rank == 0) {
        run(&one, &options, MPI_COMM_SELF);
        T_CHECK(one.hash == many.hash, "one rank reads other weights");
        tw_training_destroy(&one);
        options.epochs = 3;
        run(&one, &options, MPI_COMM_SELF);
        T_CHECK(one.records[2].train_loss < one.records[0].train_loss, "it learns no more");
        tw_training_destroy(&one);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    tw_training_destroy(&many);
}

/* ---- checkpoints that are not believed ------------------------------------------------------ */

static void other_ranks_can_go_on(void)
{
    char branches[512];

    hybrid_write(branches, sizeof(branches), "branches.cfg", branches_net_text);
    can_go_on("mlp");
    can_go_on(branches);
}

static void foreign_checkpoints_are_refused(void)
{
    tw_train_options_t options = options_of("linear", "onebit", 1), other;
    tw_training_t      t;

    hybrid_path(scratch, sizeof(scratch), "foreign");
    options.checkpoint = scratch;
    run(&t, &options, MPI_COMM_WORLD);
    tw_training_destroy(&t);
    options.resume = 1;
    options.epochs = 2;
    run(&t, &options, MPI_COMM_WORLD);
    tw_training_destroy(&t);

    other       = options;
    other.model = "mlp";
    expect_refusal(&other, "is of model linear, this run of mlp");
    other       = options;
    other.codec = "tree8";
    expect_refusal(&other, "is of codec onebit:block=2048, this run of tree8");
    other      = options;
    other.seed = 2;
    expect_refusal(&other, "is of seed 1, this run of 2");
    other       = options;
    other.batch = 50;
    expect_refusal(&other, "is of batch 100, this run of 50");
    other      = options;
    other.rate = 0.005;
    expect_refusal(&other, "is of learning rate 0.006, this run of 0.005");
    other      = options;
    other.data = "digits:train=203,seed=2";
    expect_refusal(&other, "is of other data");
    other            = options;
    other.checkpoint = "/nonexistent/checkpoint";
    expect_refusal(&other, "/nonexistent/checkpoint: cannot be");
}

/* Write n bytes to the scratch file, with byte `at` changed (at >= n: none). */
static void write_changed(const char *bytes, size_t n, size_t at)
{
    FILE *file;

    if (t_rank == 0) {
        file = fopen(scratch, "wb");
        T_CHECK(file != NULL && fwrite(bytes, 1, n, file) == n, "cannot write %s", scratch);
        if (at < n) {
            fseek(file, (long)at, SEEK_SET);
            fputc(bytes[at] ^ 0x10, file);
        }
        fclose(file);
    }
    MPI_Barrier(MPI_COMM_WORLD);
}

static void damaged_checkpoints_are_refused(void)
{
    enum { MOST = 1 << 20, TRIES = 10 };
    static char        bytes[MOST];
    tw_train_options_t options = options_of("linear", "onebit", 1);
    tw_training_t      t;
    char               before[24];
    size_t             n = 0;
    FILE              *file;

    hybrid_path(scratch, sizeof(scratch), "damaged");
    options.checkpoint = scratch;
    run(&t, &options, MPI_COMM_WORLD);
    tw_training_destroy(&t);
    if (t_rank == 0) {
        file = fopen(scratch, "rb");
        n    = fread(bytes, 1, MOST, file);
        fclose(file);
    }
    MPI_Bcast(&n, sizeof(n), MPI_BYTE, 0, MPI_COMM_WORLD);
    options.resume = 1;
    for (size_t k = 0; k < TRIES; k++) {
        write_changed(bytes, n, n * k / TRIES + k % 7);
        expect_refusal(&options, k == 0 ? "is not a checkpoint" : "checkpoint");
        write_changed(bytes, n * k / TRIES, n);
        expect_refusal(&options, n * k / TRIES < 8 ? "is not a checkpoint" : "is");
    }
    write_changed(bytes, n - 1, n);
    expect_refusal(&options, "check sum is wrong");
    write_changed(bytes, n, 8);
    expect_refusal(&options, "was written on a machine of other byte order");
    memcpy(before, bytes, sizeof(before));
    memcpy(bytes, "twtrain2", 8);
    bytes[16] = 2;
    write_changed(bytes, n, n);
    expect_refusal(&options, "was written by another version, in format 2; this version reads");
    write_changed(bytes, 24, n);
    expect_refusal(&options, "was written by another version, in format 2; this version reads");
    memcpy(bytes, before, sizeof(before));
    write_changed(bytes, 100, n);
    expect_refusal(&options, "is damaged or incomplete");
    write_changed(bytes, n, n);
    run(&t, &options, MPI_COMM_WORLD);
    tw_training_destroy(&t);
}

/* ---- errors while training ------------------------------------------------------------------ */

static const tw_param_t *param_of(const tw_training_t *t, const char *layer, tw_param_role_t role)
{
    size_t l = 0;

    while (l + 1 < t->network.layers && strcmp(t->network.layer[l].name, layer) != 0) {
        l++;
    }
    return tw_params_find(&t->params, l, role);
}

static void changed_weights_are_found(void)
{
    const tw_train_options_t options = options_of("mlp", "tree8", 1);
    tw_problem_t             problem = {0};
    tw_training_t            t;
    char                     want[64];

    T_CHECK(tw_training_create(&t, &options, t_ctx, MPI_COMM_WORLD, &problem) == 0,
            "create failed");
    if (t_rank == t_size - 1) {
        t.params.value[param_of(&t, "fc2", TW_WEIGHT)->first + 12345] += 0.01f;
    }
    T_CHECK(tw_training_run(&t, &problem) == -1, "ranks with other weights were not found");
    snprintf(want, sizeof(want), "rank %d has other weights than rank 0 in layer fc2", t_size - 1);
    T_CHECK(strstr(problem.text, want) != NULL, "got '%s'", problem.text);
    tw_training_destroy(&t);
}

/* One rank's bad number reaches all through any codec, and all stop together. */
static void bad_numbers_stop_all(void)
{
    static const char *const codecs[] = {"fp32", "tree8", "onebit"};

    for (size_t k = 0; k < 3; k++) {
        const tw_train_options_t options = options_of("mlp", codecs[k], 1);
        tw_problem_t             problem = {0};
        tw_training_t            t;

        t_note("codec %s", codecs[k]);
        T_CHECK(tw_training_create(&t, &options, t_ctx, MPI_COMM_WORLD, &problem) == 0, "create");
        if (t_rank == t_size - 1) {
            t.params.value[param_of(&t, "fc3", TW_WEIGHT)->first + 3] = NAN;
        }
        T_CHECK(tw_training_run(&t, &problem) == -1, "it went on");
        T_CHECK(strstr(problem.text, "the loss is not finite in epoch 1, step 1, and the first "
                                     "output that is not is that of layer fc3;") != NULL,
                "got '%s'", problem.text);
        tw_training_destroy(&t);
    }
}

/* NAN as a weight of a dense layer; infinity as the bias of a convolution, since the ReLU that
 * follows makes zeros of NANs: for the same reason no weight between the infinity and the loss is
 * negative. */
static void spoil(tw_training_t *t, const char *name)
{
    const tw_param_t *conv2 = param_of(t, "conv2", TW_WEIGHT);

    if (strncmp(name, "fc", 2) == 0) {
        t->params.value[param_of(t, name, TW_WEIGHT)->first] = NAN;
        return;
    }
    t->params.value[param_of(t, name, TW_BIAS)->first] = INFINITY;
    for (size_t i = 0; i < conv2->count; i++) {
        t->params.value[conv2->first + i] = fabsf(t->params.value[conv2->first + i]);
    }
}

/* The first layer that gave one is named on all ranks, wherever it is: what one rank sees of its
 * own images, or of its own share of split layers. */
static void bad_layers_are_named(void)
{
    static const char *const layers[] = {"conv1", "conv2", "fc1", "fc2"};

    for (size_t k = 0; k < 8; k++) {
        const char        *name    = layers[k % 4];
        tw_train_options_t options = options_of("lenet", "grad=onebit,act=tree8", 1);
        tw_problem_t       problem = {0};
        tw_training_t      t;
        char               want[128];

        options.scheme        = k < 4 ? "c" : "a";
        options.division.kind = k < 4 ? SCHEME_C : SCHEME_A;
        t_note("layer %s, scheme %s", name, options.scheme);
        T_CHECK(tw_training_create(&t, &options, t_ctx, MPI_COMM_WORLD, &problem) == 0, "create");
        if (t_rank == t_size - 1) {
            spoil(&t, name);
        }
        T_CHECK(tw_training_run(&t, &problem) == -1, "it went on");
        snprintf(want, sizeof(want),
                 "epoch 1, step 1, and the first output that is not is that of "
                 "layer %s;",
                 name);
        T_CHECK(strstr(problem.text, want) != NULL, "got '%s'", problem.text);
        tw_training_destroy(&t);
    }
}

/* A step whose loss is good leaves weights that are not, which all ranks have or one alone: the
 * layer is named, and no checkpoint written. */
static void bad_weights_are_named(void)
{
    static const char *const layers[] = {"conv2", "fc1"};

    hybrid_path(scratch, sizeof(scratch), "never");
    for (size_t k = 0; k < 2; k++) {
        tw_train_options_t options = options_of("lenet", "fp32", 2);
        tw_problem_t       problem = {0};
        tw_training_t      t;
        char               want[128];

        options.scheme        = "c";
        options.division.kind = SCHEME_C;
        options.batch         = 203; /* a step is an epoch */
        options.checkpoint    = scratch;
        t_note("layer %s", layers[k]);
        T_CHECK(tw_training_create(&t, &options, t_ctx, MPI_COMM_WORLD, &problem) == 0, "create");
        if (k == 0 || t_rank == t_size - 1) {
            t.params.momentum[param_of(&t, layers[k], TW_WEIGHT)->state] = INFINITY;
        }
        T_CHECK(tw_training_run(&t, &problem) == -1, "it went on");
        snprintf(want, sizeof(want), "after epoch 1 weights of layer %s are not finite", layers[k]);
        T_CHECK(strstr(problem.text, want) != NULL, "got '%s'", problem.text);
        tw_training_destroy(&t);
    }
    if (t_rank == 0) {
        FILE *file = fopen(scratch, "rb");

        T_CHECK(file == NULL, "a checkpoint was written");
        if (file != NULL) {
            fclose(file);
        }
    }
}

int main(int argc, char **argv)
{
    static const t_case_t cases[] = {
        {"equals_one_rank", equals_one_rank, 1},
        {"residuals_are_kept", residuals_are_kept, 1},
        {"other_ranks_can_go_on", other_ranks_can_go_on, 1},
        {"foreign_checkpoints_are_refused", foreign_checkpoints_are_refused, 1},
        {"damaged_checkpoints_are_refused", damaged_checkpoints_are_refused, 1},
        {"changed_weights_are_found", changed_weights_are_found, 2},
        {"bad_numbers_stop_all", bad_numbers_stop_all, 1},
        {"bad_layers_are_named", bad_layers_are_named, 1},
        {"bad_weights_are_named", bad_weights_are_named, 1},
    };

    return t_main(argc, argv, cases, sizeof(cases) / sizeof(cases[0]));
}
