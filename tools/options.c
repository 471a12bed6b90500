/* SPDX-License-Identifier: BSD-3-Clause
 * tools/options.c - parsing, help and suggestions.
 */
#include "config.h"

#include <errno.h>
#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tools/options.h"

#define NAME_MAX_LENGTH 32

static const option_t help_option = {"--help", NULL, "Print this text.", OPTION_FLAG, NULL, 0, 0};

size_t options_size(const char *text)
{
    unsigned long long v;
    char              *end;
    int                shift = 0;

    if (text[0] < '0' || text[0] > '9') {
        return 0;
    }
    errno = 0;
    v     = strtoull(text, &end, 10);
    switch (*end) {
    case 'k':
    case 'K':
        shift = 10;
        break;
    case 'm':
    case 'M':
        shift = 20;
        break;
    case 'g':
    case 'G':
        shift = 30;
        break;
    default:
        break;
    }
    end += shift != 0;
    if (errno != 0 || *end != '\0' || v > (SIZE_MAX >> shift)) {
        return 0;
    }
    return (size_t)v << shift;
}

/* Levenshtein distance of two short words; long ones are far from everything. */
static size_t distance(const char *a, const char *b)
{
    const size_t la = strlen(a), lb = strlen(b);
    size_t       row[NAME_MAX_LENGTH + 1];

    if (la > NAME_MAX_LENGTH || lb > NAME_MAX_LENGTH) {
        return SIZE_MAX;
    }
    for (size_t j = 0; j <= lb; j++) {
        row[j] = j;
    }
    for (size_t i = 1; i <= la; i++) {
        size_t corner = row[0];

        row[0] = i;
        for (size_t j = 1; j <= lb; j++) {
            const size_t up = row[j] + 1, left = row[j - 1] + 1;
            const size_t swap = corner + (a[i - 1] != b[j - 1]);

            corner = row[j];
            row[j] = up < left ? up : left;
            row[j] = swap < row[j] ? swap : row[j];
        }
    }
    return row[lb];
}

const char *options_nearest(const char *text, const char *const *names)
{
    const char *nearest = NULL;
    size_t      least   = 3; /* more than two edits apart is no typing error */

    for (size_t i = 0; names[i] != NULL; i++) {
        const size_t d = distance(text, names[i]);

        if (d < least) {
            least   = d;
            nearest = names[i];
        }
    }
    return nearest;
}

static void print_option(const option_t *option)
{
    const char *line = option->help;
    char        head[64];

    snprintf(head, sizeof(head), "%s%s%s", option->name, option->arg != NULL ? " " : "",
             option->arg != NULL ? option->arg : "");
    while (line != NULL) {
        const char *end = strchr(line, '\n');

        printf("  %-18s %.*s\n", head, end != NULL ? (int)(end - line) : (int)strlen(line), line);
        head[0] = '\0';
        line    = end != NULL ? end + 1 : NULL;
    }
}

void options_help(const command_t *command)
{
    printf("Usage: %s\n\n%s\n\nOptions:\n", command->usage, command->about);
    for (const option_t *o = command->options; o->name != NULL; o++) {
        print_option(o);
    }
    print_option(&help_option);
    if (command->epilogue[0] != '\0') {
        printf("\n%s\n", command->epilogue);
    }
}

static options_result_t bad_option(const command_t *command, const char *text, size_t length,
                                   char *why, size_t why_size)
{
    const char *names[32];
    const char *nearest;
    char        word[NAME_MAX_LENGTH + 1];
    size_t      n = 0;

    for (const option_t *o = command->options; o->name != NULL && n < 30; o++) {
        names[n++] = o->name;
    }
    names[n++] = help_option.name;
    names[n]   = NULL;
    snprintf(word, sizeof(word), "%.*s", (int)(length < NAME_MAX_LENGTH ? length : NAME_MAX_LENGTH),
             text);
    nearest = options_nearest(word, names);
    if (nearest != NULL) {
        snprintf(why, why_size, "unknown option '%s'; did you mean %s?", word, nearest);
    } else {
        snprintf(why, why_size, "%s '%s'; accepted: %s",
                 text[0] == '-' ? "unknown option" : "unexpected argument", word, command->usage);
    }
    return OPTIONS_BAD;
}

static options_result_t store_size(const option_t *option, const char *text, char *why,
                                   size_t why_size)
{
    const size_t bytes = options_size(text);

    if (bytes == 0 || bytes % 4 != 0) {
        snprintf(why, why_size,
                 "%s %.40s: not a size; accepted: bytes of float32, a multiple of 4, such as 4, "
                 "64k, 16M, 1G",
                 option->name, text);
        return OPTIONS_BAD;
    }
    *(size_t *)option->value = bytes;
    return OPTIONS_OK;
}

static options_result_t store_count(const option_t *option, const char *text, char *why,
                                    size_t why_size)
{
    char *end;
    long  v;

    errno = 0;
    v     = strtol(text, &end, 10);
    if (end == text || *end != '\0' || errno != 0 || v < option->min || v > option->max) {
        snprintf(why, why_size, "%s %.40s: accepted: a number, %d to %d", option->name, text,
                 option->min, option->max);
        return OPTIONS_BAD;
    }
    *(int *)option->value = (int)v;
    return OPTIONS_OK;
}

static options_result_t store(const option_t *option, const char *text, char *why, size_t why_size)
{
    if (option->type == OPTION_SIZE) {
        return store_size(option, text, why, why_size);
    }
    if (option->type == OPTION_COUNT) {
        return store_count(option, text, why, why_size);
    }
    if (*text == '\0') {
        snprintf(why, why_size, "%s needs a %s that is not empty", option->name, option->arg);
        return OPTIONS_BAD;
    }
    *(const char **)option->value = text;
    return OPTIONS_OK;
}

static const option_t *find(const command_t *command, const char *text, size_t length)
{
    for (const option_t *o = command->options; o->name != NULL; o++) {
        if (strlen(o->name) == length && strncmp(o->name, text, length) == 0) {
            return o;
        }
    }
    return NULL;
}

options_result_t options_parse(const command_t *command, int argc, char **argv, char *why,
                               size_t why_size)
{
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], help_option.name) == 0 || strcmp(argv[i], "-h") == 0) {
            return OPTIONS_HELP;
        }
    }
    for (int i = 1; i < argc; i++) {
        const char      *equals = strchr(argv[i], '=');
        const size_t     length = equals != NULL ? (size_t)(equals - argv[i]) : strlen(argv[i]);
        const option_t  *option = find(command, argv[i], length);
        const char      *text   = equals != NULL ? equals + 1 : NULL;
        options_result_t result;

        if (option == NULL) {
            return bad_option(command, argv[i], length, why, why_size);
        }
        if (option->type == OPTION_FLAG) {
            if (text != NULL) {
                snprintf(why, why_size, "%s takes no value", option->name);
                return OPTIONS_BAD;
            }
            *(int *)option->value = 1;
            continue;
        }
        if (text == NULL && i + 1 < argc) {
            text = argv[++i];
        }
        if (text == NULL) {
            snprintf(why, why_size, "%s needs a value: %s %s", option->name, option->name,
                     option->arg);
            return OPTIONS_BAD;
        }
        result = store(option, text, why, why_size);
        if (result != OPTIONS_OK) {
            return result;
        }
    }
    return OPTIONS_OK;
}
