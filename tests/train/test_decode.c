/* SPDX-License-Identifier: BSD-3-Clause
 * tests/train/test_decode.c - JPEG and PNG files of all kinds: any region is a cut of what
 * libjpeg's and libpng's plain path gives for the whole image, turned as the file wants it.
 */
#include "config.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/suite.h"
#include "tests/train/decode_files.h"
#include "train/input/decode.h"

enum { ROOM = 1 << 20, MOST = 1 << 24 };

static tw_decoder_t  *decoder;
static tw_buffer_t    buffer;
static tw_problem_t   problem;
static uint8_t        file[ROOM];
static const uint8_t *bytes;
static size_t         n;
static char           what[400]; /* is being decoded */
static const int      scales[] = {1, 2, 4, 8};

static void set_up(void)
{
    decoder = tw_decoder_create(&tw_pixels_scalar);
    ck_assert_ptr_nonnull(decoder);
    bytes = file;
}

static void tear_down(void)
{
    tw_decoder_destroy(decoder);
    tw_buffer_destroy(&buffer);
}

static tw_file_facts_t facts_of(int orientation)
{
    tw_file_facts_t facts = {0};

    problem = (tw_problem_t){0};
    if (tw_decode_facts(decoder, bytes, n, MOST, &facts, &problem) != 0) {
        ck_abort_msg("%s: %s", what, problem.text);
    }
    ck_assert_int_eq(facts.orientation, orientation);
    return facts;
}

static void same_region(const tw_file_facts_t *facts, const plain_t *whole, int eighths,
                        tw_region_t region)
{
    const uint8_t *pixels;

    problem = (tw_problem_t){0};
    if (tw_decode_region(decoder, bytes, n, facts, whole->c, eighths, region, &buffer, &problem) !=
        0) {
        ck_abort_msg("%s: %s", what, problem.text);
    }
    pixels = buffer.bytes;
    for (size_t c = 0; c < whole->c; c++) {
        for (size_t y = 0; y < region.h; y++) {
            const size_t at = (c * whole->h + region.top + y) * whole->w + region.left;

            if (memcmp(pixels + (c * region.h + y) * region.w, whole->pixels + at, region.w) != 0) {
                ck_abort_msg("%s: %zux%zu at %d/8, orientation %d: %zux%zu from %zu, %zu differs "
                             "in row %zu of plane %zu",
                             what, whole->h, whole->w, eighths, facts->orientation, region.h,
                             region.w, region.top, region.left, y, c);
            }
        }
    }
}

static tw_region_t any_region(test_random_t *random, size_t h, size_t w)
{
    tw_region_t region;

    region.top  = (size_t)test_below(random, (int)h);
    region.left = (size_t)test_below(random, (int)w);
    region.h    = 1 + (size_t)test_below(random, (int)(h - region.top));
    region.w    = 1 + (size_t)test_below(random, (int)(w - region.left));
    return region;
}

static void some_regions(const tw_file_facts_t *facts, const plain_t *whole, int eighths, int some)
{
    test_random_t random = {test_seed() + whole->h * 1000 + whole->w};

    same_region(facts, whole, eighths, (tw_region_t){0, 0, whole->h, whole->w});
    for (int k = 0; k < some; k++) {
        same_region(facts, whole, eighths, any_region(&random, whole->h, whole->w));
    }
}

/* Regions that begin and end at every row and every column, and some of any kind. */
static void same_regions(const tw_file_facts_t *facts, const plain_t *whole, int eighths, int some)
{
    const size_t  h = whole->h, w = whole->w;
    test_random_t random = {test_seed() + h * 1000 + w};

    ck_assert_uint_eq(h, tw_decode_scaled(facts->h, eighths));
    ck_assert_uint_eq(w, tw_decode_scaled(facts->w, eighths));
    some_regions(facts, whole, eighths, some);
    for (size_t y = 0; y < h; y++) {
        const size_t left = (size_t)test_below(&random, (int)w);

        same_region(facts, whole, eighths, (tw_region_t){y, left, 1, w - left});
        same_region(facts, whole, eighths, (tw_region_t){y, 0, h - y, left + 1});
    }
    for (size_t x = 0; x < w; x++) {
        const size_t top = (size_t)test_below(&random, (int)h);

        same_region(facts, whole, eighths, (tw_region_t){top, x, h - top, 1});
        same_region(facts, whole, eighths, (tw_region_t){0, x, top + 1, w - x});
        same_region(facts, whole, eighths, (tw_region_t){top, 0, 1, x + 1});
    }
}

