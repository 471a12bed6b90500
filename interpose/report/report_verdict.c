/* SPDX-License-Identifier: BSD-3-Clause
 * interpose/report/report_verdict.c - one line on whether compression pays here, and what is
 * advised for each type of a program that was only watched.
 *
 * It speaks of time only where time was measured with and without a codec (verified calls run
 * both), and says so where it was not.
 */
#include "config.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "interpose/report/report_parts.h"

/* With more of the time than this in small messages, no codec can matter. */
#define TW_SMALL_SHARE 0.75

#define TW_PERCENT 24

static bool tw_mostly_small(const tw_record_t *sum)
{
    return sum->time_ns > 0 && (double)sum->small_ns >= TW_SMALL_SHARE * (double)sum->time_ns;
}

static void tw_format_small(char *text, size_t size, const tw_record_t *sum)
{
    char percent[TW_PERCENT];

    tw_format_percent(percent, sizeof(percent), (double)sum->small_ns, (double)sum->time_ns);
    snprintf(text, size, "%s of the collective time is in calls of under 4 KiB", percent);
}

/* How much of all that the program sends a codec may touch, or has touched: how every line
 * begins. */
static void tw_format_reach(char *text, size_t size, const tw_record_t *sum)
{
    const bool compressed = sum->why[TW_WHY_NOT] > 0;
    char       percent[TW_PERCENT];

    tw_format_percent(percent, sizeof(percent),
                      (double)(compressed ? sum->why_bytes[TW_WHY_NOT] : sum->could_bytes),
                      (double)sum->uncompressed);
    snprintf(text, size, "codecs %s %s of the bytes sent", compressed ? "reached" : "can reach",
             percent);
}

static void tw_verdict_nothing(const tw_report_about_t *about, const tw_record_t *sum, char *text,
                               size_t size)
{
    char      percent[TW_PERCENT];
    const int why = tw_report_reason(sum, NULL);

    if (why < 0) {
        snprintf(text, size, "nothing was compressed");
        return;
    }
    tw_format_percent(percent, sizeof(percent), (double)sum->why_bytes[why],
                      (double)sum->uncompressed);
    snprintf(text, size, "%s; %s of all bytes: %s",
             tw_report_watching(about) ? "nothing here to compress" : "nothing was compressed",
             percent,
             why != TW_WHY_WATCHING ? tw_why_texts[why]
             : sum->could_bytes > 0 ? "no codec is advised"
                                    : tw_why_texts[TW_WHY_SMALL]);
}

/* ---- watching ------------------------------------------------------------------------------ */

uint64_t tw_report_saves(const tw_record_t *sum, int type, int c)
{
    const uint64_t bytes = sum->could_of[type];

    return c >= 0 && sum->could[type][c] < bytes ? bytes - sum->could[type][c] : 0;
}

/* Of the candidates that are offered to one of `to`, the one that saves most; -1: none saves
 * anything. most: the largest error. */
static int tw_advice_best(const tw_record_t *sum, int type, unsigned to, double most)
{
    int best = -1;

    for (int c = 0; c < tw_candidates()->count; c++) {
        const tw_candidate_t *row = &tw_candidates()->row[c];

        if ((row->to[type] & to) != 0 && row->error[type] <= most &&
            tw_report_saves(sum, type, c) > tw_report_saves(sum, type, best)) {
            best = c;
        }
    }
    return best;
}

/* Of values of 16 bits no codec is advised: they are what others are rounded to. */
static tw_advice_t tw_advice_for(const tw_record_t *sum, int type)
{
    tw_advice_t advice = {.type = type, .codec = -1, .usual = -1};
    int         block;

    if (tw_dtype_is_half(tw_dtypes[type])) {
        return advice;
    }
    advice.usual = tw_advice_best(sum, type, TW_OFFER_FIRST, (double)INFINITY);
    if (advice.usual < 0) {
        advice.usual = tw_advice_best(sum, type, TW_OFFER_ADVICE, (double)INFINITY);
    }
    if (advice.usual >= 0) {
        block        = tw_advice_best(sum, type, TW_OFFER_BLOCK,
                                      tw_candidates()->row[advice.usual].error[type]);
        advice.codec = tw_report_saves(sum, type, block) > tw_report_saves(sum, type, advice.usual)
                           ? block
                           : advice.usual;
    }
    return advice;
}

