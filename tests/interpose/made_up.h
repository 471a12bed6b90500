/* SPDX-License-Identifier: BSD-3-Clause
 * tests/interpose/made_up.h - runs that never were, for the tests of their reports.
 */
#ifndef TW_TESTS_INTERPOSE_MADE_UP_H
#define TW_TESTS_INTERPOSE_MADE_UP_H

#include <stddef.h>

#include "interpose/report/records.h"

/* 4 ranks, all heard, 12.5 s. */
tw_report_about_t about_job(const char *codec);

/* 10 calls of 1 MB each and 1 s together, over 4 ranks; none compressed, for this reason. */
tw_record_t record_of(tw_rule_op_t op, tw_why_t why);

/* The same by tree8, and of a program that is only watched. */
tw_record_t compressed(void);
tw_record_t watched(void);

/* The latter with doubles. */
tw_record_t doubles(void);

/* 10 calls of this operation that send so many bytes of doubles, and whose time is not known. */
tw_record_t sent(int op, tw_why_t why, uint64_t bytes);

/* A head, remarks and records (to be freed) that give rise to all that a report can say. */
tw_report_about_t about_everything(void);
tw_record_t      *records_of_everything(size_t count);

/* The text report; to be freed. */
char *text_of(const tw_report_about_t *about, const tw_record_t *records, size_t count);

#endif /* TW_TESTS_INTERPOSE_MADE_UP_H */
