/* SPDX-License-Identifier: BSD-3-Clause
 * tests/train/decode_files.h - JPEG and PNG files of all kinds, made in memory, and what they hold
 * by the plainest way there is.
 */
#ifndef TW_TESTS_TRAIN_DECODE_FILES_H
#define TW_TESTS_TRAIN_DECODE_FILES_H

#include <stddef.h>
#include <stdint.h>

typedef enum made_colours { MADE_GREY, MADE_YCC, MADE_RGB, MADE_CMYK, MADE_YCCK } made_colours_t;

typedef enum made_scans {
    MADE_ONE_SCAN,
    MADE_SCAN_EACH, /* of a component          */
    MADE_PROGRESSIVE,
    MADE_INCOMPLETE /* progressive, and ends before all bits have come: libjpeg smooths */
} made_scans_t;

typedef struct made_jpeg {
    const char    *name;
    made_colours_t colours;
    made_scans_t   scans;
    int            factors[4][2]; /* of sampling, across and down; zeros: 1 1 */
    int            restart;       /* MCUs between markers                     */
} made_jpeg_t;

extern const made_jpeg_t made_jpegs[]; /* the one without name is the end */

typedef struct made_png {
    const char *name;
    int         type, bits; /* as in the header */
    int         interlaced, transparent;
} made_png_t;

extern const made_png_t made_pngs[];

/* Pixels in planes, from malloc. */
typedef struct plain {
    size_t   c, h, w;
    uint8_t *pixels;
} plain_t;

/* Pixels are drawn the same in every run. */
uint32_t made_next(uint32_t *state);

/* End the process if not. */
void made_need(int condition, const char *what);

plain_t plain_of(size_t c, size_t h, size_t w);

/** Write a file of random pixels.
 * @param exif  bytes of an APP1 segment, or NULL.
 * @return its length. */
size_t made_jpeg(const made_jpeg_t *kind, size_t h, size_t w, const uint8_t *exif, size_t exif_n,
                 uint8_t *to, size_t room);

/** Put a chunk into a PNG file of n bytes, behind its header or, late, in front of its end.
 * @return its new length. */
size_t made_png_chunk(uint8_t *file, size_t n, int late, const char *name, const uint8_t *bytes,
                      size_t length);

/* Give all chunks of a PNG file the check sums that they should have. */
void made_png_mend(uint8_t *file, size_t n);

/* An APP1 segment with the orientation. @return its length, at most 64. */
size_t made_exif(int orientation, int little, uint8_t *to);

/* The same for PNG; the pixels as three planes, or as one: all drawn from the samples. */
size_t made_png(const made_png_t *kind, size_t h, size_t w, uint8_t *to, size_t room, plain_t *rgb,
                plain_t *grey);

/* An image as an orientation wants it to be seen. */
void plain_turn(plain_t *plain, int orientation);

/* What libjpeg decodes to, the whole image, turned as the orientation wants it. */
plain_t plain_jpeg(const uint8_t *bytes, size_t n, size_t channels, int eighths, int orientation);

#endif /* TW_TESTS_TRAIN_DECODE_FILES_H */
