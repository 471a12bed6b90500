/* SPDX-License-Identifier: BSD-3-Clause
 * input/pixels_columns.c - resizing columns, see pixels.h. Compiled once per instruction set, with
 * its flags and TW_KERNELS defined as the ending of the names. The arithmetic is that of rows.
 *
 * Outputs are computed in blocks, one in every 16 bits of a vector, or with pairs of weights in
 * every 32. What a block reads of a row is loaded as one window (AVX-512) or one for each half of
 * the block (AVX2) and put in order by a shuffle; for the next pair of weights the window moves on
 * by two values, and the order stays the same.
 */
#include "config.h"

#include "train/input/pixels_inside.h"

#ifndef TW_PIXELS_VECTORS

void tw_pixels_resize_columns(const tw_resize_line_t *line, const uint8_t *in, size_t stride,
                              size_t rows, uint8_t *out, size_t out_stride)
{
    for (size_t y = 0; y < rows; y++) {
        for (size_t i = 0; i < line->n; i++) {
            const int16_t *weight = line->weight + i * line->taps;
            const uint8_t *values = in + y * stride + (size_t)line->first[i];
            int32_t        sum    = TW_ROUND;

            for (size_t k = 0; k < line->taps; k++) {
                sum += weight[k] * values[k];
            }
            out[y * out_stride + i] = (uint8_t)(sum >> TW_BITS);
        }
    }
}

#else /* TW_PIXELS_VECTORS */

#ifdef __AVX512VBMI__
#define PARTS 1
#else
#define PARTS 2
#endif
#define WINDOW    (TW_WIDE / PARTS)
#define PAIRS_MAX 8 /* outputs of more weights, or whose windows are wider, are summed one by one */

typedef struct columns {
    const tw_resize_line_t *line;
    const uint8_t          *in;
    size_t                  stride, rows;
    size_t                  end; /* values of a row up to the last that is read */
    uint8_t                *out;
    size_t                  out_stride;
} columns_t;

/* Where a block of outputs reads. */
typedef struct window {
    size_t  base[PARTS];
    uint8_t order[TW_WIDE]; /* into the window, for even bytes; odd ones become 0 */
    size_t  safe;           /* rows from the first on whose windows end inside what may be read */
} window_t;

TW_PIXELS_INLINE size_t smaller(size_t a, size_t b)
{
    return a < b ? a : b;
}

/* The windows of outputs first .. first + n - 1; the block has room for `block`, and the rest
 * repeat the last. With `next` the value beside each is taken as well, for pairs. 0: they do not
 * fit. */
static int find_window(const columns_t *c, size_t first, size_t n, size_t block, int next,
                       window_t *window)
{
    const int32_t *from  = c->line->first + first;
    const size_t   part  = block / PARTS;
    const size_t   moves = next ? (c->line->taps - 1) / 2 * 2 : 0;
    size_t         reach = 0;

    memset(window->order, 0x80, sizeof(window->order));
    for (size_t p = 0; p < PARTS; p++) {
        int32_t base = from[smaller(p * part, n - 1)];

        for (size_t j = p * part; j < smaller((p + 1) * part, n); j++) {
            base = from[j] < base ? from[j] : base;
        }
        for (size_t j = p * part; j < (p + 1) * part; j++) {
            const int32_t at = from[smaller(j, n - 1)] - base;
            uint8_t      *to = window->order + j * (TW_WIDE / block);

            if (at > WINDOW - 2) {
                return 0;
            }
            to[0] = (uint8_t)at;
            if (next) {
                to[2] = (uint8_t)(at + 1);
            }
        }
        window->base[p] = (size_t)base;
        reach = (size_t)base + moves + WINDOW > reach ? (size_t)base + moves + WINDOW : reach;
    }
    window->safe = c->rows;
    if (reach > c->end) {
        const size_t beyond =
            c->stride == 0 ? c->rows : (reach - c->end + c->stride - 1) / c->stride;

        window->safe = c->rows - smaller(c->rows, beyond);
    }
    return 1;
}

TW_PIXELS_INLINE tw_pixels_vector_t shuffle(tw_pixels_vector_t v, tw_pixels_vector_t order)
{
#ifdef __AVX512VBMI__
    return _mm512_maskz_permutexvar_epi8(UINT64_C(0x5555555555555555), order, v);
#else
    return _mm256_shuffle_epi8(v, order);
#endif
}

/* A row's window. The bases are those of a window_t, but in variables of the caller: a byte that is
 * stored might change the structure, and they would be loaded again for each row. */
TW_PIXELS_INLINE tw_pixels_vector_t load_window(const uint8_t *row, size_t base,
                                                size_t base_of_high)
{
#ifdef __AVX512VBMI__
    (void)base_of_high;
    return tw_load(row + base);
#else
    const __m128i low  = _mm_loadu_si128((const __m128i *)(row + base));
    const __m128i high = _mm_loadu_si128((const __m128i *)(row + base_of_high));

    return _mm256_inserti128_si256(_mm256_castsi128_si256(low), high, 1);
#endif
}

