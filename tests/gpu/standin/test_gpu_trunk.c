/* SPDX-License-Identifier: BSD-3-Clause
 * tests/gpu/standin/test_gpu_trunk.c - a step of a trunk with every kind of layer on a GPU that the
 * stand-in plays: the same bits in whatever order the device works, other algorithms, two devices
 * at a time, and each call of CUDA, cuDNN and cuBLAS failing.
 */
#include "config.h"

#include <check.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tests/gpu/standin/standin.h"
#include "tests/suite.h"
#include "tests/train/small_net.h"
#include "train/compute/backend.h"
#include "train/model/trunk.h"

enum { EXAMPLES = 3, SEED = 17 };

/* Everything that a step gives. */
typedef struct result {
    float *features, *gradient, *state;
    size_t of_features, of_gradient, of_state;
} result_t;

/* All of one step. */
typedef struct job {
    tw_network_t  net;
    examples_t    e;
    tw_params_t   params, on;     /* on: in memory of the backend */
    tw_backend_t *backend, *host; /* host: of params */
    tw_trunk_t   *trunk;
    float        *g_features;
} job_t;

static void job_open(job_t *job)
{
    tw_problem_t problem = {.set = 0};

    memset(job, 0, sizeof(*job));
    small_net_read(&job->net, small_net_text);
    job->e = examples_make(&job->net, EXAMPLES, 2);
    must(tw_backend_host(&job->host, tw_kernels_for("scalar"), 1, &problem) == 0, problem.text);
    must(tw_params_create(&job->params, &job->net, job->host, 0, 1, 0, &problem) == 0,
         problem.text);
    must(tw_params_init(&job->params, &job->net, SEED, &problem) == 0, problem.text);
}

static int take(job_t *job, float **p, const float *from, size_t count, tw_problem_t *problem)
{
    void *memory;

    if (tw_backend_allocate(job->backend, count * sizeof(float), &memory, problem) != 0) {
        return -1;
    }
    *p = memory;
    return tw_backend_put(job->backend, memory, from, count * sizeof(float), problem);
}

static int job_build(job_t *job, const tw_backend_cuda_config_t *config, tw_problem_t *problem)
{
    job->on       = job->params;
    job->on.value = job->on.gradient = job->on.state = NULL;
    if (tw_backend_cuda(&job->backend, config, problem) != 0 ||
        take(job, &job->on.value, job->params.value, job->params.total, problem) != 0 ||
        take(job, &job->on.gradient, job->params.gradient, job->params.total, problem) != 0 ||
        take(job, &job->on.state, job->params.state, job->params.states, problem) != 0) {
        return -1;
    }
    return tw_trunk_create(&job->trunk, &job->net, job->backend, &job->on, NULL, problem);
}

static int job_step(job_t *job, uint64_t step, result_t *r, tw_problem_t *problem)
{
    const tw_trunk_pass_t pass  = {EXAMPLES, 1, SEED, step, job->e.index, 0.0f};
    float                *input = tw_trunk_input(job->trunk, EXAMPLES, problem);
    const size_t          bytes = EXAMPLES * tw_trunk_features(job->trunk) * sizeof(float);
    const float          *features;
    void                 *memory;

    if (input == NULL || tw_backend_put(job->backend, input, job->e.images,
                                        EXAMPLES * job->e.size * sizeof(float), problem) != 0) {
        return -1;
    }
    features = tw_trunk_forward(job->trunk, &pass, problem);
    if (features == NULL) {
        return -1;
    }
    if (job->g_features == NULL) {
        if (tw_backend_allocate(job->backend, bytes, &memory, problem) != 0) {
            return -1;
        }
        job->g_features = memory;
    }
    if (tw_backend_copy(job->backend, job->g_features, features, bytes, problem) != 0 ||
        tw_trunk_backward(job->trunk, &pass, job->g_features, problem) != 0 ||
        tw_backend_get(job->backend, r->features, features, bytes, problem) != 0 ||
        tw_backend_get(job->backend, r->gradient, job->on.gradient,
                       job->params.total * sizeof(float), problem) != 0) {
        return -1;
    }
    return tw_backend_get(job->backend, r->state, job->on.state, job->params.states * sizeof(float),
                          problem);
}

