/* SPDX-License-Identifier: BSD-3-Clause
 * codec/vsx.h - vectors of 128 bits by VSX of POWER8 and later, little-endian, under the names that
 * vec4.h and the loops in *_vec4.h use; neon.h is the same for arm64. Only what differs between the
 * two stands here: arithmetic, logic and shifts are C operators on vectors, loads and stores are
 * memcpy().
 *
 * Byte i of a vector is byte i in memory, lane i its i-th value; masks are all ones or 0. Nothing
 * here or in the loops calculates with floats by the older AltiVec instructions: Linux starts
 * programs with those in a mode that flushes subnormal numbers, while VSX obeys the FPSCR, as
 * scalar code does.
 */
#ifndef TW_CODEC_VSX_H
#define TW_CODEC_VSX_H

#include <altivec.h>
#undef bool /* altivec.h may make vector, pixel and bool words of its own */
#undef vector
#undef pixel
#define bool _Bool /* as <stdbool.h>, which may have been included before */
#include <stdint.h>
#include <string.h>

typedef __vector float              tw_f4;
typedef __vector unsigned int       tw_u4;
typedef __vector int                tw_i4;
typedef __vector unsigned char      tw_b16;
typedef __vector unsigned short     tw_h8;
typedef __vector double             tw_d2;
typedef __vector unsigned long long tw_q2;

/* Lane by lane; unsigned. */
static inline tw_u4 tw_u4_eq(tw_u4 a, tw_u4 b)
{
    return (tw_u4)vec_cmpeq(a, b);
}
static inline tw_u4 tw_u4_gt(tw_u4 a, tw_u4 b)
{
    return (tw_u4)vec_cmpgt(a, b);
}
static inline tw_u4 tw_u4_min(tw_u4 a, tw_u4 b)
{
    return vec_min(a, b);
}
static inline tw_u4 tw_u4_max(tw_u4 a, tw_u4 b)
{
    return vec_max(a, b);
}
static inline tw_b16 tw_b16_eq(tw_b16 a, tw_b16 b)
{
    return (tw_b16)vec_cmpeq(a, b);
}

/* The first two lanes, or the last two, converted. */
static inline tw_d2 tw_first_doubles(tw_f4 v)
{
    return vec_doubleh(v);
}
static inline tw_d2 tw_last_doubles(tw_f4 v)
{
    return vec_doublel(v);
}

/* Bits of a where the mask has ones, else of b. */
static inline tw_u4 tw_u4_select(tw_u4 mask, tw_u4 a, tw_u4 b)
{
    return vec_sel(b, a, mask);
}
static inline tw_b16 tw_b16_select(tw_b16 mask, tw_b16 a, tw_b16 b)
{
    return vec_sel(b, a, mask);
}

/* Byte i is byte at[i] of a and b put together, at[i] < 32. */
static inline tw_b16 tw_pick(tw_b16 a, tw_b16 b, tw_b16 at)
{
    return vec_perm(a, b, at);
}

/* The even or odd bytes, or halves of 16 bits, of a and then of b. Packing keeps the low ones. */
static inline tw_b16 tw_even_bytes(tw_b16 a, tw_b16 b)
{
    return vec_pack((tw_h8)a, (tw_h8)b);
}
static inline tw_b16 tw_odd_bytes(tw_b16 a, tw_b16 b)
{
    const tw_b16 at = {1, 3, 5, 7, 9, 11, 13, 15, 17, 19, 21, 23, 25, 27, 29, 31};

    return vec_perm(a, b, at);
}
static inline tw_b16 tw_even_halves(tw_b16 a, tw_b16 b)
{
    return (tw_b16)vec_pack((tw_u4)a, (tw_u4)b);
}
static inline tw_b16 tw_odd_halves(tw_b16 a, tw_b16 b)
{
    const tw_b16 at = {2, 3, 6, 7, 10, 11, 14, 15, 18, 19, 22, 23, 26, 27, 30, 31};

    return vec_perm(a, b, at);
}

/* Bytes, or halves, of a and b by turns, a's first: of the first 8 bytes of each, or the last 8. */
static inline tw_b16 tw_zip_first_bytes(tw_b16 a, tw_b16 b)
{
    return vec_mergeh(a, b);
}
static inline tw_b16 tw_zip_last_bytes(tw_b16 a, tw_b16 b)
{
    return vec_mergel(a, b);
}
static inline tw_b16 tw_zip_first_halves(tw_b16 a, tw_b16 b)
{
    return (tw_b16)vec_mergeh((tw_h8)a, (tw_h8)b);
}
static inline tw_b16 tw_zip_last_halves(tw_b16 a, tw_b16 b)
{
    return (tw_b16)vec_mergel((tw_h8)a, (tw_h8)b);
}

/* table[at[i] mod 32], at 32 bytes. */
static inline tw_b16 tw_look_up_32(const uint8_t *table, tw_b16 at)
{
    tw_b16 t[2];

    memcpy(t, table, sizeof(t));
    return vec_perm(t[0], t[1], at);
}

/* Byte i is table[at[i]], at[i] < 128: a permutation minds 5 bits of it, the other two select. */
static inline tw_b16 tw_look_up_128(const uint8_t *table, tw_b16 at)
{
    const tw_b16 bit_5 = vec_splats((unsigned char)32), below_64 = vec_splats((unsigned char)63);
    const tw_b16 in_odd = tw_b16_eq(at & bit_5, bit_5), in_high = (tw_b16)vec_cmpgt(at, below_64);
    const tw_b16 low = vec_sel(tw_look_up_32(table, at), tw_look_up_32(table + 32, at), in_odd);
    const tw_b16 high =
        vec_sel(tw_look_up_32(table + 64, at), tw_look_up_32(table + 96, at), in_odd);

    return vec_sel(low, high, in_high);
}

/* The top bits of 16 bytes. The instruction counts bits from the register's other end, and puts
 * what it gathers into the doubleword there. */
static inline uint32_t tw_top_bits_16(tw_b16 v)
{
    const tw_b16 at = {120, 112, 104, 96, 88, 80, 72, 64, 56, 48, 40, 32, 24, 16, 8, 0};

    return (uint32_t)((__vector unsigned long long)vec_bperm(v, at))[1];
}

/* The top bits of 32 bytes: those of a are bits 0 to 15. */
static inline uint32_t tw_top_bits_32(tw_b16 a, tw_b16 b)
{
    return tw_top_bits_16(a) | tw_top_bits_16(b) << 16;
}

#endif /* TW_CODEC_VSX_H */
