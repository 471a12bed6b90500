/* SPDX-License-Identifier: BSD-3-Clause
 * tests/train/decode_files.c - see decode_files.h.
 */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <jpeglib.h>

#include "tests/train/decode_files.h"

const made_jpeg_t made_jpegs[] = {
    {"grey", MADE_GREY, MADE_ONE_SCAN, {{0, 0}}, 0},
    {"grey of factors 2x2", MADE_GREY, MADE_ONE_SCAN, {{2, 2}}, 0},
    {"grey progressive", MADE_GREY, MADE_PROGRESSIVE, {{0, 0}}, 0},
    {"4:4:4", MADE_YCC, MADE_ONE_SCAN, {{1, 1}}, 0},
    {"4:2:2", MADE_YCC, MADE_ONE_SCAN, {{2, 1}}, 0},
    {"4:2:0", MADE_YCC, MADE_ONE_SCAN, {{2, 2}}, 0},
    {"4:2:0 with restarts", MADE_YCC, MADE_ONE_SCAN, {{2, 2}}, 3},
    {"4:4:0", MADE_YCC, MADE_ONE_SCAN, {{1, 2}}, 0},
    {"4:1:1", MADE_YCC, MADE_ONE_SCAN, {{4, 1}}, 0},
    {"4:1:0", MADE_YCC, MADE_ONE_SCAN, {{4, 2}}, 0},
    {"1x4", MADE_YCC, MADE_ONE_SCAN, {{1, 4}}, 0},
    {"2x4", MADE_YCC, MADE_ONE_SCAN, {{2, 4}}, 0},
    {"3x1", MADE_YCC, MADE_ONE_SCAN, {{3, 1}}, 0},
    {"3x2", MADE_YCC, MADE_ONE_SCAN, {{3, 2}}, 0},
    {"4x1 with 2x1", MADE_YCC, MADE_ONE_SCAN, {{4, 1}, {2, 1}, {2, 1}}, 0},
    {"2x2 with 1x2 and 2x1", MADE_YCC, MADE_ONE_SCAN, {{2, 2}, {1, 2}, {2, 1}}, 0},
    {"all of 2x1", MADE_YCC, MADE_ONE_SCAN, {{2, 1}, {2, 1}, {2, 1}}, 0},
    {"colours finer", MADE_YCC, MADE_ONE_SCAN, {{1, 1}, {2, 2}, {2, 2}}, 0},
    {"a scan each, 4:2:0", MADE_YCC, MADE_SCAN_EACH, {{2, 2}}, 0},
    {"a scan each, 4:4:0", MADE_YCC, MADE_SCAN_EACH, {{1, 2}}, 5},
    {"progressive 4:4:4", MADE_YCC, MADE_PROGRESSIVE, {{1, 1}}, 0},
    {"progressive 4:2:2", MADE_YCC, MADE_PROGRESSIVE, {{2, 1}}, 0},
    {"progressive 4:2:0", MADE_YCC, MADE_PROGRESSIVE, {{2, 2}}, 0},
    {"progressive 4:1:1", MADE_YCC, MADE_PROGRESSIVE, {{4, 1}}, 0},
    {"incomplete 4:2:0", MADE_YCC, MADE_INCOMPLETE, {{2, 2}}, 0},
    {"incomplete 4:4:4", MADE_YCC, MADE_INCOMPLETE, {{1, 1}}, 0},
    {"RGB", MADE_RGB, MADE_ONE_SCAN, {{1, 1}}, 0},
    {"RGB 2x2", MADE_RGB, MADE_ONE_SCAN, {{2, 2}}, 0},
    {"CMYK", MADE_CMYK, MADE_ONE_SCAN, {{1, 1}}, 0},
    {"CMYK 2x1", MADE_CMYK, MADE_ONE_SCAN, {{2, 1}, {1, 1}, {1, 1}, {2, 1}}, 0},
    {"YCCK", MADE_YCCK, MADE_ONE_SCAN, {{1, 1}}, 0},
    {"YCCK 4:2:0", MADE_YCCK, MADE_ONE_SCAN, {{2, 2}, {1, 1}, {1, 1}, {2, 2}}, 0},
    {"YCCK progressive", MADE_YCCK, MADE_PROGRESSIVE, {{2, 2}, {1, 1}, {1, 1}, {2, 2}}, 0},
    {0}};

uint32_t made_next(uint32_t *state)
{
    *state = *state * 1664525u + 1013904223u;
    return *state >> 8;
}

void made_need(int condition, const char *what)
{
    if (!condition) {
        printf("# %s\n", what);
        fflush(stdout);
        abort();
    }
}