static void job_close(job_t *job)
{
    tw_trunk_destroy(job->trunk);
    if (job->backend != NULL) {
        tw_backend_release(job->backend, job->on.value);
        tw_backend_release(job->backend, job->on.gradient);
        tw_backend_release(job->backend, job->on.state);
        tw_backend_release(job->backend, job->g_features);
    }
    tw_backend_destroy(job->backend);
    tw_params_destroy(&job->params);
    tw_backend_destroy(job->host);
    examples_free(&job->e);
    tw_network_destroy(&job->net);
}

static void result_open(result_t *r, const job_t *job)
{
    const size_t l = (size_t)job->net.layer[job->net.first_dense].input[0];

    r->of_features = EXAMPLES * tw_shape_size(job->net.layer[l].out);
    r->of_gradient = job->params.total;
    r->of_state    = job->params.states;
    r->features    = calloc(r->of_features, sizeof(float));
    r->gradient    = calloc(r->of_gradient, sizeof(float));
    r->state       = calloc(r->of_state, sizeof(float));
}

static void result_close(result_t *r)
{
    free(r->features);
    free(r->gradient);
    free(r->state);
}

/* One step by a backend of its own; 0, or -1 with the problem set. */
static int run(const tw_backend_cuda_config_t *config, result_t *r, tw_problem_t *problem)
{
    job_t job;
    int   rc;

    job_open(&job);
    result_open(r, &job);
    rc = job_build(&job, config, problem) == 0 ? job_step(&job, 3, r, problem) : -1;
    standin_fail(NULL, 0, 0, STANDIN_ONCE);
    job_close(&job);
    return rc;
}

static int same(const result_t *a, const result_t *b)
{
    return memcmp(a->features, b->features, a->of_features * sizeof(float)) == 0 &&
           memcmp(a->gradient, b->gradient, a->of_gradient * sizeof(float)) == 0 &&
           memcmp(a->state, b->state, a->of_state * sizeof(float)) == 0;
}

static double apart(const float *a, const float *b, size_t n)
{
    double off = 0.0, all = 0.0;

    for (size_t i = 0; i < n; i++) {
        off += ((double)a[i] - (double)b[i]) * ((double)a[i] - (double)b[i]);
        all += (double)b[i] * (double)b[i];
    }
    return sqrt(off / all);
}

static void clean(const char *what)
{
    ck_assert_msg(standin_findings() == 0, "%s: %s", what, standin_finding());
    ck_assert_msg(standin_objects() == 0, "%s: %d objects are left", what, standin_objects());
}

static void good(const tw_backend_cuda_config_t *config, result_t *r)
{
    tw_problem_t problem = {.set = 0};

    ck_assert_msg(run(config, r, &problem) == 0, "%s", problem.text);
    clean("a step");
}

START_TEST(bits_are_the_same_in_every_run)
{
    const tw_backend_cuda_config_t config = {.device = 0};
    result_t                       first, r;

    standin_seed(1);
    good(&config, &first);
    for (uint64_t seed = 2; seed < 8; seed++) {
        standin_seed(seed);
        good(&config, &r);
        ck_assert_msg(same(&r, &first), "other bits with seed %llu", (unsigned long long)seed);
        result_close(&r);
    }
    result_close(&first);
}
END_TEST

/* Whatever algorithms are found to be the fastest, and on whichever device. */
START_TEST(fast_algorithms_agree)
{
    const tw_backend_cuda_config_t plain = {.device = 0};
    result_t                       want;

    good(&plain, &want);
    for (uint64_t seed = 1; seed < 5; seed++) {
        const tw_backend_cuda_config_t config = {.device = 1, .fast = 1, .tf32 = seed % 2 == 0};
        result_t                       r;

        standin_seed(seed);
        good(&config, &r);
        ck_assert_double_le(apart(r.features, want.features, r.of_features), 1e-5);
        ck_assert_double_le(apart(r.gradient, want.gradient, r.of_gradient), 1e-4);
        result_close(&r);
    }
    result_close(&want);
}
END_TEST

/* ---- work that is captured ---- */

enum { STEPS = 4 };

