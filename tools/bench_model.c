/* SPDX-License-Identifier: BSD-3-Clause
 * tools/bench_model.c - what the model says of the rows that were measured. A plan of the same call
 * tells which algorithm, and for auto which codec, the library takes.
 */
#include "config.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "tools/bench_model.h"
#include "tools/measure.h"
#include "tools/table.h"

void model_add(model_rows_t *rows, model_row_t row)
{
    if (rows->count < MODEL_ROWS) {
        rows->row[rows->count++] = row;
    }
}

typedef struct predicted {
    char   algorithm[32], spec[96];
    double seconds; /* 0: the model does not know this */
} predicted_t;

static tw_status_t predict(const operation_t *operation, const bench_call_t *x, tw_context_t *ctx,
                           const model_row_t *row, predicted_t *p)
{
    const tw_how_t how   = {.codec = row->codec};
    tw_codec_t    *codec = NULL;
    tw_request_t  *plan  = NULL;
    const size_t   ranks = (size_t)x->job->size;
    tw_status_t    status;

    *p = (predicted_t){"mpi", "fp32", 0.0};
    if (row->codec != NULL) {
        status = operation->plan(x, &how, &plan);
        if (status != TW_OK) {
            return status;
        }
        snprintf(p->algorithm, sizeof(p->algorithm), "%s", tw_request_algorithm(plan));
        snprintf(p->spec, sizeof(p->spec), "%s", tw_request_codec(plan));
        tw_request_free(&plan);
    }
    if (tw_codec_create(ctx, p->spec, x->dtype, &codec, NULL, 0) == TW_OK) {
        const size_t blocks = operation->kind == TW_OPERATION_REDUCE_SCATTER ? ranks : 1;

        tw_comm_predict(x->comm, operation->kind, blocks * x->count, codec, p->algorithm,
                        &p->seconds);
    }
    tw_codec_destroy(codec);
    return TW_OK;
}

static void print_row(const table_column_t *columns, const model_row_t *row, size_t element,
                      const predicted_t *p)
{
    char cells[6][TABLE_CELL];

    table_text(cells[0], row->text);
    table_size(cells[1], row->count * element);
    if (row->codec == NULL) {
        table_text(cells[2], "mpi");
    } else {
        snprintf(cells[2], TABLE_CELL, "%.20s, %.*s", p->algorithm, (int)strcspn(p->spec, ":"),
                 p->spec);
    }
    table_time(cells[3], row->seconds);
    table_text(cells[4], "-");
    table_text(cells[5], "-");
    if (p->seconds > 0.0) {
        table_time(cells[4], p->seconds);
        snprintf(cells[5], TABLE_CELL, "%+.0f %%", 100.0 * (p->seconds / row->seconds - 1.0));
    }
    table_row(columns, 6, cells);
}

int model_compare(const operation_t *operation, const bench_call_t *x, tw_context_t *ctx,
                  model_rows_t *rows, report_t *report)
{
    static const table_column_t columns[] = {{"codec", -12},  {"size", 6},      {"by", -20},
                                             {"measured", 8}, {"predicted", 9}, {"error", 7}};
    static double               errors[MODEL_ROWS];
    tw_facts_t                  facts;
    size_t                      known  = 0;
    bench_call_t                one    = *x;
    tw_status_t                 status = tw_comm_get_facts(x->comm, &facts);

    if (x->job->rank == 0 && status == TW_OK) {
        printf("\nPredicted times, by a %s:\n\n",
               facts.long_form ? "calibration" : "short measurement");
        table_header(columns, 6);
    }
    for (size_t i = 0; i < rows->count && status == TW_OK; i++) {
        const model_row_t *row = &rows->row[i];
        predicted_t        p;

        one.count = row->count;
        status    = predict(operation, &one, ctx, row, &p);
        if (status != TW_OK || x->job->rank != 0) {
            continue;
        }
        print_row(columns, row, tw_dtype_size(x->dtype), &p);
        if (p.seconds > 0.0) {
            errors[known++] = fabs(p.seconds / row->seconds - 1.0);
        }
        if (row->row != NULL) {
            json_object_set_new(row->row, "algorithm", json_string(p.algorithm));
            json_object_set_new(row->row, "predicted_seconds",
                                p.seconds > 0.0 ? json_real(p.seconds) : json_null());
        }
    }
    if (status != TW_OK) {
        job_complain(x->job, "--model: %s", tw_status_text(status));
        return -1;
    }
    if (x->job->rank == 0 && known > 0) {
        const double median = measure_median(errors, known);

        printf("\nmedian error of %zu predictions: %.1f %%\n", known, 100.0 * median);
        json_object_set_new(report->root, "median_model_error", json_real(median));
    }
    return 0;
}
