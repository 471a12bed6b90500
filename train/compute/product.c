/* SPDX-License-Identifier: BSD-3-Clause
 * compute/product.c - see product.h.
 */
#include "config.h"

#include <cblas.h>
#include <string.h>

#include "train/compute/product.h"

/* Shares of threads are multiples of this: whole blocks of thin.c, whole cache lines. */
#define TW_GRAIN 96u

tw_product_t tw_product_make(const tw_compute_kernels_t *kernels, int threads)
{
    tw_product_t product = {.thin = TW_KERNELS_OF(kernels, tw_thin), .threads = threads};

    openblas_set_num_threads(threads);
    return product;
}

int tw_product_rows(const tw_product_t *product, size_t n)
{
    return n <= product->thin->most;
}

/* How much of `all` each thread takes. */
static size_t share(const tw_product_t *product, size_t all)
{
    const size_t threads = (size_t)product->threads;

    return threads == 1 ? all + (all == 0)
                        : ((all + threads - 1) / threads + TW_GRAIN - 1) / TW_GRAIN * TW_GRAIN +
                              (all == 0) * TW_GRAIN;
}

/* c[m][n] = a b, or with add c += a b, row-major; transposed as said. */
static void multiply(int a_turned, int b_turned, size_t m, size_t n, size_t k, const float *a,
                     size_t a_row, const float *b, size_t b_row, float *c, size_t c_row, int add)
{
    if (m == 0 || n == 0) {
        return;
    }
    cblas_sgemm(CblasRowMajor, a_turned ? CblasTrans : CblasNoTrans,
                b_turned ? CblasTrans : CblasNoTrans, (blasint)m, (blasint)n, (blasint)k, 1.0f, a,
                (blasint)a_row, b, (blasint)b_row, add ? 1.0f : 0.0f, c, (blasint)c_row);
}

void tw_product_forward(const tw_product_t *product, const tw_product_size_t *size, float *y,
                        const float *w, const float *x)
{
    const size_t units = size->units, in = size->in, n = size->n;
    const size_t each = share(product, units);

    if (!tw_product_rows(product, n)) {
        multiply(0, size->rows, units, n, in, w, in, x, size->rows ? in : n, y, n, 0);
        return;
    }
#pragma omp parallel for num_threads(product->threads) if (product->threads > 1)
    for (size_t u = 0; u < units; u += each) {
        product->thin->forward(y + u * n, w + u * in, x, units - u < each ? units - u : each, in,
                               n);
    }
}

/* Without units there is no product, but its result. */
static void clear(const tw_product_size_t *size, float *e, size_t from, size_t to)
{
    if (!size->rows) {
        memset(e + from * size->n, 0, (to - from) * size->n * sizeof(*e));
        return;
    }
    for (size_t j = 0; j < size->n; j++) {
        memset(e + j * size->in + from, 0, (to - from) * sizeof(*e));
    }
}

void tw_product_backward(const tw_product_t *product, const tw_product_size_t *size, float *e,
                         const float *w, const float *d, size_t from, size_t to)
{
    const size_t units = size->units, in = size->in, n = size->n;
    const size_t each = share(product, to - from);

    if (units == 0) {
        clear(size, e, from, to);
    } else if (tw_product_rows(product, n)) {
#pragma omp parallel for num_threads(product->threads) if (product->threads > 1)
        for (size_t i = from; i < to; i += each) {
            product->thin->backward(e, w, d, units, in, n, i, to - i < each ? to : i + each);
        }
    } else if (size->rows) {
        multiply(1, 0, n, to - from, units, d, n, w + from, in, e + from, in, 0);
    } else {
        multiply(1, 0, to - from, n, units, w + from, in, d, n, e + from * n, n, 0);
    }
}

void tw_product_gradient(const tw_product_t *product, const tw_product_size_t *size, float *g,
                         const float *d, const float *x, int add)
{
    const size_t units = size->units, in = size->in, n = size->n;
    const size_t each = share(product, units);

    if (!tw_product_rows(product, n)) {
        multiply(0, !size->rows, units, in, n, d, n, x, size->rows ? in : n, g, in, add);
        return;
    }
#pragma omp parallel for num_threads(product->threads) if (product->threads > 1)
    for (size_t u = 0; u < units; u += each) {
        product->thin->gradient(g + u * in, d + u * n, x, units - u < each ? units - u : each, in,
                                n, add);
    }
}

/* Blocks of rows and columns whose lines all stay in the first-level cache. */
#define TW_TURN 16u

static void turn(float *restrict to, const float *restrict from, size_t rows, size_t columns,
                 size_t r, size_t c)
{
    const size_t r_end = rows - r < TW_TURN ? rows : r + TW_TURN;
    const size_t c_end = columns - c < TW_TURN ? columns : c + TW_TURN;

    for (size_t i = c; i < c_end; i++) {
        for (size_t k = r; k < r_end; k++) {
            to[i * rows + k] = from[k * columns + i];
        }
    }
}

void tw_transpose(float *to, const float *from, size_t rows, size_t columns, int threads)
{
#pragma omp parallel for num_threads(threads) if (threads > 1)
    for (size_t c = 0; c < columns; c += TW_TURN) {
        for (size_t r = 0; r < rows; r += TW_TURN) {
            turn(to, from, rows, columns, r, c);
        }
    }
}