static void all_of_jpeg(int orientation, int some)
{
    const tw_file_facts_t facts = facts_of(orientation);

    ck_assert_int_eq(facts.jpeg, 1);
    for (size_t k = 0; k < 4; k++) {
        for (size_t channels = 1; channels <= 3; channels += 2) {
            plain_t whole = plain_jpeg(bytes, n, channels, scales[k], orientation);

            if (channels == 3) {
                same_regions(&facts, &whole, scales[k], some);
            } else {
                some_regions(&facts, &whole, scales[k], some);
            }
            free(whole.pixels);
        }
    }
}

/* ---- JPEG ---------------------------------------------------------------------------------- */

static const size_t sizes[][2] = {{1, 1}, {1, 70},  {70, 1},  {2, 3},   {7, 9},
                                  {8, 8}, {16, 17}, {17, 33}, {32, 64}, {67, 99}};

START_TEST(jpeg_regions_are_cuts)
{
    const made_jpeg_t *kind = &made_jpegs[_i];

    for (size_t k = 0; k < sizeof(sizes) / sizeof(sizes[0]); k++) {
        n = made_jpeg(kind, sizes[k][0], sizes[k][1], NULL, 0, file, ROOM);
        snprintf(what, sizeof(what), "%s", kind->name);
        all_of_jpeg(1, 20);
    }
}
END_TEST

START_TEST(orientations_are_applied)
{
    static const char *const names[]     = {"4:2:0", "4:2:2", "grey", "progressive 4:4:4", "CMYK"};
    const int                orientation = _i % 8 + 1, little = _i / 8;
    uint8_t                  exif[64];
    const size_t             length = made_exif(orientation, little, exif);

    for (const made_jpeg_t *kind = made_jpegs; kind->name != NULL; kind++) {
        for (size_t k = 0; k < sizeof(names) / sizeof(names[0]); k++) {
            if (strcmp(kind->name, names[k]) == 0) {
                n = made_jpeg(kind, 37, 54, exif, length, file, ROOM);
                snprintf(what, sizeof(what), "%s", kind->name);
                ck_assert_uint_eq(facts_of(orientation).h, orientation >= 5 ? 54 : 37);
                ck_assert_uint_eq(facts_of(orientation).w, orientation >= 5 ? 37 : 54);
                all_of_jpeg(orientation, 30);
            }
        }
    }
}
END_TEST

/* The first byte that differs from a good segment, which then names no orientation. */
START_TEST(other_exif_changes_nothing)
{
    static const struct {
        size_t  at;
        uint8_t value;
    } changes[] = {{0, 'e'}, {5, 1},   {6, 'L'}, {7, 'M'}, {8, 43}, {10, 255},  {13, 255},
                   {10, 62}, {10, 61}, {10, 7},  {16, 1},  {16, 0}, {30, 0x11}, {32, 7},
                   {32, 1},  {34, 0},  {37, 1},  {38, 0},  {38, 9}, {39, 1}};
    uint8_t      exif[64];
    const size_t length = made_exif(6, 1, exif);

    strcpy(what, "exif");
    for (size_t k = 0; k < sizeof(changes) / sizeof(changes[0]); k++) {
        const uint8_t was = exif[changes[k].at];

        exif[changes[k].at] = changes[k].value;
        n                   = made_jpeg(&made_jpegs[0], 5, 9, exif, length, file, ROOM);
        if (facts_of(1).h != 5) {
            ck_abort_msg("change %zu", k);
        }
        exif[changes[k].at] = was;
    }
    for (size_t cut = 0; cut <= length; cut++) {
        tw_file_facts_t facts;

        n       = made_jpeg(&made_jpegs[0], 5, 9, exif, cut, file, ROOM);
        problem = (tw_problem_t){0};
        ck_assert_int_eq(tw_decode_facts(decoder, bytes, n, MOST, &facts, &problem), 0);
        ck_assert_int_eq(facts.orientation, cut < 42 ? 1 : 6);
    }
}
END_TEST

