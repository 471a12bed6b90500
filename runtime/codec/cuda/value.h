/* SPDX-License-Identifier: BSD-3-Clause
 * codec/cuda/value.h - what the kernels do with one value, in terms of its bits. Compiles as C,
 * too, so that tests/gpu/test_value.c can hold it against the scalar kernels without a device.
 *
 * The arithmetic is written as the scalar kernels have it and compiled without contraction,
 * flushing or approximate division, so each operation rounds as theirs does. Only NaN differs: a
 * device's sum is always the NaN 0x7fffffff, so tw_cuda_sum() looks at the operands.
 */
#ifndef TW_CODEC_CUDA_VALUE_H
#define TW_CODEC_CUDA_VALUE_H

#include <stdint.h>
#include <string.h>

#include "runtime/codec/cuda/kind.h"

#ifdef __CUDACC__
#define TW_VALUE static __host__ __device__ __forceinline__
#else
#define TW_VALUE static inline __attribute__((always_inline))
#endif

typedef enum tw_cuda_scaled { TW_CUDA_TREE8, TW_CUDA_INT8, TW_CUDA_SCALED } tw_cuda_scaled_t;

#define TW_CUDA_NAN      0x7fc00000u
#define TW_CUDA_INFINITY 0x7f800000u
#define TW_CUDA_LEVELS   128
#define TW_CUDA_BIN      17 /* as in codec/levels.h */
#define TW_CUDA_BINS     2048

/* Levels as codec/levels.h has them, but for the bins, which the thread blocks fill in themselves.
 */
typedef struct tw_cuda_levels {
    uint32_t value[256];                /* float bits that a code decodes to               */
    uint32_t threshold[TW_CUDA_LEVELS]; /* ascending; 0xffffffff where there is no level   */
    uint32_t code[TW_CUDA_LEVELS];      /* of each rank                                    */
    uint32_t low, high;                 /* bits of |y| are clamped to these                */
} tw_cuda_levels_t;

TW_VALUE uint32_t tw_cuda_bits(float x)
{
#ifdef __CUDA_ARCH__
    return __float_as_uint(x);
#else
    uint32_t u;

    memcpy(&u, &x, sizeof(u));
    return u;
#endif
}

TW_VALUE float tw_cuda_float(uint32_t u)
{
#ifdef __CUDA_ARCH__
    return __uint_as_float(u);
#else
    float x;

    memcpy(&x, &u, sizeof(x));
    return x;
#endif
}

TW_VALUE uint64_t tw_cuda_bits64(double x)
{
    uint64_t u;

    memcpy(&u, &x, sizeof(u));
    return u;
}

TW_VALUE double tw_cuda_double(uint64_t u)
{
    double x;

    memcpy(&x, &u, sizeof(x));
    return x;
}

TW_VALUE int tw_cuda_finite(uint32_t u)
{
    return (u & TW_CUDA_INFINITY) != TW_CUDA_INFINITY;
}

/* src + residual with the NaN of x86-64: the first operand that is one, made quiet, or for Inf -
 * Inf the default NaN. */
TW_VALUE uint32_t tw_cuda_sum(uint32_t src, uint32_t residual)
{
    const uint32_t sum = tw_cuda_bits(tw_cuda_float(src) + tw_cuda_float(residual));

    if ((sum & 0x7fffffffu) > TW_CUDA_INFINITY) {
        if ((src & 0x7fffffffu) > TW_CUDA_INFINITY) {
            return src | 0x00400000u;
        }
        return (residual & 0x7fffffffu) > TW_CUDA_INFINITY ? residual | 0x00400000u : 0xffc00000u;
    }
    return sum;
}

TW_VALUE uint64_t tw_cuda_sum64(uint64_t src, uint64_t residual)
{
    const uint64_t sign = (uint64_t)1 << 63, infinity = (uint64_t)0x7ff << 52,
                   quiet = (uint64_t)1 << 51;
    const uint64_t sum   = tw_cuda_bits64(tw_cuda_double(src) + tw_cuda_double(residual));

    if ((sum & ~sign) > infinity) {
        if ((src & ~sign) > infinity) {
            return src | quiet;
        }
        return (residual & ~sign) > infinity ? residual | quiet : sign | infinity | quiet;
    }
    return sum;
}

/* ---- bitpack, bf16 ----------------------------------------------------------------------------
 */

