/* SPDX-License-Identifier: BSD-3-Clause
 * tests/train/decode_pngs.c - see decode_files.h.
 */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include <png.h>
#include <zlib.h>

#include "tests/train/decode_files.h"

const made_png_t made_pngs[] = {{"grey 1", PNG_COLOR_TYPE_GRAY, 1, 0, 0},
                                {"grey 2", PNG_COLOR_TYPE_GRAY, 2, 0, 0},
                                {"grey 4, interlaced", PNG_COLOR_TYPE_GRAY, 4, 1, 0},
                                {"grey 8", PNG_COLOR_TYPE_GRAY, 8, 0, 0},
                                {"grey 8, one value transparent", PNG_COLOR_TYPE_GRAY, 8, 0, 1},
                                {"grey 16, interlaced", PNG_COLOR_TYPE_GRAY, 16, 1, 0},
                                {"grey 8 and alpha", PNG_COLOR_TYPE_GRAY_ALPHA, 8, 0, 0},
                                {"grey 16 and alpha", PNG_COLOR_TYPE_GRAY_ALPHA, 16, 0, 0},
                                {"palette 1", PNG_COLOR_TYPE_PALETTE, 1, 0, 0},
                                {"palette 2, interlaced", PNG_COLOR_TYPE_PALETTE, 2, 1, 1},
                                {"palette 4", PNG_COLOR_TYPE_PALETTE, 4, 0, 0},
                                {"palette 8", PNG_COLOR_TYPE_PALETTE, 8, 0, 1},
                                {"RGB 8", PNG_COLOR_TYPE_RGB, 8, 0, 0},
                                {"RGB 8, interlaced", PNG_COLOR_TYPE_RGB, 8, 1, 0},
                                {"RGB 16, one value transparent", PNG_COLOR_TYPE_RGB, 16, 0, 1},
                                {"RGBA 8", PNG_COLOR_TYPE_RGB_ALPHA, 8, 0, 0},
                                {"RGBA 8, interlaced", PNG_COLOR_TYPE_RGB_ALPHA, 8, 1, 0},
                                {"RGBA 16", PNG_COLOR_TYPE_RGB_ALPHA, 16, 0, 0},
                                {0}};

typedef struct bytes {
    uint8_t *to;
    size_t   n, room;
} bytes_t;

static void write_bytes(png_structp png, png_bytep from, size_t n)
{
    bytes_t *bytes = png_get_io_ptr(png);

    made_need(n <= bytes->room - bytes->n, "a PNG file larger than its room");
    memcpy(bytes->to + bytes->n, from, n);
    bytes->n += n;
}

static void no_flush(png_structp png)
{
    (void)png;
}

/* The samples of a row by the number of bits, and what each pixel is worth. */
static void draw_pixels(const made_png_t *kind, const png_color *palette, size_t y, plain_t *rgb,
                        plain_t *grey, uint8_t *row, uint32_t *state)
{
    const size_t samples = kind->type == PNG_COLOR_TYPE_RGB          ? 3
                           : kind->type == PNG_COLOR_TYPE_RGB_ALPHA  ? 4
                           : kind->type == PNG_COLOR_TYPE_GRAY_ALPHA ? 2
                                                                     : 1;
    const size_t bits = (size_t)kind->bits, plane = rgb->h * rgb->w;

    memset(row, 0, rgb->w * 8);
    for (size_t x = 0; x < rgb->w; x++) {
        unsigned value[4] = {0};
        size_t   at       = y * rgb->w + x;

        for (size_t s = 0; s < samples; s++) {
            const unsigned sample = made_next(state) & ((1u << bits) - 1);
            const size_t   bit    = (x * samples + s) * bits;

            if (bits == 16) {
                row[bit / 8]     = (uint8_t)(sample >> 8);
                row[bit / 8 + 1] = (uint8_t)sample;
                value[s]         = sample >> 8;
            } else {
                row[bit / 8] |= (uint8_t)(sample << (8 - bits - bit % 8));
                value[s] = sample * 255 / ((1u << bits) - 1);
            }
            if (kind->type == PNG_COLOR_TYPE_PALETTE) {
                value[0] = palette[sample].red;
                value[1] = palette[sample].green;
                value[2] = palette[sample].blue;
            }
        }
        if (samples < 3 && kind->type != PNG_COLOR_TYPE_PALETTE) {
            value[1] = value[2] = value[0];
        }
        for (size_t c = 0; c < 3; c++) {
            rgb->pixels[c * plane + at] = (uint8_t)value[c];
        }
        grey->pixels[at] =
            samples < 3 && kind->type != PNG_COLOR_TYPE_PALETTE
                ? (uint8_t)value[0]
                : (uint8_t)((19595 * value[0] + 38470 * value[1] + 7471 * value[2] + 32768) >> 16);
    }
}

