/* SPDX-License-Identifier: BSD-3-Clause
 * tools/bench_type.c - see bench_type.h.
 */
#include "config.h"

#include <stdint.h>
#include <stdio.h>

#include "tools/bench_type.h"

#define PIECE ((size_t)4096) /* values converted at once */

int bench_type(const char *name, size_t min, tw_dtype_t *dtype_p, tw_problem_t *problem)
{
    char   names[80] = "";
    size_t used      = 0;

    *dtype_p = TW_F32;
    if (name != NULL && !tw_dtype_named(name, dtype_p)) {
        for (size_t i = 0; i < TW_DTYPE_ROWS && used < sizeof(names); i++) {
            used += (size_t)snprintf(names + used, sizeof(names) - used, "%s%s", i > 0 ? ", " : "",
                                     tw_dtype_name(tw_dtypes[i]));
        }
        return tw_problem_set(problem, "--type %.80s: accepted are %s", name, names);
    }
    if (min % tw_dtype_size(*dtype_p) != 0) {
        return tw_problem_set(problem, "--min %zu is no multiple of the %zu bytes of a %s", min,
                              tw_dtype_size(*dtype_p), tw_dtype_name(*dtype_p));
    }
    return 0;
}

void bench_convert(void *x, size_t n, tw_dtype_t dtype)
{
    const tw_dtype_row_t *row  = tw_dtype_row(dtype);
    const size_t          last = (n + PIECE - 1) / PIECE;
    static double         wide[PIECE];

    for (size_t k = 0; k < last && dtype != TW_F32; k++) { /* larger ones from the end */
        const size_t first = (row->bytes > sizeof(float) ? last - 1 - k : k) * PIECE;
        const size_t m     = n - first < PIECE ? n - first : PIECE;

        tw_dtype_row(TW_F32)->to_f64((const float *)x + first, m, wide);
        row->from_f64(wide, m, (uint8_t *)x + first * row->bytes);
    }
}
