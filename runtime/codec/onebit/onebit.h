/* SPDX-License-Identifier: BSD-3-Clause
 * codec/onebit/onebit.h - what the kernels of all instruction sets share: the rare block whose sums
 * overflow.
 */
#ifndef TW_CODEC_ONEBIT_ONEBIT_H
#define TW_CODEC_ONEBIT_ONEBIT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A block of n values src + residual (residual may be NULL), `negatives` of them on the negative
 * side, has a mean that is not finite: take each such mean again, from a sum of values that were
 * scaled down. False: a value is not finite, the block is poison. Out of line, as it is hardly ever
 * called. */
bool tw_onebit_means_again(const uint8_t *src, const uint8_t *residual, size_t n, size_t negatives,
                           float *positive, float *negative);

#endif /* TW_CODEC_ONEBIT_ONEBIT_H */
