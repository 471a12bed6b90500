/* SPDX-License-Identifier: BSD-3-Clause
 * tools/table.c - printing.
 */
#include "config.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "tools/table.h"

static int width_of(const table_column_t *column)
{
    const int title = (int)strlen(column->title);
    const int width = column->width < 0 ? -column->width : column->width;
    const int most  = title > width ? title : width;

    return column->width < 0 ? -most : most;
}

/* No blanks at the end of a line: a last column that is left-aligned is not padded. */
static void print_cell(const table_column_t *columns, size_t count, size_t i, const char *text)
{
    const int width = width_of(&columns[i]);

    printf("%s%*s", i > 0 ? "  " : "", i + 1 == count && width < 0 ? 0 : width, text);
}

void table_header(const table_column_t *columns, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        print_cell(columns, count, i, columns[i].title);
    }
    printf("\n");
    fflush(stdout);
}

void table_row(const table_column_t *columns, size_t count, char (*cells)[TABLE_CELL])
{
    for (size_t i = 0; i < count; i++) {
        print_cell(columns, count, i, cells[i]);
    }
    printf("\n");
    fflush(stdout);
}

void table_size(char *cell, size_t bytes)
{
    static const char units[] = {'\0', 'k', 'M', 'G'};
    int               unit    = 0;

    while (unit < 3 && bytes > 0 && bytes % 1024 == 0) {
        bytes /= 1024;
        unit++;
    }
    snprintf(cell, TABLE_CELL, "%zu%.1s", bytes, &units[unit]);
}

void table_time(char *cell, double seconds)
{
    static const char *const units[] = {"s", "ms", "us"};
    int                      unit    = 0;

    while (unit < 2 && seconds < 1.0) {
        seconds *= 1000.0;
        unit++;
    }
    snprintf(cell, TABLE_CELL,
             seconds < 10    ? "%.2f %s"
             : seconds < 100 ? "%.1f %s"
                             : "%.0f %s",
             seconds, units[unit]);
}

void table_number(char *cell, double value)
{
    snprintf(cell, TABLE_CELL,
             value < 0.1   ? "%.3f"
             : value < 10  ? "%.2f"
             : value < 100 ? "%.1f"
                           : "%.0f",
             value);
}

void table_error(char *cell, double value)
{
    snprintf(cell, TABLE_CELL, value == 0.0 ? "0" : isfinite(value) ? "%.2e" : "%g", value);
}

void table_text(char *cell, const char *text)
{
    snprintf(cell, TABLE_CELL, "%s", text);
}