plain_t plain_of(size_t c, size_t h, size_t w)
{
    plain_t plain = {c, h, w, malloc(c * h * w)};

    made_need(plain.pixels != NULL, "no memory");
    return plain;
}

static const jpeg_scan_info each[] = {
    {1, {0}, 0, 63, 0, 0}, {1, {1}, 0, 63, 0, 0}, {1, {2}, 0, 63, 0, 0}};

/* Of the first component all DC bits but one and some AC coefficients, of the others DC only. */
static const jpeg_scan_info incomplete[] = {
    {3, {0, 1, 2}, 0, 0, 0, 1}, {1, {0}, 1, 3, 0, 2}, {1, {0}, 20, 40, 0, 1}};

static J_COLOR_SPACE colours_of(made_colours_t colours, int in_file)
{
    switch (colours) {
    case MADE_GREY:
        return JCS_GRAYSCALE;
    case MADE_YCC:
        return in_file ? JCS_YCbCr : JCS_RGB;
    case MADE_RGB:
        return JCS_RGB;
    case MADE_CMYK:
        return JCS_CMYK;
    default:
        return in_file ? JCS_YCCK : JCS_CMYK;
    }
}

static void set_up(struct jpeg_compress_struct *info, const made_jpeg_t *kind)
{
    info->in_color_space   = colours_of(kind->colours, 0);
    info->input_components = kind->colours == MADE_GREY ? 1 : kind->colours < MADE_CMYK ? 3 : 4;
    jpeg_set_defaults(info);
    jpeg_set_colorspace(info, colours_of(kind->colours, 1));
    jpeg_set_quality(info, 85, TRUE);
    info->restart_interval = (unsigned)kind->restart;
    for (int c = 0; c < info->num_components; c++) {
        info->comp_info[c].h_samp_factor = kind->factors[c][0] != 0 ? kind->factors[c][0] : 1;
        info->comp_info[c].v_samp_factor = kind->factors[c][1] != 0 ? kind->factors[c][1] : 1;
    }
    switch (kind->scans) {
    case MADE_SCAN_EACH:
        info->scan_info = each;
        info->num_scans = 3;
        break;
    case MADE_INCOMPLETE:
        info->scan_info = incomplete;
        info->num_scans = 3;
        break;
    case MADE_PROGRESSIVE:
        jpeg_simple_progression(info);
        break;
    default:
        break;
    }
}

/* Noise on a slope, with steps: every coefficient counts, and every neighbour. */
static void draw_row(uint8_t *row, size_t n, size_t components, size_t y, uint32_t *state)
{
    for (size_t i = 0; i < n * components; i++) {
        const size_t   x = i / components, c = i % components;
        const uint32_t slope = (uint32_t)(3 * x + (2 + c) * y + (x / 5 + y / 7) % 2 * 60);

        row[i] = (uint8_t)(slope + made_next(state) % 50);
    }
}

size_t made_jpeg(const made_jpeg_t *kind, size_t h, size_t w, const uint8_t *exif, size_t exif_n,
                 uint8_t *to, size_t room)
{
    struct jpeg_compress_struct info;
    struct jpeg_error_mgr       errors;
    unsigned char              *bytes = NULL;
    unsigned long               n     = 0;
    uint32_t                    state = (uint32_t)(h * 70001 + w);
    uint8_t                    *row   = malloc(4 * w);
    JSAMPROW                    rows  = row;

    made_need(row != NULL, "no memory");
    info.err = jpeg_std_error(&errors);
    jpeg_create_compress(&info);
    jpeg_mem_dest(&info, &bytes, &n);
    info.image_height = (JDIMENSION)h;
    info.image_width  = (JDIMENSION)w;
    set_up(&info, kind);
    jpeg_start_compress(&info, TRUE);
    if (exif != NULL) {
        jpeg_write_marker(&info, JPEG_APP0 + 1, exif, (unsigned)exif_n);
    }
    for (size_t y = 0; y < h; y++) {
        draw_row(row, w, (size_t)info.input_components, y, &state);
        jpeg_write_scanlines(&info, &rows, 1);
    }
    jpeg_finish_compress(&info);
    jpeg_destroy_compress(&info);
    made_need(n <= room, "a JPEG file larger than its room");
    memcpy(to, bytes, n);
    free(bytes);
    free(row);
    return n;
}

static uint8_t *put(uint8_t *to, uint32_t value, int n, int little)
{
    for (int i = 0; i < n; i++) {
        to[i] = (uint8_t)(value >> 8 * (little ? i : n - 1 - i));
    }
    return to + n;
}