/* A TIFF file of one directory with up to two entries, each { tag, type, count, value } of which
 * the value stands as 4 bytes, and some bytes behind them. Expected is what
 * ImageOps.exif_transpose() of Pillow 13.0 does. */
static const struct {
    char     magic[5];
    uint32_t entry[2][4];
    uint32_t behind[2];
    int      orientation;
} exifs[] = {
    {"II*\0", {{0x112, 3, 1, 6}}, {0}, 6},       /* SHORT           */
    {"MM\0*", {{0x112, 3, 1, 6 << 16}}, {0}, 6}, /* the other order */
    {"II*\0", {{0x112, 4, 1, 6}}, {0}, 6},       /* LONG            */
    {"MM\0*", {{0x112, 4, 1, 8}}, {0}, 8},
    {"II*\0", {{0x112, 4, 1, 0x10006}}, {0}, 1},
    {"II*\0", {{0x112, 6, 1, 5}}, {0}, 5}, /* SBYTE           */
    {"MM\0*", {{0x112, 6, 1, 5u << 24}}, {0}, 5},
    {"II*\0", {{0x112, 8, 1, 7}}, {0}, 7}, /* SSHORT          */
    {"II*\0", {{0x112, 9, 1, 2}}, {0}, 2}, /* SLONG           */
    {"II*\0", {{0x112, 9, 1, 0xfffffffa}}, {0}, 1},
    {"II*\0", {{0x112, 13, 1, 3}}, {0}, 3}, /* IFD             */
    {"II*\0", {{0x112, 1, 1, 6}}, {0}, 1},  /* BYTE            */
    {"II*\0", {{0x112, 7, 1, 6}}, {0}, 1},  /* UNDEFINED       */
    {"II*\0", {{0x112, 99, 1, 6}}, {0}, 1},
    {"II*\0", {{0x112, 3, 0, 6}}, {0}, 1},
    {"II*\0", {{0x112, 3, 2, 6 | 3 << 16}}, {0}, 6}, /* the first of two */
    {"II*\0", {{0x112, 4, 2, 38}}, {6, 3}, 6},       /* they stand behind */
    {"MM\0*", {{0x112, 4, 2, 38}}, {6, 3}, 6},
    {"II*\0", {{0x112, 16, 1, 38}}, {6, 0}, 6}, /* LONG8           */
    {"II*\0", {{0x112, 4, 2, 39}}, {6, 3}, 1},  /* not all of them */
    {"II*\0", {{0x112, 4, 0x40000001, 38}}, {6, 3}, 1},
    {"II*\0", {{0x112, 4, 2, 0xfffffff0}}, {6, 3}, 1},
    {"II*\0", {{0x112, 3, 0, 6}, {0x112, 3, 1, 3}}, {0}, 3}, /* the first that is one */
    {"II*\0", {{0x112, 3, 1, 6}, {0x112, 3, 1, 3}}, {0}, 6},
    {"II*\0", {{0x112, 3, 1, 9}, {0x112, 3, 1, 3}}, {0}, 1},
    {"II\0*", {{0x112, 3, 1, 6}}, {0}, 6}, /* the number of the format in the other order */
    {"MM*\0", {{0x112, 4, 1, 6}}, {0}, 6},
    {"II+\0", {{0x112, 3, 1, 6}}, {0}, 1}};

