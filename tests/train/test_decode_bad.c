/* SPDX-License-Identifier: BSD-3-Clause
 * tests/train/test_decode_bad.c - JPEG and PNG files that end early, are damaged or ask for too
 * much: one line says what is wrong, and the decoder goes on with the next file.
 */
#include "config.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "tests/suite.h"
#include "tests/train/decode_files.h"
#include "train/input/decode.h"
#include "train/input/transforms.h"

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

/* Decode a part of the first length bytes, which stand at the end of their memory. */
static int decode_part(size_t length, int eighths, const tw_region_t *region)
{
    uint8_t *exact = malloc(length > 0 ? length : 1);
    int      status;

    ck_assert_ptr_nonnull(exact);
    memcpy(exact, file, length);
    problem = (tw_problem_t){0};
    status  = tw_decode_facts(decoder, exact, length, MOST, &facts, &problem);
    if (status == 0) {
        const tw_region_t whole = {0, 0, tw_decode_scaled(facts.h, eighths),
                                   tw_decode_scaled(facts.w, eighths)};

        status = tw_decode_region(decoder, exact, length, &facts, 3, eighths,
                                  region != NULL ? *region : whole, &buffer, &problem);
    }
    free(exact);
    ck_assert_int_eq(status, problem.set ? -1 : 0);
    ck_assert(status == 0 || (problem.text[0] != '\0' && strchr(problem.text, '\n') == NULL));
    return status;
}

static void refused(const char *fragment)
{
    ck_assert_int_eq(decode_part(n, 8, NULL), -1);
    if (strstr(problem.text, fragment) == NULL) {
        ck_abort_msg("wanted '%s', got '%s'", fragment, problem.text);
    }
}

static void make_jpeg(const char *name, size_t h, size_t w)
{
    const made_jpeg_t *kind = made_jpegs;

    while (strcmp(kind->name, name) != 0) {
        kind++;
    }
    n = made_jpeg(kind, h, w, NULL, 0, file, ROOM);
}

static void make_png(const made_png_t *kind, size_t h, size_t w)
{
    plain_t rgb, grey;

    n = made_png(kind, h, w, file, ROOM, &rgb, &grey);
    free(rgb.pixels);
    free(grey.pixels);
}

/* The marker's place. */
static size_t marker(uint8_t name)
{
    size_t at = 0;

    while (file[at] != 0xff || file[at + 1] != name) {
        at++;
        ck_assert_uint_lt(at, n - 1);
    }
    return at;
}

/* ---- files that end early ------------------------------------------------------------------ */

START_TEST(short_jpegs_are_refused)
{
    static const char *const names[] = {"4:2:0",
                                        "grey",
                                        "progressive 4:2:2",
                                        "a scan each, 4:4:0",
                                        "YCCK 4:2:0",
                                        "4:2:0 with restarts"};

    make_jpeg(names[_i], 23, 37);
    for (size_t length = 0; length < n; length++) {
        if (decode_part(length, 8, NULL) == 0) {
            ck_abort_msg("%s: %zu of %zu bytes are enough", names[_i], length, n);
        }
        ck_assert_int_eq(decode_part(length, 2, NULL), -1);
    }
    ck_assert_int_eq(decode_part(n, 8, NULL), 0);
}
END_TEST

START_TEST(short_pngs_are_refused)
{
    make_png(&made_pngs[_i], 13, 17);
    for (size_t length = 0; length < n; length++) {
        ck_assert_int_eq(decode_part(length, 8, NULL), -1);
    }
    ck_assert_int_eq(decode_part(n, 8, NULL), 0);
}
END_TEST

/* ---- damage -------------------------------------------------------------------------------- */

