/* SPDX-License-Identifier: BSD-3-Clause
 * base/rounding.h - the top bits of a float or double, rounded to nearest, half to even.
 *
 * Adding to the pattern carries from the mantissa into the exponent, as it must, and from the
 * largest number to Inf. NaN is cut instead, after its quiet bit is set, so it keeps its sign and
 * top payload and never turns into Inf. 0 < drop; the kept bits must include the whole exponent and
 * the quiet bit.
 */
#ifndef TW_BASE_ROUNDING_H
#define TW_BASE_ROUNDING_H

#include <stdint.h>

static inline uint32_t tw_round_top32(uint32_t u, int drop)
{
    if ((u & 0x7fffffffu) > 0x7f800000u) {
        return (u | 0x00400000u) >> drop;
    }
    return (u + ((1u << (drop - 1)) - 1) + (u >> drop & 1)) >> drop;
}

static inline uint64_t tw_round_top64(uint64_t u, int drop)
{
    if ((u & ~(UINT64_C(1) << 63)) > UINT64_C(0x7ff) << 52) {
        return (u | UINT64_C(1) << 51) >> drop;
    }
    return (u + ((UINT64_C(1) << (drop - 1)) - 1) + (u >> drop & 1)) >> drop;
}

#endif /* TW_BASE_ROUNDING_H */
