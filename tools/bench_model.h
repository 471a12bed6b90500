/* SPDX-License-Identifier: BSD-3-Clause
 * tools/bench_model.h - thinwire bench ... --model: predicted beside measured times.
 */
#ifndef TOOLS_BENCH_MODEL_H
#define TOOLS_BENCH_MODEL_H

#include <thinwire/thinwire.h>

#include "tools/bench_operations.h"
#include "tools/report.h"

#define MODEL_ROWS 1024

/* What was measured, in the order of the bench's rows. codec NULL: MPI's own collective. */
typedef struct model_row {
    const char       *text; /* of the codec, as the user wrote it */
    const tw_codec_t *codec;
    size_t            count;
    double            seconds;
    json_t           *row; /* of the report, or NULL */
} model_row_t;

typedef struct model_rows {
    model_row_t row[MODEL_ROWS];
    size_t      count;
} model_rows_t;

/* Rows beyond MODEL_ROWS are left out. */
void model_add(model_rows_t *rows, model_row_t row);

/* Print the table and the median error, and put both into the report. Collective; makes plans,
 * after which blocking calls by auto are no longer MPI's own: to be called last. @return 0, or -1
 * with a complaint. */
int model_compare(const operation_t *operation, const bench_call_t *x, tw_context_t *ctx,
                  model_rows_t *rows, report_t *report);

#endif /* TOOLS_BENCH_MODEL_H */
