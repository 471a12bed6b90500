/* SPDX-License-Identifier: BSD-3-Clause
 * tools/bench_rows.h - the rows of thinwire bench codec and bench/other_codecs.c: on the screen, as
 * JSON, as bars.
 */
#ifndef TOOLS_BENCH_ROWS_H
#define TOOLS_BENCH_ROWS_H

#include "tools/bench_kernels.h"
#include "tools/bench_plot.h"
#include "tools/report.h"

typedef struct rows {
    report_t *report;
    plot_t   *plot;
    int       doubtful; /* rows with a ratio that spreads too much */
} rows_t;

/* What was measured. */
typedef struct row_key {
    const char *codec, *isa;
    int         threads;
    size_t      bytes;
} row_key_t;

/* Caption and header. */
void rows_begin(void);

/* The row of one operation. */
void rows_add(rows_t *rows, const row_key_t *key, kernel_operation_t operation,
              const codec_result_t *result);

/* What the question marks mean, if there are any. */
void rows_end(const rows_t *rows);

#endif /* TOOLS_BENCH_ROWS_H */
