/* SPDX-License-Identifier: BSD-3-Clause
 * policy/power.c - see power.h. The series of artanh and of exp, cut where a term is below 1e-16.
 */
#include "config.h"

#include <stdint.h>

#include "runtime/base/bytes.h"
#include "runtime/policy/power.h"

#define TW_LOG2_E 0x1.71547652b82fep+0
#define TW_LN_2   0x1.62e42fefa39efp-1

/* 2^n for n of a normal double. */
static double tw_power_of_two(int n)
{
    return tw_bits_double((uint64_t)(n + 1023) << 52);
}

double tw_power_log2(double x)
{
    const uint64_t bits     = tw_double_bits(x < 0x1p-1022 ? 0x1p-1022 : x);
    int            exponent = (int)(bits >> 52 & 0x7ff) - 1023;
    double         m        = tw_bits_double((bits & 0xfffffffffffffu) | (uint64_t)1023 << 52);
    double         s, sum = 0.0;

    if (m > 1.4142135623730951) {
        m *= 0.5;
        exponent++;
    }
    s = (m - 1.0) / (m + 1.0); /* log(m) = 2 artanh(s), |s| < 0.172 */
    for (int k = 21; k >= 1; k -= 2) {
        sum = sum * s * s + 1.0 / k;
    }
    return exponent + 2.0 * s * sum * TW_LOG2_E;
}

double tw_power_exp2(double y)
{
    double x, sum = 1.0;
    int    n;

    y = y < -1000.0 ? -1000.0 : y > 1000.0 ? 1000.0 : y;
    n = (int)(y < 0.0 ? y - 0.5 : y + 0.5);
    x = (y - n) * TW_LN_2; /* at most 0.35 */
    for (int k = 15; k >= 1; k--) {
        sum = 1.0 + sum * x / k;
    }
    return sum * tw_power_of_two(n);
}
