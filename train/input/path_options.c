/* SPDX-License-Identifier: BSD-3-Clause
 * input/path_options.c - see path_options.h.
 */
#include "config.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/base/text.h"
#include "train/input/path_options.h"

/* The option that at begins with, or NULL. */
static tw_path_option_t *path_options_find(const char *at, tw_path_option_t *option, size_t options)
{
    for (size_t k = 0; k < options; k++) {
        if (strncmp(at, option[k].name, strlen(option[k].name)) == 0) {
            return &option[k];
        }
    }
    return NULL;
}

char *tw_path_options(const char *spec, const char *arguments, const char *accepted,
                      tw_path_option_t *option, size_t options, tw_problem_t *problem)
{
    char *path = strdup(arguments);

    if (path == NULL) {
        tw_problem_set(problem, "out of memory");
        return NULL;
    }
    for (char *at = strchr(path, ','); at != NULL; at = strchr(at + 1, ',')) {
        tw_path_option_t *o = path_options_find(at + 1, option, options);

        if (o != NULL) {
            *at     = '\0';
            o->text = at + 1 + strlen(o->name);
            at      = at + strlen(o->name);
        }
    }
    if (*path == '\0') {
        free(path);
        tw_problem_set(problem, "--data %s: accepted is %s", spec, accepted);
        return NULL;
    }
    return path;
}

int tw_path_option_whole(const char *spec, const tw_path_option_t *option, uint64_t least,
                         uint64_t most, uint64_t *value_p, tw_problem_t *problem)
{
    if (option->text != NULL && !tw_text_whole(option->text, least, most, value_p)) {
        return tw_problem_set(
            problem, "--data %s: %s%s: accepted are the whole numbers from %" PRIu64 " to %" PRIu64,
            spec, option->name, option->text, least, most);
    }
    return 0;
}

int tw_path_option_share(const char *spec, const tw_path_option_t *option, double *value_p,
                         tw_problem_t *problem)
{
    double value = *value_p;

    if (option->text != NULL &&
        (!tw_text_number(option->text, &value) || !(value > 0 && value < 1))) {
        return tw_problem_set(problem,
                              "--data %s: %s%s: accepted are numbers between 0 and 1, both "
                              "excluded",
                              spec, option->name, option->text);
    }
    *value_p = value;
    return 0;
}
