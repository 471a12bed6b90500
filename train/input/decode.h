/* SPDX-License-Identifier: BSD-3-Clause
 * input/decode.h - JPEG and PNG files to planes of 8-bit pixels (input/jpeg.c, input/png.c).
 *
 * What a file decodes to is defined by libjpeg's and libpng's ordinary path for the whole image;
 * here only the part that is asked for is computed, with the same values.
 *   - JPEG: baseline and progressive, grey, YCbCr, RGB, CMYK and YCCK (Adobe's are inverted:
 *     red = C K / 255 rounded to nearest, and so on, of the values as the file stores them), any
 *     sampling; ISLOW DCT, fancy upsampling.
 *   - PNG: 1 to 16 bits, grey, palette, RGB, interlaced or not; 16 bits keep the upper byte; alpha
 *     is dropped, as the colours stand in the file.
 *   - EXIF orientations 1 to 8, of a JPEG's first segment that names one or of a PNG's chunk eXIf,
 *     are applied, whatever type of whole number they have, as Pillow's ImageOps.exif_transpose()
 *     does; XMP is not looked at.
 *   - 1 channel is asked of a colour image: Y of the JPEG, (19595 R + 38470 G + 7471 B + 32768) >>
 *     16 of RGB pixels; 3 of a grey one: three equal planes.
 * No file makes it crash, hang or take more memory than `most` allows.
 */
#ifndef TW_INPUT_DECODE_H
#define TW_INPUT_DECODE_H

#include <stddef.h>
#include <stdint.h>

#include "command/problem.h"
#include "train/input/buffer.h"
#include "train/input/image.h"
#include "train/input/pixels.h"

typedef struct tw_decoder tw_decoder_t; /* one per thread: libjpeg's objects, row buffers */

/** @param pixels  loops that it uses; lives longer. @return NULL without memory. */
tw_decoder_t *tw_decoder_create(const tw_pixels_t *pixels);
void          tw_decoder_destroy(tw_decoder_t *decoder); /* NULL is allowed */

/** How often its own memory grew. */
uint64_t tw_decoder_grown(const tw_decoder_t *decoder);

/* What a file holds, from its header. */
typedef struct tw_file_facts {
    size_t h, w;        /* as it is seen: after the EXIF orientation                     */
    int    orientation; /* 1 to 8                                                        */
    int    jpeg;
} tw_file_facts_t;

/** Read the header.
 * @param most  pixels, h * w, that are accepted.
 * @return 0, or -1 with the problem set: what is wrong, without the file's name. */
int tw_decode_facts(tw_decoder_t *decoder, const uint8_t *bytes, size_t n, uint64_t most,
                    tw_file_facts_t *facts, tw_problem_t *problem);

/** Change facts to those of the image as the file stores it, its orientation left alone. */
void tw_decode_as_stored(tw_file_facts_t *facts);

/** Height and width of an image decoded at scale eighths/8 of its size, 1, 2, 4 or 8 (PNG: 8 only):
 * ceil(size * eighths / 8). */
size_t tw_decode_scaled(size_t size, int eighths);

/** Decode a part of a file.
 * @param facts     of tw_decode_facts() for the same bytes.
 * @param channels  1 or 3.
 * @param eighths   scale of a JPEG: 1, 2, 4 or 8; PNG: 8.
 * @param region    of the scaled image as it is seen, inside it, not empty.
 * @param buffer    grows as needed, and holds the pixels: exactly those of the region, in planes
 *                  without gaps between rows: [channels][region.h][region.w].
 * @return 0; -1 with the problem set: broken, as in a file that ends too early. Warnings of libjpeg
 *         about damaged data are errors;
 *         of bytes between the parts of a file there are some in good photographs. */
int tw_decode_region(tw_decoder_t *decoder, const uint8_t *bytes, size_t n,
                     const tw_file_facts_t *facts, size_t channels, int eighths, tw_region_t region,
                     tw_buffer_t *buffer, tw_problem_t *problem);

#endif /* TW_INPUT_DECODE_H */
