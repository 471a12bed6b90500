/* SPDX-License-Identifier: BSD-3-Clause
 * tests/train/test_reference.c - the oracle itself: its gradients against central differences, and
 * that a batch in parts trains as the whole one.
 */
#include "config.h"

#include <check.h>
#include <math.h>

#include "tests/suite.h"
#include "tests/train/reference_net.h"
#include "tests/train/small_net.h"

static double loss_of(ref_net_t *ref, ref_part_t *part, const ref_how_t *how)
{
    return how->scale * ref_net_forward(ref, part, 1, how);
}

/* Central difference of the loss by *x, and its error against `want`, relative to `unit`. */
static double difference(ref_net_t *ref, ref_part_t *part, const ref_how_t *how, double *x,
                         double want, double unit)
{
    const double old = *x, step = 1e-6;
    double       up, down;

    *x   = old + step;
    up   = loss_of(ref, part, how);
    *x   = old - step;
    down = loss_of(ref, part, how);
    *x   = old;
    return fabs((up - down) / (2.0 * step) - want) / unit;
}

static double largest(const double *x, size_t n)
{
    double most = 1e-12;

    for (size_t i = 0; i < n; i++) {
        most = fabs(x[i]) > most ? fabs(x[i]) : most;
    }
    return most;
}

/* Every seventh element of each tensor, and some of the image. The running statistics move with
 * each pass in training but are not used by it. */
static void check_gradients(const tw_network_t *net)
{
    examples_t e    = examples_make(net, 4, 3);
    ref_how_t  how  = {.training = 1, .seed = 5, .step = 2, .scale = 0.25};
    ref_part_t part = {.n = 4, .images = e.doubles, .examples = e.index, .labels = e.labels};
    ref_net_t  ref;
    double    *g;

    ref_net_create(&ref, net);
    ref_net_init(&ref, 11);
    ref_part_create(&ref, &part);
    loss_of(&ref, &part, &how);
    ref_net_backward(&ref, &part, 1, &how);
    g = ref.gradient;
    for (size_t i = 0; i < ref.layout.count; i++) {
        const tw_param_t *param = &ref.layout.param[i];
        const double      unit  = largest(g + param->first, param->count);

        for (size_t k = param->first; k < param->first + param->count; k += 7) {
            const double off = difference(&ref, &part, &how, &ref.value[k], g[k], unit);

            ck_assert_msg(off < 1e-5, "%s[%zu]: off by %g of the largest", param->name,
                          k - param->first, off);
        }
    }
    for (size_t k = 0; k < e.n * e.size; k += 31) {
        const double unit = largest(part.gimages, e.n * e.size);

        ck_assert_double_le(difference(&ref, &part, &how, &e.doubles[k], part.gimages[k], unit),
                            1e-5);
    }
    ref_part_destroy(&ref, &part);
    ref_net_destroy(&ref);
    examples_free(&e);
}

START_TEST(gradients_are_differences)
{
    tw_network_t net;

    small_net_read(&net, _i == 2 ? branches_net_text : small_net_text);
    net.loss = _i == 1 ? TW_LOSS_LOGISTIC : TW_LOSS_SOFTMAX;
    check_gradients(&net);
    tw_network_destroy(&net);
}
END_TEST

/* -------------------------------------------------------------------------- parts */

enum { BATCH = 12, STEPS = 5 };

/* Sizes of the parts of a batch of 12: one has none. */
static const size_t shares[][4] = {{12}, {7, 5}, {2, 9, 1}, {5, 1, 0, 6}};

/* Train for some steps with the batch in k parts; the values are the caller's to release. */
static double *train(const tw_network_t *net, size_t k, int local, size_t *total_p)
{
    examples_t e   = examples_make(net, BATCH, 21);
    ref_how_t  how = {.training = 1, .seed = 8, .local = local, .scale = 1.0 / BATCH};
    ref_part_t parts[4];
    ref_net_t  ref;
    double    *value;
    size_t     first = 0;

    ref_net_create(&ref, net);
    ref_net_init(&ref, 4);
    for (size_t p = 0; p < k; p++) {
        parts[p] = (ref_part_t){.n        = shares[k - 1][p],
                                .images   = e.doubles + first * e.size,
                                .examples = e.index + first,
                                .labels   = e.labels + first};
        ref_part_create(&ref, &parts[p]);
        first += parts[p].n;
    }
    for (how.step = 0; how.step < STEPS; how.step++) {
        ref_net_forward(&ref, parts, k, &how);
        ref_net_backward(&ref, parts, k, &how);
        ref_net_update(&ref, net->rate, net->momentum, net->decay);
    }
    for (size_t p = 0; p < k; p++) {
        ref_part_destroy(&ref, &parts[p]);
    }
    value     = ref.value;
    ref.value = NULL;
    *total_p  = ref.layout.total;
    ref_net_destroy(&ref);
    examples_free(&e);
    return value;
}

/* Largest difference between one part and k. */
static double spread(const tw_network_t *net, size_t k, int local)
{
    size_t  total;
    double *whole = train(net, 1, 0, &total), *split = train(net, k, local, &total);
    double  most = 0.0;

    for (size_t i = 0; i < total; i++) {
        most = fmax(most, fabs(whole[i] - split[i]));
    }
    free(whole);
    free(split);
    return most;
}

START_TEST(parts_train_as_the_whole)
{
    tw_network_t net;
    double       apart;

    small_net_read(&net, small_net_text);
    apart = spread(&net, (size_t)_i, 0);
    ck_assert_msg(apart < 1e-10, "%d parts: %g", _i, apart);
    tw_network_destroy(&net);
}
END_TEST

START_TEST(local_statistics_differ)
{
    tw_network_t net;

    small_net_read(&net, small_net_text);
    ck_assert_double_ge(spread(&net, (size_t)_i, 1), 1e-4);
    tw_network_destroy(&net);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("train/reference");
    TCase *tcase = test_case_within(suite, "all", 300);

    tcase_add_loop_test(tcase, gradients_are_differences, 0, 3);
    tcase_add_loop_test(tcase, parts_train_as_the_whole, 2, 5);
    tcase_add_loop_test(tcase, local_statistics_differ, 2, 5);
    return test_main(suite);
}
