/* SPDX-License-Identifier: BSD-3-Clause
 * tests/train/test_input.c - IDX files, good, hostile and mutilated at random; the digits.
 */
#include "config.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>

#include "tests/suite.h"
#include "tests/train/data_hash.h"
#include "train/input/readers.h"
#include "train/input/source.h"
#include "train/base/random.h"

enum { IMAGES = 5, PIXELS = 784, CLASSES = 10 };

static char folder[64];
static char images_path[128], labels_path[128];

static void make_folder(void)
{
    strcpy(folder, "/tmp/thinwire-input.XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(folder));
    snprintf(images_path, sizeof(images_path), "%s/images", folder);
    snprintf(labels_path, sizeof(labels_path), "%s/labels", folder);
}

static void remove_folder(void)
{
    char zipped[160];

    unlink(images_path);
    unlink(labels_path);
    snprintf(zipped, sizeof(zipped), "%s.gz", images_path);
    unlink(zipped);
    rmdir(folder);
}

static void write_bytes(const char *path, const void *bytes, size_t n)
{
    FILE *file = fopen(path, "wb");

    ck_assert_ptr_nonnull(file);
    ck_assert_uint_eq(fwrite(bytes, 1, n, file), n);
    fclose(file);
}

static void big_endian(uint8_t *at, uint32_t value)
{
    at[0] = (uint8_t)(value >> 24);
    at[1] = (uint8_t)(value >> 16);
    at[2] = (uint8_t)(value >> 8);
    at[3] = (uint8_t)value;
}

enum { IMAGE_BYTES = 16 + IMAGES * PIXELS, LABEL_BYTES = 8 + IMAGES };

static void make_images(uint8_t *bytes)
{
    big_endian(bytes, 0x803);
    big_endian(bytes + 4, IMAGES);
    big_endian(bytes + 8, 28);
    big_endian(bytes + 12, 28);
    for (size_t i = 0; i < IMAGES * PIXELS; i++) {
        bytes[16 + i] = (uint8_t)(i * 7);
    }
}

static void make_labels(uint8_t *bytes)
{
    big_endian(bytes, 0x801);
    big_endian(bytes + 4, IMAGES);
    for (size_t i = 0; i < IMAGES; i++) {
        bytes[8 + i] = (uint8_t)(9 - i);
    }
}

/* Read the two files; the text of the problem, "" if there is none. */
static const char *read_back(tw_set_t *set)
{
    static tw_problem_t problem;
    tw_shape_t          shape = {0};
    int                 status;

    problem = (tw_problem_t){0};
    status  = tw_idx_read(set, images_path, labels_path, PIXELS, CLASSES, &shape, &problem);
    ck_assert_int_eq(status, problem.set ? -1 : 0);
    ck_assert(status == 0 || (set->pixels == NULL && set->labels == NULL));
    ck_assert(status != 0 || (shape.c == 1 && shape.h == 28 && shape.w == 28));
    return problem.text;
}

static void expect(const uint8_t *images, size_t image_bytes, const uint8_t *labels,
                   size_t label_bytes, const char *fragment)
{
    tw_set_t    set;
    const char *text;

    write_bytes(images_path, images, image_bytes);
    write_bytes(labels_path, labels, label_bytes);
    text = read_back(&set);
    if (strstr(text, fragment) == NULL) {
        ck_abort_msg("wanted '%s', got '%s'", fragment, text);
    }
}

START_TEST(good_files_are_read)
{
    static uint8_t images[IMAGE_BYTES], labels[LABEL_BYTES];
    char           zipped[160];
    tw_set_t       set;
    gzFile         file;

    make_images(images);
    make_labels(labels);
    write_bytes(labels_path, labels, sizeof(labels));
    if (_i == 0) {
        write_bytes(images_path, images, sizeof(images));
    } else {
        snprintf(zipped, sizeof(zipped), "%s.gz", images_path);
        file = gzopen(zipped, "wb");
        ck_assert_int_eq(gzwrite(file, images, sizeof(images)), (int)sizeof(images));
        gzclose(file);
    }
    ck_assert_str_eq(read_back(&set), "");
    ck_assert_uint_eq(set.n, IMAGES);
    ck_assert_mem_eq(set.pixels, images + 16, IMAGES * PIXELS);
    for (size_t i = 0; i < IMAGES; i++) {
        ck_assert_uint_eq(set.labels[i], labels[8 + i]);
    }
    tw_set_destroy(&set);
}
END_TEST

START_TEST(bad_files_are_refused)
{
    static uint8_t images[IMAGE_BYTES + 1], labels[LABEL_BYTES + 1];

    make_images(images);
    make_labels(labels);
    unlink(images_path);
    write_bytes(labels_path, labels, LABEL_BYTES);
    ck_assert_ptr_nonnull(strstr(read_back(&(tw_set_t){0}), "No such file"));

    expect(images, 0, labels, LABEL_BYTES, "ends too early");
    expect(images, 15, labels, LABEL_BYTES, "ends too early");
    expect(images, 16, labels, LABEL_BYTES, "ends too early");
    expect(images, IMAGE_BYTES - 1, labels, LABEL_BYTES, "ends too early");
    expect(images, IMAGE_BYTES + 1, labels, LABEL_BYTES, "longer than its header says");
    expect(images, IMAGE_BYTES, labels, LABEL_BYTES - 1, "ends too early");
    expect(images, IMAGE_BYTES, labels, LABEL_BYTES + 1, "longer than its header says");
    expect(labels, LABEL_BYTES, labels, LABEL_BYTES, "ends too early");
    expect(images, IMAGE_BYTES, images, IMAGE_BYTES, "not an IDX file of labels");

    labels[8 + 3] = 10;
    expect(images, IMAGE_BYTES, labels, LABEL_BYTES,
           "label 10 of image 3 is out of range (0 to 9)");
    make_labels(labels);
    big_endian(labels + 4, IMAGES - 1);
    expect(images, IMAGE_BYTES, labels, LABEL_BYTES - 1, "holds 5 images, but");
    make_labels(labels);

    images[3] = 2;
    expect(images, IMAGE_BYTES, labels, LABEL_BYTES, "not an IDX file of images: it begins with");
    make_images(images);
    big_endian(images + 8, 27);
    expect(images, IMAGE_BYTES, labels, LABEL_BYTES, "images of 27x28");
    big_endian(images + 8, 0x80000000u); /* 28 * 2^31: no wrap to something small */
    expect(images, IMAGE_BYTES, labels, LABEL_BYTES, "the model takes 784 pixels");
    make_images(images);
    big_endian(images + 4, 0);
    expect(images, 16, labels, LABEL_BYTES, "says it holds 0 images");
    big_endian(images + 4, 0xffffffffu);
    expect(images, IMAGE_BYTES, labels, LABEL_BYTES, "says it holds 4294967295 images");
    big_endian(images + 4, 1u << 24); /* 13 GB that never come, and are never allocated */
    expect(images, IMAGE_BYTES, labels, LABEL_BYTES, "ends too early");
}
END_TEST

/* Images of any size, if nobody asks for one. */
START_TEST(sizes_are_told)
{
    static uint8_t images[IMAGE_BYTES], labels[LABEL_BYTES];
    tw_problem_t   problem = {0};
    tw_shape_t     shape;
    tw_set_t       set;

    make_images(images);
    make_labels(labels);
    big_endian(images + 8, 16);
    big_endian(images + 12, 49);
    write_bytes(images_path, images, IMAGE_BYTES);
    write_bytes(labels_path, labels, LABEL_BYTES);
    ck_assert_int_eq(tw_idx_read(&set, images_path, labels_path, 0, CLASSES, &shape, &problem), 0);
    ck_assert(shape.c == 1 && shape.h == 16 && shape.w == 49);
    ck_assert_mem_eq(set.pixels, images + 16, IMAGES * PIXELS);
    tw_set_destroy(&set);
    for (int k = 0; k < 2; k++) {
        big_endian(images + 8, k == 0 ? 0 : 4097);
        write_bytes(images_path, images, IMAGE_BYTES);
        problem = (tw_problem_t){0};
        ck_assert_int_eq(tw_idx_read(&set, images_path, labels_path, 0, CLASSES, &shape, &problem),
                         -1);
        ck_assert_ptr_nonnull(strstr(problem.text, "accepted are 1x1 to 4096x4096"));
    }
}
END_TEST

/* A gzip file cut or changed anywhere is refused or, where the change does not matter, read whole.
 */
START_TEST(damaged_gzip_is_refused)
{
    static uint8_t images[IMAGE_BYTES], labels[LABEL_BYTES], zipped[IMAGE_BYTES + 200];
    FILE          *file;
    gzFile         gz;
    size_t         n;
    tw_set_t       set;
    int            refused = 0;

    make_images(images);
    make_labels(labels);
    gz = gzopen(images_path, "wb");
    ck_assert_int_eq(gzwrite(gz, images, sizeof(images)), (int)sizeof(images));
    gzclose(gz);
    file = fopen(images_path, "rb");
    n    = fread(zipped, 1, sizeof(zipped), file);
    fclose(file);
    for (size_t cut = 0; cut < n; cut++) {
        expect(zipped, cut, labels, LABEL_BYTES, "'");
    }
    for (size_t i = 0; i < n; i++) {
        const char *text;

        zipped[i] ^= 0x55;
        write_bytes(images_path, zipped, n);
        text = read_back(&set);
        zipped[i] ^= 0x55;
        if (*text == '\0') {
            ck_assert_mem_eq(set.pixels, images + 16, IMAGES * PIXELS);
            tw_set_destroy(&set);
        } else {
            refused++;
        }
    }
    ck_assert_int_gt(refused,
                     (int)n - 12); /* name, time and system in the gzip header do not matter */
}
END_TEST

/* Whatever the bytes: a set that keeps its promises, or one line. */
START_TEST(mutilated_files_do_no_harm)
{
    static uint8_t images[IMAGE_BYTES], labels[LABEL_BYTES];
    tw_set_t       set;

    for (uint64_t round = 0; round < 1000; round++) {
        size_t image_bytes = IMAGE_BYTES, label_bytes = LABEL_BYTES;

        make_images(images);
        make_labels(labels);
        for (uint64_t k = 0; k < 1 + round % 4; k++) {
            images[tw_random_below(round, 3 * k, 20)] = (uint8_t)tw_random_bits(round, 3 * k + 1);
            labels[tw_random_below(round, 50 + k, LABEL_BYTES)] =
                (uint8_t)tw_random_below(round, 60 + k, 12);
        }
        if (round % 3 == 0) {
            image_bytes = tw_random_below(round, 90, IMAGE_BYTES);
            label_bytes = tw_random_below(round, 91, LABEL_BYTES);
        }
        write_bytes(images_path, images, image_bytes);
        write_bytes(labels_path, labels, label_bytes);
        if (*read_back(&set) == '\0') {
            ck_assert_uint_eq(set.n, IMAGES);
            for (size_t i = 0; i < set.n; i++) {
                ck_assert_uint_lt(set.labels[i], CLASSES);
            }
            tw_set_destroy(&set);
        }
    }
}
END_TEST

/* ---- digits -------------------------------------------------------------------------------- */

START_TEST(digits_are_the_same_everywhere)
{
    tw_problem_t problem = {0};
    tw_data_t    data, again, other;

    ck_assert_int_eq(tw_data_load(&data, "digits:train=600", &problem), 0);
    ck_assert_uint_eq(data.train.n, 600);
    ck_assert_uint_eq(data.test.n, 100);
    /* Not only twice the same here: these very images, on every machine. */
    ck_assert_uint_eq(data_hash(&data), UINT64_C(0x26859f7be2997d9b));
    ck_assert_int_eq(tw_data_load(&again, "digits:seed=1,train=600", &problem), 0);
    ck_assert_uint_eq(data_hash(&again), data_hash(&data));
    ck_assert_int_eq(tw_data_load(&other, "digits:train=300,seed=1", &problem), 0);
    ck_assert_mem_eq(other.train.pixels, data.train.pixels, 300 * PIXELS);
    tw_data_destroy(&other);
    ck_assert_int_eq(tw_data_load(&other, "digits:seed=2,train=600", &problem), 0);
    ck_assert(memcmp(other.train.pixels, data.train.pixels, 600 * PIXELS) != 0);
    ck_assert(memcmp(data.test.pixels, data.train.pixels, 100 * PIXELS) != 0);
    tw_data_destroy(&other);
    tw_data_destroy(&again);
    tw_data_destroy(&data);
}
END_TEST

START_TEST(digits_look_like_digits)
{
    tw_problem_t problem = {0};
    tw_data_t    data;
    size_t       count[CLASSES] = {0};

    ck_assert_int_eq(tw_data_load(&data, "digits:train=2000", &problem), 0);
    for (size_t i = 0; i < data.train.n; i++) {
        const uint8_t *image = data.train.pixels + i * PIXELS;
        size_t         dark = 0, border = 0;

        for (size_t k = 0; k < PIXELS; k++) {
            const size_t x = k % 28, y = k / 28;

            dark += image[k] > 110;
            border += image[k] > 110 && (x == 0 || y == 0 || x == 27 || y == 27);
        }
        ck_assert_uint_gt(dark, 8);
        ck_assert_uint_lt(dark, 300);
        ck_assert_uint_lt(border, 30);
        count[data.train.labels[i]]++;
    }
    for (size_t digit = 0; digit < CLASSES; digit++) {
        ck_assert_uint_gt(count[digit], 150);
        ck_assert_uint_lt(count[digit], 250);
    }
    tw_data_destroy(&data);
}
END_TEST

START_TEST(data_names_are_checked)
{
    static const char *const bad[]   = {"",
                                        "cifar",
                                        "mnist",
                                        "mnist:",
                                        "digits:=5",
                                        "digits:train",
                                        "digits:train=",
                                        "digitsx",
                                        "digits:train=0",
                                        "digits:train=-1",
                                        "digits:seed=1x",
                                        "digits:train=5,",
                                        "digits:seed=99999999999999999999999",
                                        "digits:size=3",
                                        "digits:train=10000001"};
    tw_problem_t             problem = {0};
    tw_source_t              source;

    ck_assert_int_eq(tw_source_open(&source, bad[_i], 0, NULL, &problem), -1);
    ck_assert_ptr_nonnull(strstr(problem.text, "--data"));
    ck_assert_ptr_null(strchr(problem.text, '\n'));
}
END_TEST

int main(void)
{
    Suite *suite  = suite_create("train/input");
    TCase *files  = tcase_create("files");
    TCase *digits = tcase_create("digits");

    tcase_add_checked_fixture(files, make_folder, remove_folder);
    tcase_add_loop_test(files, good_files_are_read, 0, 2);
    tcase_add_test(files, bad_files_are_refused);
    tcase_add_test(files, sizes_are_told);
    tcase_add_test(files, damaged_gzip_is_refused);
    tcase_add_test(files, mutilated_files_do_no_harm);
    suite_add_tcase(suite, files);
    tcase_add_test(digits, digits_are_the_same_everywhere);
    tcase_add_test(digits, digits_look_like_digits);
    tcase_add_loop_test(digits, data_names_are_checked, 0, 15);
    suite_add_tcase(suite, digits);
    return test_main(suite);
}
