/* SPDX-License-Identifier: BSD-3-Clause
 * tests/train/test_decode_photos.c - photos as cameras and other programs write them, where they
 * are at hand: regions are cuts of what libjpeg's plain path gives.
 */
#include "config.h"

#include <check.h>
#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/suite.h"
#include "tests/train/decode_files.h"
#include "train/input/decode.h"

enum { ROOM = 1 << 22, MOST = 1 << 22 };

static tw_decoder_t   *decoder;
static tw_buffer_t     buffer;
static tw_problem_t    problem;
static tw_file_facts_t facts;
static uint8_t         file[ROOM];
static size_t          n;

static void set_up(void)
{
    decoder = tw_decoder_create(&tw_pixels_scalar);
    ck_assert_ptr_nonnull(decoder);
}

static void tear_down(void)
{
    tw_decoder_destroy(decoder);
    tw_buffer_destroy(&buffer);
}

static const char *photos(const char *pattern)
{
    static char path[4096];
    const char *text = getenv("THINWIRE_DATA"), *source = getenv("top_srcdir");

    if (text != NULL && *text != '\0') {
        snprintf(path, sizeof(path), "%s/photos/%s", text, pattern);
    } else {
        snprintf(path, sizeof(path), "%s/../shared/data/photos/%s", source != NULL ? source : ".",
                 pattern);
    }
    return path;
}

static void same_as_plain(const char *path, int eighths, size_t channels)
{
    const plain_t whole = plain_jpeg(file, n, channels, eighths, facts.orientation);
    const size_t  h = whole.h, w = whole.w;
    tw_region_t   regions[] = {{0, 0, h, w},
                               {h / 16, w / 16, h - h / 8, w - w / 8},
                               {h / 3, w / 3, h / 3 + 1, w / 3 + 1},
                               {h - 1, w - 1, 1, 1},
                               {h / 2, 0, 1, w}};

    for (size_t k = 0; k < sizeof(regions) / sizeof(regions[0]); k++) {
        const tw_region_t region = regions[k];
        const uint8_t    *pixels;

        problem = (tw_problem_t){0};
        ck_assert_int_eq(tw_decode_region(decoder, file, n, &facts, channels, eighths, region,
                                          &buffer, &problem),
                         0);
        pixels = buffer.bytes;
        for (size_t row = 0; row < channels * region.h; row++) {
            const size_t at = (row / region.h * h + region.top + row % region.h) * w + region.left;

            if (memcmp(pixels + row * region.w, whole.pixels + at, region.w) != 0) {
                ck_abort_msg("%s at %d/8: region %zu differs", path, eighths, k);
            }
        }
    }
    free(whole.pixels);
}

static void read_file(const char *path)
{
    FILE *from = fopen(path, "rb");

    ck_assert_ptr_nonnull(from);
    n = fread(file, 1, sizeof(file), from);
    fclose(from);
    problem = (tw_problem_t){0};
    if (tw_decode_facts(decoder, file, n, MOST, &facts, &problem) != 0) {
        ck_abort_msg("%s: %s", path, problem.text);
    }
}

START_TEST(real_files_decode_as_plainly)
{
    static const char *const patterns[] = {"jpeg-variants/*.jpg", "flowers/*/1*.jpg"};

    for (size_t k = 0; k < 2; k++) {
        glob_t found;

        ck_assert_int_eq(glob(photos(patterns[k]), 0, NULL, &found), 0);
        for (size_t i = 0; i < found.gl_pathc; i += k == 0 ? 1 : 5) {
            read_file(found.gl_pathv[i]);
            for (int eighths = 1; eighths <= 8; eighths *= 2) {
                same_as_plain(found.gl_pathv[i], eighths, 3);
            }
            same_as_plain(found.gl_pathv[i], 8, 1);
        }
        globfree(&found);
    }
}
END_TEST

/* The same photo, but for what the file says of the camera. */
START_TEST(real_orientations_are_read)
{
    static const struct {
        const char *name;
        int         orientation;
    } files[] = {{"no_exif", 1},    {"horizontal", 1}, {"mirror_horizontal", 2},
                 {"rotate_180", 3}, {"rotate_90", 6},  {"rotate_270", 8}};

    for (size_t k = 0; k < sizeof(files) / sizeof(files[0]); k++) {
        char name[100];

        snprintf(name, sizeof(name), "jpeg-variants/orient_%s.jpg", files[k].name);
        read_file(photos(name));
        ck_assert_int_eq(facts.orientation, files[k].orientation);
        ck_assert_uint_eq(facts.h, files[k].orientation < 5 ? 426 : 640);
        ck_assert_uint_eq(facts.w, files[k].orientation < 5 ? 640 : 426);
    }
}
END_TEST

int main(void)
{
    Suite *suite;
    TCase *tcase;

    if (access(photos("jpeg-variants"), R_OK) != 0 || access(photos("flowers"), R_OK) != 0) {
        printf("1..0 # SKIP no photos in %s (set THINWIRE_DATA)\n", photos(""));
        return 0;
    }
    suite = suite_create("train/decode_photos");
    tcase = test_case_within(suite, "photos", 60);
    tcase_add_checked_fixture(tcase, set_up, tear_down);
    tcase_add_test(tcase, real_files_decode_as_plainly);
    tcase_add_test(tcase, real_orientations_are_read);
    return test_main(suite);
}
