/* SPDX-License-Identifier: BSD-3-Clause
 * interpose/report/report_text_tables.c - the tables of the report for people.
 */
#include "config.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "interpose/report/report_text.h"

#define TW_REASONS    5  /* lines for them, before the rest is put together */
#define TW_BELOW      15 /* lines kept for what follows the candidates, and for call sites */
#define TW_SITE_WIDTH 48
#define TW_NAME_WIDTH 24 /* of communicators and codecs */

/* A table with its headings alone. */
static tw_text_table_t *tw_text_new_table(tw_text_report_t *report, int columns, int left,
                                          int last_left, const char *const headings[])
{
    char(*row)[TW_CELL];

    report->table.rows      = 0;
    report->table.columns   = columns;
    report->table.left      = left;
    report->table.last_left = last_left;
    row                     = tw_text_table_row(&report->table);
    for (int i = 0; i < columns; i++) {
        snprintf(row[i], TW_CELL, "%s", headings[i]);
    }
    return &report->table;
}

static void tw_cell_count(char *cell, uint64_t value)
{
    snprintf(cell, TW_CELL, "%llu", (unsigned long long)value);
}

static void tw_cell_mb(char *cell, uint64_t bytes)
{
    tw_format_fixed(cell, TW_CELL, (double)bytes * 1e-6, 3);
}

static void tw_cell_ms(char *cell, const tw_report_about_t *about, uint64_t ns)
{
    tw_format_fixed(cell, TW_CELL, 1e3 * tw_report_seconds(about, ns), 3);
}

/* At most `width` bytes of a text; of a site the end stays, which says where, and of a name of C++
 * before it the end, too. */
static void tw_cell_text(char *cell, const char *text, size_t width)
{
    const size_t n     = strlen(text);
    const char  *tail  = strstr(text, " at ") != NULL ? strstr(text, " at ") : strstr(text, " in ");
    const size_t keep  = tail != NULL && strlen(tail) + 8 < width ? strlen(tail) : 0;
    const char  *scope = strstr(text, "::");

    if (n <= width) {
        memcpy(cell, text, n + 1);
    } else if (keep > 0 && scope != NULL && scope < tail) {
        snprintf(cell, TW_CELL, "..%s", text + n - (width - 2));
    } else {
        snprintf(cell, TW_CELL, "%.*s..%s", (int)(width - keep - 2), text, text + n - keep);
    }
}

void tw_text_traffic(tw_text_report_t *report)
{
    const char           *headings[4 + TW_ELEMENTS] = {"traffic", "calls", "MB", "of all bytes"};
    char                  names[TW_ELEMENTS][32];
    tw_text_table_t      *table;
    tw_traffic_kind_sum_t sums[TW_TRAFFICS];

    for (int i = 0; i < TW_ELEMENTS; i++) { /* other ones are the last */
        snprintf(names[i], sizeof(names[i]), "%s MB",
                 tw_elements_text((tw_elements_t)((i + 1) % TW_ELEMENTS)));
        headings[4 + i] = names[i];
    }
    table = tw_text_new_table(report, 4 + TW_ELEMENTS, 1, 0, headings);
    tw_report_traffic(report->records, report->count, sums);
    for (int t = 0; t < TW_TRAFFICS; t++) {
        char(*row)[TW_CELL] = sums[t].calls > 0 ? tw_text_table_row(table) : NULL;

        if (row == NULL) {
            continue;
        }
        snprintf(row[0], TW_CELL, "%s", tw_traffic_kind_texts[t]);
        tw_cell_count(row[1], sums[t].calls);
        tw_cell_mb(row[2], sums[t].bytes);
        tw_format_percent(row[3], TW_CELL, (double)sums[t].bytes, (double)report->sum.uncompressed);
        for (int i = 0; i < TW_ELEMENTS; i++) {
            if (sums[t].elements[(i + 1) % TW_ELEMENTS] > 0) {
                tw_cell_mb(row[4 + i], sums[t].elements[(i + 1) % TW_ELEMENTS]);
            }
        }
    }
    tw_text_table_print(table, &report->tail);
}

