/* SPDX-License-Identifier: BSD-3-Clause
 * tests/scheduler/spans.c - through a file and a JSON parser.
 */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "tests/scheduler/spans.h"

json_t *t_trace_read(tw_comm_t *comm, const tw_trace_t *trace)
{
    FILE        *file = t_rank == 0 ? tmpfile() : NULL;
    json_t      *document;
    json_error_t error;

    T_OK(tw_trace_write(comm, trace, file));
    if (file == NULL) {
        return NULL;
    }
    rewind(file);
    document = json_loadf(file, JSON_REJECT_DUPLICATES, &error);
    T_CHECK(document != NULL, "line %d: %s", error.line, error.text);
    fclose(file);
    return document;
}

static t_span_t find(const json_t *document, int rank, const char *name, int number, int last)
{
    t_span_t result = {0};
    size_t   index;
    json_t  *event;

    json_array_foreach(json_object_get(document, "traceEvents"), index, event)
    {
        const char *phase = json_string_value(json_object_get(event, "ph"));
        json_t     *given = json_object_get(json_object_get(event, "args"), "number");

        if (phase == NULL || (strcmp(phase, "X") != 0 && strcmp(phase, "i") != 0) ||
            json_integer_value(json_object_get(event, "pid")) != rank ||
            strcmp(json_string_value(json_object_get(event, "name")), name) != 0 ||
            (given != NULL ? json_integer_value(given) : -1) != number) {
            continue;
        }
        if (result.found++ == 0 ||
            (last && json_number_value(json_object_get(event, "ts")) > result.begin)) {
            result.begin  = json_number_value(json_object_get(event, "ts"));
            result.end    = result.begin + json_number_value(json_object_get(event, "dur"));
            result.thread = (int)json_integer_value(json_object_get(event, "tid"));
        }
    }
    return result;
}

t_span_t t_span(const json_t *document, int rank, const char *name, int number)
{
    return find(document, rank, name, number, 0);
}

t_span_t t_span_last(const json_t *document, int rank, const char *name, int number)
{
    return find(document, rank, name, number, 1);
}