/* Every region of a file that is taken is a cut of the whole, however damaged it is. */
static void regions_agree(test_random_t *random)
{
    static uint8_t whole[3 * 128 * 128];
    tw_region_t    region;
    const uint8_t *pixels;

    if (decode_part(n, 8, NULL) != 0 || facts.h > 128 || facts.w > 128) {
        return;
    }
    memcpy(whole, buffer.bytes, 3 * facts.h * facts.w);
    region.top  = (size_t)test_below(random, (int)facts.h);
    region.left = (size_t)test_below(random, (int)facts.w);
    region.h    = 1 + (size_t)test_below(random, (int)(facts.h - region.top));
    region.w    = 1 + (size_t)test_below(random, (int)(facts.w - region.left));
    ck_assert_int_eq(decode_part(n, 8, &region), 0);
    pixels = buffer.bytes;
    for (size_t row = 0; row < 3 * region.h; row++) {
        const size_t at = (row / region.h * facts.h + region.top + row % region.h) * facts.w;

        ck_assert_mem_eq(pixels + row * region.w, whole + at + region.left, region.w);
    }
}

static void damage(test_random_t *random, int changes)
{
    for (int k = 0; k < changes; k++) {
        const size_t at = (size_t)test_below(random, (int)n);

        file[at] = (uint8_t)(test_below(random, 4) == 0 ? 0xff : test_below(random, 256));
    }
}

START_TEST(damaged_jpegs_do_no_harm)
{
    test_random_t random = {test_seed() + (uint64_t)_i};
    uint8_t       exif[64];

    for (int round = 0; round < 150; round++) {
        n = made_jpeg(&made_jpegs[_i], 1 + (size_t)test_below(&random, 60),
                      1 + (size_t)test_below(&random, 60), exif,
                      made_exif(1 + round % 8, round % 2, exif), file, ROOM);
        damage(&random, 1 << test_below(&random, 5));
        regions_agree(&random);
    }
    make_jpeg("4:2:0", 9, 9);
    ck_assert_int_eq(decode_part(n, 8, NULL), 0);
}
END_TEST

START_TEST(damaged_pngs_do_no_harm)
{
    test_random_t random = {test_seed() + (uint64_t)_i};

    for (int round = 0; round < 300; round++) {
        make_png(&made_pngs[_i], 1 + (size_t)test_below(&random, 40),
                 1 + (size_t)test_below(&random, 40));
        damage(&random, 1 << test_below(&random, 4));
        if (round % 4 != 0) {
            made_png_mend(file, n);
        }
        regions_agree(&random);
    }
}
END_TEST

START_TEST(one_wrong_byte_of_a_png_is_found)
{
    make_png(&made_pngs[_i], 9, 11);
    for (size_t at = 0; at < n; at++) {
        file[at] ^= 0x10;
        ck_assert_int_eq(decode_part(n, 8, NULL), -1);
        file[at] ^= 0x10;
    }
    ck_assert_int_eq(decode_part(n, 8, NULL), 0);
}
END_TEST

/* ---- files that ask for too much ----------------------------------------------------------- */

static void set_jpeg_size(uint8_t frame, unsigned h, unsigned w)
{
    const size_t at = marker(frame);

    file[at + 5] = (uint8_t)(h >> 8);
    file[at + 6] = (uint8_t)h;
    file[at + 7] = (uint8_t)(w >> 8);
    file[at + 8] = (uint8_t)w;
}

START_TEST(large_images_are_refused)
{
    make_jpeg("progressive 4:2:0", 9, 9);
    set_jpeg_size(0xc2, 65500, 65500);
    refused("65500x65500 pixels (height x width); accepted are up to 4194304 pixels");
    set_jpeg_size(0xc2, 4, 65500);
    refused("JPEG file is damaged: ");
    set_jpeg_size(0xc2, 0, 9);
    refused("JPEG file cannot be decoded: ");
    make_png(&made_pngs[0], 9, 9);
    memcpy(file + 16, "\x7f\xff\xff\xff\x7f\xff\xff\xff", 8);
    refused("2147483647x2147483647 pixels (height x width); accepted are up to 4194304 pixels");
    memcpy(file + 16, "\x80\x00\x00\x01\x00\x00\x00\x01", 8);
    refused("PNG file is damaged: 1x2147483649 pixels");
    memcpy(file + 16, "\x00\x00\x00\x00\x00\x00\x00\x01", 8);
    refused("PNG file is damaged: 1x0 pixels");
}
END_TEST

