/* SPDX-License-Identifier: BSD-3-Clause
 * interpose/report/census.c - what values a message holds: some that no computed numbers have are
 * bit patterns of something else, integers or text, which no codec may touch. Looked at as
 * integers, whatever the processor does with subnormal numbers; a few runs of values are enough,
 * and each is whole, as fields of a struct come again and again.
 */
#include "config.h"

#include <string.h>

#include "interpose/report/records.h"

enum { RUNS = 4, RUN = 64, BINADES = 60 };

typedef struct tw_census_seen {
    unsigned kinds;
    int      least, most; /* exponents of numbers that are not 0 */
    bool     any, broken; /* a number that is not 0; one that is no integer */
} tw_census_seen_t;

static void tw_census_value(uint64_t bits, const tw_dtype_row_t *form, tw_census_seen_t *seen)
{
    const uint64_t fraction = bits & ((UINT64_C(1) << form->fraction) - 1);
    const int      top      = (1 << form->exponent) - 1;
    const int      biased   = (int)(bits >> form->fraction) & top;
    const int      exponent = biased - top / 2;

    if (biased == 0 && fraction == 0) {
        return;
    }
    if (biased == 0 || biased == top) {
        seen->kinds |= 1u << (biased == 0 ? TW_CENSUS_SUBNORMAL : TW_CENSUS_NOT_FINITE);
        seen->broken = true;
        return;
    }
    seen->least  = !seen->any || exponent < seen->least ? exponent : seen->least;
    seen->most   = !seen->any || exponent > seen->most ? exponent : seen->most;
    seen->any    = true;
    seen->broken = seen->broken || exponent < 0 || exponent > form->fraction ||
                   (fraction & ((UINT64_C(1) << (form->fraction - exponent)) - 1)) != 0;
}

static uint64_t tw_census_bits(const char *value, size_t size)
{
    uint64_t bits64;
    uint32_t bits32;
    uint16_t bits16;

    switch (size) {
    case sizeof(bits64):
        memcpy(&bits64, value, sizeof(bits64));
        return bits64;
    case sizeof(bits32):
        memcpy(&bits32, value, sizeof(bits32));
        return bits32;
    default:
        memcpy(&bits16, value, sizeof(bits16));
        return bits16;
    }
}

unsigned tw_census_of(const void *values, size_t count, tw_dtype_t dtype)
{
    const tw_dtype_row_t *form = tw_dtype_row(dtype);
    const size_t          runs = count > (size_t)RUNS * RUN ? RUNS : 1;
    const size_t          run  = runs == 1 ? count : RUN;
    tw_census_seen_t      seen = {.kinds = 0};

    for (size_t r = 0; r < runs; r++) {
        const size_t first = runs == 1 ? 0 : (count - run) / (runs - 1) * r;

        for (size_t i = first; i < first + run; i++) {
            tw_census_value(tw_census_bits((const char *)values + i * form->bytes, form->bytes),
                            form, &seen);
        }
    }
    if (seen.any && !seen.broken) {
        seen.kinds |= 1u << TW_CENSUS_INTEGERS;
    }
    if (seen.any && seen.most - seen.least > BINADES) {
        seen.kinds |= 1u << TW_CENSUS_WIDE;
    }
    return seen.kinds;
}
