/* SPDX-License-Identifier: BSD-3-Clause
 * input/digits.c - an embedded data set: digits written with strokes.
 *
 * Each image is a function of (seed, stream, index) alone. A digit, one of its ways of writing,
 * points moved a little, one affine map (turn, slant, two sizes, place), a pen of some width and
 * darkness, then noise. Only additions, multiplications, divisions and square roots, which IEEE 754
 * rounds correctly and which are not contracted: the same images on every machine.
 */
#include "config.h"

#include <math.h>
#include <string.h>

#include "train/input/readers.h"
#include "train/input/strokes.h"
#include "train/base/random.h"

enum { SIDE = 28, PIECES = 5 };

/* How much the images differ. Mostly in place, which a linear classifier cannot follow: the best
 * one found (the best of 100 epochs, by the test images themselves, three seeds) is right on 90.3 %
 * of them; the network on 98.3 to 99.2 % after 4 epochs, five seeds. */
static const float digits_jitter = 0.03f; /* of a point, of the box                    */
static const float digits_turn   = 0.05f; /* tangent of half the angle: 5.7 degrees    */
static const float digits_slant  = 0.10f;
static const float digits_small = 18.0f, digits_large = 22.0f; /* height in pixels      */
static const float digits_narrow = 0.6f, digits_wide = 0.9f;   /* width / height        */
static const float digits_shift = 3.4f;                        /* pixels                */
static const float digits_thin = 0.8f, digits_thick = 1.5f;    /* half width of the pen */
static const float digits_noise = 0.08f;                       /* of full darkness      */

/* Numbers in [0, 1) one after another from one key. */
typedef struct tw_draw {
    uint64_t key, next;
} tw_draw_t;

static float draw(tw_draw_t *d, float low, float high)
{
    return low + (high - low) * tw_random_uniform(d->key, d->next++);
}

static float clamp(float value, float low, float high)
{
    return value < low ? low : value > high ? high : value;
}

typedef struct tw_point {
    float x, y;
} tw_point_t;

typedef struct tw_affine {
    float xx, xy, yx, yy, x, y;
} tw_affine_t;

static tw_affine_t draw_affine(tw_draw_t *d)
{
    const float t = draw(d, -digits_turn, digits_turn);
    const float c = (1.0f - t * t) / (1.0f + t * t), s = 2.0f * t / (1.0f + t * t);
    const float slant = draw(d, -digits_slant, digits_slant);
    const float tall  = draw(d, digits_small, digits_large);
    const float wide  = tall * draw(d, digits_narrow, digits_wide);
    tw_affine_t a;

    /* Slant and size first, then the turn. */
    a.xx = c * wide;
    a.xy = (c * slant - s) * tall;
    a.yx = s * wide;
    a.yy = (s * slant + c) * tall;
    a.x  = 0.5f * SIDE + draw(d, -digits_shift, digits_shift);
    a.y  = 0.5f * SIDE + draw(d, -digits_shift, digits_shift);
    return a;
}

static tw_point_t place(const tw_affine_t *a, float u, float v)
{
    const tw_point_t p = {a->xx * u + a->xy * v + a->x, a->yx * u + a->yy * v + a->y};

    return p;
}

/* A point of the Catmull-Rom spline between b and c, 0 <= t <= 1. */
static tw_point_t spline(tw_point_t a, tw_point_t b, tw_point_t c, tw_point_t d, float t)
{
    const float u = t * t, v = u * t;
    const float ka = 0.5f * (2.0f * u - v - t), kb = 0.5f * (3.0f * v - 5.0f * u + 2.0f);
    const float kc = 0.5f * (4.0f * u - 3.0f * v + t), kd = 0.5f * (v - u);
    tw_point_t  p = {ka * a.x + kb * b.x + kc * c.x + kd * d.x,
                     ka * a.y + kb * b.y + kc * c.y + kd * d.y};

    return p;
}

