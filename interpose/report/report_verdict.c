/* SPDX-License-Identifier: BSD-3-Clause
 * interpose/report/report_verdict.c - one line on whether compression pays here.
 *
 * It speaks of time only where time was measured with and without a codec (verified calls run
 * both), and says so where it was not.
 */
#include "config.h"

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
             : sum->could_bytes > 0 ? "no codec makes them fewer"
                                    : tw_why_texts[TW_WHY_SMALL]);
}

/* ---- watching ------------------------------------------------------------------------------ */

/* Of the calls of one type, by its place in the list. */
static uint64_t tw_could_save(const tw_record_t *sum, int type, int c)
{
    const uint64_t bytes = sum->could_of[type];

    return sum->could[type][c] < bytes ? bytes - sum->could[type][c] : 0;
}

static int tw_type_most(const tw_record_t *sum)
{
    int most = 0;

    for (int t = 1; t < TW_DTYPE_ROWS; t++) {
        most = sum->could_of[t] > sum->could_of[most] ? t : most;
    }
    return most;
}

/* The candidate to advise for one of them: the usual choice, or what saves most where that makes
 * nothing smaller. */
static int tw_candidate_to_name(const tw_record_t *sum, int type)
{
    int best = 0;

    for (int c = 0; c < tw_candidates()->count; c++) {
        const unsigned to = tw_candidates()->row[c].to[type];

        if ((to & TW_OFFER_FIRST) != 0 && tw_could_save(sum, type, c) > 0) {
            return c;
        }
        if ((to & TW_OFFER_ADVICE) != 0 &&
            tw_could_save(sum, type, c) > tw_could_save(sum, type, best)) {
            best = c;
        }
    }
    return best;
}

/* For the type of which there is most; of equals the first. */
static void tw_verdict_watching(const tw_report_about_t *about, const tw_record_t *sum, char *text,
                                size_t size)
{
    const int             type      = tw_type_most(sum);
    const int             c         = tw_candidate_to_name(sum, type);
    const tw_candidate_t *candidate = &tw_candidates()->row[c];
    const char *const     narrow    = tw_dtype_row(tw_dtypes[type])->in_f32 ? "" : " --double";
    char                  bytes[TW_PERCENT], error[32];

    if (tw_could_save(sum, type, c) == 0) {
        tw_verdict_nothing(about, sum, text, size);
        return;
    }
    tw_format_percent(bytes, sizeof(bytes), (double)tw_could_save(sum, type, c),
                      (double)sum->uncompressed);
    tw_format_short(error, sizeof(error), candidate->error[type]);
    snprintf(text, size,
             "%s%s would save %s of all bytes, relative error up to %s; time is not estimated "
             "(--codec %s%s "
             "--verify 64 measures it)",
             candidate->spec, narrow, bytes, error, candidate->spec, narrow);
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
