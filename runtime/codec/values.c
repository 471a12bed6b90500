/* SPDX-License-Identifier: BSD-3-Clause
 * codec/values.c - see values.h. Chunk by chunk.
 */
#include "config.h"

#include "runtime/base/bytes.h"
#include "runtime/codec/chunk.h"
#include "runtime/codec/values.h"

size_t tw_values_size(const tw_codec_t *codec, size_t n)
{
    /* By way of int: clang converts to size_t by arithmetic that raises an exception flag of the
     * caller's. */
    return n * (size_t)(int)codec->bytes_per_value;
}

/* All ones where x is Inf or NaN, else 0: a mask, so that the loop over a chunk has no branch. */
static inline uint32_t tw_not_finite(float x)
{
    return (tw_float_bits(x) & 0x7f800000u) == 0x7f800000u ? ~0u : 0u;
}

static bool tw_finite_f64(double x)
{
    const uint64_t exponent = UINT64_C(0x7ff0000000000000);

    return (tw_double_bits(x) & exponent) != exponent;
}

static void tw_feedback_f32(const tw_codec_t *codec, const uint8_t *src, size_t n,
                            uint8_t *residual, uint8_t *dst)
{
    float v[TW_CHUNK], back[TW_CHUNK] = {0}, r[TW_CHUNK];

    tw_chunk_load(v, src, residual, n);
    codec->kernels->encode(codec, (const uint8_t *)v, n, dst, false);
    codec->kernels->decode(codec, dst, n, (uint8_t *)back, false);
    tw_chunk_read(r, residual, n);
    for (size_t g = 0; g < n; g += TW_GROUP) {
        for (size_t i = 0; i < TW_GROUP; i++) {
            const uint32_t rest = tw_float_bits(v[g + i] - back[g + i]);
            const uint32_t old  = tw_float_bits(r[g + i]);
            const uint32_t keep = tw_not_finite(v[g + i]) | tw_not_finite(back[g + i]);

            r[g + i] = tw_bits_float((old & keep) | (rest & ~keep));
        }
    }
    memcpy(residual, r, n * sizeof(float));
}

/* Of any other type, which a double holds: sums in double, each rounded once to the type. */
static void tw_feedback_other(const tw_codec_t *codec, const uint8_t *src, size_t n,
                              uint8_t *residual, uint8_t *dst)
{
    const tw_dtype_row_t *type = codec->type;
    uint8_t               values[TW_CHUNK * sizeof(double)];
    double                v[TW_CHUNK], back[TW_CHUNK], r[TW_CHUNK];

    type->to_f64(src, n, v);
    type->to_f64(residual, n, r);
    for (size_t i = 0; i < n; i++) {
        v[i] += r[i];
    }
    type->from_f64(v, n, values);
    codec->kernels->encode(codec, values, n, dst, false);
    type->to_f64(values, n, v);
    codec->kernels->decode(codec, dst, n, values, false);
    type->to_f64(values, n, back);
    for (size_t i = 0; i < n; i++) {
        r[i] = tw_finite_f64(v[i]) && tw_finite_f64(back[i]) ? v[i] - back[i] : r[i];
    }
    type->from_f64(r, n, residual);
}

void tw_values_decode_add(const tw_codec_t *codec, const uint8_t *src, size_t n, uint8_t *acc)
{
    const size_t       width = tw_values_size(codec, 1);
    const tw_combine_t add   = codec->type->combine[TW_COMBINE_ADD];
    uint8_t            back[TW_CHUNK * sizeof(double)];

    for (size_t i = 0; i < n; i += TW_CHUNK) {
        const size_t m = n - i < TW_CHUNK ? n - i : TW_CHUNK;

        codec->kernels->decode(codec, src + i * width, m, back, false);
        add(acc + i * codec->element, back, m, acc + i * codec->element);
    }
}

void tw_values_encode_feedback(const tw_codec_t *codec, const uint8_t *src, size_t n,
                               uint8_t *residual, uint8_t *dst)
{
    const size_t width = tw_values_size(codec, 1);

    for (size_t i = 0; i < n; i += TW_CHUNK) {
        const size_t m  = n - i < TW_CHUNK ? n - i : TW_CHUNK;
        const size_t at = i * codec->element;

        if (codec->dtype == TW_F32) {
            tw_feedback_f32(codec, src + at, m, residual + at, dst + i * width);
        } else {
            tw_feedback_other(codec, src + at, m, residual + at, dst + i * width);
        }
    }
}
