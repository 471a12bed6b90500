/* SPDX-License-Identifier: BSD-3-Clause
 * tests/train/hybrid.c - training on K ranks is training on one: by every scheme, with float32,
 * dropout and batch statistics of all ranks, 20 steps lead to the weights of one rank with the
 * whole batch, to float rounding. How much rounding may do is measured: one rank with the examples
 * of each batch in another order. What legitimately differs is seen to differ by more.
 */
#include "config.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/mpi/harness.h"
#include "tests/train/hybrid_net.h"
#include "tests/train/small_net.h"
#include "train/checkpoint/checkpoint.h"
#include "train/loop.h"
#include "train/base/random.h"
#include "train/step/step.h"

enum { STEPS = 20, PERMUTATIONS = 4 };

/* Train on the first STEPS batches, going round; permutation 0 is the order of the epoch. */
static void train(tw_training_t *t, const tw_train_options_t *options, MPI_Comm comm,
                  uint64_t permutation)
{
    tw_problem_t         problem = {0};
    tw_training_record_t record  = {0};

    T_CHECK(tw_training_create(t, options, t_ctx, comm, &problem) == 0, "%s", problem.text);
    tw_feed_shuffle(t->feed, permutation);
    for (int step = 0; step < STEPS && !problem.set; step++) {
        t->epochs = (uint64_t)step / t->steps;
        tw_step_train(t, &record, &problem);
    }
    T_CHECK(!problem.set, "%s", problem.text);
}

/* Square of the distance of what this rank holds from the same weights in `whole`. */
static double apart(const tw_params_t *part, const tw_params_t *whole, int all)
{
    double sum = 0.0;

    T_CHECK(part->count == whole->count, "%zu and %zu tensors", part->count, whole->count);
    for (size_t i = 0; i < part->count; i++) {
        const tw_param_t *p = &part->param[i], *q = &whole->param[i];

        for (size_t k = 0; k < p->count && (p->split || all); k++) {
            sum += pow((double)part->value[p->first + k] -
                           (double)whole->value[q->first + p->units_first * p->per_unit + k],
                       2.0);
        }
    }
    return sum;
}

