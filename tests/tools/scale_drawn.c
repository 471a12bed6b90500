/* SPDX-License-Identifier: BSD-3-Clause
 * tests/tools/scale_drawn.c - what must hold of the time that thinwire scale finds for any
 * job, here for jobs drawn at random.
 */
#include "config.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/tools/scale_rig.h"

enum { EXCHANGES = 3, ITEMS = 12, UNROLLED = 1 << 14, TIMES = 40 };

typedef struct drawn_job {
    exchange_t exchange[EXCHANGES];
    item_t     item[UNROLLED];
    workload_t work;
} drawn_job_t;

static void point(drawn_job_t *job)
{
    job->work.item     = job->item;
    job->work.exchange = job->exchange;
}

static void push(drawn_job_t *job, item_t item)
{
    ck_assert_uint_lt(job->work.items, UNROLLED);
    job->item[job->work.items++] = item;
}

static void draw_items(drawn_job_t *job, test_random_t *random, int items, int depth, int blocking)
{
    for (int i = 0; i < items; i++) {
        const size_t exchange = (size_t)test_below(random, EXCHANGES);
        const size_t at       = job->work.items;

        switch (test_below(random, depth < 2 ? 4 : 3)) {
        case 0:
            push(job, (item_t){.kind    = test_below(random, 2) ? ITEM_COMPUTE : ITEM_FIXED,
                               .seconds = drawn(random, 1e-6, 1e-2)});
            break;
        case 1:
            push(job, (item_t){.kind = ITEM_START, .exchange = exchange});
            if (blocking) {
                push(job, (item_t){.kind = ITEM_WAIT, .exchange = exchange});
            }
            break;
        case 2:
            push(job, (item_t){.kind = ITEM_WAIT, .exchange = exchange});
            break;
        default:
            push(job,
                 (item_t){.kind = ITEM_REPEAT, .times = 1 + (uint64_t)test_below(random, TIMES)});
            draw_items(job, random, 1 + test_below(random, 4), depth + 1, blocking);
            job->item[at].end = job->work.items;
            push(job, (item_t){.kind = ITEM_END});
        }
    }
}

static drawn_job_t *draw_job(test_random_t *random, int blocking)
{
    drawn_job_t *job = calloc(1, sizeof(*job));

    ck_assert_ptr_nonnull(job);
    job->work = (workload_t){.ranks = 1, .exchanges = EXCHANGES};
    point(job);
    for (int i = 0; i < EXCHANGES; i++) {
        exchange_t *x = &job->exchange[i];

        snprintf(x->name, sizeof(x->name), "%d", i);
        strcpy(x->class, test_below(random, 2) ? "grad" : "");
        x->operation = (tw_operation_t)test_below(random, TW_OPERATIONS);
        x->count     = floor(drawn(random, 1.0, 1e6));
        x->part      = 1.0;
        x->dtype     = test_below(random, 4) == 0 ? TW_F64 : TW_F32;
        x->plain     = test_below(random, 4) == 0 && x->dtype == TW_F32;
        x->scales    = test_below(random, 2);
    }
    draw_items(job, random, 1 + test_below(random, ITEMS), 0, blocking);
    return job;
}

static step_time_t time_drawn(const drawn_job_t *job, const step_case_t *how)
{
    step_time_t  time;
    tw_problem_t problem = {.set = 0};

    ck_assert_msg(step_time(&job->work, how, &time, &problem) == 0, "%s", problem.text);
    ck_assert(isfinite(time.seconds) && time.seconds >= 0.0 && time.exposed >= 0.0);
    ck_assert_double_ge(time.seconds, time.compute * (1.0 - 1e-6));
    ck_assert_msg(fabs(time.seconds - time.compute - time.exposed) <= 1e-6 * time.seconds + 1e-12,
                  "%g is not %g and %g", time.seconds, time.compute, time.exposed);
    return time;
}

static step_case_t drawn_case(test_random_t *random, const tw_facts_t *facts)
{
    static const char *const specs[] = {"fp32", "tree8", "onebit"};

    return (step_case_t){.facts          = facts,
                         .spec           = specs[test_below(random, 3)],
                         .only_gradients = test_below(random, 2),
                         .share          = drawn(random, 0.01, 1.0)};
}

/* Whole multiples: the model's fragments make a vector of a little more than one of them faster.
 * And no codec beside a computation: another algorithm for the larger vector may spend less on
 * it. */
START_TEST(more_values_never_take_less)
{
    test_random_t random = {test_seed()};

    for (int run = 0; run < RUNS; run++) {
        const int    blocking = test_below(&random, 2);
        tw_facts_t   facts    = drawn_facts(&random, 1);
        drawn_job_t *job      = draw_job(&random, blocking);
        step_case_t  how      = drawn_case(&random, &facts);
        double       last;

        if (!blocking) {
            how.spec = "fp32";
            for (int c = 0; c < facts.codecs; c++) {
                tw_codec_facts_t *f = &facts.codec[c];

                f->encode = f->decode = f->decode_add = f->call = 0.0;
            }
        }
        last = time_drawn(job, &how).seconds;
        for (int k = 0; k < 8; k++) {
            double now;

            job->exchange[test_below(&random, EXCHANGES)].count *= 2 + test_below(&random, 3);
            now = time_drawn(job, &how).seconds;
            ck_assert_msg(now >= last * (1.0 - 1e-6), "run %d: %g, before %g", run, now, last);
            last = now;
        }
        free(job);
    }
}
END_TEST

