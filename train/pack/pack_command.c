/* SPDX-License-Identifier: BSD-3-Clause
 * train/pack/pack_command.c - the command line of thinwire-train pack.
 */
#include "config.h"

#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <thinwire/thinwire.h>

#include "command/file.h"
#include "command/json.h"
#include "command/options.h"
#include "train/compute/kernels.h"
#include "train/pack/pack.h"
#include "train/pack/pack_command.h"

enum { USAGE = 2, OPTIONS = 8 };

typedef struct tw_pack_options {
    const char *bad_images, *orientation, *json;
    uint64_t    resize, quality, threads;
} tw_pack_options_t;

static volatile sig_atomic_t stopped;

static void on_signal(int signal)
{
    (void)signal;
    stopped = 1;
}

static int cancelled(void *arg)
{
    (void)arg;
    return stopped;
}

static void progress(void *arg, uint64_t done, uint64_t total, double seconds)
{
    (void)arg;
    if (isatty(STDERR_FILENO)) {
        fprintf(stderr, "\r%" PRIu64 " of %" PRIu64 " images, %.0f images/s\033[K%s", done, total,
                seconds > 0.0 ? (double)done / seconds : 0.0, done == total ? "\r\033[K" : "");
    }
}

static void skipped(void *arg, const char *line)
{
    (void)arg;
    fprintf(stderr, "thinwire-train: left out: %s\n", line);
}

static command_t command_of(tw_pack_options_t *o, option_t list[OPTIONS], const char *path[2])
{
    const option_t options[] = {
        {"--resize", "N", "bring the shorter side to N [as it is]", OPTION_WHOLE, &o->resize, 1,
         TW_PACK_RESIZE_MAX},
        {"--quality", "Q", "store JPEGs of quality Q [files as they are, resized ones as pixels]",
         OPTION_WHOLE, &o->quality, 1, 100},
        {"--orientation", "X", "of what is resized: exif, or stored: as files have it [exif]",
         OPTION_TEXT, &o->orientation, 0, 0},
        {"--bad-images", "X", "fail, or skip: leave them out [fail]", OPTION_TEXT, &o->bad_images,
         0, 0},
        {"--threads", "N", "that decode, resize and encode [1]", OPTION_WHOLE, &o->threads, 1,
         1024},
        {"--json", "FILE", "write the results there", OPTION_TEXT, &o->json, 0, 0},
        {NULL, NULL, NULL, OPTION_FLAG, NULL, 0, 0}};

    _Static_assert(sizeof(options) <= OPTIONS * sizeof(option_t), "room for all");
    memcpy(list, options, sizeof(options));
    return (command_t){
        .usage = "thinwire-train pack SOURCE OUT.lmdb [OPTION...]",
        .about = "Write all images of a data set into an LMDB database, OUT.lmdb/data.mdb, which "
                 "--data lmdb:OUT.lmdb reads.\nSOURCE is as --data takes it. A run that was "
                 "interrupted goes on where it stopped.",
        .epilogue = "\nexample: thinwire-train pack folder:/data/flowers flowers.lmdb --resize 256 "
                    "--quality 90\n",
        .options  = list,
        .operand  = path,
        .operands = 2};
}

/* Of the images that this run went through. */
static double speed(const tw_pack_result_t *r)
{
    return r->seconds > 0.0 ? (double)(r->images + r->skipped - r->continued) / r->seconds : 0.0;
}

static int write_json(const char *path, const tw_pack_result_t *r, int argc, char **argv,
                      tw_problem_t *problem)
{
    json_t *root = tw_json_begin("thinwire-train", argc + 1, argv - 1);

    tw_json_add(&root, json_pack("{s:I, s:I, s:I, s:I, s:f, s:f}", "images", (json_int_t)r->images,
                                 "bytes", (json_int_t)r->bytes, "skipped", (json_int_t)r->skipped,
                                 "continued", (json_int_t)r->continued, "seconds", r->seconds,
                                 "images_per_second", speed(r)));
    return tw_json_end(root, path, problem);
}

