/* SPDX-License-Identifier: BSD-3-Clause
 * interpose/report/report_json.c - the report for programs: one JSON object with a row per record.
 *
 * Written by hand, as a preload brings no library with it. Strings are made valid UTF-8 (bytes that
 * are none become U+FFFD), numbers have a point in any locale, what is no number is null.
 */
#include "config.h"

#include <math.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/utsname.h>

#include "interpose/report/report_parts.h"

typedef struct tw_json {
    FILE *stream;
    bool  first; /* nothing yet in the innermost object or array */
    int   depth;
} tw_json_t;

/* ---- values -------------------------------------------------------------------------------- */

/* Bytes of the UTF-8 character at text, 0 if there is none. */
static int tw_utf8_length(const unsigned char *text)
{
    int n = 0;

    if (text[0] < 0x80) {
        return 1;
    }
    if (text[0] >= 0xc2 && text[0] < 0xf5) {
        n = text[0] < 0xe0 ? 2 : text[0] < 0xf0 ? 3 : 4;
    }
    for (int i = 1; i < n; i++) {
        if ((text[i] & 0xc0) != 0x80) {
            return 0;
        }
    }
    /* Longer than needed, halves of pairs, and beyond U+10FFFF. */
    if ((text[0] == 0xe0 && text[1] < 0xa0) || (text[0] == 0xed && text[1] > 0x9f) ||
        (text[0] == 0xf0 && text[1] < 0x90) || (text[0] == 0xf4 && text[1] > 0x8f)) {
        return 0;
    }
    return n;
}

static void tw_json_string(tw_json_t *json, const char *text, size_t size)
{
    const size_t length = strnlen(text, size);

    fputc('"', json->stream);
    for (size_t i = 0; i < length;) {
        unsigned char bytes[4] = {0};
        int           n;

        memcpy(bytes, text + i, length - i < 4 ? length - i : 4);
        n = tw_utf8_length(bytes);
        if (n == 0) {
            fputs("\\ufffd", json->stream);
        } else if (bytes[0] < 0x20 || bytes[0] == 0x7f) {
            fprintf(json->stream, "\\u%04x", bytes[0]);
        } else {
            if (bytes[0] == '"' || bytes[0] == '\\') {
                fputc('\\', json->stream);
            }
            fwrite(bytes, 1, (size_t)n, json->stream);
        }
        i += n > 0 ? (size_t)n : 1;
    }
    fputc('"', json->stream);
}

/* What stands before a value: comma, line break, name (NULL in arrays). */
static void tw_json_next(tw_json_t *json, const char *name)
{
    if (!json->first) {
        fputc(',', json->stream);
    }
    json->first = false;
    if (json->depth > 0 && json->depth < 3) {
        fprintf(json->stream, "\n%*s", 2 * json->depth, "");
    } else if (json->depth > 0) {
        fputc(' ', json->stream);
    }
    if (name != NULL) {
        fprintf(json->stream, "\"%s\": ", name);
    }
}

static void tw_json_open(tw_json_t *json, const char *name, char bracket)
{
    tw_json_next(json, name);
    fputc(bracket, json->stream);
    json->first = true;
    json->depth++;
}

static void tw_json_close(tw_json_t *json, char bracket)
{
    json->depth--;
    fputc(bracket, json->stream);
    json->first = false;
}

/* A text of at most `size` bytes. */
static void tw_json_field(tw_json_t *json, const char *name, const char *text, size_t size)
{
    tw_json_next(json, name);
    tw_json_string(json, text, size);
}

static void tw_json_text(tw_json_t *json, const char *name, const char *text)
{
    tw_json_field(json, name, text, strlen(text));
}

static void tw_json_count(tw_json_t *json, const char *name, uint64_t value)
{
    tw_json_next(json, name);
    fprintf(json->stream, "%llu", (unsigned long long)value);
}

static void tw_json_flag(tw_json_t *json, const char *name, bool value)
{
    tw_json_next(json, name);
    fputs(value ? "true" : "false", json->stream);
}

static void tw_json_number(tw_json_t *json, const char *name, double value)
{
    char text[48];

    tw_json_next(json, name);
    if (isfinite(value)) {
        tw_format_exact(text, sizeof(text), value);
        fputs(text, json->stream);
    } else {
        fputs("null", json->stream);
    }
}

/* ---- parts --------------------------------------------------------------------------------- */

static void tw_json_machine(tw_json_t *json)
{
    struct utsname system;
    cpu_set_t      set;

    tw_json_open(json, "machine", '{');
    tw_json_text(json, "host", uname(&system) == 0 ? system.nodename : "");
    tw_json_count(json, "cores",
                  sched_getaffinity(0, sizeof(set), &set) == 0 ? (uint64_t)CPU_COUNT(&set) : 1);
    tw_json_close(json, '}');
}

