/* SPDX-License-Identifier: BSD-3-Clause
 * interpose/report/python.h - the line of Python that a call comes from.
 *
 * mpi4py calls MPI from one shared object, so that return addresses there say what was called, and
 * not from where. Where the process has a Python interpreter it is asked.
 */
#ifndef TW_INTERPOSE_PYTHON_H
#define TW_INTERPOSE_PYTHON_H

#include <stdbool.h>
#include <stdint.h>

#include "interpose/report/records.h"

/* A line; kept until the process ends. */
typedef struct tw_python_place {
    char     text[sizeof(((tw_record_key_t *)0)->object)]; /* "function at folder/file.py" */
    uint64_t line;
} tw_python_place_t;

/* In MPI_Init: is there an interpreter in this process? */
void tw_python_start(void);

extern bool tw_python_here;

/* The line that the calling thread executes, where `site` is in an extension module of Python and
 * the interpreter can be asked without waiting; else NULL. */
const tw_python_place_t *tw_python_ask(const void *site);

static inline const tw_python_place_t *tw_python_place(const void *site)
{
    return __builtin_expect(tw_python_here, 0) ? tw_python_ask(site) : NULL;
}

#endif /* TW_INTERPOSE_PYTHON_H */
