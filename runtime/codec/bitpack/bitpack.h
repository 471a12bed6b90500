/* SPDX-License-Identifier: BSD-3-Clause
 * codec/bitpack/bitpack.h - the kernels of bitpack for one instruction set, by K - 1.
 *
 * pack: n elements at src give n * K bytes at dst, truncated; unpack: the other way, low bytes
 * zero. Any alignment; no byte beyond the n elements is read or written. Rounding is scalar.
 */
#ifndef TW_CODEC_BITPACK_H
#define TW_CODEC_BITPACK_H

#include <stddef.h>
#include <stdint.h>

typedef void (*tw_bitpack_fn_t)(const uint8_t *src, size_t n, uint8_t *dst);

typedef struct tw_bitpack_kernels {
    tw_bitpack_fn_t pack32[4], unpack32[4];
    tw_bitpack_fn_t pack64[8], unpack64[8];
} tw_bitpack_kernels_t;

/* The last two exist where configure found the compiler able (HAVE_AVX2, HAVE_AVX512). */
extern const tw_bitpack_kernels_t tw_bitpack_scalar, tw_bitpack_avx2, tw_bitpack_avx512;

#endif /* TW_CODEC_BITPACK_H */
