/* SPDX-License-Identifier: BSD-3-Clause
 * tests/train/test_pipeline.c - batches prepared by threads: the same ones for any number of
 * threads and any transfer index, while both change with every batch; nothing allocated once it
 * runs; broken images; ends in the middle. Runs under ThreadSanitizer as well.
 */
#include "config.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/suite.h"
#include "tests/train/pipeline_rig.h"

static void expect(uint64_t b)
{
    static float got[ROWS * OUT], want[ROWS * OUT];

    plainly(b, want);
    memset(got, 0xff, sizeof(got));
    ck_assert_msg(tw_pipeline_take(pipeline, got, &problem) == 0, "%s", problem.text);
    ck_assert_msg(memcmp(got, want, rows_of(b) * OUT * sizeof(*got)) == 0, "batch %d", (int)b);
}

/* ---- batches ------------------------------------------------------------------------------- */

/* Threads and transfer index are others for every batch. */
START_TEST(states_change_with_every_batch)
{
    enum { BATCHES = 200 };
    test_random_t r      = {test_seed() + (uint64_t)_i};
    uint64_t      posted = 0;

#ifndef __SANITIZE_THREAD__ /* it does not see how OpenMP's threads wait */
    config.computing = 1 + _i;
#endif
    open_pipeline();
    for (uint64_t b = 0; b < BATCHES; b++) {
        while (posted < BATCHES && tw_pipeline_posted(pipeline) < TW_PIPELINE_DEPTH) {
            post(posted++, test_below(&r, (int)list.n + 2));
            ck_assert_int_eq(tw_pipeline_threads(pipeline, test_below(&r, 6), &problem), 0);
        }
        expect(b);
    }
}
END_TEST

START_TEST(nothing_is_allocated_once_it_runs)
{
    tw_pipeline_facts_t before, after;

    config.threads = 3;
    open_pipeline();
    for (uint64_t b = 0, posted = 0; b < 400; b++) {
        while (tw_pipeline_posted(pipeline) < TW_PIPELINE_DEPTH) {
            post(posted, (int)posted % 7);
            posted++;
        }
        expect(b);
        if (b == 199) {
            tw_pipeline_facts(pipeline, &before);
        }
    }
    tw_pipeline_facts(pipeline, &after);
    ck_assert_uint_gt(before.grown, 0);
    ck_assert_uint_eq(after.grown, before.grown);
    ck_assert_uint_eq(after.batches, 400);
    ck_assert_uint_eq(after.values, after.images * OUT);
    ck_assert(after.busy > 0.0 && after.waited >= 0.0 && after.device > 0.0);
    ck_assert_uint_eq(tw_pipeline_broken(pipeline, NULL, 0), 0);
}
END_TEST

/* Bytes stay bytes until an operation needs floats. */
START_TEST(a_value_moves_as_one_byte)
{
    static const size_t each[] = {C * H * W, C * 22 * 18, OUT, OUT, OUT, 4 * OUT, 4 * OUT};
    tw_pipeline_facts_t facts;
    uint64_t            last = 0;
    static float        out[ROWS * OUT];

    open_pipeline();
    for (int transfer = 0; transfer <= (int)list.n; transfer++) {
        post(0, transfer);
        ck_assert_int_eq(tw_pipeline_take(pipeline, out, &problem), 0);
        tw_pipeline_facts(pipeline, &facts);
        if (transfer == 1) { /* at most: what the crop does not need is not computed */
            ck_assert_uint_le(facts.bytes - last, ROWS * each[transfer]);
        } else {
            ck_assert_uint_eq(facts.bytes - last, ROWS * each[transfer]);
        }
        last = facts.bytes;
    }
}
END_TEST

START_TEST(batches_may_be_thrown_away)
{
    config.threads = 2;
    open_pipeline();
    for (uint64_t b = 0; b < 60; b += 3) {
        post(b, 2);
        post(b + 1, 3);
        post(b + 2, 0);
        ck_assert_int_eq(tw_pipeline_take(pipeline, NULL, &problem), 0);
        expect(b + 1);
        ck_assert_int_eq(tw_pipeline_take(pipeline, NULL, &problem), 0);
    }
    post(60, 1); /* and the pipeline with batches in it */
}
END_TEST

/* ---- broken images ------------------------------------------------------------------------- */

START_TEST(a_broken_image_is_named)
{
    static float out[ROWS * OUT];

    config.threads = _i;
    open_pipeline();
    atomic_store(&broken[image_of(0, 4)], 1);
    post(0, 2);
    post(1, 0);
    ck_assert_int_eq(tw_pipeline_take(pipeline, out, &problem), -1);
    {
        char text[64];

        snprintf(text, sizeof(text), "image %u: it is torn", (unsigned)image_of(0, 4));
        ck_assert_str_eq(problem.text, text);
    }
    atomic_store(&broken[image_of(0, 4)], 0);
}
END_TEST

/* The next one of its class takes its place, whatever the index; each is counted once. */
START_TEST(a_broken_image_is_replaced)
{
    static float   out[ROWS * OUT], want[ROWS * OUT];
    const uint32_t first = image_of(0, 4), second = (first + CLASSES) % IMAGES;
    uint64_t       replaced[4];

    ck_assert_uint_lt(first + 2 * CLASSES, IMAGES);
    config.skip = 1;
    open_pipeline();
    atomic_store(&broken[first], 1);
    atomic_store(&broken[second], 1);
    for (int transfer = 0; transfer <= (int)list.n; transfer++) {
        const uint32_t            index = second + CLASSES;
        const tw_pipeline_batch_t other = {
            .part = TW_SUBSET_TRAIN, .index = &index, .n = 1, .transfer = 3};

        post(0, transfer);
        ck_assert_msg(tw_pipeline_take(pipeline, out, &problem) == 0, "%s", problem.text);
        tw_pipeline_post(pipeline, &other);
        ck_assert_int_eq(tw_pipeline_take(pipeline, want, &problem), 0);
        ck_assert_mem_eq(out + 4 * OUT, want, OUT * sizeof(*out));
    }
    ck_assert_uint_eq(tw_pipeline_broken(pipeline, replaced, 4), 2);
    ck_assert_uint_eq(replaced[0], first);
    ck_assert_uint_eq(replaced[1], second);
    for (size_t i = 0; i < IMAGES; i++) { /* a whole class */
        atomic_store(&broken[i], labels[i] == labels[first]);
    }
    post(0, 3);
    ck_assert_int_eq(tw_pipeline_take(pipeline, out, &problem), -1);
    ck_assert_ptr_nonnull(strstr(problem.text, "and so are all images of its class"));
    for (size_t i = 0; i < IMAGES; i++) {
        atomic_store(&broken[i], 0);
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("train/pipeline");
    TCase *tcase = test_case_within(suite, "pipeline", 120.0);

    tcase_add_checked_fixture(tcase, set_up, tear_down);
    tcase_add_loop_test(tcase, states_change_with_every_batch, 0, 3);
    tcase_add_test(tcase, nothing_is_allocated_once_it_runs);
    tcase_add_test(tcase, a_value_moves_as_one_byte);
    tcase_add_test(tcase, batches_may_be_thrown_away);
    tcase_add_loop_test(tcase, a_broken_image_is_named, 0, 3);
    tcase_add_test(tcase, a_broken_image_is_replaced);
    return test_main(suite);
}
