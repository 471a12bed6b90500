/* SPDX-License-Identifier: BSD-3-Clause
 * tools/bench_plot.c - see bench_plot.h. Panels: a row for each operation, a column for the size
 * nearest to 1 MiB and one for the largest. What has no codec stands among the encoders.
 */
#include "config.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tools/bench_plot.h"
#include "tools/gnuplot.h"
#include "tools/table.h"

#define MOST_NAMES 80
#define NAME       48

typedef struct names {
    size_t count;
    char   name[MOST_NAMES][NAME];
} names_t;

/* The name's place, a new one if need be; beyond the last place everything is the last. */
static size_t name_index(names_t *names, const char *name)
{
    for (size_t i = 0; i < names->count; i++) {
        if (strcmp(names->name[i], name) == 0) {
            return i;
        }
    }
    if (names->count == MOST_NAMES) {
        return MOST_NAMES - 1;
    }
    snprintf(names->name[names->count], NAME, "%s", name);
    return names->count++;
}

int plot_begin(plot_t *plot, const job_t *job, const char *path)
{
    *plot = (plot_t){.path = path};
    return gnuplot_begin(job, path);
}

void plot_add(plot_t *plot, const plot_point_t *point)
{
    if (plot->path == NULL) {
        return;
    }
    if (plot->count == plot->room) {
        const size_t  room = plot->room > 0 ? 2 * plot->room : 256;
        plot_point_t *more = realloc(plot->points, room * sizeof(*more));

        if (more == NULL) {
            return; /* a bar less */
        }
        plot->points = more;
        plot->room   = room;
    }
    plot->points[plot->count++] = *point;
}

/* The size nearest to 1 MiB, and the largest. */
static size_t choose_sizes(const plot_t *plot, size_t *sizes)
{
    sizes[0] = plot->points[0].bytes;
    sizes[1] = sizes[0];
    for (size_t i = 0; i < plot->count; i++) {
        const size_t bytes = plot->points[i].bytes;

        if (fabs(log2((double)bytes) - 20) < fabs(log2((double)sizes[0]) - 20)) {
            sizes[0] = bytes;
        }
        sizes[1] = bytes > sizes[1] ? bytes : sizes[1];
    }
    return sizes[0] == sizes[1] ? 1 : 2;
}

static int row_of(kernel_operation_t operation)
{
    return operation >= BENCH_ABSMAX ? (int)BENCH_ENCODE : (int)operation;
}

static int in_panel(const plot_point_t *p, int row, size_t bytes)
{
    return row_of(p->operation) == row && p->bytes == bytes;
}

/* The median of memcpy over a panel, which differs a little from bar to bar. */
static double panel_copy(const plot_t *plot, int row, size_t bytes)
{
    double *all   = malloc(plot->count * sizeof(*all)), result;
    size_t  count = 0;

    for (size_t i = 0; all != NULL && i < plot->count; i++) {
        if (in_panel(&plot->points[i], row, bytes)) {
            all[count++] = plot->points[i].copy;
        }
    }
    result = count > 0 ? measure_median(all, count) : 0;
    free(all);
    return result;
}

/* Lines "x gbps limit" of one series. */
static void print_series(FILE *script, const plot_t *plot, int row, size_t bytes, names_t *codecs,
                         names_t *series, size_t which)
{
    fprintf(script, "$s%zu << E\n", which);
    for (size_t i = 0; i < plot->count; i++) {
        const plot_point_t *p = &plot->points[i];

        if (in_panel(p, row, bytes) && name_index(series, p->series) == which) {
            fprintf(script, "%zu %g %g\n",
                    name_index(codecs, p->codec) * (series->count + 1) + which, p->gbps, p->limit);
        }
    }
    fprintf(script, "E\n");
}

static void print_panel(FILE *script, const plot_t *plot, int row, size_t bytes, names_t *codecs,
                        names_t *series, int with_key)
{
    char size[TABLE_CELL];

    table_size(size, bytes);
    for (size_t s = 0; s < series->count; s++) {
        print_series(script, plot, row, bytes, codecs, series, s);
    }
    fprintf(script, "set title '%s, %s'\nset xtics rotate by -40 (",
            bench_operation_name((kernel_operation_t)row), size);
    for (size_t c = 0; c < codecs->count; c++) {
        fprintf(script, "%s\"%s\" %g", c > 0 ? "," : "", codecs->name[c],
                (double)(c * (series->count + 1)) + ((double)series->count - 1) / 2);
    }
    fprintf(script, ")\nset xrange [-1:%zu]\n%s key\nplot ", codecs->count * (series->count + 1),
            with_key ? "set" : "unset");
    for (size_t s = 0; s < series->count; s++) {
        fprintf(script, "$s%zu using 1:2 with boxes title '%s', ", s, series->name[s]);
    }
    for (size_t s = 0; s < series->count; s++) {
        fprintf(
            script,
            "$s%zu using ($1-0.5):($3>0?$3:NaN):(1):(0) with vectors nohead lc 'black' lw 2 %s, ",
            s, s == 0 ? "title 'read and write loop'" : "notitle");
    }
    fprintf(script, "%g with lines dt 2 lc 'gray40' title 'memcpy'\n",
            panel_copy(plot, row, bytes));
}

static void print_script(FILE *script, const plot_t *plot)
{
    names_t series                 = {0};
    int     rows[BENCH_OPERATIONS] = {0}, row_count = 0, panels = 0;
    size_t  sizes[2], size_count;

    for (size_t i = 0; i < plot->count; i++) {
        name_index(&series, plot->points[i].series);
        row_count += rows[row_of(plot->points[i].operation)]++ == 0;
    }
    size_count = choose_sizes(plot, sizes);
    fprintf(script,
            "set terminal svg size %zu,%d font 'sans,11' noenhanced background 'white'\n"
            "set multiplot layout %d,%zu\nset style fill solid 0.8\nset boxwidth 0.9\n"
            "set yrange [0:*]\nset ylabel 'GB/s of float32'\nset grid ytics\n"
            "set key outside top center horizontal\n",
            size_count * 760, row_count * 340, row_count, size_count);
    for (int row = 0; row < BENCH_OPERATIONS; row++) {
        for (size_t s = 0; s < size_count && rows[row] > 0; s++) {
            names_t codecs = {0};

            for (size_t i = 0; i < plot->count; i++) {
                if (in_panel(&plot->points[i], row, sizes[s])) {
                    name_index(&codecs, plot->points[i].codec);
                }
            }
            print_panel(script, plot, row, sizes[s], &codecs, &series, panels++ == 0);
        }
    }
    fprintf(script, "unset multiplot\n");
}

int plot_end(plot_t *plot, const job_t *job, int well)
{
    int status = 0;

    if (well && plot->path != NULL && plot->count > 0) {
        FILE *script = tmpfile();

        if (script != NULL) {
            print_script(script, plot);
        }
        status = gnuplot_draw(job, plot->path, script);
    }
    free(plot->points);
    return status;
}
