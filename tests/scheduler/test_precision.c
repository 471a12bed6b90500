/* SPDX-License-Identifier: BSD-3-Clause
 * tests/scheduler/test_precision.c - when weights get more bits: traces by hand, and random ones
 * against a slow rule that looks at all norms anew after every batch.
 */
#include "config.h"

#include <limits.h>
#include <math.h>
#include <string.h>

#include <thinwire/precision.h>

#include "tests/suite.h"

#define LONGEST 400 /* norms of a random sequence */

/* S0's: from 8 to 32 bits by 8. */
static tw_precision_t precision(double threshold, uint64_t interval, int absolute)
{
    tw_precision_t p = {.threshold = threshold,
                        .interval  = interval,
                        .step      = 8,
                        .first     = 8,
                        .last      = 32,
                        .absolute  = absolute};

    ck_assert_int_eq(tw_precision_init(&p), TW_OK);
    return p;
}

/* The bits after one more norm; what the function says of a raise must be true. */
static int observe(tw_precision_t *p, double norm)
{
    const int before = p->bits;
    int       raised = 7;

    /* one check for all, and no ck_assert, which writes a line to a file each time: millions
     * here */
    if (tw_precision_observe(p, norm, &raised) != TW_OK || raised != (p->bits > before) ||
        p->bits < before || p->bits > p->last) {
        ck_abort_msg("norm %g: from %d to %d bits, at most %d, raised %d", norm, before, p->bits,
                     p->last, raised);
    }
    return p->bits;
}

typedef struct seen {
    double norm;
    int    bits; /* after it */
} seen_t;

static void check_trace(tw_precision_t *p, const seen_t *seen, int n)
{
    for (int i = 0; i < n; i++) {
        const int bits = observe(p, seen[i].norm);

        ck_assert_msg(bits == seen[i].bits, "norm %d, %g: %d bits, not %d", i, seen[i].norm, bits,
                      seen[i].bits);
    }
}

#define TRACE(p, ...)                                                                              \
    check_trace((p), (const seen_t[]){__VA_ARGS__},                                                \
                (int)(sizeof((const seen_t[]){__VA_ARGS__}) / sizeof(seen_t)))

/* Growth of 1/8 is no growth below 1/8. The norm after a raise has no rate, whatever it is. */
START_TEST(quiet_batches_in_a_row_raise)
{
    tw_precision_t p = precision(0.125, 3, 0);

    TRACE(&p, {8, 8}, {9, 8}, {9, 8}, {9, 8}, {9, 16});             /* 1/8, then 3 in a row */
    TRACE(&p, {9, 16}, {9, 16}, {9, 16}, {9, 24});                  /* 1 without a rate, 3 */
    TRACE(&p, {99, 24}, {100, 24}, {101, 24}, {102, 32}, {102, 32}, /* and it is the last */
          {102, 32}, {102, 32}, {102, 32}, {102, 32}, {102, 32});
}
END_TEST

START_TEST(another_batch_starts_the_count_again)
{
    tw_precision_t p = precision(0.125, 3, 0);

    TRACE(&p, {8, 8}, {8, 8}, {8, 8}, {10, 8}, {10, 8}, {10, 8}, {20, 8}, {20, 8}, {20, 8},
          {20, 16});
    ck_assert_uint_eq(p.counted, 0);
    ck_assert_int_eq(p.known, 0);
}
END_TEST

START_TEST(the_first_norm_has_no_rate)
{
    tw_precision_t p = precision(0.5, 1, 0);

    TRACE(&p, {1, 8}, {1, 16}, {1, 16}, {1, 24}, {1, 24}, {1, 32}, {1, 32});
}
END_TEST

/* The rate that is the threshold does not count: 5/4 and 3/4 of a norm are exact. */
START_TEST(the_threshold_is_exact)
{
    tw_precision_t p = precision(0.25, 1, 0);

    TRACE(&p, {4, 8}, {5, 8}, {5, 16});
    p = precision(0.25, 1, 0);
    TRACE(&p, {4, 8}, {nextafter(5, 0), 16});
    p = precision(-0.25, 1, 0);
    TRACE(&p, {4, 8}, {3, 8}, {3, 8}, {2, 16}, {2, 16}, {2, 16}, {0, 24});
    p = precision(0.0, 1, 0);
    TRACE(&p, {4, 8}, {4, 8}, {nextafter(4, 0), 16});
    p = precision(-1.0, 1, 0);
    TRACE(&p, {4, 8}, {0, 8}, {0, 8}, {4, 8}, {4, 8});
}
END_TEST

