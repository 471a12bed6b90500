/* SPDX-License-Identifier: BSD-3-Clause
 * input/decode_inside.h - what the decoders of files share: where the rows they decode go.
 *
 * A decoder knows nothing of how an image is to be seen. It computes rows of a region of the image
 * as the file stores it and hands them, from the top down, to a sink, which turns and mirrors them
 * on their way into planes.
 */
#ifndef TW_INPUT_DECODE_INSIDE_H
#define TW_INPUT_DECODE_INSIDE_H

#include <stddef.h>
#include <stdint.h>

#include "train/input/decode.h"

enum { TW_SINK_STRIP = 16 }; /* rows that are turned at a time */

typedef struct tw_sink {
    const tw_pixels_t *loops;

    uint8_t    *pixels; /* [channels][rows * columns] */
    size_t      channels;
    tw_region_t stored;  /* what is wanted of the image as the file stores it               */
    size_t      origin;  /* in a plane, of the first pixel of the first stored row          */
    ptrdiff_t   across;  /* in a plane, from a pixel of a stored row to the next            */
    ptrdiff_t   down;    /* in a plane, from a pixel of a stored row to the one below it    */
    uint8_t    *strip;   /* [channels][TW_SINK_STRIP][columns], where rows are not kept so  */
    int         is_grey; /* only the first plane was written                                */
} tw_sink_t;

/** Before the first row, with pixels, channels and stored set.
 * @param strip  a buffer that is kept; seen: the region, of an image with this orientation.
 * @return 0; -1: out of memory. */
int tw_sink_open(tw_sink_t *sink, tw_buffer_t *strip, tw_region_t seen, int orientation);

/* Row i of the region, interleaved or grey: stored.w pixels. */
void tw_sink_rgb(tw_sink_t *sink, size_t i, const uint8_t *rgb);
void tw_sink_grey(tw_sink_t *sink, size_t i, const uint8_t *grey);

/** Orientation of an APP1 segment, and of the TIFF file that is in it or in a PNG's chunk eXIf.
 * @return 1 to 8; 0: it names none. */
int tw_exif_orientation(const uint8_t *bytes, size_t n);
int tw_tiff_orientation(const uint8_t *bytes, size_t n);

/* Are stored rows seen as columns? And what of the stored image is a region of the image as it is
 * seen, whose height and width are h and w? */
int         tw_orientation_turns(int orientation);
tw_region_t tw_orientation_region(tw_region_t seen, size_t h, size_t w, int orientation);

/** Height, width and orientation as the file stores them.
 * @return 0; -1 with the problem set. */
int tw_jpeg_header(const uint8_t *bytes, size_t n, tw_file_facts_t *stored, tw_problem_t *problem);
int tw_png_header(const uint8_t *bytes, size_t n, tw_file_facts_t *stored, tw_problem_t *problem);

/** Hand the rows of sink->stored to the sink.
 * @param rows    a buffer that is kept.
 * @param stored  of the header. */
int tw_jpeg_rows(tw_buffer_t *rows, const uint8_t *bytes, size_t n, const tw_file_facts_t *stored,
                 int eighths, tw_sink_t *sink, tw_problem_t *problem);
int tw_png_rows(tw_buffer_t *rows, const uint8_t *bytes, size_t n, const tw_file_facts_t *stored,
                tw_sink_t *sink, tw_problem_t *problem);

/** Is it a PNG file, by its first bytes? */
int tw_png_is(const uint8_t *bytes, size_t n);

#endif /* TW_INPUT_DECODE_INSIDE_H */
