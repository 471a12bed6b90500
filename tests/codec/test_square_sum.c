/* SPDX-License-Identifier: BSD-3-Clause
 * tests/codec/test_square_sum.c - the sum of squares: the kernels of every instruction set against
 * the order that square_sum.h states, written down again here, bit by bit; the whole against long
 * double, and with any number of threads.
 */
#include "config.h"

#include <fenv.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "runtime/codec/kernels.h"
#include "tests/codec/common.h"

#define PIECE ((size_t)65536)

static const size_t counts[] = {0,     1,     2,     31,    32,    33,     63,    64,
                                65,    95,    96,    97,    127,   128,    129,   1000,
                                65535, 65536, 65537, 98305, 99991, 131071, 131072};

/* What a level of THINWIRE_CPU is called inside. */
static tw_cpu_level_id_t level_of(const char *cpu)
{
    int level = 0;

    while (strcmp(tw_cpu_name((tw_cpu_level_id_t)level), cpu) != 0) {
        level++;
    }
    return (tw_cpu_level_id_t)level;
}

static double oracle(const uint8_t *src, size_t n)
{
    double lane[32] = {0.0};

    for (size_t i = 0; i < n; i++) {
        const double x = test_float_at(src, i);

        lane[i % 32] += x * x;
    }
    for (int h = 16; h > 0; h /= 2) {
        for (int j = 0; j < h; j++) {
            lane[j] += lane[j + h];
        }
    }
    return lane[0];
}

static double oracle_of_pieces(const uint8_t *src, size_t n)
{
    double sum = 0.0;

    for (; n > PIECE; n -= PIECE, src += 4 * PIECE) {
        sum += oracle(src, PIECE);
    }
    return sum + oracle(src, n);
}

/* The same bits; every NaN is the one quiet NaN. */
static int is_same(double got, double want)
{
    return isnan(want) ? tw_double_bits(got) == UINT64_C(0x7ff8000000000000)
                       : tw_double_bits(got) == tw_double_bits(want);
}

START_TEST(every_count_and_alignment)
{
    test_random_t random = test_random(0);

    for (size_t n = 0; n <= 600; n++) {
        const test_kind_t kind = (test_kind_t)(test_bits(&random) % TEST_KINDS);
        test_buffer_t     x    = test_buffer(4 * n, test_bits(&random) % 64);

        test_fill(x.data, TW_F32, n, kind, &random);
        for (const char *const *cpu = test_cpus(); *cpu != NULL; cpu++) {
            const double got = tw_square_sum(level_of(*cpu), x.data, n);

            ck_assert_msg(is_same(got, oracle(x.data, n)), "%s, %zu values of kind %d: %a, not %a",
                          *cpu, n, (int)kind, got, oracle(x.data, n));
        }
        test_buffer_free(&x);
    }
}
END_TEST

/* At the ends of memory: a value read beyond is a crash. */
START_TEST(nothing_beyond_is_read)
{
    test_random_t random = test_random(1);

    for (size_t n = 1; n <= 200; n++) {
        for (int at_start = 0; at_start <= 1; at_start++) {
            uint8_t *x = test_fenced(4 * n, at_start);

            test_fill(x, TW_F32, n, TEST_NORMAL, &random);
            for (const char *const *cpu = test_cpus(); *cpu != NULL; cpu++) {
                ck_assert(is_same(tw_square_sum(level_of(*cpu), x, n), oracle(x, n)));
            }
            test_fenced_free(x, 4 * n, at_start);
        }
    }
}
END_TEST

START_TEST(every_kind_of_number)
{
    const size_t  n      = 30011;
    test_random_t random = test_random(2);
    test_buffer_t x      = test_buffer(4 * n, 4);

    for (int kind = 0; kind < TEST_KINDS; kind++) {
        test_fill(x.data, TW_F32, n, (test_kind_t)kind, &random);
        for (const char *const *cpu = test_cpus(); *cpu != NULL; cpu++) {
            ck_assert_msg(is_same(tw_square_sum(level_of(*cpu), x.data, n), oracle(x.data, n)),
                          "%s, kind %d", *cpu, kind);
        }
    }
    test_buffer_free(&x);
}
END_TEST

static double sum_of(const tw_codec_t *codec, int threads, const void *src, size_t n)
{
    const tw_exec_t exec = {.threads = threads};
    double          sum  = -1.0;

    ck_assert_int_eq(tw_codec_square_sum(codec, &exec, src, n, &sum), TW_OK);
    return sum;
}

/* In 64 bits, added in another order. */
static long double precise(const uint8_t *src, size_t n)
{
    long double part[8] = {0};

    for (size_t i = 0; i < n; i++) {
        const long double x = test_float_at(src, i);

        part[i * 8 / n] += x * x;
    }
    return ((part[0] + part[1]) + (part[2] + part[3])) +
           ((part[4] + part[5]) + (part[6] + part[7]));
}

static void check_call(const uint8_t *src, size_t n, const char *what)
{
    const double      want  = oracle_of_pieces(src, n);
    const long double exact = precise(src, n);

    ck_assert_msg(isnan(want) || isinf(want) || fabsl((long double)want - exact) <= 1e-12L * exact,
                  "%zu values, %s: %a, not %La", n, what, want, exact);
    for (const char *const *cpu = test_cpus(); *cpu != NULL; cpu++) {
        static const int threads[] = {1, 2, 3, 7};
        tw_codec_t      *codec     = test_codec_cpu(*cpu, "fp32", TW_F32);

        for (int t = 0; t < 4; t++) {
            const double got = sum_of(codec, threads[t], src, n);

            ck_assert_msg(is_same(got, want), "%s, %zu values, %s, %d threads: %a, not %a", *cpu, n,
                          what, threads[t], got, want);
        }
        tw_codec_destroy(codec);
    }
}

