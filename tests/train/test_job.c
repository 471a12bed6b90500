/* SPDX-License-Identifier: BSD-3-Clause
 * tests/train/test_job.c - every built-in model as a job: its layers, their seconds on a machine of
 * known speeds, and the bytes that training keeps; a job that was written says the same once it is
 * read. Numbers are counted anew from the shapes.
 */
#include "config.h"

#include <check.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "scaling/training.h"
#include "tests/suite.h"
#include "train/model/job.h"

enum { MODELS = 14 };

static const speeds_t machine = {.flops = 2e12, .convolution_flops = 5e11};

static void load(tw_network_t *net, int k)
{
    tw_problem_t problem = {0};

    ck_assert_ptr_nonnull(tw_network_builtin((size_t)k));
    ck_assert_msg(tw_network_load(net, tw_network_builtin((size_t)k), &problem) == 0, "%s",
                  problem.text);
}

static void make(const tw_network_t *net, const speeds_t *speeds, double batch, workload_t *work)
{
    tw_problem_t problem = {0};

    ck_assert_msg(tw_network_job(net, speeds, batch, work, &problem) == 0, "%s", problem.text);
}

static void near(double a, double b, double share)
{
    ck_assert_msg(fabs(a - b) <= share * fabs(b), "%.17g instead of %.17g", a, b);
}

/* ---- layers -------------------------------------------------------------------------------- */

static void check_layer(const tw_network_t *net, const training_layer_t *layer)
{
    const tw_network_layer_t *of = &net->layer[layer->network];

    ck_assert_str_eq(layer->name, of->name);
    ck_assert(layer->channels == 0.0 && layer->backward == 2.0 * layer->forward);
    ck_assert(layer->weights + layer->biases == (double)(tw_network_weights(net, layer->network) +
                                                         tw_network_biases(net, layer->network)));
    if (of->kind == TW_DENSE) {
        ck_assert(layer->units == (double)of->out.c);
        ck_assert(training_inputs(layer) == (double)tw_shape_size(of->in));
    } else {
        ck_assert(layer->units == 0.0);
        ck_assert(of->kind != TW_NORM || layer->weights == 0.0);
    }
}

START_TEST(layers_are_those_of_the_network)
{
    tw_network_t      net;
    workload_t        work;
    const training_t *t          = &work.training;
    double            parameters = 0.0;
    size_t            dense      = 0;

    load(&net, _i);
    make(&net, &machine, 96.0, &work);
    ck_assert_str_eq(work.name, net.name);
    ck_assert(work.ranks == 1 && t->batch == 96.0 && t->update == 0.0);
    ck_assert_int_eq(t->softmax, net.loss == TW_LOSS_SOFTMAX);
    ck_assert_str_eq(t->layer[0].name, "input");
    ck_assert(t->layer[0].forward == 0.0 && t->layer[0].weights == 0.0);
    for (size_t l = 1; l < t->layers; l++) {
        check_layer(&net, &t->layer[l]);
        ck_assert(l == 1 || t->layer[l].network > t->layer[l - 1].network);
        parameters += t->layer[l].weights + t->layer[l].biases;
        dense += l >= t->dense;
        ck_assert_int_eq(l >= t->dense, t->layer[l].network >= net.first_dense);
        ck_assert(l < t->dense || t->layer[l].units > 0.0);
    }
    ck_assert(parameters == (double)tw_network_parameters(&net));
    ck_assert_uint_eq(t->dense, net.first_dense + 1);
    ck_assert_uint_gt(dense, 0);
    workload_free(&work);
    tw_network_destroy(&net);
}
END_TEST

/* Numbers that layer l reads and writes for an example: of an addition, both that are added. */
static size_t numbers_of(const tw_network_t *net, size_t l)
{
    const tw_network_layer_t *layer = &net->layer[l];
    size_t                    n     = tw_shape_size(layer->out);

    for (size_t i = 0; i < TW_LAYER_INPUTS; i++) {
        const int from = layer->input[i];

        n += from == -2 ? 0 : tw_shape_size(from == -1 ? net->input : net->layer[from].out);
    }
    return n;
}

