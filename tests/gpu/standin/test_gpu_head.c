/* SPDX-License-Identifier: BSD-3-Clause
 * tests/gpu/standin/test_gpu_head.c - steps of dense layers on the stand-in: the same bits in every
 * order of execution, each call that fails, and which layer gave no numbers.
 */
#include "config.h"

#include <math.h>

#include "tests/gpu/standin/standin.h"
#include "tests/suite.h"
#include "tests/train/dense_net.h"
#include "tests/train/on_backend.h"

static void clean(void)
{
    ck_assert_msg(standin_findings() == 0, "%s", standin_finding());
    ck_assert_int_eq(standin_objects(), 0);
}

enum { N = 19, FEATURES = 30, CLASSES = 12 };

/* One training step on a device: gradients and extra to out, unless something fails. */
static int run_step(tw_loss_t loss, float *out, size_t *total_p, tw_problem_t *problem)
{
    const tw_backend_cuda_config_t config = {.device = 0};
    const tw_head_how_t            how    = {.comm = NULL};
    float                         *x      = dense_net_drawn(N * FEATURES, 3), *value, result[2];
    uint32_t                       labels[N];
    uint64_t                       examples[N];
    tw_head_pass_t                 pass    = {.n        = N,
                                              .examples = examples,
                                              .labels   = labels,
                                              .training = 1,
                                              .scale    = 1.0f / N,
                                              .count    = 1,
                                              .five     = 1};
    tw_backend_t                  *backend = NULL;
    tw_params_t                    params  = {.count = 0};
    tw_head_t                     *head    = NULL;
    void                          *there   = NULL;
    tw_network_t                   net;
    tw_head_wrong_t                wrong;
    double                         sum;
    int                            status;

    dense_net_examples(N, CLASSES, 4, labels, examples);
    dense_net_make(&net, (tw_shape_t){FEATURES, 1, 1}, loss, "d0.2 r21 d0.5 s9 l12");
    status = tw_backend_cuda(&backend, &config, problem);
    if (status == 0) {
        status = tw_params_create(&params, &net, backend, 0, 1, 0, problem);
    }
    if (status == 0) {
        *total_p = params.total;
        value    = dense_net_drawn(params.total, 5);
        status   = tw_params_put(&params, params.value, value, params.total, problem);
        free(value);
    }
    if (status == 0) {
        status = tw_head_create(&head, &net, &params, &how, N, problem);
    }
    if (status == 0) {
        status = tw_backend_allocate(backend, N * FEATURES * sizeof(float), &there, problem);
    }
    if (status == 0) {
        pass.x = there;
        status = tw_backend_put(backend, there, x, N * FEATURES * sizeof(float), problem);
    }
    if (status == 0) {
        status = tw_head_run(head, &pass, problem);
    }
    if (status == 0) {
        tw_head_give(head, params.extra);
        status = tw_head_run(head, &pass, problem);
    }
    if (status == 0) {
        status = tw_params_get(&params, result, params.extra, 2, problem);
    }
    if (status == 0) {
        status = tw_head_take(head, &sum, &wrong, problem);
    }
    if (status == 0) {
        status = tw_params_get(&params, out, params.gradient, params.total, problem);
    }
    if (status == 0) {
        ck_assert_float_eq(result[0], (float)sum);
        ck_assert_float_eq(result[1], (float)wrong.one);
        out[params.total]     = result[0];
        out[params.total + 1] = (float)wrong.five;
    }
    tw_head_destroy(head);
    if (backend != NULL) {
        tw_backend_release(backend, there);
    }
    tw_params_destroy(&params);
    tw_backend_destroy(backend);
    dense_net_destroy(&net);
    free(x);
    return status;
}

/* A layer whose outputs are no numbers is named. */
START_TEST(the_first_bad_layer_is_found)
{
    static const char *const names[] = {"r1", "s3", "l4", NULL};
    const tw_head_how_t      how     = {.comm = NULL};
    tw_backend_t            *b       = on_backend(NULL, 1);
    tw_problem_t             problem = {.set = 0};
    float                   *x = dense_net_drawn(N * FEATURES, 3), *there, *value, bad = NAN;
    tw_head_pass_t           pass = {.n = N, .scale = 1.0f};
    uint32_t                 labels[N];
    uint64_t                 examples[N];
    tw_network_t             net;
    tw_params_t              params;
    tw_head_t               *head;
    const char              *name;

    standin_seed((uint64_t)_i);
    dense_net_examples(N, CLASSES, 4, labels, examples);
    dense_net_make(&net, (tw_shape_t){FEATURES, 1, 1}, TW_LOSS_SOFTMAX, "d0.2 r21 d0.5 s9 l12");
    on_backend_must(tw_params_create(&params, &net, b, 0, 1, 0, &problem), &problem);
    value = dense_net_drawn(params.total, 5);
    on_backend_must(tw_params_put(&params, params.value, value, params.total, &problem), &problem);
    if (_i < 3) {
        const tw_param_t *bias = tw_params_find(&params, _i == 2 ? 4 : 2 * (size_t)_i + 1, TW_BIAS);

        on_backend_must(tw_params_put(&params, params.value + bias->first, &bad, 1, &problem),
                        &problem);
    }
    on_backend_must(tw_head_create(&head, &net, &params, &how, N, &problem), &problem);
    pass.x = there = on_backend_copy(b, x, N * FEATURES * sizeof(float));
    pass.labels    = labels;
    on_backend_must(tw_head_run(head, &pass, &problem), &problem);
    name = tw_head_first_nonfinite(head, N);
    ck_assert_msg(names[_i] == NULL ? name == NULL : name != NULL && strcmp(name, names[_i]) == 0,
                  "'%s'", name != NULL ? name : "none");
    tw_head_destroy(head);
    tw_params_destroy(&params);
    tw_backend_release(b, there);
    tw_backend_destroy(b);
    dense_net_destroy(&net);
    free(value);
    free(x);
    clean();
}
END_TEST

