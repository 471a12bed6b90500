/* SPDX-License-Identifier: BSD-3-Clause
 * interpose/report/report_text.c - the report for people: head, longest call sites, what was not
 * compressed and why, what the codecs would do, notes, verdict. What stands above and below the
 * table of call sites is made first; the sites get the lines that are left.
 */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <wchar.h>

#include "interpose/report/report_text.h"

static void tw_text_head(tw_text_report_t *report)
{
    const tw_report_about_t *about = report->about;
    char                     library[48], seconds[32], contract[32];

    tw_format_library(library, sizeof(library), about->library);
    tw_format_fixed(seconds, sizeof(seconds), about->seconds, 3);
    tw_page_line(&report->head, "thinwire: %s%s%s, %d rank%s, %s, %s s since MPI_Init",
                 tw_report_watching(about) ? "watching, no codec named" : "codec ",
                 tw_report_watching(about) ? "" : about->codec,
                 about->feedback ? " with error feedback" : "", about->ranks,
                 about->ranks == 1 ? "" : "s", library, seconds);
    if (about->contract > 0.0) {
        tw_format_short(contract, sizeof(contract), about->contract);
        tw_page_line(&report->head,
                     "thinwire: error contract: rms(error) / rms(exact) of a call at most %s",
                     contract);
    }
    if (about->error[0] != '\0') {
        tw_page_line(&report->head,
                     "thinwire: MPI has ended the job (%.*s): these are the counters of rank %d",
                     (int)sizeof(about->error), about->error, about->rank);
    } else if (about->aborted) {
        tw_page_line(&report->head,
                     "thinwire: MPI_Abort was called: these are the counters of rank %d",
                     about->rank);
    } else if (about->heard < about->ranks) {
        tw_page_line(&report->head,
                     "thinwire: counters of %d of %d ranks: the others did not answer in time",
                     about->heard, about->ranks);
    }
}

/* What the contract says when all is over. */
static void tw_text_contract(tw_text_report_t *report)
{
    const tw_record_t *sum = &report->sum;
    char               worst[32];

    if (!(report->about->contract > 0.0) || sum->calls == 0) {
        return;
    }
    if (sum->verified == 0) {
        tw_page_line(&report->tail, "note: error contract: no call was verified");
        return;
    }
    tw_format_short(worst, sizeof(worst), sum->worst_rms);
    if (sum->worst_rms <= report->about->contract) {
        tw_page_line(&report->tail,
                     "note: error contract: kept in all %llu verified calls, worst %s",
                     (unsigned long long)sum->verified, worst);
    } else {
        tw_page_line(&report->tail, "note: error contract: BROKEN in verified calls, worst %s%s",
                     worst, sum->steps > 0 ? "; the next calls took a finer codec" : "");
    }
}

/* An absolute bound, which holds whatever was verified. */
static void tw_text_bounded(tw_text_report_t *report)
{
    const tw_record_t *sum = &report->sum;

    if (sum->bounded > 0) {
        tw_page_line(&report->tail,
                     "note: absolute error bound: kept in every call of %llu; at most %llu bits a "
                     "value, %llu repeated without loss",
                     (unsigned long long)sum->bounded, (unsigned long long)sum->bits,
                     (unsigned long long)sum->repeats);
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

/* Device memory beside the host's, where there was any. */
static void tw_text_device(tw_text_report_t *report)
{
    const tw_record_t *sum = &report->sum;
    char               mb[2][32], ms[2][32];

    if (sum->device_calls == 0) {
        return;
    }
    tw_format_fixed(mb[0], sizeof(mb[0]), (double)sum->device_bytes * 1e-6, 3);
    tw_format_fixed(mb[1], sizeof(mb[1]), (double)(sum->uncompressed - sum->device_bytes) * 1e-6,
                    3);
    tw_format_fixed(ms[0], sizeof(ms[0]), 1e3 * tw_report_seconds(report->about, sum->device_ns),
                    3);
    tw_format_fixed(ms[1], sizeof(ms[1]),
                    1e3 * tw_report_seconds(report->about, sum->time_ns - sum->device_ns), 3);
    tw_page_line(&report->tail,
                 "with buffers in device memory: %llu calls, %s MB uncompressed, %s ms; others: "
                 "%llu calls, %s MB, %s ms",
                 (unsigned long long)sum->device_calls, mb[0], ms[0],
                 (unsigned long long)(sum->calls - sum->device_calls), mb[1], ms[1]);
}

static void tw_text_tail(tw_text_report_t *report)
{
    tw_advice_t advice[TW_DTYPE_ROWS];
    const int   advised = tw_report_advice(&report->sum, advice);
    char        line[TW_PAGE_WIDTH];

    tw_text_traffic(report);
    tw_text_device(report);
    tw_text_reasons(report);
    tw_text_candidates(report);
    tw_text_contract(report);
    tw_text_bounded(report);
    tw_text_feedback(report);
    if (report->sum.kept > 0) {
        tw_page_line(&report->tail,
                     "note: ranks may differ: the root kept its exact values in %llu broadcasts "
                     "(its buffer may not be written, or THINWIRE_BCAST_ROOT=exact)",
                     (unsigned long long)report->sum.kept);
    }
    for (size_t i = 0; i < TW_REMARKS && report->about->remarks[i][0] != '\0' &&
                       report->head.lines + report->tail.lines < TW_REPORT_LINES - 6 - advised;
         i++) {
        tw_page_line(&report->tail, "note: %.*s", (int)sizeof(report->about->remarks[i]),
                     report->about->remarks[i]);
    }
    for (int i = 0; i < advised; i++) {
        tw_advice_text(report->about, &report->sum, &advice[i], line, sizeof(line));
        tw_page_line(&report->tail, "%s", line);
    }
    tw_report_verdict(report->about, &report->sum, line, sizeof(line));
    tw_page_line(&report->tail, "thinwire: %s", line);
}

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

void tw_report_text(FILE *stream, const tw_report_about_t *about, const tw_record_t *records,
                    size_t count)
{
    /* On the heap: the program's stack may be small. */
    tw_text_report_t *report = calloc(1, sizeof(*report));
    char             *text   = malloc((size_t)TW_REPORT_LINES * TW_PAGE_WIDTH);
    size_t            n      = 0;

    if (report == NULL || text == NULL) {
        fputs("thinwire: no memory for a report\n", stream);
    } else {
        report->about   = about;
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