/* The same, `move` values further, of a row with so many readable values; then zeros. */
static tw_pixels_vector_t load_window_end(const uint8_t *row, const window_t *window, size_t move,
                                          size_t readable)
{
    uint8_t bytes[TW_WIDE] = {0};

    for (size_t p = 0; p < PARTS; p++) {
        const size_t at = window->base[p] + move;

        memcpy(bytes + p * WINDOW, row + at, smaller(WINDOW, readable - at));
    }
    return tw_load(bytes);
}

/* The low bytes of words of 16 bits. */
TW_PIXELS_INLINE void store_words(uint8_t *out, tw_pixels_vector_t v)
{
#ifdef __AVX512VBMI__
    _mm256_storeu_si256((__m256i *)out, _mm512_cvtepi16_epi8(v));
#else
    v = _mm256_permute4x64_epi64(_mm256_packus_epi16(v, v), 0x08);
    _mm_storeu_si128((__m128i *)out, _mm256_castsi256_si128(v));
#endif
}

/* The same of 32 bits. */
TW_PIXELS_INLINE void store_double_words(uint8_t *out, tw_pixels_vector_t v)
{
#ifdef __AVX512VBMI__
    _mm_storeu_si128((__m128i *)out, _mm512_cvtepi32_epi8(v));
#else
    const __m128i words =
        _mm_packs_epi32(_mm256_castsi256_si128(v), _mm256_extracti128_si256(v, 1));

    _mm_storel_epi64((__m128i *)out, _mm_packus_epi16(words, words));
#endif
}

/* Outputs first .. first + n - 1, n <= TW_WIDE / 2, of at most two weights. */
static int few_weights(const columns_t *c, size_t first, size_t n)
{
    enum { BLOCK = TW_WIDE / 2 };
    const size_t       taps = c->line->taps, stride = c->stride, out_stride = c->out_stride;
    int16_t            w2[BLOCK] = {0};
    uint8_t            other[TW_WIDE];
    window_t           window;
    tw_pixels_vector_t order_a, order_b, weight;
    size_t             y = 0;

    if (!find_window(c, first, n, BLOCK, 0, &window)) {
        return 0;
    }
    memcpy(other, window.order, sizeof(other));
    for (size_t j = 0; taps == 2 && j < n; j++) {
        const int16_t w = c->line->weight[2 * (first + j) + 1];

        if (w == 2 * TW_ROUND) { /* twice that is no int16 */
            window.order[2 * j]++;
        } else {
            other[2 * j]++;
            w2[j] = (int16_t)(2 * w);
        }
    }
    order_a = tw_load(window.order);
    order_b = tw_load(other);
    weight  = tw_load(w2);
    if (n == BLOCK) {
        const size_t   safe = window.safe, base = window.base[0], high = window.base[PARTS - 1];
        const uint8_t *row = c->in;
        uint8_t       *out = c->out + first;

        for (; y < safe; y++, row += stride, out += out_stride) {
            const tw_pixels_vector_t v = load_window(row, base, high);

            store_words(out, tw_between(shuffle(v, order_a), shuffle(v, order_b), weight));
        }
    }
    for (; y < c->rows; y++) {
        const size_t             readable = (c->rows - 1 - y) * stride + c->end;
        const tw_pixels_vector_t v = load_window_end(c->in + y * stride, &window, 0, readable);
        uint8_t                  bytes[BLOCK];

        store_words(bytes, tw_between(shuffle(v, order_a), shuffle(v, order_b), weight));
        memcpy(c->out + y * out_stride + first, bytes, n);
    }
    return 1;
}

TW_PIXELS_INLINE tw_pixels_vector_t add_pair(tw_pixels_vector_t sum, tw_pixels_vector_t window,
                                             tw_pixels_vector_t order, tw_pixels_vector_t weight)
{
    return TW_V(add_epi32)(sum, TW_V(madd_epi16)(shuffle(window, order), weight));
}

/* The first rows of a block whose windows are safe; inlined for each usual number of pairs, so that
 * their weights stay in registers. */
TW_PIXELS_INLINE void sum_pairs(const columns_t *c, const window_t *window, const int16_t *weight,
                                size_t pairs, size_t first)
{
    const size_t safe = window->safe, base = window->base[0], high = window->base[PARTS - 1];
    const size_t stride = c->stride, out_stride = c->out_stride;
    const tw_pixels_vector_t order = tw_load(window->order);
    const tw_pixels_vector_t w0 = tw_load(weight), w1 = tw_load(weight + TW_WIDE / 2);
    const tw_pixels_vector_t w2  = tw_load(weight + TW_WIDE);
    const uint8_t           *row = c->in;
    uint8_t                 *out = c->out + first;

    for (size_t y = 0; y < safe; y++, row += stride, out += out_stride) {
        tw_pixels_vector_t sum = TW_V(set1_epi32)(TW_ROUND);

        sum = add_pair(sum, load_window(row, base, high), order, w0);
        if (pairs > 1) {
            sum = add_pair(sum, load_window(row + 2, base, high), order, w1);
        }
        if (pairs > 2) {
            sum = add_pair(sum, load_window(row + 4, base, high), order, w2);
        }
        for (size_t k = 3; k < pairs; k++) {
            sum = add_pair(sum, load_window(row + 2 * k, base, high), order,
                           tw_load(weight + k * TW_WIDE / 2));
        }
        store_double_words(out, TW_V(srai_epi32)(sum, TW_BITS));
    }
}