/* Ranks that share processors are never faster, nor those that messages keep busy; a whole
 * processor each, said or not, is the same. Blocking, as what is left of one step may hold up
 * another. */
START_TEST(sharing_is_never_faster)
{
    test_random_t random = {test_seed()};

    for (int run = 0; run < RUNS; run++) {
        tw_facts_t        facts = drawn_facts(&random, 1);
        drawn_job_t      *job   = draw_job(&random, 1);
        const step_case_t how   = drawn_case(&random, &facts);
        const step_time_t alone = time_drawn(job, &how);
        step_time_t       last  = alone;

        facts.processor = 1.0;
        ck_assert(time_drawn(job, &how).seconds == alone.seconds);
        for (int k = 0; k < 8; k++) {
            step_time_t now;

            if (test_below(&random, 2)) {
                facts.processor *= drawn(&random, 0.3, 1.0);
            } else {
                facts.moving += drawn(&random, 1e-11, 1e-8);
            }
            now = time_drawn(job, &how);
            ck_assert_msg(now.seconds >= last.seconds * (1.0 - 1e-6), "run %d: %.9g, before %.9g",
                          run, now.seconds, last.seconds);
            NEAR(now.compute * facts.processor, alone.compute);
            last = now;
        }
        job->work.processor = facts.processor; /* it was measured like that */
        NEAR(time_drawn(job, &how).compute, alone.compute);
        free(job);
    }
}
END_TEST

START_TEST(links_are_never_faster_than_they_are)
{
    test_random_t random = {test_seed()};

    for (int run = 0; run < RUNS; run++) {
        const tw_facts_t  facts = drawn_facts(&random, 1);
        drawn_job_t      *job   = draw_job(&random, 1);
        const step_case_t how   = drawn_case(&random, &facts);
        const step_time_t time  = time_drawn(job, &how);

        ck_assert_double_ge(time.seconds * (1.0 + 1e-6), time.bytes / facts.between.bandwidth);
        ck_assert_double_ge(time.exposed * (1.0 + 1e-6), time.codec);
        free(job);
    }
}
END_TEST

START_TEST(one_rank_exchanges_nothing)
{
    test_random_t random = {test_seed()};

    for (int run = 0; run < RUNS; run++) {
        const tw_facts_t  facts = made_up(1, 1);
        drawn_job_t      *job   = draw_job(&random, test_below(&random, 2));
        const step_case_t how   = drawn_case(&random, &facts);
        const step_time_t time  = time_drawn(job, &how);

        NEAR(time.seconds, time.compute);
        ck_assert(time.exposed == 0.0 && time.bytes == 0.0 && time.codec == 0.0);
        free(job);
    }
}
END_TEST

/* Without loops. */
static void unroll(const drawn_job_t *job, size_t from, size_t end, drawn_job_t *into)
{
    for (size_t i = from; i < end; i++) {
        const item_t *item = &job->item[i];

        if (item->kind != ITEM_REPEAT) {
            push(into, *item);
            continue;
        }
        for (uint64_t k = 0; k < item->times; k++) {
            unroll(job, i + 1, item->end, into);
        }
        i = item->end;
    }
}

static size_t unrolled_items(const drawn_job_t *job, size_t from, size_t end)
{
    size_t n = 0;

    for (size_t i = from; i < end; i++) {
        const item_t *item = &job->item[i];

        n += item->kind == ITEM_REPEAT ? item->times * unrolled_items(job, i + 1, item->end) : 1;
        i = item->kind == ITEM_REPEAT ? item->end : i;
    }
    return n;
}

START_TEST(folded_loops_take_what_their_rounds_take)
{
    test_random_t random = {test_seed()};

    for (int run = 0; run < 2 * RUNS; run++) {
        const tw_facts_t  facts = drawn_facts(&random, 1);
        drawn_job_t      *job   = draw_job(&random, 0);
        const step_case_t how   = drawn_case(&random, &facts);

        if (unrolled_items(job, 0, job->work.items) < UNROLLED) {
            drawn_job_t *flat = calloc(1, sizeof(*flat));
            step_time_t  a, b;

            ck_assert_ptr_nonnull(flat);
            memcpy(flat, job, sizeof(*flat));
            flat->work.items = 0;
            point(flat);
            unroll(job, 0, job->work.items, flat);
            a = time_drawn(job, &how);
            b = time_drawn(flat, &how);
            ck_assert_msg(fabs(a.seconds - b.seconds) <= 1e-6 * b.seconds + 1e-12,
                          "run %d: %.9g folded, %.9g unrolled", run, a.seconds, b.seconds);
            ck_assert_msg(fabs(a.bytes - b.bytes) <= 1e-6 * b.bytes, "run %d: %g, %g bytes", run,
                          a.bytes, b.bytes);
            ck_assert(fabs(a.codec - b.codec) <= 1e-6 * b.codec + 1e-12);
            free(flat);
        }
        free(job);
    }
}
END_TEST

void add_any_job(Suite *suite)
{
    TCase *tcase = test_case_within(suite, "any job", 60);

    tcase_add_test(tcase, more_values_never_take_less);
    tcase_add_test(tcase, sharing_is_never_faster);
    tcase_add_test(tcase, links_are_never_faster_than_they_are);
    tcase_add_test(tcase, one_rank_exchanges_nothing);
    tcase_add_test(tcase, folded_loops_take_what_their_rounds_take);
}
