/* SPDX-License-Identifier: BSD-3-Clause
 * train/changes.c - see changes.h.
 */
#include "config.h"

#include <stdio.h>
#include <string.h>

#include "train/changes.h"

static const char *const names[TW_CHANGES] = {"rate",  "codec", "scheme", "update-period",
                                              "batch", "bn",    "data",   "seed"};

static int find(const char *word, size_t length)
{
    int c = 0;

    while (c < TW_CHANGES && (strlen(names[c]) != length || strncmp(word, names[c], length) != 0)) {
        c++;
    }
    return c;
}

int tw_changes_parse(const char *text, unsigned *set_p, tw_problem_t *problem)
{
    unsigned set = 0;

    for (const char *word = text; word != NULL;) {
        const char  *comma  = strchr(word, ',');
        const size_t length = comma != NULL ? (size_t)(comma - word) : strlen(word);
        const int    c      = find(word, length);
        char         all[120];

        if (c == TW_CHANGES) {
            tw_changes_text(TW_CHANGES_ALL, all, sizeof(all));
            return tw_problem_set(problem,
                                  "--allow-change: '%.*s' is nothing that may differ; accepted, "
                                  "with commas between them, are %s",
                                  length < 40 ? (int)length : 40, word, all);
        }
        set |= 1u << c;
        word = comma != NULL ? comma + 1 : NULL;
    }
    *set_p = set;
    return 0;
}

void tw_changes_text(unsigned set, char *text, size_t size)
{
    size_t used = 0;

    text[0] = '\0';
    for (int c = 0; c < TW_CHANGES && used < size; c++) {
        if (set & 1u << c) {
            used +=
                (size_t)snprintf(text + used, size - used, "%s%s", used > 0 ? "," : "", names[c]);
        }
    }
}