/* Outputs first .. first + n - 1, n <= TW_WIDE / 4, of up to PAIRS_MAX pairs of weights. */
static int pairs_of_weights(const columns_t *c, size_t first, size_t n)
{
    enum { BLOCK = TW_WIDE / 4 };
    const size_t taps = c->line->taps, pairs = (taps + 1) / 2;
    int16_t      weight[PAIRS_MAX][2 * BLOCK] = {{0}};
    window_t     window;

    if (pairs > PAIRS_MAX || !find_window(c, first, n, BLOCK, 1, &window)) {
        return 0;
    }
    for (size_t j = 0; j < n; j++) {
        for (size_t k = 0; k < taps; k++) {
            weight[k / 2][2 * j + k % 2] = c->line->weight[(first + j) * taps + k];
        }
    }
    if (n < BLOCK) {
        window.safe = 0;
    } else if (pairs == 2) {
        sum_pairs(c, &window, weight[0], 2, first);
    } else if (pairs == 3) {
        sum_pairs(c, &window, weight[0], 3, first);
    } else {
        sum_pairs(c, &window, weight[0], pairs, first);
    }
    for (size_t y = window.safe; y < c->rows; y++) {
        const size_t       readable = (c->rows - 1 - y) * c->stride + c->end;
        tw_pixels_vector_t sum      = TW_V(set1_epi32)(TW_ROUND);
        uint8_t            bytes[BLOCK];

        for (size_t k = 0; k < pairs; k++) {
            sum = add_pair(sum, load_window_end(c->in + y * c->stride, &window, 2 * k, readable),
                           tw_load(window.order), tw_load(weight[k]));
        }
        store_double_words(bytes, TW_V(srai_epi32)(sum, TW_BITS));
        memcpy(c->out + y * c->out_stride + first, bytes, n);
    }
    return 1;
}

static uint8_t weigh(const uint8_t *values, const int16_t *weight, size_t taps)
{
    int32_t sum  = TW_ROUND;
    size_t  k    = 0;

#ifdef __AVX512VBMI__
    __m512i sums = _mm512_setzero_si512();

    for (; k < taps; k += 32) {
        const __mmask32 some = taps - k >= 32 ? UINT32_MAX : (UINT32_C(1) << (taps - k)) - 1;
        const __m512i   v    = _mm512_cvtepu8_epi16(_mm256_maskz_loadu_epi8(some, values + k));

        sums = _mm512_add_epi32(sums,
                                _mm512_madd_epi16(v, _mm512_maskz_loadu_epi16(some, weight + k)));
    }
    sum += _mm512_reduce_add_epi32(sums);
#else
    __m128i sums = _mm_setzero_si128();

    for (; k + 8 <= taps; k += 8) {
        const __m128i v = _mm_cvtepu8_epi16(_mm_loadl_epi64((const __m128i *)(values + k)));

        sums =
            _mm_add_epi32(sums, _mm_madd_epi16(v, _mm_loadu_si128((const __m128i *)(weight + k))));
    }
    sums = _mm_add_epi32(sums, _mm_shuffle_epi32(sums, 0x4e));
    sums = _mm_add_epi32(sums, _mm_shuffle_epi32(sums, 0xb1));
    sum += _mm_cvtsi128_si32(sums);
    for (; k < taps; k++) {
        sum += weight[k] * values[k];
    }
#endif
    return (uint8_t)(sum >> TW_BITS);
}

static void one_by_one(const columns_t *c, size_t first, size_t n)
{
    const size_t taps = c->line->taps;

    for (size_t y = 0; y < c->rows; y++) {
        for (size_t i = first; i < first + n; i++) {
            c->out[y * c->out_stride + i] = weigh(c->in + y * c->stride + (size_t)c->line->first[i],
                                                  c->line->weight + i * taps, taps);
        }
    }
}

void tw_pixels_resize_columns(const tw_resize_line_t *line, const uint8_t *in, size_t stride,
                              size_t rows, uint8_t *out, size_t out_stride)
{
    const size_t n     = line->n;
    const size_t block = smaller(n, line->taps <= 2 ? TW_WIDE / 2 : TW_WIDE / 4);
    columns_t    c     = {line, in, stride, rows, 0, out, out_stride};

    for (size_t i = 0; i < n; i++) {
        const size_t end = (size_t)line->first[i] + line->taps;

        c.end = end > c.end ? end : c.end;
    }
    for (size_t i = 0; i < n; i += block) {
        const size_t first = smaller(i, n - block); /* the last block computes some again */

        if (line->taps <= 2 ? !few_weights(&c, first, block)
                            : !pairs_of_weights(&c, first, block)) {
            one_by_one(&c, first, block);
        }
    }
}

#endif /* TW_PIXELS_VECTORS */
