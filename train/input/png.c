/* SPDX-License-Identifier: BSD-3-Clause
 * input/png.c - rows of PNG files by libpng.
 *
 * Rows above the region are decompressed and dropped, those below it are not read; of an interlaced
 * file the rows of the region are kept over its seven passes. Checksums are checked of all chunks
 * that are read; of those chunks only the ones that make the pixels are looked at.
 */
#include "config.h"

#include <setjmp.h>
#include <stdio.h>
#include <string.h>

#include <png.h>

#include "train/input/decode_inside.h"

typedef struct tw_png_job {
    const uint8_t         *bytes; /* what is left of the file */
    size_t                 n;
    const tw_file_facts_t *stored;
    tw_buffer_t           *rows;
    tw_sink_t             *sink;
    char                   what[200]; /* an error was */
} tw_png_job_t;

static const uint8_t signature[8] = {0x89, 'P', 'N', 'G', '\r', '\n', 0x1a, '\n'};

int tw_png_is(const uint8_t *bytes, size_t n)
{
    return n >= sizeof(signature) && memcmp(bytes, signature, sizeof(signature)) == 0;
}

static size_t number(const uint8_t *bytes)
{
    return (size_t)bytes[0] << 24 | (size_t)bytes[1] << 16 | (size_t)bytes[2] << 8 | bytes[3];
}

/* The orientation of the last chunk eXIf, which may stand behind the pixels; 1: there is none. */
static int orientation_of(const uint8_t *bytes, size_t n)
{
    enum { HEAD = 8, CHUNK = 12 }; /* length and name; and check sum */
    int    orientation = 0;
    size_t length;

    for (size_t at = sizeof(signature); n - at >= CHUNK; at += CHUNK + length) {
        length = number(bytes + at);
        if (length > n - at - CHUNK) {
            break;
        }
        if (memcmp(bytes + at + 4, "eXIf", 4) == 0) {
            orientation = tw_tiff_orientation(bytes + at + HEAD, length);
        }
    }
    return orientation != 0 ? orientation : 1;
}

/* The first chunk is always IHDR: its length, its name, width and height. libpng looks at the rest
 * when the pixels are wanted. */
int tw_png_header(const uint8_t *bytes, size_t n, tw_file_facts_t *stored, tw_problem_t *problem)
{
    enum { HEADER = 33, SIZE_MOST = 0x7fffffff };

    if (n < HEADER || memcmp(bytes + 8, "\0\0\0\rIHDR", 8) != 0) {
        return tw_problem_set(problem, "PNG file is damaged: no header");
    }
    stored->w = number(bytes + 16);
    stored->h = number(bytes + 20);
    if (stored->w == 0 || stored->h == 0 || stored->w > SIZE_MOST || stored->h > SIZE_MOST) {
        return tw_problem_set(problem, "PNG file is damaged: %zux%zu pixels", stored->h, stored->w);
    }
    stored->orientation = orientation_of(bytes, n);
    return 0;
}

/* ---- libpng's callbacks -------------------------------------------------------------------- */

static void on_error(png_structp png, png_const_charp what)
{
    tw_png_job_t *job = png_get_error_ptr(png);

    snprintf(job->what, sizeof(job->what), "%s", what);
    png_longjmp(png, 1);
}

static void on_warning(png_structp png, png_const_charp what)
{
    (void)png;
    (void)what;
}

static void read_bytes(png_structp png, png_bytep to, size_t n)
{
    tw_png_job_t *job = png_get_io_ptr(png);

    if (n > job->n) {
        png_error(png, "premature end");
    }
    memcpy(to, job->bytes, n);
    job->bytes += n;
    job->n -= n;
}

/* ---- rows ---------------------------------------------------------------------------------- */

/* Up to the first pixels, which will come as 8 bits of grey or of red, green, blue.
 * @return the number of passes. */