/* Under decay a norm shrinks: with the sign that is below any T >= 0, as a magnitude it is not. */
START_TEST(sign_or_magnitude)
{
    tw_precision_t p = precision(0.25, 2, 0);

    TRACE(&p, {16, 8}, {8, 8}, {4, 16});
    p = precision(0.25, 2, 1);
    TRACE(&p, {16, 8}, {8, 8}, {4, 8}, {5, 8}, {6, 8}, {5, 16}); /* 1/4, 1/5, 1/6 */
    p = precision(0.25, 1, 1);
    TRACE(&p, {4, 8}, {3, 8}, {2.5, 16});
    p = precision(0.0, 1, 1);
    TRACE(&p, {4, 8}, {4, 8}, {4, 8}, {3, 8});
    p = precision(-0.5, 1, 1);
    TRACE(&p, {4, 8}, {4, 8}, {1, 8}, {0, 8}, {0, 8});
}
END_TEST

/* From 0: to 0 is no change, to anything else an infinite one. */
START_TEST(norms_of_zero)
{
    for (int absolute = 0; absolute <= 1; absolute++) {
        tw_precision_t p = precision(1e300, 2, absolute);

        TRACE(&p, {0, 8}, {0, 8}, {1e-300, 8}, {0, 8}, {0, 16});
        p = precision(1e300, 2, absolute);
        TRACE(&p, {0, 8}, {0, 8}, {-0.0, 16}, {-0.0, 16}, {0, 16}, {0x1p-1074, 16});
        p = precision(1e300, 1, absolute);
        TRACE(&p, {0x1p-1074, 8}, {0x1.fffffffffffffp1023, 8}, {0, 16}); /* infinite; -1 */
        p = precision(0.0, 1, absolute);
        TRACE(&p, {0, 8}, {0, 8}, {0, 8});
    }
}
END_TEST

/* 32 is the end, not 33; other bounds hold as well. */
START_TEST(bits_stay_within_their_bounds)
{
    tw_precision_t p = {.threshold = 1, .interval = 1, .step = 5, .first = 9, .last = 21};

    ck_assert_int_eq(tw_precision_init(&p), TW_OK);
    TRACE(&p, {1, 9}, {1, 14}, {1, 14}, {1, 19}, {1, 19}, {1, 21}, {1, 21}, {1, 21}, {1, 21});
    p = (tw_precision_t){.threshold = 1, .interval = 1, .step = 32, .first = 1, .last = 32};
    ck_assert_int_eq(tw_precision_init(&p), TW_OK);
    TRACE(&p, {1, 1}, {1, 32}, {1, 32}, {1, 32});
    p = (tw_precision_t){.threshold = 1, .interval = 1, .step = 1, .first = 32, .last = 32};
    ck_assert_int_eq(tw_precision_init(&p), TW_OK);
    TRACE(&p, {1, 32}, {1, 32}, {1, 32});
}
END_TEST

/* One who stops computing norms at the last bits has the same state as one who goes on. */
START_TEST(at_the_last_bits_nothing_changes)
{
    tw_precision_t p      = precision(1.0, 1, 0), kept;
    int            raised = 7;

    TRACE(&p, {1, 8}, {1, 16}, {1, 16}, {1, 24}, {1, 24}, {1, 32});
    kept = p;
    TRACE(&p, {1, 32}, {5, 32}, {0, 32});
    ck_assert(p.norm == kept.norm && p.known == kept.known && p.counted == kept.counted);
    ck_assert_int_eq(tw_precision_observe(&p, NAN, &raised), TW_ERR_INVALID_ARG);
    ck_assert_int_eq(raised, 7);
}
END_TEST

/* 4000 batches of a norm that grows by a ten-thousandth: a raise at each 4001st. */
START_TEST(the_intervals_of_the_paper)
{
    tw_precision_t p    = precision(2e-4, 4000, 0);
    double         norm = 1.0;

    for (int i = 1; i <= 4 * 4001; i++) {
        const int raises = i / 4001 < 3 ? i / 4001 : 3;

        ck_assert_int_eq(observe(&p, norm), 8 + 8 * raises);
        norm *= 1.0001;
    }
}
END_TEST

/* ---- random sequences ----------------------------------------------------------------------- */

