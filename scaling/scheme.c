/* SPDX-License-Identifier: BSD-3-Clause
 * scaling/scheme.c - see scheme.h.
 */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "scaling/scheme.h"

/* A number of ranks, and nothing behind it. */
static int parse_ranks(const char *text, int *ranks_p)
{
    char      *end;
    const long ranks = text[0] >= '1' && text[0] <= '9' ? strtol(text, &end, 10) : 0;

    if (ranks < 1 || ranks > SCHEME_GROUPS || *end != '\0') {
        return -1;
    }
    *ranks_p = (int)ranks;
    return 0;
}

static int parse_kind(scheme_t *scheme, const char *word)
{
    static const char *const names[] = {"data", "a", "b", "c"};

    for (int k = 0; k < 4; k++) {
        if (strcmp(word, names[k]) == 0) {
            scheme->kind = (scheme_kind_t)k;
            return 0;
        }
    }
    scheme->kind = SCHEME_GROUP;
    return strncmp(word, "group=", 6) == 0 ? parse_ranks(word + 6, &scheme->group) : -1;
}

static int parse_split(scheme_t *scheme, const char *text)
{
    if (scheme->kind == SCHEME_DATA || strncmp(text, "split=", 6) != 0) {
        return -1;
    }
    if (strcmp(text + 6, "node") == 0) {
        scheme->split = SCHEME_NODE;
        return 0;
    }
    return parse_ranks(text + 6, &scheme->split) == 0 && scheme->split > 1 ? 0 : -1;
}

int scheme_parse(scheme_t *scheme, const char *text, size_t length, tw_problem_t *problem)
{
    scheme_t read = {.kind = SCHEME_DATA};
    char     word[SCHEME_TEXT], *split;

    if (length > 0 && length < sizeof(word)) {
        memcpy(word, text, length);
        word[length] = '\0';
        memcpy(read.text, word, length);
        split = strchr(word, ':');
        if (split != NULL) {
            *split++ = '\0';
        }
        if (parse_kind(&read, word) == 0 && (split == NULL || parse_split(&read, split) == 0)) {
            *scheme = read;
            return 0;
        }
    }
    return tw_problem_set(
        problem,
        "--scheme '%.*s': accepted are data, a, b, c and group=G, G from 1 to %d, "
        "the last four also with :split=N or :split=node",
        length < 60 ? (int)length : 60, text, SCHEME_GROUPS);
}

int scheme_local(int ranks, int per_node)
{
    return ranks <= per_node ? ranks : ranks % per_node == 0 ? per_node : 0;
}

int scheme_ranks(const scheme_t *scheme, int ranks, int local, tw_problem_t *problem)
{
    const int split = scheme->split == SCHEME_NODE ? local : scheme->split;

    if (scheme->split == 0 || split >= ranks) {
        return ranks;
    }
    if (split < 2) {
        tw_problem_set(problem, "--scheme %s: %s; accepted with them: another scheme, or split=N",
                       scheme->text,
                       split == 1 ? "nodes have one rank each" : "nodes differ in their ranks");
        return 0;
    }
    if (ranks % split != 0) {
        tw_problem_set(problem,
                       "--scheme %s: %d ranks are not groups of %d; accepted: split=N "
                       "where N divides them",
                       scheme->text, ranks, split);
        return 0;
    }
    return split;
}
