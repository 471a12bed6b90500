/* SPDX-License-Identifier: BSD-3-Clause
 * tests/train/test_resize.c - resizing: rows and columns of every instruction set beside their
 * definition, with lines of any kind; the weights beside the triangle filter in double; what a
 * resized line keeps.
 */
#define _DEFAULT_SOURCE /* MAP_ANONYMOUS */
#include "config.h"

#include "tests/train/pixels_rig.h"

static const size_t sizes[] = {0,  1,  2,  3,  7,  8,  9,  15,  16,  17,  23,  31, 32,
                               33, 47, 48, 63, 64, 65, 97, 127, 128, 129, 193, 257};
enum { SIZES = sizeof(sizes) / sizeof(sizes[0]), KINDS = 4 };

/* A line of any kind: windows in order, as a resize of this scale has them; mirrored; anywhere; all
 * at one place. The weights are nearly equal, or of any sizes, or one has it all. */
static tw_resize_line_t drawn_line(size_t n, size_t taps, double scale, int kind, int last)
{
    const size_t places = 1 + (size_t)(scale * (double)n);
    int32_t     *first  = bytes_at(FIRST, n * sizeof(*first), last);
    int16_t     *weight = bytes_at(WEIGHT, n * taps * sizeof(*weight), last);

    for (size_t i = 0; i < n; i++) {
        const size_t at   = kind == 1 ? n - 1 - i : i;
        int          rest = 16384, of = test_below(&random_state, 3);

        first[i] = kind == 2   ? test_below(&random_state, (int)places)
                   : kind == 3 ? (int32_t)(places - 1)
                               : (int32_t)(scale * (double)at);
        memset(weight + i * taps, 0, taps * sizeof(*weight));
        for (size_t k = 0; of != 0 && k < taps; k++) {
            const int w = of == 1 ? 16384 / (int)taps : test_below(&random_state, rest + 1);

            weight[i * taps + k] = (int16_t)w;
            rest -= w;
        }
        weight[i * taps + (size_t)test_below(&random_state, (int)taps)] += (int16_t)rest;
    }
    return (tw_resize_line_t){n, taps, first, weight};
}

static size_t end_of(const tw_resize_line_t *line)
{
    size_t end = 0;

    for (size_t i = 0; i < line->n; i++) {
        const size_t to = (size_t)line->first[i] + line->taps;

        end = to > end ? to : end;
    }
    return end;
}

static uint8_t weighed(const tw_resize_line_t *line, size_t i, const uint8_t *values, size_t step)
{
    int64_t sum = 8192;

    for (size_t k = 0; k < line->taps; k++) {
        sum +=
            (int64_t)line->weight[i * line->taps + k] * values[((size_t)line->first[i] + k) * step];
    }
    return (uint8_t)(sum >> 14);
}

/* Rows of `width` bytes, and the mark between them. */
static void check_image(const uint8_t *out, const uint8_t *want, size_t rows, size_t width,
                        size_t stride)
{
    for (size_t y = 0; y < rows; y++) {
        check_bytes(out + y * stride, want + y * width, width);
        for (size_t x = width; y + 1 < rows && x < stride; x++) {
            if (out[y * stride + x] != MARK) {
                ck_abort_msg("written beyond row %zu", y);
            }
        }
    }
}

static size_t extent(size_t rows, size_t width, size_t stride)
{
    return rows == 0 ? 0 : (rows - 1) * stride + width;
}

static void check_rows(const tw_pixels_t *pixels, const tw_resize_line_t *line, size_t width,
                       int last)
{
    const size_t   gap = (size_t)test_below(&random_state, 4), stride = width + gap * gap;
    const size_t   out_stride = width + (size_t)test_below(&random_state, 3);
    const uint8_t *in         = drawn(IN, extent(end_of(line), width, stride), last);
    uint8_t       *out        = marked(OUT, extent(line->n, width, out_stride), last);
    uint8_t       *want       = bytes_at(WANT, line->n * width, last);

    pixels->resize_rows(line, in, stride, width, out, out_stride);
    for (size_t i = 0; i < line->n; i++) {
        for (size_t x = 0; x < width; x++) {
            want[i * width + x] = weighed(line, i, in + x, stride);
        }
    }
    check_image(out, want, line->n, width, out_stride);
}

