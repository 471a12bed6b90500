/* SPDX-License-Identifier: BSD-3-Clause
 * interpose/report/report_text.h - the report for people while it is made.
 */
#ifndef TW_INTERPOSE_REPORT_TEXT_H
#define TW_INTERPOSE_REPORT_TEXT_H

#include "interpose/report/report_parts.h"
#include "interpose/report/report_table.h"

typedef struct tw_text_report {
    const tw_report_about_t *about;
    const tw_record_t       *records;
    size_t                   count;
    tw_record_t              sum;
    tw_page_t                head, body, tail;
    tw_text_table_t          table;
} tw_text_report_t;

/* Its tables, each with all its lines, none where there is nothing to say: all bytes by kind, the
 * reasons for which calls were not compressed and what codecs would do, for the tail; the call
 * sites, for the body, with as many lines as head and tail leave. */
void tw_text_traffic(tw_text_report_t *report);
void tw_text_reasons(tw_text_report_t *report);
void tw_text_candidates(tw_text_report_t *report);
void tw_text_sites(tw_text_report_t *report);

#endif /* TW_INTERPOSE_REPORT_TEXT_H */
