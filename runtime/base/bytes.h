/* SPDX-License-Identifier: BSD-3-Clause
 * base/bytes.h - little-endian fields at any alignment, checked sizes, a checksum.
 */
#ifndef TW_BASE_BYTES_H
#define TW_BASE_BYTES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

static inline void tw_store_le32(void *dst, uint32_t v)
{
    const uint8_t b[4] = {(uint8_t)v, (uint8_t)(v >> 8), (uint8_t)(v >> 16), (uint8_t)(v >> 24)};

    memcpy(dst, b, sizeof(b));
}

static inline uint32_t tw_load_le32(const void *src)
{
    uint8_t b[4];

    memcpy(b, src, sizeof(b));
    return (uint32_t)b[0] | (uint32_t)b[1] << 8 | (uint32_t)b[2] << 16 | (uint32_t)b[3] << 24;
}

static inline void tw_store_le64(void *dst, uint64_t v)
{
    tw_store_le32(dst, (uint32_t)v);
    tw_store_le32((uint8_t *)dst + 4, (uint32_t)(v >> 32));
}

static inline uint64_t tw_load_le64(const void *src)
{
    return (uint64_t)tw_load_le32(src) | (uint64_t)tw_load_le32((const uint8_t *)src + 4) << 32;
}

/* The bits of a float, and back. */
static inline uint32_t tw_float_bits(float x)
{
    uint32_t u;

    memcpy(&u, &x, sizeof(u));
    return u;
}

static inline float tw_bits_float(uint32_t u)
{
    float x;

    memcpy(&x, &u, sizeof(x));
    return x;
}

static inline uint64_t tw_double_bits(double x)
{
    uint64_t u;

    memcpy(&u, &x, sizeof(u));
    return u;
}

static inline double tw_bits_double(uint64_t u)
{
    double x;

    memcpy(&x, &u, sizeof(x));
    return x;
}

/* *out = a * b (a + b); false if that exceeds SIZE_MAX. */
static inline bool tw_size_mul(size_t a, size_t b, size_t *out)
{
    return !__builtin_mul_overflow(a, b, out);
}

static inline bool tw_size_add(size_t a, size_t b, size_t *out)
{
    return !__builtin_add_overflow(a, b, out);
}

/* FNV-1a, 64 bits: finds damage in files, not malice. Start with TW_FNV_START. */
#define TW_FNV_START UINT64_C(0xcbf29ce484222325)

static inline uint64_t tw_fnv1a(uint64_t hash, const void *data, size_t bytes)
{
    const uint8_t *p = data;

    for (size_t i = 0; i < bytes; i++) {
        hash = (hash ^ p[i]) * UINT64_C(0x100000001b3);
    }
    return hash;
}

/* The slot of a word, such as a pointer or a handle, in a table of 2^bits: Fibonacci hashing. */
static inline size_t tw_hash_word(uint64_t word, unsigned bits)
{
    return (size_t)(word * UINT64_C(0x9e3779b97f4a7c15) >> (64 - bits));
}

#endif /* TW_BASE_BYTES_H */
