/* SPDX-License-Identifier: BSD-3-Clause
 * command/options.c - parsing, help and suggestions.
 */
#include "config.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "command/options.h"
#include "runtime/base/text.h"

#define NOT_NEAR 3 /* more than two edits apart is no typing error */

static const option_t help_option = {"--help", NULL, "Print this text.", OPTION_FLAG, NULL, 0, 0};

/* Is name nearer than *least_p? */
static int nearer(const char *text, const char *name, size_t *least_p)
{
    const size_t distance = tw_edit_distance(text, name);
    const int    is       = distance < *least_p;

    *least_p = is ? distance : *least_p;
    return is;
}

const char *options_nearest(const char *text, const char *const *names)
{
    const char *nearest = NULL;
    size_t      least   = NOT_NEAR;

    for (size_t i = 0; names[i] != NULL; i++) {
        nearest = nearer(text, names[i], &least) ? names[i] : nearest;
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
    const char *nearest = NULL;
    char        word[33];
    size_t      least = NOT_NEAR;

    snprintf(word, sizeof(word), "%.*s", (int)(length < sizeof(word) ? length : sizeof(word)),
             text);
    for (const option_t *o = command->options; o->name != NULL; o++) {
        nearest = nearer(word, o->name, &least) ? o->name : nearest;
    }
    nearest = nearer(word, help_option.name, &least) ? help_option.name : nearest;
    if (nearest != NULL) {
        snprintf(why, why_size, "unknown option '%s'; did you mean %s?", word, nearest);
    } else {
        snprintf(why, why_size, "%s '%s'; accepted: %s",
                 text[0] == '-' ? "unknown option" : "unexpected argument", word, command->usage);
    }
    return OPTIONS_BAD;
}

static options_result_t store_bytes(const option_t *option, const char *text, char *why,
                                    size_t why_size)
{
    const int floats = option->type == OPTION_SIZE;
    size_t    bytes  = 0;

    if (tw_text_bytes(text, &bytes) &&
        (floats ? bytes > 0 && bytes % 4 == 0 : bytes >= option->least && bytes <= option->most)) {
        if (floats) {
            *(size_t *)option->value = bytes;
        } else {
            *(uint64_t *)option->value = bytes;
        }
        return OPTIONS_OK;
    }
    if (floats) {
        snprintf(why, why_size,
                 "%s '%.40s': not a size; accepted: bytes of float32, a multiple of 4, such as 4, "
                 "64k, 16M, 1G",
                 option->name, text);
    } else {
        snprintf(why, why_size,
                 "%s '%.40s': accepted: bytes, %" PRIu64 " to %" PRIu64 ", such as 4096, 64k, 16M",
                 option->name, text, option->least, option->most);
    }
    return OPTIONS_BAD;
}

static options_result_t store_whole(const option_t *option, const char *text, char *why,
                                    size_t why_size)
{
    uint64_t value;

    if (!tw_text_whole(text, option->least, option->most, &value)) {
        snprintf(why, why_size, "%s '%.40s': accepted: a whole number, %" PRIu64 " to %" PRIu64,
                 option->name, text, option->least, option->most);
        return OPTIONS_BAD;
    }
    if (option->type == OPTION_COUNT) {
        *(int *)option->value = (int)value;
    } else {
        *(uint64_t *)option->value = value;
    }
    return OPTIONS_OK;
}

static options_result_t store_value(const option_t *option, const char *text, char *why,
                                    size_t why_size)
{
    double share;

    switch (option->type) {
    case OPTION_SIZE:
    case OPTION_BYTES:
        return store_bytes(option, text, why, why_size);
    case OPTION_COUNT:
    case OPTION_WHOLE:
        return store_whole(option, text, why, why_size);
    case OPTION_SHARE:
        if (!tw_text_number(text, &share) || share < 0.0 || share >= 1.0) {
            snprintf(why, why_size, "%s '%.40s': accepted: a number from 0, below 1", option->name,
                     text);
            return OPTIONS_BAD;
        }
        *(double *)option->value = share;
        return OPTIONS_OK;
    default:
        break;
    }
    if (*text == '\0') {
        snprintf(why, why_size, "%s needs a %s that is not empty", option->name, option->arg);
        return OPTIONS_BAD;
    }
    *(const char **)option->value = text;
    return OPTIONS_OK;
}

static const option_t *find_option(const command_t *command, const char *text, size_t length)
{
    for (const option_t *o = command->options; o->name != NULL; o++) {
        if (strlen(o->name) == length && strncmp(o->name, text, length) == 0) {
            return o;
        }
    }
    return strlen(help_option.name) == length && strncmp(help_option.name, text, length) == 0
               ? &help_option
               : NULL;
}

options_result_t options_parse(const command_t *command, int argc, char **argv, char *why,
                               size_t why_size)
{
    int operands = 0;

    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], help_option.name) == 0 || strcmp(argv[i], "-h") == 0) {
            return OPTIONS_HELP;
        }
    }
    for (int i = 1; i < argc; i++) {
        const char      *equals = strchr(argv[i], '=');
        const size_t     length = equals != NULL ? (size_t)(equals - argv[i]) : strlen(argv[i]);
        const option_t  *option = find_option(command, argv[i], length);
        const char      *text   = equals != NULL ? equals + 1 : NULL;
        options_result_t result;

        if (argv[i][0] != '-' && operands < command->operands) {
            command->operand[operands++] = argv[i];
            continue;
        }
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
        result = store_value(option, text, why, why_size);
        if (result != OPTIONS_OK) {
            return result;
        }
    }
    return OPTIONS_OK;
}
