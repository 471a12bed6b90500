/* SPDX-License-Identifier: BSD-3-Clause
 * tests/tools/training_drawn.c - what must hold of thinwire scale's step of any training, and
 * large ones.
 */
#include "config.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/tools/training_rig.h"

/* ---- any training ---------------------------------------------------------------------------- */

START_TEST(gradients_travel_once)
{
    test_random_t    random = {test_seed()};
    drawn_training_t k;

    for (int run = 0; run < RUNS; run++) {
        const int  scheme = test_below(&random, 5);
        const int  ranks  = 2 + test_below(&random, 40);
        workload_t step;
        double     sum = 0.0;

        draw_any(&k, &random);
        make_step(&k.work, any_scheme[scheme], ranks, 1.0 + test_below(&random, 100),
                  test_below(&random, 2), &step);
        for (size_t x = 0; x < step.exchanges; x++) {
            if (step.exchange[x].operation == TW_OPERATION_ALLREDUCE) {
                ck_assert(starts_of(&step, x) == 1.0);
                sum += step.exchange[x].count;
            }
        }
        NEAR(sum, 2.0 + parameters_of(&k.work, scheme == 0 ? k.work.training.layers
                                                           : k.work.training.dense));
        workload_free(&step);
    }
}
END_TEST

/* Everything that is started is waited for within the step. */
START_TEST(nothing_is_left_at_the_end)
{
    test_random_t    random = {test_seed()};
    drawn_training_t k;

    for (int run = 0; run < RUNS; run++) {
        size_t     pending = 0;
        char      *started;
        workload_t step;

        draw_any(&k, &random);
        make_step(&k.work, any_scheme[run % 5], 2 + test_below(&random, 40),
                  1.0 + test_below(&random, 100), run % 2, &step);
        started = calloc(step.exchanges + 1, 1);
        ck_assert_ptr_nonnull(started);
        for (size_t i = 0; i < step.items; i++) {
            const item_t *item = &step.item[i];

            if (item->kind == ITEM_START) {
                ck_assert_msg(!started[item->exchange], "%s", step.exchange[item->exchange].name);
                started[item->exchange] = 1;
                pending++;
            } else if (item->kind == ITEM_WAIT) {
                pending -= (size_t)started[item->exchange];
                started[item->exchange] = 0;
            }
        }
        ck_assert_uint_eq(pending, 0);
        free(started);
        workload_free(&step);
    }
}
END_TEST

START_TEST(ranks_share_the_work)
{
    test_random_t    random = {test_seed()};
    drawn_training_t k;

    for (int run = 0; run < RUNS; run++) {
        const int    ranks = 1 + test_below(&random, 40), each = 1 + test_below(&random, 20);
        const double batch = ranks * each;
        double       one, update;

        draw_any(&k, &random);
        update = k.work.training.update;
        one    = time_on(&k.work, "data", 1, batch, "fp32").compute - update;
        NEAR(time_on(&k.work, "data", ranks, batch, "fp32").compute, one / ranks + update);
        if (ranks > 1) { /* uneven: the first has one more */
            NEAR(time_on(&k.work, "data", ranks, batch + 1.0, "fp32").compute,
                 one / batch * (each + 1) + update);
        }
        NEAR(time_on(&k.work, "data", 3 * ranks, 3.0 * batch, "fp32").compute, /* weak */
             one / ranks + update);
    }
}
END_TEST

/* Passes divide what a step computes, whatever their number. */
START_TEST(schemes_compute_the_same)
{
    test_random_t    random = {test_seed()};
    drawn_training_t k;

    for (int run = 0; run < RUNS; run++) {
        const int    ranks = 2 + test_below(&random, 30);
        const double batch = 1.0 + test_below(&random, 200);
        char         group[32];
        double       want;

        draw_any(&k, &random);
        snprintf(group, sizeof(group), "group=%d", 1 + test_below(&random, ranks));
        want = time_on(&k.work, "a", ranks, batch, "fp32").compute;
        NEAR(time_on(&k.work, "b", ranks, batch, "fp32").compute, want);
        NEAR(time_on(&k.work, "c", ranks, batch, "fp32").compute, want);
        NEAR(time_on(&k.work, group, ranks, batch, "tree8").compute, want);
    }
}
END_TEST

/* On more ranks than a layer has units, a rank has one of them or none. */
START_TEST(a_unit_is_not_divided)
{
    test_random_t     random = {test_seed()};
    drawn_training_t  k;
    training_layer_t *layer = &k.layer[0];

    draw(&k, &random, 1, 0);
    layer->weights         = 1000.0;
    layer->units           = 10.0;
    k.work.training.update = 0.0;
    NEAR(time_on(&k.work, "c", 5, 50.0, "fp32").compute, 10.0 * (layer->forward + layer->backward));
    NEAR(time_on(&k.work, "c", 4, 40.0, "fp32").compute, 12.0 * (layer->forward + layer->backward));
    NEAR(time_on(&k.work, "c", 50, 50.0, "fp32").compute, 5.0 * (layer->forward + layer->backward));
}
END_TEST

