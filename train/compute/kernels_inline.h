/* SPDX-License-Identifier: BSD-3-Clause
 * compute/kernels_inline.h - what a kernel's loop calls for each value, on a GPU too. Only static
 * inline.
 */
#ifndef TW_COMPUTE_KERNELS_INLINE_H
#define TW_COMPUTE_KERNELS_INLINE_H

#include <string.h>

#include "train/compute/kernels.h"

#ifdef __CUDACC__
#define TW_INLINE static __device__ inline
#else
#define TW_INLINE static inline
#endif

/* Whether unit i is kept, of the halves of a key: a 32-bit hash with two multiplications, compared
 * as 31 bits because signed comparison is what vector units have. */
TW_INLINE int tw_keep_halves(uint32_t low, uint32_t high, int32_t threshold, uint32_t i)
{
    uint32_t h = i * UINT32_C(0x9e3779b1) + low;

    h ^= h >> 16;
    h *= UINT32_C(0x85ebca6b);
    h ^= (h >> 13) ^ high;
    h *= UINT32_C(0xc2b2ae35);
    h ^= h >> 16;
    return (int32_t)(h >> 1) >= threshold;
}

TW_INLINE int tw_keep(const tw_drop_t *drop, uint32_t i)
{
    return tw_keep_halves((uint32_t)drop->key, (uint32_t)(drop->key >> 32), drop->threshold, i);
}

/* e^x: x = n ln 2 + r with |r| <= ln(2)/2, the Taylor polynomial of degree 6 for e^r, and n put
 * into the exponent. Adding 1.5 * 2^23 rounds to the nearest integer and leaves it in the low
 * bits, so no value, NaN included, is converted to an integer type. */
TW_INLINE float tw_exp(float x)
{
    const float magic = 12582912.0f;
    float       c, shifted, n, r, p, power;
    int32_t     bits;

    c       = x < -87.0f ? -87.0f : x;
    c       = c > 87.0f ? 87.0f : c;
    shifted = c * 1.44269504f + magic;
    n       = shifted - magic;
    r       = c - n * 0.693359375f;
    r       = r - n * -2.12194440e-4f;
    p       = 1.0f / 720.0f;
    p       = p * r + 1.0f / 120.0f;
    p       = p * r + 1.0f / 24.0f;
    p       = p * r + 1.0f / 6.0f;
    p       = p * r + 0.5f;
    p       = p * r + 1.0f;
    p       = p * r + 1.0f;
    memcpy(&bits, &shifted, sizeof(bits));
    bits = (int32_t)(((uint32_t)bits - UINT32_C(0x4b400000) + 127u) << 23);
    memcpy(&power, &bits, sizeof(power));
    return p * power;
}

#endif /* TW_COMPUTE_KERNELS_INLINE_H */
