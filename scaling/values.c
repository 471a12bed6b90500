/* SPDX-License-Identifier: BSD-3-Clause
 * scaling/values.c - the values of a job file, see parser.h.
 */
#include "config.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "scaling/job_text.h"
#include "scaling/parser.h"

int job_wrong(parser_t *p, const config_setting_t *at, const char *format, ...)
{
    char    text[400];
    va_list list;

    va_start(list, format);
    vsnprintf(text, sizeof(text), format, list);
    va_end(list);
    return tw_problem_set(p->problem, "%s:%d: %s", p->path,
                          at != NULL ? (int)config_setting_source_line(at) : 1, text);
}

/* A number, whole or not. */
int job_number(parser_t *p, const config_setting_t *at, double least, double most, double *value)
{
    switch (config_setting_type(at)) {
    case CONFIG_TYPE_INT:
    case CONFIG_TYPE_INT64:
        *value = (double)config_setting_get_int64(at);
        break;
    case CONFIG_TYPE_FLOAT:
        *value = config_setting_get_float(at);
        break;
    default:
        *value = NAN;
    }
    if (!(*value >= least && *value <= most)) {
        return job_wrong(p, at, "%s: accepted is a number from %g to %g", config_setting_name(at),
                         least, most);
    }
    return 0;
}

int job_whole(parser_t *p, const config_setting_t *at, double most, double *value)
{
    if (job_number(p, at, 1.0, most, value) != 0) {
        return -1;
    }
    return *value == floor(*value)
               ? 0
               : job_wrong(p, at, "%s: accepted is a whole number", config_setting_name(at));
}

/* A name stays on its line wherever it is printed. */
static int is_printable(const char *text)
{
    while (*text != '\0' && (unsigned char)*text >= ' ' && *text != 127) {
        text++;
    }
    return *text == '\0';
}

int job_word(parser_t *p, const config_setting_t *at, char *text)
{
    const char *value = config_setting_get_string(at);

    if (value == NULL || *value == '\0' || strlen(value) >= WORKLOAD_NAME || !is_printable(value)) {
        return job_wrong(p, at, "%s: accepted is a text of 1 to %d characters, none of control",
                         config_setting_name(at), WORKLOAD_NAME - 1);
    }
    strcpy(text, value);
    return 0;
}

int job_flag(parser_t *p, const config_setting_t *at, int *value)
{
    *value = config_setting_get_bool(at);
    return config_setting_type(at) == CONFIG_TYPE_BOOL
               ? 0
               : job_wrong(p, at, "%s: accepted is true or false", config_setting_name(at));
}

/* Every key of a group is among the words of `known`. */
int job_only(parser_t *p, const config_setting_t *group, const char *known)
{
    for (int i = 0; i < config_setting_length(group); i++) {
        const config_setting_t *one    = config_setting_get_elem(group, (unsigned)i);
        const char             *name   = config_setting_name(one);
        const size_t            length = strlen(name);
        const char             *at     = known;

        while ((at = strstr(at, name)) != NULL &&
               ((at != known && at[-1] != ' ') ||
                (at[length] != ',' && at[length] != ' ' && at[length] != '\0'))) {
            at++;
        }
        if (at == NULL) {
            return job_wrong(p, one, "'%.60s' is no key here; accepted are %s", name, known);
        }
    }
    return 0;
}

int parse_file(const char *path, int (*read)(parser_t *p, const config_setting_t *root, void *into),
               void *into, tw_problem_t *problem)
{
    parser_t p    = {.path = path, .problem = problem};
    char    *text = job_text_read(path, problem);
    config_t config;
    int      status = -1;

    if (text == NULL) {
        return -1;
    }
    config_init(&config);
    if (config_read_string(&config, text) == CONFIG_TRUE) {
        status = read(&p, config_root_setting(&config), into);
    } else {
        tw_problem_set(problem, "%s:%d: %s", path, config_error_line(&config),
                       config_error_text(&config) != NULL ? config_error_text(&config)
                                                          : "it cannot be read");
    }
    config_destroy(&config);
    free(text);
    free(p.slot);
    free(p.early);
    return status;
}
