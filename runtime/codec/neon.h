/* SPDX-License-Identifier: BSD-3-Clause
 * codec/neon.h - vectors of 128 bits by Advanced SIMD of arm64, under the names that vec4.h and the
 * loops in *_vec4.h use; vsx.h is the same for POWER. Only what differs between the two stands
 * here: arithmetic, logic and shifts are C operators on vectors, loads and stores are memcpy().
 *
 * Byte i of a vector is byte i in memory, lane i its i-th value; masks are all ones or 0.
 */
#ifndef TW_CODEC_NEON_H
#define TW_CODEC_NEON_H

#include <arm_neon.h>

typedef float32x4_t tw_f4;
typedef uint32x4_t  tw_u4;
typedef int32x4_t   tw_i4;
typedef uint8x16_t  tw_b16;
typedef float64x2_t tw_d2;
typedef uint64x2_t  tw_q2;

/* Lane by lane; unsigned. */
static inline tw_u4 tw_u4_eq(tw_u4 a, tw_u4 b)
{
    return vceqq_u32(a, b);
}
static inline tw_u4 tw_u4_gt(tw_u4 a, tw_u4 b)
{
    return vcgtq_u32(a, b);
}
static inline tw_u4 tw_u4_min(tw_u4 a, tw_u4 b)
{
    return vminq_u32(a, b);
}
static inline tw_u4 tw_u4_max(tw_u4 a, tw_u4 b)
{
    return vmaxq_u32(a, b);
}
static inline tw_b16 tw_b16_eq(tw_b16 a, tw_b16 b)
{
    return vceqq_u8(a, b);
}

/* The first two lanes, or the last two, converted. */
static inline tw_d2 tw_first_doubles(tw_f4 v)
{
    return vcvt_f64_f32(vget_low_f32(v));
}
static inline tw_d2 tw_last_doubles(tw_f4 v)
{
    return vcvt_high_f64_f32(v);
}

/* Bits of a where the mask has ones, else of b. */
static inline tw_u4 tw_u4_select(tw_u4 mask, tw_u4 a, tw_u4 b)
{
    return vbslq_u32(mask, a, b);
}
static inline tw_b16 tw_b16_select(tw_b16 mask, tw_b16 a, tw_b16 b)
{
    return vbslq_u8(mask, a, b);
}

/* The even or odd bytes, or halves of 16 bits, of a and then of b. */
static inline tw_b16 tw_even_bytes(tw_b16 a, tw_b16 b)
{
    return vuzp1q_u8(a, b);
}
static inline tw_b16 tw_odd_bytes(tw_b16 a, tw_b16 b)
{
    return vuzp2q_u8(a, b);
}
static inline tw_b16 tw_even_halves(tw_b16 a, tw_b16 b)
{
    return (tw_b16)vuzp1q_u16((uint16x8_t)a, (uint16x8_t)b);
}
static inline tw_b16 tw_odd_halves(tw_b16 a, tw_b16 b)
{
    return (tw_b16)vuzp2q_u16((uint16x8_t)a, (uint16x8_t)b);
}

/* Bytes, or halves, of a and b by turns, a's first: of the first 8 bytes of each, or the last 8. */
static inline tw_b16 tw_zip_first_bytes(tw_b16 a, tw_b16 b)
{
    return vzip1q_u8(a, b);
}
static inline tw_b16 tw_zip_last_bytes(tw_b16 a, tw_b16 b)
{
    return vzip2q_u8(a, b);
}
static inline tw_b16 tw_zip_first_halves(tw_b16 a, tw_b16 b)
{
    return (tw_b16)vzip1q_u16((uint16x8_t)a, (uint16x8_t)b);
}
static inline tw_b16 tw_zip_last_halves(tw_b16 a, tw_b16 b)
{
    return (tw_b16)vzip2q_u16((uint16x8_t)a, (uint16x8_t)b);
}

/* Byte i is byte at[i] of a and b put together, at[i] < 32. */
static inline tw_b16 tw_pick(tw_b16 a, tw_b16 b, tw_b16 at)
{
    const uint8x16x2_t ab = {{a, b}};

    return vqtbl2q_u8(ab, at);
}

/* Byte i is table[at[i]], at[i] < 128. What is outside a table gives 0; below 64 wraps to that. */
static inline tw_b16 tw_look_up_128(const uint8_t *table, tw_b16 at)
{
    const uint8x16x4_t low = {
        {vld1q_u8(table), vld1q_u8(table + 16), vld1q_u8(table + 32), vld1q_u8(table + 48)}};
    const uint8x16x4_t high = {
        {vld1q_u8(table + 64), vld1q_u8(table + 80), vld1q_u8(table + 96), vld1q_u8(table + 112)}};

    return vqtbl4q_u8(low, at) | vqtbl4q_u8(high, vsubq_u8(at, vdupq_n_u8(64)));
}

/* The top bits of 32 bytes: those of a are bits 0 to 15. */
static inline uint32_t tw_top_bits_32(tw_b16 a, tw_b16 b)
{
    const tw_b16 place = {1, 2, 4, 8, 16, 32, 64, 128, 1, 2, 4, 8, 16, 32, 64, 128};
    const tw_b16 in_a  = (tw_b16)vshrq_n_s8((int8x16_t)a, 7),
                 in_b  = (tw_b16)vshrq_n_s8((int8x16_t)b, 7);
    tw_b16 sum         = vpaddq_u8(in_a & place, in_b & place);

    sum = vpaddq_u8(sum, sum);
    sum = vpaddq_u8(sum, sum);
    return vgetq_lane_u32((tw_u4)sum, 0);
}

#endif /* TW_CODEC_NEON_H */