typedef struct sequence {
    tw_precision_t rule;
    double         norm[LONGEST];
} sequence_t;

/* Norms of a few values, so that rates often are the threshold, 0 or infinite; or near each
 * other. */
static double draw_norm(test_random_t *random, int kind, double before)
{
    switch (kind) {
    case 0:
        return test_below(random, 5);
    case 1:
        return before * (1.0 + (test_below(random, 9) - 4) / 1024.0);
    case 2:
        return ldexp(test_below(random, 3), test_below(random, 2000) - 1000);
    default:
        return 1.0 + test_below(random, 100) / 100.0;
    }
}

static void draw(sequence_t *s, test_random_t *random)
{
    static const double thresholds[] = {-2.0, -0.5, -0.25, -1.0 / 1024, 0.0,  1.0 / 1024,
                                        0.25, 0.5,  1.0,   3.0,         1e300};
    const int           kind         = test_below(random, 4);

    s->rule      = (tw_precision_t){.threshold = thresholds[test_below(random, 11)],
                                    .interval  = 1 + (uint64_t)test_below(random, 6),
                                    .step      = 1 + test_below(random, 12),
                                    .first     = 1 + test_below(random, 20),
                                    .absolute  = test_below(random, 2)};
    s->rule.last = s->rule.first + test_below(random, 33 - s->rule.first);
    ck_assert_int_eq(tw_precision_init(&s->rule), TW_OK);
    for (int i = 0; i < LONGEST; i++) {
        s->norm[i] = draw_norm(random, kind, i > 0 ? s->norm[i - 1] : 10.0);
    }
}

/* Is norm[i] a change below T from the one before? */
static int is_quiet(const sequence_t *s, int i)
{
    const double a = s->norm[i - 1], b = s->norm[i];
    double       rate;

    if (a == 0.0) {
        return b == 0.0 && 0.0 < s->rule.threshold;
    }
    rate = (b - a) / a;
    if (s->rule.absolute && rate < 0.0) {
        rate = -rate;
    }
    return rate < s->rule.threshold;
}

/* The bits after the norms 0 .. last, from all of them: each raise is looked for behind the one
 * before, as the first end of `interval` quiet batches whose norms all lie behind it. */
static int slow_bits(const sequence_t *s, int last)
{
    const int run  = (int)s->rule.interval;
    int       bits = s->rule.first;

    for (int end = run, begin = 0; end <= last && bits < s->rule.last; end++) {
        int quiet = 0;

        while (quiet < run && end - quiet > begin && is_quiet(s, end - quiet)) {
            quiet++;
        }
        if (quiet == run) {
            bits += s->rule.step;
            begin = end + 1;
        }
    }
    return bits < s->rule.last ? bits : s->rule.last;
}

START_TEST(random_norms_raise_as_the_slow_rule_says)
{
    test_random_t random = {test_seed()};
    int           raises = 0;

    for (int round = 0; round < 300; round++) {
        sequence_t     s;
        tw_precision_t p;

        draw(&s, &random);
        p = s.rule;
        for (int i = 0; i < LONGEST; i++) {
            const int before = p.bits, bits = observe(&p, s.norm[i]);

            if (bits != slow_bits(&s, i)) {
                ck_abort_msg("round %d, norm %d: %d bits, not %d", round, i, bits,
                             slow_bits(&s, i));
            }
            raises += bits > before;
        }
    }
    ck_assert_int_gt(raises, 300);
}
END_TEST

/* Saved after any number of norms and taken back, the trace is the same. */
START_TEST(it_goes_on_where_it_was_saved)
{
    test_random_t random = {test_seed() + 1};

    for (int round = 0; round < 20; round++) {
        sequence_t     s;
        tw_precision_t p;
        int            bits[LONGEST];

        draw(&s, &random);
        p = s.rule;
        for (int i = 0; i < LONGEST; i++) {
            bits[i] = observe(&p, s.norm[i]);
        }
        p = s.rule;
        for (int cut = 0; cut <= LONGEST; cut++) {
            tw_precision_t q = s.rule;
            double         numbers[TW_PRECISION_NUMBERS];

            tw_precision_save(&p, numbers);
            ck_assert_msg(tw_precision_restore(&q, numbers) == TW_OK, "round %d, cut %d", round,
                          cut);
            ck_assert_int_eq(q.bits, p.bits);
            for (int i = cut; i < LONGEST; i++) {
                if (observe(&q, s.norm[i]) != bits[i]) {
                    ck_abort_msg("round %d, cut %d, norm %d", round, cut, i);
                }
            }
            if (cut < LONGEST) {
                observe(&p, s.norm[cut]);
            }
        }
    }
}
END_TEST

