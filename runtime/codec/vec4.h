/* SPDX-License-Identifier: BSD-3-Clause
 * codec/vec4.h - what the NEON and the VSX kernels share: both have vectors of four float32, and
 * their differences stand in neon.h and vsx.h, of which a build has one. <codec>/<codec>_vec4.c are
 * their kernels.
 *
 * Kernels work on groups of 16 values, four vectors of their bits; a group's codes are one vector
 * for each byte of a code. The values after the last whole group are copied into one that is padded
 * with zeros. Each verb passes over memory once (blocks: once more from the cache, after their
 * maximum), at any alignment. Calculations are those of the scalar code, lane by lane, in the same
 * order.
 *
 * The stream argument of kernels is not heeded: nothing was measured on such hardware, and stores
 * that pass by the cache are not worth having unmeasured. The kernels ran under an emulator only.
 */
#ifndef TW_CODEC_VEC4_H
#define TW_CODEC_VEC4_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#ifdef HAVE_NEON
#include "runtime/codec/neon.h"
#else
#include "runtime/codec/vsx.h"
#endif
#include "runtime/codec/levels.h"
#include "runtime/codec/ops.h"

#define TW_V4_INLINE   static inline __attribute__((always_inline))
#define TW_V4_GROUP    16 /* values */
#define TW_V4_BYTES    64 /* of a group's values */
#define TW_V4_EXPONENT 0x7f800000u

/* A loop over the vectors of a group, unrolled so that they stay in registers. */
#ifdef __clang__
#define TW_V4_EACH(i, count) for (int i = 0; i < (int)(count); i++)
#else
#define TW_V4_EACH(i, count) _Pragma("GCC unroll 8") for (int i = 0; i < (int)(count); i++)
#endif

TW_V4_INLINE tw_u4 tw_u4_splat(uint32_t u)
{
    return (tw_u4){u, u, u, u};
}

TW_V4_INLINE tw_f4 tw_f4_splat(float x)
{
    return (tw_f4){x, x, x, x};
}

TW_V4_INLINE tw_b16 tw_b16_load(const uint8_t *p)
{
    tw_b16 v;

    memcpy(&v, p, sizeof(v));
    return v;
}

TW_V4_INLINE void tw_b16_store(uint8_t *p, tw_b16 v)
{
    memcpy(p, &v, sizeof(v));
}

TW_V4_INLINE void tw_v4_load(const uint8_t *src, tw_u4 *x)
{
    TW_V4_EACH(i, 4)
    {
        x[i] = (tw_u4)tw_b16_load(src + 16 * i);
    }
}

TW_V4_INLINE void tw_v4_store(uint8_t *dst, const tw_u4 *x)
{
    TW_V4_EACH(i, 4)
    {
        tw_b16_store(dst + 16 * i, (tw_b16)x[i]);
    }
}

/* x = src, or src + residual where there is one. */
TW_V4_INLINE void tw_v4_load_sum(const uint8_t *src, const uint8_t *residual, tw_u4 *x)
{
    tw_u4 r[4];

    tw_v4_load(src, x);
    if (residual != NULL) {
        tw_v4_load(residual, r);
        TW_V4_EACH(i, 4)
        {
            x[i] = (tw_u4)((tw_f4)x[i] + (tw_f4)r[i]);
        }
    }
}

TW_V4_INLINE tw_u4 tw_u4_magnitude(tw_u4 x)
{
    return x & tw_u4_splat(0x7fffffffu);
}

/* All ones where the sign bit is set. */
TW_V4_INLINE tw_u4 tw_u4_negative(tw_u4 x)
{
    return (tw_u4)((tw_i4)x >> 31);
}

/* All ones where x is Inf or NaN. */
TW_V4_INLINE tw_u4 tw_u4_not_finite(tw_u4 x)
{
    return tw_u4_eq(x & tw_u4_splat(TW_V4_EXPONENT), tw_u4_splat(TW_V4_EXPONENT));
}

/* The lowest, or the top, byte of each of 16 words. */
TW_V4_INLINE tw_b16 tw_v4_low_bytes(const tw_u4 *x)
{
    return tw_even_bytes(tw_even_halves((tw_b16)x[0], (tw_b16)x[1]),
                         tw_even_halves((tw_b16)x[2], (tw_b16)x[3]));
}

TW_V4_INLINE tw_b16 tw_v4_top_bytes(const tw_u4 *x)
{
    return tw_odd_bytes(tw_odd_halves((tw_b16)x[0], (tw_b16)x[1]),
                        tw_odd_halves((tw_b16)x[2], (tw_b16)x[3]));
}

