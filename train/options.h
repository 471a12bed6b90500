/* SPDX-License-Identifier: BSD-3-Clause
 * train/options.h - the command line of thinwire-train.
 */
#ifndef TW_TRAIN_OPTIONS_H
#define TW_TRAIN_OPTIONS_H

#include <stdint.h>
#include <stdio.h>

#include "train/problem.h"

typedef struct tw_train_options {
    const char *model, *data, *codec;
    const char *checkpoint, *json; /* NULL: none */
    uint64_t    epochs, batch, seed, threads;
    double      rate;  /* --lr                                                      */
    double      until; /* stop at this test error, as a fraction; negative: do not  */
    int         resume, help, version;
} tw_train_options_t;

/** Fill options from the command line, defaults included; strings point into argv.
 * @return 0, or -1 with the problem set. */
int tw_train_options_parse(tw_train_options_t *options, int argc, char **argv,
                           tw_problem_t *problem);

/** What --help prints. */
void tw_train_options_help(FILE *out);

/** The options that must be equal on all ranks, as one line, cut at size - 1 characters. */
void tw_train_options_text(const tw_train_options_t *options, char *text, size_t size);

#endif /* TW_TRAIN_OPTIONS_H */