/* The top bits of u to nearest, half to even; NaN is made quiet and cut. See base/rounding.h. */
TW_VALUE uint32_t tw_cuda_round(uint32_t u, int drop)
{
    const uint32_t nearest = (u + ((1u << (drop - 1)) - 1) + (u >> drop & 1)) >> drop;

    return (u & 0x7fffffffu) > TW_CUDA_INFINITY ? (u | 0x00400000u) >> drop : nearest;
}

/* One byte: 0x7f is NaN, 0x7e Inf and what rounds beyond 0x7d. */
TW_VALUE uint32_t tw_cuda_round_byte(uint32_t u)
{
    const uint32_t size = u & 0x7fffffffu;
    const uint32_t top  = (size + 0x007fffffu + (size >> 24 & 1)) >> 24;

    return (u >> 24 & 0x80u) | (size > TW_CUDA_INFINITY ? 0x7fu : top < 0x7eu ? top : 0x7eu);
}

TW_VALUE uint32_t tw_cuda_expand_byte(uint32_t code)
{
    const uint32_t top = code & 0x7fu;

    return (code & 0x80u) << 24 | (top == 0x7fu   ? TW_CUDA_NAN
                                   : top == 0x7eu ? TW_CUDA_INFINITY
                                                  : top << 24);
}

/* double, K bytes; round only below K = 8. */
TW_VALUE uint64_t tw_cuda_pack64(uint64_t u, int k, int round)
{
    const int      drop     = 64 - 8 * k;
    const uint64_t infinity = (uint64_t)0x7ff << 52, size = u & ~((uint64_t)1 << 63);
    uint64_t       top;

    if (!round) {
        return u >> drop;
    }
    if (k == 1) {
        top = (size + (((uint64_t)1 << 55) - 1) + (size >> 56 & 1)) >> 56;
        return (u >> 56 & 0x80) | (size > infinity ? 0x7f : top < 0x7e ? top : 0x7e);
    }
    if (size > infinity) {
        return (u | (uint64_t)1 << 51) >> drop;
    }
    return (u + (((uint64_t)1 << (drop - 1)) - 1) + (u >> drop & 1)) >> drop;
}

TW_VALUE uint64_t tw_cuda_unpack64(uint64_t code, int k, int round)
{
    if (round && k == 1) {
        const uint64_t top = code & 0x7f;

        return (code & 0x80) << 56 | (top == 0x7f   ? (uint64_t)0x7ff8 << 48
                                      : top == 0x7e ? (uint64_t)0x7ff0 << 48
                                                    : top << 56);
    }
    return code << (64 - 8 * k);
}

/* ---- fp16 -------------------------------------------------------------------------------------
 */

TW_VALUE uint32_t tw_cuda_shift_to_nearest(uint32_t v, uint32_t shift)
{
    return (v + ((1u << (shift - 1)) - 1) + (v >> shift & 1)) >> shift;
}

TW_VALUE uint32_t tw_cuda_to_half(uint32_t u)
{
    const uint32_t sign = u >> 16 & 0x8000u, size = u & 0x7fffffffu;

    if (size > TW_CUDA_INFINITY) {
        return sign | 0x7e00u | (size >> 13 & 0x3ffu);
    }
    if (size >= 0x477ff000u) { /* 65520 */
        return sign | 0x7c00u;
    }
    if (size >= 0x38800000u) { /* 2^-14: normal */
        return sign | tw_cuda_shift_to_nearest(size - (112u << 23), 13);
    }
    if (size < 0x33000000u) { /* 2^-25 */
        return sign;
    }
    return sign | tw_cuda_shift_to_nearest((size & 0x007fffffu) | 0x00800000u, 126 - (size >> 23));
}

TW_VALUE uint32_t tw_cuda_from_half(uint32_t h)
{
    const uint32_t sign = (h & 0x8000u) << 16, exponent = h >> 10 & 0x1fu, mantissa = h & 0x3ffu;

    if (exponent == 0x1f) {
        return sign | TW_CUDA_INFINITY | mantissa << 13 | (mantissa != 0 ? 0x00400000u : 0);
    }
    if (exponent != 0) {
        return sign | (exponent + 112) << 23 | mantissa << 13;
    }
    /* Zero or subnormal: mantissa * 2^-24, exact as a float32. */
    return sign | tw_cuda_bits((float)mantissa * 5.9604644775390625e-8f);
}

/* ---- levels -----------------------------------------------------------------------------------
 */