START_TEST(threads_change_nothing)
{
    static const test_kind_t kinds[] = {TEST_NORMAL, TEST_WIDE, TEST_DENORMAL, TEST_HUGE,
                                        TEST_BITS};
    const size_t             n       = counts[_i];
    test_random_t            random  = test_random(3);
    test_buffer_t            x       = test_buffer(4 * n, test_bits(&random) % 64);

    setenv("THINWIRE_OMP_THRESHOLD", "1", 1);
    for (int k = 0; k < 5; k++) {
        test_fill(x.data, TW_F32, n, kinds[k], &random);
        check_call(x.data, n, "random");
    }
    test_buffer_free(&x);
}
END_TEST

START_TEST(a_million_values)
{
    const size_t  n      = 1000003;
    test_random_t random = test_random(4);
    test_buffer_t x      = test_buffer(4 * n, 1);

    setenv("THINWIRE_OMP_THRESHOLD", "1", 1);
    test_fill(x.data, TW_F32, n, TEST_NORMAL, &random);
    check_call(x.data, n, "normal");
    test_fill(x.data, TW_F32, n, TEST_RARE_INF, &random);
    check_call(x.data, n, "with Inf and NaN");
    test_buffer_free(&x);
}
END_TEST

/* More pieces than are kept before they are added. */
START_TEST(more_pieces_than_one_round)
{
    const size_t  n      = 256 * PIECE + PIECE + 77;
    test_random_t random = test_random(5);
    uint8_t      *x      = malloc(4 * n);
    tw_codec_t   *codec  = test_codec("fp32", TW_F32);
    double        want;

    test_fill(x, TW_F32, n, TEST_NORMAL, &random);
    want = oracle_of_pieces(x, n);
    ck_assert(fabsl((long double)want - precise(x, n)) <= 1e-12L * precise(x, n));
    for (int threads = 1; threads <= 3; threads++) {
        ck_assert(is_same(sum_of(codec, threads, x, n), want));
    }
    tw_codec_destroy(codec);
    free(x);
}
END_TEST

/* Of this thread, and of those that OpenMP keeps for calls with as many. */
static void set_rounding(int threads, int mode)
{
    fesetround(mode);
#ifdef _OPENMP
#pragma omp parallel num_threads(threads)
    fesetround(mode);
#endif
    (void)threads;
}

/* Rounded otherwise, sums of random squares differ in every piece, and so do sums of these. */
START_TEST(rounding_modes_change_nothing)
{
    static const int modes[] = {FE_UPWARD, FE_DOWNWARD, FE_TOWARDZERO};
    const size_t     n       = 5 * PIECE + 77;
    const int        threads = _i + 1;
    test_random_t    random  = test_random(6);
    test_buffer_t    x       = test_buffer(4 * n, 0);
    tw_codec_t      *codec;
    double           want;

    setenv("THINWIRE_OMP_THRESHOLD", "1", 1);
    codec = test_codec("fp32", TW_F32);
    test_fill(x.data, TW_F32, n, TEST_NORMAL, &random);
    want = oracle_of_pieces(x.data, n);
    for (int m = 0; m < 3; m++) {
        double got;
        int    after;

        set_rounding(threads, modes[m]);
        got   = sum_of(codec, threads, x.data, n);
        after = fegetround();
        set_rounding(threads, FE_TONEAREST);
        ck_assert_int_eq(after, modes[m]);
        ck_assert_msg(is_same(got, want), "%d threads: %a, not %a", threads, got, want);
    }
    tw_codec_destroy(codec);
    test_buffer_free(&x);
}
END_TEST

/* Squares that would be Inf or 0 in float32; sums of 64 equal ones are exact. */
START_TEST(known_sums)
{
    static const float of[]  = {1e30f, -0x1.fffffep+127f, 0x1p-149f, -3.0f, 0.0f};
    tw_codec_t        *codec = test_codec("fp32", TW_F32);
    float              x[64];

    for (size_t k = 0; k < sizeof(of) / sizeof(of[0]); k++) {
        const double square = (double)of[k] * (double)of[k];

        for (int i = 0; i < 64; i++) {
            x[i] = of[k];
        }
        ck_assert(isfinite(square) && (square > 0.0 || of[k] == 0.0f));
        ck_assert(sum_of(codec, 1, x, 1) == square);
        ck_assert(sum_of(codec, 1, x, 64) == 64.0 * square);
    }
    x[40] = INFINITY;
    ck_assert(sum_of(codec, 1, x, 64) == (double)INFINITY);
    x[41] = -INFINITY;
    ck_assert(sum_of(codec, 1, x, 64) == (double)INFINITY);
    x[3] = -NAN;
    ck_assert(is_same(sum_of(codec, 1, x, 64), (double)NAN));
    ck_assert(is_same(sum_of(codec, 1, x, 3), 0.0));
    tw_codec_destroy(codec);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("square sum");
    TCase *tcase = test_case(suite, "kernels");

    for (const char *const *cpu = test_cpus(); *cpu != NULL; cpu++) {
        printf("# %s\n", *cpu);
    }
    tcase_add_test(tcase, every_count_and_alignment);
    tcase_add_test(tcase, nothing_beyond_is_read);
    tcase_add_test(tcase, every_kind_of_number);
    tcase = test_case_within(suite, "calls", 60);
    TEST_EACH(tcase, threads_change_nothing, counts);
    tcase_add_test(tcase, a_million_values);
    tcase_add_test(tcase, more_pieces_than_one_round);
    tcase_add_loop_test(tcase, rounding_modes_change_nothing, 0, 3);
    tcase_add_test(tcase, known_sums);
    return test_main(suite);
}
