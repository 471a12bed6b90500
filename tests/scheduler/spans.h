/* SPDX-License-Identifier: BSD-3-Clause
 * tests/scheduler/spans.h - a trace that was written, read back on rank 0.
 */
#ifndef TW_TESTS_SCHEDULER_SPANS_H
#define TW_TESTS_SCHEDULER_SPANS_H

#include <jansson.h>

#include "tests/mpi/harness.h"

/* Write the traces of all ranks of comm and parse what was written: the document on rank 0 (a
 * failed check if it is no JSON), NULL elsewhere. */
json_t *t_trace_read(tw_comm_t *comm, const tw_trace_t *trace);

typedef struct t_span {
    double begin, end; /* microseconds */
    int    thread;
    int found; /* how many there are of that rank, name and number; begin and end are the first's */
} t_span_t;

/* number -1: spans without a number. */
t_span_t t_span(const json_t *document, int rank, const char *name, int number);

/* The same, with begin and end of the last of them in time. */
t_span_t t_span_last(const json_t *document, int rank, const char *name, int number);

#endif /* TW_TESTS_SCHEDULER_SPANS_H */
