/* SPDX-License-Identifier: BSD-3-Clause
 * compute/thin.c - products of a large matrix of weights with few examples, see units.h.
 *
 * Of so few examples the time goes into moving the weights, so every product walks through them
 * once, in the order in which they lie in memory, and neither packs them as a general BLAS does nor
 * clears a gradient before it is written; large gradients are stored past the caches. The examples
 * are small enough to stay in a core's second-level cache. Compiled once per instruction set, with
 * products and sums contracted where it can.
 */
#include "config.h"

#include <stdint.h>
#ifdef __AVX2__
#include <immintrin.h>
#endif

#include "train/compute/units.h"

#define TW_NAME_(x) tw_thin_##x
#define TW_NAME(x)  TW_NAME_(x)

/* Lanes of a vector, and rows of the block of sums that is kept in registers: TW_ROWS * 4 vectors
 * for 32 registers, or for 16. */
#if defined(__AVX512F__)
enum { TW_LANES = 16, TW_ROWS = 6, TW_MOST = 48 };
#elif defined(__AVX2__)
enum { TW_LANES = 8, TW_ROWS = 3, TW_MOST = 16 };
#else
enum { TW_LANES = 4, TW_ROWS = 3, TW_MOST = 8 };
#endif
enum {
    TW_COLUMNS = 4,
    TW_TILE    = TW_ROWS > TW_COLUMNS ? TW_ROWS : TW_COLUMNS,
    TW_WIDE    = TW_COLUMNS * TW_LANES,
    TW_SPAN    = 512, /* inputs that are worked on at a time: 2 KiB of a row */
    TW_UNITS   = 32   /* units per walk over the inputs, backward */
};

/* Gradients from this size on would push everything else out of the caches. */
#define TW_STREAM_BYTES ((size_t)8 << 20)

typedef float tw_vector_t __attribute__((vector_size(TW_LANES * 4)));
typedef float tw_loose_t __attribute__((vector_size(TW_LANES * 4), aligned(4), may_alias));

#define TW_INLINE static inline __attribute__((always_inline))

TW_INLINE tw_vector_t load(const float *p)
{
    return *(const tw_loose_t *)p;
}

TW_INLINE void store(float *p, tw_vector_t v)
{
    *(tw_loose_t *)p = v;
}

/* p aligned to the vector. */
TW_INLINE void stream(float *p, tw_vector_t v)
{
#if defined(__AVX512F__)
    _mm512_stream_ps(p, (__m512)v);
#elif defined(__AVX2__)
    _mm256_stream_ps(p, (__m256)v);
#else
    store(p, v);
#endif
}

/* ---- forward: sums over the inputs, a vector of partial sums per unit and example ----------- */

/* One span of inputs; sums[rows][columns] go on from one span to the next. `ahead` is what will be
 * read after this span: its lines are fetched a few with each step. */
TW_INLINE void forward_span(tw_vector_t *sums, const float *w, const float *x, const float *ahead,
                            size_t in, size_t span, int rows, int columns)
{
    tw_vector_t sum[TW_ROWS][TW_COLUMNS];

#pragma GCC unroll 8
    for (int r = 0; r < rows; r++) {
#pragma GCC unroll 8
        for (int c = 0; c < columns; c++) {
            sum[r][c] = sums[r * TW_COLUMNS + c];
        }
    }
    for (size_t i = 0; i < span; i += TW_LANES) {
        tw_vector_t weight[TW_ROWS];

#pragma GCC unroll 8
        for (int r = 0; r < rows; r++) {
            weight[r] = load(w + (size_t)r * in + i);
            if (ahead != NULL) {
                __builtin_prefetch(ahead + (size_t)r * in + i);
            }
        }
#pragma GCC unroll 8
        for (int c = 0; c < columns; c++) {
            const tw_vector_t value = load(x + (size_t)c * in + i);

#pragma GCC unroll 8
            for (int r = 0; r < rows; r++) {
                sum[r][c] += weight[r] * value;
            }
        }
    }
#pragma GCC unroll 8
    for (int r = 0; r < rows; r++) {
#pragma GCC unroll 8
        for (int c = 0; c < columns; c++) {
            sums[r * TW_COLUMNS + c] = sum[r][c];
        }
    }
}

TW_INLINE void forward_columns(tw_vector_t *sums, const float *w, const float *x,
                               const float *ahead, size_t in, size_t span, int rows, size_t columns)
{
    switch (columns) {
    case 1:
        forward_span(sums, w, x, ahead, in, span, rows, 1);
        break;
    case 2:
        forward_span(sums, w, x, ahead, in, span, rows, 2);
        break;
    case 3:
        forward_span(sums, w, x, ahead, in, span, rows, 3);
        break;
    default:
        forward_span(sums, w, x, ahead, in, span, rows, 4);
    }
}

enum { TW_EXAMPLES = 64 }; /* of one run over the weights */

