/* SPDX-License-Identifier: BSD-3-Clause
 * model/words.c - words in messages about model files: lists, and suggestions.
 */
#include "config.h"

#include <string.h>

#include "train/model/network_file.h"

enum { TW_WORD_MAX = 32 };

static size_t least(size_t a, size_t b, size_t c)
{
    const size_t m = a < b ? a : b;

    return m < c ? m : c;
}

/* Insertions, deletions and replacements that turn a into b, both below TW_WORD_MAX bytes. */
static size_t distance(const char *a, const char *b)
{
    size_t       row[TW_WORD_MAX + 1];
    const size_t n = strlen(b);

    for (size_t j = 0; j <= n; j++) {
        row[j] = j;
    }
    for (size_t i = 0; a[i] != '\0'; i++) {
        size_t diagonal = row[0];

        row[0] = i + 1;
        for (size_t j = 0; j < n; j++) {
            const size_t above = row[j + 1];

            row[j + 1] = least(above + 1, row[j] + 1, diagonal + (a[i] != b[j]));
            diagonal   = above;
        }
    }
    return row[n];
}

const char *tw_nearest(const char *word, const char *const *names, size_t n)
{
    const char *nearest = NULL;
    size_t      best    = 4; /* more than three changes: something else was meant */

    if (strlen(word) >= TW_WORD_MAX) {
        return NULL;
    }
    for (size_t i = 0; i < n; i++) {
        if (strlen(names[i]) < TW_WORD_MAX) {
            const size_t d = distance(word, names[i]);

            if (d < best && d < strlen(names[i])) {
                best    = d;
                nearest = names[i];
            }
        }
    }
    return nearest;
}

const char *tw_join(char *text, size_t size, const char *const *names, size_t n)
{
    size_t used = 0;

    text[0] = '\0';
    for (size_t i = 0; i < n && used < size; i++) {
        const char *gap = i == 0 ? "" : i + 1 == n ? " and " : ", ";

        used += (size_t)snprintf(text + used, size - used, "%s%s", gap, names[i]);
    }
    return text;
}

const char *tw_shown(char *text, size_t size, const char *word)
{
    size_t i = 0;

    for (; word[i] != '\0' && i + 1 < size; i++) {
        text[i] = word[i] >= ' ' && word[i] <= '~' ? word[i] : '?';
    }
    text[i] = '\0';
    return text;
}
