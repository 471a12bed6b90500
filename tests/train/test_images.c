/* SPDX-License-Identifier: BSD-3-Clause
 * tests/train/test_images.c - images on their way into a network: crops and mirrors beside a plain
 * one made by copying, for any share of the batch; images of noise; the names of data sets.
 */
#include "config.h"

#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "tests/suite.h"
#include "train/input/data.h"
#include "train/random.h"

static tw_problem_t problem;

static void load(tw_data_t *data, const char *spec)
{
    problem = (tw_problem_t){0};
    if (tw_data_load(data, spec, 0, 0, &problem) != 0) {
        ck_abort_msg("%s", problem.text);
    }
}

/* The same as tw_image_place by its definition: a padded copy, a crop, a mirror. */
static void place_plainly(tw_shape_t s, const uint8_t *pixels, size_t pad, tw_placement_t at,
                          float mean, float scale, float *out)
{
    const size_t high = s.h + 2 * pad, wide = s.w + 2 * pad;
    float       *padded = calloc(high * wide, sizeof(*padded));

    for (size_t c = 0; c < s.c; c++) {
        for (size_t y = 0; y < s.h; y++) {
            for (size_t x = 0; x < s.w; x++) {
                padded[(y + pad) * wide + x + pad] =
                    ((float)pixels[(c * s.h + y) * s.w + x] - mean) * scale;
            }
        }
        for (size_t y = 0; y < s.h; y++) {
            for (size_t x = 0; x < s.w; x++) {
                const size_t to = at.mirror ? s.w - 1 - x : x;

                out[(c * s.h + y) * s.w + to] = padded[(y + at.down) * wide + x + at.across];
            }
        }
    }
    free(padded);
}

static const tw_shape_t shapes[] = {{1, 1, 1}, {3, 5, 7}, {2, 9, 4}, {1, 6, 33}, {3, 32, 32}};
enum { SHAPES = 5, MOST = 3 * 32 * 32 };

START_TEST(every_placement_is_exact)
{
    const tw_shape_t shape        = shapes[_i];
    const size_t     n            = tw_shape_size(shape);
    uint8_t          pixels[MOST] = {0};
    float            out[MOST], plain[MOST];

    for (size_t i = 0; i < n; i++) {
        pixels[i] = (uint8_t)tw_random_bits(5, i);
    }
    for (size_t pad = 0; pad < 7; pad++) {
        for (size_t corner = 0; corner < (2 * pad + 1) * (2 * pad + 1); corner++) {
            for (int mirror = 0; mirror < 2; mirror++) {
                const tw_placement_t at = {corner / (2 * pad + 1), corner % (2 * pad + 1), mirror};

                memset(out, 0xff, sizeof(out));
                tw_image_place(shape, pixels, pad, at, 120.5f, 1.0f / 64.0f, out);
                place_plainly(shape, pixels, pad, at, 120.5f, 1.0f / 64.0f, plain);
                ck_assert_mem_eq(out, plain, n * sizeof(*out));
            }
        }
    }
}
END_TEST

START_TEST(mirror_of_mirror_is_the_image)
{
    const tw_shape_t     shape        = shapes[_i];
    const size_t         n            = tw_shape_size(shape);
    const tw_placement_t mirror       = {0, 0, 1};
    uint8_t              pixels[MOST] = {0}, back[MOST] = {0};
    float                out[MOST];
    size_t               changed = 0;

    for (size_t i = 0; i < n; i++) {
        pixels[i] = (uint8_t)tw_random_bits(6, i);
    }
    tw_image_place(shape, pixels, 0, mirror, 0.0f, 1.0f, out);
    for (size_t i = 0; i < n; i++) {
        back[i] = (uint8_t)out[i];
        changed += back[i] != pixels[i];
    }
    ck_assert(shape.w == 1 || changed > n / 2);
    tw_image_place(shape, back, 0, mirror, 0.0f, 1.0f, out);
    for (size_t i = 0; i < n; i++) {
        ck_assert_uint_eq((uint8_t)out[i], pixels[i]);
    }
}
END_TEST

/* ---- rows ---------------------------------------------------------------------------------- */

enum { IMAGES = 50, ROW = 3 * 11 * 13 };

START_TEST(no_augmentation_is_the_image)
{
    const tw_augment_t nothing = {.pad = 0, .mirror = 0, .seed = 3, .epoch = 9};
    tw_data_t          data;
    uint32_t           indices[IMAGES];
    static float       out[IMAGES * ROW], as_well[IMAGES * ROW];

    load(&data, "random:11x13x3,10,n=50");
    for (uint32_t i = 0; i < IMAGES; i++) {
        indices[i] = i * 7 % IMAGES;
    }
    tw_data_rows(&data, &data.train, indices, IMAGES, NULL, 0.0f, 1.0f / 255.0f, 1, out);
    tw_data_rows(&data, &data.train, indices, IMAGES, &nothing, 0.0f, 1.0f / 255.0f, 2, as_well);
    ck_assert_mem_eq(out, as_well, sizeof(out));
    for (size_t i = 0; i < IMAGES * ROW; i++) {
        const uint8_t pixel = data.train.pixels[indices[i / ROW] * ROW + i % ROW];

        ck_assert(out[i] == (float)pixel * (1.0f / 255.0f));
    }
    tw_data_destroy(&data);
}
END_TEST

/* Which rank asks for an image, with which others, in which order and with how many threads does
 * not matter. */
