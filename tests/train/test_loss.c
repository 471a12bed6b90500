/* SPDX-License-Identifier: BSD-3-Clause
 * tests/train/test_loss.c - the losses of dense layers: outputs that are large, equal, or no
 * numbers, and many classes.
 */
#include "config.h"

#include <check.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "tests/suite.h"
#include "tests/train/dense_net.h"
#include "tests/train/on_backend.h"

/* One dense layer of one input: the outputs are the weights. */
static double loss_of(tw_loss_t loss, const float *outputs, size_t classes, uint32_t label,
                      float *gradient, tw_head_wrong_t *wrong_p)
{
    const tw_head_how_t how     = {.comm = NULL};
    const float         one     = 1.0f;
    const uint64_t      example = 0;
    tw_head_pass_t      pass    = {.n        = 1,
                                   .examples = &example,
                                   .labels   = &label,
                                   .training = 1,
                                   .scale    = 1.0f,
                                   .count    = wrong_p != NULL};
    tw_backend_t       *backend = on_backend(NULL, 1);
    float              *x       = on_backend_copy(backend, &one, sizeof(one));
    char                text[16];
    tw_problem_t        problem = {0};
    tw_network_t        net;
    tw_params_t         params;
    tw_head_t          *head;
    double              result;

    pass.x = x;
    snprintf(text, sizeof(text), "L%zu", classes);
    dense_net_make(&net, (tw_shape_t){1, 1, 1}, loss, text);
    ck_assert_int_eq(tw_params_create(&params, &net, backend, 0, 1, 0, &problem), 0);
    on_backend_put(backend, params.value, outputs, classes * sizeof(float));
    ck_assert_int_eq(tw_head_create(&head, &net, &params, &how, 1, &problem), 0);
    ck_assert_int_eq(tw_head_run(head, &pass, &problem), 0);
    ck_assert_int_eq(tw_head_take(head, &result, wrong_p, &problem), 0);
    on_backend_get(backend, gradient, params.gradient, classes * sizeof(float));
    tw_head_destroy(head);
    tw_params_destroy(&params);
    tw_backend_release(backend, x);
    tw_backend_destroy(backend);
    dense_net_destroy(&net);
    return result;
}

START_TEST(losses_are_safe)
{
    const float large[3] = {3000.0f, -3000.0f, 2990.0f}, equal[3] = {-7.0f, -7.0f, -7.0f};
    float       g[3];

    tw_head_wrong_t wrong;

    ck_assert_double_eq_tol(loss_of(TW_LOSS_SOFTMAX, large, 3, 1, g, &wrong), 6000.0, 1e-3);
    ck_assert(wrong.one == 1 && fabsf(g[1] + 1.0f) < 1e-6f && fabsf(g[0] - 1.0f) < 1e-4f);
    ck_assert_double_eq_tol(loss_of(TW_LOSS_SOFTMAX, large, 3, 0, g, &wrong), 4.54e-5, 1e-6);
    ck_assert(wrong.one == 0);
    ck_assert_double_eq_tol(loss_of(TW_LOSS_SOFTMAX, equal, 3, 2, g, &wrong), log(3.0), 1e-6);
    ck_assert_msg(wrong.one == 0, "nothing is greater");
    ck_assert_double_eq_tol(loss_of(TW_LOSS_LOGISTIC, large, 3, 1, g, &wrong), 8990.0, 1e-3);
    ck_assert(wrong.one == 1 && g[0] == 1.0f && g[1] == -1.0f && g[2] == 1.0f);
    ck_assert_double_eq_tol(loss_of(TW_LOSS_LOGISTIC, large, 3, 0, g, &wrong), 2990.0, 1e-3);
    ck_assert(wrong.one == 0);
}
END_TEST

START_TEST(bad_numbers_are_shown)
{
    const tw_loss_t kinds[] = {TW_LOSS_SOFTMAX, TW_LOSS_LOGISTIC};

    for (int k = 0; k < 2; k++) {
        for (size_t at = 0; at < 3; at++) {
            float outputs[3] = {1.0f, 2.0f, 3.0f}, g[3];

            tw_head_wrong_t wrong;

            outputs[at] = NAN;
            ck_assert(isnan(loss_of(kinds[k], outputs, 3, 1, g, &wrong)));
            ck_assert(at != 1 || wrong.one == 1);
            outputs[at] = INFINITY;
            ck_assert(!isfinite(loss_of(kinds[k], outputs, 3, at == 1 ? 0 : 1, g, &wrong)));
        }
    }
}
END_TEST

/* Many classes: more factors than fit one product. */
START_TEST(many_classes)
{
    static float outputs[5000], g[5000];
    double       want = 0.0;

    dense_net_fill(outputs, 5000, 9, 6.0f);
    for (size_t c = 0; c < 5000; c++) {
        want += log1p(exp((double)outputs[c])) - (c == 4321 ? (double)outputs[c] : 0.0);
    }
    ck_assert_double_eq_tol(loss_of(TW_LOSS_LOGISTIC, outputs, 5000, 4321, g, NULL), want,
                            1e-6 * want);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("train/loss");
    TCase *tcase = tcase_create("all");

    tcase_add_test(tcase, losses_are_safe);
    tcase_add_test(tcase, bad_numbers_are_shown);
    tcase_add_test(tcase, many_classes);
    suite_add_tcase(suite, tcase);
    return test_main(suite);
}