/* The levels at or below bits, from the thresholds alone. */
TW_VALUE uint32_t tw_cuda_rank_search(const uint32_t *threshold, uint32_t bits)
{
    uint32_t rank = 0;

    for (uint32_t step = TW_CUDA_LEVELS / 2; step > 0; step /= 2) {
        rank += threshold[rank + step] <= bits ? step : 0;
    }
    return rank;
}

/* The bin that starts at the bits `start`, where `rank` thresholds are at or below start: bins of
 * codec/levels.h. Adds to *rank the threshold in it, if there is one. */
TW_VALUE uint32_t tw_cuda_bin(const uint32_t *threshold, uint32_t start, uint32_t *rank)
{
    const uint32_t width = 1u << TW_CUDA_BIN;
    uint32_t       bin   = (*rank << TW_CUDA_BIN) - start;

    if (*rank + 1 < TW_CUDA_LEVELS && threshold[*rank + 1] - start < width) {
        *rank += 1;
        bin += width - (threshold[*rank] - start);
    }
    return bin;
}

TW_VALUE uint32_t tw_cuda_rank(const uint32_t *bins, uint32_t low, uint32_t high, uint32_t bits)
{
    bits = bits < low ? low : bits;
    bits = bits > high ? high : bits;
    return (bits + bins[(bits - low) >> TW_CUDA_BIN]) >> TW_CUDA_BIN;
}

/* static8, mantissa8. */
TW_VALUE uint32_t tw_cuda_fixed8(const uint32_t *bins, const uint32_t *codes, uint32_t low,
                                 uint32_t high, uint32_t x)
{
    const uint32_t size = x & 0x7fffffffu;
    const uint32_t code = codes[tw_cuda_rank(bins, low, high, size)];

    return size < TW_CUDA_INFINITY ? code | (code != 0 ? x >> 24 & 0x80u : 0) : 0x80u;
}

/* ---- tree8, int8 ------------------------------------------------------------------------------
 */

/* What a block's maximum says. */
typedef struct tw_cuda_scaling {
    float    factor; /* y = x * factor                    */
    uint32_t scale;  /* the bits that are sent            */
    int      poison; /* the block holds Inf or NaN        */
} tw_cuda_scaling_t;

TW_VALUE tw_cuda_scaling_t tw_cuda_scale(tw_cuda_scaled_t type, uint32_t most)
{
    const float    numerator = type == TW_CUDA_TREE8 ? 1.0f : 127.0f;
    const uint32_t least = type == TW_CUDA_TREE8 ? 0x00800000u : 0x04000000u; /* 2^-126, 2^-119 */
    tw_cuda_scaling_t scaling = {0.0f, 0, most >= TW_CUDA_INFINITY};

    if (scaling.poison) {
        scaling.scale = TW_CUDA_NAN;
    } else if (most >= least) {
        scaling.factor = numerator / tw_cuda_float(most);
        scaling.scale  = tw_cuda_bits(tw_cuda_float(most) / numerator);
        if (!tw_cuda_finite(tw_cuda_bits(tw_cuda_float(scaling.scale) * numerator))) {
            scaling.scale -= 1;
        }
    }
    return scaling;
}

TW_VALUE uint32_t tw_cuda_tree8(const uint32_t *bins, uint32_t low, uint32_t high, uint32_t x,
                                float factor)
{
    const uint32_t y = tw_cuda_bits(tw_cuda_float(x) * factor);

    return tw_cuda_rank(bins, low, high, y & 0x7fffffffu) | (y >> 24 & 0x80u);
}

TW_VALUE uint32_t tw_cuda_int8(uint32_t x, float factor)
{
    const float y = tw_cuda_float(x) * factor;

    return tw_cuda_bits(y + 12582912.0f) &
           0xffu; /* 1.5 * 2^23: rounds half to even in the low bits */
}

TW_VALUE float tw_cuda_from_int8(uint32_t code, float scale)
{
    return (float)((int32_t)(code ^ 0x80u) - 128) * scale;
}

/* ---- onebit -----------------------------------------------------------------------------------
 */

/* The bits of v at the even places of a word of 32. */
TW_VALUE uint32_t tw_cuda_spread(uint32_t v)
{
    v &= 0xffffu;
    v = (v | v << 8) & 0x00ff00ffu;
    v = (v | v << 4) & 0x0f0f0f0fu;
    v = (v | v << 2) & 0x33333333u;
    return (v | v << 1) & 0x55555555u;
}

TW_VALUE float tw_cuda_mean(float sum, uint32_t count)
{
    return count > 0 ? sum / (float)count : 0.0f;
}

#endif /* TW_CODEC_CUDA_VALUE_H */
