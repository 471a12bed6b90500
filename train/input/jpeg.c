/* SPDX-License-Identifier: BSD-3-Clause
 * input/jpeg.c - rows of JPEG files by libjpeg-turbo.
 *
 * Only what a region needs is computed: rows above it are entropy-decoded and no more, rows below
 * it not at all, and of the columns only those blocks that the region touches. The values stay
 * those of the whole image:
 *   - Columns: fancy upsampling looks at one sample of colour beside a pixel, that is at two
 *     pixels, and treats the borders of what it gets as borders of the image. MARGIN pixels more on
 *     each side keep these out of the region, and what is cropped wide enough (3 samples of colour)
 *     that the same way of upsampling is chosen.
 *   - Rows: jpeg_skip_scanlines() itself reads the rows that upsampling looks at.
 *   - Progressive files whose coefficients are not all complete are smoothed over the borders of
 *     blocks; of these the whole image is decoded.
 *
 * A warning about damaged data, which libjpeg would patch, ends the decoding at once. Bytes of any
 * kind take limited memory, as progressive files need no more than all coefficients, and limited
 * time, as the number of scans is limited. Arithmetic coding is refused: many a libjpeg does not
 * have it, and it takes the end of a file for endless data.
 */
#include "config.h"

#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>

#include <jpeglib.h>
#include <jerror.h>

#include "train/input/decode_inside.h"

#if JPEG_LIB_VERSION >= 70
#define SCALED_SIZE     DCT_h_scaled_size
#define MIN_SCALED_SIZE min_DCT_h_scaled_size
#else
#define SCALED_SIZE     DCT_scaled_size
#define MIN_SCALED_SIZE min_DCT_scaled_size
#endif

enum {
    MARGIN     = 4,   /* pixels                                                      */
    ROWS       = 4,   /* libjpeg gives up to so many at a time                       */
    UNALIGNED  = 1,   /* see take_rows()                                             */
    SCANS_MOST = 100, /* of a progressive file; usual are 10                         */
    PIXEL_MOST = 16,  /* bytes that a pixel may take: 4 coefficients of 2, and again */
    BASIS_MOST = 64 << 20
};

/* What is to be done with a file, and libjpeg's state meanwhile. */
typedef struct tw_jpeg_job {
    const uint8_t                *bytes;
    size_t                        n;
    tw_file_facts_t              *header; /* is written; or these are used: */
    const tw_file_facts_t        *stored;
    int                           eighths;
    tw_sink_t                    *sink;
    tw_buffer_t                  *rows; /* [ROWS][output_width * output_components] */
    tw_problem_t                 *problem;
    struct jpeg_decompress_struct info;
    struct jpeg_error_mgr         errors;
    struct jpeg_progress_mgr      progress;
    jmp_buf                       back;                  /* where an error of libjpeg leads to */
    char                          what[JMSG_LENGTH_MAX]; /* it was                             */
    int                           damaged;               /* a warning                          */
    int                           orientation;           /* 0: none named                      */
} tw_jpeg_job_t;

/* ---- libjpeg's callbacks ------------------------------------------------------------------- */

static void on_error(j_common_ptr info)
{
    tw_jpeg_job_t *job = info->client_data;

    info->err->format_message(info, job->what);
    longjmp(job->back, 1);
}

/* Warnings that say nothing about the pixels: photographs that every viewer shows have them. */
static int is_harmless(int code)
{
    return code == JWRN_EXTRANEOUS_DATA || code == JWRN_ADOBE_XFORM || code == JWRN_JFIF_MAJOR;
}

static void on_message(j_common_ptr info, int level)
{
    tw_jpeg_job_t *job = info->client_data;

    if (level < 0 && !is_harmless(info->err->msg_code)) {
        job->damaged = 1;
        on_error(info);
    }
}

static void no_output(j_common_ptr info)
{
    (void)info;
}

static void on_progress(j_common_ptr info)
{
    tw_jpeg_job_t *job = info->client_data;

    if (job->info.input_scan_number > SCANS_MOST) {
        snprintf(job->what, sizeof(job->what), "more than %d scans", SCANS_MOST);
        longjmp(job->back, 1);
    }
}

/* An APP1 segment; libjpeg would only skip it. All bytes of the file are in libjpeg's hands. */
static boolean on_app1(j_decompress_ptr info)
{
    tw_jpeg_job_t          *job    = info->client_data;
    struct jpeg_source_mgr *source = info->src;
    const JOCTET           *bytes  = source->next_input_byte;
    size_t                  length = 0;

    if (source->bytes_in_buffer >= 2) {
        length = (size_t)bytes[0] << 8 | bytes[1];
        if (length < 2) {
            ERREXIT(info, JERR_BAD_LENGTH);
        }
    }
    if (length == 0 || length > source->bytes_in_buffer) {
        ERREXIT(info, JERR_INPUT_EOF);
    }
    if (job->orientation == 0) {
        job->orientation = tw_exif_orientation(bytes + 2, length - 2);
    }
    source->next_input_byte += length;
    source->bytes_in_buffer -= length;
    return TRUE;
}

