/* SPDX-License-Identifier: BSD-3-Clause
 * command/options.h - options of a command: one table gives the parser and the --help text.
 */
#ifndef COMMAND_OPTIONS_H
#define COMMAND_OPTIONS_H

#include <stddef.h>
#include <stdint.h>

typedef enum option_type {
    OPTION_FLAG,  /* int, set to 1                                    */
    OPTION_TEXT,  /* const char *, into argv                          */
    OPTION_SIZE,  /* size_t, bytes of float32: a multiple of 4, > 0   */
    OPTION_BYTES, /* uint64_t, bytes from least to most               */
    OPTION_COUNT, /* int, from least to most                          */
    OPTION_WHOLE, /* uint64_t, the same                               */
    OPTION_SHARE  /* double, from 0, below 1                          */
} option_type_t;

typedef struct option {
    const char   *name; /* "--codec"                     */
    const char   *arg;  /* "LIST"; NULL for a flag       */
    const char   *help; /* may hold newlines             */
    option_type_t type;
    void         *value;
    uint64_t      least, most;
} option_t;

typedef struct command {
    const char     *usage;    /* "thinwire bench codec [OPTION...]"        */
    const char     *about;    /* what it does, in a few lines              */
    const char     *epilogue; /* examples, or ""                           */
    const option_t *options;  /* name NULL at the end; --help is added     */
    const char *
        *operand; /* [operands] words without a dash go there, in order; others are unknown */
    int  operands;
} command_t;

typedef enum options_result { OPTIONS_OK, OPTIONS_HELP, OPTIONS_BAD } options_result_t;

/* Read argv[1..]. On OPTIONS_BAD `why` holds one line that says what was wrong and what is
 * accepted. */
options_result_t options_parse(const command_t *command, int argc, char **argv, char *why,
                               size_t why_size);

void options_help(const command_t *command);

/* The name in names (NULL at the end) that is nearest to text, or NULL if none is near. */
const char *options_nearest(const char *text, const char *const *names);

#endif /* COMMAND_OPTIONS_H */