/* The last scan over and over. */
START_TEST(many_scans_are_refused)
{
    size_t at, length;

    make_jpeg("a scan each, 4:2:0", 64, 64);
    n -= 2;
    at = n;
    while (file[at] != 0xff || file[at + 1] != 0xda) {
        at--;
    }
    length = n - at;
    for (int k = 0; k < 200; k++) {
        memcpy(file + n, file + at, length);
        n += length;
    }
    memcpy(file + n, "\xff\xd9", 2);
    n += 2;
    refused("JPEG file cannot be decoded: more than 100 scans");
}
END_TEST

START_TEST(other_files_are_refused)
{
    n = 0;
    refused("is neither a JPEG nor a PNG file");
    n = 6;
    memcpy(file, "GIF89a", 6);
    refused("is neither a JPEG nor a PNG file");
    make_jpeg("4:2:0", 20, 20);
    file[marker(0xc0) + 1] = 0xc9;
    refused("JPEG file is arithmetic-coded; accepted are Huffman-coded ones");
    make_jpeg("4:2:0", 20, 20);
    file[marker(0xc0) + 1] = 0xc3;
    refused("JPEG file cannot be decoded: Unsupported JPEG process");
    make_jpeg("4:2:0", 20, 20);
    file[marker(0xc0) + 4] = 12;
    refused("JPEG file cannot be decoded: Unsupported JPEG data precision 12");
    make_jpeg("4:2:0", 20, 20);
    file[marker(0xc0) + 11] = 0x32; /* 3x2 with 1x1 is fine, with 2x1 is not */
    file[marker(0xc0) + 14] = 0x21;
    refused("JPEG file cannot be decoded: Fractional sampling not implemented yet");
    make_jpeg("4:2:0", 20, 20);
    memset(file + n - 2, 'x', 100); /* between pixels and end */
    memcpy(file + n + 98, "\xff\xd9", 2);
    n += 100;
    ck_assert_int_eq(decode_part(n, 8, NULL), 0); /* says nothing about the pixels */
    make_jpeg("4:2:0", 20, 20);
    ck_assert_int_eq(decode_part(n, 8, NULL), 0);
}
END_TEST

/* The tables of the file before do not serve the next one. */
START_TEST(files_without_tables_are_refused)
{
    for (int round = 0; round < 2; round++) {
        make_jpeg("progressive 4:2:0", 20, 20);
        ck_assert_int_eq(decode_part(n, 8, NULL), 0);
        file[marker(0xc4) + 1] = 0xe9;
        refused("JPEG file cannot be decoded: Huffman table 0x00 was not defined");
        make_jpeg("4:2:0", 20, 20);
        ck_assert_int_eq(decode_part(n, 8, NULL), 0);
        file[marker(0xdb) + 1] = 0xe9;
        refused("JPEG file cannot be decoded: Quantization table 0x00 was not defined");
    }
}
END_TEST

START_TEST(regions_beyond_the_image_are_refused)
{
    static const tw_region_t regions[] = {{0, 0, 0, 1},       {0, 0, 1, 0},  {0, 0, 21, 1},
                                          {20, 0, 1, 1},      {0, 30, 1, 1}, {19, 29, 1, 2},
                                          {1, 0, SIZE_MAX, 1}};

    make_jpeg("4:2:0", 20, 30);
    for (size_t k = 0; k < sizeof(regions) / sizeof(regions[0]); k++) {
        ck_assert_int_eq(decode_part(n, 8, &regions[k]), -1);
        ck_assert_ptr_nonnull(strstr(problem.text, "no such part"));
    }
    make_png(&made_pngs[3], 20, 30);
    ck_assert_int_eq(decode_part(n, 4, NULL), -1);
}
END_TEST

/* An image whose lower rows are missing is broken in all its views, though some do not show them:
 * else another one would stand in for some views alone. */
