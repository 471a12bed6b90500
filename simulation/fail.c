/* SPDX-License-Identifier: BSD-3-Clause
 * simulation/fail.c - the end of a simulation that cannot go on.
 */
#include "config.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "simulation/world.h"

void world_fail(const char *format, ...)
{
    va_list values;

    va_start(values, format);
    fprintf(stderr, "thinwire-player: ");
    vfprintf(stderr, format, values);
    fprintf(stderr, "\n");
    va_end(values);
    fflush(NULL);
    _Exit(EXIT_FAILURE);
}
