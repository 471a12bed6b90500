/* SPDX-License-Identifier: BSD-3-Clause
 * tests/gpu/standin/test_gpu_memory.c - the trainer's CUDA backend on the stand-in: memory, copies
 * in the order of the work, and what cannot be had, in one line each.
 */
#include "config.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/gpu/standin/standin.h"
#include "tests/suite.h"
#include "train/compute/backend.h"

static tw_backend_t *backend_on(int device)
{
    const tw_backend_cuda_config_t config  = {.device = device};
    tw_problem_t                   problem = {.set = 0};
    tw_backend_t                  *backend;

    ck_assert_msg(tw_backend_cuda(&backend, &config, &problem) == 0, "%s", problem.text);
    return backend;
}

static void clean(void)
{
    ck_assert_msg(standin_findings() == 0, "%s", standin_finding());
    ck_assert_int_eq(standin_objects(), 0);
}

START_TEST(memory_and_copies)
{
    const size_t  n = 300000; /* more than all stages */
    tw_backend_t *b;
    tw_problem_t  problem = {.set = 0};
    void         *on, *other, *pinned;
    size_t        used;
    uint32_t     *host = calloc(n, sizeof(*host)), *back = calloc(n, sizeof(*back));
    uint32_t     *want = calloc(n, sizeof(*want));

    standin_seed((uint64_t)_i);
    b = backend_on(_i % 2);
    ck_assert_int_eq(tw_backend_memory(b), TW_MEMORY_CUDA);
    ck_assert_ptr_nonnull(tw_backend_exec(b)->stream);
    used = tw_backend_memory_used(b); /* cuBLAS's workspace */
    ck_assert_int_eq(tw_backend_allocate(b, n * 4, &on, &problem), 0);
    ck_assert_int_eq(tw_backend_allocate(b, n * 4, &other, &problem), 0);
    ck_assert_int_eq(tw_backend_allocate_pinned(b, n * 4, &pinned, &problem), 0);
    ck_assert_uint_eq(tw_backend_memory_used(b), used + 2 * n * 4);
    ck_assert_uint_ge(tw_backend_memory_total(b), 2 * n * 4);
    ck_assert_int_eq(tw_backend_get(b, back, on, n * 4, &problem), 0);
    ck_assert_mem_eq(back, host, n * 4); /* zeros */
    for (uint32_t round = 1; round < 4; round++) {
        for (size_t i = 0; i < n; i++) {
            host[i] = want[i] = round * (uint32_t)i;
        }
        ck_assert_int_eq(tw_backend_put(b, on, host, n * 4, &problem), 0);
        memset(host, 7, n * 4); /* which the copy must not see */
        ck_assert_int_eq(tw_backend_copy(b, other, on, n * 4, &problem), 0);
        ck_assert_int_eq(tw_backend_zero(b, on, 40, &problem), 0);
        ck_assert_int_eq(tw_backend_copy(b, pinned, other, n * 4, &problem), 0);
        ck_assert_int_eq(tw_backend_finish(b, &problem), 0);
        ck_assert_int_eq(tw_backend_get(b, back, on, n * 4, &problem), 0);
        ck_assert_mem_eq(pinned, want, n * 4);
        memset(want, 0, 40);
        ck_assert_mem_eq(back, want, n * 4);
    }
    tw_backend_release_pinned(b, pinned);
    tw_backend_release(b, on);
    tw_backend_release(b, other);
    ck_assert_uint_eq(tw_backend_memory_used(b), used);
    tw_backend_destroy(b);
    clean();
    free(want);
    free(host);
    free(back);
}
END_TEST

/* Whatever call fails while it is made: one line, and nothing is left. */
START_TEST(each_call_of_creation_fails)
{
    const tw_backend_cuda_config_t config  = {.device = 0};
    tw_problem_t                   problem = {.set = 0};
    tw_backend_t                  *b       = NULL;
    int                            n       = 1;

    for (; n < 100; n++) {
        problem.set = 0;
        standin_fail("*", n, 2, STANDIN_ONCE); /* of whichever library: 2 is an error in each */
        if (tw_backend_cuda(&b, &config, &problem) == 0) {
            break;
        }
        ck_assert_ptr_null(b);
        ck_assert(problem.set && problem.text[0] != '\0');
        clean();
    }
    standin_fail(NULL, 0, 0, STANDIN_ONCE);
    ck_assert_int_gt(n, 8);
    ck_assert_int_lt(n, 100);
    tw_backend_destroy(b);
    clean();
}
END_TEST

START_TEST(what_is_not_there_is_one_line)
{
    const tw_backend_cuda_config_t config  = {.device = 7};
    tw_problem_t                   problem = {.set = 0};
    tw_backend_t                  *b;

    ck_assert_int_eq(tw_backend_cuda(&b, &config, &problem), -1);
    ck_assert_str_eq(problem.text, "there is no GPU 7: this process sees 2, from 0 on");
    clean();
    problem.set = 0;
    b           = backend_on(0);
    standin_fail("cudaMalloc", 1, 2, STANDIN_ONCE);
    void *p;
    ck_assert_int_eq(tw_backend_allocate(b, 100, &p, &problem), -1);
    ck_assert_ptr_eq(strstr(problem.text, "GPU 0: 100 bytes: "), problem.text);
    ck_assert_ptr_null(p);
    tw_backend_destroy(b);
    clean();
}
END_TEST

/* For missing.sh: what is said where a GPU cannot be had. */
static int only_open(void)
{
    const tw_backend_cuda_config_t config  = {.device = 0};
    tw_problem_t                   problem = {.set = 0};
    tw_backend_t                  *b;
    const int                      rc = tw_backend_cuda(&b, &config, &problem);

    (void)printf("%s\n", rc == 0 ? tw_backend_name(b) : problem.text);
    tw_backend_destroy(b);
    return rc == 0 ? 0 : 1;
}

int main(int argc, char **argv)
{
    Suite *suite = suite_create("gpu/memory");
    TCase *tcase = test_case(suite, "all");

    if (argc > 1 && strcmp(argv[1], "open") == 0) {
        srunner_free(srunner_create(suite));
        return only_open();
    }
    setenv("STANDIN_DEVICES", "2", 1);
    tcase_add_loop_test(tcase, memory_and_copies, 1, 5);
    tcase_add_test(tcase, each_call_of_creation_fails);
    tcase_add_test(tcase, what_is_not_there_is_one_line);
    return test_main(suite);
}