/* ---- one file ------------------------------------------------------------------------------ */

/* Call it where libjpeg may give up, which leads back to here. Every file gets a new object (0.2
 * us): an old one keeps the tables of the last file, which a damaged one without would then use. */
static int guarded(tw_jpeg_job_t *job, int (*call)(tw_jpeg_job_t *))
{
    int status;

    job->info.err              = jpeg_std_error(&job->errors);
    job->info.client_data      = job;
    job->errors.error_exit     = on_error;
    job->errors.emit_message   = on_message;
    job->errors.output_message = no_output;
    if (setjmp(job->back) == 0) {
        jpeg_create_decompress(&job->info);
        job->progress.progress_monitor = on_progress;
        job->info.progress             = &job->progress;
        jpeg_set_marker_processor(&job->info, JPEG_APP0 + 1, on_app1);
        status = call(job);
    } else {
        status = tw_problem_set(job->problem, "JPEG file %s: %s",
                                job->damaged ? "is damaged" : "cannot be decoded", job->what);
    }
    jpeg_destroy_decompress(&job->info);
    return status;
}

/* ---- header -------------------------------------------------------------------------------- */

static int read_header(tw_jpeg_job_t *job)
{
    const struct jpeg_decompress_struct *info = &job->info;

    jpeg_mem_src(&job->info, job->bytes, (unsigned long)job->n);
    jpeg_read_header(&job->info, TRUE);
    if (info->arith_code) {
        return tw_problem_set(job->problem,
                              "JPEG file is arithmetic-coded; accepted are Huffman-coded ones");
    }
    if (info->jpeg_color_space == JCS_UNKNOWN) {
        return tw_problem_set(job->problem, "JPEG file has %d components; accepted are 1, 3 and 4",
                              info->num_components);
    }
    if (job->header != NULL) {
        job->header->h           = info->image_height;
        job->header->w           = info->image_width;
        job->header->orientation = job->orientation != 0 ? job->orientation : 1;
    }
    return 0;
}

int tw_jpeg_header(const uint8_t *bytes, size_t n, tw_file_facts_t *stored, tw_problem_t *problem)
{
    tw_jpeg_job_t job = {.bytes = bytes, .n = n, .header = stored, .problem = problem};

    return guarded(&job, read_header);
}

/* ---- rows ---------------------------------------------------------------------------------- */

static J_COLOR_SPACE wanted_colours(const struct jpeg_decompress_struct *info, size_t channels)
{
    switch (info->jpeg_color_space) {
    case JCS_GRAYSCALE:
        return JCS_GRAYSCALE;
    case JCS_CMYK:
    case JCS_YCCK:
        return JCS_CMYK;
    default:
        return channels == 1 ? JCS_GRAYSCALE : JCS_RGB;
    }
}

/* In place. The values are inverted, as all known writers store them: 255 is no ink. */
static void cmyk_to_rgb(uint8_t *row, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        const unsigned k = row[4 * i + 3];

        for (size_t c = 0; c < 3; c++) {
            row[3 * i + c] = (uint8_t)((row[4 * i + c] * k + 127) / 255);
        }
    }
}

static void take_row(const struct jpeg_decompress_struct *info, tw_sink_t *sink, size_t i,
                     uint8_t *row, size_t left)
{
    row += left * (size_t)info->output_components;
    if (info->out_color_space == JCS_GRAYSCALE) {
        tw_sink_grey(sink, i, row);
        return;
    }
    if (info->out_color_space == JCS_CMYK) {
        cmyk_to_rgb(row, sink->stored.w);
    }
    tw_sink_rgb(sink, i, row);
}

/* Will libjpeg guess coefficients from those of the blocks beside and above? */
static int is_smoothed(const struct jpeg_decompress_struct *info)
{
    if (!info->progressive_mode || info->coef_bits == NULL) {
        return 0;
    }
    for (int c = 0; c < info->num_components; c++) {
        for (int k = 0; k < DCTSIZE2; k++) {
            if (info->coef_bits[c][k] != 0) {
                return 1;
            }
        }
    }
    return 0;
}

/* libjpeg-turbo up to 2.1.5 forgets, when it crops, that colours may be scaled less than
 * brightness, and then upsamples them only in part. It does no harm where nothing is left to be
 * upsampled. */