START_TEST(any_partition_gives_the_same_rows)
{
    const tw_augment_t how = {.pad = 3, .mirror = 1, .seed = 11, .epoch = 4};
    tw_data_t          data;
    uint32_t           order[IMAGES];
    static float       whole[IMAGES * ROW], part[IMAGES * ROW];

    load(&data, "random:11x13x3,10,n=50");
    for (uint32_t i = 0; i < IMAGES; i++) {
        order[i] = i;
    }
    tw_data_rows(&data, &data.train, order, IMAGES, &how, 100.0f, 0.02f, 1, whole);
    for (uint32_t i = IMAGES - 1; i > 0; i--) {
        const uint32_t k = tw_random_below(2, i, i + 1), other = order[k];

        order[k] = order[i];
        order[i] = other;
    }
    for (size_t ranks = 1; ranks <= 8; ranks++) {
        for (size_t rank = 0; rank < ranks; rank++) {
            const size_t first = IMAGES * rank / ranks, n = IMAGES * (rank + 1) / ranks - first;

            tw_data_rows(&data, &data.train, order + first, n, &how, 100.0f, 0.02f,
                         1 + (int)(rank % 3), part + first * ROW);
        }
        for (size_t i = 0; i < IMAGES; i++) {
            ck_assert_mem_eq(part + i * ROW, whole + order[i] * ROW, ROW * sizeof(*part));
        }
    }
    tw_data_destroy(&data);
}
END_TEST

/* Places by seed, epoch and index: all of them, with equal chances. */
START_TEST(places_are_drawn_evenly)
{
    enum { PAD = 4, PLACES = 2 * PAD + 1, DRAWN = 90000 };
    tw_augment_t how  = {.pad = PAD, .mirror = 1, .seed = 1, .epoch = 1};
    tw_augment_t seed = how, epoch = how, upright = how;
    size_t       count[PLACES][PLACES][2] = {{{0}}}, same[2] = {0, 0};

    seed.seed      = 2;
    epoch.epoch    = 2;
    upright.mirror = 0;
    for (uint32_t i = 0; i < DRAWN; i++) {
        const tw_placement_t at = tw_augment_place(&how, i), of_seed = tw_augment_place(&seed, i);
        const tw_placement_t of_epoch   = tw_augment_place(&epoch, i);
        const tw_placement_t of_upright = tw_augment_place(&upright, i);

        ck_assert(at.down < PLACES && at.across < PLACES);
        count[at.down][at.across][at.mirror]++;
        same[0] += at.down == of_seed.down && at.across == of_seed.across;
        same[1] += at.down == of_epoch.down && at.across == of_epoch.across;
        ck_assert(of_upright.down == at.down && of_upright.across == at.across);
        ck_assert_int_eq(of_upright.mirror, 0);
    }
    for (size_t k = 0; k < sizeof(count) / sizeof(count[0][0][0]); k++) {
        ck_assert_uint_gt((&count[0][0][0])[k], 440); /* 556 expected, 5 standard deviations: 117 */
        ck_assert_uint_lt((&count[0][0][0])[k], 680);
    }
    for (int k = 0; k < 2; k++) {
        ck_assert_uint_gt(same[k], 950); /* 1111 expected of independent draws, deviation 33 */
        ck_assert_uint_lt(same[k], 1280);
    }
}
END_TEST

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
    ck_assert_uint_eq(tw_data_hash(&data), UINT64_C(0xcd75f3288689770c));
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
    tw_data_t data;

    problem = (tw_problem_t){0};
    ck_assert_int_eq(tw_data_load(&data, bad[_i], 0, 0, &problem), -1);
    ck_assert_ptr_nonnull(strstr(problem.text, "--data"));
    ck_assert_ptr_null(strchr(problem.text, '\n'));
    ck_assert(strstr(problem.text, "accepted") != NULL || strstr(problem.text, "needs") != NULL ||
              strstr(problem.text, "No such file") != NULL);
}
END_TEST

START_TEST(shapes_must_fit_the_model)
{
    tw_data_t data;

    problem = (tw_problem_t){0};
    ck_assert_int_eq(tw_data_load(&data, "random:28x28x1,10,n=3", 784, 10, &problem), 0);
    tw_data_destroy(&data);
    ck_assert_int_eq(tw_data_load(&data, "random:28x28x3,10,n=3", 784, 10, &problem), -1);
    ck_assert_ptr_nonnull(strstr(problem.text, "has 2352 pixels; the model takes 784"));
    problem = (tw_problem_t){0};
    ck_assert_int_eq(tw_data_load(&data, "random:28x28x1,11,n=3", 784, 10, &problem), -1);
    ck_assert_ptr_nonnull(strstr(problem.text, "has 11 classes; the model has 10"));
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("train/images");
    TCase *tcase = tcase_create("images");

    tcase_add_loop_test(tcase, every_placement_is_exact, 0, SHAPES);
    tcase_add_loop_test(tcase, mirror_of_mirror_is_the_image, 0, SHAPES);
    tcase_add_test(tcase, no_augmentation_is_the_image);
    tcase_add_test(tcase, any_partition_gives_the_same_rows);
    tcase_add_test(tcase, places_are_drawn_evenly);
    tcase_add_test(tcase, noise_is_the_same_everywhere);
    tcase_add_test(tcase, many_classes_fit);
    tcase_add_loop_test(tcase, data_names_are_checked, 0, (int)(sizeof(bad) / sizeof(bad[0])));
    tcase_add_test(tcase, shapes_must_fit_the_model);
    suite_add_tcase(suite, tcase);
    return test_main(suite);
}