/* So many steps of one backend; what the last one gave. */
static int run_steps(result_t *r, tw_problem_t *problem)
{
    const tw_backend_cuda_config_t config = {.device = 0};
    job_t                          job;
    int                            rc;

    job_open(&job);
    result_open(r, &job);
    rc = job_build(&job, &config, problem);
    for (uint64_t step = 0; step < STEPS && rc == 0; step++) {
        rc = job_step(&job, 3, r, problem);
    }
    standin_fail(NULL, 0, 0, STANDIN_ONCE);
    job_close(&job);
    return rc;
}

static int same_step(const result_t *a, const result_t *b)
{
    return memcmp(a->features, b->features, a->of_features * sizeof(float)) == 0 &&
           memcmp(a->gradient, b->gradient, a->of_gradient * sizeof(float)) == 0;
}

static unsigned long convolutions(void)
{
    return standin_calls("cudnnConvolutionForward") +
           standin_calls("cudnnConvolutionBackwardFilter") +
           standin_calls("cudnnConvolutionBackwardData");
}

/* Convolutions are called in two steps, from the second on launched as graphs, with the same
 * results; also where one of them cannot be captured. A launch that fails is told. */
START_TEST(steps_are_captured)
{
    static const char *const       fail[]  = {"cudaStreamBeginCapture", "cudaStreamEndCapture",
                                              "cudaGraphInstantiateWithFlags", "cudaGraphLaunch"};
    const tw_backend_cuda_config_t config  = {.device = 0};
    tw_problem_t                   problem = {.set = 0};
    unsigned long                  before, launches, one;
    result_t                       want, r;

    before = convolutions();
    good(&config, &want);
    one      = convolutions() - before;
    before   = convolutions();
    launches = standin_calls("cudaGraphLaunch");
    ck_assert_msg(run_steps(&r, &problem) == 0, "%s", problem.text);
    clean("steps");
    ck_assert(same_step(&r, &want));
    ck_assert_uint_eq(convolutions() - before, 2 * one);
    ck_assert_uint_eq(standin_calls("cudaGraphLaunch") - launches, (STEPS - 1) * one);
    result_close(&r);
    for (size_t i = 0; i < sizeof(fail) / sizeof(fail[0]); i++) {
        standin_fail(fail[i], 2, 2, STANDIN_ONCE);
        problem = (tw_problem_t){.set = 0};
        if (run_steps(&r, &problem) == 0) {
            ck_assert_msg(i < 3 && same_step(&r, &want), "%s", fail[i]);
        } else {
            ck_assert_msg(i == 3 && strncmp(problem.text, "GPU 0: conv: ", 13) == 0, "%s: %s",
                          fail[i], problem.text);
        }
        result_close(&r);
        clean(fail[i]);
    }
    result_close(&want);
}
END_TEST

/* ---- failures ---- */

static const char *const calls[] = {"cudaGetDeviceCount",
                                    "cudaSetDevice",
                                    "cudaGetDeviceProperties",
                                    "cudaStreamCreateWithFlags",
                                    "cudaStreamSynchronize",
                                    "cudaEventCreateWithFlags",
                                    "cudaEventRecord",
                                    "cudaEventSynchronize",
                                    "cudaMalloc",
                                    "cudaMallocHost",
                                    "cudaMemcpyAsync",
                                    "cudaMemsetAsync",
                                    "cudaLaunchKernel",
                                    "cublasCreate_v2",
                                    "cublasSetStream_v2",
                                    "cublasSetMathMode",
                                    "cudnnCreate",
                                    "cudnnSetStream",
                                    "cudnnCreateTensorDescriptor",
                                    "cudnnSetTensor4dDescriptor",
                                    "cudnnCreateFilterDescriptor",
                                    "cudnnSetFilter4dDescriptor",
                                    "cudnnCreateConvolutionDescriptor",
                                    "cudnnSetConvolution2dDescriptor",
                                    "cudnnSetConvolutionMathType",
                                    "cudnnGetConvolutionForwardAlgorithm_v7",
                                    "cudnnGetConvolutionBackwardFilterAlgorithm_v7",
                                    "cudnnGetConvolutionBackwardDataAlgorithm_v7",
                                    "cudnnGetConvolutionForwardWorkspaceSize",
                                    "cudnnGetConvolutionBackwardFilterWorkspaceSize",
                                    "cudnnGetConvolutionBackwardDataWorkspaceSize",
                                    "cudnnConvolutionForward",
                                    "cudnnConvolutionBackwardFilter",
                                    "cudnnConvolutionBackwardBias",
                                    "cudnnConvolutionBackwardData",
                                    "cudnnCreatePoolingDescriptor",
                                    "cudnnSetPooling2dDescriptor",
                                    "cudnnPoolingForward",
                                    "cudnnPoolingBackward",
                                    "cudnnCreateLRNDescriptor",
                                    "cudnnSetLRNDescriptor",
                                    "cudnnLRNCrossChannelForward",
                                    "cudnnLRNCrossChannelBackward"};