static void ck_same_steps(const workload_t *of, const char *one, const char *two, int ranks,
                          int batch)
{
    workload_t a, b;

    make_step(of, one, ranks, batch, 1, &a);
    make_step(of, two, ranks, batch, 1, &b);
    ck_assert(a.items == b.items && a.exchanges == b.exchanges);
    for (size_t i = 0; i < a.items; i++) {
        ck_assert(a.item[i].kind == b.item[i].kind && a.item[i].seconds == b.item[i].seconds &&
                  a.item[i].exchange == b.item[i].exchange && a.item[i].times == b.item[i].times &&
                  a.item[i].end == b.item[i].end);
    }
    for (size_t x = 0; x < a.exchanges; x++) {
        ck_assert(a.exchange[x].operation == b.exchange[x].operation &&
                  a.exchange[x].count == b.exchange[x].count &&
                  a.exchange[x].part == b.exchange[x].part &&
                  a.exchange[x].turns == b.exchange[x].turns &&
                  strcmp(a.exchange[x].class, b.exchange[x].class) == 0);
    }
    workload_free(&a);
    workload_free(&b);
}

START_TEST(groups_of_one_and_of_all)
{
    test_random_t    random = {test_seed()};
    drawn_training_t k;

    for (int run = 0; run < RUNS; run++) {
        const int ranks = 1 + test_below(&random, 40), batch = 1 + test_below(&random, 200);
        char      text[32];

        draw_any(&k, &random);
        ck_same_steps(&k.work, "group=1", "b", ranks, batch);
        snprintf(text, sizeof(text), "group=%d", ranks);
        ck_same_steps(&k.work, text, "c", ranks, batch);
        ck_same_steps(&k.work, "group=65536", "c", ranks, batch);
    }
}
END_TEST

/* By the fastest algorithms: what the library takes by itself may change over later than there. */
static double fastest_on(const workload_t *of, const char *scheme, int ranks, double batch)
{
    const tw_facts_t facts = alone_on_nodes(ranks);
    workload_t       step;
    double           seconds;

    make_step(of, scheme, ranks, batch, 0, &step);
    for (size_t i = 0; i < step.exchanges; i++) {
        step.exchange[i].usual = 0;
    }
    seconds = time_of(&step, &facts, "fp32").seconds;
    workload_free(&step);
    return seconds;
}

/* Wider layers by whole multiples, as fragments make a vector of a little more than one faster;
 * each tensor in a bucket of its own, as another division of the buckets may start earlier. */
START_TEST(wider_layers_never_take_less)
{
    test_random_t    random = {test_seed()};
    drawn_training_t k;

    for (int run = 0; run < RUNS; run++) {
        const int    ranks = 2 + test_below(&random, 40);
        const double batch = ranks * (1.0 + test_below(&random, 5));
        double       last;

        draw_any(&k, &random);
        k.work.training.bucket = 1.0;
        k.work.training.update = 0.0; /* by how many parameters are split */
        last                   = fastest_on(&k.work, any_scheme[run % 5], ranks, batch);
        for (int i = 0; i < 5; i++) {
            training_layer_t *layer = &k.layer[test_below(&random, (int)k.work.training.layers)];
            double            now;

            layer->weights *= 2 + test_below(&random, 3);
            now = fastest_on(&k.work, any_scheme[run % 5], ranks, batch);
            ck_assert_msg(now >= last * (1.0 - 1e-6), "run %d: %g, before %g", run, now, last);
            last = now;
        }
    }
}
END_TEST

START_TEST(links_are_never_faster_than_they_are)
{
    test_random_t    random = {test_seed()};
    drawn_training_t k;

    for (int run = 0; run < RUNS; run++) {
        step_time_t time;

        draw_any(&k, &random);
        for (size_t l = 0; l < k.work.training.layers; l++) {
            k.layer[l].forward = k.layer[l].backward = 0.0;
        }
        time = time_on(&k.work, any_scheme[run % 5], 2 + test_below(&random, 40),
                       1.0 + test_below(&random, 300), run % 2 ? "fp32" : "tree8");
        ck_assert_double_gt(time.bytes, 0.0);
        ck_assert_msg(time.seconds >= time.bytes / LINK * (1.0 - 1e-9), "run %d: %g s, %g bytes",
                      run, time.seconds, time.bytes);
    }
}
END_TEST

/* Each rank is the root once: values go to all others, and come back to be summed, in two passes by
 * a detour. */