/* Darken the pixels near the line from p to q: full under the pen, fading over one pixel. */
static void ink(float *canvas, tw_point_t p, tw_point_t q, float pen)
{
    const float reach = pen + 0.5f;
    const float dx = q.x - p.x, dy = q.y - p.y, length = dx * dx + dy * dy;
    const int   left   = (int)clamp((p.x < q.x ? p.x : q.x) - reach, 0.0f, SIDE - 1.0f);
    const int   top    = (int)clamp((p.y < q.y ? p.y : q.y) - reach, 0.0f, SIDE - 1.0f);
    const int   right  = (int)clamp((p.x > q.x ? p.x : q.x) + reach, 0.0f, SIDE - 1.0f);
    const int   bottom = (int)clamp((p.y > q.y ? p.y : q.y) + reach, 0.0f, SIDE - 1.0f);

    for (int y = top; y <= bottom; y++) {
        for (int x = left; x <= right; x++) {
            const float fx = (float)x + 0.5f - p.x, fy = (float)y + 0.5f - p.y;
            float       t = length > 0.0f ? (fx * dx + fy * dy) / length : 0.0f;
            float       ex, ey, dark;

            t    = clamp(t, 0.0f, 1.0f);
            ex   = fx - t * dx;
            ey   = fy - t * dy;
            dark = clamp(reach - sqrtf(ex * ex + ey * ey), 0.0f, 1.0f);
            if (dark > canvas[y * SIDE + x]) {
                canvas[y * SIDE + x] = dark;
            }
        }
    }
}

static void write_stroke(float *canvas, const tw_stroke_t *stroke, const tw_affine_t *affine,
                         float pen, tw_draw_t *d)
{
    const int  n = stroke->points, pieces = stroke->smooth ? PIECES : 1;
    tw_point_t at[TW_STROKE_POINTS], from, to;

    for (int i = 0; i < n; i++) {
        const float u =
            (float)stroke->at[i][0] / 100.0f - 0.5f + draw(d, -digits_jitter, digits_jitter);
        const float v =
            (float)stroke->at[i][1] / 100.0f - 0.5f + draw(d, -digits_jitter, digits_jitter);

        at[i] = place(affine, u, v);
    }
    for (int i = 0; i + 1 < n; i++) {
        from = at[i];
        for (int k = 1; k <= pieces; k++) {
            to = spline(at[i > 0 ? i - 1 : 0], at[i], at[i + 1], at[i + 2 < n ? i + 2 : n - 1],
                        (float)k / (float)pieces);
            if (k == pieces) {
                to = at[i + 1];
            }
            ink(canvas, from, to, pen);
            from = to;
        }
    }
}

static void write_digit(uint8_t *pixels, unsigned digit, tw_draw_t *d)
{
    const unsigned    way    = tw_random_below(d->key, d->next++, TW_GLYPH_VARIANTS);
    const tw_glyph_t *glyph  = &tw_glyphs[digit][way];
    const tw_affine_t affine = draw_affine(d);
    const float       pen = draw(d, digits_thin, digits_thick), darkness = draw(d, 0.6f, 1.0f);
    float             canvas[SIDE * SIDE] = {0.0f};

    for (unsigned k = 0; k < glyph->strokes; k++) {
        write_stroke(canvas, &glyph->stroke[k], &affine, pen, d);
    }
    for (int i = 0; i < SIDE * SIDE; i++) {
        const float noise = draw(d, -digits_noise, digits_noise);
        const float value = clamp(darkness * canvas[i] + noise, 0.0f, 1.0f);

        pixels[i] = (uint8_t)(value * 255.0f + 0.5f);
    }
}

void tw_digits_draw(tw_set_t *set, uint64_t seed, uint64_t stream)
{
    for (size_t i = 0; i < set->n; i++) {
        tw_draw_t d = {.key = tw_random_key(seed, TW_RANDOM_DIGITS, stream, i)};

        set->labels[i] = (uint8_t)tw_random_below(d.key, d.next++, 10);
        write_digit(set->pixels + i * SIDE * SIDE, set->labels[i], &d);
    }
}
