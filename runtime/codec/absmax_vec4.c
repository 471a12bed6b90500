/* SPDX-License-Identifier: BSD-3-Clause
 * codec/absmax_vec4.c - the largest magnitude of a vector, by NEON or VSX.
 */
#include "config.h"

#include "runtime/codec/vec4.h"

uint32_t tw_absmax_vec4(const uint8_t *src, size_t n)
{
    return tw_v4_absmax(src, NULL, n);
}