/* n <= TW_EXAMPLES examples of `rows` units; y has a row of `stride` per unit. */
TW_INLINE void forward_rows(float *y, size_t stride, const float *w, const float *x, size_t in,
                            size_t n, int rows)
{
    const size_t whole                                                = in - in % TW_LANES;
    tw_vector_t  sums[TW_EXAMPLES / TW_COLUMNS][TW_ROWS * TW_COLUMNS] = {0};

    for (size_t at = 0; at < whole; at += TW_SPAN) {
        const size_t span  = whole - at < TW_SPAN ? whole - at : TW_SPAN;
        const float *ahead = at + TW_SPAN < whole ? w + at + TW_SPAN : w + (size_t)rows * in;

        for (size_t j = 0; j < n; j += TW_COLUMNS) {
            forward_columns(sums[j / TW_COLUMNS], w + at, x + j * in + at, j == 0 ? ahead : NULL,
                            in, span, rows, n - j);
        }
    }
    for (int r = 0; r < rows; r++) {
        for (size_t j = 0; j < n; j++) {
            const tw_vector_t v   = sums[j / TW_COLUMNS][r * TW_COLUMNS + (int)(j % TW_COLUMNS)];
            float             sum = 0.0f;

            for (int i = 0; i < TW_LANES; i++) {
                sum += v[i];
            }
            for (size_t i = whole; i < in; i++) {
                sum += w[(size_t)r * in + i] * x[j * in + i];
            }
            y[(size_t)r * stride + j] = sum;
        }
    }
}

static void forward_block(float *y, size_t stride, const float *w, const float *x, size_t in,
                          size_t n)
{
    forward_rows(y, stride, w, x, in, n, TW_ROWS);
}

static void forward_one(float *y, size_t stride, const float *w, const float *x, size_t in,
                        size_t n)
{
    forward_rows(y, stride, w, x, in, n, 1);
}

static void thin_forward(float *y, const float *w, const float *x, size_t units, size_t in,
                         size_t n)
{
    for (size_t j = 0; j < n; j += TW_EXAMPLES) {
        const size_t m = n - j < TW_EXAMPLES ? n - j : TW_EXAMPLES;
        size_t       u = 0;

        for (; u + TW_ROWS <= units; u += TW_ROWS) {
            forward_block(y + u * n + j, n, w + u * in, x + j * in, in, m);
        }
        for (; u < units; u++) {
            forward_one(y + u * n + j, n, w + u * in, x + j * in, in, m);
        }
    }
}

/* ---- tiles of sums, in vectors of inputs ---------------------------------------------------- */

typedef enum tw_put { TW_PUT, TW_PUT_ADD, TW_PUT_STREAM } tw_put_t;

/* to[rows][width * lanes]: sums over `count` rows of `from`, times factors[k * step + r * next] of
 * its k-th for the r-th. `fetch`: also what the next tile reads of this row. */
TW_INLINE void tile(float *to, const float *from, const float *factors, size_t count, size_t in,
                    size_t step, size_t next, tw_put_t put, int fetch, int rows, int width)
{
    tw_vector_t sum[TW_TILE][TW_COLUMNS];

#pragma GCC unroll 8
    for (int r = 0; r < rows; r++) {
#pragma GCC unroll 8
        for (int c = 0; c < width; c++) {
            sum[r][c] = put == TW_PUT_ADD ? load(to + (size_t)r * in + (size_t)(c * TW_LANES))
                                          : (tw_vector_t){0};
        }
    }
    for (size_t k = 0; k < count; k++) {
        tw_vector_t value[TW_COLUMNS];

#pragma GCC unroll 8
        for (int c = 0; c < width; c++) {
            value[c] = load(from + k * in + (size_t)(c * TW_LANES));
            if (fetch) {
                __builtin_prefetch(from + k * in + (size_t)((width + c) * TW_LANES));
            }
        }
#pragma GCC unroll 8
        for (int r = 0; r < rows; r++) {
            const float factor = factors[k * step + (size_t)r * next];

#pragma GCC unroll 8
            for (int c = 0; c < width; c++) {
                sum[r][c] += factor * value[c];
            }
        }
    }
#pragma GCC unroll 8
    for (int r = 0; r < rows; r++) {
#pragma GCC unroll 8
        for (int c = 0; c < width; c++) {
            float *at = to + (size_t)r * in + (size_t)(c * TW_LANES);

            if (put == TW_PUT_STREAM) {
                stream(at, sum[r][c]);
            } else {
                store(at, sum[r][c]);
            }
        }
    }
}

/* ---- backward: sums over the units ------------------------------------ */

