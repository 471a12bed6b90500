/* SPDX-License-Identifier: BSD-3-Clause
 * tests/train/evaluations.c - tests of the model in a run: errors counted from known outputs, and
 * runs that stop at an error.
 */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/mpi/harness.h"
#include "tests/train/hybrid_net.h"
#include "tests/train/runs.h"
#include "train/base/random.h"

static tw_train_options_t options_of(const char *scheme, const char *data, const char *more)
{
    return options_from("x --model linear --batch 16 --scheme %s --data %s %s", scheme, data, more);
}

/* ---- known outputs -------------------------------------------------------------------------- */

enum { KEY = 5 };

/* Integers but 0, some of them equal: a rate that is too small to change them leaves them as they
 * are, and weights so small that adding them to one of these does not change it. */
static float bias_of(size_t unit)
{
    const int value = (int)tw_random_below(KEY, unit, 6) - 3;

    return (float)(value >= 0 ? value + 1 : value);
}

static void set_biases(tw_training_t *t)
{
    const tw_param_t *p = tw_params_find(&t->params, 0, TW_BIAS);

    for (size_t u = 0; u < p->units; u++) {
        t->params.value[p->first + u] = bias_of(p->units_first + u);
    }
}

static void count_wrong(const tw_training_t *t, double *error_p, double *error_top5_p)
{
    const tw_source_t *source = tw_feed_source(t->feed);
    const double       n      = (double)source->part[TW_SUBSET_TEST].n;
    double             one = 0.0, five = 0.0;

    for (size_t i = 0; i < source->part[TW_SUBSET_TEST].n; i++) {
        const float own     = bias_of(source->part[TW_SUBSET_TEST].labels[i]);
        int         greater = 0;

        for (size_t u = 0; u < source->classes; u++) {
            greater += bias_of(u) > own;
        }
        one += greater >= 1;
        five += greater >= 5;
    }
    *error_p      = one / n;
    *error_top5_p = five / n;
}

/* More classes than five, and fewer; so many ranks that some have no class, or no image. */
static void known_outputs_are_counted(void)
{
    static const char *const schemes[] = {"data", "a", "b", "c", "group=2"};
    static const char *const sets[]    = {"random:28x28x1,23,n=40,test=107",
                                          "random:28x28x1,3,n=40,test=33"};

    for (size_t k = 0; k < 10; k++) {
        const tw_train_options_t options =
            options_of(schemes[k % 5], sets[k / 5], "--lr 1e-12 --epochs 1");
        tw_problem_t  problem = {0};
        tw_training_t t;
        double        error, error_top5;

        t_note("scheme %s, data %s", options.scheme, options.data);
        T_CHECK(tw_training_create(&t, &options, t_ctx, MPI_COMM_WORLD, &problem) == 0, "create");
        set_biases(&t);
        T_CHECK(tw_training_run(&t, &problem) == 0, "%s", problem.text);
        count_wrong(&t, &error, &error_top5);
        T_CHECK(t.records[0].test_error == error && t.records[0].test_error_top5 == error_top5,
                "errors %.9g and %.9g, wanted %.9g and %.9g", t.records[0].test_error,
                t.records[0].test_error_top5, error, error_top5);
        T_CHECK(k < 5 ? error_top5 > 0.0 && error_top5 < error : error_top5 == 0.0 && error > 0.0,
                "errors %g and %g show little", error, error_top5);
        tw_training_destroy(&t);
    }
}

/* ---- until ---------------------------------------------------------------------------------- */

/* The outputs never change, so that either the first test is good enough or none is. */
static void runs_stop_at_their_error(void)
{
    const struct {
        int    five, by_five; /* what is asked for; the bound is top-5 error   */
        double more;          /* than it                                       */
        int    reached;
    } cases[] = {{0, 0, 0.0, 1}, {0, 0, -1e-9, 0}, {0, 1, 0.0, 0},
                 {1, 1, 0.0, 1}, {1, 1, -1e-9, 0}, {1, 0, 0.0, 1}};

    for (size_t k = 0; k < 12; k++) {
        tw_train_options_t options =
            options_of(k < 6 ? "data" : "c", "random:28x28x1,23,n=40,test=107",
                       "--lr 1e-12 --epochs 3 --eval-every 2");
        tw_problem_t  problem = {0};
        tw_training_t t;
        double        error, error_top5;

        t_note("case %zu", k);
        T_CHECK(tw_training_create(&t, &options, t_ctx, MPI_COMM_WORLD, &problem) == 0, "create");
        set_biases(&t);
        count_wrong(&t, &error, &error_top5);
        options.until_five = cases[k % 6].five;
        options.until      = (cases[k % 6].by_five ? error_top5 : error) + cases[k % 6].more;
        options.until_text = "-";
        T_CHECK(tw_training_run(&t, &problem) == 0, "%s", problem.text);
        T_CHECK(t.step == (cases[k % 6].reached ? 2 : 9), "%d steps", (int)t.step);
        T_CHECK(t.evaluations.count == (cases[k % 6].reached ? 1 : 6), "%zu tests",
                t.evaluations.count);
        T_CHECK(t.epochs == (cases[k % 6].reached ? 1 : 3), "%d epochs", (int)t.epochs);
        tw_training_destroy(&t);
    }
}

int main(int argc, char **argv)
{
    static const t_case_t cases[] = {
        {"known_outputs_are_counted", known_outputs_are_counted, 1},
        {"runs_stop_at_their_error", runs_stop_at_their_error, 1},
    };

    return t_main(argc, argv, cases, sizeof(cases) / sizeof(cases[0]));
}
