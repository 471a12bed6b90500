/* SPDX-License-Identifier: BSD-3-Clause
 * model/network_text.c - the text of a model: built in or from a file.
 *
 * libconfig is not strict enough for untrusted files: it stops at a NUL, truncates integers that do
 * not fit, follows @include to any file and accepts an unterminated comment. So the text is checked
 * first, by the same rules for comments and strings.
 */
#include "config.h"

#include <ctype.h>
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "train/model/network_file.h"

/* ---- looking through ----------------------------------------------------------------------- */

enum { TW_DEPTH_MAX = 16 };

typedef struct tw_scan {
    const char   *at, *source;
    int           line, depth;
    tw_problem_t *problem;
} tw_scan_t;

static int wrong(const tw_scan_t *scan, int line, const char *what)
{
    return tw_problem_set(scan->problem, "%s:%d: %s", scan->source, line, what);
}

static void step(tw_scan_t *scan)
{
    scan->line += *scan->at == '\n';
    scan->at++;
}

/* A comment to the end of the line, or from slash-star to star-slash. */
static int skip_comment(tw_scan_t *scan)
{
    const int begin = scan->line;

    if (scan->at[0] != '/' || scan->at[1] != '*') {
        scan->at += strcspn(scan->at, "\n");
        return 0;
    }
    for (scan->at += 2; scan->at[0] != '*' || scan->at[1] != '/'; step(scan)) {
        if (*scan->at == '\0') {
            return wrong(scan, begin, "the comment that begins here has no end");
        }
    }
    scan->at += 2;
    return 0;
}

static int skip_string(tw_scan_t *scan)
{
    const int begin = scan->line;

    for (scan->at++; *scan->at != '"'; step(scan)) {
        scan->at += *scan->at == '\\' && scan->at[1] != '\0';
        if (*scan->at == '\0' || *scan->at == '\n') {
            return wrong(scan, begin,
                         "the text in quotes that begins here has no end in this line");
        }
    }
    scan->at++;
    return 0;
}

/* A name or a number: of a number, whether an integer is within int. */
static int skip_word(tw_scan_t *scan)
{
    const char  *begin  = scan->at;
    const size_t length = strspn(begin, "0123456789abcdefghijklmnopqrstuvwxyz"
                                        "ABCDEFGHIJKLMNOPQRSTUVWXYZ._");
    const int    hex    = begin[0] == '0' && (begin[1] == 'x' || begin[1] == 'X');
    char        *end;
    uint64_t     value;

    scan->at += length;
    if (!isdigit((unsigned char)*begin)) {
        return 0;
    }
    errno = 0;
    value = strtoull(begin, &end, hex ? 16 : 10);
    if ((errno != 0 || value > INT_MAX) && *end != '.' && *end != 'e' && *end != 'E') {
        return wrong(scan, scan->line, "a whole number is above 2147483647, the most accepted");
    }
    return 0;
}

static int check_bracket(tw_scan_t *scan)
{
    if (strchr("({[", *scan->at) != NULL && ++scan->depth > TW_DEPTH_MAX) {
        return wrong(scan, scan->line, "brackets are nested more than 16 deep");
    }
    scan->depth -= strchr(")}]", *scan->at) != NULL;
    scan->at++;
    return 0;
}

int tw_network_check_text(const char *text, const char *source, tw_problem_t *problem)
{
    tw_scan_t scan = {text, source, 1, 0, problem};
    int       rc   = 0;

    while (rc == 0 && *scan.at != '\0') {
        const char c = *scan.at;

        if (c == '#' || (c == '/' && (scan.at[1] == '/' || scan.at[1] == '*'))) {
            rc = skip_comment(&scan);
        } else if (c == '"') {
            rc = skip_string(&scan);
        } else if (isalnum((unsigned char)c) || c == '_') {
            rc = skip_word(&scan);
        } else if (c == '@') {
            rc = wrong(&scan, scan.line, "@include is not accepted: a model is one file");
        } else if (strchr("(){}[]", c) != NULL) {
            rc = check_bracket(&scan);
        } else {
            step(&scan);
        }
    }
    return rc;
}

