/* SPDX-License-Identifier: BSD-3-Clause
 * input/path_options.h - the name of a data set that is a path and options: "DIR,split=0.9,seed=2".
 *
 * Options stand behind the path. It ends where the first of them begins, so it may hold other
 * commas.
 */
#ifndef TW_INPUT_PATH_OPTIONS_H
#define TW_INPUT_PATH_OPTIONS_H

#include <stddef.h>
#include <stdint.h>

#include "command/problem.h"

typedef struct tw_path_option {
    const char *name; /* with its "="                                     */
    const char *text; /* what stood behind it, the last time; else NULL   */
} tw_path_option_t;

/** Take a name apart.
 * @param [in]     accepted  the form of the data set, for the line of the problem.
 * @param [in,out] option    names in, texts out.
 * @return the path, to be freed after the last use of the texts; NULL with the problem set: it is
 *         empty, or there is no memory. */
char *tw_path_options(const char *spec, const char *arguments, const char *accepted,
                      tw_path_option_t *option, size_t options, tw_problem_t *problem);

/** The value of an option that is a whole number; one that was not given leaves it. */
int tw_path_option_whole(const char *spec, const tw_path_option_t *option, uint64_t least,
                         uint64_t most, uint64_t *value_p, tw_problem_t *problem);

/** The same of one between 0 and 1, both excluded. */
int tw_path_option_share(const char *spec, const tw_path_option_t *option, double *value_p,
                         tw_problem_t *problem);

#endif /* TW_INPUT_PATH_OPTIONS_H */
