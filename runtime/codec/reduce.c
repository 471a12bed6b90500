/* SPDX-License-Identifier: BSD-3-Clause
 * codec/reduce.c - one number about a vector in host memory: the largest magnitude.
 */
#include "config.h"

#include "runtime/base/bytes.h"
#include "runtime/codec/exec.h"

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

tw_status_t tw_codec_absmax(const tw_codec_t *codec, const tw_exec_t *exec, const void *src,
                            size_t n, float *largest)
{
    size_t bytes;
    int    threads;

    if (codec == NULL || largest == NULL || (n > 0 && src == NULL) || !tw_exec_valid(exec)) {
        return TW_ERR_INVALID_ARG;
    }
    if (!tw_size_mul(n, sizeof(float), &bytes)) {
        return TW_ERR_RANGE;
    }
    if (codec->dtype != TW_F32 || (exec != NULL && exec->memory != TW_MEMORY_HOST)) {
        return TW_ERR_UNSUPPORTED;
    }
    threads  = tw_exec_threads(codec, exec, n);
    *largest = tw_bits_float(n == 0        ? 0
                             : threads > 1 ? tw_absmax_threads(codec, threads, src, n)
                                           : tw_absmax(codec->cpu, src, n));
    return TW_OK;
}
