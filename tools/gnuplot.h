/* SPDX-License-Identifier: BSD-3-Clause
 * tools/gnuplot.h - drawings by gnuplot, which must be installed.
 */
#ifndef TOOLS_GNUPLOT_H
#define TOOLS_GNUPLOT_H

#include <stdio.h>

#include "tools/specs.h"

/* Before the work: is there a gnuplot, and can the path (NULL: nothing will be drawn) be written?
 * @return 0, or -1 and rank 0 has said why. */
int gnuplot_begin(const job_t *job, const char *path);

/* The colour of codec `which` of a list: its own, as in all pictures (tools/palette.h), or,
 * where an earlier one of the list has that, one that no other has. */
const char *gnuplot_colour(const specs_t *specs, size_t which);

/* Draw a script, which has no terminal's output set, as the file, and close it; NULL is a failure.
 * @return 0, or -1 and rank 0 has said why. */
int gnuplot_draw(const job_t *job, const char *path, FILE *script);

#endif /* TOOLS_GNUPLOT_H */
