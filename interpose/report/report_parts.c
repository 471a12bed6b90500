/* SPDX-License-Identifier: BSD-3-Clause
 * interpose/report/report_parts.c - numbers and names as text, in any locale, and sums.
 */
#include "config.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "interpose/report/report_parts.h"

/* ---- numbers ------------------------------------------------------------------------------- */

void tw_format_fixed(char *text, size_t size, double value, int decimals)
{
    unsigned long long scale = 1, units;

    for (int i = 0; i < decimals; i++) {
        scale *= 10;
    }
    if (!(value >= 0.0 && value < 1.8e19 / (double)scale)) {
        tw_format_short(text, size, value);
        return;
    }
    units = (unsigned long long)(value * (double)scale + 0.5);
    if (decimals == 0) {
        snprintf(text, size, "%llu", units);
    } else {
        snprintf(text, size, "%llu.%0*llu", units / scale, decimals, units % scale);
    }
}

/* Whatever the locale has put between the digits becomes one point. */
static void tw_point(char *text)
{
    char *to = text;

    for (const char *from = text; *from != '\0'; from++) {
        if (strchr("0123456789+-einfa", *from) != NULL) {
            *to++ = *from;
        } else if (to == text || to[-1] != '.') {
            *to++ = '.';
        }
    }
    *to = '\0';
}

void tw_format_short(char *text, size_t size, double value)
{
    if (value == 0.0) {
        snprintf(text, size, "0");
    } else {
        snprintf(text, size, "%.1e", value);
        tw_point(text);
    }
}

void tw_format_exact(char *text, size_t size, double value)
{
    snprintf(text, size, "%.17g", value);
    tw_point(text);
}

void tw_format_percent(char *text, size_t size, double part, double whole)
{
    const double percent = whole > 0.0 ? 100.0 * part / whole : 0.0;

    if (percent > 0.0 && percent < 0.01) {
        snprintf(text, size, "under 0.01 %%");
    } else if (percent > 0.0 && percent < 1.0) {
        tw_format_fixed(text, size, percent, 2);
        snprintf(text + strlen(text), size - strlen(text), " %%");
    } else if (percent > 99.0 && percent < 100.0) {
        snprintf(text, size, "over 99 %%");
    } else {
        snprintf(text, size, "%.0f %%", percent);
    }
}

/* ---- names --------------------------------------------------------------------------------- */

void tw_format_operation(char *text, size_t size, const tw_record_key_t *key)
{
    static const char *const forms[]   = {"", "_init", "_c"};
    static const char *const watched[] = {
#define X(name, text) text,
        TW_WATCHED_LIST(X) TW_MESSAGE_LIST(X) TW_ONE_SIDED_LIST(X)
#undef X
    };
    const char *name = "?";

    if (key->op < TW_RULE_OPS) {
        name = tw_rule_op_names[key->op];
    } else if (key->op < TW_RECORD_OPERATIONS) {
        name = watched[key->op - TW_RULE_OPS];
    }
    snprintf(text, size, "%s%s%s", key->nonblocking && key->form != 1 ? "i" : "", name,
             key->form < 3 ? forms[key->form] : "");
}

void tw_format_library(char *text, size_t size, const char *library)
{
    size_t n = 0;

    /* "MPICH Version:\t4.0.2\n..." and "Open MPI v4.1.4, package: ..." */
    for (; library != NULL && n + 1 < size && *library != '\0'; library++) {
        const char *const skip = "Version:";

        if (*library == '\n' || *library == ',') {
            break;
        }
        if (strncmp(library, skip, strlen(skip)) == 0) {
            library += strlen(skip) - 1;
        } else if (*library != '\t' && *library != '\r' &&
                   (*library != ' ' || (n > 0 && text[n - 1] != ' '))) {
            text[n++] = *library;
        }
    }
    text[n] = '\0';
    if (n == 0) {
        snprintf(text, size, "unknown MPI library");
    }
}

void tw_format_why(char *text, size_t size, int why)
{
    static const char *const names[TW_WHY_COUNT] = {
#define X(name, sentence) #name,
        TW_WHY_LIST(X)
#undef X
    };
    size_t n = 0;

    for (; names[why][n] != '\0' && n + 1 < size; n++) {
        text[n] = (char)(names[why][n] == '_' ? '_' : names[why][n] - 'A' + 'a');
    }
    text[n] = '\0';
}

/* ---- sums ---------------------------------------------------------------------------------- */

void tw_report_sum(const tw_record_t *records, size_t count, tw_record_t *sum)
{
    memset(sum, 0, sizeof(*sum));
    for (size_t i = 0; i < count; i++) {
        tw_record_merge(sum, &records[i]);
    }
}

void tw_report_traffic(const tw_record_t *records, size_t count,
                       tw_traffic_kind_sum_t sums[TW_TRAFFICS])
{
    memset(sums, 0, TW_TRAFFICS * sizeof(*sums));
    for (size_t i = 0; i < count; i++) {
        tw_traffic_kind_sum_t *sum      = &sums[tw_traffic_kind_of(records[i].key.op)];
        const uint8_t          elements = records[i].key.elements;

        sum->calls += records[i].calls;
        sum->bytes += records[i].uncompressed;
        sum->elements[elements < TW_ELEMENTS ? elements : TW_ELEMENTS_OTHER] +=
            records[i].uncompressed;
    }
}

int tw_report_reason(const tw_record_t *record, const bool but[TW_WHY_COUNT])
{
    int best = -1;

    for (int i = TW_WHY_NOT + 1; i < TW_WHY_COUNT; i++) {
        if ((but == NULL || !but[i]) && record->why[i] > 0 &&
            (best < 0 || record->why_bytes[i] > record->why_bytes[best] ||
             (record->why_bytes[i] == record->why_bytes[best] &&
              record->why[i] > record->why[best]))) {
            best = i;
        }
    }
    return best;
}

bool tw_report_watching(const tw_report_about_t *about)
{
    return about->codec == NULL || about->codec[0] == '\0';
}

uint64_t tw_report_could(const tw_record_t *sum, int candidate)
{
    uint64_t bytes = 0;

    for (int t = 0; t < TW_DTYPE_ROWS; t++) {
        bytes += sum->could[t][candidate];
    }
    return bytes;
}

uint64_t tw_report_asked(const tw_record_t *sum)
{
    uint64_t bytes = 0;

    for (int t = 0; t < TW_DTYPE_ROWS; t++) {
        bytes += tw_dtype_row(tw_dtypes[t])->in_f32 ? 0 : sum->could_of[t];
    }
    return bytes;
}

double tw_report_seconds(const tw_report_about_t *about, uint64_t ns)
{
    return (double)ns * 1e-9 / (about->heard > 0 ? about->heard : 1);
}