static void write_header(png_structp png, png_infop info, const made_png_t *kind, size_t h,
                         size_t w, png_color *palette, uint32_t *state)
{
    const int    colours       = 1 << (kind->bits < 8 ? kind->bits : 8);
    png_byte     alphas[2]     = {0, 100};
    png_color_16 a_transparent = {.red = 1, .green = 2, .blue = 3, .gray = 1};

    png_set_IHDR(png, info, (png_uint_32)w, (png_uint_32)h, kind->bits, kind->type,
                 kind->interlaced ? PNG_INTERLACE_ADAM7 : PNG_INTERLACE_NONE,
                 PNG_COMPRESSION_TYPE_DEFAULT, PNG_FILTER_TYPE_DEFAULT);
    for (int i = 0; i < colours; i++) {
        palette[i].red   = (png_byte)made_next(state);
        palette[i].green = (png_byte)made_next(state);
        palette[i].blue  = (png_byte)made_next(state);
    }
    if (kind->type == PNG_COLOR_TYPE_PALETTE) {
        png_set_PLTE(png, info, palette, colours);
    }
    if (kind->transparent) {
        png_set_tRNS(png, info, alphas, 2, &a_transparent);
    }
    png_set_gAMA(png, info, 0.7); /* changes nothing */
    png_write_info(png, info);
}

size_t made_png(const made_png_t *kind, size_t h, size_t w, uint8_t *to, size_t room, plain_t *rgb,
                plain_t *grey)
{
    bytes_t     bytes = {to, 0, room};
    png_structp png   = png_create_write_struct(PNG_LIBPNG_VER_STRING, NULL, NULL, NULL);
    png_infop   info  = png_create_info_struct(png);
    uint32_t    state = (uint32_t)(h * 70001 + w);
    png_color   palette[256];
    uint8_t    *pixels = malloc(h * w * 8);
    uint8_t   **rows   = malloc(h * sizeof(*rows));

    made_need(info != NULL && pixels != NULL && rows != NULL, "no memory");
    *rgb  = plain_of(3, h, w);
    *grey = plain_of(1, h, w);
    png_set_write_fn(png, &bytes, write_bytes, no_flush);
    write_header(png, info, kind, h, w, palette, &state);
    for (size_t y = 0; y < h; y++) {
        rows[y] = pixels + y * w * 8;
        draw_pixels(kind, palette, y, rgb, grey, rows[y], &state);
    }
    png_write_image(png, rows);
    png_write_end(png, info);
    png_destroy_write_struct(&png, &info);
    free(rows);
    free(pixels);
    return bytes.n;
}

size_t made_png_chunk(uint8_t *file, size_t n, int late, const char *name, const uint8_t *bytes,
                      size_t length)
{
    uint8_t *at = file + (late ? n - 12 : 33);

    memmove(at + length + 12, at, n - (size_t)(at - file));
    memcpy(at,
           (uint8_t[4]){(uint8_t)(length >> 24), (uint8_t)(length >> 16), (uint8_t)(length >> 8),
                        (uint8_t)length},
           4);
    memcpy(at + 4, name, 4);
    memcpy(at + 8, bytes, length);
    made_png_mend(file, n + length + 12);
    return n + length + 12;
}

void made_png_mend(uint8_t *file, size_t n)
{
    for (size_t at = 8; n >= 12 && at <= n - 12;) {
        const size_t length = (size_t)file[at] << 24 | (size_t)file[at + 1] << 16 |
                              (size_t)file[at + 2] << 8 | file[at + 3];
        uLong sum;

        if (length > n - at - 12) {
            return;
        }
        sum = crc32(0, file + at + 4, (uInt)length + 4);
        for (size_t k = 0; k < 4; k++) {
            file[at + 8 + length + k] = (uint8_t)(sum >> (24 - 8 * k));
        }
        at += length + 12;
    }
}
