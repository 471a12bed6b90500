/* SPDX-License-Identifier: BSD-3-Clause
 * tests/codec/format.c - see format.h. Rows look like "    0x08  3916bb99  39727bb3 ...".
 */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>

#include "tests/codec/common.h"
#include "tests/codec/format.h"

static FILE *open_page(void)
{
    const char *top = getenv("top_srcdir");
    char        path[4096];
    FILE       *page;

    snprintf(path, sizeof(path), "%s/docs/wire-format.md", top != NULL ? top : ".");
    page = fopen(path, "r");
    ck_assert_msg(page != NULL, "cannot read %s; set top_srcdir", path);
    return page;
}

static void read_row(const char *line, unsigned first, float *magnitude)
{
    unsigned bits[8], code;

    ck_assert_msg(sscanf(line, " 0x%x %x %x %x %x %x %x %x %x", &code, &bits[0], &bits[1], &bits[2],
                         &bits[3], &bits[4], &bits[5], &bits[6], &bits[7]) == 9,
                  "not a row of a table: %s", line);
    ck_assert_uint_eq(code, first);
    for (int i = 0; i < 8; i++) {
        magnitude[first + (unsigned)i] = tw_bits_float(bits[i]);
    }
}

void format_table(const char *title, float magnitude[128])
{
    FILE    *page = open_page();
    char     line[256];
    int      inside = 0;
    unsigned next   = 0;

    while (next < 128 && fgets(line, sizeof(line), page) != NULL) {
        if (strncmp(line, "###", 3) == 0) {
            ck_assert_uint_eq(next, 0);
            inside = strncmp(line + 4, title, strlen(title)) == 0;
        } else if (inside && strncmp(line, "    0x", 6) == 0) {
            read_row(line, next, magnitude);
            next += 8;
        }
    }
    fclose(page);
    ck_assert_msg(next == 128, "docs/wire-format.md has %u of 128 magnitudes under \"%s\"", next,
                  title);
}
