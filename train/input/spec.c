/* SPDX-License-Identifier: BSD-3-Clause
 * input/spec.c - the numbers in the name of a data set.
 */
#include "config.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "train/input/readers.h"

/* The option that at names, or NULL. */
static const tw_data_option_t *spec_find(const char *at, const tw_data_option_t *option,
                                         size_t options)
{
    for (size_t k = 0; k < options; k++) {
        if (strncmp(at, option[k].name, strlen(option[k].name)) == 0) {
            return &option[k];
        }
    }
    return NULL;
}

int tw_data_options(const char *spec, const char *at, const char *accepted,
                    const tw_data_option_t *option, size_t options, tw_problem_t *problem)
{
    while (*at != '\0') {
        const tw_data_option_t *o      = spec_find(at, option, options);
        const char             *number = o == NULL ? at : at + strlen(o->name);
        char                   *end;
        uint64_t                value;

        if (o == NULL || *number < '0' || *number > '9') {
            return tw_problem_set(problem, "--data %s: accepted is %s", spec, accepted);
        }
        errno = 0;
        value = strtoull(number, &end, 10);
        if (errno != 0 || (*end != '\0' && (*end != ',' || end[1] == '\0'))) {
            return tw_problem_set(problem, "--data %s: '%s' is not a number; accepted is %s", spec,
                                  number, accepted);
        }
        if (value < o->low || value > o->high) {
            return tw_problem_set(problem,
                                  "--data %s: %s%" PRIu64 ": accepted is %" PRIu64 " to %" PRIu64,
                                  spec, o->name, value, o->low, o->high);
        }
        *o->value_p = value;
        at          = *end == ',' ? end + 1 : end;
    }
    return 0;
}
