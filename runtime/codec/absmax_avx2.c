/* SPDX-License-Identifier: BSD-3-Clause
 * codec/absmax_avx2.c - the largest magnitude of a vector, by AVX2.
 */
#include "config.h"

#include "runtime/codec/absmax_avx2.h"

uint32_t tw_absmax_avx2(const uint8_t *src, size_t n)
{
    return tw_avx2_absmax(src, NULL, n, tw_far(n));
}