/* The same in every order of execution. */
START_TEST(runs_give_the_same_bits)
{
    static float first[4000], again[4000];

    for (int loss = 0; loss < 2; loss++) {
        for (uint64_t seed = 0; seed < 4; seed++) {
            tw_problem_t problem = {.set = 0};
            size_t       total   = 0;
            const int    status =
                (standin_seed(seed), run_step(loss ? TW_LOSS_LOGISTIC : TW_LOSS_SOFTMAX,
                                              seed == 0 ? first : again, &total, &problem));

            ck_assert_msg(status == 0, "%s", problem.text);
            ck_assert(total > 500 && total + 2 < 4000);
            if (seed > 0) {
                ck_assert_mem_eq(again, first, (total + 2) * sizeof(float));
            }
            clean();
        }
    }
}
END_TEST

/* The n-th call of each kind fails, once: one line, nothing is left, and the next run is well. */
static void fail_each(const char *call, int error, standin_mode_t mode)
{
    static float out[4000];
    int          failed = 0, done = 0;

    for (int n = 1; !done; n++) {
        tw_problem_t problem = {.set = 0};
        size_t       total;
        int          status;

        standin_seed((uint64_t)n);
        standin_fail(call, n, error, mode);
        status = run_step(n % 2 ? TW_LOSS_SOFTMAX : TW_LOSS_LOGISTIC, out, &total, &problem);
        if (status != 0) {
            failed++;
            ck_assert_msg(problem.set && problem.text[0] != '\0' &&
                              strchr(problem.text, '\n') == NULL,
                          "%s, call %d: '%s'", call, n, problem.text);
        }
        done = status == 0;
        standin_fail(NULL, 0, 0, STANDIN_ONCE);
        ck_assert_msg(standin_findings() == 0, "%s, call %d: %s", call, n, standin_finding());
        ck_assert_msg(standin_objects() == 0, "%s, call %d: %d objects", call, n,
                      standin_objects());
        ck_assert_int_lt(n, 400);
    }
    ck_assert_msg(failed > 0, "%s never failed", call);
}

START_TEST(each_call_may_fail)
{
    fail_each("cudaMalloc", 2, STANDIN_ONCE);
    fail_each("cublasSgemm_v2", 13, STANDIN_ONCE);
    fail_each("cudaLaunchKernel", 719, STANDIN_ONCE);
    fail_each("cublasSetWorkspace_v2", 3, STANDIN_ONCE);
    fail_each("cudaMemsetAsync", 1, STANDIN_ONCE);
    fail_each("cudaMemcpyAsync", 1, STANDIN_ONCE);
}
END_TEST

/* On the device, later: everything fails from then on. One process each. */
START_TEST(work_may_fail)
{
    static const char *const calls[] = {"cublasSgemm_v2", "cudaLaunchKernel", "cudaMemcpyAsync"};
    static float             out[4000];
    tw_problem_t             problem = {.set = 0};
    size_t                   total;

    standin_seed((uint64_t)_i);
    standin_fail(calls[_i % 3], 1 + _i, 719, STANDIN_LATE);
    ck_assert_int_eq(run_step(TW_LOSS_SOFTMAX, out, &total, &problem), -1);
    ck_assert_msg(problem.set && strstr(problem.text, "GPU 0") != NULL, "'%s'", problem.text);
    ck_assert_msg(standin_findings() == 0, "%s", standin_finding());
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("gpu/head");
    TCase *tcase = test_case_within(suite, "all", 240.0);

    tcase_add_loop_test(tcase, the_first_bad_layer_is_found, 0, 4);
    tcase_add_test(tcase, runs_give_the_same_bits);
    tcase_add_test(tcase, each_call_may_fail);
    tcase_add_loop_test(tcase, work_may_fail, 0, 9);
    return test_main(suite);
}
