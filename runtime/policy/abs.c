/* SPDX-License-Identifier: BSD-3-Clause
 * policy/abs.c - see abs.h. Exact in every floating-point mode, as all ranks must decide alike.
 */
#include "config.h"

#include <math.h>

#include "runtime/policy/abs.h"

/* Of `int:B`; the last for float32 is 20. */
static const int tw_abs_levels[] = {4, 8, 12, 16, 20, 24, 28, 32, 40, 48};

#define TW_ABS_LEVELS (sizeof(tw_abs_levels) / sizeof(*tw_abs_levels))

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
    const int fraction = element == 8 ? 54 : 25, most = element == 8 ? 48 : 20;
    const int exact = fraction - tw_abs_log2(terms);
    int       limit = 0;

    for (size_t i = 0; i < TW_ABS_LEVELS; i++) {
        if (tw_abs_levels[i] <= most && tw_abs_levels[i] <= exact) {
            limit = tw_abs_levels[i];
        }
    }
    return limit;
}

int tw_abs_round(int need, int limit)
{
    for (size_t i = 0; i < TW_ABS_LEVELS && tw_abs_levels[i] <= limit; i++) {
        if (tw_abs_levels[i] >= need) {
            return tw_abs_levels[i];
        }
    }
    return 0;
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
