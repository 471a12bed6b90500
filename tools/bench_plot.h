/* SPDX-License-Identifier: BSD-3-Clause
 * tools/bench_plot.h - bars of GB/s per codec, each against the line of what memory allows, by
 * gnuplot.
 */
#ifndef TOOLS_BENCH_PLOT_H
#define TOOLS_BENCH_PLOT_H

#include "tools/bench_kernels.h"

typedef struct plot_point {
    char               codec[48], series[32]; /* "tree8", "avx512, 2 threads" */
    kernel_operation_t operation;
    size_t             bytes;
    double             gbps, limit, copy; /* of float32; limit 0: none    */
} plot_point_t;

typedef struct plot {
    const char   *path; /* NULL: nothing is drawn */
    plot_point_t *points;
    size_t        count, room;
} plot_t;

/* @return 0, or -1 and rank 0 has said why: there is no gnuplot, or the path cannot be written. */
int plot_begin(plot_t *plot, const job_t *job, const char *path);

void plot_add(plot_t *plot, const plot_point_t *point);

/* Draw (if `well`) and release. @return 0, or -1 and rank 0 has said why. */
int plot_end(plot_t *plot, const job_t *job, int well);

#endif /* TOOLS_BENCH_PLOT_H */
