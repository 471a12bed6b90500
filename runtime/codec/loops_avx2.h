/* SPDX-License-Identifier: BSD-3-Clause
 * codec/loops_avx2.h - the loops of the AVX2 kernels over a vector of float32.
 *
 * A codec gives one function that turns 32 values into codes, and into what these decode to, and
 * one for the way back. They are inlined into the loops below, and what a loop does not use of
 * their result falls away: so encoding, error feedback, decoding and decode-and-add are one pass
 * each. What is left over, fewer than 32 values, goes through the same functions in arrays padded
 * with zeros; nothing outside the vectors is touched.
 */
#ifndef TW_CODEC_LOOPS_AVX2_H
#define TW_CODEC_LOOPS_AVX2_H

#include "runtime/codec/avx2.h"

/* self: whatever the codec wants to know. */
typedef tw_coded_t (*tw_encode_lanes_fn_t)(const void *self, tw_lanes_t v);
typedef tw_lanes_t (*tw_decode_lanes_fn_t)(const void *self, const uint8_t *codes);

/* 32 values; residual may be NULL, else it is added and updated. finite: no value is Inf or NaN,
 * nor what its code stands for. */
TW_INLINE void tw_avx2_encode_lanes(const void *self, tw_encode_lanes_fn_t encode, size_t width,
                                    bool finite, const uint8_t *src, uint8_t *residual,
                                    uint8_t *dst, bool stream)
{
    const tw_lanes_t x = tw_lanes_load(src);
    tw_lanes_t       r, v;
    tw_coded_t       coded;

    if (residual == NULL) {
        coded = encode(self, x);
        tw_coded_store(dst, &coded, width, stream);
        return;
    }
    r     = tw_lanes_load(residual);
    v     = tw_lanes_add(x, r);
    coded = encode(self, v);
    tw_coded_store(dst, &coded, width, stream);
    r = finite ? tw_lanes_sub(v, coded.back) : tw_lanes_residual(r, v, coded.back);
    tw_lanes_store(residual, r);
}

/* Fewer than 32 values. */
TW_INLINE void tw_avx2_encode_rest(const void *self, tw_encode_lanes_fn_t encode, size_t width,
                                   bool finite, const uint8_t *src, size_t n, uint8_t *residual,
                                   uint8_t *dst)
{
    uint8_t in[4 * TW_LANES] = {0}, left[4 * TW_LANES] = {0}, codes[4 * TW_LANES];

    if (n == 0) {
        return;
    }
    memcpy(in, src, 4 * n);
    if (residual != NULL) {
        memcpy(left, residual, 4 * n);
    }
    tw_avx2_encode_lanes(self, encode, width, finite, in, residual != NULL ? left : NULL, codes,
                         false);
    memcpy(dst, codes, width * n);
    if (residual != NULL) {
        memcpy(residual, left, 4 * n);
    }
}

/* How many values of `width` bytes lie before the next multiple of 32; 32 if none ever starts
 * there. */
TW_INLINE size_t tw_before_aligned(const uint8_t *p, size_t width)
{
    size_t n = 0;

    while (n < 32 && ((uintptr_t)p + n * width) % 32 != 0) {
        n++;
    }
    return n;
}

/* n values, 64 at a time while there are as many. With stream, dst is a multiple of 32. fetch: what
 * follows the values is fetched into the cache; with a residual, where three streams compete, the
 * place of the codes, too. */
TW_INLINE void tw_avx2_encode_run(const void *self, tw_encode_lanes_fn_t encode, size_t width,
                                  bool finite, const uint8_t *src, size_t n, uint8_t *residual,
                                  uint8_t *dst, bool stream, bool fetch)
{
    const size_t step = 4 * TW_LANES;

    for (; n >= 2 * TW_LANES; n -= 2 * TW_LANES) {
        if (fetch) {
            tw_prefetch_pages(src);
        }
        if (fetch && residual != NULL) {
            tw_prefetch_pages(residual);
            tw_prefetch_codes(dst, width);
        }
        tw_avx2_encode_lanes(self, encode, width, finite, src, residual, dst, stream);
        tw_avx2_encode_lanes(self, encode, width, finite, src + step, tw_beyond(residual, step),
                             dst + width * TW_LANES, stream);
        src += 2 * step;
        dst += 2 * width * TW_LANES;
        residual = tw_beyond(residual, 2 * step);
    }
    if (n >= TW_LANES) {
        tw_avx2_encode_lanes(self, encode, width, finite, src, residual, dst, stream);
        n -= TW_LANES;
        src += step;
        dst += width * TW_LANES;
        residual = tw_beyond(residual, step);
    }
    tw_avx2_encode_rest(self, encode, width, finite, src, n, residual, dst);
}