static uint8_t *put(uint8_t *at, uint32_t value, int bytes_n, int little)
{
    for (int i = 0; i < bytes_n; i++) {
        at[i] = (uint8_t)(value >> 8 * (little ? i : bytes_n - 1 - i));
    }
    return at + bytes_n;
}

static size_t make_tiff(size_t k, uint8_t *to)
{
    const int little = exifs[k].magic[0] == 'I';
    uint8_t  *at     = to + 4;

    memcpy(to, exifs[k].magic, 4);
    at = put(put(at, 8, 4, little), 2, 2, little);
    for (int e = 0; e < 2; e++) {
        at = put(put(at, exifs[k].entry[e][0], 2, little), exifs[k].entry[e][1], 2, little);
        at = put(put(at, exifs[k].entry[e][2], 4, little), exifs[k].entry[e][3], 4, little);
    }
    at = put(at, 0, 4, little);
    return (size_t)(put(put(at, exifs[k].behind[0], 4, little), exifs[k].behind[1], 4, little) -
                    to);
}

START_TEST(exif_is_read_as_pillow_does)
{
    uint8_t exif[80] = "Exif\0";

    for (size_t k = 0; k < sizeof(exifs) / sizeof(exifs[0]); k++) {
        const size_t length = make_tiff(k, exif + 6);
        plain_t      rgb, grey;

        snprintf(what, sizeof(what), "row %zu of a JPEG", k);
        n = made_jpeg(&made_jpegs[0], 5, 9, exif, length + 6, file, ROOM);
        facts_of(exifs[k].orientation);
        for (int late = 0; late < 2; late++) {
            snprintf(what, sizeof(what), "row %zu of a PNG, late: %d", k, late);
            n = made_png(&made_pngs[3], 5, 9, file, ROOM, &rgb, &grey);
            n = made_png_chunk(file, n, late, "eXIf", exif + 6, length);
            facts_of(exifs[k].orientation);
            free(rgb.pixels);
            free(grey.pixels);
        }
    }
}
END_TEST

/* ---- PNG ----------------------------------------------------------------------------------- */

START_TEST(png_regions_are_cuts)
{
    const made_png_t *kind = &made_pngs[_i];

    for (size_t k = 0; k < sizeof(sizes) / sizeof(sizes[0]); k++) {
        plain_t         rgb, grey;
        tw_file_facts_t facts;

        n = made_png(kind, sizes[k][0], sizes[k][1], file, ROOM, &rgb, &grey);
        snprintf(what, sizeof(what), "%s", kind->name);
        facts = facts_of(1);
        ck_assert_int_eq(facts.jpeg, 0);
        same_regions(&facts, &rgb, 8, 20);
        some_regions(&facts, &grey, 8, 20);
        free(rgb.pixels);
        free(grey.pixels);
    }
}
END_TEST

START_TEST(orientations_of_png_are_applied)
{
    uint8_t         exif[64];
    const size_t    length = made_exif(_i, 1, exif) - 6;
    tw_file_facts_t facts, stored;
    plain_t         rgb, grey;

    for (const made_png_t *kind = made_pngs; kind->name != NULL; kind++) {
        snprintf(what, sizeof(what), "%s", kind->name);
        n      = made_png(kind, 37, 54, file, ROOM, &rgb, &grey);
        n      = made_png_chunk(file, n, kind->bits == 8, "eXIf", exif + 6, length);
        facts  = facts_of(_i);
        stored = facts;
        tw_decode_as_stored(&stored);
        ck_assert_int_eq(stored.orientation, 1);
        some_regions(&stored, &rgb, 8, 10);
        plain_turn(&rgb, _i);
        plain_turn(&grey, _i);
        some_regions(&facts, &rgb, 8, 30);
        some_regions(&facts, &grey, 8, 10);
        free(rgb.pixels);
        free(grey.pixels);
    }
}
END_TEST

