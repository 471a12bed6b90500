/* SPDX-License-Identifier: BSD-3-Clause
 * tools/gnuplot.c - see gnuplot.h.
 */
#include "config.h"

#include <errno.h>
#include <spawn.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "command/file.h"
#include "tools/gnuplot.h"
#include "tools/program.h"
#include "tools/report.h"

extern char **environ;

int gnuplot_begin(const job_t *job, const char *path)
{
    char gnuplot[4096];

    if (path != NULL && program_find("gnuplot", gnuplot, sizeof(gnuplot)) != 0) {
        job_complain(job, "--plot: there is no gnuplot in PATH (Debian, Ubuntu: gnuplot-nox)");
        return -1;
    }
    return report_try(job, "--plot", path);
}

static const char *const palette[] = {
#include "tools/palette.h"
};

enum { COLOURS = sizeof(palette) / sizeof(palette[0]) };

/* The colour of a codec's name; the last where the palette has none for it. */
static size_t own_colour(const char *name)
{
    const char *other;
    size_t      c = 0;

    while (c < COLOURS - 1 && tw_codec_describe(c, &other, NULL, NULL) == TW_OK &&
           strcmp(other, name) != 0) {
        c++;
    }
    return c < tw_codec_count() ? c : COLOURS - 1;
}

const char *gnuplot_colour(const specs_t *specs, size_t which)
{
    int    used[COLOURS] = {0};
    size_t colour        = 0;

    for (size_t s = 0; s <= which; s++) {
        colour = own_colour(specs->traits[s].name);
        for (size_t c = COLOURS; used[colour] && c-- > 0;) {
            colour = c;
        }
        used[colour] = 1;
    }
    return palette[colour];
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
                   WEXITSTATUS(status) == 0
               ? 0
               : -1;
}

int gnuplot_draw(const job_t *job, const char *path, FILE *script)
{
    tw_problem_t problem = {.set = 0};
    tw_file_t    file;
    int          status = tw_file_begin(&file, "--plot", path, &problem);

    if (status == 0 && (script == NULL || fflush(script) != 0 || fseek(script, 0, SEEK_SET) != 0 ||
                        run_gnuplot(script, file.stream) != 0)) {
        tw_file_drop(&file);
        status = tw_problem_set(&problem, "--plot %s: gnuplot failed", path);
    } else if (status == 0) {
        status = tw_file_end(&file, "--plot", &problem);
    }
    if (status != 0) {
        job_complain(job, "%s", problem.text);
    }
    if (script != NULL) {
        fclose(script);
    }
    return status;
}
