/* SPDX-License-Identifier: BSD-3-Clause
 * interpose/report/names.c - see names.h.
 */
#include "config.h"

#include <dlfcn.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "interpose/report/names.h"

#define TW_NAME_MOST 512

typedef char *(*tw_demangle_t)(const char *symbol, char *buffer, size_t *length, int *status);

/* The C++ library that the process has; none is loaded for this. */
static tw_demangle_t tw_demangler(void)
{
    static const char *const libraries[] = {"libstdc++.so.6", "libc++abi.so.1", "libc++.so.1"};
    tw_demangle_t            demangle    = NULL;

    *(void **)&demangle = dlsym(RTLD_DEFAULT, "__cxa_demangle");
    for (size_t i = 0; i < sizeof(libraries) / sizeof(libraries[0]) && demangle == NULL; i++) {
        void *library = dlopen(libraries[i], RTLD_LAZY | RTLD_NOLOAD); /* the handle is kept */

        if (library != NULL) {
            *(void **)&demangle = dlsym(library, "__cxa_demangle");
        }
    }
    return demangle;
}

/* Characters of the name of an operator, which look like brackets: "operator<<", "operator()". */
static size_t tw_operator(const char *text)
{
    const char *const word = "operator";
    size_t            n    = strlen(word);

    if (strncmp(text, word, n) != 0) {
        return 0;
    }
    if (strncmp(text + n, "()", 2) == 0) {
        return n + 2;
    }
    return n + strspn(text + n, "<>=!+-*/%^&|~,[]");
}

/* The name's own part: from after the type of the result to before the arguments. */
static void tw_name_bounds(const char *text, size_t *first_p, size_t *end_p)
{
    int    depth = 0;
    size_t i     = 0;
    bool   named = false; /* an operator's name is behind us: what follows is no result's */

    *first_p = 0;
    for (; text[i] != '\0'; i++) {
        const size_t skip = depth == 0 ? tw_operator(text + i) : 0;

        if (skip > 0) {
            i += skip - 1;
            named = true;
        } else if (text[i] == '(' && depth == 0 &&
                   strncmp(text + i, "(anonymous namespace)", 21) != 0) {
            break;
        } else if (strchr("<({", text[i]) != NULL) {
            depth++;
        } else if (strchr(">)}", text[i]) != NULL && depth > 0) {
            depth--;
        } else if (text[i] == ' ' && depth == 0 && !named) {
            *first_p = i + 1;
        }
    }
    *end_p = i;
}

/* What stands in <> becomes <>. */
static void tw_drop_templates(char *text)
{
    char *to    = text;
    int   depth = 0;

    for (const char *from = text; *from != '\0'; from++) {
        const size_t skip = depth == 0 ? tw_operator(from) : 0;

        if (skip > 0) {
            memmove(to, from, skip);
            to += skip;
            from += skip - 1;
            continue;
        }
        depth -= *from == '>' && depth > 0;
        if (depth == 0) {
            *to++ = *from;
        }
        depth += *from == '<';
    }
    *to = '\0';
}

void tw_function_name(const char *symbol, char *text, size_t size)
{
    char          name[TW_NAME_MOST], *made = NULL;
    tw_demangle_t demangle = strncmp(symbol, "_Z", 2) == 0 ? tw_demangler() : NULL;
    size_t        first, end, length;
    int           status = 0;

    if (demangle != NULL) {
        made = demangle(symbol, NULL, NULL, &status);
    }
    symbol = made != NULL ? made : symbol;
    tw_name_bounds(symbol, &first, &end);
    if (first >= end) { /* a form that is not known here */
        first = 0;
        end   = strlen(symbol);
    }
    end = end - first < sizeof(name) ? end : first + sizeof(name) - 1;
    memcpy(name, symbol + first, end - first);
    name[end - first] = '\0';
    free(made);
    if (strlen(name) >= size || strlen(name) > 40) {
        tw_drop_templates(name);
    }
    length = strlen(name);
    if (length < size) {
        memcpy(text, name, length + 1);
    } else {
        snprintf(text, size, "..%s", name + length - (size - 3));
    }
}
