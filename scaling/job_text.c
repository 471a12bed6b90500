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
enum { TEXT_MOST = 64 << 20, KEYS_MOST = 64, DEEP = 64 };

/* ---- reading ------------------------------------------------------------------------------- */

/* All of a file, a NUL behind it; else NULL and errno, EFBIG where there is more. */
static char *read_file(FILE *file, size_t *length)
{
    char *text = malloc(TEXT_MOST + 2);
    int   error;

    if (text == NULL) {
        return NULL;
    }
    errno   = 0;
    *length = fread(text, 1, TEXT_MOST + 1, file);
    if (!ferror(file) && *length <= TEXT_MOST) {
        text[*length] = '\0';
        return text;
    }
    error = *length > TEXT_MOST ? EFBIG : errno != 0 ? errno : EIO;
    free(text);
    errno = error;
    return NULL;
}

/* ---- looking through ----------------------------------------------------------------------- */

typedef struct scan {
    const char *at;
    int         line;
    const char *wrong;      /* or NULL */
    int         deep;       /* braces that are open */
    int         keys[DEEP]; /* so far, of the groups that are */
} scan_t;

static void scan_comment(scan_t *scan)
{
    const char *const end = scan->at[1] == '*' ? strstr(scan->at + 2, "*/") : NULL;

    if (scan->at[0] != '/' || scan->at[1] != '*') {
        scan->at += strcspn(scan->at, "\n");
        return;
    }
    if (end == NULL) {
        scan->wrong = "the comment that begins here has no end";
        return;
    }
    for (; scan->at < end; scan->at++) {
        scan->line += *scan->at == '\n';
    }
    scan->at = end + 2;
}

/* What has no end is a syntax error later. */
static void scan_quotes(scan_t *scan)
{
    for (scan->at++; *scan->at != '"' && *scan->at != '\0'; scan->at++) {
        scan->at += scan->at[0] == '\\' && scan->at[1] != '\0';
        scan->line += *scan->at == '\n';
    }
    scan->at += *scan->at == '"';
}

static void scan_word(scan_t *scan)
{
    const char *const begin = scan->at;
    const int         hex   = begin[0] == '0' && (begin[1] == 'x' || begin[1] == 'X');
    char             *end;
    uint64_t          value;

    scan->at += strspn(begin, "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ._");
    if (!isdigit((unsigned char)*begin)) {
        return;
    }
    errno = 0;
    value = strtoull(begin, &end, hex ? 16 : 10);
    if (*end == '.' || *end == 'e' || *end == 'E') {
        return;
    }
    if (errno != 0 || value > INT64_MAX) {
        scan->wrong = "a whole number is above 9223372036854775807";
    } else if (value > INT_MAX && *end != 'L') {
        scan->wrong = "a whole number above 2147483647 needs an L behind it, as in 5000000000L";
    }
}

/* Keys of groups are counted, by the = or : behind them. */
static void scan_sign(scan_t *scan)
{
    const char c = *scan->at++;

    scan->line += c == '\n';
    if (c == '{') {
        scan->deep++;
        if (scan->deep < DEEP) {
            scan->keys[scan->deep] = 0;
        } else {
            scan->wrong = "groups are nested too deep";
        }
    } else if (c == '}' && scan->deep > 0) {
        scan->deep--;
    } else if ((c == '=' || c == ':') && ++scan->keys[scan->deep] > KEYS_MOST) {
        scan->wrong = "a group has more than 64 keys";
    }
}

static int scan_through(const char *text, const char *path, tw_problem_t *problem)
{
    scan_t scan = {.at = text, .line = 1};

    while (scan.wrong == NULL && *scan.at != '\0') {
        const char c = *scan.at;

        if (c == '#' || (c == '/' && (scan.at[1] == '/' || scan.at[1] == '*'))) {
            scan_comment(&scan);
        } else if (c == '"') {
            scan_quotes(&scan);
        } else if (isalnum((unsigned char)c) || c == '_') {
            scan_word(&scan);
        } else if (c == '@') {
            scan.wrong = "@include is not accepted: a job is one file";
        } else {
            scan_sign(&scan);
        }
    }
    return scan.wrong == NULL ? 0
                              : tw_problem_set(problem, "%s:%d: %s", path, scan.line, scan.wrong);
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
        status = scan_through(text, path, problem);
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