static void tw_reason_row(tw_text_table_t *table, uint64_t calls, uint64_t bytes, const char *name,
                          const char *text)
{
    char(*row)[TW_CELL] = tw_text_table_row(table);

    if (row != NULL) {
        tw_cell_count(row[0], calls);
        tw_cell_mb(row[1], bytes);
        snprintf(row[2], TW_CELL, "%s", name);
        snprintf(row[3], TW_CELL, "%s", text);
    }
}

void tw_text_reasons(tw_text_report_t *report)
{
    static const char *const headings[] = {"calls", "MB", "reason", "not compressed because"};
    tw_text_table_t         *table      = tw_text_new_table(report, 4, 0, 2, headings);
    bool                     shown[TW_WHY_COUNT] = {false};
    uint64_t                 calls = 0, bytes = 0;

    for (int why; (why = tw_report_reason(&report->sum, shown)) >= 0; shown[why] = true) {
        if (table->rows <= TW_REASONS) {
            char name[TW_CELL];

            tw_format_why(name, sizeof(name), why);
            tw_reason_row(table, report->sum.why[why], report->sum.why_bytes[why], name,
                          tw_why_texts[why]);
        } else {
            calls += report->sum.why[why];
            bytes += report->sum.why_bytes[why];
        }
    }
    if (calls > 0) {
        tw_reason_row(table, calls, bytes, "others", "");
    }
    tw_text_table_print(table, &report->tail);
}

/* A column of errors for each type: of 16-bit floats where there are any. */
static bool tw_has_column(const tw_record_t *sum, int t)
{
    return sum->could_of[t] > 0 || tw_dtype_row(tw_dtypes[t])->sum == tw_dtypes[t];
}

static void tw_candidate_row(const tw_record_t *sum, int c, char (*row)[TW_CELL])
{
    const tw_candidate_t *candidate = &tw_candidates()->row[c];
    const uint64_t        bytes     = tw_report_could(sum, c);
    int                   column    = 3;

    snprintf(row[0], TW_CELL, "%s", candidate->spec);
    tw_cell_count(row[1], bytes);
    if (bytes <= sum->could_bytes) {
        tw_format_percent(row[2], TW_CELL, (double)(sum->could_bytes - bytes),
                          (double)sum->uncompressed);
    } else {
        snprintf(row[2], TW_CELL, "none");
    }
    for (int t = 0; t < TW_DTYPE_ROWS;
         t++) { /* a part of a block's largest magnitude, or the value */
        if (sum->could_of[t] > 0 && !isnan(candidate->error[t])) {
            tw_format_short(row[column], TW_CELL, candidate->error[t]);
        }
        column += tw_has_column(sum, t) ? 1 : 0;
    }
}

/* Does it exist for anything that was sent? */
static bool tw_candidate_is_for(const tw_record_t *sum, int c)
{
    bool is = false;

    for (int t = 0; t < TW_DTYPE_ROWS; t++) {
        is = is || (sum->could_of[t] > 0 && !isnan(tw_candidates()->row[c].error[t]));
    }
    return is;
}

void tw_text_candidates(tw_text_report_t *report)
{
    const char *headings[3 + TW_DTYPE_ROWS] = {"with codec", "bytes sent", "saved of all bytes"};
    char        errors[TW_DTYPE_ROWS][32];
    const tw_record_t *sum = &report->sum;
    tw_text_table_t   *table;
    char               ms[32], doubles[64] = "";
    int                columns = 3, most;

    for (int t = 0; t < TW_DTYPE_ROWS; t++) {
        snprintf(errors[t], sizeof(errors[t]), "%s%ss", t == 0 ? "error of " : "of ",
                 tw_dtype_name(tw_dtypes[t]));
        if (tw_has_column(sum, t)) {
            headings[columns++] = errors[t];
        }
    }
    table = tw_text_new_table(report, columns, 1, 0, headings);
    if (sum->could_bytes == 0) {
        return;
    }
    tw_format_fixed(ms, sizeof(ms), 1e3 * tw_report_seconds(report->about, sum->could_ns), 3);
    if (tw_report_asked(sum) > 0) {
        snprintf(doubles, sizeof(doubles), " (%llu of doubles, with --double)",
                 (unsigned long long)tw_report_asked(sum));
    }
    tw_page_line(&report->tail, "calls that could be compressed: %llu bytes uncompressed%s, %s ms",
                 (unsigned long long)sum->could_bytes, doubles, ms);
    most = TW_REPORT_LINES - TW_BELOW - report->head.lines - report->tail.lines;
    for (int c = 0; c < tw_candidates()->count && table->rows <= most; c++) {
        if (tw_candidate_is_for(sum, c)) {
            tw_candidate_row(sum, c, tw_text_table_row(table));
        }
    }
    tw_text_table_print(table, &report->tail);
}

