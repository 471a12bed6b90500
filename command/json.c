/* SPDX-License-Identifier: BSD-3-Clause
 * command/json.c - see json.h.
 */
#include "config.h"

#include <stdio.h>

#include <thinwire/version.h>

#include "command/file.h"
#include "command/json.h"
#include "command/machine.h"

json_t *tw_json_begin(const char *program, int argc, char **argv)
{
    return json_pack("{s:s, s:o, s:o}", "version", tw_version(), "command",
                     tw_machine_command(program, argc, argv), "machine", tw_machine_json());
}

void tw_json_add(json_t **root, json_t *part)
{
    if (json_object_update(*root, part) != 0) { /* NULL, or no memory */
        json_decref(*root);
        *root = NULL;
    }
    json_decref(part);
}

int tw_json_end(json_t *root, const char *path, tw_problem_t *problem)
{
    tw_file_t file;
    int       status = -1;

    if (root == NULL) {
        return tw_problem_set(problem, "--json %s: a result does not fit JSON", path);
    }
    if (tw_file_begin(&file, "--json", path, problem) == 0) {
        if (json_dumpf(root, file.stream, JSON_INDENT(2) | JSON_REAL_PRECISION(9)) == 0 ||
            ferror(file.stream)) {
            fputc('\n', file.stream);
            status = tw_file_end(&file, "--json", problem); /* which says why it failed */
        } else {
            tw_file_drop(&file);
            tw_problem_set(problem, "--json %s: a result does not fit JSON", path);
        }
    }
    json_decref(root);
    return status;
}
