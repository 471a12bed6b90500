/* SPDX-License-Identifier: BSD-3-Clause
 * codec/int/int_vec4.c - `int` by vectors of 128 bits, for NEON and VSX: of float32 and of double,
 * a loop for each number of bits.
 *
 * As int_avx2.h. Codes become doubles by way of the low bits of 2^52, from which 2^52 is subtracted
 * again; so do they become floats, by 2^23. Twin of: int_f32.c, int_f64.c; same bytes and bits for
 * every input.
 */
#include "config.h"

#include "runtime/codec/int/int_loops.h"
#include "runtime/codec/vec4.h"

#define GROUP 16 /* values */

/* What the loops keep in registers within a block. */
typedef struct tw_int_how {
    tw_b16 to_codes, of_codes[2];
    tw_u4  above;
    tw_q2  above_wide[2];
    tw_f4  factor, scale;
    tw_d2  factor_wide, scale_wide;
} tw_int_how_t;

TW_V4_INLINE tw_q2 q2_splat(uint64_t u)
{
    return (tw_q2){u, u};
}

TW_V4_INLINE tw_d2 d2_splat(double x)
{
    return (tw_d2){x, x};
}

/* Codes of four values, or of two wide ones, of elements of e bytes. Byte 16 of what is picked from
 * is 0. */
TW_V4_INLINE tw_int_how_t start_of(int bits, size_t e)
{
    tw_int_how_t how = {.above = tw_u4_splat(0)};
    uint8_t      to[16], of[2][16];

    for (int i = 0; i < 16; i++) {
        const int own  = bits > 32 ? bits / 8 : TW_INT_OWN(bits);
        const int at   = i / own * (bits > 32 ? 8 : TW_INT_RUN(bits)) + i % own;
        const int byte = i / 4 * bits / 8 + i % 4; /* of four integers */

        to[i]                    = (uint8_t)(at < 16 ? at : 16);
        of[0][i]                 = (uint8_t)byte;
        how.above[i / 4]         = (uint32_t)(32 - (bits > 32 ? 32 : bits) - i / 4 * bits % 8);
        how.above_wide[0][i / 8] = (uint64_t)(64 - bits - i / 8 * bits % 8);
        how.above_wide[1][i / 8] = (uint64_t)(64 - bits - (2 + i / 8) * bits % 8);
    }
    for (int i = 0; e == 8 && i < 32; i++) { /* of twice two integers of 64 bits */
        const int first = i / 8 * bits / 8 - (bits > 32 ? i / 16 * bits / 4 : 0);

        of[i / 16][i % 16] = (uint8_t)(first + i % 8 < 16 ? first + i % 8 : 16);
    }
    how.to_codes    = tw_b16_load(to);
    how.of_codes[0] = tw_b16_load(of[0]);
    how.of_codes[1] = tw_b16_load(of[e == 8 ? 1 : 0]);
    return how;
}

/* Four integers of 32 bits, or two of 64, whose low bits are the codes. */
TW_V4_INLINE void pack(const tw_int_how_t *how, int bits, tw_b16 c, uint8_t *dst)
{
    const tw_b16   zero = (tw_b16)tw_u4_splat(0);
    const tw_b16   last = {8, 9, 10, 11, 12, 13, 14, 15, 16, 16, 16, 16, 16, 16, 16, 16};
    const uint64_t mask = (UINT64_C(1) << (bits < 32 ? bits : 0)) - 1;
    tw_q2          v    = (tw_q2)c;

    if (bits % 8 != 0) {
        v = (v & q2_splat(mask)) |
            (v >> q2_splat((uint64_t)(32 - bits)) & q2_splat(mask << (bits < 32 ? bits : 0)));
    }
    if (bits % 4 != 0) {
        v |= (tw_q2)tw_pick((tw_b16)v, zero, last) << q2_splat((uint64_t)(2 * bits));
    }
    tw_b16_store(dst, tw_pick((tw_b16)v, zero, how->to_codes));
}