enum { CALLS = sizeof(calls) / sizeof(calls[0]) };

static int error_of(const char *call)
{
    return strncmp(call, "cudnn", 5) == 0 ? 5000 : strncmp(call, "cublas", 6) == 0 ? 13 : 2;
}

/* The n-th call fails: the step ends with one line, or (where nobody has to know) with what it
 * gives without. */
static void fail_one(const char *call, int n, const result_t *want)
{
    const tw_backend_cuda_config_t config  = {.device = 0};
    tw_problem_t                   problem = {.set = 0};
    result_t                       r;

    standin_fail(call, n, error_of(call), STANDIN_ONCE);
    if (run(&config, &r, &problem) == 0) {
        ck_assert_msg(same(&r, want), "%s, call %d: nothing is said, and the result is wrong", call,
                      n);
        ck_assert(strcmp(call, "cudaStreamSynchronize") == 0);
    } else {
        ck_assert_msg(problem.set && problem.text[0] != '\0' && strchr(problem.text, '\n') == NULL,
                      "%s, call %d: '%s'", call, n, problem.text);
    }
    result_close(&r);
    clean(call);
}

START_TEST(each_call_fails)
{
    const tw_backend_cuda_config_t config = {.device = 0};
    const char                    *call   = calls[_i];
    unsigned long                  before = standin_calls(call), all;
    result_t                       want;

    good(&config, &want);
    all = standin_calls(call) - before;
    ck_assert_msg(all > 0, "%s is never called", call);
    fail_one(call, 1, &want);
    if (all > 2) {
        fail_one(call, (int)(all / 2), &want);
    }
    if (all > 1 &&
        strcmp(call, "cudaStreamSynchronize") != 0) { /* the last of those are of the end */
        fail_one(call, (int)all, &want);
    }
    result_close(&want);
}
END_TEST

/* A kernel is started, and fails on the device: whoever waits next is told, and everything can be
 * let go. */
START_TEST(work_fails_on_the_device)
{
    const tw_backend_cuda_config_t config  = {.device = 0};
    tw_problem_t                   problem = {.set = 0};
    result_t                       r;

    standin_fail("cudaLaunchKernel", 5 + 20 * _i, 700, STANDIN_LATE);
    ck_assert_int_eq(run(&config, &r, &problem), -1);
    ck_assert(problem.set && problem.machine && strncmp(problem.text, "GPU 0: ", 7) == 0);
    ck_assert_msg(standin_findings() == 0, "%s", standin_finding());
    result_close(&r);
}
END_TEST

/* Too little memory for the trunk's work space. */
START_TEST(memory_is_short)
{
    const tw_backend_cuda_config_t config  = {.device = 0};
    tw_problem_t                   problem = {.set = 0};
    result_t                       r;

    ck_assert_int_eq(run(&config, &r, &problem), -1);
    ck_assert_ptr_nonnull(strstr(problem.text, " bytes: "));
    result_close(&r);
    clean("little memory");
}
END_TEST

static void little_memory(void)
{
    setenv("STANDIN_MEMORY", "100000", 1);
}

int main(void)
{
    Suite *suite = suite_create("gpu/trunk");
    TCase *tcase = test_case_within(suite, "all", 120), *little = test_case(suite, "little memory");

    setenv("STANDIN_DEVICES", "2", 1);
    tcase_add_test(tcase, bits_are_the_same_in_every_run);
    tcase_add_test(tcase, fast_algorithms_agree);
    tcase_add_test(tcase, steps_are_captured);
    tcase_add_loop_test(tcase, each_call_fails, 0, CALLS);
    tcase_add_loop_test(tcase, work_fails_on_the_device, 0, 3);
    tcase_add_checked_fixture(little, little_memory, NULL);
    tcase_add_test(little, memory_is_short);
    return test_main(suite);
}
