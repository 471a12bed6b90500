/* SPDX-License-Identifier: BSD-3-Clause
 * codec/reduce.c - one number about a vector in host memory: the largest magnitude, the sum of
 * squares.
 */
#include "config.h"

#include "runtime/base/bytes.h"
#include "runtime/base/fpmode.h"
#include "runtime/codec/exec.h"

/* Of a sum of squares: values whose sum is a number by itself, whatever the threads, and how many
 * such sums are kept before they are added. */
#define TW_SQUARE_VALUES ((size_t)65536)
#define TW_SQUARE_PIECES ((size_t)256)

/* The largest of the pieces' maxima, whoever found it. */
static uint32_t tw_absmax_threads(const tw_codec_t *codec, int threads, const uint8_t *src,
                                  size_t n)
{
    const size_t piece = tw_exec_piece(codec, threads, n);
    uint32_t     most  = 0;

#ifdef _OPENMP
#pragma omp parallel for num_threads(threads) schedule(static, 1) reduction(max : most)
#endif
    for (int t = 0; t < threads; t++) {
        const size_t first = (size_t)t * piece;

        if (first < n) {
            const uint32_t bits = tw_absmax(codec->cpu, src + first * sizeof(float),
                                            n - first < piece ? n - first : piece);

            most = bits > most ? bits : most;
        }
    }
    return most;
}

/* What is asked of float32 in host memory: can it be told, into *result? */
static tw_status_t tw_values_check(const tw_codec_t *codec, const tw_exec_t *exec, const void *src,
                                   size_t n, const void *result)
{
    size_t bytes;

    if (codec == NULL || result == NULL || (n > 0 && src == NULL) || !tw_exec_valid(exec)) {
        return TW_ERR_INVALID_ARG;
    }
    if (!tw_size_mul(n, sizeof(float), &bytes)) {
        return TW_ERR_RANGE;
    }
    if (codec->dtype != TW_F32 || (exec != NULL && exec->memory != TW_MEMORY_HOST)) {
        return TW_ERR_UNSUPPORTED;
    }
    return TW_OK;
}

tw_status_t tw_codec_absmax(const tw_codec_t *codec, const tw_exec_t *exec, const void *src,
                            size_t n, float *largest)
{
    const tw_status_t status = tw_values_check(codec, exec, src, n, largest);
    int               threads;

    if (status != TW_OK) {
        return status;
    }
    threads  = tw_exec_threads(codec, exec, n);
    *largest = tw_bits_float(n == 0        ? 0
                             : threads > 1 ? tw_absmax_threads(codec, threads, src, n)
                                           : tw_absmax(codec->cpu, src, n));
    return TW_OK;
}

/* Piece p of n values. */
static double tw_square_piece(const tw_codec_t *codec, const uint8_t *src, size_t p, size_t n)
{
    const size_t      first = p * TW_SQUARE_VALUES;
    const size_t      m     = n - first < TW_SQUARE_VALUES ? n - first : TW_SQUARE_VALUES;
    const tw_fpmode_t mode  = tw_fpmode_enter();
    const double      sum   = tw_square_sum(codec->cpu, src + first * sizeof(float), m);

    tw_fpmode_leave(mode);
    return sum;
}

/* The sums of all pieces of n values, whoever computes which. */
static void tw_square_pieces(const tw_codec_t *codec, int threads, const uint8_t *src, size_t n,
                             double *sum)
{
    const size_t pieces = (n + TW_SQUARE_VALUES - 1) / TW_SQUARE_VALUES;

    if (threads == 1) {
        for (size_t p = 0; p < pieces; p++) {
            sum[p] = tw_square_piece(codec, src, p, n);
        }
        return;
    }
#ifdef _OPENMP
#pragma omp parallel for num_threads(threads) schedule(static)
#endif
    for (size_t p = 0; p < pieces; p++) {
        sum[p] = tw_square_piece(codec, src, p, n);
    }
}

/* All pieces, added in their order. */
TW_IN_FPMODE static double tw_square_all(const tw_codec_t *codec, int threads, const uint8_t *src,
                                         size_t n)
{
    const size_t most = TW_SQUARE_PIECES * TW_SQUARE_VALUES;
    double       piece[TW_SQUARE_PIECES], sum = 0.0;

    while (n > 0) {
        const size_t m = n < most ? n : most;

        tw_square_pieces(codec, threads, src, m, piece);
        for (size_t p = 0; p * TW_SQUARE_VALUES < m; p++) {
            sum += piece[p];
        }
        src += m * sizeof(float);
        n -= m;
    }
    return sum;
}

tw_status_t tw_codec_square_sum(const tw_codec_t *codec, const tw_exec_t *exec, const void *src,
                                size_t n, double *sum)
{
    const tw_status_t status = tw_values_check(codec, exec, src, n, sum);
    tw_fpmode_t       mode;

    if (status != TW_OK) {
        return status;
    }
    mode = tw_fpmode_enter();
    *sum = tw_square_all(codec, tw_exec_threads(codec, exec, n), src, n);
    tw_fpmode_leave(mode);
    return TW_OK;
}
