/* SPDX-License-Identifier: BSD-3-Clause
 * tests/train/test_images.c - images of noise; the names of data sets.
 */
#include "config.h"

#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "tests/suite.h"
#include "tests/train/data_hash.h"
#include "train/input/source.h"

static tw_problem_t problem;

static void load(tw_data_t *data, const char *spec)
{
    problem = (tw_problem_t){0};
    if (tw_data_load(data, spec, &problem) != 0) {
        ck_abort_msg("%s", problem.text);
    }
}

/* ---- noise and names ----------------------------------------------------------------------- */

START_TEST(noise_is_the_same_everywhere)
{
    tw_data_t data, fewer, other;
    size_t    count[256] = {0}, of_class[3] = {0};

    load(&data, "random:5x7x3,3,n=3000,test=40");
    ck_assert_uint_eq(data.shape.c, 3);
    ck_assert_uint_eq(data.shape.h, 5);
    ck_assert_uint_eq(data.shape.w, 7);
    ck_assert_uint_eq(data.pixels, 105);
    ck_assert_uint_eq(data.classes, 3);
    ck_assert_uint_eq(data.train.n, 3000);
    ck_assert_uint_eq(data.test.n, 40);
    /* These very images, on every machine. */
    ck_assert_uint_eq(data_hash(&data), UINT64_C(0xcd75f3288689770c));
    load(&fewer, "random:5x7x3,3,test=7,seed=1,n=9");
    ck_assert_mem_eq(fewer.train.pixels, data.train.pixels, 9 * 105);
    ck_assert_mem_eq(fewer.train.labels, data.train.labels, 9 * sizeof(uint16_t));
    ck_assert_mem_eq(fewer.test.pixels, data.test.pixels, 7 * 105);
    ck_assert(memcmp(data.test.pixels, data.train.pixels, 105) != 0);
    load(&other, "random:5x7x3,3,seed=2");
    ck_assert_uint_eq(other.train.n, 512);
    ck_assert_uint_eq(other.test.n, 64);
    ck_assert(memcmp(other.train.pixels, data.train.pixels, 105) != 0);
    for (size_t i = 0; i < data.train.n; i++) {
        of_class[data.train.labels[i]]++;
        for (size_t k = 0; k < data.pixels; k++) {
            count[data.train.pixels[i * data.pixels + k]]++;
        }
    }
    for (size_t k = 0; k < 256; k++) { /* 1230 expected, deviation 35 */
        ck_assert_uint_gt(count[k], 1055);
        ck_assert_uint_lt(count[k], 1405);
    }
    for (size_t k = 0; k < 3; k++) {
        ck_assert_uint_gt(of_class[k], 870);
    }
    tw_data_destroy(&other);
    tw_data_destroy(&fewer);
    tw_data_destroy(&data);
}
END_TEST

START_TEST(many_classes_fit)
{
    tw_data_t data;
    size_t    above = 0;

    load(&data, "random:1x1x1,65536,n=1000");
    ck_assert_uint_eq(data.classes, 65536);
    for (size_t i = 0; i < data.train.n; i++) {
        above += data.train.labels[i] >= 32768;
    }
    ck_assert_uint_gt(above, 400);
    ck_assert_uint_lt(above, 600);
    tw_data_destroy(&data);
}
END_TEST

static const char *const bad[] = {"random",
                                  "random:",
                                  "random:5",
                                  "random:5x5",
                                  "random:5x5x3",
                                  "random:5x5x3,",
                                  "random:5x5x3,1",
                                  "random:5x5x3,65537",
                                  "random:0x5x3,10",
                                  "random:65537x5x3,10",
                                  "random:5x-5x3,10",
                                  "random:5X5x3,10",
                                  "random:5x5x3x3,10",
                                  "random:99999999999999999999999x5x3,10",
                                  "random:5x5x3,10,",
                                  "random:5x5x3,10;n=5",
                                  "random:5x5x3,10,n=0",
                                  "random:5x5x3,10,n=",
                                  "random:5x5x3,10,n=5,",
                                  "random:5x5x3,10,m=5",
                                  "random:5x5x3,10,test=0",
                                  "random:5x5x3,10,n=10000001",
                                  "random:65536x65536x1,10,n=1,test=1",
                                  "random:65536x65536x65536,10",
                                  "cifar10",
                                  "cifar10:",
                                  "cifar10:/nowhere/at/all",
                                  "cifar100:/tmp",
                                  "digits:"};

START_TEST(data_names_are_checked)
{
    tw_source_t source;

    problem = (tw_problem_t){0};
    ck_assert_int_eq(tw_source_open(&source, bad[_i], 0, NULL, &problem), -1);
    ck_assert_ptr_nonnull(strstr(problem.text, "--data"));
    ck_assert_ptr_null(strchr(problem.text, '\n'));
    ck_assert(strstr(problem.text, "accepted") != NULL || strstr(problem.text, "needs") != NULL ||
              strstr(problem.text, "No such file") != NULL);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("train/images");
    TCase *tcase = tcase_create("images");

    tcase_add_test(tcase, noise_is_the_same_everywhere);
    tcase_add_test(tcase, many_classes_fit);
    tcase_add_loop_test(tcase, data_names_are_checked, 0, (int)(sizeof(bad) / sizeof(bad[0])));
    suite_add_tcase(suite, tcase);
    return test_main(suite);
}