/* ---- built in ------------------------------------------------------------------------------ */

const char *tw_network_builtin(size_t index)
{
    for (size_t i = 0; i <= index; i++) {
        if (tw_zoo[i].name == NULL) {
            return NULL;
        }
    }
    return tw_zoo[index].name;
}

static int join_lines(const char *const *lines, char **text_p)
{
    size_t length = 1;
    char  *text, *at;

    for (size_t i = 0; lines[i] != NULL; i++) {
        length += strlen(lines[i]);
    }
    at = text = malloc(length);
    if (text == NULL) {
        return -1;
    }
    for (size_t i = 0; lines[i] != NULL; i++) {
        const size_t n = strlen(lines[i]);

        memcpy(at, lines[i], n);
        at += n;
    }
    *at     = '\0';
    *text_p = text;
    return 0;
}

static int unknown_model(const char *name, tw_problem_t *problem)
{
    const char *names[64], *nearest;
    char        list[400], shown[48];
    size_t      n = 0;

    while (n < 64 && (names[n] = tw_network_builtin(n)) != NULL) {
        n++;
    }
    nearest = tw_nearest(name, names, n);
    tw_join(list, sizeof(list), names, n);
    return tw_problem_set(problem,
                          "model '%s' is unknown%s%s; accepted are %s, and a file whose name has "
                          "a '/' or ends in .cfg",
                          tw_shown(shown, sizeof(shown), name),
                          nearest != NULL ? ", nearest is " : "", nearest != NULL ? nearest : "",
                          list);
}

/* ---- files --------------------------------------------------------------------------------- */

static int read_file(const char *path, char **text_p, tw_problem_t *problem)
{
    FILE  *file = fopen(path, "r");
    char  *text = malloc(TW_NETWORK_TEXT_MAX + 2);
    size_t n    = 0;
    int    rc   = 0;

    errno = file == NULL ? errno : 0;
    if (file != NULL && text != NULL) {
        n = fread(text, 1, TW_NETWORK_TEXT_MAX + 1, file);
    }
    if (file == NULL || text == NULL || ferror(file)) {
        rc = tw_problem_set(problem, "%.200s: %s", path, strerror(text == NULL ? ENOMEM : errno));
    } else if (n > TW_NETWORK_TEXT_MAX) {
        rc = tw_problem_set(problem, "%.200s: is above 1 MiB, the most accepted of a model file",
                            path);
    } else if (memchr(text, '\0', n) != NULL) {
        int line = 1;

        for (const char *at = text; *at != '\0'; at++) {
            line += *at == '\n';
        }
        rc = tw_problem_set(problem, "%.200s:%d: a NUL byte; a model file is text", path, line);
    }
    if (file != NULL) {
        fclose(file);
    }
    if (rc != 0) {
        free(text);
        return -1;
    }
    text[n] = '\0';
    *text_p = text;
    return 0;
}

int tw_network_text(const char *name_or_file, char **text_p, char source[256],
                    tw_problem_t *problem)
{
    const size_t length = strlen(name_or_file);

    if (strchr(name_or_file, '/') != NULL ||
        (length > 4 && strcmp(name_or_file + length - 4, ".cfg") == 0)) {
        if (read_file(name_or_file, text_p, problem) != 0) {
            return -1;
        }
        snprintf(source, 256, "%s", name_or_file);
        return 0;
    }
    for (const tw_zoo_entry_t *entry = tw_zoo; entry->name != NULL; entry++) {
        if (strcmp(entry->name, name_or_file) == 0) {
            if (join_lines(entry->lines, text_p) != 0) {
                return tw_problem_set(problem, "out of memory");
            }
            snprintf(source, 256, "built in");
            return 0;
        }
    }
    return unknown_model(name_or_file, problem);
}
