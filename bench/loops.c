/* SPDX-License-Identifier: BSD-3-Clause
 * bench/loops.c - see loops.h.
 */
#include "config.h"

#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC optimize("O3") /* a later -O2 on the command line would win over an -O3 */
#endif

#include <math.h>
#include <string.h>

#if defined(__F16C__)
#include <immintrin.h>
#endif

#include "bench/loops.h"

#if defined(__F16C__) || defined(__ARM_FP16_FORMAT_IEEE)
#define HAVE_HALF 1
#else
#define HAVE_HALF 0
#endif

int loops_runs(int with_half)
{
#if defined(__AVX2__)
    /* Every processor with AVX2 has F16C, which clang 14 cannot be asked about. */
    if (!__builtin_cpu_supports("avx2") || !__builtin_cpu_supports("fma")) {
        return 0;
    }
#endif
    return !with_half || HAVE_HALF;
}

void loops_bf16_encode(const float *restrict x, size_t n, uint16_t *restrict to)
{
    for (size_t i = 0; i < n; i++) {
        uint32_t u;

        memcpy(&u, &x[i], 4);
        to[i] = (uint16_t)((u + 0x7fffu + ((u >> 16) & 1u)) >> 16);
    }
}

void loops_bf16_decode(const uint16_t *restrict from, size_t n, float *restrict y)
{
    for (size_t i = 0; i < n; i++) {
        const uint32_t u = (uint32_t)from[i] << 16;

        memcpy(&y[i], &u, 4);
    }
}

#if defined(__F16C__)

void loops_fp16_encode(const float *restrict x, size_t n, uint16_t *restrict to)
{
    size_t i = 0;

    for (; i + 8 <= n; i += 8) {
        _mm_storeu_si128((__m128i *)(void *)(to + i),
                         _mm256_cvtps_ph(_mm256_loadu_ps(x + i), _MM_FROUND_TO_NEAREST_INT));
    }
    for (; i < n; i++) {
        to[i] = _cvtss_sh(x[i], _MM_FROUND_TO_NEAREST_INT);
    }
}

void loops_fp16_decode(const uint16_t *restrict from, size_t n, float *restrict y)
{
    size_t i = 0;

    for (; i + 8 <= n; i += 8) {
        _mm256_storeu_ps(
            y + i, _mm256_cvtph_ps(_mm_loadu_si128((const __m128i *)(const void *)(from + i))));
    }
    for (; i < n; i++) {
        y[i] = _cvtsh_ss(from[i]);
    }
}

#elif HAVE_HALF

void loops_fp16_encode(const float *restrict x, size_t n, uint16_t *restrict to)
{
    for (size_t i = 0; i < n; i++) {
        const __fp16 half = (__fp16)x[i];

        memcpy(&to[i], &half, 2);
    }
}

void loops_fp16_decode(const uint16_t *restrict from, size_t n, float *restrict y)
{
    for (size_t i = 0; i < n; i++) {
        __fp16 half;

        memcpy(&half, &from[i], 2);
        y[i] = (float)half;
    }
}

#else

void loops_fp16_encode(const float *restrict x, size_t n, uint16_t *restrict to)
{
    (void)x;
    memset(to, 0, n * sizeof(*to));
}

void loops_fp16_decode(const uint16_t *restrict from, size_t n, float *restrict y)
{
    (void)from;
    memset(y, 0, n * sizeof(*y));
}

#endif

static uint8_t search(double y, const double *middles)
{
    int low = 0, high = 127; /* of 128 levels */

    while (low < high) {
        const int middle = (low + high) / 2;

        if (y > middles[middle]) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return (uint8_t)low;
}

void loops_search_encode(const float *restrict x, size_t n, const double *restrict middles,
                         uint8_t *restrict to)
{
    for (size_t b = 0; b < n; b += LOOPS_BLOCK) {
        const size_t m    = n - b < LOOPS_BLOCK ? n - b : LOOPS_BLOCK;
        float        most = 0.0f;

        for (size_t i = 0; i < m; i++) {
            most = fabsf(x[b + i]) > most ? fabsf(x[b + i]) : most;
        }
        memcpy(to, &most, 4);
        to += 4;
        for (size_t i = 0; i < m; i++) {
            const double y = most > 0.0f ? fabs((double)x[b + i]) / (double)most : 0.0;

            to[i] = (uint8_t)(search(y, middles) | (signbit(x[b + i]) ? 0x80 : 0));
        }
        to += m;
    }
}

void loops_search_decode(const uint8_t *restrict from, size_t n, const float *restrict levels,
                         float *restrict y)
{
    for (size_t b = 0; b < n; b += LOOPS_BLOCK) {
        const size_t m = n - b < LOOPS_BLOCK ? n - b : LOOPS_BLOCK;
        float        most;

        memcpy(&most, from, 4);
        from += 4;
        for (size_t i = 0; i < m; i++) {
            const float v = levels[from[i] & 0x7f] * most;

            y[b + i] = (from[i] & 0x80) != 0 ? -v : v;
        }
        from += m;
    }
}
