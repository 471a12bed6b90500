/* SPDX-License-Identifier: BSD-3-Clause
 * tools/bench_rows.c - see bench_rows.h.
 */
#include "config.h"

#include <stdio.h>
#include <string.h>

#include "tools/bench_rows.h"
#include "tools/table.h"

static const table_column_t columns[] = {{"codec", -22},     {"kernels", -7},    {"threads", 0},
                                         {"size", 5},        {"operation", -15}, {"GB/s", 5},
                                         {"x memcpy", 0},    {"x limit", 0},     {"spread", 0},
                                         {"bytes/value", 0}, {"RMS error", -9},  {"max error", -9}};
#define COLUMNS (sizeof(columns) / sizeof(columns[0]))

void rows_begin(void)
{
    printf("GB/s of values. Kernels, memcpy and loops that read and write as many bytes as the "
           "kernel does\n"
           "take turns; medians. x memcpy, x limit: how many times faster than memcpy, and than "
           "the loop, which\n"
           "is the limit; spread: of these ratios, 10th to 90th percentile. Normal random data; "
           "errors relative\n"
           "to its RMS.\n\n");
    table_header(columns, COLUMNS);
}

static int trusted(const ratio_t *ratio)
{
    return ratio->spread <= ALTERNATE_TRUST;
}

static void ratio_cell(char *cell, const ratio_t *ratio)
{
    char number[TABLE_CELL];

    table_number(number, ratio->median);
    snprintf(cell, TABLE_CELL, "%.20s%s", number, trusted(ratio) ? "" : "?");
}

static double wider_spread(const kernel_result_t *k)
{
    return k->to_limit.spread > k->to_copy.spread ? k->to_limit.spread : k->to_copy.spread;
}

static void print_row(const row_key_t *key, kernel_operation_t operation,
                      const codec_result_t *result)
{
    const kernel_result_t *k = &result->kernel[operation];
    char                   cells[COLUMNS][TABLE_CELL];

    memset(cells, 0, sizeof(cells));
    table_text(cells[0], key->codec);
    table_text(cells[1], key->isa);
    snprintf(cells[2], TABLE_CELL, "%d", key->threads);
    table_size(cells[3], key->bytes);
    table_text(cells[4], bench_operation_name(operation));
    table_number(cells[5], (double)key->bytes / k->seconds * 1e-9);
    ratio_cell(cells[6], &k->to_copy);
    if (k->limit_seconds > 0) {
        ratio_cell(cells[7], &k->to_limit);
    }
    snprintf(cells[8], TABLE_CELL, "%.0f%%", 100 * wider_spread(k));
    if (operation == BENCH_ENCODE) {
        snprintf(cells[9], TABLE_CELL, "%.4f", result->bytes_per_value);
    }
    if (operation == BENCH_DECODE) {
        table_error(cells[10], result->rms_error);
        table_error(cells[11], result->max_error);
    }
    table_row(columns, COLUMNS, cells);
}

static json_t *row_json(const row_key_t *key, kernel_operation_t operation,
                        const codec_result_t *result)
{
    const kernel_result_t *k = &result->kernel[operation];
    json_t                *row =
        json_pack("{s:s, s:s, s:s, s:i, s:I, s:f, s:f, s:f, s:f, s:f, s:i, s:b}", "codec",
                  key->codec, "operation", bench_operation_name(operation), "isa", key->isa,
                  "threads", key->threads, "bytes", (json_int_t)key->bytes, "seconds", k->seconds,
                  "gbps", (double)key->bytes / k->seconds * 1e-9, "memcpy_gbps",
                  (double)key->bytes / k->copy_seconds * 1e-9, "ratio_memcpy", k->to_copy.median,
                  "ratio_memcpy_spread", k->to_copy.spread, "turns", result->turns, "trusted",
                  trusted(&k->to_copy) && trusted(&k->to_limit));

    if (k->limit_seconds > 0) {
        json_object_set_new(row, "limit_gbps",
                            json_real((double)key->bytes / k->limit_seconds * 1e-9));
        json_object_set_new(row, "ratio_limit", json_real(k->to_limit.median));
        json_object_set_new(row, "ratio_limit_spread", json_real(k->to_limit.spread));
    }
    if (operation < BENCH_ABSMAX) {
        json_object_set_new(row, "bytes_per_value", json_real(result->bytes_per_value));
        json_object_set_new(row, "max_error", report_number(result->max_error));
        json_object_set_new(row, "rms_error", report_number(result->rms_error));
    }
    return row;
}

static void plot_row(plot_t *plot, const row_key_t *key, kernel_operation_t operation,
                     const codec_result_t *result)
{
    const kernel_result_t *k     = &result->kernel[operation];
    plot_point_t           point = {.operation = operation, .bytes = key->bytes};

    snprintf(point.codec, sizeof(point.codec), "%s", key->codec);
    if (key->threads > 1) {
        snprintf(point.series, sizeof(point.series), "%.10s, %d threads", key->isa, key->threads);
    } else {
        snprintf(point.series, sizeof(point.series), "%s", key->isa);
    }
    point.gbps  = (double)key->bytes / k->seconds * 1e-9;
    point.copy  = (double)key->bytes / k->copy_seconds * 1e-9;
    point.limit = k->limit_seconds > 0 ? (double)key->bytes / k->limit_seconds * 1e-9 : 0;
    plot_add(plot, &point);
}

void rows_add(rows_t *rows, const row_key_t *key, kernel_operation_t operation,
              const codec_result_t *result)
{
    const kernel_result_t *k = &result->kernel[operation];

    print_row(key, operation, result);
    report_row(rows->report, row_json(key, operation, result));
    plot_row(rows->plot, key, operation, result);
    rows->doubtful += !trusted(&k->to_copy) || !trusted(&k->to_limit);
}

void rows_end(const rows_t *rows)
{
    if (rows->doubtful > 0) {
        printf("\n? a ratio that spreads by more than %.0f%% is not to be trusted; %d row%s such a "
               "ratio. Is "
               "the machine quiet?\n",
               100 * ALTERNATE_TRUST, rows->doubtful, rows->doubtful == 1 ? " has" : "s have");
    }
}
