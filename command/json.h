/* SPDX-License-Identifier: BSD-3-Clause
 * command/json.h - the JSON object that a command writes.
 */
#ifndef TW_COMMAND_JSON_H
#define TW_COMMAND_JSON_H

#include <jansson.h>

#include "command/problem.h"

/** An object with the keys that all have: version, command, machine. NULL without memory. */
json_t *tw_json_begin(const char *program, int argc, char **argv);

/** Move the keys of a part into it. Where one of the two is NULL, as a text that is not UTF-8 makes
 * it, *root becomes NULL. */
void tw_json_add(json_t **root, json_t *part);

/** Write it to the file of --json, whole or not at all, and release it.
 * @param root  NULL: a result does not fit JSON.
 * @return 0, or -1 with the problem set. */
int tw_json_end(json_t *root, const char *path, tw_problem_t *problem);

#endif /* TW_COMMAND_JSON_H */