static int pack_command_parse(tw_pack_options_t *o, int argc, char **argv, const char *path[2],
                              tw_problem_t *problem)
{
    option_t        list[OPTIONS];
    const command_t command  = command_of(o, list, path);
    char            why[300] = "";

    switch (options_parse(&command, argc, argv, why, sizeof(why))) {
    case OPTIONS_HELP:
        options_help(&command);
        path[0] = NULL;
        break;
    case OPTIONS_OK:
        if (path[1] == NULL) {
            tw_problem_set(problem, "pack needs a SOURCE, as --data takes it, and OUT.lmdb");
        } else if (strcmp(o->bad_images, "fail") != 0 && strcmp(o->bad_images, "skip") != 0) {
            tw_problem_set(problem, "--bad-images '%.40s': accepted are fail and skip",
                           o->bad_images);
        } else if (o->orientation != NULL && strcmp(o->orientation, "exif") != 0 &&
                   strcmp(o->orientation, "stored") != 0) {
            tw_problem_set(problem, "--orientation '%.40s': accepted are exif and stored",
                           o->orientation);
        } else if (o->orientation != NULL && o->resize == 0 && o->quality == 0) {
            tw_problem_set(problem,
                           "--orientation is of images that are decoded: add --resize N or "
                           "--quality Q");
        }
        break;
    default:
        tw_problem_set(problem, "%s", why);
        break;
    }
    return problem->set ? -1 : 0;
}

static int pack(const tw_pack_options_t *o, const char *const path[2], tw_pack_result_t *result,
                tw_problem_t *problem)
{
    tw_context_t               *ctx;
    tw_pack_config_t            config = {.source  = path[0],
                                          .out     = path[1],
                                          .resize  = o->resize,
                                          .quality = (unsigned)o->quality,
                                          .stored =
                                              o->orientation != NULL && strcmp(o->orientation, "stored") == 0,
                                          .skip      = strcmp(o->bad_images, "skip") == 0,
                                          .threads   = (int)o->threads,
                                          .cancelled = cancelled,
                                          .progress  = progress,
                                          .skipped   = skipped};
    const tw_compute_kernels_t *kernels;

    if (tw_context_create(&ctx) != TW_OK) {
        return tw_problem_set(problem, "%s", "");
    }
    kernels       = tw_kernels_for(tw_cpu_level(ctx));
    config.pixels = TW_KERNELS_OF(kernels, tw_pixels);
    tw_context_destroy(ctx);
    signal(SIGINT, on_signal);
    signal(SIGTERM, on_signal);
    return tw_pack(&config, result, problem);
}

int tw_pack_command(int argc, char **argv)
{
    tw_pack_options_t o       = {.bad_images = "fail", .threads = 1};
    const char       *path[2] = {NULL, NULL};
    tw_problem_t      problem = {0};
    tw_pack_result_t  r       = {0};
    int               code    = USAGE;

    if (pack_command_parse(&o, argc, argv, path, &problem) == 0) {
        if (path[0] == NULL) {
            return EXIT_SUCCESS;
        }
        code = EXIT_FAILURE;
        if ((o.json == NULL || tw_file_try("--json", o.json, &problem) == 0) &&
            pack(&o, path, &r, &problem) == 0) {
            printf("%" PRIu64 " images, %.1f MB, in %s", r.images, (double)r.bytes / 1e6, path[1]);
            if (r.continued > 0) {
                printf(", %" PRIu64 " of them by earlier runs", r.continued);
            }
            printf("; %.2f s, %.0f images/s", r.seconds, speed(&r));
            printf(r.skipped > 0 ? "; %" PRIu64 " left out\n" : "\n", r.skipped);
            if (o.json == NULL || write_json(o.json, &r, argc, argv, &problem) == 0) {
                return EXIT_SUCCESS;
            }
        }
    }
    if (problem.text[0] != '\0') {
        fprintf(stderr, "thinwire-train: %s\n", problem.text);
    }
    return code;
}
