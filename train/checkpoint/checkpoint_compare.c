/* SPDX-License-Identifier: BSD-3-Clause
 * train/checkpoint/checkpoint_compare.c - may this run go on from a checkpoint? All that decides
 * what comes next is the same, but for the number of ranks and for what --allow-change names.
 */
#include "config.h"

#include <inttypes.h>
#include <stdarg.h>
#include <string.h>

#include "train/checkpoint/checkpoint_inside.h"

typedef struct tw_comparison {
    unsigned refused;    /* differences that are not allowed */
    char     first[480]; /* the first of them                */
} tw_comparison_t;

/* A difference, of which the line is written unless one has been. */
__attribute__((format(printf, 4, 5))) static void
differs(tw_comparison_t *c, unsigned allowed, tw_change_t change, const char *format, ...)
{
    va_list list;

    if (allowed & 1u << change) {
        return;
    }
    if (c->refused == 0) {
        va_start(list, format);
        vsnprintf(c->first, sizeof(c->first), format, list);
        va_end(list);
    }
    c->refused |= 1u << change;
}

static void compare_text(tw_comparison_t *c, unsigned allowed, tw_change_t change, const char *what,
                         const char *file, const char *run)
{
    if (strcmp(file, run) != 0) {
        differs(c, allowed, change, "is of %s %.200s, this run of %.200s", what, file, run);
    }
}

static void compare_count(tw_comparison_t *c, unsigned allowed, tw_change_t change,
                          const char *what, uint64_t file, uint64_t run)
{
    if (file != run) {
        differs(c, allowed, change, "is of %s %" PRIu64 ", this run of %" PRIu64, what, file, run);
    }
}

static void compare_number(tw_comparison_t *c, unsigned allowed, const char *what, double file,
                           double run)
{
    if (memcmp(&file, &run, sizeof(run)) != 0) {
        differs(c, allowed, TW_CHANGE_RATE, "is of %s %g, this run of %g", what, file, run);
    }
}

/* Codecs of what both send; a scheme that splits layers brings those of activations. */
static void compare_codecs(tw_comparison_t *c, unsigned allowed, const tw_checkpoint_header_t *file,
                           const tw_checkpoint_header_t *run)
{
    char a[sizeof(file->codec) + sizeof(file->split) + 8], b[sizeof(a)];

    if (!tw_checkpoint_same_split(file, run)) {
        compare_text(c, allowed, TW_CHANGE_CODEC, "codec of gradients", file->codec, run->codec);
    } else {
        snprintf(a, sizeof(a), "%s%s%s", file->split[0] != '\0' ? "grad=" : "", file->codec,
                 file->split);
        snprintf(b, sizeof(b), "%s%s%s", run->split[0] != '\0' ? "grad=" : "", run->codec,
                 run->split);
        compare_text(c, allowed, TW_CHANGE_CODEC, "codec", a, b);
    }
    compare_text(c, allowed, TW_CHANGE_CODEC, "weights that travel in", file->weights,
                 run->weights);
}

static void compare_rates(tw_comparison_t *c, unsigned allowed, const tw_checkpoint_header_t *file,
                          const tw_checkpoint_header_t *run)
{
    compare_text(c, allowed, TW_CHANGE_RATE, "scaling of rates", file->scale, run->scale);
    compare_text(c, allowed, TW_CHANGE_RATE, "schedule", file->schedule, run->schedule);
    compare_text(c, allowed, TW_CHANGE_RATE, "dropout schedule", file->dropout_schedule,
                 run->dropout_schedule);
    compare_number(c, allowed, "learning rate", file->rate, run->rate);
    compare_number(c, allowed, "momentum", file->momentum, run->momentum);
    compare_number(c, allowed, "decay", file->decay, run->decay);
}

/* What nothing allows: another network. */
static int same_network(const char *path, const tw_checkpoint_header_t *file,
                        const tw_checkpoint_header_t *run, tw_problem_t *problem)
{
    if (strcmp(file->model, run->model) != 0) {
        return tw_problem_set(problem, "--checkpoint %s: is of model %s, this run of %s", path,
                              file->model, run->model);
    }
    if (file->network_hash != run->network_hash) {
        return tw_problem_set(problem, "--checkpoint %s: is of another text of the model", path);
    }
    if (file->shapes != run->shapes) {
        return tw_problem_set(problem,
                              "--checkpoint %s: is of other data, whose images or classes give "
                              "weights of other shapes",
                              path);
    }
    return 0;
}

