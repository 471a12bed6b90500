/* SPDX-License-Identifier: BSD-3-Clause
 * tests/half.h - 16-bit floats by arithmetic, not by bits: a double is rounded to a multiple of the
 * unit in its last place. The oracle of base/half.h.
 */
#ifndef TW_TESTS_HALF_H
#define TW_TESTS_HALF_H

#include <math.h>
#include <stdint.h>
#include <string.h>

#include <thinwire/codec.h>

typedef struct t_half {
    int fraction, least, most; /* bits; exponents of the smallest and largest normal numbers */
} t_half_t;

static inline t_half_t t_half_of(tw_dtype_t dtype)
{
    return dtype == TW_BF16 ? (t_half_t){7, -126, 127} : (t_half_t){10, -14, 15};
}

/* x to nearest, half to even; not NaN. */
static inline double t_half_round(tw_dtype_t dtype, double x)
{
    const t_half_t h    = t_half_of(dtype);
    const double   most = ldexp(2.0 - ldexp(1.0, -h.fraction), h.most);
    int            exponent;
    double         unit, y;

    if (x == 0.0 || isinf(x)) {
        return x;
    }
    exponent = ilogb(x) < h.least ? h.least : ilogb(x);
    unit     = ldexp(1.0, exponent - h.fraction);
    y        = nearbyint(x / unit) * unit;
    return fabs(y) > most ? copysign(INFINITY, x) : copysign(y, x);
}

/* The number of these bits. */
static inline double t_half_value(tw_dtype_t dtype, uint16_t bits)
{
    const t_half_t h        = t_half_of(dtype);
    const double   sign     = (bits & 0x8000u) != 0 ? -1.0 : 1.0;
    const int      biased   = (bits & 0x7fff) >> h.fraction;
    const int      fraction = bits & ((1 << h.fraction) - 1);

    if (biased == h.most + 1 + h.most) {
        return fraction != 0 ? (double)NAN : sign * INFINITY;
    }
    return sign * (biased == 0 ? ldexp(fraction, h.least - h.fraction)
                               : ldexp((1 << h.fraction) + fraction, biased - h.most - h.fraction));
}

/* The bits of a number that t_half_round() gave. */
static inline uint16_t t_half_bits(tw_dtype_t dtype, double x)
{
    const t_half_t h    = t_half_of(dtype);
    const uint16_t sign = signbit(x) ? 0x8000u : 0;
    int            exponent;
    double         y = fabs(x);

    if (isinf(x)) {
        return (uint16_t)(sign | (2 * h.most + 1) << h.fraction);
    }
    if (y < ldexp(1.0, h.least)) {
        return (uint16_t)(sign | (int)ldexp(y, h.fraction - h.least));
    }
    exponent = ilogb(y);
    return (uint16_t)(sign | (exponent + h.most) << h.fraction |
                      ((int)ldexp(y, h.fraction - exponent) - (1 << h.fraction)));
}

#endif /* TW_TESTS_HALF_H */