/* 16 bytes become words: their lowest byte, or their top byte, the others 0. */
TW_V4_INLINE void tw_v4_from_low_bytes(tw_b16 c, tw_u4 *x)
{
    const tw_b16 zero = (tw_b16)tw_u4_splat(0);
    const tw_b16 a = tw_zip_first_bytes(c, zero), b = tw_zip_last_bytes(c, zero);

    x[0] = (tw_u4)tw_zip_first_halves(a, zero);
    x[1] = (tw_u4)tw_zip_last_halves(a, zero);
    x[2] = (tw_u4)tw_zip_first_halves(b, zero);
    x[3] = (tw_u4)tw_zip_last_halves(b, zero);
}

TW_V4_INLINE void tw_v4_from_top_bytes(tw_b16 c, tw_u4 *x)
{
    const tw_b16 zero = (tw_b16)tw_u4_splat(0);
    const tw_b16 a = tw_zip_first_bytes(zero, c), b = tw_zip_last_bytes(zero, c);

    x[0] = (tw_u4)tw_zip_first_halves(zero, a);
    x[1] = (tw_u4)tw_zip_last_halves(zero, a);
    x[2] = (tw_u4)tw_zip_first_halves(zero, b);
    x[3] = (tw_u4)tw_zip_last_halves(zero, b);
}

/* tw_levels_rank() of 16 magnitudes. The bins are loaded one by one: they are 8 KB, which stay in
 * the first cache; everything around these loads is done four by four. */
TW_V4_INLINE void tw_v4_ranks(const tw_levels_t *levels, tw_u4 *x)
{
    const tw_u4 low = tw_u4_splat(levels->low), high = tw_u4_splat(levels->high);
    uint32_t    at[TW_V4_GROUP];

    TW_V4_EACH(i, 4)
    {
        x[i] = tw_u4_min(tw_u4_max(x[i], low), high);
        tw_b16_store((uint8_t *)(at + 4 * i), (tw_b16)((x[i] - low) >> TW_LEVELS_BIN));
    }
    TW_V4_EACH(i, 4)
    {
        const tw_u4 bins = {levels->bins[at[4 * i]], levels->bins[at[4 * i + 1]],
                            levels->bins[at[4 * i + 2]], levels->bins[at[4 * i + 3]]};

        x[i] = (x[i] + bins) >> TW_LEVELS_BIN;
    }
}

/* What 16 codes decode to. */
TW_V4_INLINE void tw_v4_values(const tw_levels_t *levels, tw_b16 c, tw_u4 *x)
{
    uint8_t code[TW_V4_GROUP];

    tw_b16_store(code, c);
    TW_V4_EACH(i, 4)
    {
        const tw_f4 v = {levels->value[code[4 * i]], levels->value[code[4 * i + 1]],
                         levels->value[code[4 * i + 2]], levels->value[code[4 * i + 3]]};

        x[i] = (tw_u4)v;
    }
}

/* Bits of the largest |x|, x = src or src + residual. */
TW_V4_INLINE uint32_t tw_v4_absmax(const uint8_t *src, const uint8_t *residual, size_t n)
{
    tw_u4    most[4] = {tw_u4_splat(0), tw_u4_splat(0), tw_u4_splat(0), tw_u4_splat(0)}, x[4];
    uint32_t result  = 0;

    for (; n >= TW_V4_GROUP; n -= TW_V4_GROUP, src += TW_V4_BYTES) {
        tw_v4_load_sum(src, residual, x);
        residual = residual != NULL ? residual + TW_V4_BYTES : NULL;
        TW_V4_EACH(i, 4)
        {
            most[i] = tw_u4_max(most[i], tw_u4_magnitude(x[i]));
        }
    }
    if (n > 0) {
        uint8_t a[TW_V4_BYTES] = {0}, r[TW_V4_BYTES] = {0};

        memcpy(a, src, 4 * n);
        if (residual != NULL) {
            memcpy(r, residual, 4 * n);
        }
        tw_v4_load_sum(a, residual != NULL ? r : NULL, x);
        TW_V4_EACH(i, 4)
        {
            most[i] = tw_u4_max(most[i], tw_u4_magnitude(x[i]));
        }
    }
    most[0] = tw_u4_max(tw_u4_max(most[0], most[1]), tw_u4_max(most[2], most[3]));
    for (int lane = 0; lane < 4; lane++) {
        result = most[0][lane] > result ? most[0][lane] : result;
    }
    return result;
}

#endif /* TW_CODEC_VEC4_H */