/* ---- what is refused ------------------------------------------------------------------------ */

START_TEST(numbers_that_no_norms_give_are_refused)
{
    /* norm, known, counted, bits; of a rule from 8 to 30 bits by 8 with an interval of 3 */
    static const double bad[][TW_PRECISION_NUMBERS] = {
        {-1, 1, 0, 8},        {NAN, 1, 0, 8},       {INFINITY, 1, 0, 8}, {-INFINITY, 1, 0, 8},
        {1, NAN, 0, 8},       {1, 2, 0, 8},         {1, -1, 0, 8},       {1, 0.5, 0, 8},
        {1, 1e300, 0, 8},     {1, 1, NAN, 8},       {1, 1, 3, 8},        {1, 1, -1, 8},
        {1, 1, 1.5, 8},       {1, 1, 1e300, 8},     {1, 1, INFINITY, 8}, {1, 1, 0, NAN},
        {1, 1, 0, 0},         {1, 1, 0, -8},        {1, 1, 0, 7},        {1, 1, 0, 9},
        {1, 1, 0, 8.5},       {1, 1, 0, 32},        {1, 1, 0, 1e300},    {1, 1, 0, INFINITY},
        {1, 0, 0, 8},         {0, 0, 1, 8},         {1, 1, 0, 30},       {0, 1, 0, 30},
        {1, 0, 0, 30},        {0, 0, 1, 30},        {0, 0, 0, 31},       {0, 0, 0, 0},
        {0, 0, 0, -INFINITY}, {0, 0, -INFINITY, 8}, {0, -INFINITY, 0, 8}};
    static const double good[][TW_PRECISION_NUMBERS] = {
        {0, 0, 0, 8}, {0, 1, 2, 8}, {1e300, 1, 2, 16}, {1, 1, 0, 24}, {0, 0, 0, 30}};
    tw_precision_t before = precision(0.25, 3, 0);

    before.last = 30;
    TRACE(&before, {1, 8}, {1, 8}, {1, 8}, {1, 16}, {5, 16}, {5, 16});
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        tw_precision_t p = before;

        ck_assert_msg(tw_precision_restore(&p, bad[i]) == TW_ERR_FORMAT, "%zu", i);
        ck_assert(p.norm == 5.0 && p.known == 1 && p.counted == 1 && p.bits == 16);
    }
    for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
        double back[TW_PRECISION_NUMBERS];

        ck_assert_msg(tw_precision_restore(&before, good[i]) == TW_OK, "%zu", i);
        tw_precision_save(&before, back);
        ck_assert_mem_eq(back, good[i], sizeof(back));
    }
    ck_assert_int_eq(tw_precision_restore(NULL, good[0]), TW_ERR_INVALID_ARG);
    ck_assert_int_eq(tw_precision_restore(&before, NULL), TW_ERR_INVALID_ARG);
}
END_TEST

/* Doubles do not hold every count beyond 2^53. */
START_TEST(the_largest_counts)
{
    tw_precision_t p = precision(0.25, UINT64_MAX, 0);

    ck_assert_int_eq(tw_precision_restore(&p, (const double[]){1, 1, 0x1p53, 8}), TW_OK);
    ck_assert_uint_eq(p.counted, UINT64_C(1) << 53);
    ck_assert_int_eq(tw_precision_restore(&p, (const double[]){1, 1, 0x1p54, 8}), TW_ERR_FORMAT);
    ck_assert_int_eq(tw_precision_restore(&p, (const double[]){1, 1, 0x1p70, 8}), TW_ERR_FORMAT);
}
END_TEST

