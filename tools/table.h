/* SPDX-License-Identifier: BSD-3-Clause
 * tools/table.h - aligned columns, printed row by row as the results come, and numbers for people.
 */
#ifndef TOOLS_TABLE_H
#define TOOLS_TABLE_H

#include <stddef.h>

#define TABLE_CELL 48

typedef struct table_column {
    const char *title;
    int         width; /* at least; negative: left-aligned */
} table_column_t;

void table_header(const table_column_t *columns, size_t count);
void table_row(const table_column_t *columns, size_t count, char (*cells)[TABLE_CELL]);

void table_size(char *cell, size_t bytes);   /* 4, 64k, 16M          */
void table_time(char *cell, double seconds); /* 12.3 us, 4.56 ms     */
void table_number(char *cell, double value); /* three digits         */
void table_error(char *cell, double value);  /* 0, or 1.2e-03        */
void table_text(char *cell, const char *text);

#endif /* TOOLS_TABLE_H */