static void tw_json_reasons(tw_json_t *json, const tw_record_t *record)
{
    tw_json_open(json, "reasons", '{');
    for (int i = TW_WHY_NOT + 1; i < TW_WHY_COUNT; i++) {
        char name[32];

        if (record->why[i] == 0) {
            continue;
        }
        tw_format_why(name, sizeof(name), i);
        tw_json_open(json, name, '{');
        tw_json_count(json, "calls", record->why[i]);
        tw_json_count(json, "bytes", record->why_bytes[i]);
        tw_json_text(json, "text", tw_why_texts[i]);
        tw_json_close(json, '}');
    }
    tw_json_close(json, '}');
}

static void tw_json_numbers(tw_json_t *json, const tw_report_about_t *about,
                            const tw_record_t *record)
{
    tw_json_count(json, "calls", record->calls);
    tw_json_count(json, "compressed_calls", record->why[TW_WHY_NOT]);
    tw_json_count(json, "bytes", record->uncompressed);
    tw_json_count(json, "wire_bytes", record->sent);
    tw_json_number(json, "seconds", tw_report_seconds(about, record->time_ns));
    tw_json_number(json, "encode_seconds", tw_report_seconds(about, record->encode_ns));
    tw_json_number(json, "decode_seconds", tw_report_seconds(about, record->decode_ns));
    tw_json_count(json, "device_calls", record->device_calls);
    tw_json_count(json, "device_bytes", record->device_bytes);
    tw_json_number(json, "device_seconds", tw_report_seconds(about, record->device_ns));
    tw_json_count(json, "small_calls", record->small_calls);
    tw_json_number(json, "small_seconds", tw_report_seconds(about, record->small_ns));
    tw_json_count(json, "verified", record->verified);
    if (record->verified > 0) {
        tw_json_number(json, "max_error", record->worst);
        tw_json_number(json, "rms_error", record->worst_rms);
    }
    if (record->exact_ns > 0) {
        tw_json_number(json, "verified_seconds", tw_report_seconds(about, record->verified_ns));
        tw_json_number(json, "exact_seconds", tw_report_seconds(about, record->exact_ns));
    }
    if (record->looked > 0) {
        tw_json_count(json, "looked_at", record->looked);
        tw_json_open(json, "hold", '{');
        for (int i = 0; i < TW_CENSUS; i++) {
            tw_json_count(json, tw_census_texts[i], record->census[i]);
        }
        tw_json_close(json, '}');
    }
    tw_json_count(json, "steps", record->steps);
    if (record->bounded > 0) {
        tw_json_count(json, "bounded", record->bounded);
        tw_json_count(json, "repeats", record->repeats);
        tw_json_count(json, "bits", record->bits);
    }
    tw_json_count(json, "root_exact", record->kept);
    tw_json_count(json, "feedback_dropped", record->dropped);
    tw_json_reasons(json, record);
}

static void tw_json_row(tw_json_t *json, const tw_report_about_t *about, const tw_record_t *record)
{
    char operation[48], site[256];

    tw_format_operation(operation, sizeof(operation), &record->key);
    tw_site_name(record->key.object, record->key.offset, site, sizeof(site));
    tw_json_open(json, NULL, '{');
    tw_json_text(json, "site", site);
    tw_json_field(json, "object", record->key.object, sizeof(record->key.object));
    tw_json_count(json, "offset", record->key.offset);
    tw_json_text(json, "operation", operation);
    tw_json_text(json, "traffic", tw_traffic_kind_texts[tw_traffic_kind_of(record->key.op)]);
    tw_json_text(json, "elements", tw_elements_text((tw_elements_t)record->key.elements));
    tw_json_flag(json, "nonblocking", record->key.nonblocking != 0);
    tw_json_field(json, "type", record->key.type, sizeof(record->key.type));
    tw_json_field(json, "comm", record->key.comm, sizeof(record->key.comm));
    tw_json_field(json, "codec", record->key.codec, sizeof(record->key.codec));
    tw_json_numbers(json, about, record);
    tw_json_close(json, '}');
}

/* Bytes are exact, of the calls that could have been compressed; "saved" is a part of all bytes. */
static void tw_json_candidates(tw_json_t *json, const tw_report_about_t *about,
                               const tw_record_t *sum)
{
    tw_json_open(json, "candidates", '[');
    for (int c = 0; c < tw_candidates()->count; c++) {
        const tw_candidate_t *candidate = &tw_candidates()->row[c];
        const uint64_t        bytes     = tw_report_could(sum, c);

        tw_json_open(json, NULL, '{');
        tw_json_text(json, "codec", candidate->spec);
        tw_json_count(json, "bytes", sum->could_bytes);
        tw_json_count(json, "wire_bytes", bytes);
        tw_json_number(json, "saved",
                       ((double)sum->could_bytes - (double)bytes) /
                           (double)(sum->uncompressed > 0 ? sum->uncompressed : 1));
        tw_json_number(json, "seconds", tw_report_seconds(about, sum->could_ns));
        tw_json_flag(json, "needs_double", tw_report_asked(sum) > 0);
        for (size_t t = 0; t < TW_DTYPE_ROWS; t++) {
            char key[32];

            snprintf(key, sizeof(key), "%s_error", tw_dtype_name(tw_dtypes[t]));
            tw_json_number(json, key, candidate->error[t]);
        }
        tw_json_close(json, '}');
    }
    tw_json_close(json, ']');
}