/* Columns: site, communicator, operation, type, codec, calls, MB uncompressed, MB sent, ms, encode,
 * decode, max error, rms error, what messages hold. */
static void tw_site_numbers(const tw_report_about_t *about, const tw_record_t *record,
                            char (*row)[TW_CELL])
{
    tw_cell_count(row[5], record->calls);
    tw_cell_mb(row[6], record->uncompressed);
    tw_cell_mb(row[7], record->sent);
    if (tw_traffic_kind_of(record->key.op) < TW_TRAFFIC_MESSAGE) { /* else not measured */
        tw_cell_ms(row[8], about, record->time_ns);
    }
    if (record->why[TW_WHY_NOT] > 0) {
        tw_cell_ms(row[9], about, record->encode_ns);
        tw_cell_ms(row[10], about, record->decode_ns);
    }
    if (record->verified > 0) {
        tw_format_short(row[11], TW_CELL, record->worst);
        tw_format_short(row[12], TW_CELL, record->worst_rms);
    }
}

/* What share of the messages looked at holds what may be no numbers. */
static void tw_cell_census(char *cell, const tw_record_t *record)
{
    size_t n = 0;

    for (int i = 0; i < TW_CENSUS; i++) {
        char percent[TW_NAME_WIDTH];

        if (record->census[i] > 0 && n < TW_CELL) {
            tw_format_percent(percent, sizeof(percent), (double)record->census[i],
                              (double)record->looked);
            n += (size_t)snprintf(cell + n, TW_CELL - n, "%s%s %s", n > 0 ? ", " : "",
                                  tw_census_texts[i], percent);
        }
    }
}

/* The codec, or the main reason why there is none. */
static void tw_cell_codec(char *cell, const tw_record_t *record)
{
    const int why = tw_report_reason(record, NULL);
    char      name[TW_NAME_WIDTH];

    if (record->key.codec[0] != '\0' || why < 0) {
        snprintf(cell, TW_CELL, "%.*s", TW_NAME_WIDTH, record->key.codec);
    } else {
        tw_format_why(name, sizeof(name), why);
        snprintf(cell, TW_CELL, "(%s)", name);
    }
}

static void tw_site_row(tw_text_report_t *report, const tw_record_t *record)
{
    char(*row)[TW_CELL] = tw_text_table_row(&report->table);
    char site[256], comm[sizeof(record->key.comm) + 1];

    if (row != NULL) {
        snprintf(comm, sizeof(comm), "%.*s", (int)sizeof(record->key.comm), record->key.comm);
        tw_site_name(record->key.object, record->key.offset, site, sizeof(site));
        tw_cell_text(row[0], site, TW_SITE_WIDTH);
        tw_cell_text(row[1], comm, TW_NAME_WIDTH);
        tw_format_operation(row[2], TW_CELL, &record->key);
        snprintf(row[3], TW_CELL, "%.*s", (int)sizeof(record->key.type), record->key.type);
        tw_cell_codec(row[4], record);
        tw_site_numbers(report->about, record, row);
        tw_cell_census(row[13], record);
    }
}

/* These records as one row. */
static void tw_site_sum_row(tw_text_report_t *report, const tw_record_t *records, size_t count,
                            const char *format)
{
    tw_record_t sum;
    char(*row)[TW_CELL] = tw_text_table_row(&report->table);

    if (row != NULL) {
        tw_report_sum(records, count, &sum);
        snprintf(row[0], TW_CELL, format, (unsigned long long)count);
        tw_site_numbers(report->about, &sum, row);
    }
}