/* Of all weights, on all ranks: split ones are added up, what all have is counted once. */
static double distance(const tw_training_t *t, const tw_training_t *whole)
{
    double mine = apart(&t->params, &whole->params, t_rank == 0), all;

    MPI_Allreduce(&mine, &all, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    return sqrt(all);
}

/* What rounding does to one rank's training, and its weights. */
static double spread_of(const tw_train_options_t *options, tw_training_t *whole)
{
    double spread = 0.0;

    train(whole, options, MPI_COMM_SELF, 0);
    for (uint64_t i = 1; i <= PERMUTATIONS; i++) {
        tw_training_t other;
        double        d;

        train(&other, options, MPI_COMM_SELF, i);
        d      = sqrt(apart(&other.params, &whole->params, 1));
        spread = d > spread ? d : spread;
        tw_training_destroy(&other);
    }
    T_CHECK(spread > 0.0, "rounding shows nowhere");
    return spread;
}

/* Distance from one rank's weights in units of the bound. */
static double compared(const tw_train_options_t *options, const tw_training_t *whole, double spread)
{
    tw_training_t t;
    double        d;

    train(&t, options, MPI_COMM_WORLD, 0);
    d = distance(&t, whole);
    tw_training_destroy(&t);
    return d / (10.0 * spread);
}

static void equal_by_every_scheme(const char *path, uint64_t batch)
{
    static const char *const schemes[] = {
        "data",      "a",         "b",         "c",         "group=2",
        "a:split=2", "b:split=2", "c:split=2", "c:split=4", "group=2:split=4"};
    tw_training_t      whole;
    tw_train_options_t options;
    double             spread;

    options = hybrid_options(path, "data", batch);
    spread  = spread_of(&options, &whole);
    for (size_t i = 0; i < sizeof(schemes) / sizeof(schemes[0]); i++) {
        const int split = strchr(schemes[i], ':') != NULL;

        if (!hybrid_fits(schemes[i])) {
            continue;
        }
        for (uint64_t period = 0; period <= (i < 2 || split ? 0u : (uint64_t)t_size);
             period += (uint64_t)t_size) {
            double d;

            options               = hybrid_options(path, schemes[i], batch);
            options.update_period = period;
            d                     = compared(&options, &whole, spread);
            t_note("scheme %s, period %d", schemes[i], (int)period);
            if (!(d <= 1.0)) {
                t_fail(__FILE__, __LINE__, "%s, update period %d: %g times the bound", schemes[i],
                       (int)period, d);
            }
        }
    }
    tw_training_destroy(&whole);
}

static void equal_of_small(const char *more, uint64_t batch)
{
    char path[600];

    hybrid_net_write(path, sizeof(path), HYBRID_SMALL, more);
    equal_by_every_scheme(path, batch);
}

static void equal_to_one_rank(void)
{
    equal_of_small("", 28);
}

static void
equal_uneven(void) /* 97 = 3 x 31 + 4: uneven shares, the last batch of 4 leaves ranks idle */
{
    equal_of_small("", 31);
}

static void equal_logistic(void) /* 97 = 3 x 32 + 1: the last batch leaves whole groups idle */
{
    equal_of_small("loss = \"logistic\";\n", 32);
}

static void equal_of_branches(void)
{
    char path[600];

    hybrid_write(path, sizeof(path), "branches.cfg", branches_net_text);
    equal_by_every_scheme(path, 28);
}

/* The comparison can fail: local statistics and updates after every pass lead elsewhere. */
static void others_differ(void)
{
    char               path[600];
    tw_training_t      whole;
    tw_train_options_t options;
    double             spread, d;

    hybrid_net_write(path, sizeof(path), HYBRID_SMALL, "");
    options    = hybrid_options(path, "data", 28);
    spread     = spread_of(&options, &whole);
    options    = hybrid_options(path, "c", 28);
    options.bn = "local";
    d          = compared(&options, &whole, spread);
    T_CHECK(d > 10.0, "local statistics: only %g times the bound", d);
    options               = hybrid_options(path, "c", 28);
    options.update_period = 1;
    d                     = compared(&options, &whole, spread);
    T_CHECK(d > 10.0, "updates after each pass: only %g times the bound", d);
    tw_training_destroy(&whole);
}

/* Activations and gradients in fewer bits: what all ranks have stays the same on all. */
static void lossy_is_the_same_everywhere(void)
{
    char               path[600];
    tw_training_t      t;
    tw_train_options_t options;

    hybrid_net_write(path, sizeof(path), HYBRID_CODED, "");
    options       = hybrid_options(path, "c", 28);
    options.codec = "act=tree8,grad=onebit";
    train(&t, &options, MPI_COMM_WORLD, 0);
    for (size_t l = 0; l < t.network.layers; l++) {
        tw_problem_t problem = {.set = 0};
        uint64_t     word    = 0;
        int          finite;

        T_CHECK(tw_params_hash(&t.params, l, 0, &word, &finite, &problem) == 0 && finite,
                "layer %zu", l);
        t_same_everywhere(__FILE__, __LINE__, MPI_COMM_WORLD, &word, sizeof(word));
    }
    tw_training_destroy(&t);
}

static const t_case_t cases[] = {
    {"equal_to_one_rank", equal_to_one_rank, 1},
    {"equal_to_one_rank_uneven", equal_uneven, 1},
    {"equal_to_one_rank_logistic", equal_logistic, 1},
    {"equal_to_one_rank_branches", equal_of_branches, 1},
    {"others_differ", others_differ, 2},
    {"lossy_is_the_same_everywhere", lossy_is_the_same_everywhere, 1},
};

int main(int argc, char **argv)
{
    return t_main(argc, argv, cases, sizeof(cases) / sizeof(cases[0]));
}