int tw_report_advice(const tw_record_t *sum, tw_advice_t advice[TW_DTYPE_ROWS])
{
    int count = 0;

    for (int t = 0; t < TW_DTYPE_ROWS && sum->why[TW_WHY_NOT] == 0 && !tw_mostly_small(sum); t++) {
        if (sum->could_of[t] > 0) {
            advice[count++] = tw_advice_for(sum, t);
        }
    }
    return count;
}

void tw_advice_rule(const tw_report_about_t *about, const tw_advice_t *advice, char *text,
                    size_t size)
{
    tw_rule_t rule = {.op        = -1,
                      .dtype     = (int)tw_dtypes[advice->type],
                      .reduction = -1,
                      .least     = about->threshold,
                      .most      = UINT64_MAX};

    snprintf(rule.spec, sizeof(rule.spec), "%s", tw_candidates()->row[advice->codec].spec);
    tw_rule_text(&rule, text, size);
}

/* "bitpack:4 saves 50 % of all bytes, error up to 9.5e-07 of the value" */
static void tw_advice_codec(const tw_record_t *sum, int type, int c, char *text, size_t size)
{
    const tw_candidate_t *row = &tw_candidates()->row[c];
    char                  bytes[TW_PERCENT], error[32], of[40] = "value";

    tw_format_percent(bytes, sizeof(bytes), (double)tw_report_saves(sum, type, c),
                      (double)sum->uncompressed);
    tw_format_short(error, sizeof(error), row->error[type]);
    if (row->block[type] > 1) {
        snprintf(of, sizeof(of), "largest of %zu values", row->block[type]);
    }
    snprintf(text, size, "%s saves %s of all bytes, error up to %s of the %s", row->spec, bytes,
             error, of);
}

void tw_advice_text(const tw_report_about_t *about, const tw_record_t *sum,
                    const tw_advice_t *advice, char *text, size_t size)
{
    char   rule[TW_RULE_SPEC_MAX + 128];
    size_t n =
        (size_t)snprintf(text, size, "advice for %s: ", tw_dtype_name(tw_dtypes[advice->type]));

    if (advice->codec < 0) {
        snprintf(text + n, size - n, "none, %s",
                 tw_dtype_is_half(tw_dtypes[advice->type])
                     ? "values of 16 bits are left as they are"
                     : "no codec makes them fewer");
        return;
    }
    tw_advice_codec(sum, advice->type, advice->codec, text + n, size - n);
    if (advice->usual != advice->codec) {
        n = strlen(text);
        n += (size_t)snprintf(text + n, size - n, "; where every value's own error counts ");
        tw_advice_codec(sum, advice->type, advice->usual, text + n, size - n);
    }
    tw_advice_rule(about, advice, rule, sizeof(rule));
    n = strlen(text);
    snprintf(text + n, size - n, " (--rule '%s')", rule);
}

static void tw_verdict_watching(const tw_report_about_t *about, const tw_record_t *sum, char *text,
                                size_t size)
{
    tw_advice_t advice[TW_DTYPE_ROWS];
    const int   count = tw_report_advice(sum, advice);
    uint64_t    saves = 0;
    char        bytes[TW_PERCENT];

    for (int i = 0; i < count; i++) {
        saves += tw_report_saves(sum, advice[i].type, advice[i].codec);
    }
    if (saves == 0) {
        tw_verdict_nothing(about, sum, text, size);
        return;
    }
    tw_format_percent(bytes, sizeof(bytes), (double)saves, (double)sum->uncompressed);
    snprintf(text, size,
             "those advised would save %s of all bytes; time is not estimated (--verify 64 "
             "measures it)",
             bytes);
}

