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

#include "tools/gnuplot.h"
#include "tools/program.h"
#include "tools/report.h"

extern char **environ;

int gnuplot_begin(const job_t *job, const char *path)
{
    char gnuplot[4096];

    if (path != NULL && program_find("gnuplot", gnuplot, sizeof(gnuplot)) != 0) {
        job_complain(job, "--plot: there is no gnuplot in PATH (Debian, Ubuntu: gnuplot-nox)");
        return 0;
    }
    return report_try(job, "--plot", path);
}

/* The spare ones stand last. */
static const struct {
    const char *codec, *colour;
} palette[] = {
    {"fp32", "#1f5fa8"},      {"bitpack:3", "#a98fd0"}, {"bitpack:2", "#7b3f9e"},
    {"bitpack:1", "#4a148c"}, {"bf16", "#8c564b"},      {"fp16", "#c49c94"},
    {"tree8", "#c8641e"},     {"int8", "#17becf"},      {"static8", "#e0b000"},
    {"mantissa8", "#d65db1"}, {"onebit", "#2e8540"},    {"", "#888888"},
    {"", "#444444"},          {"", "#f08080"},          {"", "#d62728"},
};

enum { COLOURS = sizeof(palette) / sizeof(palette[0]) };

/* Options beyond those of the palette leave a codec its colour. */
static size_t own_colour(const char *spec)
{
    size_t c = 0;

    while (c < COLOURS - 1) {
        const size_t length = strlen(palette[c].codec);

        if (length > 0 && strncmp(spec, palette[c].codec, length) == 0 &&
            strchr(":,", spec[length]) != NULL) {
            break;
        }
        c++;
    }
    return c;
}

const char *gnuplot_colour(const specs_t *specs, size_t which)
{
    int    used[COLOURS] = {0};
    size_t colour        = 0;

    for (size_t s = 0; s <= which; s++) {
        colour = own_colour(specs->text[s]);
        for (size_t c = COLOURS; used[colour] && c-- > 0;) {
            colour = c;
        }
        used[colour] = 1;
    }
    return palette[colour].colour;
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

int gnuplot_draw(const job_t *job, const char *path, FILE *script)
{
    FILE *drawing = tmpfile();
    int   well    = drawing != NULL && script != NULL && fflush(script) == 0 &&
               fseek(script, 0, SEEK_SET) == 0 && run_gnuplot(script, drawing);

    if (!well) {
        job_complain(job, "--plot %s: gnuplot failed", path);
    } else {
        const int error = copy_to(path, drawing);

        if (error != 0) {
            job_complain(job, "--plot %s: cannot be written: %s", path, strerror(error));
            well = 0;
        }
    }
    if (drawing != NULL) {
        fclose(drawing);
    }
    if (script != NULL) {
        fclose(script);
    }
    return well;
}