/* Is it a group of double? Of float32 codes have at most 20 bits, and there are no others of 8. */
static bool start(void *self, const tw_codec_t *codec, size_t e, const uint8_t *src, size_t n,
                  uint8_t *residual, uint8_t *dst)
{
    tw_int_how_t *how    = self;
    double        factor = 0, scale = 0;
    float         factor_f = 0, scale_f = 0;
    bool          finite;

    if (e == 8) {
        finite =
            tw_int_header_f64(codec, tw_int_most_f64(src, residual, n), n, dst, &factor, &scale);
        how->factor_wide = d2_splat(factor);
        how->scale_wide  = d2_splat(scale);
    } else {
        const uint32_t most =
            residual != NULL ? tw_v4_absmax(src, residual, n) : tw_v4_absmax(src, NULL, n);

        finite      = tw_int_header_f32(codec, most, n, dst, &factor_f, &scale_f);
        how->factor = tw_f4_splat(factor_f);
        how->scale  = tw_f4_splat(scale_f);
    }
    return finite;
}

TW_V4_INLINE void scale(void *self, size_t e, const uint8_t *header)
{
    tw_int_how_t *how = self;

    if (e == 8) {
        how->scale_wide = d2_splat(tw_bits_double(tw_load_le64(header)));
    } else {
        how->scale = tw_f4_splat(tw_bits_float(tw_load_le32(header)));
    }
}

TW_V4_INLINE void encode_floats(const void *self, int bits, const uint8_t *src, uint8_t *residual,
                                uint8_t *dst)
{
    const tw_int_how_t *how   = self;
    const tw_f4         magic = tw_f4_splat(0x1.8p23f);
    tw_u4               x[4], r[4], codes[4];

    tw_v4_load_sum(src, residual, x);
    TW_V4_EACH(i, 4)
    {
        const tw_f4 y = (tw_f4)x[i] * how->factor + magic;

        r[i]     = (tw_u4)((tw_f4)x[i] - (y - magic) * how->scale);
        codes[i] = (tw_u4)y;
        if (bits != 8) {
            pack(how, bits, (tw_b16)y, dst + bits / 2 * i);
        }
    }
    if (bits == 8) {
        tw_b16_store(dst, tw_v4_low_bytes(codes));
    }
    if (residual != NULL) {
        tw_v4_store(residual, r);
    }
}

TW_V4_INLINE void decode_floats(const void *self, int bits, const uint8_t *src, uint8_t *dst,
                                bool add, bool stream)
{
    const tw_int_how_t *how  = self;
    const tw_b16        zero = (tw_b16)tw_u4_splat(0);
    const tw_u4 sign = tw_u4_splat(UINT32_C(1) << (bits - 1)), two = tw_u4_splat(0x4b000000u);
    tw_u4       x[4], a[4];

    (void)stream;
    if (bits == 8) {
        tw_v4_from_low_bytes(tw_b16_load(src), x);
    }
    TW_V4_EACH(i, 4)
    {
        if (bits != 8) {
            const tw_b16 c = tw_pick(tw_b16_load(src + bits / 2 * i), zero, how->of_codes[0]);

            x[i] = ((tw_u4)c << how->above) >> tw_u4_splat((uint32_t)(32 - bits));
        }
        x[i] = (tw_u4)(((tw_f4)((x[i] ^ sign) | two) - (tw_f4)(sign | two)) * how->scale);
    }
    if (add) {
        tw_v4_load(dst, a);
        TW_V4_EACH(i, 4)
        {
            x[i] = (tw_u4)((tw_f4)a[i] + (tw_f4)x[i]);
        }
    }
    tw_v4_store(dst, x);
}