size_t made_exif(int orientation, int little, uint8_t *to)
{
    uint8_t *at = to;

    memcpy(at, "Exif\0\0", 6);
    memcpy(at + 6, little ? "II" : "MM", 2);
    at = put(at + 8, 42, 2, little);
    at = put(at, 10, 4, little); /* the directory, after two bytes of nothing */
    at = put(at, 0, 2, little);
    at = put(at, 2, 2, little);
    at = put(put(put(put(at, 0x10f, 2, little), 2, 2, little), 3, 4, little), 0, 4, little);
    at = put(put(put(at, 0x112, 2, little), 3, 2, little), 1, 4, little);
    at = put(put(at, (uint32_t)orientation, 2, little), 0, 2, little);
    return (size_t)(put(at, 0, 4, little) - to);
}

/* Values of one stored pixel as they are wanted. */
static void take(const struct jpeg_decompress_struct *info, const uint8_t *pixel, size_t channels,
                 uint8_t *out)
{
    unsigned rgb[3];

    for (size_t c = 0; c < 3; c++) {
        rgb[c]                     = info->out_color_space == JCS_GRAYSCALE ? pixel[0]
                                     : info->out_color_space == JCS_CMYK
                                         ? (unsigned)((double)pixel[c] * (double)pixel[3] / 255.0 + 0.5)
                                         : pixel[c];
        out[channels == 1 ? 0 : c] = (uint8_t)rgb[c];
    }
    if (channels == 1) {
        out[0] = info->out_color_space == JCS_YCbCr || info->out_color_space == JCS_GRAYSCALE
                     ? pixel[0]
                     : (uint8_t)((19595 * rgb[0] + 38470 * rgb[1] + 7471 * rgb[2] + 32768) >> 16);
    }
}

/* Where a stored pixel is seen: row 0 of an image with orientation 6 is seen on the right, column 0
 * on top, and so on. */
static size_t seen_at(size_t y, size_t x, size_t h, size_t w, int orientation)
{
    switch (orientation) {
    case 1:
        return y * w + x;
    case 2:
        return y * w + (w - 1 - x);
    case 3:
        return (h - 1 - y) * w + (w - 1 - x);
    case 4:
        return (h - 1 - y) * w + x;
    case 5:
        return x * h + y;
    case 6:
        return x * h + (h - 1 - y);
    case 7:
        return (w - 1 - x) * h + (h - 1 - y);
    default:
        return (w - 1 - x) * h + y;
    }
}

void plain_turn(plain_t *plain, int orientation)
{
    plain_t turned = plain_of(plain->c, plain->h, plain->w);

    for (size_t c = 0; c < plain->c; c++) {
        for (size_t y = 0; y < plain->h; y++) {
            for (size_t x = 0; x < plain->w; x++) {
                turned.pixels[c * plain->h * plain->w +
                              seen_at(y, x, plain->h, plain->w, orientation)] =
                    plain->pixels[(c * plain->h + y) * plain->w + x];
            }
        }
    }
    if (orientation >= 5) {
        turned.h = plain->w;
        turned.w = plain->h;
    }
    free(plain->pixels);
    *plain = turned;
}

plain_t plain_jpeg(const uint8_t *bytes, size_t n, size_t channels, int eighths, int orientation)
{
    struct jpeg_decompress_struct info;
    struct jpeg_error_mgr         errors;
    plain_t                       plain;
    uint8_t                      *row, pixel[3];

    info.err = jpeg_std_error(&errors);
    jpeg_create_decompress(&info);
    jpeg_mem_src(&info, bytes, (unsigned long)n);
    jpeg_read_header(&info, TRUE);
    info.scale_num       = (unsigned)eighths;
    info.scale_denom     = 8;
    info.out_color_space = info.num_components == 1   ? JCS_GRAYSCALE
                           : info.num_components == 4 ? JCS_CMYK
                           : channels == 1            ? info.jpeg_color_space
                                                      : JCS_RGB;
    jpeg_start_decompress(&info);
    plain = plain_of(channels, info.output_height, info.output_width);
    row   = malloc((size_t)info.output_width * 4);
    made_need(row != NULL, "no memory");
    for (size_t y = 0; y < plain.h; y++) {
        jpeg_read_scanlines(&info, &row, 1);
        for (size_t x = 0; x < plain.w; x++) {
            take(&info, row + x * (size_t)info.output_components, channels, pixel);
            for (size_t c = 0; c < channels; c++) {
                plain.pixels[(c * plain.h + y) * plain.w + x] = pixel[c];
            }
        }
    }
    plain_turn(&plain, orientation);
    jpeg_finish_decompress(&info);
    jpeg_destroy_decompress(&info);
    free(row);
    return plain;
}
