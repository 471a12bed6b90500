/* SPDX-License-Identifier: BSD-3-Clause
 * codec/fixed8.h - what static8 and mantissa8 share: one byte per value, no scale but a fixed
 * offset; bit 7 is the sign, bits 6..4 the decimal exponent x, bits 3..0 choose v; the magnitude is
 * v * 10^(x - 7) * offset. 0x80 is NaN.
 */
#ifndef TW_CODEC_FIXED8_H
#define TW_CODEC_FIXED8_H

#include "runtime/codec/ops.h"

/* Of a codec: its option. */
typedef struct tw_fixed8 {
    const char *offset; /* "1" .. "10000"; static */
} tw_fixed8_t;

/* v of bits 3..0 = m, as number * 10^-decimals; number < 10^6. */
typedef struct tw_fixed8_v {
    uint32_t number;
    int      decimals;
} tw_fixed8_v_t;

typedef tw_fixed8_v_t (*tw_fixed8_fn_t)(uint32_t m);

/* "offset=X", X = 1, 10, 100, 1000 or 10000. */
tw_status_t tw_fixed8_option(tw_codec_t *codec, const char *key, const char *value,
                             const tw_spec_why_t *why);

/* The codec's finish(): builds the table from v; the lowest field is zero whatever v says. */
tw_status_t tw_fixed8_finish(tw_codec_t *codec, tw_fixed8_fn_t v, const tw_spec_why_t *why);

/* The only ones: they are there to compare with, and the scalar code is their definition. */
extern const tw_kernels_t tw_fixed8_scalar;

#endif /* TW_CODEC_FIXED8_H */