/* The larger share that a record has, of all time in calls or of all bytes: of messages no time is
 * known. */
static double tw_site_share(const tw_record_t *sum, const tw_record_t *record)
{
    const double time = sum->time_ns > 0 ? (double)record->time_ns / (double)sum->time_ns : 0.0;
    const double bytes =
        sum->uncompressed > 0 ? (double)record->uncompressed / (double)sum->uncompressed : 0.0;

    return time > bytes ? time : bytes;
}

/* Less than a thousandth of all bytes, and a hundredth of the run. */
static bool tw_site_tiny(const tw_text_report_t *report, const tw_record_t *record)
{
    return report->sum.uncompressed > 0 &&
           (double)record->uncompressed < 1e-3 * (double)report->sum.uncompressed &&
           tw_report_seconds(report->about, record->time_ns) < 1e-2 * report->about->seconds;
}

typedef struct tw_site_order {
    bool   tiny;
    double share;
    size_t index;
} tw_site_order_t;

static int tw_site_compare(const void *a, const void *b)
{
    const tw_site_order_t *x = a, *y = b;

    return x->tiny != y->tiny     ? x->tiny - y->tiny
           : x->share != y->share ? (x->share < y->share ? 1 : -1)
                                  : (x->index > y->index) - (x->index < y->index);
}

/* A copy of the records with the larger shares first, those that are tiny last, of which *large_p
 * are not; NULL without memory. */
static tw_record_t *tw_sites_sorted(const tw_text_report_t *report, size_t *large_p)
{
    tw_record_t     *sites = malloc(report->count * sizeof(*sites));
    tw_site_order_t *order = malloc(report->count * sizeof(*order));

    if (order == NULL || sites == NULL) {
        free(sites);
        free(order);
        return NULL;
    }
    *large_p = 0;
    for (size_t i = 0; i < report->count; i++) {
        order[i] = (tw_site_order_t){tw_site_tiny(report, &report->records[i]),
                                     tw_site_share(&report->sum, &report->records[i]), i};
        *large_p += !order[i].tiny;
    }
    qsort(order, report->count, sizeof(*order), tw_site_compare);
    for (size_t i = 0; i < report->count; i++) {
        sites[i] = report->records[order[i].index];
    }
    free(order);
    return sites;
}

void tw_text_sites(tw_text_report_t *report)
{
    static const char *const headings[] = {"call site",
                                           "communicator",
                                           "operation",
                                           "type",
                                           "codec",
                                           "calls",
                                           "MB uncompressed",
                                           "MB sent",
                                           "ms",
                                           "encode ms",
                                           "decode ms",
                                           "max error",
                                           "rms error",
                                           "of messages looked at hold"};
    tw_text_table_t         *table = tw_text_new_table(report, TW_TABLE_COLUMNS, 5, 1, headings);
    tw_record_t             *sites;
    size_t                   rows, large = 0;

    /* Besides them: what the numbers are, headings, the others, all. */
    rows  = (size_t)(TW_REPORT_LINES - 4 - report->head.lines - report->tail.lines);
    rows  = rows < report->count ? rows : report->count;
    sites = report->count > 0 ? tw_sites_sorted(report, &large) : NULL;
    if (sites == NULL) {
        return;
    }
    rows = large < rows && large + 1 < report->count ? large : rows;
    tw_site_prepare(sites, rows);
    for (size_t i = 0; i < rows; i++) {
        tw_site_row(report, &sites[i]);
    }
    if (rows < report->count) {
        tw_site_sum_row(report, sites + rows, report->count - rows,
                        large <= rows ? "%llu below 0.1 %% of the bytes" : "%llu more");
    }
    if (report->count > 1) {
        tw_site_sum_row(report, sites, report->count, "all");
    }
    free(sites);
    tw_page_line(&report->body,
                 report->about->heard == 1
                     ? "calls, MB (10^6 bytes) and ms are those of one rank"
                     : "calls and MB (10^6 bytes) are sums of the ranks, ms are means");
    tw_text_table_print(table, &report->body);
}
