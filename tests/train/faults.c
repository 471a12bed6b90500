/* SPDX-License-Identifier: BSD-3-Clause
 * tests/train/faults.c - training over ranks where one of them differs: weights that are not
 * finite, which only their rank sees, the layer where that began, and what the ranks decide
 * together.
 */
#include "config.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "tests/mpi/harness.h"
#include "tests/train/hybrid_net.h"
#include "train/loop.h"
#include "train/step/step.h"

/* Biases are summed exactly whatever their number, weights within what the codec loses. */
static void biases_travel_exactly(void)
{
    static const char *const words[] = {"x",      "--model",         "mlp",     "--codec", "tree8",
                                        "--data", "digits:train=60", "--batch", "60"};
    tw_train_options_t       options;
    tw_training_t            t;
    tw_problem_t             problem = {0};
    int                      lossy   = 0;

    tw_train_options_parse(&options, sizeof(words) / sizeof(words[0]), (char **)(uintptr_t)words,
                           &problem);
    T_CHECK(tw_training_create(&t, &options, t_ctx, MPI_COMM_WORLD, &problem) == 0, "%s",
            problem.text);
    for (size_t i = 0; i < t.params.total; i++) {
        t.params.gradient[i] = (float)(i % 1009) / 1024.0f;
    }
    T_CHECK(tw_exchange_ready(t.exchange, 0, &problem) == 0 &&
                tw_exchange_finish(t.exchange, &problem) == 0,
            "%s", problem.text);
    for (size_t k = 0; k < t.params.count; k++) {
        const tw_param_t *p = &t.params.param[k];

        for (size_t i = p->first; i < p->first + p->count; i++) {
            const int same = t.params.gradient[i] == (float)t_size * ((float)(i % 1009) / 1024.0f);

            lossy |= !same;
            T_CHECK(same || p->role == TW_WEIGHT, "%s", p->name);
        }
    }
    T_CHECK(lossy, "nothing was lost");
    tw_training_destroy(&t);
}

/* ---- what one rank alone sees -------------------------------------------------------------- */

/* Make a training of 97 images, all of them a batch. */
static void make_one_step(tw_training_t *t, const tw_train_options_t *options,
                          tw_problem_t *problem)
{
    *problem = (tw_problem_t){0};
    T_CHECK(tw_training_create(t, options, t_ctx, MPI_COMM_WORLD, problem) == 0, "%s",
            problem->text);
}

/* Fault on the last rank, in a tensor of that layer. */
static void spoil(tw_training_t *t, const char *name, int rate)
{
    for (size_t i = 0; t_rank == t_size - 1 && i < t->params.count; i++) {
        tw_param_t *p = &t->params.param[i];

        if (strcmp(p->name, name) == 0 && rate) {
            p->rate = INFINITY;
        } else if (strcmp(p->name, name) == 0) {
            t->params.value[p->first] = NAN;
        }
    }
}

static int finite_here(const tw_training_t *t)
{
    for (size_t i = 0; i < t->params.total; i++) {
        if (!isfinite(t->params.value[i])) {
            return 0;
        }
    }
    return 1;
}

/* Weights that only one rank holds, and that its last update has spoilt: all ranks stop, with the
 * same problem. */
static void one_rank_is_not_finite(void)
{
    char               path[600];
    tw_training_t      t;
    tw_problem_t       problem;
    tw_train_options_t options;

    hybrid_net_write(path, sizeof(path), HYBRID_SMALL, "");
    options        = hybrid_options(path, "c", 97);
    options.epochs = 1;
    make_one_step(&t, &options, &problem);
    spoil(&t, "fc3.weight", 1);
    T_CHECK(tw_training_run(&t, &problem) != 0 && !problem.fatal, "%s", problem.text);
    T_CHECK(finite_here(&t) == (t_rank < t_size - 1), "not what was meant");
    T_CHECK(strstr(problem.text, "after epoch 1 weights of layer fc3 are not finite") != NULL, "%s",
            problem.text);
    T_CHECK(t.epochs == 0, "the epoch counts");
    tw_training_destroy(&t);
}

/* The layer where it began, on whatever rank that was. */
static void the_layer_is_named(void)
{
    char                 path[600];
    tw_training_t        t;
    tw_problem_t         problem;
    tw_training_record_t record = {0};
    tw_train_options_t   options;

    hybrid_net_write(path, sizeof(path), HYBRID_SMALL, "");
    options    = hybrid_options(path, "c", 97);
    options.bn = "local";
    make_one_step(&t, &options, &problem);
    spoil(&t, "conv2.weight", 0);
    T_CHECK(tw_step_train(&t, &record, &problem) != 0 && !problem.fatal, "%s", problem.text);
    T_CHECK(strstr(problem.text, "epoch 1, step 1") && strstr(problem.text, "layer conv2"), "%s",
            problem.text);
    tw_training_destroy(&t);
}

/* The adaptive rule needs the accuracy, which split logistic units else do not count. */
static void adaptive_counts_errors(void)
{
    char               path[600];
    tw_training_t      t;
    tw_problem_t       problem;
    tw_train_options_t options;

    hybrid_net_write(path, sizeof(path), HYBRID_SMALL, "loss = \"logistic\";\n");
    options              = hybrid_options(path, "c", 97);
    options.bn           = "adaptive";
    options.bn_tolerance = 0.9;
    options.bn_patience  = 1;
    options.epochs       = 3;
    make_one_step(&t, &options, &problem);
    T_CHECK(tw_training_run(&t, &problem) == 0, "%s", problem.text);
    T_CHECK(t.records[0].train_error >= 0.0 && t.records[0].train_error <= 1.0, "%g",
            t.records[0].train_error);
    T_CHECK(t.records[0].global == 0.0 && t.records[2].global == 1.0, "%g, %g", t.records[0].global,
            t.records[2].global);
    tw_training_destroy(&t);
}

static const t_case_t cases[] = {
    {"biases_travel_exactly", biases_travel_exactly, 1},
    {"one_rank_is_not_finite", one_rank_is_not_finite, 1},
    {"the_layer_is_named", the_layer_is_named, 1},
    {"adaptive_counts_errors", adaptive_counts_errors, 1},
};

int main(int argc, char **argv)
{
    return t_main(argc, argv, cases, sizeof(cases) / sizeof(cases[0]));
}
