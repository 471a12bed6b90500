/* SPDX-License-Identifier: BSD-3-Clause
 * base/text.c - see text.h.
 */
#include "config.h"

#include <errno.h>
#include <locale.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/base/text.h"

#define TW_WORD_MAX 64 /* longer ones are near to nothing */

/* Digits, and where they end; false: none, or more than 64 bits. */
static bool tw_text_digits(const char *text, char **end, uint64_t *value)
{
    if (*text < '0' || *text > '9') {
        return false;
    }
    errno  = 0;
    *value = strtoull(text, end, 10);
    return errno == 0;
}

bool tw_text_whole(const char *text, uint64_t least, uint64_t most, uint64_t *value)
{
    char    *end;
    uint64_t v;

    if (!tw_text_digits(text, &end, &v) || *end != '\0' || v < least || v > most) {
        return false;
    }
    *value = v;
    return true;
}

bool tw_text_bytes(const char *text, size_t *bytes)
{
    static const char units[] = "kKmMgG"; /* two for each power of 1024 */
    const char       *unit;
    char             *end;
    uint64_t          v;
    unsigned          shift = 0;

    if (strcmp(text, "inf") == 0) {
        *bytes = SIZE_MAX;
        return true;
    }
    if (!tw_text_digits(text, &end, &v)) {
        return false;
    }
    unit = *end != '\0' ? strchr(units, *end) : NULL;
    if (unit != NULL) {
        shift = 10 * ((unsigned)(unit - units) / 2 + 1);
        end++;
    }
    if (*end != '\0' || v > (SIZE_MAX >> shift)) {
        return false;
    }
    *bytes = (size_t)v << shift;
    return true;
}

bool tw_text_number(const char *text, double *value)
{
    const bool     digits = *text != '\0' && text[strspn(text, "0123456789.eE+-")] == '\0';
    const locale_t c      = digits ? newlocale(LC_NUMERIC_MASK, "C", (locale_t)0) : (locale_t)0;
    const locale_t old    = c != (locale_t)0 ? uselocale(c) : (locale_t)0;
    char          *end    = NULL;
    const double   v      = digits ? strtod(text, &end) : 0.0;

    if (c != (locale_t)0) {
        uselocale(old);
        freelocale(c);
    }
    if (!digits || end == text || *end != '\0' || !isfinite(v)) {
        return false;
    }
    *value = v;
    return true;
}

size_t tw_edit_distance(const char *a, const char *b)
{
    const size_t la = strlen(a), lb = strlen(b);
    size_t       row[TW_WORD_MAX + 1];

    if (la > TW_WORD_MAX || lb > TW_WORD_MAX) {
        return SIZE_MAX;
    }
    for (size_t j = 0; j <= lb; j++) {
        row[j] = j;
    }
    for (size_t i = 1; i <= la; i++) {
        size_t diagonal = row[0];

        row[0] = i;
        for (size_t j = 1; j <= lb; j++) {
            const size_t substituted = diagonal + (a[i - 1] != b[j - 1]);
            size_t       best        = row[j] + 1 < row[j - 1] + 1 ? row[j] + 1 : row[j - 1] + 1;

            diagonal = row[j];
            best     = substituted < best ? substituted : best;
            row[j]   = best;
        }
    }
    return row[lb];
}