/* "of": values that share the largest magnitude that the error is a part of; 1: each its own. */
static void tw_json_advised(tw_json_t *json, const tw_record_t *sum, int type, int c)
{
    const tw_candidate_t *row = &tw_candidates()->row[c];

    tw_json_text(json, "codec", row->spec);
    tw_json_number(json, "saved",
                   (double)tw_report_saves(sum, type, c) / (double)sum->uncompressed);
    tw_json_number(json, "error", row->error[type]);
    tw_json_count(json, "of", row->block[type]);
}

static void tw_json_advice(tw_json_t *json, const tw_report_about_t *about, const tw_record_t *sum)
{
    tw_advice_t advice[TW_DTYPE_ROWS];
    const int   count = tw_report_advice(sum, advice);

    tw_json_open(json, "advice", '[');
    for (int i = 0; i < count; i++) {
        tw_json_open(json, NULL, '{');
        tw_json_text(json, "type", tw_dtype_name(tw_dtypes[advice[i].type]));
        if (advice[i].codec >= 0) {
            char rule[TW_RULE_SPEC_MAX + 128];

            tw_advice_rule(about, &advice[i], rule, sizeof(rule));
            tw_json_text(json, "rule", rule);
            tw_json_advised(json, sum, advice[i].type, advice[i].codec);
        }
        if (advice[i].usual != advice[i].codec) {
            tw_json_open(json, "of_every_value", '{');
            tw_json_advised(json, sum, advice[i].type, advice[i].usual);
            tw_json_close(json, '}');
        }
        tw_json_close(json, '}');
    }
    tw_json_close(json, ']');
}

/* All that is sent, by kind; "share" is a part of all bytes. */
static void tw_json_traffic(tw_json_t *json, const tw_record_t *records, size_t count,
                            const tw_record_t *sum)
{
    tw_traffic_kind_sum_t sums[TW_TRAFFICS];

    tw_report_traffic(records, count, sums);
    tw_json_open(json, "traffic", '[');
    for (int t = 0; t < TW_TRAFFICS; t++) {
        tw_json_open(json, NULL, '{');
        tw_json_text(json, "kind", tw_traffic_kind_texts[t]);
        tw_json_count(json, "calls", sums[t].calls);
        tw_json_count(json, "bytes", sums[t].bytes);
        tw_json_number(json, "share",
                       (double)sums[t].bytes /
                           (double)(sum->uncompressed > 0 ? sum->uncompressed : 1));
        for (int e = 0; e < TW_ELEMENTS; e++) {
            tw_json_count(json, tw_elements_text((tw_elements_t)e), sums[t].elements[e]);
        }
        tw_json_close(json, '}');
    }
    tw_json_close(json, ']');
}

static void tw_json_about(tw_json_t *json, const tw_report_about_t *about)
{
    char library[128];

    tw_format_library(library, sizeof(library), about->library);
    tw_json_text(json, "version", PACKAGE_VERSION);
    tw_json_text(json, "command", "run");
    tw_json_machine(json);
    tw_json_count(json, "ranks", (uint64_t)about->ranks);
    tw_json_count(json, "heard", (uint64_t)about->heard);
    tw_json_number(json, "seconds", about->seconds);
    tw_json_text(json, "codec", about->codec != NULL ? about->codec : "");
    tw_json_flag(json, "watching", tw_report_watching(about));
    tw_json_text(json, "library", library);
    tw_json_count(json, "intercepted", about->intercepted);
    tw_json_number(json, "contract", about->contract > 0.0 ? about->contract : (double)NAN);
    tw_json_flag(json, "error_feedback", about->feedback);
    tw_json_flag(json, "aborted", about->aborted);
    tw_json_count(json, "rank", (uint64_t)about->rank);
    tw_json_open(json, "remarks", '[');
    for (size_t i = 0; i < TW_REMARKS && about->remarks[i][0] != '\0'; i++) {
        tw_json_field(json, NULL, about->remarks[i], sizeof(about->remarks[i]));
    }
    tw_json_close(json, ']');
}

void tw_report_json(FILE *stream, const tw_report_about_t *about, const tw_record_t *records,
                    size_t count)
{
    tw_json_t   json = {.stream = stream, .first = true};
    tw_record_t sum;
    char        verdict[256];

    tw_report_sum(records, count, &sum);
    tw_report_verdict(about, &sum, verdict, sizeof(verdict));
    tw_json_open(&json, NULL, '{');
    tw_json_about(&json, about);
    tw_site_prepare(records, count);
    tw_json_open(&json, "rows", '[');
    for (size_t i = 0; i < count; i++) {
        tw_json_row(&json, about, &records[i]);
    }
    tw_json_close(&json, ']');
    tw_json_open(&json, "totals", '{');
    tw_json_numbers(&json, about, &sum);
    tw_json_close(&json, '}');
    tw_json_traffic(&json, records, count, &sum);
    if (sum.could_bytes > 0) {
        tw_json_candidates(&json, about, &sum);
        tw_json_advice(&json, about, &sum);
    }
    tw_json_text(&json, "verdict", verdict);
    tw_json_close(&json, '}');
    fputc('\n', stream);
    fflush(stream);
}
