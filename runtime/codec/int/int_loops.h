/* SPDX-License-Identifier: BSD-3-Clause
 * codec/int/int_loops.h - the walk of `int` over blocks and groups of values, for instruction sets
 * that store the codes of a group by whole vectors, of which what follows overwrites the rest.
 *
 * So a group that ends too near to the end of what is written, or of what is read, goes by way of
 * an array, and so does one that is not whole. The set and the number of bits are constants
 * wherever this is inlined.
 */
#ifndef TW_CODEC_INT_LOOPS_H
#define TW_CODEC_INT_LOOPS_H

#include "runtime/codec/int/grid.h"

#define TW_INT_MOST  64 /* values of a group */
#define TW_INT_SPARE 16 /* bytes behind a group's codes that may be touched */

/* An instruction set; how: what it keeps in registers within a block; e: bytes of an element. */
typedef struct tw_int_set {
    size_t group; /* values, a multiple of 8 */
    /* The header of a block, and what its codes want; false: poison, and all is written. */
    bool (*start)(void *how, const tw_codec_t *codec, size_t e, const uint8_t *src, size_t n,
                  uint8_t *residual, uint8_t *dst);
    void (*scale)(void *how, size_t e, const uint8_t *header); /* the same for decoding */
    /* A group; residual may be NULL. */
    void (*encode)(const void *how, int bits, const uint8_t *src, uint8_t *residual, uint8_t *dst);
    void (*decode)(const void *how, int bits, const uint8_t *src, uint8_t *dst, bool add,
                   bool stream);
    void (*fetch)(const uint8_t *p, size_t e); /* what follows that group; or NULL */
} tw_int_set_t;

TW_INT_INLINE bool tw_int_near(const tw_int_set_t *set, int bits, const uint8_t *p,
                               const uint8_t *end)
{
    return (size_t)(end - p) < tw_int_bytes(bits, set->group) + TW_INT_SPARE;
}

/* n values of a block; end: of all that this call writes. */
TW_INT_INLINE void tw_int_encode_run(const tw_int_set_t *set, const void *how, int bits, size_t e,
                                     const uint8_t *src, size_t n, uint8_t *residual, uint8_t *dst,
                                     const uint8_t *end, bool fetch)
{
    uint8_t in[8 * TW_INT_MOST], left[8 * TW_INT_MOST], codes[6 * TW_INT_MOST + TW_INT_SPARE];

    while (n > 0) {
        const size_t   m    = n < set->group ? n : set->group;
        const bool     near = tw_int_near(set, bits, dst, end);
        const uint8_t *from = src;
        uint8_t       *rest = residual;

        if (m < set->group) {
            memset(in, 0, sizeof(in));
            memcpy(in, src, m * e);
            from = in;
            if (residual != NULL) {
                memset(left, 0, sizeof(left));
                memcpy(left, residual, m * e);
                rest = left;
            }
        } else if (fetch && set->fetch != NULL) {
            set->fetch(src, e);
        }
        set->encode(how, bits, from, rest, near ? codes : dst);
        if (near) {
            memcpy(dst, codes, tw_int_bytes(bits, m));
        }
        if (rest != residual) {
            memcpy(residual, left, m * e);
        }
        n -= m;
        src += m * e;
        dst += tw_int_bytes(bits, m);
        residual = tw_beyond(residual, m * e);
    }
}

TW_INT_INLINE void tw_int_grid_put(const void *set, void *how, int bits, size_t e, const void *v,
                                   size_t m, uint8_t *dst, const uint8_t *end)
{
    tw_int_encode_run(set, how, bits, e, v, m, NULL, dst, end, false);
}

/* how is one that knows the number of bits; residual may be NULL. */
TW_INT_INLINE void tw_int_encode(const tw_int_set_t *set, void *how, const tw_codec_t *codec,
                                 int bits, size_t e, const uint8_t *src, size_t n,
                                 uint8_t *residual, uint8_t *dst, bool fetch)
{
    const size_t   block = codec->block;
    const uint8_t *end   = dst + codec->ops->size(codec, n);

    if (tw_int(codec)->grid) {
        uint8_t header[16];

        set->start(how, codec, e, tw_int(codec)->most, 1, NULL, header);
        tw_grid_encode(codec, bits, e, src, n, residual, dst, tw_int_grid_put, set, how);
        return;
    }
    while (n > 0) {
        const size_t m = n < block ? n : block;

        if (set->start(how, codec, e, src, m, residual, dst)) {
            tw_int_encode_run(set, how, bits, e, src, m, residual, dst + e, end, fetch);
        }
        n -= m;
        src += m * e;
        dst += e + tw_int_bytes(bits, m);
        residual = tw_beyond(residual, m * e);
    }
}