START_TEST(roots_take_turns)
{
    test_random_t    random = {test_seed()};
    drawn_training_t k;

    for (int run = 0; run < RUNS; run++) {
        const int    ranks = 2 + test_below(&random, 40);
        const double each = 1.0 + test_below(&random, 8), share = (ranks - 1.0) / ranks;
        double       values, bytes;

        draw(&k, &random, 1, 0);
        k.work.training.softmax = 0;
        k.work.training.layers  = 2;
        k.work.training.dense   = 1;
        k.layer[1]              = k.layer[0];
        k.layer[0]              = (training_layer_t){.name = "pool", .backward = 1e-9};
        values                  = ranks * each * k.layer[1].weights / k.layer[1].units;
        bytes = time_on(&k.work, "b", ranks, ranks * each, "fp32").bytes; /* 8 of loss and errors */
        ck_assert_double_ge(bytes, 8.0 * values * share);
        ck_assert_double_le(bytes, 4.0 * values * share * (2.0 + 1.0 / ranks) + ranks * 8.0);
    }
}
END_TEST

START_TEST(one_rank_exchanges_nothing)
{
    test_random_t    random = {test_seed()};
    drawn_training_t k;

    for (int run = 0; run < RUNS; run++) {
        const double batch = 1.0 + test_below(&random, 100);
        double       sum;
        step_time_t  time;
        workload_t   step;

        draw_any(&k, &random);
        k.layer[0].channels = 5.0;
        sum                 = k.work.training.update;
        for (size_t l = 0; l < k.work.training.layers; l++) {
            sum += batch * (k.layer[l].forward + k.layer[l].backward);
        }
        make_step(&k.work, any_scheme[run % 5], 1, batch, run % 2, &step);
        ck_assert_uint_eq(step.exchanges, 0);
        workload_free(&step);
        time = time_on(&k.work, any_scheme[run % 5], 1, batch, run % 2 ? "fp32" : "tree8");
        NEAR(time.seconds, sum);
        ck_assert(time.bytes == 0.0 && time.exposed == 0.0);
    }
}
END_TEST

/* ---- large trainings ------------------------------------------------------------------------- */

/* Loops are folded: as many items on 65536 ranks as on 6. */
START_TEST(many_ranks)
{
    test_random_t    random = {test_seed()};
    drawn_training_t k;

    draw(&k, &random, LAYERS, LAYERS / 2);
    for (int s = 0; s < 5; s++) {
        size_t items = 0;

        for (int ranks = 6; ranks <= 65536; ranks += ranks < 100 ? 1 : ranks / 3) {
            const tw_facts_t facts = alone_on_nodes(ranks);
            workload_t       step;

            make_step(&k.work, any_scheme[s], ranks, 4.0 * ranks, s % 2, &step);
            items = items > 0 ? items : step.items;
            ck_assert_uint_le(step.items, items + 40);
            time_of(&step, &facts, "fp32");
            workload_free(&step);
        }
        time_on(&k.work, any_scheme[s], 65536, 65537.0, "fp32");
        time_on(&k.work, any_scheme[s], 65536, 3.0, "fp32");
    }
}
END_TEST

START_TEST(many_layers)
{
    static const int counts[] = {1, 2, 63, 4096};
    char            *text     = malloc((size_t)TRAINING_LAYERS * 100);
    tw_problem_t     problem  = {.set = 0};

    ck_assert_ptr_nonnull(text);
    for (int c = 0; c < 4; c++) {
        int used = sprintf(text, "name = \"n\"; ranks = 1; training = { batch = 64; layers = (");
        workload_t of;

        for (int l = 0; l < counts[c]; l++) {
            used +=
                sprintf(text + used, "%s{ name = \"l\"; weights = %d; biases = 9; units = %d; }",
                        l > 0 ? ",\n" : "", 900 + l, l >= counts[c] / 2 ? 9 : 0);
        }
        strcpy(text + used, "); };");
        ck_assert_msg(read_text(&of, text, &problem) == 0, "%s", problem.text);
        ck_assert_uint_eq(of.training.layers, (size_t)counts[c]);
        ck_assert_uint_eq(of.training.dense, (size_t)counts[c] / 2);
        for (int s = 0; s < 5; s++) {
            time_on(&of, any_scheme[s], 64, 128.0, s % 2 ? "tree8" : "fp32");
        }
        workload_free(&of);
    }
    free(text);
}
END_TEST

void add_any_training(Suite *suite)
{
    TCase *tcase = test_case_within(suite, "any training", 60);

    tcase_add_test(tcase, gradients_travel_once);
    tcase_add_test(tcase, nothing_is_left_at_the_end);
    tcase_add_test(tcase, ranks_share_the_work);
    tcase_add_test(tcase, schemes_compute_the_same);
    tcase_add_test(tcase, a_unit_is_not_divided);
    tcase_add_test(tcase, groups_of_one_and_of_all);
    tcase_add_test(tcase, wider_layers_never_take_less);
    tcase_add_test(tcase, links_are_never_faster_than_they_are);
    tcase_add_test(tcase, roots_take_turns);
    tcase_add_test(tcase, one_rank_exchanges_nothing);
}

void add_large_trainings(Suite *suite)
{
    TCase *tcase = test_case_within(suite, "large trainings", 60);

    tcase_add_test(tcase, many_ranks);
    tcase_add_test(tcase, many_layers);
}
