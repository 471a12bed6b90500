/* SPDX-License-Identifier: BSD-3-Clause
 * interpose/report/report_table.c - see report_table.h.
 */
#include "config.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "interpose/report/report_table.h"

void tw_page_line(tw_page_t *page, const char *format, ...)
{
    char   *line;
    va_list args;

    if (page->lines == TW_REPORT_LINES) {
        return;
    }
    line = page->text[page->lines++];
    va_start(args, format);
    vsnprintf(line, TW_PAGE_WIDTH, format, args);
    va_end(args);
    for (; *line != '\0'; line++) {
        if (*line < ' ' || *line > '~') {
            *line = '?';
        }
    }
}

char (*tw_text_table_row(tw_text_table_t *table))[TW_CELL]
{
    if (table->rows == TW_TABLE_ROWS) {
        return NULL;
    }
    memset(table->cell[table->rows], 0, sizeof(table->cell[0]));
    return table->cell[table->rows++];
}

/* 0: nothing in it. */
static int tw_column_width(const tw_text_table_t *table, int column)
{
    size_t width = 0, filled = 0;

    for (int row = 0; row < table->rows; row++) {
        const size_t n = strlen(table->cell[row][column]);

        width = n > width ? n : width;
        filled += row > 0 ? n : 0;
    }
    return filled > 0 ? (int)width : 0;
}

void tw_text_table_print(const tw_text_table_t *table, tw_page_t *page)
{
    for (int row = 0; row < table->rows && table->rows > 1; row++) {
        char   line[TW_PAGE_WIDTH] = "";
        size_t n                   = 0;

        for (int column = 0; column < table->columns && n < sizeof(line); column++) {
            const int  width = tw_column_width(table, column);
            const bool left  = column < table->left || column >= table->columns - table->last_left;

            if (width > 0) {
                n += (size_t)snprintf(line + n, sizeof(line) - n, "  %*s", left ? -width : width,
                                      table->cell[row][column]);
            }
        }
        n = strlen(line);
        while (n > 0 && line[n - 1] == ' ') {
            line[--n] = '\0';
        }
        tw_page_line(page, "%s", line);
    }
}
