/* SPDX-License-Identifier: BSD-3-Clause
 * train/pack/pack_jpeg.c - planes of pixels to a JPEG file: baseline, 4:2:0, optimised Huffman
 * tables.
 */
#include "config.h"

#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>

#include <jpeglib.h>

#include "train/pack/pack_inside.h"

typedef struct tw_encoder {
    struct jpeg_compress_struct info;
    struct jpeg_error_mgr       errors;
    struct jpeg_destination_mgr to;
    tw_pack_slot_t             *slot; /* whose memory grows */
    jmp_buf                     back;
    char                        what[JMSG_LENGTH_MAX];
} tw_encoder_t;

enum { ROOM = 1 << 16 };

static void on_error(j_common_ptr info)
{
    tw_encoder_t *encoder = info->client_data;

    info->err->format_message(info, encoder->what);
    longjmp(encoder->back, 1);
}

static void on_message(j_common_ptr info, int level)
{
    (void)info;
    (void)level;
}

/* Twice the memory, the new half of which is to be written. libjpeg's own destination would lose
 * track of it in an error. */
static boolean grow(j_compress_ptr info)
{
    tw_encoder_t   *encoder = info->client_data;
    tw_pack_slot_t *slot    = encoder->slot;
    unsigned char  *more    = realloc(slot->jpeg, 2 * slot->jpeg_room);

    if (more == NULL) {
        snprintf(encoder->what, sizeof(encoder->what), "out of memory");
        longjmp(encoder->back, 1);
    }
    encoder->to.next_output_byte = more + slot->jpeg_room;
    encoder->to.free_in_buffer   = slot->jpeg_room;
    slot->jpeg                   = more;
    slot->jpeg_room *= 2;
    return TRUE;
}

static void no_step(j_compress_ptr info)
{
    (void)info;
}

/* Memory of an earlier image serves again. */
static int pack_jpeg_begin(tw_encoder_t *encoder, tw_pack_slot_t *slot)
{
    if (slot->jpeg == NULL) {
        slot->jpeg = malloc(ROOM);
        if (slot->jpeg == NULL) {
            return -1;
        }
        slot->jpeg_room = ROOM;
    }
    encoder->slot                   = slot;
    encoder->info.err               = jpeg_std_error(&encoder->errors);
    encoder->info.client_data       = encoder;
    encoder->errors.error_exit      = on_error;
    encoder->errors.emit_message    = on_message;
    encoder->to.next_output_byte    = slot->jpeg;
    encoder->to.free_in_buffer      = slot->jpeg_room;
    encoder->to.init_destination    = no_step;
    encoder->to.empty_output_buffer = grow;
    encoder->to.term_destination    = no_step;
    return 0;
}

static void interleave(const uint8_t *row, size_t plane, size_t channels, size_t w, uint8_t *to)
{
    for (size_t x = 0; x < w; x++) {
        for (size_t c = 0; c < channels; c++) {
            to[x * channels + c] = row[c * plane + x];
        }
    }
}

/* All that libjpeg may jump out of. */
static void encode(tw_encoder_t *encoder, const uint8_t *planes, tw_shape_t shape, unsigned quality,
                   uint8_t *row)
{
    struct jpeg_compress_struct *info = &encoder->info;

    jpeg_create_compress(info);
    info->dest             = &encoder->to;
    info->image_width      = (JDIMENSION)shape.w;
    info->image_height     = (JDIMENSION)shape.h;
    info->input_components = (int)shape.c;
    info->in_color_space   = shape.c == 1 ? JCS_GRAYSCALE : JCS_RGB;
    jpeg_set_defaults(info); /* 4:2:0 */
    jpeg_set_quality(info, (int)quality, TRUE);
    info->optimize_coding = TRUE;
    jpeg_start_compress(info, TRUE);
    for (size_t y = 0; y < shape.h; y++) {
        JSAMPROW rows[1] = {row};

        interleave(planes + y * shape.w, shape.h * shape.w, shape.c, shape.w, row);
        jpeg_write_scanlines(info, rows, 1);
    }
    jpeg_finish_compress(info);
}

int tw_pack_jpeg(tw_pack_slot_t *slot, const uint8_t *planes, tw_shape_t shape, unsigned quality,
                 tw_problem_t *problem)
{
    tw_encoder_t *encoder = calloc(1, sizeof(*encoder));
    uint8_t      *row     = malloc(shape.c * shape.w + 1);
    volatile int  status  = -1;

    if (encoder == NULL || row == NULL || pack_jpeg_begin(encoder, slot) != 0) {
        tw_problem_set(problem, "out of memory");
    } else if (shape.c != 1 && shape.c != 3) {
        tw_problem_set(problem, "it has %zu planes, a JPEG 1 or 3", shape.c);
    } else {
        if (setjmp(encoder->back) == 0) {
            encode(encoder, planes, shape, quality, row);
            slot->record = (tw_image_record_t){
                .file = 1, .bytes = slot->jpeg, .n = slot->jpeg_room - encoder->to.free_in_buffer};
            status = 0;
        } else {
            tw_problem_set(problem, "as a JPEG: %s", encoder->what);
        }
        jpeg_destroy_compress(&encoder->info);
    }
    free(encoder);
    free(row);
    return status;
}
