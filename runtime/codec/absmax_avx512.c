/* SPDX-License-Identifier: BSD-3-Clause
 * codec/absmax_avx512.c - the largest magnitude of a vector, by AVX-512.
 */
#include "config.h"

#include "runtime/codec/absmax_avx512.h"

uint32_t tw_absmax_avx512(const uint8_t *src, size_t n)
{
    return tw_absmax512(src, NULL, n, false, true);
}
