/* SPDX-License-Identifier: BSD-3-Clause
 * tests/gpu/standin/test_images.c - a pipeline that hands its images to the trainer's CUDA backend,
 * on the stand-in: batches are the same bits as by one thread of the processor, for lists of
 * operations in which each has its turn, at every transfer index that the device can have.
 */
#include "config.h"

#include <check.h>
#include <stdlib.h>
#include <string.h>

#include <cuda_runtime_api.h>

#include "tests/gpu/standin/standin.h"
#include "tests/suite.h"
#include "tests/train/pipeline_rig.h"
#include "train/compute/backend.h"
#include "train/input/fold.h"

enum { BATCHES = 10, LISTS = 6 };

static const struct {
    const char *text;
    size_t      first; /* the least transfer index */
} lists[LISTS] = {
    {"resize:18x22 crop:16 mirror colour:contrast=0.5 mean:100 scale:0.01", 4},
    {"crop:16,pad=4,random mirror mean:1,2,3 deviation:3,4,5", 0},
    {"mean:pixels crop:16,random mirror", 0},
    {"mirror crop:20x18,random mean:pixels mirror crop:16,pad=2,random noise:0.4", 0},
    {"noise:1 crop:16 scale:0.1", 0},
    {"mirror scale:2 mirror crop:18 mean:1 scale:3 mean:2 scale:0.3 mean:4 scale:5 mean:6 "
     "scale:7 mean:8 crop:16 scale:9",
     6}};

/* A mean of pixels that looks like no other. */
static void teach(void)
{
    for (size_t k = 0; k < list.n; k++) {
        const tw_transform_t *op = &list.op[k];
        const size_t          n  = op->ops->learns != NULL ? op->ops->learns(op->own) : 0;
        uint64_t             *sums;

        if (n > 0) {
            sums    = malloc(n * sizeof(*sums));
            sums[0] = 7;
            for (size_t i = 1; i < n; i++) {
                sums[i] = i * 977 % 1785;
            }
            op->ops->learn(op->own, sums);
            free(sums);
        }
    }
}

static void take_list(const char *text)
{
    const tw_image_form_t from = {.type = TW_IMAGE_PIXELS, .shape = {C, H, W}};

    tw_transforms_destroy(&list);
    ck_assert_msg(tw_transforms_parse(&list, text, from, "list", &problem) == 0, "%s",
                  problem.text);
    teach();
}

static tw_backend_t *backend;
static float        *out;

static void open_device(int device, int threads)
{
    const tw_backend_cuda_config_t how = {.device = device};

    ck_assert_msg(tw_backend_cuda(&backend, &how, &problem) == 0, "%s", problem.text);
    ck_assert_int_eq(
        tw_backend_allocate(backend, ROWS * OUT * sizeof(float), (void **)&out, &problem), 0);
    ck_assert_int_eq(tw_backend_images(backend, ROWS, &config.device, &problem), 0);
    config.threads = threads;
}

static void close_device(void)
{
    tw_pipeline_destroy(pipeline);
    pipeline = NULL;
    tw_backend_release(backend, out);
    tw_backend_destroy(backend);
}

START_TEST(batches_are_those_of_the_processor)
{
    static float  want[ROWS * OUT], got[ROWS * OUT];
    test_random_t r      = {test_seed() + (uint64_t)_i};
    uint64_t      posted = 0;

    standin_seed(test_next(&r));
    take_list(lists[_i % LISTS].text);
    ck_assert_uint_eq(tw_fold_first(&list), lists[_i % LISTS].first);
    open_device(_i % 2, _i / LISTS);
    open_pipeline();
    for (uint64_t b = 0; b < BATCHES; b++) {
        while (posted < BATCHES && tw_pipeline_posted(pipeline) < TW_PIPELINE_DEPTH) {
            const size_t least = tw_fold_first(&list);

            post(posted++, (int)least + (int)test_below(&r, (int)(list.n - least) + 1));
        }
        ck_assert_msg(tw_pipeline_take(pipeline, b % 5 == 3 ? NULL : out, &problem) == 0, "%s",
                      problem.text);
        if (b % 5 != 3) {
            ck_assert_int_eq(tw_backend_get(backend, got, out, sizeof(got), &problem), 0);
            plainly(b, want);
            ck_assert_msg(memcmp(got, want, rows_of(b) * OUT * sizeof(*want)) == 0, "batch %d",
                          (int)b);
        }
    }
    close_device();
    ck_assert_msg(standin_findings() == 0, "%s", standin_finding());
    ck_assert_int_eq(standin_objects(), 0);
}
END_TEST

/* Each call that hands over images fails once: one line about the device, and nothing is left. */
START_TEST(failures_are_told)
{
    static const char *const calls[] = {
        "cudaMallocHost",       "cudaMalloc",      "cudaMemcpyAsync",
        "cudaEventSynchronize", "cudaEventRecord", "cudaStreamWaitEvent",
        "cudaLaunchKernel",     "cudaSetDevice",   "cudaEventCreateWithFlags"};
    int status = 0;

    take_list(lists[1].text);
    open_device(0, _i % 2);
    open_pipeline();
    standin_fail(calls[_i / 2], 3, cudaErrorMemoryAllocation, STANDIN_ONCE);
    for (uint64_t b = 0; b < 5 && status == 0; b++) {
        post(b, 0);
        status = tw_pipeline_take(pipeline, out, &problem);
    }
    ck_assert_int_eq(status, -1);
    ck_assert_msg(strstr(problem.text, "GPU 0: ") == problem.text ||
                      strstr(problem.text, "memory") != NULL,
                  "%s", problem.text);
    standin_fail(NULL, 0, 0, STANDIN_ONCE);
    close_device();
    ck_assert_msg(standin_findings() == 0, "%s", standin_finding());
    ck_assert_int_eq(standin_objects(), 0);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("gpu/images");
    TCase *tcase = test_case_within(suite, "images", 60.0);

    setenv("STANDIN_DEVICES", "2", 1);
    tcase_add_checked_fixture(tcase, set_up, tear_down);
    tcase_add_loop_test(tcase, batches_are_those_of_the_processor, 0, 3 * LISTS);
    tcase_add_loop_test(tcase, failures_are_told, 0, 18);
    return test_main(suite);
}