TW_INLINE void backward_rows(float *e, const float *w, const float *d, size_t units, size_t in,
                             size_t n, int start, int width)
{
    const tw_put_t put = start ? TW_PUT : TW_PUT_ADD;

    for (size_t j = 0; j < n; j += TW_COLUMNS) {
        const size_t rows  = n - j;
        const int    fetch = j == 0;

        if (rows >= 4) {
            tile(e + j * in, w, d + j, units, in, n, 1, put, fetch, 4, width);
        } else if (rows == 3) {
            tile(e + j * in, w, d + j, units, in, n, 1, put, fetch, 3, width);
        } else if (rows == 2) {
            tile(e + j * in, w, d + j, units, in, n, 1, put, fetch, 2, width);
        } else {
            tile(e + j * in, w, d + j, units, in, n, 1, put, fetch, 1, width);
        }
    }
}

static void backward_wide(float *e, const float *w, const float *d, size_t units, size_t in,
                          size_t n, int start)
{
    backward_rows(e, w, d, units, in, n, start, TW_COLUMNS);
}

static void backward_narrow(float *e, const float *w, const float *d, size_t units, size_t in,
                            size_t n, int start)
{
    backward_rows(e, w, d, units, in, n, start, 1);
}

static void backward_single(float *e, const float *w, const float *d, size_t units, size_t in,
                            size_t n, int start)
{
    for (size_t j = 0; j < n; j++) {
        float sum = start ? 0.0f : e[j * in];

        for (size_t u = 0; u < units; u++) {
            sum += d[u * n + j] * w[u * in];
        }
        e[j * in] = sum;
    }
}

static void thin_backward(float *e, const float *w, const float *d, size_t units, size_t in,
                          size_t n, size_t from, size_t to)
{
    size_t u = 0;

    do {
        const size_t m = units - u < TW_UNITS ? units - u : TW_UNITS;
        const float *v = w + u * in, *f = d + u * n;
        size_t       i = from;

        for (; i + TW_WIDE <= to; i += TW_WIDE) {
            backward_wide(e + i, v + i, f, m, in, n, u == 0);
        }
        for (; i + TW_LANES <= to; i += TW_LANES) {
            backward_narrow(e + i, v + i, f, m, in, n, u == 0);
        }
        for (; i < to; i++) {
            backward_single(e + i, v + i, f, m, in, n, u == 0);
        }
        u += m;
    } while (u < units);
}

/* ---- gradient: sums over the examples ------------------------------------------------------- */

/* One block of units; each way of storing is a function of its own. */
TW_INLINE void gradient_rows(float *g, const float *d, const float *x, size_t in, size_t n,
                             tw_put_t put, int rows)
{
    size_t i = 0;

    for (; i + TW_WIDE <= in; i += TW_WIDE) {
        tile(g + i, x + i, d, n, in, 1, n, put, 0, rows, TW_COLUMNS);
    }
    for (; i + TW_LANES <= in; i += TW_LANES) {
        tile(g + i, x + i, d, n, in, 1, n, put, 0, rows, 1);
    }
    for (; i < in; i++) {
        for (int r = 0; r < rows; r++) {
            float sum = put == TW_PUT_ADD ? g[(size_t)r * in + i] : 0.0f;

            for (size_t j = 0; j < n; j++) {
                sum += d[(size_t)r * n + j] * x[j * in + i];
            }
            g[(size_t)r * in + i] = sum;
        }
    }
}

static void gradient_put(float *g, const float *d, const float *x, size_t in, size_t n)
{
    gradient_rows(g, d, x, in, n, TW_PUT, TW_ROWS);
}

static void gradient_add(float *g, const float *d, const float *x, size_t in, size_t n)
{
    gradient_rows(g, d, x, in, n, TW_PUT_ADD, TW_ROWS);
}

static void gradient_stream(float *g, const float *d, const float *x, size_t in, size_t n)
{
    gradient_rows(g, d, x, in, n, TW_PUT_STREAM, TW_ROWS);
}

static void gradient_one(float *g, const float *d, const float *x, size_t in, size_t n, int add)
{
    if (add) {
        gradient_rows(g, d, x, in, n, TW_PUT_ADD, 1);
    } else {
        gradient_rows(g, d, x, in, n, TW_PUT, 1);
    }
}

static void gradient(float *g, const float *d, const float *x, size_t units, size_t in, size_t n,
                     int add)
{
    const int past = !add && units * in * sizeof(float) >= TW_STREAM_BYTES && in % TW_LANES == 0 &&
                     (uintptr_t)g % sizeof(tw_vector_t) == 0;
    size_t u = 0;

    for (; u + TW_ROWS <= units; u += TW_ROWS) {
        if (past) {
            gradient_stream(g + u * in, d + u * n, x, in, n);
        } else if (add) {
            gradient_add(g + u * in, d + u * n, x, in, n);
        } else {
            gradient_put(g + u * in, d + u * n, x, in, n);
        }
    }
    for (; u < units; u++) {
        gradient_one(g + u * in, d + u * n, x, in, n, add);
    }
#ifdef __AVX2__
    _mm_sfence(); /* other threads see what went past the caches */
#endif
}

const tw_thin_t TW_NAME(TW_KERNELS) = {
    .most = TW_MOST, .forward = thin_forward, .backward = thin_backward, .gradient = gradient};