/* Two doubles, rounded, whose low bits are the codes. */
TW_V4_INLINE tw_b16 rounded(const tw_int_how_t *how, const uint8_t *src, uint8_t *residual)
{
    const tw_d2 magic = d2_splat(0x1.8p52);
    tw_d2       v     = (tw_d2)tw_b16_load(src), y;

    if (residual != NULL) {
        v = v + (tw_d2)tw_b16_load(residual);
    }
    y = v * how->factor_wide + magic;
    if (residual != NULL) {
        tw_b16_store(residual, (tw_b16)(v - (y - magic) * how->scale_wide));
    }
    return (tw_b16)y;
}

TW_V4_INLINE void encode_doubles(const void *self, int bits, const uint8_t *src, uint8_t *residual,
                                 uint8_t *dst)
{
    const tw_b16 low = {0, 1, 2, 3, 8, 9, 10, 11, 16, 17, 18, 19, 24, 25, 26, 27};

    TW_V4_EACH(i, GROUP / 4)
    {
        const size_t at = 32 * (size_t)i;
        const tw_b16 a  = rounded(self, src + at, tw_beyond(residual, at));
        const tw_b16 b  = rounded(self, src + at + 16, tw_beyond(residual, at + 16));

        if (bits > 32) {
            pack(self, bits, a, dst + bits / 2 * i);
            pack(self, bits, b, dst + bits / 2 * i + bits / 4);
        } else {
            pack(self, bits, tw_pick(a, b, low), dst + bits / 2 * i);
        }
    }
}

TW_V4_INLINE void decode_doubles(const void *self, int bits, const uint8_t *src, uint8_t *dst,
                                 bool add, bool stream)
{
    const tw_int_how_t *how  = self;
    const tw_b16        zero = (tw_b16)tw_u4_splat(0);
    const tw_q2         sign = q2_splat(UINT64_C(1) << (bits - 1));
    const tw_q2         two  = (tw_q2)d2_splat(0x1p52);

    (void)stream;
    TW_V4_EACH(i, GROUP / 2)
    {
        const int    half = i % 2;
        const tw_b16 in = tw_b16_load(src + bits / 2 * (i / 2) + (bits > 32 ? half * bits / 4 : 0));
        const tw_q2  c  = (tw_q2)tw_pick(in, zero, how->of_codes[half]) << how->above_wide[half];
        const tw_q2  u  = (c >> q2_splat((uint64_t)(64 - bits))) ^ sign;
        tw_d2        v  = ((tw_d2)(u | two) - (tw_d2)(sign | two)) * how->scale_wide;

        v = add ? (tw_d2)tw_b16_load(dst + 16 * i) + v : v;
        tw_b16_store(dst + 16 * i, (tw_b16)v);
    }
}

static const tw_int_set_t of_float  = {GROUP, start, scale, encode_floats, decode_floats, NULL};
static const tw_int_set_t of_double = {GROUP, start, scale, encode_doubles, decode_doubles, NULL};

#define FLOAT_START(bits)  start_of(bits, 4)
#define DOUBLE_START(bits) start_of(bits, 8)
#define NEVER(n)           false
#define NOTHING(stream)    (void)(stream)
#define FLOAT_LOOPS(bits)  TW_INT_LOOPS(float_##bits, of_float, bits, 4, FLOAT_START, NEVER, NOTHING)
#define DOUBLE_LOOPS(bits)                                                                         \
    TW_INT_LOOPS(double_##bits, of_double, bits, 8, DOUBLE_START, NEVER, NOTHING)
#define FLOAT_OF(bits)  [bits] = &float_##bits,
#define DOUBLE_OF(bits) [bits] = &double_##bits,

TW_INT_EACH_F32(FLOAT_LOOPS)
TW_INT_EACH_F64(DOUBLE_LOOPS)

static const tw_kernels_t *const tw_int32_vec4[TW_INT_BITS_F32 + 1] = {TW_INT_EACH_F32(FLOAT_OF)};
static const tw_kernels_t *const tw_int64_vec4[TW_INT_BITS_F64 + 1] = {TW_INT_EACH_F64(DOUBLE_OF)};

TW_INT_KERNELS(tw_int_vec4, tw_int32_vec4, tw_int64_vec4);
