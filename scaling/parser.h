/* SPDX-License-Identifier: BSD-3-Clause
 * scaling/parser.h - reading a job file: what its parts share.
 */
#ifndef SCALING_PARSER_H
#define SCALING_PARSER_H

#include <libconfig.h>

#include "scaling/workload.h"

/* A wait for what no item before it has started. */
typedef struct early_wait {
    size_t                  exchange;
    const config_setting_t *at;
} early_wait_t;

typedef enum list { LIST_ITEMS, LIST_EXCHANGES, LIST_EARLY, LISTS } list_t;

typedef struct parser {
    workload_t   *work;
    const char   *path;
    size_t        room[LISTS];
    size_t       *slot; /* by a name's hash: 1 + its index, 0 where free; at most half full */
    size_t        slots;
    early_wait_t *early;
    size_t        earlies;
    tw_problem_t *problem;
} parser_t;

/** One line, FILE:LINE: and the text. @return -1. */
__attribute__((format(printf, 3, 4))) int job_wrong(parser_t *p, const config_setting_t *at,
                                                    const char *format, ...);

/* Values; @return 0, or -1 and job_wrong() has been called. */

/** A number, whole or not. */
int job_number(parser_t *p, const config_setting_t *at, double least, double most, double *value);

/** A whole number from 1 on. */
int job_whole(parser_t *p, const config_setting_t *at, double most, double *value);

/** A text of 1 to WORKLOAD_NAME - 1 characters, none of control, with a NUL into as much room. */
int job_word(parser_t *p, const config_setting_t *at, char *text);

int job_flag(parser_t *p, const config_setting_t *at, int *value);

/** Every key of a group is among the words of `known`. */
int job_only(parser_t *p, const config_setting_t *group, const char *known);

/** Read a file and hand its settings to `read`.
 * @return what that returns, or -1 with the problem set: the file cannot be read, or is no
 *         libconfig. */
int parse_file(const char *path, int (*read)(parser_t *p, const config_setting_t *root, void *into),
               void *into, tw_problem_t *problem);

#define COUNT_MOST 1e15 /* of elements */

/* workload_exchanges.c; 0, or -1 and job_wrong() has been called, where nothing else is said. */

/* Room for another element behind n in one of the lists. */
int job_grow(parser_t *p, list_t which, void **list, size_t n, size_t size);
int job_add_item(parser_t *p, const config_setting_t *at, item_t item);

/* Is there an exchange of that name? *index is set only if there is. */
int job_has(const parser_t *p, const char *name, size_t *index);
int job_add_exchange(parser_t *p, const exchange_t *x, size_t *index);

/* Waited for, but not started so far. */
int job_is_early(const exchange_t *x);

/* An item that starts an exchange, or makes it: what is its "start" or "call". */
int job_exchange(parser_t *p, const config_setting_t *group, const config_setting_t *what);

/** The layers of a training, into the workload (training_text.c). @return as above. */
int training_read(parser_t *p, const config_setting_t *group);

#endif /* SCALING_PARSER_H */
