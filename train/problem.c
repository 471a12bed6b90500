/* SPDX-License-Identifier: BSD-3-Clause
 * train/problem.c - see problem.h.
 */
#include "config.h"

#include <stdarg.h>
#include <stdio.h>

#include "train/problem.h"

int tw_problem_set(tw_problem_t *problem, const char *format, ...)
{
    va_list args;

    if (!problem->set) {
        problem->set = 1;
        va_start(args, format);
        vsnprintf(problem->text, sizeof(problem->text), format, args);
        va_end(args);
    }
    return -1;
}
