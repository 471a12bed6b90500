/* SPDX-License-Identifier: BSD-3-Clause
 * tests/tools/training_rig.c - see training_rig.h.
 */
#include "config.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/tools/training_rig.h"

/* P ranks, each on a node of its own; codecs take no time. */
tw_facts_t alone_on_nodes(int ranks)
{
    tw_facts_t facts = {
        .ranks = ranks, .nodes = ranks, .local_ranks = 1, .engine = 1e-6, .codecs = 2};

    facts.between  = (tw_link_facts_t){20e-6, LINK, LINK, 2e-6};
    facts.codec[0] = (tw_codec_facts_t){.spec = "fp32", .bytes = 4.0, .block = 1};
    facts.codec[1] =
        (tw_codec_facts_t){.spec = "tree8", .bytes = 1.0, .block = 4096, .max_error = 0.01};
    return facts;
}

int read_text(workload_t *work, const char *text, tw_problem_t *problem)
{
    char  path[] = "/tmp/thinwire-training.XXXXXX";
    FILE *file;
    int   status;

    ck_assert_int_ge(close(mkstemp(path)), 0);
    file = fopen(path, "w");
    ck_assert_ptr_nonnull(file);
    ck_assert_int_ge(fputs(text, file), 0);
    ck_assert_int_eq(fclose(file), 0);
    status = workload_read(work, path, problem);
    unlink(path);
    return status;
}

scheme_t scheme_of(const char *text)
{
    scheme_t     scheme;
    tw_problem_t problem = {.set = 0};

    ck_assert_msg(scheme_parse(&scheme, text, strlen(text), &problem) == 0, "%s", problem.text);
    return scheme;
}

void make_step(const workload_t *of, const char *scheme, int ranks, double batch, int lossy,
               workload_t *step)
{
    const scheme_t how     = scheme_of(scheme);
    tw_problem_t   problem = {.set = 0};

    ck_assert_msg(training_step(of, &how, ranks, 1, batch, lossy, step, &problem) == 0, "%s",
                  problem.text);
}

static double drawn_count(test_random_t *random, double most) /* in the logarithm */
{
    return floor(pow(most, test_below(random, 10001) / 10000.0));
}

/* Measured on one rank with one example, so that seconds are those of an example. */
void draw(drawn_training_t *k, test_random_t *random, size_t layers, size_t dense)
{
    training_t *t = &k->work.training;

    *k         = (drawn_training_t){.work = {.name = "drawn", .ranks = 1}};
    t->batch   = 1.0;
    t->bucket  = drawn_count(random, 1e6);
    t->update  = 1e-3 * test_below(random, 100);
    t->softmax = test_below(random, 2);
    t->layers  = layers;
    t->dense   = dense;
    t->layer   = k->layer;
    for (size_t l = 0; l < layers; l++) {
        const double units = drawn_count(random, 300.0), inputs = drawn_count(random, 300.0);

        snprintf(k->layer[l].name, WORKLOAD_NAME, "layer %zu", l);
        k->layer[l].biases   = test_below(random, 3) > 0 ? units : 0.0;
        k->layer[l].units    = l >= dense ? units : 0.0;
        k->layer[l].weights  = l >= dense || test_below(random, 5) > 0 ? units * inputs : 0.0;
        k->layer[l].forward  = 1e-5 * (1 + test_below(random, 1000));
        k->layer[l].backward = 1e-5 * (1 + test_below(random, 1000));
    }
}

void draw_any(drawn_training_t *k, test_random_t *random)
{
    const size_t layers = 1 + (size_t)test_below(random, LAYERS);

    draw(k, random, layers, (size_t)test_below(random, (int)layers));
}

double parameters_of(const workload_t *of, size_t layers)
{
    double sum = 0.0;

    for (size_t l = 0; l < layers; l++) {
        sum += of->training.layer[l].weights + of->training.layer[l].biases;
    }
    return sum;
}

/* How often a step starts an exchange. */
double starts_of(const workload_t *step, size_t exchange)
{
    double times = 1.0, sum = 0.0;

    for (size_t i = 0; i < step->items; i++) {
        const item_t *item = &step->item[i];

        times = item->kind == ITEM_REPEAT ? (double)item->times
                                          : (item->kind == ITEM_END ? 1.0 : times);
        sum += item->kind == ITEM_START && item->exchange == exchange ? times : 0.0;
    }
    return sum;
}

step_time_t time_of(const workload_t *step, const tw_facts_t *facts, const char *spec)
{
    const step_case_t how = {.facts = facts, .spec = spec, .share = 1.0};
    step_time_t       time;
    tw_problem_t      problem = {.set = 0};

    ck_assert_msg(step_time(step, &how, &time, &problem) == 0, "%s", problem.text);
    ck_assert(isfinite(time.seconds) && time.exposed >= 0.0 && time.bytes >= 0.0);
    return time;
}

step_time_t time_on(const workload_t *of, const char *scheme, int ranks, double batch,
                    const char *spec)
{
    const tw_facts_t facts = alone_on_nodes(ranks);
    workload_t       step;
    step_time_t      time;

    make_step(of, scheme, ranks, batch, strcmp(spec, "fp32") != 0, &step);
    time = time_of(&step, &facts, spec);
    workload_free(&step);
    return time;
}

const char *const any_scheme[5] = {"data", "a", "b", "c", "group=2"};
