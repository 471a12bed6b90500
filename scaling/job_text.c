/* SPDX-License-Identifier: BSD-3-Clause
 * scaling/job_text.c - see job_text.h. libconfig itself ends the process where a file cannot be
 * read (a folder), so it gets a text.
 */
#include "config.h"

#include <ctype.h>
#include <errno.h>
#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "scaling/job_text.h"

/* KEYS_MOST: in a group; libconfig looks at all of them for each that is added. */
enum { FIRST_ROOM = 1 << 16, TEXT_MOST = 64 << 20, KEYS_MOST = 64, DEEP = 64 };

/* ---- reading ------------------------------------------------------------------------------- */

/* All of a file, a NUL behind it; else NULL and errno, EFBIG where there is more. */
static char *read_file(FILE *file, size_t *length)
{
    size_t room = FIRST_ROOM, n = 0, got = 1;
    char  *text = malloc(room), *more;
    int    error;

    errno = 0;
    while (text != NULL && got > 0 && n <= TEXT_MOST) {
        if (n + 1 == room) {
            more = realloc(text, 2 * room);
            if (more == NULL) {
                break;
            }
            text = more;
            room *= 2;
        }
        got = fread(text + n, 1, room - n - 1, file);
        n += got;
    }
    if (text != NULL && !ferror(file) && feof(file) && n <= TEXT_MOST) {
        text[n] = '\0';
        *length = n;
        return text;
    }
    error = n > TEXT_MOST ? EFBIG : errno != 0 ? errno : EIO;
    free(text);
    errno = error;
    return NULL;
}

/* ---- looking through ----------------------------------------------------------------------- */

typedef struct look {
    const char *at;
    int         line;
    const char *wrong;      /* or NULL */
    int         deep;       /* braces that are open */
    int         keys[DEEP]; /* so far, of the groups that are */
} look_t;

static void look_comment(look_t *look)
{
    const char *const end = look->at[1] == '*' ? strstr(look->at + 2, "*/") : NULL;

    if (look->at[0] != '/' || look->at[1] != '*') {
        look->at += strcspn(look->at, "\n");
        return;
    }
    if (end == NULL) {
        look->wrong = "the comment that begins here has no end";
        return;
    }
    for (; look->at < end; look->at++) {
        look->line += *look->at == '\n';
    }
    look->at = end + 2;
}

/* What has no end is a syntax error later. */
static void look_quotes(look_t *look)
{
    for (look->at++; *look->at != '"' && *look->at != '\0'; look->at++) {
        look->at += look->at[0] == '\\' && look->at[1] != '\0';
        look->line += *look->at == '\n';
    }
    look->at += *look->at == '"';
}

static void look_word(look_t *look)
{
    const char *const begin = look->at;
    const int         hex   = begin[0] == '0' && (begin[1] == 'x' || begin[1] == 'X');
    char             *end;
    uint64_t          value;

    look->at += strspn(begin, "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ._");
    if (!isdigit((unsigned char)*begin)) {
        return;
    }
    errno = 0;
    value = strtoull(begin, &end, hex ? 16 : 10);
    if (*end == '.' || *end == 'e' || *end == 'E') {
        return;
    }
    if (errno != 0 || value > INT64_MAX) {
        look->wrong = "a whole number is above 9223372036854775807";
    } else if (value > INT_MAX && *end != 'L') {
        look->wrong = "a whole number above 2147483647 needs an L behind it, as in 5000000000L";
    }
}

/* Keys of groups are counted, by the = or : behind them. */
static void look_sign(look_t *look)
{
    const char c = *look->at++;

    look->line += c == '\n';
    if (c == '{') {
        look->deep++;
        if (look->deep < DEEP) {
            look->keys[look->deep] = 0;
        } else {
            look->wrong = "groups are nested too deep";
        }
    } else if (c == '}' && look->deep > 0) {
        look->deep--;
    } else if ((c == '=' || c == ':') && ++look->keys[look->deep] > KEYS_MOST) {
        look->wrong = "a group has more than 64 keys";
    }
}

static int look_through(const char *text, const char *path, tw_problem_t *problem)
{
    look_t look = {.at = text, .line = 1};

    while (look.wrong == NULL && *look.at != '\0') {
        const char c = *look.at;

        if (c == '#' || (c == '/' && (look.at[1] == '/' || look.at[1] == '*'))) {
            look_comment(&look);
        } else if (c == '"') {
            look_quotes(&look);
        } else if (isalnum((unsigned char)c) || c == '_') {
            look_word(&look);
        } else if (c == '@') {
            look.wrong = "@include is not accepted: a job is one file";
        } else {
            look_sign(&look);
        }
    }
    if (look.wrong != NULL) {
        tw_problem_set(problem, "%s:%d: %s", path, look.line, look.wrong);
    }
    return look.wrong == NULL ? 0 : -1;
}

char *job_text_read(const char *path, tw_problem_t *problem)
{
    FILE  *file   = fopen(path, "re");
    size_t length = 0;
    char  *text   = file != NULL ? read_file(file, &length) : NULL;
    int    status = -1;

    if (text == NULL) {
        tw_problem_set(problem, "cannot read '%s': %s", path, strerror(errno));
    } else if (strlen(text) != length) {
        tw_problem_set(problem, "%s: it is no text, there is a NUL in it", path);
    } else {
        status = look_through(text, path, problem);
    }
    if (file != NULL) {
        fclose(file);
    }
    if (status != 0) {
        free(text);
        text = NULL;
    }
    return text;
}