/* n values of a block; end: of all that this call reads. stream: past the cache. */
TW_INT_INLINE void tw_int_decode_run(const tw_int_set_t *set, const void *how, int bits, size_t e,
                                     const uint8_t *src, const uint8_t *end, size_t n, uint8_t *dst,
                                     bool add, bool stream, bool fetch)
{
    uint8_t codes[6 * TW_INT_MOST + TW_INT_SPARE], out[8 * TW_INT_MOST];

    while (n > 0) {
        const size_t   m    = n < set->group ? n : set->group;
        const bool     near = tw_int_near(set, bits, src, end);
        const uint8_t *from = near ? codes : src;

        if (near) {
            memset(codes, 0, sizeof(codes));
            memcpy(codes, src, tw_int_bytes(bits, m));
        }
        if (m < set->group) {
            memset(out, 0, sizeof(out));
            memcpy(out, dst, add ? m * e : 0);
            set->decode(how, bits, from, out, add, false);
            memcpy(dst, out, m * e);
        } else {
            if (fetch && !stream && set->fetch != NULL) {
                set->fetch(dst, e);
            }
            set->decode(how, bits, from, dst, add, stream);
        }
        n -= m;
        src += tw_int_bytes(bits, m);
        dst += m * e;
    }
}

/* Values before the first multiple of 32 bytes, in a block that is worth it, if the codes there
 * begin with a byte; else all. */
static inline size_t tw_int_head(const uint8_t *dst, int bits, size_t e, size_t n)
{
    const size_t bytes = (32 - (uintptr_t)dst % 32) % 32, head = bytes / e;

    return bytes % e == 0 && head < n && head * (size_t)bits % 8 == 0 && (head == 0 || n >= 1024)
               ? head
               : n;
}

TW_INT_INLINE void tw_int_grid_take(const void *set, void *how, int bits, size_t e,
                                    const uint8_t *src, const uint8_t *end, size_t m, void *v)
{
    tw_int_decode_run(set, how, bits, e, src, end, m, v, false, false, false);
}

TW_INT_INLINE void tw_int_decode(const tw_int_set_t *set, void *how, const tw_codec_t *codec,
                                 int bits, size_t e, const uint8_t *src, size_t n, uint8_t *dst,
                                 bool add, bool stream, bool fetch)
{
    const size_t   block = codec->block;
    const uint8_t *end   = src + codec->ops->size(codec, n);

    if (tw_int(codec)->grid) {
        set->scale(how, e, tw_int(codec)->step);
        tw_grid_decode(codec, bits, e, src, n, dst, add, tw_int_grid_take, set, how);
        return;
    }
    while (n > 0) {
        const size_t   m     = n < block ? n : block;
        const size_t   head  = stream ? tw_int_head(dst, bits, e, m) : m;
        const uint8_t *codes = src + e;

        set->scale(how, e, src);
        if (!tw_block_poison(src, e, m, dst)) {
            tw_int_decode_run(set, how, bits, e, codes, end, head, dst, add, false, fetch);
            if (stream && head < m) {
                tw_int_decode_run(set, how, bits, e, codes + head * (size_t)bits / 8, end, m - head,
                                  dst + head * e, false, true, false);
            }
        }
        n -= m;
        src += e + tw_int_bytes(bits, m);
        dst += m * e;
    }
}

/* The table `name` of kernels for one number of bits of elements of e bytes. start_of(bits) makes
 * what is kept in registers, far(n) says whether n floats are worth fetching, and end(stream)
 * follows what went past the cache. */
#define TW_INT_LOOPS(name, set, bits, e, start_of, far, end)                                       \
    TW_VERBS(                                                                                      \
        name, tw_int_how_t how = start_of(bits);                                                   \
        tw_int_encode(&(set), &how, codec, bits, e, src, n, residual, dst, far(n * e / 4)),        \
        tw_int_how_t how = start_of(bits);                                                         \
        tw_int_decode(&(set), &how, codec, bits, e, src, n, dst, add, stream, far(n * e / 4));     \
        end(stream))                                                                               \
    static const tw_kernels_t name = {TW_VERBS_OF(name)};

#endif /* TW_CODEC_INT_LOOPS_H */
