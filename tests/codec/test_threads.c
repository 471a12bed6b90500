/* SPDX-License-Identifier: BSD-3-Clause
 * tests/codec/test_threads.c - with the kernels of every instruction set: results do not depend on
 * the number of threads nor on the floating-point mode of the caller, which is restored; a call
 * from inside a parallel region makes no threads.
 */
#include "config.h"

#include <dirent.h>
#include <fenv.h>
#include <stdio.h>
#include <stdlib.h>

#ifdef _OPENMP
#include <omp.h>
#endif
#if defined(__x86_64__)
#include <xmmintrin.h>
#endif

#include "tests/codec/common.h"

#define VALUES ((size_t)131072 + 1234) /* several pieces of the least size, and a rest */

typedef struct results {
    size_t   codes_bytes, value_bytes;
    uint8_t *codes, *back, *left, *fed;
    float    largest;
    double   squares;
} results_t;

static results_t work(const tw_codec_t *codec, tw_dtype_t dtype, int threads, const void *src,
                      const void *residual, size_t n)
{
    const tw_exec_t exec  = {.threads = threads};
    const size_t    bytes = test_size(codec, n), values = n * tw_dtype_size(dtype);
    results_t r = {bytes, values, malloc(bytes), malloc(values), malloc(values), malloc(bytes),
                   0,     0};

    memcpy(r.left, residual, values);
    ck_assert_int_eq(tw_codec_encode(codec, &exec, src, n, r.codes), TW_OK);
    ck_assert_int_eq(tw_codec_decode(codec, &exec, r.codes, n, r.back), TW_OK);
    ck_assert_int_eq(tw_codec_encode_feedback(codec, &exec, src, n, r.left, r.fed), TW_OK);
    ck_assert_int_eq(tw_codec_decode_add(codec, &exec, r.fed, n, r.back), TW_OK);
    if (dtype == TW_F32) {
        ck_assert_int_eq(tw_codec_absmax(codec, &exec, src, n, &r.largest), TW_OK);
        ck_assert_int_eq(tw_codec_square_sum(codec, &exec, src, n, &r.squares), TW_OK);
    }
    return r;
}

static void free_results(results_t *r)
{
    free(r->codes);
    free(r->back);
    free(r->left);
    free(r->fed);
}

static void same(results_t *got, const results_t *want, tw_dtype_t dtype, int any_nan,
                 const char *what)
{
    const size_t n = want->value_bytes / tw_dtype_size(dtype);

    ck_assert_msg(memcmp(got->codes, want->codes, want->codes_bytes) == 0, "%s: codes", what);
    ck_assert_msg(memcmp(got->fed, want->fed, want->codes_bytes) == 0, "%s: codes with feedback",
                  what);
    test_same(got->back, want->back, dtype, n, any_nan, what);
    test_same(got->left, want->left, dtype, n, 0, what);
    ck_assert_msg(memcmp(&got->largest, &want->largest, 4) == 0, "%s: maximum", what);
    ck_assert_msg(memcmp(&got->squares, &want->squares, 8) == 0, "%s: sum of squares", what);
    free_results(got);
}

typedef struct input {
    tw_dtype_t dtype;
    uint8_t   *src, *residual;
} input_t;

static input_t input_of(int index, test_kind_t kind)
{
    test_random_t random = test_random((uint64_t)index);
    input_t       in     = {test_specs[index].dtype, NULL, NULL};

    in.src      = malloc(VALUES * tw_dtype_size(in.dtype));
    in.residual = malloc(VALUES * tw_dtype_size(in.dtype));
    test_fill(in.src, in.dtype, VALUES, kind, &random);
    test_fill(in.residual, in.dtype, VALUES,
              kind == TEST_DENORMAL || kind == TEST_EDGE ? TEST_DENORMAL : TEST_NORMAL, &random);
    return in;
}

static void free_input(input_t *in)
{
    free(in->src);
    free(in->residual);
}

START_TEST(threads_change_nothing)
{
    input_t in = input_of(_i, TEST_RARE_INF);

    setenv("THINWIRE_OMP_THRESHOLD", "1", 1);
    for (const char *const *cpu = test_cpus(); *cpu != NULL; cpu++) {
        tw_codec_t *codec = test_codec_cpu(*cpu, test_specs[_i].spec, in.dtype);
        results_t   one   = work(codec, in.dtype, 1, in.src, in.residual, VALUES);

        for (int threads = 2; threads <= 7; threads += threads == 5 ? 2 : 1) {
            results_t r = work(codec, in.dtype, threads, in.src, in.residual, VALUES);

            same(&r, &one, in.dtype, 0, *cpu);
        }
        free_results(&one);
        tw_codec_destroy(codec);
    }
    free_input(&in);
}
END_TEST

#if defined(__x86_64__)

