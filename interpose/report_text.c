/* SPDX-License-Identifier: BSD-3-Clause
 * interpose/report_text.c - the report for people: head, longest call sites, what was not
 * compressed and why, what the codecs would do, remarks, verdict. What stands above and below the
 * table of call sites is made first; the sites get the lines that are left.
 */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <wchar.h>

#include "interpose/report_parts.h"
#include "interpose/report_table.h"

#define TW_REASONS    5 /* lines for them, before the rest is put together */
#define TW_SITE_WIDTH 48
#define TW_NAME_WIDTH 24 /* of communicators and codecs */

typedef struct tw_text_report {
    const tw_report_facts_t *facts;
    const tw_record_t       *records;
    size_t                   count;
    tw_record_t              sum;
    tw_page_t                head, body, tail;
    tw_text_table_t          table;
} tw_text_report_t;

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

static void tw_cell_ms(char *cell, const tw_report_facts_t *facts, uint64_t ns)
{
    tw_format_fixed(cell, TW_CELL, 1e3 * tw_report_seconds(facts, ns), 3);
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

/* ---- above --------------------------------------------------------------------------------- */

static void tw_text_head(tw_text_report_t *report)
{
    const tw_report_facts_t *facts = report->facts;
    char                     library[48], seconds[32], contract[32];

    tw_format_library(library, sizeof(library), facts->library);
    tw_format_fixed(seconds, sizeof(seconds), facts->seconds, 3);
    tw_page_line(&report->head, "thinwire: %s%s%s, %d rank%s, %s, %s s since MPI_Init",
                 tw_report_watching(facts) ? "watching, no codec named" : "codec ",
                 tw_report_watching(facts) ? "" : facts->codec,
                 facts->feedback ? " with error feedback" : "", facts->ranks,
                 facts->ranks == 1 ? "" : "s", library, seconds);
    if (facts->contract > 0.0) {
        tw_format_short(contract, sizeof(contract), facts->contract);
        tw_page_line(&report->head,
                     "thinwire: error contract: rms(error) / rms(exact) of a call at most %s",
                     contract);
    }
    if (facts->error[0] != '\0') {
        tw_page_line(&report->head,
                     "thinwire: MPI has ended the job (%.*s): these are the counters of rank %d",
                     (int)sizeof(facts->error), facts->error, facts->rank);
    } else if (facts->aborted) {
        tw_page_line(&report->head,
                     "thinwire: MPI_Abort was called: these are the counters of rank %d",
                     facts->rank);
    } else if (facts->heard < facts->ranks) {
        tw_page_line(&report->head,
                     "thinwire: counters of %d of %d ranks: the others did not answer in time",
                     facts->heard, facts->ranks);
    }
}

/* ---- below --------------------------------------------------------------------------------- */

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

static void tw_text_reasons(tw_text_report_t *report)
{
    static const char *const headings[] = {"calls", "MB", "reason", "not compressed because"};
    tw_text_table_t         *table      = tw_text_new_table(report, 4, 0, 2, headings);
    bool                     shown[TW_WHY_COUNT] = {false};
    uint64_t                 calls = 0, bytes = 0;

    for (int why; (why = tw_report_reason(&report->sum, shown)) >= 0; shown[why] = true) {
        if (table->rows <= TW_REASONS) {
            char name[TW_CELL];

            tw_format_why(name, sizeof(name), why);
            tw_reason_row(table, report->sum.why[why], report->sum.why_asked[why], name,
                          tw_why_texts[why]);
        } else {
            calls += report->sum.why[why];
            bytes += report->sum.why_asked[why];
        }
    }
    if (calls > 0) {
        tw_reason_row(table, calls, bytes, "others", "");
    }
    if (table->rows > 1) {
        tw_text_table_print(table, &report->tail);
    }
}

static void tw_candidate_row(const tw_record_t *sum, int c, char (*row)[TW_CELL])
{
    snprintf(row[0], TW_CELL, "%s", tw_candidates()->offer[c]->spec);
    tw_cell_count(row[1], sum->could[c]);
    if (sum->could[c] <= sum->could_asked) {
        tw_format_percent(row[2], TW_CELL, (double)(sum->could_asked - sum->could[c]),
                          (double)sum->asked);
    } else {
        snprintf(row[2], TW_CELL, "none");
    }
}

/* Candidates from most bytes to fewest. */
static void tw_candidates_sort(const tw_record_t *sum, int *sorted)
{
    for (int c = 0; c < tw_candidates()->count; c++) {
        int at = c;

        for (; at > 0 && sum->could[sorted[at - 1]] < sum->could[c]; at--) {
            sorted[at] = sorted[at - 1];
        }
        sorted[at] = c;
    }
}

static void tw_text_candidates(tw_text_report_t *report)
{
    static const char *const headings[] = {"with codec", "bytes sent", "saved of all bytes"};
    const tw_record_t       *sum        = &report->sum;
    tw_text_table_t         *table      = tw_text_new_table(report, 3, 1, 0, headings);
    char                     ms[32], doubles[64] = "";
    int                      sorted[TW_CANDIDATES_MAX];

    if (sum->could_asked == 0) {
        return;
    }
    tw_candidates_sort(sum, sorted);
    tw_format_fixed(ms, sizeof(ms), 1e3 * tw_report_seconds(report->facts, sum->could_ns), 3);
    if (sum->could_wide > 0) {
        snprintf(doubles, sizeof(doubles), " (%llu of doubles, with --double)",
                 (unsigned long long)sum->could_wide);
    }
    tw_page_line(&report->tail, "calls that could be compressed: %llu bytes asked for%s, %s ms",
                 (unsigned long long)sum->could_asked, doubles, ms);
    for (int c = 0; c < tw_candidates()->count; c++) {
        tw_candidate_row(sum, sorted[c], tw_text_table_row(table));
    }
    tw_text_table_print(table, &report->tail);
}

/* What the contract says when all is over. */
static void tw_text_contract(tw_text_report_t *report)
{
    const tw_record_t *sum = &report->sum;
    char               worst[32];

    if (!(report->facts->contract > 0.0) || sum->calls == 0) {
        return;
    }
    if (sum->verified == 0) {
        tw_page_line(&report->tail, "note: error contract: no call was verified");
        return;
    }
    tw_format_short(worst, sizeof(worst), sum->worst_rms);
    if (sum->worst_rms <= report->facts->contract) {
        tw_page_line(&report->tail,
                     "note: error contract: kept in all %llu verified calls, worst %s",
                     (unsigned long long)sum->verified, worst);
    } else {
        tw_page_line(&report->tail, "note: error contract: BROKEN in verified calls, worst %s%s",
                     worst, sum->steps > 0 ? "; the next calls took a finer codec" : "");
    }
}

/* Residuals that were given up. A record holds the counts of all ranks. */
static void tw_text_feedback(tw_text_report_t *report)
{
    if (report->sum.dropped > 0) {
        tw_page_line(&report->tail,
                     "note: error feedback: the residuals of %llu vectors were dropped to keep "
                     "within THINWIRE_FEEDBACK_MAX",
                     (unsigned long long)report->sum.dropped);
    }
}

static void tw_text_tail(tw_text_report_t *report)
{
    char verdict[TW_PAGE_WIDTH - 16];

    tw_text_reasons(report);
    tw_text_candidates(report);
    tw_text_contract(report);
    tw_text_feedback(report);
    if (report->sum.kept > 0) {
        tw_page_line(&report->tail,
                     "note: ranks may differ: the root kept its exact values in %llu broadcasts "
                     "(its buffer may not be written, or THINWIRE_BCAST_ROOT=exact)",
                     (unsigned long long)report->sum.kept);
    }
    for (size_t i = 0; i < TW_REMARKS && report->facts->remarks[i][0] != '\0'; i++) {
        tw_page_line(&report->tail, "note: %.*s", (int)sizeof(report->facts->remarks[i]),
                     report->facts->remarks[i]);
    }
    tw_report_verdict(report->facts, &report->sum, verdict, sizeof(verdict));
    tw_page_line(&report->tail, "thinwire: %s", verdict);
}

/* ---- call sites ---------------------------------------------------------------------------- */

/* Columns: site, communicator, operation, type, codec, calls, MB asked, MB sent, ms, encode,
 * decode, max error, rms error. */
static void tw_site_numbers(const tw_report_facts_t *facts, const tw_record_t *record,
                            char (*row)[TW_CELL])
{
    tw_cell_count(row[5], record->calls);
    tw_cell_mb(row[6], record->asked);
    tw_cell_mb(row[7], record->sent);
    tw_cell_ms(row[8], facts, record->time_ns);
    if (record->why[TW_WHY_NOT] > 0) {
        tw_cell_ms(row[9], facts, record->encode_ns);
        tw_cell_ms(row[10], facts, record->decode_ns);
    }
    if (record->verified > 0) {
        tw_format_short(row[11], TW_CELL, record->worst);
        tw_format_short(row[12], TW_CELL, record->worst_rms);
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
        tw_site_numbers(report->facts, record, row);
    }
}

/* The records from `first` on as one row. */
static void tw_site_sum_row(tw_text_report_t *report, size_t first, const char *format)
{
    tw_record_t sum;
    char(*row)[TW_CELL] = tw_text_table_row(&report->table);

    if (row != NULL) {
        tw_report_sum(report->records + first, report->count - first, &sum);
        snprintf(row[0], TW_CELL, format, (unsigned long long)(report->count - first));
        tw_site_numbers(report->facts, &sum, row);
    }
}

static void tw_text_sites(tw_text_report_t *report)
{
    static const char *const headings[] = {
        "call site", "communicator", "operation", "type",      "codec",     "calls",    "MB asked",
        "MB sent",   "ms",           "encode ms", "decode ms", "max error", "rms error"};
    tw_text_table_t *table = tw_text_new_table(report, TW_TABLE_COLUMNS, 5, 0, headings);
    size_t           rows;

    if (report->count == 0) {
        return;
    }
    /* Besides them: what the numbers are, headings, the others, all. */
    rows = (size_t)(TW_REPORT_LINES - 4 - report->head.lines - report->tail.lines);
    rows = rows < report->count ? rows : report->count;
    tw_site_prepare(report->records, rows);
    for (size_t i = 0; i < rows; i++) {
        tw_site_row(report, &report->records[i]);
    }
    if (rows < report->count) {
        tw_site_sum_row(report, rows, "%llu more");
    }
    if (report->count > 1) {
        tw_site_sum_row(report, 0, "all");
    }
    tw_page_line(&report->body,
                 report->facts->heard == 1
                     ? "calls, MB (10^6 bytes) and ms are those of one rank"
                     : "calls and MB (10^6 bytes) are sums of the ranks, ms are means");
    tw_text_table_print(table, &report->body);
}

/* ---- writing ------------------------------------------------------------------------------- */

static size_t tw_page_append(const tw_page_t *page, char *text, size_t n)
{
    for (int i = 0; i < page->lines; i++) {
        const size_t length = strlen(page->text[i]);

        memcpy(text + n, page->text[i], length);
        text[n + length] = '\n';
        n += length + 1;
    }
    return n;
}

/* One piece, so that it is not mixed with what other processes print. */
static void tw_text_write(FILE *stream, const char *text, size_t n)
{
    if (fwide(stream, 0) <= 0) {
        fwrite(text, 1, n, stream);
        fflush(stream);
        return;
    }
    /* The program prints wide characters there; it takes no others. */
    fflush(stream);
    while (n > 0) {
        const ssize_t written = write(fileno(stream), text, n);

        if (written <= 0) {
            return;
        }
        text += written;
        n -= (size_t)written;
    }
}

void tw_report_text(FILE *stream, const tw_report_facts_t *facts, const tw_record_t *records,
                    size_t count)
{
    /* On the heap: the program's stack may be small. */
    tw_text_report_t *report = calloc(1, sizeof(*report));
    char             *text   = malloc((size_t)TW_REPORT_LINES * TW_PAGE_WIDTH);
    size_t            n      = 0;

    if (report == NULL || text == NULL) {
        fputs("thinwire: no memory for a report\n", stream);
    } else {
        report->facts   = facts;
        report->records = records;
        report->count   = count;
        tw_report_sum(records, count, &report->sum);
        tw_text_head(report);
        tw_text_tail(report);
        tw_text_sites(report);
        n = tw_page_append(&report->head, text, n);
        n = tw_page_append(&report->body, text, n);
        n = tw_page_append(&report->tail, text, n);
        tw_text_write(stream, text, n);
    }
    free(text);
    free(report);
}