static int png_begin(png_structp png, png_infop info, tw_png_job_t *job)
{
    int passes;

    png_set_read_fn(png, job, read_bytes);
    png_set_crc_action(png, PNG_CRC_ERROR_QUIT, PNG_CRC_ERROR_QUIT);
    png_set_benign_errors(png, 1);
    png_set_keep_unknown_chunks(png, PNG_HANDLE_CHUNK_NEVER, NULL, -1);
    png_set_user_limits(png, (png_uint_32)job->stored->w, (png_uint_32)job->stored->h);
    png_read_info(png, info);
    if (png_get_image_width(png, info) != job->stored->w ||
        png_get_image_height(png, info) != job->stored->h) {
        png_error(png, "changed while it was read");
    }
    png_set_palette_to_rgb(png);
    png_set_expand_gray_1_2_4_to_8(png);
    png_set_strip_16(png);
    png_set_strip_alpha(png);
    passes = png_set_interlace_handling(png);
    png_read_update_info(png, info);
    return passes;
}

/* One pass over the rows; in the last one they are complete and nothing below the region counts. */
static void pass_rows(png_structp png, tw_png_job_t *job, uint8_t *kept, size_t length, int passes,
                      int pixel_bytes, int is_last)
{
    tw_sink_t   *sink = job->sink;
    const size_t top = sink->stored.top, bottom = top + sink->stored.h;

    for (size_t y = 0; y < (is_last ? bottom : job->stored->h); y++) {
        uint8_t *row = kept + (passes == 1 || y < top ? 0 : y - top) * length;

        if (y < top || y >= bottom) {
            png_read_row(png, NULL, NULL);
            continue;
        }
        png_read_row(png, row, NULL);
        row += sink->stored.left * (size_t)pixel_bytes;
        if (is_last && pixel_bytes == 1) {
            tw_sink_grey(sink, y - top, row);
        } else if (is_last) {
            tw_sink_rgb(sink, y - top, row);
        }
    }
}

static void read_rows(png_structp png, png_infop info, tw_png_job_t *job)
{
    const int    passes      = png_begin(png, info, job);
    const int    pixel_bytes = png_get_channels(png, info);
    const size_t length      = png_get_rowbytes(png, info);
    const size_t kept_rows   = passes == 1 ? 1 : job->sink->stored.h;
    uint8_t     *kept        = tw_buffer_need(job->rows, kept_rows * length);

    if (kept == NULL) {
        png_error(png, "no memory");
    }
    if ((pixel_bytes != 1 && pixel_bytes != 3) || png_get_bit_depth(png, info) != 8) {
        png_error(png, "unknown kind of pixels");
    }
    for (int pass = 0; pass < passes; pass++) {
        pass_rows(png, job, kept, length, passes, pixel_bytes, pass == passes - 1);
    }
    if (job->sink->stored.top + job->sink->stored.h == job->stored->h) {
        png_read_end(png, NULL); /* does the file end as it should? */
    }
}

static int guarded(png_structp png, png_infop info, tw_png_job_t *job)
{
    if (setjmp(png_jmpbuf(png)) != 0) {
        return -1;
    }
    read_rows(png, info, job);
    return 0;
}

int tw_png_rows(tw_buffer_t *rows, const uint8_t *bytes, size_t n, const tw_file_facts_t *stored,
                tw_sink_t *sink, tw_problem_t *problem)
{
    tw_png_job_t job    = {.bytes = bytes, .n = n, .stored = stored, .rows = rows, .sink = sink};
    png_structp  png    = png_create_read_struct(PNG_LIBPNG_VER_STRING, &job, on_error, on_warning);
    png_infop    info   = png != NULL ? png_create_info_struct(png) : NULL;
    const int    status = info != NULL ? guarded(png, info, &job) : -1;

    png_destroy_read_struct(&png, &info, NULL);
    if (status != 0) {
        return tw_problem_set(problem, "PNG file cannot be decoded: %s",
                              job.what[0] != '\0' ? job.what : "no memory");
    }
    return 0;
}
