/* SPDX-License-Identifier: BSD-3-Clause
 * input/strokes.h - how the ten digits are written: strokes through a few points.
 */
#ifndef TW_INPUT_STROKES_H
#define TW_INPUT_STROKES_H

#include <stdint.h>

#define TW_STROKE_POINTS 12
#define TW_GLYPH_STROKES 3

/* Points in hundredths of the digit's box, x to the right, y downwards. */
typedef struct tw_stroke {
    uint8_t smooth; /* 1: a spline through the points; 0: straight lines */
    uint8_t points;
    int8_t  at[TW_STROKE_POINTS][2];
} tw_stroke_t;

/* One way of writing a digit. */
typedef struct tw_glyph {
    uint8_t     strokes;
    tw_stroke_t stroke[TW_GLYPH_STROKES];
} tw_glyph_t;

#define TW_GLYPH_VARIANTS 3

extern const tw_glyph_t tw_glyphs[10][TW_GLYPH_VARIANTS];

#endif /* TW_INPUT_STROKES_H */