/* What files before `int8` was its one name call int:8,block=N, without scale=2k. */
static void rename_int8(char *text)
{
    static const char before[] = "int:8,block=";

    while ((text = strstr(text, before)) != NULL) {
        char *end = text + sizeof(before) - 1;

        end += strspn(end, "0123456789");
        if (strncmp(end, ",scale", 6) != 0) {
            memcpy(text, "int8:", 5);
            memmove(text + 5, text + 6, strlen(text + 6) + 1);
        }
        text++;
    }
}

static void end_texts(tw_checkpoint_header_t *file)
{
    file->model[sizeof(file->model) - 1]                       = '\0';
    file->codec[sizeof(file->codec) - 1]                       = '\0';
    file->split[sizeof(file->split) - 1]                       = '\0';
    file->weights[sizeof(file->weights) - 1]                   = '\0';
    file->scheme[sizeof(file->scheme) - 1]                     = '\0';
    file->scale[sizeof(file->scale) - 1]                       = '\0';
    file->statistics[sizeof(file->statistics) - 1]             = '\0';
    file->schedule[sizeof(file->schedule) - 1]                 = '\0';
    file->dropout_schedule[sizeof(file->dropout_schedule) - 1] = '\0';
    rename_int8(file->codec);
    rename_int8(file->split);
    rename_int8(file->weights);
}

/* The scheme comes before the codec, whose classes follow from it. */
int tw_checkpoint_compare(const char *path, unsigned allowed, tw_checkpoint_header_t *file,
                          const tw_checkpoint_header_t *run, tw_problem_t *problem)
{
    tw_comparison_t c = {.refused = 0};
    char            names[120];

    end_texts(file);
    if (same_network(path, file, run, problem) != 0) {
        return -1;
    }
    compare_text(&c, allowed, TW_CHANGE_SCHEME, "scheme", file->scheme, run->scheme);
    compare_codecs(&c, allowed, file, run);
    compare_text(&c, allowed, TW_CHANGE_BN,
                 "batch statistics (mode, group, most batch, tolerance, patience)",
                 file->statistics, run->statistics);
    if (file->data_hash != run->data_hash) {
        differs(&c, allowed, TW_CHANGE_DATA, "is of other data");
    }
    compare_count(&c, allowed, TW_CHANGE_SEED, "seed", file->seed, run->seed);
    compare_count(&c, allowed, TW_CHANGE_BATCH, "batch", file->batch, run->batch);
    if (tw_checkpoint_same_split(file, run)) {
        compare_count(&c, allowed, TW_CHANGE_PERIOD, "update period", file->update_period,
                      run->update_period);
    }
    compare_rates(&c, allowed, file, run);
    if (c.refused == 0) {
        return 0;
    }
    tw_changes_text(allowed | c.refused, names, sizeof(names));
    return tw_problem_set(problem, "--checkpoint %s: %s; --allow-change %s permits it", path,
                          c.first, names);
}

/* ---- what follows from it ------------------------------------------------------------------- */

int tw_checkpoint_same_split(const tw_checkpoint_header_t *a, const tw_checkpoint_header_t *b)
{
    return (a->split[0] != '\0') == (b->split[0] != '\0');
}

/* Gradients of the layers of a block are summed as one. */
static int in_blocks(const tw_checkpoint_header_t *header)
{
    return strstr(header->weights, ",group=block") != NULL;
}

int tw_checkpoint_same_residuals(const tw_checkpoint_header_t *a, const tw_checkpoint_header_t *b)
{
    const int blocks = in_blocks(a) || in_blocks(b);

    return strcmp(a->codec, b->codec) == 0 && tw_checkpoint_same_split(a, b) &&
           (!blocks || strcmp(a->weights, b->weights) == 0);
}

int tw_checkpoint_same_order(const tw_checkpoint_header_t *a, const tw_checkpoint_header_t *b)
{
    return a->batch == b->batch && a->data_hash == b->data_hash;
}