START_TEST(seconds_are_operations_or_bytes)
{
    const speeds_t slow  = {.flops = 2e12, .convolution_flops = 5e11, .memory_rate = 1e5};
    const double   batch = 32.0;
    tw_network_t   net;
    workload_t     work, bytes;

    load(&net, _i);
    make(&net, &machine, batch, &work);
    make(&net, &slow, batch, &bytes);
    for (size_t l = 1; l < work.training.layers; l++) {
        const size_t              k  = work.training.layer[l].network;
        const tw_network_layer_t *of = &net.layer[k];
        const double rate = of->kind == TW_DENSE ? machine.flops : machine.convolution_flops;

        near(work.training.layer[l].forward,
             2.0 * batch * (double)tw_network_operations(&net, k) / rate, 1e-12);
        near(bytes.training.layer[l].forward,
             (batch * 4.0 * (double)numbers_of(&net, k) +
              4.0 * (double)tw_network_weights(&net, k)) /
                 1e5,
             1e-12);
    }
    near(bytes.training.update, 20.0 * (double)tw_network_parameters(&net) / 1e5, 1e-12);
    workload_free(&work);
    workload_free(&bytes);
    tw_network_destroy(&net);
}
END_TEST

/* Backward counts too: twice forward. */
START_TEST(no_layer_takes_longer_than_a_job_may_say)
{
    const speeds_t one     = {.flops = 1e3, .convolution_flops = 1e3};
    tw_problem_t   problem = {0};
    tw_network_t   net;
    workload_t     work;

    ck_assert_int_eq(tw_network_load(&net, "linear", &problem), 0); /* 31.36 s an example */
    make(&net, &one, 31000.0, &work);
    ck_assert(work.training.layer[1].backward <= SECONDS_MOST);
    workload_free(&work);
    ck_assert_int_eq(tw_network_job(&net, &one, 32000.0, &work, &problem), -1);
    ck_assert_ptr_nonnull(strstr(problem.text, "layer fc would take 1e+06 s for 32000 examples"));
    ck_assert_ptr_null(work.training.layer);
    tw_network_destroy(&net);
}
END_TEST

/* ---- a file -------------------------------------------------------------------------------- */

static void write_and_read(const workload_t *work, workload_t *got)
{
    char         path[]  = "/tmp/thinwire-job-XXXXXX";
    tw_problem_t problem = {.set = 0};
    FILE        *file    = fdopen(mkstemp(path), "w");

    ck_assert_ptr_nonnull(file);
    training_write(file, work);
    ck_assert_int_eq(fclose(file), 0);
    ck_assert_msg(workload_read(got, path, &problem) == 0, "%s", problem.text);
    unlink(path);
}

static void compare(const training_t *a, const training_t *b)
{
    ck_assert(a->batch == b->batch && a->bucket == b->bucket && a->softmax == b->softmax);
    ck_assert(a->layers == b->layers && a->dense == b->dense);
    near(b->update, a->update, 1e-8);
    for (size_t l = 0; l < a->layers; l++) {
        const training_layer_t *x = &a->layer[l], *y = &b->layer[l];

        ck_assert_str_eq(x->name, y->name);
        ck_assert(x->weights == y->weights && x->biases == y->biases && x->units == y->units &&
                  x->channels == y->channels);
        near(y->forward, x->forward, 1e-8);
        near(y->backward, x->backward, 1e-8);
    }
}

START_TEST(what_is_written_is_read)
{
    static const double speeds[] = {1e8, 2e12, 1e21};
    tw_network_t        net;

    load(&net, _i);
    for (int k = 0; k < 3; k++) {
        const speeds_t fast = {.flops             = speeds[k],
                               .convolution_flops = speeds[k],
                               .memory_rate       = 1e2 * speeds[k] / 3.0};
        workload_t     work, got;

        make(&net, &fast, 96.0, &work);
        work.ranks                      = 7;
        work.training.layer[1].channels = 12.0;
        write_and_read(&work, &got);
        ck_assert_str_eq(got.name, work.name);
        ck_assert(got.ranks == 7 && !got.fixed && got.items == 0);
        compare(&work.training, &got.training);
        workload_free(&work);
        workload_free(&got);
    }
    tw_network_destroy(&net);
}
END_TEST

