/* SPDX-License-Identifier: BSD-3-Clause
 * codec/levels.c - see levels.h.
 */
#include "config.h"

#include "runtime/base/bytes.h"
#include "runtime/codec/levels.h"

float tw_levels_decimal(uint32_t number, int decimals)
{
    uint64_t numerator = number, divisor = 1, quotient, rest;
    int      exponent = -decimals; /* 10^-d = 5^-d 2^-d */

    for (int i = 0; i < decimals; i++) {
        divisor *= 5;
    }
    /* Scale until the quotient has the 24 bits of a float's mantissa. */
    while (numerator / divisor < (UINT64_C(1) << 23)) {
        numerator <<= 1;
        exponent--;
    }
    while (numerator / divisor >= (UINT64_C(1) << 24)) {
        divisor <<= 1;
        exponent++;
    }
    quotient = numerator / divisor;
    rest     = numerator % divisor;
    quotient += 2 * rest > divisor || (2 * rest == divisor && (quotient & 1) != 0);
    /* The addition carries into the exponent when the mantissa overflows. */
    return tw_bits_float(((uint32_t)(exponent + 149) << 23) + (uint32_t)quotient);
}

/* Bits of the smallest float above the midpoint of two adjacent levels. */
static uint32_t tw_levels_threshold(float below, float above)
{
    const double   middle = ((double)below + (double)above) / 2.0; /* exact */
    const float    near   = (float)middle;
    const uint32_t bits   = tw_float_bits(near);

    return (double)near > middle ? bits : bits + 1;
}

bool tw_levels_build(tw_levels_t *levels, const float *magnitude, const uint8_t *code, int count)
{
    const uint32_t width = 1u << TW_LEVELS_BIN;
    int            next  = 1; /* the lowest threshold not yet passed */

    levels->count        = count;
    levels->threshold[0] = 0;
    for (int j = 0; j < count; j++) {
        const uint8_t c = code != NULL ? code[j] : (uint8_t)j;

        levels->code[j]         = c;
        levels->value[c]        = magnitude[j];
        levels->value[c | 0x80] = -magnitude[j];
        if (j > 0) {
            levels->threshold[j] = tw_levels_threshold(magnitude[j - 1], magnitude[j]);
        }
    }
    /* Whole octaves, from the one in which the lowest threshold has numbers below it. */
    levels->low  = (levels->threshold[1] - 1) & 0x7f800000u;
    levels->high = levels->low + TW_LEVELS_BINS * width - 1;
    if (levels->threshold[count - 1] > levels->high) {
        return false;
    }
    for (uint32_t b = 0; b < TW_LEVELS_BINS; b++) {
        const uint32_t start = levels->low + b * width;

        levels->bins[b] = ((uint32_t)(next - 1) << TW_LEVELS_BIN) - start;
        if (next < count && levels->threshold[next] - start < width) {
            levels->bins[b] += width - (levels->threshold[next] - start);
            next++;
            if (next < count && levels->threshold[next] - start < width) {
                return false;
            }
        }
    }
    return true;
}