static void check_columns(const tw_pixels_t *pixels, const tw_resize_line_t *line, size_t rows,
                          int last)
{
    const size_t   gap = (size_t)test_below(&random_state, 4), end = end_of(line);
    const size_t   stride     = end + gap * gap * gap;
    const size_t   out_stride = line->n + (size_t)test_below(&random_state, 3);
    const uint8_t *in         = drawn(IN, extent(rows, end, stride), last);
    uint8_t       *out        = marked(OUT, extent(rows, line->n, out_stride), last);
    uint8_t       *want       = bytes_at(WANT, line->n * rows, last);

    pixels->resize_columns(line, in, stride, rows, out, out_stride);
    for (size_t y = 0; y < rows; y++) {
        for (size_t i = 0; i < line->n; i++) {
            want[y * line->n + i] = weighed(line, i, in + y * stride, 1);
        }
    }
    check_image(out, want, rows, line->n, out_stride);
}

START_TEST(rows_are_resized)
{
    static const size_t outputs[] = {0, 1, 2, 5};
    const size_t        taps      = (size_t)_i + 1;

    random_state.state += (uint64_t)_i;
    EACH_CASE(k, last)
    {
        for (size_t s = 0; s < SIZES; s++) {
            const double           scale = 0.1 + test_below(&random_state, 30) * 0.1;
            const size_t           n     = outputs[test_below(&random_state, 4)];
            const tw_resize_line_t line =
                drawn_line(n, taps, scale, test_below(&random_state, KINDS), last);

            check_rows(levels[k], &line, sizes[s], last);
        }
    }
}
END_TEST

/* Scales around those at which a window holds 8 or 4, or 32 or 16 outputs, and beyond. */
START_TEST(columns_are_resized)
{
    static const double scales[] = {0.02, 0.3, 0.94, 1.0, 1.5, 1.9, 2.05, 3.7, 4.3, 4.8, 9.0, 21.0};
    static const size_t heights[] = {0, 1, 2, 3, 7, 70};
    const size_t        taps      = (size_t)_i + 1;

    random_state.state += (uint64_t)_i;
    EACH_CASE(k, last)
    {
        for (size_t s = 0; s < SIZES && sizes[s] <= 130; s++) {
            for (int kind = 0; kind < KINDS; kind++) {
                const size_t rows = heights[test_below(&random_state, sizes[s] < 40 ? 6 : 5)];
                const tw_resize_line_t line =
                    drawn_line(sizes[s], taps, scales[test_below(&random_state, 12)], kind, last);

                check_columns(levels[k], &line, rows, last);
            }
        }
    }
}
END_TEST

/* ---- weights -------------------------------------------------------------------------------- */

typedef struct whole {
    tw_resize_line_t line;
    int32_t         *first;
    int16_t         *weight;
} whole_t;

static whole_t whole_line(size_t in, size_t out)
{
    const size_t taps = tw_resize_taps(in, out);
    whole_t      w    = {.first = malloc(out * sizeof(*w.first)), .weight = NULL};

    w.weight = malloc(out * taps * sizeof(*w.weight));
    ck_assert(w.first != NULL && w.weight != NULL);
    tw_resize_weights(in, out, 0, out, w.first, w.weight);
    w.line = (tw_resize_line_t){out, taps, w.first, w.weight};
    return w;
}

static void whole_free(whole_t *w)
{
    free(w->first);
    free(w->weight);
}

/* The weight of a pixel, of a position. */
static int weight_of(const whole_t *w, size_t i, size_t pixel)
{
    const size_t first = (size_t)w->first[i];

    return pixel < first || pixel >= first + w->line.taps
               ? 0
               : w->weight[i * w->line.taps + pixel - first];
}