START_TEST(names_are_read_as_they_were)
{
    training_layer_t layer = {.name = "\"fc\" \\n", .weights = 12.0, .units = 3.0};
    const workload_t work  = {
         .name     = "a \\ \"b\"; #",
         .ranks    = 1,
         .training = {.batch = 1.0, .bucket = 4.0, .layers = 1, .layer = &layer}};
    workload_t got;

    write_and_read(&work, &got);
    ck_assert_str_eq(got.name, work.name);
    ck_assert_str_eq(got.training.layer[0].name, layer.name);
    workload_free(&got);
}
END_TEST

/* ---- memory -------------------------------------------------------------------------------- */

static double bytes_of(const tw_network_t *net, int ranks, double rows, double pass, int residuals)
{
    return tw_network_memory(
        net,
        &(tw_network_memory_t){.ranks = ranks, .rows = rows, .pass = pass, .residuals = residuals});
}

START_TEST(memory_grows_with_what_is_kept)
{
    tw_network_t net;
    double       parameters, images, last;

    load(&net, _i);
    parameters = 4.0 * (double)tw_network_parameters(&net);
    images     = 4.0 * (double)tw_shape_size(net.input);
    near(bytes_of(&net, 1, 0.0, 0.0, 0), 3.0 * parameters, 1e-12);
    near(bytes_of(&net, 1, 8.0, 8.0, 1) - bytes_of(&net, 1, 8.0, 8.0, 0), parameters, 1e-6);
    last = bytes_of(&net, 1, 1.0, 1.0, 0);
    ck_assert(last > 3.0 * parameters + images);
    for (double rows = 2.0; rows < 1e6; rows *= 2.0) {
        const double now = bytes_of(&net, 1, rows, rows, 0);

        ck_assert(now > last && bytes_of(&net, 1, rows, 2.0 * rows, 0) > now &&
                  bytes_of(&net, 1, 2.0 * rows, rows, 0) > now);
        last = now;
    }
    last = bytes_of(&net, 2, 4.0, 4.0, 0);
    for (int ranks = 4; ranks <= 65536; ranks *= 2) {
        const double now = bytes_of(&net, ranks, 4.0, 4.0, 0);

        ck_assert(now < last);
        last = now;
    }
    tw_network_destroy(&net);
}
END_TEST

/* 784 inputs, 10 units: of 4 examples the images, and outputs with their gradients; split, two
 * passes of images and of their gradients, too. */
START_TEST(memory_by_hand)
{
    tw_network_t net;
    tw_problem_t problem = {0};

    ck_assert_int_eq(tw_network_load(&net, "linear", &problem), 0);
    ck_assert(bytes_of(&net, 1, 4.0, 4.0, 0) == 4.0 * (3 * 7850 + 4 * 784 + 4 * 2 * 10));
    ck_assert(bytes_of(&net, 2, 4.0, 8.0, 1) ==
              4.0 * (4 * 3925 + 4 * 784 + 8 * (2 * 10 + 4 * 784)));
    tw_network_destroy(&net);
}
END_TEST

START_TEST(all_models_are_looked_at)
{
    ck_assert_ptr_nonnull(tw_network_builtin(MODELS - 1));
    ck_assert_ptr_null(tw_network_builtin(MODELS));
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("job");
    TCase *tcase = test_case(suite, "models as jobs");

    tcase_add_test(tcase, all_models_are_looked_at);
    tcase_add_loop_test(tcase, layers_are_those_of_the_network, 0, MODELS);
    tcase_add_loop_test(tcase, seconds_are_operations_or_bytes, 0, MODELS);
    tcase_add_test(tcase, no_layer_takes_longer_than_a_job_may_say);
    tcase_add_loop_test(tcase, what_is_written_is_read, 0, MODELS);
    tcase_add_test(tcase, names_are_read_as_they_were);
    tcase_add_loop_test(tcase, memory_grows_with_what_is_kept, 0, MODELS);
    tcase_add_test(tcase, memory_by_hand);
    return test_main(suite);
}
