/* SPDX-License-Identifier: BSD-3-Clause
 * base/reduction.c - the list of reductions.
 */
#include "config.h"

#include "runtime/base/reduction.h"

#define TW_REDUCTION(reduction, called, mpi, combined, divided, may_lose, has_feedback)            \
    [reduction] = {.name        = called,                                                          \
                   .combination = combined,                                                        \
                   .divides     = divided,                                                         \
                   .lossy       = may_lose,                                                        \
                   .feedback    = has_feedback},
static const tw_reduction_row_t tw_reduction_rows[] = {TW_REDUCTIONS(TW_REDUCTION)};

const tw_reduction_row_t *tw_reduction_row(int reduction)
{
    return reduction >= 0 &&
                   (size_t)reduction < sizeof(tw_reduction_rows) / sizeof(tw_reduction_rows[0])
               ? &tw_reduction_rows[reduction]
               : NULL;
}

const char *tw_reduction_name(int reduction)
{
    const tw_reduction_row_t *row = tw_reduction_row(reduction);

    return row != NULL ? row->name : NULL;
}
