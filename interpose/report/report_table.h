/* SPDX-License-Identifier: BSD-3-Clause
 * interpose/report/report_table.h - lines of the text report, and aligned tables among them.
 */
#ifndef TW_INTERPOSE_REPORT_TABLE_H
#define TW_INTERPOSE_REPORT_TABLE_H

#include <stddef.h>

#include "interpose/report/records.h"

#define TW_PAGE_WIDTH    256
#define TW_TABLE_ROWS    TW_REPORT_LINES
#define TW_TABLE_COLUMNS 14
#define TW_CELL          80

/* A few lines; what is beyond TW_REPORT_LINES is dropped. */
typedef struct tw_page {
    int  lines;
    char text[TW_REPORT_LINES][TW_PAGE_WIDTH];
} tw_page_t;

/* Printable ASCII only: the texts of the program (names of communicators) may hold anything. */
void tw_page_line(tw_page_t *page, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Row 0 is the heading. The first `left` columns and the last `last_left` ones are aligned left,
 * the numbers between them right. */
typedef struct tw_text_table {
    int  rows, columns;
    int  left;
    int  last_left;
    char cell[TW_TABLE_ROWS][TW_TABLE_COLUMNS][TW_CELL];
} tw_text_table_t;

/* A new row of empty cells, NULL where the table is full. */
char (*tw_text_table_row(tw_text_table_t *table))[TW_CELL];

/* Indented by two blanks; columns in which all cells below the heading are empty are left out, and
 * a table that has but a heading. */
void tw_text_table_print(const tw_text_table_t *table, tw_page_t *page);

#endif /* TW_INTERPOSE_REPORT_TABLE_H */
