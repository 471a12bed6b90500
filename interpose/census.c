/* SPDX-License-Identifier: BSD-3-Clause
 * interpose/census.c - what values a message holds: some that no computed numbers have are bit patterns of
 * something else, integers or text, which no codec may touch. Looked at as integers, whatever the processor
 * does with subnormal numbers; a few runs of values are enough, and each is whole, as fields of a struct
 * come again and again.
 */
#include "config.h"

#include <string.h>

#include "interpose/records.h"

enum { RUNS = 4, RUN = 64, BINADES = 60 };

/* A format: bits of mantissa and exponent. */
typedef struct tw_census_form {
    int mantissa, exponent;
} tw_census_form_t;

typedef struct tw_census_seen {
    unsigned kinds;
    int      least, most; /* exponents of numbers that are not 0 */
    bool     any, broken; /* a number that is not 0; one that is no integer */
} tw_census_seen_t;

static void tw_census_value(uint64_t bits, tw_census_form_t form, tw_census_seen_t *seen)
{
    const uint64_t fraction = bits & ((UINT64_C(1) << form.mantissa) - 1);
    const int      top      = (1 << form.exponent) - 1;
    const int      biased   = (int)(bits >> form.mantissa) & top;
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
    seen->broken = seen->broken || exponent < 0 || exponent > form.mantissa ||
                   (fraction & ((UINT64_C(1) << (form.mantissa - exponent)) - 1)) != 0;
}

unsigned tw_census_of(const void *values, size_t count, bool wide)
{
    const tw_census_form_t form = wide ? (tw_census_form_t){52, 11} : (tw_census_form_t){23, 8};
    const size_t           size = wide ? sizeof(uint64_t) : sizeof(uint32_t);
    const size_t           runs = count > (size_t)RUNS * RUN ? RUNS : 1;
    const size_t           run  = runs == 1 ? count : RUN;
    tw_census_seen_t       seen = {.kinds = 0};

    for (size_t r = 0; r < runs; r++) {
        const size_t first = runs == 1 ? 0 : (count - run) / (runs - 1) * r;

        for (size_t i = first; i < first + run; i++) {
            uint64_t bits   = 0;
            uint32_t narrow = 0;

            if (wide) {
                memcpy(&bits, (const char *)values + i * size, sizeof(bits));
            } else {
                memcpy(&narrow, (const char *)values + i * size, sizeof(narrow));
                bits = narrow;
            }
            tw_census_value(bits, form, &seen);
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