/* Flush to zero and denormals are zero, with each rounding; while a codec is made, too. */
START_TEST(the_callers_mode_changes_nothing_and_stays)
{
    static const test_kind_t kinds[] = {TEST_DENORMAL, TEST_NORMAL, TEST_EDGE, TEST_HUGE,
                                        TEST_WIDE};
    const uint32_t           before  = _mm_getcsr();

    setenv("THINWIRE_OMP_THRESHOLD", "1", 1);
    for (int k = 0; k < 5; k++) {
        input_t in = input_of(_i, kinds[k]);

        for (const char *const *cpu = test_cpus(); *cpu != NULL; cpu++) {
            tw_codec_t *codec = test_codec_cpu(*cpu, test_specs[_i].spec, in.dtype);
            results_t   plain = work(codec, in.dtype, 1, in.src, in.residual, 20000);

            for (uint32_t rounding = 0; rounding < 4; rounding++) {
                const uint32_t mode = 0x1f80u | 0x8040u | rounding << 13;
                uint32_t       after;
                tw_codec_t    *made;
                results_t      r;

                _mm_setcsr(mode);
                made  = test_codec_cpu(*cpu, test_specs[_i].spec, in.dtype);
                r     = work(made, in.dtype, rounding % 2 == 0 ? 1 : 2, in.src, in.residual, 20000);
                after = _mm_getcsr();
                _mm_setcsr(before);
                ck_assert_uint_eq(after, mode);
                tw_codec_destroy(made);
                same(&r, &plain, in.dtype, 1, *cpu);
            }
            free_results(&plain);
            tw_codec_destroy(codec);
        }
        free_input(&in);
    }
}
END_TEST

#endif

START_TEST(the_callers_rounding_changes_nothing_and_stays)
{
    static const int modes[] = {FE_UPWARD, FE_DOWNWARD, FE_TOWARDZERO};
    input_t          in      = input_of(_i, TEST_NORMAL);

    for (const char *const *cpu = test_cpus(); *cpu != NULL; cpu++) {
        tw_codec_t *codec = test_codec_cpu(*cpu, test_specs[_i].spec, in.dtype);
        results_t   plain = work(codec, in.dtype, 1, in.src, in.residual, 9000);

        for (int m = 0; m < 3; m++) {
            results_t r;
            int       after;

            fesetround(modes[m]);
            r     = work(codec, in.dtype, 1, in.src, in.residual, 9000);
            after = fegetround();
            fesetround(FE_TONEAREST);
            ck_assert_int_eq(after, modes[m]);
            same(&r, &plain, in.dtype, 1, *cpu);
        }
        free_results(&plain);
        tw_codec_destroy(codec);
    }
    free_input(&in);
}
END_TEST

#ifdef _OPENMP

/* Threads of this process. */
static int tasks(void)
{
    DIR *dir   = opendir("/proc/self/task");
    int  count = 0;

    while (dir != NULL && readdir(dir) != NULL) {
        count++;
    }
    if (dir != NULL) {
        closedir(dir);
    }
    return count;
}

START_TEST(a_call_inside_a_parallel_region_is_serial)
{
    input_t     in = input_of(_i, TEST_NORMAL);
    tw_codec_t *codec;
    results_t   one, inside[2];
    int         at_start = 0, most[2] = {0, 0};

    setenv("THINWIRE_OMP_THRESHOLD", "1", 1);
    omp_set_max_active_levels(4); /* a region inside would get threads */
    codec = test_codec_at(_i);
    one   = work(codec, in.dtype, 1, in.src, in.residual, VALUES);
#pragma omp parallel num_threads(2)
    {
        const int me = omp_get_thread_num();

#pragma omp barrier
#pragma omp single
        at_start = tasks();
        if (me < 2) {
            inside[me] = work(codec, in.dtype, 3, in.src, in.residual, VALUES);
            most[me]   = tasks(); /* OpenMP keeps the threads that it once made */
        }
    }
    for (int t = 0; t < 2; t++) {
        ck_assert_int_eq(most[t], at_start);
        same(&inside[t], &one, in.dtype, 1, "inside");
    }
    free_results(&one);
    tw_codec_destroy(codec);
    free_input(&in);
}
END_TEST

/* So that the test above would notice: the same call outside of a region makes threads. */
START_TEST(a_call_outside_makes_threads)
{
    input_t     in = input_of(_i, TEST_NORMAL);
    tw_codec_t *codec;
    results_t   r;
    int         before = tasks();

    setenv("THINWIRE_OMP_THRESHOLD", "1", 1);
    codec = test_codec_at(_i);
    r     = work(codec, in.dtype, 3, in.src, in.residual, VALUES);
    ck_assert_int_eq(tasks(), before + 2);
    free_results(&r);
    tw_codec_destroy(codec);
    free_input(&in);
}
END_TEST

#endif

/* Stores past the cache, which otherwise only vectors of many megabytes get. */
static void stream_always(void)
{
    setenv("THINWIRE_STREAM_THRESHOLD", "1", 1);
}

int main(void)
{
    Suite *suite = suite_create("threads");
    TCase *tcase = test_case(suite, "every codec and instruction set");

    tcase_add_loop_test(tcase, threads_change_nothing, 0, test_spec_count);
#if defined(__x86_64__)
    tcase_add_loop_test(tcase, the_callers_mode_changes_nothing_and_stays, 0, test_spec_count);
#endif
    tcase_add_loop_test(tcase, the_callers_rounding_changes_nothing_and_stays, 0, test_spec_count);
#ifdef _OPENMP
    tcase_add_loop_test(tcase, a_call_inside_a_parallel_region_is_serial, 0, test_spec_count);
    tcase_add_loop_test(tcase, a_call_outside_makes_threads, 0, test_spec_count);
#endif
    tcase = test_case(suite, "streaming");
    tcase_add_checked_fixture(tcase, stream_always, NULL);
    tcase_add_loop_test(tcase, threads_change_nothing, 0, test_spec_count);
    return test_main(suite);
}