START_TEST(wrong_settings_are_refused)
{
    static const tw_precision_t bad[] = {
        {.threshold = NAN, .interval = 1, .step = 8, .first = 8, .last = 32},
        {.threshold = INFINITY, .interval = 1, .step = 8, .first = 8, .last = 32},
        {.threshold = -INFINITY, .interval = 1, .step = 8, .first = 8, .last = 32},
        {.interval = 0, .step = 8, .first = 8, .last = 32},
        {.interval = 1, .step = 0, .first = 8, .last = 32},
        {.interval = 1, .step = -8, .first = 8, .last = 32},
        {.interval = 1, .step = 33, .first = 8, .last = 32},
        {.interval = 1, .step = 8, .first = 0, .last = 32},
        {.interval = 1, .step = 8, .first = -1, .last = 32},
        {.interval = 1, .step = 8, .first = 33, .last = 33},
        {.interval = 1, .step = 8, .first = 8, .last = 33},
        {.interval = 1, .step = 8, .first = 16, .last = 15},
        {.interval = 1, .step = 8, .first = 1, .last = 0},
        {.interval = 1, .step = 8, .first = 8, .last = 32, .absolute = 2},
        {.interval = 1, .step = 8, .first = 8, .last = 32, .absolute = -1}};

    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        tw_precision_t p = bad[i];

        p.norm    = 3.0;
        p.counted = 5;
        p.bits    = 77;
        ck_assert_msg(tw_precision_init(&p) == TW_ERR_INVALID_ARG, "%zu", i);
        ck_assert(p.norm == 3.0 && p.counted == 5 && p.bits == 77);
    }
    ck_assert_int_eq(tw_precision_init(NULL), TW_ERR_INVALID_ARG);
}
END_TEST

START_TEST(wrong_norms_are_refused)
{
    static const double bad[]  = {-1.0, -0x1p-1074, NAN, INFINITY, -INFINITY};
    tw_precision_t      p      = precision(0.25, 3, 0);
    int                 raised = 7;

    TRACE(&p, {5, 8}, {5, 8});
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        ck_assert_msg(tw_precision_observe(&p, bad[i], &raised) == TW_ERR_INVALID_ARG, "%zu", i);
        ck_assert(p.norm == 5.0 && p.known == 1 && p.counted == 1 && p.bits == 8);
    }
    ck_assert_int_eq(tw_precision_observe(NULL, 1.0, &raised), TW_ERR_INVALID_ARG);
    ck_assert_int_eq(raised, 7);
    ck_assert_int_eq(tw_precision_observe(&p, 5.0, NULL), TW_OK);
    ck_assert_uint_eq(p.counted, 2);
}
END_TEST

START_TEST(init_forgets)
{
    tw_precision_t p = precision(0.25, 3, 0);

    TRACE(&p, {5, 8}, {5, 8}, {5, 8}, {5, 16}, {5, 16}, {5, 16});
    ck_assert_int_eq(tw_precision_init(&p), TW_OK);
    ck_assert(p.norm == 0.0 && p.known == 0 && p.counted == 0 && p.bits == 8);
}
END_TEST

START_TEST(bits_in_bytes)
{
    static const int none[] = {0, -1, -8, 33, 40, INT_MAX, INT_MIN};

    for (int bits = 1; bits <= 32; bits++) {
        const int want = bits <= 8 ? 1 : bits <= 16 ? 2 : bits <= 24 ? 3 : 4;

        ck_assert_int_eq(tw_precision_bytes(bits), want);
    }
    for (size_t i = 0; i < sizeof(none) / sizeof(none[0]); i++) {
        ck_assert_int_eq(tw_precision_bytes(none[i]), 0);
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("precision");
    TCase *tcase = test_case(suite, "rule");

    tcase_add_test(tcase, quiet_batches_in_a_row_raise);
    tcase_add_test(tcase, another_batch_starts_the_count_again);
    tcase_add_test(tcase, the_first_norm_has_no_rate);
    tcase_add_test(tcase, the_threshold_is_exact);
    tcase_add_test(tcase, sign_or_magnitude);
    tcase_add_test(tcase, norms_of_zero);
    tcase_add_test(tcase, bits_stay_within_their_bounds);
    tcase_add_test(tcase, at_the_last_bits_nothing_changes);
    tcase_add_test(tcase, the_intervals_of_the_paper);
    tcase_add_test(tcase, init_forgets);
    tcase_add_test(tcase, bits_in_bytes);
    tcase = test_case_within(suite, "random norms", 60);
    tcase_add_test(tcase, random_norms_raise_as_the_slow_rule_says);
    tcase_add_test(tcase, it_goes_on_where_it_was_saved);
    tcase = test_case(suite, "what is refused");
    tcase_add_test(tcase, numbers_that_no_norms_give_are_refused);
    tcase_add_test(tcase, the_largest_counts);
    tcase_add_test(tcase, wrong_settings_are_refused);
    tcase_add_test(tcase, wrong_norms_are_refused);
    return test_main(suite);
}
