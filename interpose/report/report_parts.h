/* SPDX-License-Identifier: BSD-3-Clause
 * interpose/report/report_parts.h - what the text report and the JSON report share: numbers as
 * text, names, sums, the verdict.
 *
 * The program may have set a locale with a decimal comma, and it is not ours to change: numbers are
 * written here without it.
 */
#ifndef TW_INTERPOSE_REPORT_PARTS_H
#define TW_INTERPOSE_REPORT_PARTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "interpose/report/records.h"

/* ---- numbers ------------------------------------------------------------------------------- */

/* "12.345": value >= 0, with this many decimals (0 to 9). */
void tw_format_fixed(char *text, size_t size, double value, int decimals);

/* "1.2e-03"; "%.*g" with a precision of 17 gives any double back. "0" for 0, "inf", "nan". */
void tw_format_short(char *text, size_t size, double value);
void tw_format_exact(char *text, size_t size, double value);

/* "74 %" or "0.11 %" of a whole; never "0 %" of something or "100 %" of less than all. */
void tw_format_percent(char *text, size_t size, double part, double whole);

/* ---- names --------------------------------------------------------------------------------- */

/* "allreduce", "iallreduce", "allreduce_init", "allreduce_c": what the program called. */
void tw_format_operation(char *text, size_t size, const tw_record_key_t *key);

/* The library's name and version from the first line of MPI_Get_library_version(). */
void tw_format_library(char *text, size_t size, const char *library);

/* "small", "not_paying": a reason's name in tables and as a key. */
void tw_format_why(char *text, size_t size, int why);

/* ---- sums ---------------------------------------------------------------------------------- */

/* The records of one kind of traffic, calls and bytes by what travels. */
typedef struct tw_traffic_kind_sum {
    uint64_t calls, bytes;
    uint64_t elements[TW_ELEMENTS]; /* of the bytes */
} tw_traffic_kind_sum_t;

void tw_report_traffic(const tw_record_t *records, size_t count,
                       tw_traffic_kind_sum_t sums[TW_TRAFFICS]);

/* All records as one; its key says nothing. */
void tw_report_sum(const tw_record_t *records, size_t count, tw_record_t *sum);

/* Why most of it was not compressed: the reason with most bytes, then most calls, of those that are
 * not marked in `but` (may be NULL); -1 if there is none. */
int tw_report_reason(const tw_record_t *record, const bool but[TW_WHY_COUNT]);

/* Nothing was to be compressed: no codec, no rule. */
bool tw_report_watching(const tw_report_about_t *about);

/* Nanoseconds of all ranks as seconds of one. */
double tw_report_seconds(const tw_report_about_t *about, uint64_t ns);

/* Bytes that would be sent with a candidate, of all types. */
uint64_t tw_report_could(const tw_record_t *sum, int candidate);

/* Of the calls that could be compressed: uncompressed bytes of types that --double asks for. */
uint64_t tw_report_asked(const tw_record_t *sum);

/* ---- advice -------------------------------------------------------------------------------- */

/* For the values of one type. `usual` is what is offered for every program; `codec` is that, or one
 * that sends fewer bytes, with no larger error, which is absolute in a block, however: a value that
 * is much smaller than its neighbours may become zero. -1: none. Errors are bounds of one encoding,
 * tw_candidate_t.error, and not measured: nothing was encoded. */
typedef struct tw_advice {
    int type; /* place in tw_dtypes */
    int codec, usual;
} tw_advice_t;

/* For each type of the calls that could be compressed, where nothing was; returns how many. */
int tw_report_advice(const tw_record_t *sum, tw_advice_t advice[TW_DTYPE_ROWS]);

/* Bytes that a candidate, or -1, would have saved in the calls of a type. */
uint64_t tw_report_saves(const tw_record_t *sum, int type, int candidate);

/* It as a rule, whose codec is not -1, and as a line without a break; 256 bytes hold all of it. */
void tw_advice_rule(const tw_report_about_t *about, const tw_advice_t *advice, char *text,
                    size_t size);
void tw_advice_text(const tw_report_about_t *about, const tw_record_t *sum,
                    const tw_advice_t *advice, char *text, size_t size);

/* ---- verdict ------------------------------------------------------------------------------- */

/* The line that says what it was good for, without a line break; 240 bytes are enough. */
void tw_report_verdict(const tw_report_about_t *about, const tw_record_t *sum, char *text,
                       size_t size);

#endif /* TW_INTERPOSE_REPORT_PARTS_H */