/* n values. With stream, there is no residual, and the caller makes what was written visible by
 * tw_stream_end(). */
TW_INLINE void tw_avx2_encode(const void *self, tw_encode_lanes_fn_t encode, size_t width,
                              bool finite, const uint8_t *src, size_t n, uint8_t *residual,
                              uint8_t *dst, bool stream, bool fetch)
{
    const size_t m = stream ? tw_before_aligned(dst, width) : TW_LANES;

    if (m < TW_LANES && m <= n) {
        tw_avx2_encode_rest(self, encode, width, finite, src, m, NULL, dst);
        tw_avx2_encode_run(self, encode, width, finite, src + 4 * m, n - m, NULL, dst + width * m,
                           true, fetch);
    } else {
        tw_avx2_encode_run(self, encode, width, finite, src, n, residual, dst, false, fetch);
    }
}

/* Fewer than 32 values. */
TW_INLINE void tw_avx2_decode_rest(const void *self, tw_decode_lanes_fn_t decode, size_t width,
                                   const uint8_t *src, size_t n, uint8_t *dst, bool add)
{
    uint8_t    codes[4 * TW_LANES] = {0}, out[4 * TW_LANES] = {0};
    tw_lanes_t v;

    if (n == 0) {
        return;
    }
    memcpy(codes, src, width * n);
    v = decode(self, codes);
    if (add) {
        memcpy(out, dst, 4 * n);
        v = tw_lanes_add(tw_lanes_load(out), v);
    }
    tw_lanes_store(out, v);
    memcpy(dst, out, 4 * n);
}

/* 32 values: dst = decode(src), or with add: dst += decode(src). */
TW_INLINE void tw_avx2_decode_lanes(const void *self, tw_decode_lanes_fn_t decode,
                                    const uint8_t *src, uint8_t *dst, bool add, bool stream)
{
    const tw_lanes_t v = decode(self, src);

    if (stream) {
        tw_lanes_stream(dst, v);
    } else {
        tw_lanes_store(dst, add ? tw_lanes_add(tw_lanes_load(dst), v) : v);
    }
}

/* n values, 64 at a time while there are as many. With stream, dst is a multiple of 32. fetch: what
 * follows is fetched into the cache: with stream the codes, with add the codes and the sums, else
 * the place of the values alone. */
TW_INLINE void tw_avx2_decode_run(const void *self, tw_decode_lanes_fn_t decode, size_t width,
                                  const uint8_t *src, size_t n, uint8_t *dst, bool add, bool stream,
                                  bool fetch)
{
    const size_t step = 4 * TW_LANES;

    for (; n >= 2 * TW_LANES; n -= 2 * TW_LANES) {
        if (fetch && (stream || add)) {
            tw_prefetch_codes(src, width);
        }
        if (fetch && !stream) {
            tw_prefetch_pages(dst);
        }
        tw_avx2_decode_lanes(self, decode, src, dst, add, stream);
        tw_avx2_decode_lanes(self, decode, src + width * TW_LANES, dst + step, add, stream);
        src += 2 * width * TW_LANES;
        dst += 2 * step;
    }
    if (n >= TW_LANES) {
        tw_avx2_decode_lanes(self, decode, src, dst, add, stream);
        n -= TW_LANES;
        src += width * TW_LANES;
        dst += step;
    }
    tw_avx2_decode_rest(self, decode, width, src, n, dst, add);
}

/* dst = decode(src), or with add: dst += decode(src). stream, not with add: as above. */
TW_INLINE void tw_avx2_decode(const void *self, tw_decode_lanes_fn_t decode, size_t width,
                              const uint8_t *src, size_t n, uint8_t *dst, bool add, bool stream,
                              bool fetch)
{
    const size_t m = stream ? tw_before_aligned(dst, 4) : TW_LANES;

    if (m < TW_LANES && m <= n) {
        tw_avx2_decode_rest(self, decode, width, src, m, dst, false);
        tw_avx2_decode_run(self, decode, width, src + width * m, n - m, dst + 4 * m, false, true,
                           fetch);
    } else {
        tw_avx2_decode_run(self, decode, width, src, n, dst, add, false, fetch);
    }
}

/* The verbs `name` of a codec without blocks. */
#define TW_AVX2_VALUE_VERBS(name, width, encode_lanes, decode_lanes)                               \
    TW_VERBS(name, tw_avx2_encode(NULL, encode_lanes, width, false, src, n, residual, dst, stream, \
                                  tw_far(n));                                                      \
             tw_stream_end(stream),                                                                \
             tw_avx2_decode(NULL, decode_lanes, width, src, n, dst, add, stream, tw_far(n));       \
             tw_stream_end(stream))

#endif /* TW_CODEC_LOOPS_AVX2_H */
