/* SPDX-License-Identifier: BSD-3-Clause
 * tools/scale/plot.c - three panels for each network: time of a step, efficiency and exposed share,
 * by ranks, a line for each codec and variant: a colour for each codec, a dash for each variant.
 */
#include "config.h"

#include <math.h>
#include <stdio.h>

#include "tools/gnuplot.h"
#include "tools/scale/study.h"

enum { PANELS = 3, WIDE = 420, HIGH = 320, KEY = 16, DASHES = 5 };

/* What is drawn: a line for each variant and codec. */
static size_t lines(const study_t *study)
{
    return study->variants * study->specs.count;
}

static const step_time_t *line(const study_t *study, size_t n, size_t r, size_t w)
{
    return study_time(study, n, r, w / study->specs.count, w % study->specs.count);
}

static void print_data(FILE *script, const study_t *study)
{
    for (size_t n = 0; n < study->networks; n++) {
        for (size_t w = 0; w < lines(study); w++) {
            fprintf(script, "$d%zu_%zu << E\n", n, w);
            for (size_t r = 0; r < study->sizes; r++) {
                const int          ranks = study->ranks[r];
                const step_time_t *time  = line(study, n, r, w);

                fprintf(script, "%d %g %g %g\n", ranks,
                        fmax(1e3 * time->seconds, 1e-6), /* the axis has no 0 */
                        100.0 * study_speedup(study, ranks, time) / ranks,
                        time->seconds > 0.0 ? 100.0 * time->exposed / time->seconds : 0.0);
            }
            fprintf(script, "E\n");
        }
    }
}

static void print_panels(FILE *script, const study_t *study)
{
    static const char *const titles[PANELS] = {"time of a step, ms", "efficiency, %",
                                               "exposed communication, % of a step"};

    /* Below every panel, so that it hides no line and all are of one size. */
    const size_t high = HIGH + KEY * lines(study);

    fprintf(script,
            "set terminal svg size %d,%zu font 'sans,11' noenhanced background 'white'\n"
            "set multiplot layout %zu,%d\nset grid\nset logscale x 2\nset xlabel 'ranks'\n"
            "set key below\n",
            PANELS * WIDE, study->networks * high, study->networks, PANELS);
    for (size_t n = 0; n < study->networks; n++) {
        for (int k = 0; k < PANELS; k++) {
            fprintf(script,
                    "set title '%s'\nset ylabel '%s'\n%s logscale y\nset yrange [%s]\nplot ",
                    study->network[n].name, titles[k], k == 0 ? "set" : "unset",
                    k == 0 ? "*:*" : "0:100");
            for (size_t w = 0; w < lines(study); w++) {
                const size_t v = w / study->specs.count, s = w % study->specs.count;
                char         way[200];

                study_way(study, v, s, way, sizeof(way));
                fprintf(
                    script,
                    "%s$d%zu_%zu using 1:%d with linespoints lw 2 dt %zu lc rgb '%s' pt %zu ps 0.5 "
                    "title '%s'",
                    w > 0 ? ", " : "", n, w, 2 + k, v % DASHES + 1,
                    gnuplot_colour(&study->specs, s), 7 + v / DASHES, way);
            }
            fprintf(script, "\n");
        }
    }
    fprintf(script, "unset multiplot\n");
}

int study_plot(const study_t *study, const char *path)
{
    FILE *script = tmpfile();

    if (script != NULL) {
        print_data(script, study);
        print_panels(script, study);
    }
    return gnuplot_draw(study->job, path, script);
}