static int may_crop(const struct jpeg_decompress_struct *info)
{
    for (int c = 0; c < info->num_components; c++) {
        const jpeg_component_info *component = &info->comp_info[c];
        const int                  across    = component->h_samp_factor * component->SCALED_SIZE;
        const int                  down      = component->v_samp_factor * component->SCALED_SIZE;

        if (component->SCALED_SIZE != info->MIN_SCALED_SIZE &&
            (across != info->max_h_samp_factor * info->MIN_SCALED_SIZE ||
             down != info->max_v_samp_factor * info->MIN_SCALED_SIZE)) {
            return 0;
        }
    }
    return 1;
}

/* Leave out columns beside the region. @return the first one that is decoded. */
static size_t crop_columns(struct jpeg_decompress_struct *info, tw_region_t region)
{
    const size_t right = region.left + region.w + MARGIN;
    JDIMENSION   left  = region.left > MARGIN ? (JDIMENSION)region.left - MARGIN : 0;
    JDIMENSION width = (right < info->output_width ? (JDIMENSION)right : info->output_width) - left;

    if (!may_crop(info)) {
        return 0;
    }
    jpeg_crop_scanline(info, &left, &width);
    return left;
}

/* From the first row to be decoded on; those above the region are not taken. libjpeg-turbo writes
 * rows of colours that begin at multiples of 16 or 32 bytes past the cache, and reading them again
 * then takes five times as long; so these begin a byte later. */
static int take_rows(tw_jpeg_job_t *job, size_t left)
{
    struct jpeg_decompress_struct *info   = &job->info;
    tw_sink_t                     *sink   = job->sink;
    const size_t                   bottom = sink->stored.top + sink->stored.h;
    const size_t length = (size_t)info->output_width * (size_t)info->output_components;
    const size_t stride = (length + UNALIGNED + 63) / 64 * 64;
    uint8_t     *bytes  = tw_buffer_need(job->rows, ROWS * stride);
    JSAMPROW     rows[ROWS];

    if (bytes == NULL) {
        return tw_problem_machine(job->problem, "no memory for rows of %zu bytes", length);
    }
    for (size_t k = 0; k < ROWS; k++) {
        rows[k] = bytes + k * stride + UNALIGNED;
    }
    for (size_t y = info->output_scanline; y < bottom; y = info->output_scanline) {
        const size_t     left_over = bottom - y;
        const JDIMENSION n =
            jpeg_read_scanlines(info, rows, (JDIMENSION)(left_over < ROWS ? left_over : ROWS));

        if (n == 0) {
            return tw_problem_set(job->problem, "JPEG file is damaged: no rows");
        }
        for (size_t k = 0; k < n; k++) {
            if (y + k >= sink->stored.top) {
                take_row(info, sink, y + k - sink->stored.top, rows[k], left);
            }
        }
    }
    return 0;
}

static int read_rows(tw_jpeg_job_t *job)
{
    struct jpeg_decompress_struct *info   = &job->info;
    const tw_region_t              region = job->sink->stored;
    size_t                         left   = 0;

    if (read_header(job) != 0) {
        return -1;
    }
    if (info->image_height != job->stored->h || info->image_width != job->stored->w) {
        return tw_problem_set(job->problem, "changed while it was read");
    }
    info->mem->max_memory_to_use =
        BASIS_MOST + (long)PIXEL_MOST * (long)(job->stored->h * job->stored->w);
    info->out_color_space     = wanted_colours(info, job->sink->channels);
    info->scale_num           = (unsigned)job->eighths;
    info->scale_denom         = 8;
    info->dct_method          = JDCT_ISLOW;
    info->do_fancy_upsampling = TRUE;
    jpeg_start_decompress(info);
    if (!is_smoothed(info)) {
        left = crop_columns(info, region);
        jpeg_skip_scanlines(info, (JDIMENSION)region.top);
    }
    if (take_rows(job, region.left - left) != 0) {
        return -1;
    }
    if (info->output_scanline == info->output_height) {
        jpeg_finish_decompress(info); /* does the file end as it should? */
    }
    return 0;
}

int tw_jpeg_rows(tw_buffer_t *rows, const uint8_t *bytes, size_t n, const tw_file_facts_t *stored,
                 int eighths, tw_sink_t *sink, tw_problem_t *problem)
{
    tw_jpeg_job_t job = {.bytes   = bytes,
                         .n       = n,
                         .stored  = stored,
                         .eighths = eighths,
                         .sink    = sink,
                         .rows    = rows,
                         .problem = problem};

    return guarded(&job, read_rows);
}
