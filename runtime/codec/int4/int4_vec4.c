/* SPDX-License-Identifier: BSD-3-Clause
 * codec/int4/int4_vec4.c - int4 by vectors of 128 bits, for NEON and VSX, a group at a time.
 *
 * Adding 1.5 * 2^23 rounds a code to the low bits, as in int4_scalar.c, whose twin this is: same
 * bytes and bits for every input. Codes plus 8 become floats by the low bits of 2^23.
 */
#include "config.h"

#include "runtime/codec/int4/int4_loops.h"
#include "runtime/codec/vec4.h"

#define VECTORS (TW_INT4_GROUP / 4)

/* As tw_int4_scale() wants it. */
TW_V4_INLINE uint32_t extreme(const tw_u4 *x)
{
    tw_u4    most   = tw_u4_splat(0);
    uint32_t result = 0;

    TW_V4_EACH(i, VECTORS)
    {
        most = tw_u4_max(most, (x[i] << 1) | (x[i] >> 31));
    }
    for (int lane = 0; lane < 4; lane++) {
        result = most[lane] > result ? most[lane] : result;
    }
    return result;
}

/* What a code, plus 8, stands for. */
TW_V4_INLINE tw_f4 number(tw_u4 code, tw_f4 scale)
{
    const tw_f4 whole = (tw_f4)(code | tw_u4_splat(0x4b000000u)) - tw_f4_splat(0x1p23f + 8.0f);

    return whole * scale + tw_f4_splat(0.0f);
}

TW_V4_INLINE bool encode_group(const uint8_t *src, uint8_t *residual, uint8_t *scale_at,
                               uint8_t *codes, bool feedback)
{
    tw_u4    x[VECTORS], c[VECTORS], r[VECTORS];
    uint32_t scale;
    tw_f4    factor, by;
    tw_b16   a, b;

    tw_v4_load_sum(src, feedback ? residual : NULL, x);
    tw_v4_load_sum(src + TW_V4_BYTES, feedback ? residual + TW_V4_BYTES : NULL, x + 4);
    scale = tw_int4_scale(extreme(x));
    if (scale == TW_INT4_POISON) {
        return false;
    }
    scale_at[0] = (uint8_t)(scale >> 16);
    scale_at[1] = (uint8_t)(scale >> 24);
    by          = tw_f4_splat(tw_bits_float(scale));
    factor      = tw_f4_splat(scale != 0 ? 1.0f / tw_bits_float(scale) : 0.0f);
    TW_V4_EACH(i, VECTORS)
    {
        const tw_u4 y = (tw_u4)((tw_f4)x[i] * factor + tw_f4_splat(0x1.8p23f));

        c[i] = tw_u4_min(y - tw_u4_splat(0x4b400000u - 8), tw_u4_splat(15));
        r[i] = (tw_u4)((tw_f4)x[i] - number(c[i], by));
    }
    a = tw_v4_low_bytes(c);
    b = tw_v4_low_bytes(c + 4);
    tw_b16_store(codes, (tw_even_bytes(a, b) | tw_odd_bytes(a, b) << 4) ^
                            (tw_b16)tw_u4_splat(0x88888888u));
    if (feedback) {
        tw_v4_store(residual, r);
        tw_v4_store(residual + TW_V4_BYTES, r + 4);
    }
    return true;
}

TW_V4_INLINE void decode_group(float scale, const uint8_t *codes, uint8_t *dst, bool add,
                               bool stream)
{
    const tw_b16 c   = tw_b16_load(codes) ^ (tw_b16)tw_u4_splat(0x88888888u);
    const tw_b16 low = c & (tw_b16)tw_u4_splat(0x0f0f0f0fu), high = c >> 4;
    const tw_f4  by = tw_f4_splat(scale);
    tw_u4        x[VECTORS], a[VECTORS];

    (void)stream;
    tw_v4_from_low_bytes(tw_zip_first_bytes(low, high), x);
    tw_v4_from_low_bytes(tw_zip_last_bytes(low, high), x + 4);
    if (add) {
        tw_v4_load(dst, a);
        tw_v4_load(dst + TW_V4_BYTES, a + 4);
    }
    TW_V4_EACH(i, VECTORS)
    {
        const tw_f4 v = number(x[i], by);

        x[i] = (tw_u4)(add ? (tw_f4)a[i] + v : v);
    }
    tw_v4_store(dst, x);
    tw_v4_store(dst + TW_V4_BYTES, x + 4);
}

static const tw_int4_set_t vec4 = {TW_INT4_GROUP, 1, encode_group, decode_group, NULL};

#define NEVER(n)        false
#define NOTHING(stream) (void)(stream)

TW_INT4_KERNELS(tw_int4_vec4, vec4, NEVER, NOTHING);