/* Behind what is no chunk there is no orientation, nor behind the end. */
START_TEST(chunks_are_looked_for_inside)
{
    uint8_t      exif[64];
    const size_t length = made_exif(6, 1, exif) - 6;
    plain_t      rgb, grey;
    const size_t whole = made_png(&made_pngs[3], 5, 9, file, ROOM, &rgb, &grey);

    free(rgb.pixels);
    free(grey.pixels);
    strcpy(what, "a chunk");
    n = made_png_chunk(file, whole, 0, "eXIg", exif + 6, length);
    facts_of(1);
    memcpy(file + 37, "eXIf", 4);
    facts_of(6);
    for (size_t cut = 34; cut <= 33 + 12 + length; cut++) { /* it is not all there */
        n = cut;
        facts_of(cut < 33 + 12 + length ? 1 : 6);
    }
    memset(file + 33, 0xff, 4);
    facts_of(1);
}
END_TEST

/* ---- others -------------------------------------------------------------------------------- */

START_TEST(sizes_are_rounded_up)
{
    for (size_t size = 1; size < 70000; size += size < 100 ? 1 : 997) {
        for (size_t k = 0; k < 4; k++) {
            ck_assert_uint_eq(tw_decode_scaled(size, scales[k]),
                              (size * (size_t)scales[k] + 7) / 8);
        }
    }
    ck_assert_uint_eq(tw_decode_scaled(SIZE_MAX, 8), SIZE_MAX);
}
END_TEST

/* Once it has seen an image of each kind, nothing grows. */
START_TEST(warm_decoders_do_not_grow)
{
    uint64_t grown = 0;
    uint8_t  exif[64];

    for (int round = 0; round < 3; round++) {
        if (round == 1) {
            grown = tw_decoder_grown(decoder) + buffer.grown;
        }
        for (const made_jpeg_t *kind = made_jpegs; kind->name != NULL; kind++) {
            n = made_jpeg(kind, 60, 80, exif, made_exif(8, 0, exif), file, ROOM);
            all_of_jpeg(8, 0);
        }
        for (const made_png_t *kind = made_pngs; kind->name != NULL; kind++) {
            plain_t         rgb, grey;
            tw_file_facts_t facts;

            n     = made_png(kind, 60, 80, file, ROOM, &rgb, &grey);
            facts = facts_of(1);
            same_region(&facts, &rgb, 8, (tw_region_t){0, 0, 60, 80});
            free(rgb.pixels);
            free(grey.pixels);
        }
    }
    ck_assert_uint_gt(grown, 0);
    ck_assert_uint_eq(tw_decoder_grown(decoder) + buffer.grown, grown);
}
END_TEST

static size_t count_of_jpegs(void)
{
    size_t count = 0;

    while (made_jpegs[count].name != NULL) {
        count++;
    }
    return count;
}

static size_t count_of_pngs(void)
{
    size_t count = 0;

    while (made_pngs[count].name != NULL) {
        count++;
    }
    return count;
}

int main(void)
{
    Suite *suite = suite_create("train/decode");
    TCase *tcase = test_case_within(suite, "decode", 60);

    tcase_add_checked_fixture(tcase, set_up, tear_down);
    tcase_add_loop_test(tcase, jpeg_regions_are_cuts, 0, (int)count_of_jpegs());
    tcase_add_loop_test(tcase, orientations_are_applied, 0, 16);
    tcase_add_test(tcase, other_exif_changes_nothing);
    tcase_add_test(tcase, exif_is_read_as_pillow_does);
    tcase_add_loop_test(tcase, orientations_of_png_are_applied, 1, 9);
    tcase_add_test(tcase, chunks_are_looked_for_inside);
    tcase_add_loop_test(tcase, png_regions_are_cuts, 0, (int)count_of_pngs());
    tcase_add_test(tcase, sizes_are_rounded_up);
    tcase_add_test(tcase, warm_decoders_do_not_grow);
    return test_main(suite);
}
