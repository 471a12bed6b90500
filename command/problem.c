/* SPDX-License-Identifier: BSD-3-Clause
 * command/problem.c - see problem.h.
 */
#include "config.h"

#include <stdarg.h>
#include <stdio.h>

#include "command/problem.h"

/* A line that quotes a file stays one, and moves no cursor. */
static void make_printable(char *text)
{
    for (; *text != '\0'; text++) {
        if ((unsigned char)*text < ' ' || *text == 127) {
            *text = ' ';
        }
    }
}

static void set_problem(tw_problem_t *problem, int machine, const char *format, va_list args)
{
    if (!problem->set) {
        problem->set     = 1;
        problem->machine = machine;
        vsnprintf(problem->text, sizeof(problem->text), format, args);
        make_printable(problem->text);
    }
}

int tw_problem_set(tw_problem_t *problem, const char *format, ...)
{
    va_list args;

    va_start(args, format);
    set_problem(problem, 0, format, args);
    va_end(args);
    return -1;
}

int tw_problem_machine(tw_problem_t *problem, const char *format, ...)
{
    va_list args;

    va_start(args, format);
    set_problem(problem, 1, format, args);
    va_end(args);
    return -1;
}