START_TEST(views_are_broken_together)
{
    const tw_image_form_t from = {.type = TW_IMAGE_FILE, .shape = {3, 0, 0}};
    plain_t               rgb, grey;
    tw_transforms_t       list;
    tw_work_t             work = {.pixels = &tw_pixels_scalar, .decoder = decoder, .most = MOST};

    problem = (tw_problem_t){0};
    ck_assert_int_eq(tw_transforms_parse(&list, "crop:24,five mirror:both", from, "list", &problem),
                     0);
    ck_assert_uint_eq(list.views, 10);
    n = made_png(&made_pngs[12], 200, 200, file, ROOM, &rgb, &grey);
    for (int cut = 0; cut < 2; cut++) {
        for (size_t view = 0; view < list.views; view++) {
            const size_t length  = cut ? n * 85 / 100 : n;
            tw_planned_t planned = {.image = {.type = TW_IMAGE_FILE, .data = file, .bytes = length},
                                    .view  = view};

            problem = (tw_problem_t){0};
            ck_assert_int_eq(tw_transforms_run(&list, 0, list.n, &planned, &work, NULL, &problem),
                             cut ? -1 : 0);
            ck_assert(cut || (planned.image.present.h == 24 && planned.image.present.w == 24));
        }
    }
    free(rgb.pixels);
    free(grey.pixels);
    work.decoder = NULL; /* the fixture's */
    tw_work_destroy(&work);
    tw_transforms_destroy(&list);
}
END_TEST

/* The facts of another file: nothing is written beside the region. */
START_TEST(other_facts_are_refused)
{
    const tw_region_t     region    = {0, 0, 40, 40};
    const tw_file_facts_t wrong     = {.h = 40, .w = 40, .orientation = 1, .jpeg = 1};
    const tw_file_facts_t wrong_png = {.h = 40, .w = 40, .orientation = 1};

    make_jpeg("4:2:0", 20, 30);
    problem = (tw_problem_t){0};
    ck_assert_int_eq(tw_decode_region(decoder, file, n, &wrong, 3, 8, region, &buffer, &problem),
                     -1);
    ck_assert_ptr_nonnull(strstr(problem.text, "changed while it was read"));
    make_png(&made_pngs[3], 20, 30);
    problem = (tw_problem_t){0};
    ck_assert_int_eq(
        tw_decode_region(decoder, file, n, &wrong_png, 3, 8, region, &buffer, &problem), -1);
}
END_TEST

static int count_of_jpegs(void)
{
    int count = 0;

    while (made_jpegs[count].name != NULL) {
        count++;
    }
    return count;
}

static int count_of_pngs(void)
{
    int count = 0;

    while (made_pngs[count].name != NULL) {
        count++;
    }
    return count;
}

int main(void)
{
    Suite *suite = suite_create("train/decode_bad");
    TCase *tcase = test_case_within(suite, "bad files", 60);

    tcase_add_checked_fixture(tcase, set_up, tear_down);
    tcase_add_loop_test(tcase, short_jpegs_are_refused, 0, 6);
    tcase_add_loop_test(tcase, short_pngs_are_refused, 0, count_of_pngs());
    tcase_add_loop_test(tcase, damaged_jpegs_do_no_harm, 0, count_of_jpegs());
    tcase_add_loop_test(tcase, damaged_pngs_do_no_harm, 0, count_of_pngs());
    tcase_add_loop_test(tcase, one_wrong_byte_of_a_png_is_found, 0, count_of_pngs());
    tcase_add_test(tcase, views_are_broken_together);
    tcase_add_test(tcase, large_images_are_refused);
    tcase_add_test(tcase, many_scans_are_refused);
    tcase_add_test(tcase, other_files_are_refused);
    tcase_add_test(tcase, files_without_tables_are_refused);
    tcase_add_test(tcase, regions_beyond_the_image_are_refused);
    tcase_add_test(tcase, other_facts_are_refused);
    return test_main(suite);
}
