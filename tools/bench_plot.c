/* SPDX-License-Identifier: BSD-3-Clause
 * tools/bench_plot.c - see bench_plot.h. Panels: a row for each operation, a column for the size
 * nearest to 1 MiB and one for the largest. What has no codec stands among the encoders.
 */
#include "config.h"

#include <errno.h>
#include <math.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tools/bench_plot.h"
#include "tools/program.h"
#include "tools/table.h"

#define MOST_NAMES 80
#define NAME       48

extern char **environ;

typedef struct names {
    size_t count;
    char   name[MOST_NAMES][NAME];
} names_t;

/* The name's place, a new one if need be; beyond the last place everything is the last. */
static size_t place_of(names_t *names, const char *name)
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
    char        gnuplot[4096];
    struct stat st;
    FILE       *file;
    int         is_new;

    *plot = (plot_t){.path = path};
    if (path == NULL) {
        return 1;
    }
    if (program_find("gnuplot", gnuplot, sizeof(gnuplot)) != 0) {
        job_complain(job, "--plot: there is no gnuplot in PATH (Debian, Ubuntu: gnuplot-nox)");
        return 0;
    }
    is_new = stat(path, &st) != 0;
    file   = fopen(path, "a");
    if (file == NULL) {
        job_complain(job, "--plot %s: cannot be written: %s", path, strerror(errno));
        return 0;
    }
    fclose(file);
    if (is_new) {
        unlink(path);
    }
    return 1;
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

        if (in_panel(p, row, bytes) && place_of(series, p->series) == which) {
            fprintf(script, "%zu %g %g\n", place_of(codecs, p->codec) * (series->count + 1) + which,
                    p->gbps, p->limit);
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

static int print_script(FILE *script, const plot_t *plot)
{
    names_t series                 = {0};
    int     rows[BENCH_OPERATIONS] = {0}, row_count = 0, panels = 0;
    size_t  sizes[2], size_count;

    for (size_t i = 0; i < plot->count; i++) {
        place_of(&series, plot->points[i].series);
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
                    place_of(&codecs, plot->points[i].codec);
                }
            }
            print_panel(script, plot, row, sizes[s], &codecs, &series, panels++ == 0);
        }
    }
    fprintf(script, "unset multiplot\n");
    return fflush(script) == 0 && fseek(script, 0, SEEK_SET) == 0;
}

/* gnuplot from the script into `drawing`. */
static int run_gnuplot(FILE *script, FILE *drawing)
{
    char *const                argv[] = {(char *)(uintptr_t) "gnuplot", NULL};
    posix_spawn_file_actions_t actions;
    pid_t                      child;
    int                        status = 0, error;

    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, fileno(script), STDIN_FILENO);
    posix_spawn_file_actions_adddup2(&actions, fileno(drawing), STDOUT_FILENO);
    error = posix_spawnp(&child, "gnuplot", &actions, NULL, argv, environ);
    posix_spawn_file_actions_destroy(&actions);
    return error == 0 && waitpid(child, &status, 0) == child && WIFEXITED(status) &&
           WEXITSTATUS(status) == 0;
}

/* 0, or errno. */
static int copy_to(const char *path, FILE *drawing)
{
    FILE  *file = fopen(path, "w");
    char   part[4096];
    size_t got;
    int    error = 0;

    if (file == NULL) {
        return errno;
    }
    rewind(drawing);
    while ((got = fread(part, 1, sizeof(part), drawing)) > 0) {
        if (fwrite(part, 1, got, file) != got) {
            error = errno;
            break;
        }
    }
    return fclose(file) != 0 || error != 0 ? (error != 0 ? error : errno) : 0;
}

static int draw(const plot_t *plot, const job_t *job)
{
    FILE *script = tmpfile(), *drawing = tmpfile();
    int   well = script != NULL && drawing != NULL && print_script(script, plot) &&
               run_gnuplot(script, drawing);

    if (!well) {
        job_complain(job, "--plot %s: gnuplot failed", plot->path);
    } else {
        const int error = copy_to(plot->path, drawing);

        if (error != 0) {
            job_complain(job, "--plot %s: cannot be written: %s", plot->path, strerror(error));
            well = 0;
        }
    }
    if (script != NULL) {
        fclose(script);
    }
    if (drawing != NULL) {
        fclose(drawing);
    }
    return well;
}

int plot_end(plot_t *plot, const job_t *job, int well)
{
    if (well && plot->path != NULL && plot->count > 0) {
        well = draw(plot, job);
    }
    free(plot->points);
    return well;
}
