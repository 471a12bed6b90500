/* SPDX-License-Identifier: BSD-3-Clause
 * train/sheet.c - see sheet.h.
 */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <png.h>

#include "command/file.h"
#include "train/sheet.h"

enum { ACROSS = 8, GAP = 2, DIGIT_H = 5, DIGIT_W = 3, PAPER = 255, INK = 0 };

/* Rows of three pixels from the top down, the left one is bit 2. */
static const uint8_t digit_rows[10][DIGIT_H] = {
    {7, 5, 5, 5, 7}, {2, 6, 2, 2, 7}, {7, 1, 7, 4, 7}, {7, 1, 7, 1, 7}, {5, 5, 7, 1, 1},
    {7, 4, 7, 1, 7}, {7, 4, 7, 5, 7}, {7, 1, 1, 2, 2}, {7, 5, 7, 5, 7}, {7, 5, 7, 1, 7}};

typedef struct tw_sheet {
    size_t   h, w;
    uint8_t *rgb; /* [h][w][3] */
} tw_sheet_t;

static void dot(const tw_sheet_t *sheet, size_t y, size_t x, int plane, uint8_t value)
{
    if (y < sheet->h && x < sheet->w) {
        sheet->rgb[(y * sheet->w + x) * 3 + (size_t)plane] = value;
    }
}

static void draw_digit(const tw_sheet_t *sheet, size_t y, size_t x, int digit)
{
    for (size_t r = 0; r < DIGIT_H; r++) {
        for (size_t c = 0; c < DIGIT_W; c++) {
            for (int plane = 0; plane < 3 && (digit_rows[digit][r] >> (2 - c) & 1); plane++) {
                dot(sheet, y + r, x + c, plane, INK);
            }
        }
    }
}

static void draw_number(const tw_sheet_t *sheet, size_t y, size_t x, uint32_t number)
{
    char text[16];

    snprintf(text, sizeof(text), "%u", (unsigned)number);
    for (size_t i = 0; text[i] != '\0'; i++) {
        draw_digit(sheet, y, x + i * (DIGIT_W + 1), text[i] - '0');
    }
}

static void draw_image(const tw_sheet_t *sheet, size_t top, size_t left, const float *image,
                       tw_shape_t shape, float least, float scale)
{
    const size_t plane = shape.h * shape.w;

    for (size_t y = 0; y < shape.h; y++) {
        for (size_t x = 0; x < shape.w; x++) {
            for (int c = 0; c < 3; c++) {
                const float value = image[(shape.c == 3 ? (size_t)c * plane : 0) + y * shape.w + x];

                dot(sheet, top + y, left + x, c, (uint8_t)((value - least) * scale + 0.5f));
            }
        }
    }
}

static int write_png(const tw_sheet_t *sheet, const char *path, tw_problem_t *problem)
{
    png_image png = {.version = PNG_IMAGE_VERSION,
                     .width   = (png_uint_32)sheet->w,
                     .height  = (png_uint_32)sheet->h,
                     .format  = PNG_FORMAT_RGB};
    tw_file_t file;

    if (tw_file_begin(&file, "--show-images", path, problem) != 0) {
        return -1;
    }
    if (!png_image_write_to_stdio(&png, file.stream, 0, sheet->rgb, 0, NULL)) {
        tw_file_drop(&file);
        return tw_problem_set(problem, "--show-images %s: %s", path, png.message);
    }
    return tw_file_end(&file, "--show-images", problem);
}

int tw_sheet_write(const char *path, const float *images, const uint32_t *labels, size_t n,
                   tw_shape_t shape, tw_problem_t *problem)
{
    const size_t size = tw_shape_size(shape), high = shape.h + DIGIT_H + 2 * GAP,
                 wide   = (shape.w > 5 * (DIGIT_W + 1) ? shape.w : 5 * (DIGIT_W + 1)) + GAP;
    const size_t across = n < ACROSS ? n : ACROSS;
    tw_sheet_t   sheet  = {.h = (n + across - 1) / across * high + GAP, .w = across * wide + GAP};
    float        least = images[0], most = images[0];
    int          status;

    sheet.rgb = malloc(sheet.h * sheet.w * 3);
    if (sheet.rgb == NULL) {
        return tw_problem_set(problem, "out of memory for a sheet of %zu images", n);
    }
    memset(sheet.rgb, PAPER, sheet.h * sheet.w * 3);
    for (size_t i = 0; i < n * size; i++) {
        least = images[i] < least ? images[i] : least;
        most  = images[i] > most ? images[i] : most;
    }
    for (size_t i = 0; i < n; i++) {
        const size_t top = GAP + i / across * high, left = GAP + i % across * wide;

        draw_image(&sheet, top, left, images + i * size, shape, least,
                   most > least ? 255.0f / (most - least) : 0.0f);
        draw_number(&sheet, top + shape.h + 1, left, labels[i]);
    }
    status = write_png(&sheet, path, problem);
    free(sheet.rgb);
    return status;
}
