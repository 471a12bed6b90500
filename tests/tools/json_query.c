/* SPDX-License-Identifier: BSD-3-Clause
 * tests/tools/json_query.c - json_query FILE PATH...: prints the values at paths such as
 * rows.0.codec, one per line; "rows.#" is the length of an array. Fails if FILE is not one JSON
 * object, has a duplicate key, or a path leads nowhere.
 */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <jansson.h>

static json_t *step(json_t *value, const char *word)
{
    char *end;

    if (json_is_array(value)) {
        const unsigned long index = strtoul(word, &end, 10);

        return *end == '\0' ? json_array_get(value, index) : NULL;
    }
    return json_object_get(value, word);
}

static int print(const json_t *value)
{
    if (json_is_string(value)) {
        return puts(json_string_value(value)) >= 0;
    }
    if (json_is_number(value)) {
        return printf("%.17g\n", json_number_value(value)) > 0;
    }
    if (json_is_boolean(value)) {
        return puts(json_is_true(value) ? "true" : "false") >= 0;
    }
    return puts(json_is_null(value) ? "null" : json_is_array(value) ? "array" : "object") >= 0;
}

static int query(json_t *value, char *path)
{
    for (char *word = strtok(path, "."); word != NULL; word = strtok(NULL, ".")) {
        if (strcmp(word, "#") == 0 && json_is_array(value)) {
            return printf("%zu\n", json_array_size(value)) > 0;
        }
        value = step(value, word);
        if (value == NULL) {
            return 0;
        }
    }
    return print(value);
}

int main(int argc, char **argv)
{
    json_error_t error;
    json_t      *root = argc > 1 ? json_load_file(argv[1], JSON_REJECT_DUPLICATES, &error) : NULL;
    int          well = json_is_object(root);

    if (root == NULL && argc > 1) {
        fprintf(stderr, "%s:%d: %s\n", argv[1], error.line, error.text);
    }
    for (int i = 2; i < argc && well; i++) {
        char path[256];

        snprintf(path, sizeof(path), "%s", argv[i]);
        well = query(root, path);
        if (!well) {
            fprintf(stderr, "%s: no %s\n", argv[1], argv[i]);
        }
    }
    json_decref(root);
    return well ? 0 : 1;
}