/* ---- with a codec -------------------------------------------------------------------------- */

/* Longer than native MPI by more than chance, in the calls that ran both. */
static bool tw_measured_slower(const tw_record_t *sum)
{
    return sum->exact_ns > 0 && (double)sum->verified_ns > 1.05 * (double)sum->exact_ns;
}

/* What verified calls say of time, and that of no other calls; or that it is not known. */
static void tw_format_time(const tw_record_t *sum, char *text, size_t size)
{
    const double exact = (double)sum->exact_ns, ours = (double)sum->verified_ns;
    char         percent[TW_PERCENT];

    if (sum->exact_ns == 0 || sum->verified_ns == 0) {
        snprintf(text, size, "; time was not compared with native MPI%s",
                 sum->verified > 0 ? "" : " (see --verify)");
        return;
    }
    tw_format_percent(percent, sizeof(percent), ours < exact ? exact - ours : ours - exact, exact);
    snprintf(text, size, "%s%llu verified call%s took %s %s time than native MPI",
             ours <= exact ? "; " : ", but ", (unsigned long long)sum->verified,
             sum->verified == 1 ? "" : "s", percent, ours <= exact ? "less" : "more");
}

/* Small messages are no verdict here: their share is large too where compression has made the rest
 * quick. But where they are most of the time, it is said that the rest of the line is about little.
 */
static void tw_verdict_compressed(const tw_record_t *sum, char *text, size_t size)
{
    char bytes[TW_PERCENT], time[112], small[96];
    int  n;

    if (sum->sent >= sum->uncompressed) {
        snprintf(text, size, "compression does not pay here: no bytes were saved");
        return;
    }
    tw_format_percent(bytes, sizeof(bytes), (double)(sum->uncompressed - sum->sent),
                      (double)sum->uncompressed);
    tw_format_time(sum, time, sizeof(time));
    n = snprintf(text, size, "%ssaved %s of all bytes%s",
                 tw_measured_slower(sum) ? "compression does not pay here: " : "", bytes, time);
    if (tw_mostly_small(sum) && n > 0 && (size_t)n < size) {
        tw_format_small(small, sizeof(small), sum);
        snprintf(text + n, size - (size_t)n, "; but %s", small);
    }
}

static void tw_verdict_rest(const tw_report_about_t *about, const tw_record_t *sum, char *text,
                            size_t size)
{
    if (sum->why[TW_WHY_NOT] > 0) {
        tw_verdict_compressed(sum, text, size);
    } else if (tw_mostly_small(sum)) {
        const int n = snprintf(text, size, "compression does not pay here: ");

        tw_format_small(text + n, size - (size_t)n, sum);
    } else if (sum->could_bytes > 0) {
        tw_verdict_watching(about, sum, text, size);
    } else {
        tw_verdict_nothing(about, sum, text, size);
    }
}

void tw_report_verdict(const tw_report_about_t *about, const tw_record_t *sum, char *text,
                       size_t size)
{
    size_t n;

    if (sum->calls == 0 && about->intercepted == 0) {
        snprintf(text, size,
                 "NOTHING WAS INTERCEPTED: no MPI call of this program was seen (is MPI linked "
                 "statically, or is it another MPI library than this preload is for?)");
    } else if (sum->calls == 0) {
        snprintf(text, size,
                 "nothing to compress: no collective operation and no message was counted");
    } else if (sum->uncompressed == 0) {
        snprintf(text, size, "nothing to compress: %s",
                 about->ranks == 1 ? "one rank sends nothing" : "the program sent no data");
    } else {
        tw_format_reach(text, size, sum);
        n = strlen(text);
        n += (size_t)snprintf(text + n, size - n, ": ");
        tw_verdict_rest(about, sum, text + n, size - n);
    }
}