/* The triangle filter as it is usually written. */
static void check_position(const whole_t *w, size_t in, size_t out, size_t i)
{
    const double scale = (double)in / (double)out, support = scale > 1.0 ? scale : 1.0;
    const double centre = ((double)i + 0.5) * scale;
    double       total  = 0.0;
    int          sum    = 0;

    for (size_t j = 0; j < in; j++) {
        const double t = 1.0 - fabs(((double)j + 0.5 - centre) / support);

        total += t > 0.0 ? t : 0.0;
    }
    for (size_t j = 0; j < in; j++) {
        const double t    = 1.0 - fabs(((double)j + 0.5 - centre) / support);
        const double want = 16384.0 * (t > 0.0 ? t : 0.0) / total;
        const int    got  = weight_of(w, i, j);

        if (fabs(got - want) > 1.0 + 1e-6 || got < 0) {
            ck_abort_msg("%zu to %zu, position %zu, pixel %zu: %d, not %g", in, out, i, j, got,
                         want);
        }
        sum += got;
    }
    if (sum != 16384) {
        ck_abort_msg("%zu to %zu, position %zu: a sum of %d", in, out, i, sum);
    }
}

static void check_mirror(const whole_t *w, size_t in, size_t out, size_t i)
{
    const size_t taps = w->line.taps, other = out - 1 - i;

    for (size_t j = 0; j < in; j++) {
        if (weight_of(w, i, j) != weight_of(w, other, in - 1 - j)) {
            ck_abort_msg("%zu to %zu does not mirror at %zu, pixel %zu", in, out, i, j);
        }
    }
    if ((size_t)w->first[i] + (size_t)w->first[other] != in - taps &&
        (other != i || (in - taps) % 2 == 0)) {
        ck_abort_msg("%zu to %zu: the window of %zu does not mirror", in, out, i);
    }
}

static void check_lengths(size_t in, size_t out)
{
    const size_t taps   = tw_resize_taps(in, out);
    whole_t      w      = whole_line(in, out);
    const size_t from   = (size_t)test_below(&random_state, (int)out);
    const size_t n      = (size_t)test_below(&random_state, (int)(out - from) + 1);
    int32_t     *first  = bytes_at(FIRST, n * sizeof(*first), 1);
    int16_t     *weight = bytes_at(WEIGHT, n * taps * sizeof(*weight), 1);

    ck_assert(taps >= 1 && taps <= in);
    for (size_t i = 0; i < out; i++) {
        if (w.first[i] < (i == 0 ? 0 : w.first[i - 1]) || (size_t)w.first[i] + taps > in ||
            (in == out && weight_of(&w, i, i) != 16384)) {
            ck_abort_msg("%zu to %zu, position %zu", in, out, i);
        }
        check_position(&w, in, out, i);
        check_mirror(&w, in, out, i);
    }
    /* A part is that part of the whole. */
    tw_resize_weights(in, out, from, n, first, weight);
    ck_assert(memcmp(first, w.first + from, n * sizeof(*first)) == 0);
    ck_assert(memcmp(weight, w.weight + from * taps, n * taps * sizeof(*weight)) == 0);
    memset(first, MARK, n * sizeof(*first));
    tw_resize_weights(in, out, from, n, first, NULL);
    ck_assert(memcmp(first, w.first + from, n * sizeof(*first)) == 0);
    whole_free(&w);
}

START_TEST(weights_are_those_of_the_triangle)
{
    const size_t in = (size_t)_i + 1;

    for (size_t out = 1; out <= 70; out++) {
        check_lengths(in, out);
    }
}
END_TEST

static const size_t lengths[][2] = {{320, 341}, {240, 256},  {500, 341}, {375, 256}, {1000, 341},
                                    {4000, 3},  {4000, 224}, {1, 2000},  {3, 1999},  {256, 256},
                                    {224, 256}, {256, 224},  {997, 499}, {2999, 1}};

START_TEST(weights_of_usual_and_odd_lengths)
{
    check_lengths(lengths[_i][0], lengths[_i][1]);
}
END_TEST

