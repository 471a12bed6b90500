/* SPDX-License-Identifier: BSD-3-Clause
 * policy/abs.c - see abs.h. Exact in every floating-point mode, as all ranks must decide alike.
 */
#include "config.h"

#include <math.h>

#include "runtime/base/int_bits.h"
#include "runtime/policy/abs.h"

/* The least level of `int:B`, in fours, of at least so many bits; 0: none. */
static int tw_abs_level(int least)
{
#define TW_ABS_LEVEL(bits) bits,
    static const int levels[] = {TW_INT_EACH_F64(TW_ABS_LEVEL)};
#undef TW_ABS_LEVEL

    for (size_t i = 0; i < sizeof(levels) / sizeof(*levels); i++) {
        if (levels[i] % 4 == 0 && levels[i] >= least) {
            return levels[i];
        }
    }
    return 0;
}

/* log2, rounded up. */
static int tw_abs_log2(int terms)
{
    int bits = 0;

    while (bits < 31 && INT64_C(1) << bits < terms) {
        bits++;
    }
    return bits;
}

int tw_abs_step(double error, int terms)
{
    int exponent;

    frexp(error, &exponent); /* error < 2^exponent */
    exponent++;
    while (ldexp(terms, exponent) > ldexp(error, 1)) {
        exponent--;
    }
    return exponent;
}

int tw_abs_need(double magnitude, int exponent)
{
    const double y = ldexp(magnitude, -exponent);
    int64_t      code;
    double       rest;
    int          bits = 1;

    if (!(y < 0x1p60)) {
        return TW_ABS_NEVER;
    }
    code = (int64_t)y;
    rest = y - (double)code;
    code += rest > 0.5 || (rest == 0.5 && code % 2 != 0);
    for (; code > 0; code /= 2) {
        bits++;
    }
    return bits;
}

int tw_abs_limit(size_t element, int terms)
{
    const int fraction = element == 8 ? 54 : 25;
    const int most     = element == 8 ? TW_INT_BITS_F64 : TW_INT_BITS_F32;
    const int exact    = fraction - tw_abs_log2(terms);
    int       limit    = 0;

    for (int bits = tw_abs_level(1); bits > 0 && bits <= most && bits <= exact;
         bits     = tw_abs_level(bits + 1)) {
        limit = bits;
    }
    return limit;
}

int tw_abs_round(int need, int limit)
{
    const int bits = tw_abs_level(need);

    return bits <= limit ? bits : 0;
}

int tw_abs_bits(const tw_abs_level_t *level, int limit)
{
    int need = 0, bits;

    if (level->calls == 0) {
        return 0;
    }
    for (int i = 0; i < TW_ABS_CALLS; i++) {
        need = level->need[i] > need ? level->need[i] : need;
    }
    need += level->extra;
    bits = tw_abs_round(need + 1, limit);
    return bits > 0 ? bits : tw_abs_round(need, limit);
}

bool tw_abs_stale(const tw_abs_level_t *level)
{
    return level->extra > 0 && level->calls >= level->looked + TW_ABS_CALLS;
}

void tw_abs_saw(tw_abs_level_t *level, int need)
{
    if (need == TW_ABS_NEVER) {
        *level = (tw_abs_level_t){.calls = 0};
        return;
    }
    level->need[level->calls++ % TW_ABS_CALLS] = (uint8_t)need;
}

void tw_abs_learn(tw_abs_level_t *level, int need, int before, int failed)
{
    if (need == TW_ABS_NEVER || before == TW_ABS_NEVER) {
        tw_abs_saw(level, TW_ABS_NEVER);
        return;
    }
    tw_abs_saw(level, need);
    level->extra  = before > need ? before - need : 0;
    level->looked = level->calls;
    if (need + level->extra <= failed) { /* sums on the way are larger than both */
        level->extra = failed + 1 - need;
    }
}
