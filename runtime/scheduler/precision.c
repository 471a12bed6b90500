/* SPDX-License-Identifier: BSD-3-Clause
 * scheduler/precision.c - the rule by which a group of weights gets more bits; precision.h defines
 * the interpretation of S0's Algorithm 1.
 *
 * At `last` the state no longer changes: no norm and no count are stored, so a caller that still
 * computes norms has the same state as one that has stopped.
 */
#include "config.h"

#include <math.h>
#include <stddef.h>

#include <thinwire/precision.h>

enum { TW_NORM, TW_KNOWN, TW_COUNTED, TW_BITS };

#define TW_BITS_MOST    32
#define TW_BATCHES_MOST 9007199254740992.0 /* 2^53: whole numbers that a double holds */

static int tw_bits_valid(int bits)
{
    return bits >= 1 && bits <= TW_BITS_MOST;
}

static void tw_precision_forget(tw_precision_t *precision)
{
    precision->norm    = 0.0;
    precision->known   = 0;
    precision->counted = 0;
}

tw_status_t tw_precision_init(tw_precision_t *precision)
{
    if (precision == NULL || !isfinite(precision->threshold) || precision->interval < 1 ||
        !tw_bits_valid(precision->step) || !tw_bits_valid(precision->first) ||
        !tw_bits_valid(precision->last) || precision->first > precision->last ||
        (precision->absolute != 0 && precision->absolute != 1)) {
        return TW_ERR_INVALID_ARG;
    }
    tw_precision_forget(precision);
    precision->bits = precision->first;
    return TW_OK;
}

/* Relative to the norm before. Without change it is 0, also where that norm was 0. */
static double tw_precision_rate(const tw_precision_t *precision, double norm)
{
    const double change = norm - precision->norm;
    const double rate   = change == 0.0            ? 0.0
                          : precision->norm == 0.0 ? (double)INFINITY
                                                   : change / precision->norm;

    return precision->absolute ? fabs(rate) : rate;
}

static void tw_precision_raise(tw_precision_t *precision)
{
    const int left = precision->last - precision->bits;

    precision->bits += left < precision->step ? left : precision->step;
    tw_precision_forget(precision);
}

tw_status_t tw_precision_observe(tw_precision_t *precision, double norm, int *raised_p)
{
    int raised = 0;

    if (precision == NULL || !(norm >= 0.0) || !isfinite(norm)) {
        return TW_ERR_INVALID_ARG;
    }
    if (precision->bits < precision->last) {
        const int counts =
            precision->known && tw_precision_rate(precision, norm) < precision->threshold;

        precision->counted = counts ? precision->counted + 1 : 0;
        precision->norm    = norm;
        precision->known   = 1;
        raised             = precision->counted >= precision->interval;
        if (raised) {
            tw_precision_raise(precision);
        }
    }
    if (raised_p != NULL) {
        *raised_p = raised;
    }
    return TW_OK;
}

int tw_precision_bytes(int bits)
{
    return tw_bits_valid(bits) ? (bits + 7) / 8 : 0;
}

void tw_precision_save(const tw_precision_t *precision, double numbers[TW_PRECISION_NUMBERS])
{
    numbers[TW_NORM]    = precision->norm;
    numbers[TW_KNOWN]   = (double)precision->known;
    numbers[TW_COUNTED] = (double)precision->counted;
    numbers[TW_BITS]    = (double)precision->bits;
}

/* Whole, and from 0 to most? */
static int tw_precision_whole(double number, double most)
{
    return number >= 0.0 && number <= most && number == floor(number);
}

/* Does the rule ever have so many bits? */
static int tw_precision_reaches(const tw_precision_t *precision, double bits)
{
    if (!tw_precision_whole(bits, precision->last) || bits < precision->first) {
        return 0;
    }
    return bits == precision->last || ((int)bits - precision->first) % precision->step == 0;
}

tw_status_t tw_precision_restore(tw_precision_t *precision,
                                 const double    numbers[TW_PRECISION_NUMBERS])
{
    if (precision == NULL || numbers == NULL) {
        return TW_ERR_INVALID_ARG;
    }
    if (!(numbers[TW_NORM] >= 0.0) || !isfinite(numbers[TW_NORM]) ||
        !tw_precision_whole(numbers[TW_KNOWN], 1.0) ||
        !tw_precision_whole(numbers[TW_COUNTED], TW_BATCHES_MOST) ||
        (uint64_t)numbers[TW_COUNTED] >= precision->interval ||
        !tw_precision_reaches(precision, numbers[TW_BITS]) ||
        (numbers[TW_KNOWN] == 0.0 && numbers[TW_NORM] + numbers[TW_COUNTED] > 0.0) ||
        (numbers[TW_KNOWN] == 1.0 && (int)numbers[TW_BITS] == precision->last)) {
        return TW_ERR_FORMAT;
    }
    precision->norm    = numbers[TW_NORM];
    precision->known   = (int)numbers[TW_KNOWN];
    precision->counted = (uint64_t)numbers[TW_COUNTED];
    precision->bits    = (int)numbers[TW_BITS];
    return TW_OK;
}