START_TEST(very_long_lines)
{
    enum { LONG = 1 << 24 };
    int32_t  first[2];
    int16_t *weight = malloc((size_t)LONG * sizeof(*weight));
    int64_t  sum    = 0;

    ck_assert_ptr_nonnull(weight);
    ck_assert_uint_eq(tw_resize_taps(LONG, 1), LONG);
    tw_resize_weights(LONG, 1, 0, 1, first, weight);
    for (size_t k = 0; k < LONG; k++) {
        if (weight[k] != weight[LONG - 1 - k] || weight[k] < 0 || weight[k] > 1) {
            ck_abort_msg("%zu: %d and %d", k, weight[k], weight[LONG - 1 - k]);
        }
        sum += weight[k];
    }
    ck_assert_int_eq(sum, 16384);
    free(weight);
    weight = malloc(4 * sizeof(*weight));
    ck_assert_uint_eq(tw_resize_taps(LONG - 1, LONG), 2);
    tw_resize_weights(LONG - 1, LONG, LONG - 2, 2, first, weight);
    ck_assert_int_eq(first[1], LONG - 3);
    ck_assert_int_eq(weight[2] + weight[3], 16384);
    free(weight);
}
END_TEST

/* ---- whole images --------------------------------------------------------------------------- */

/* One row resized, by any level: all agree with the first. */
static void resize_row(const whole_t *w, const uint8_t *in, size_t n, uint8_t *out, uint8_t *again)
{
    for (int k = 0; k < LEVELS; k++) {
        if (levels[k] != NULL) {
            levels[k]->resize_columns(&w->line, in, n, 1, k == 0 ? out : again, w->line.n);
            ck_assert(k == 0 || memcmp(out, again, w->line.n) == 0);
            levels[k]->resize_rows(&w->line, in, 1, 1, again, 1);
            ck_assert(memcmp(out, again, w->line.n) == 0);
        }
    }
}

/* Of a constant line, lines that never fall, a line and its mirror image, of a line not resized. */
START_TEST(lines_keep_their_form)
{
    const size_t in = lengths[_i][0], out = lengths[_i][1];
    whole_t      w    = whole_line(in, out);
    uint8_t     *line = bytes_at(IN, in, 1), *to = bytes_at(OUT, out, 1);
    uint8_t     *again = bytes_at(OUT_2, out, 1), *mirrored = bytes_at(OUT_3, out, 1);

    for (int v = 0; v < 256; v += 51) {
        memset(line, v, in);
        resize_row(&w, line, in, to, again);
        memset(mirrored, v, out);
        check_bytes(to, mirrored, out);
    }
    for (int step = 0; step < 20; step++) {
        const size_t at = (size_t)test_below(&random_state, (int)in);

        for (size_t j = 0; j < in; j++) {
            line[j] = step > 0 ? (j < at ? 3 : 250) : (uint8_t)(j * 255 / in);
        }
        resize_row(&w, line, in, to, again);
        for (size_t i = 1; i < out; i++) {
            if (to[i - 1] > to[i]) {
                ck_abort_msg("%zu to %zu falls at %zu", in, out, i);
            }
        }
    }
    drawn(IN, in, 1);
    resize_row(&w, line, in, to, again);
    ck_assert(in != out || memcmp(to, line, in) == 0);
    for (size_t j = 0; j < in / 2; j++) {
        const uint8_t v = line[j];

        line[j]          = line[in - 1 - j];
        line[in - 1 - j] = v;
    }
    resize_row(&w, line, in, mirrored, again);
    for (size_t i = 0; i < out; i++) {
        again[out - 1 - i] = to[i];
    }
    check_bytes(mirrored, again, out);
    whole_free(&w);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("train/resize");
    TCase *tcase = test_case_within(suite, "resize", 60);

    rig_init();
    tcase_add_loop_test(tcase, rows_are_resized, 0, 40);
    tcase_add_loop_test(tcase, columns_are_resized, 0, 40);
    tcase_add_loop_test(tcase, weights_are_those_of_the_triangle, 0, 70);
    TEST_EACH(tcase, weights_of_usual_and_odd_lengths, lengths);
    tcase_add_test(tcase, very_long_lines);
    TEST_EACH(tcase, lines_keep_their_form, lengths);
    return test_main(suite);
}
