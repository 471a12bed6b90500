/* SPDX-License-Identifier: BSD-3-Clause
 * train/options_check.c - parsing the values of options, and rejecting invalid combinations.
 */
#include "config.h"

#include <stdio.h>
#include <string.h>

#include "runtime/base/beside.h"
#include "runtime/base/text.h"
#include "thinwire/comm.h"
#include "thinwire/weights.h"
#include "train/changes.h"
#include "train/input/transforms.h"
#include "train/model/network.h"
#include "train/options.h"

enum { TW_LOADER_THREADS_MAX = 256, TW_DEVICES_MAX = 1024 };

/* Sets *rate_p where the option was given. */
static int parse_rate(const char *text, double *rate_p, tw_problem_t *problem)
{
    if (text == NULL ||
        (tw_text_number(text, rate_p) && *rate_p >= TW_RATE_LEAST && *rate_p <= TW_RATE_MOST)) {
        return 0;
    }
    return tw_problem_set(problem, "--lr '%.40s': accepted: a number, %g to %g", text,
                          TW_RATE_LEAST, TW_RATE_MOST);
}

/* "0.03" or "3%". */
static bool parse_fraction(const char *text, double *value)
{
    const size_t length  = strlen(text);
    const bool   percent = length > 0 && text[length - 1] == '%';
    char         number[40];
    double       x;

    if (length >= sizeof(number)) {
        return false;
    }
    snprintf(number, length + 1 - percent, "%s", text);
    if (!tw_text_number(number, &x)) {
        return false;
    }
    x = percent ? x / 100.0 : x;
    if (!(x >= 0.0 && x <= 1.0)) {
        return false;
    }
    *value = x;
    return true;
}

/* "error<=0.03" or "top5<=3%". */
static int parse_until(tw_train_options_t *o, tw_problem_t *problem)
{
    static const char *const names[] = {"error<=", "top5<="};
    const char              *text    = o->until_text;

    for (int five = 0; text != NULL && five < 2; five++) {
        const size_t length = strlen(names[five]);

        if (strncmp(text, names[five], length) == 0 && parse_fraction(text + length, &o->until)) {
            o->until_five = five;
            return 0;
        }
    }
    return text == NULL ? 0
                        : tw_problem_set(problem,
                                         "--until '%.40s': accepted: error<=X or top5<=X, X from 0 "
                                         "to 1 as in 0.03, or in percent as in 3%%",
                                         text);
}

/* One of the words, which end with NULL. */
static int check_word(const char *option, const char *value, const char *const *words,
                      const char *accepted, tw_problem_t *problem)
{
    for (; *words != NULL; words++) {
        if (strcmp(value, *words) == 0) {
            return 0;
        }
    }
    return tw_problem_set(problem, "%s '%s': accepted are %s", option, value, accepted);
}

/* What is written later would replace what was written before. */
static int check_files(const tw_train_options_t *o, tw_problem_t *problem)
{
    enum { FILES = 8 };
    const struct {
        const char *option, *path;
    } file[FILES] = {{"--checkpoint", o->checkpoint},
                     {"--json", o->json},
                     {"--trace", o->trace},
                     {"--record", o->record},
                     {"--quantiles", o->quantiles},
                     {"--export", o->export_to},
                     {"--show-images", o->show_images},
                     {"--import", o->import_from}};

    for (int i = 0; i < FILES; i++) {
        for (int j = i + 1; j < FILES; j++) {
            if (file[i].path != NULL && file[j].path != NULL &&
                tw_file_same(file[i].path, file[j].path)) {
                return tw_problem_set(problem, "%s and %s are the same file, %s", file[i].option,
                                      file[j].option, file[i].path);
            }
        }
    }
    return 0;
}

/* Weights are tested, whatever else the checkpoint holds. */
static int check_evaluation(tw_train_options_t *o, tw_problem_t *problem)
{
    o->allowed = TW_CHANGES_ALL;
    if (!o->resume && o->import_from == NULL) {
        return tw_problem_set(problem, "--evaluate-only tests the weights of a file: add "
                                       "--checkpoint FILE --resume, or --import FILE");
    }
    if (o->no_train || o->show_images != NULL || o->trace != NULL || o->record != NULL ||
        o->profile || o->until_text != NULL || o->steps != 0 || o->eval_every != 0 ||
        o->awp_calibrate) {
        return tw_problem_set(problem, "--evaluate-only trains nothing: not with --no-train, "
                                       "--show-images, --trace, --record, --profile, --until, "
                                       "--steps, --eval-every or --awp-calibrate");
    }
    if (o->checkpoint != NULL && !o->resume) {
        return tw_problem_set(problem, "--evaluate-only writes no --checkpoint: add --resume to "
                                       "test the one that is there");
    }
    if (o->allow_text != NULL) {
        return tw_problem_set(problem, "--evaluate-only permits every change: not with "
                                       "--allow-change");
    }
    return 0;
}

static int check_resume(tw_train_options_t *o, tw_problem_t *problem)
{
    o->allowed = 0;
    if (o->resume && o->checkpoint == NULL) {
        return tw_problem_set(problem, "--resume needs --checkpoint FILE to resume from");
    }
    if (o->resume && o->import_from != NULL) {
        return tw_problem_set(problem, "--resume and --import both have the weights to begin with");
    }
    if ((o->no_train || o->show_images != NULL) &&
        (o->import_from != NULL || o->export_to != NULL)) {
        return tw_problem_set(problem, "--import and --export are about weights: not with "
                                       "--no-train or --show-images");
    }
    if (o->evaluate_only) {
        return check_evaluation(o, problem);
    }
    if (o->allow_text == NULL) {
        return 0;
    }
    return o->resume ? tw_changes_parse(o->allow_text, &o->allowed, problem)
                     : tw_problem_set(problem, "--allow-change says what may differ from a "
                                               "checkpoint: it goes only with --resume");
}

/* A monitoring run sees every step, and ends by itself. */
static int check_calibration(const tw_train_options_t *o, tw_problem_t *problem)
{
    if (!o->awp_calibrate) {
        return 0;
    }
    if (o->resume) {
        return tw_problem_set(problem,
                              "--awp-calibrate watches a run from its first step: not with "
                              "--resume");
    }
    if (o->until_text != NULL) {
        return tw_problem_set(problem, "--awp-calibrate stops when the test error drops: not with "
                                       "--until");
    }
    if (o->steps != 0 && o->eval_every == 0) {
        return tw_problem_set(problem, "--awp-calibrate needs tests, and --steps has none: add "
                                       "--eval-every N");
    }
    return 0;
}

/* What a job can say of a step. */
static int check_record(const tw_train_options_t *o, tw_problem_t *problem)
{
    if (o->record != NULL && (o->bn_group != 0 || o->no_train)) {
        return tw_problem_set(problem, "--record is of steps of all ranks: not with --bn-group or "
                                       "--no-train");
    }
    return 0;
}

/* A search by that name: "auto", "auto:8". */
static int parse_search(tw_train_options_t *o, const char *name)
{
    const size_t length = strlen(name);
    const char  *most   = o->loader_text + length;

    return strncmp(o->loader_text, name, length) == 0 &&
           (*most == '\0' ||
            (*most == ':' && tw_text_whole(most + 1, 1, TW_LOADER_THREADS_MAX, &o->loader_most)));
}

/* "auto", "auto:8", "all", "all:8", "3". */
static int parse_loader(tw_train_options_t *o, tw_problem_t *problem)
{
    uint64_t n = 0;

    o->loader_threads = o->transfer_index = -1;
    o->loader_all                         = parse_search(o, "all");
    if (!o->loader_all && !parse_search(o, "auto")) {
        if (!tw_text_whole(o->loader_text, 0, TW_LOADER_THREADS_MAX, &n)) {
            return tw_problem_set(problem,
                                  "--loader-threads '%.40s': accepted are 0 to %d, auto, "
                                  "auto:MOST, all and all:MOST",
                                  o->loader_text, TW_LOADER_THREADS_MAX);
        }
        o->loader_threads = (int64_t)n;
    }
    if (strcmp(o->transfer_text, "auto") != 0) {
        if (!tw_text_whole(o->transfer_text, 0, TW_TRANSFORMS_MAX, &n)) {
            return tw_problem_set(problem,
                                  "--transfer-index '%.40s': accepted are 0 to %d and auto",
                                  o->transfer_text, TW_TRANSFORMS_MAX);
        }
        o->transfer_index = (int64_t)n;
    }
    return 0;
}

/* "cpu", "auto", "1". */
static int parse_device(tw_train_options_t *o, tw_problem_t *problem)
{
    uint64_t n = 0;

    o->device = TW_BIND_NONE;
    if (strcmp(o->device_text, "auto") == 0) {
        o->device = TW_BIND_AUTO;
    } else if (tw_text_whole(o->device_text, 0, TW_DEVICES_MAX - 1, &n)) {
        o->device = (int)n;
    } else if (strcmp(o->device_text, "cpu") != 0) {
        return tw_problem_set(problem, "--device '%.40s': accepted are cpu, auto and 0 to %d",
                              o->device_text, TW_DEVICES_MAX - 1);
    }
    if (o->device == TW_BIND_NONE && (o->tf32 || o->fast)) {
        return tw_problem_set(problem, "--tf32 and --fast are about a device: add --device auto or "
                                       "its number");
    }
    if (o->device != TW_BIND_NONE && (o->no_train || o->show_images != NULL)) {
        return tw_problem_set(problem, "--device computes a network: not with --no-train or "
                                       "--show-images");
    }
    return 0;
}

int tw_train_options_check(tw_train_options_t *o, tw_problem_t *problem)
{
    static const char *const scales[]  = {"none", "linear", "sqrt", "sqrt-approximate", NULL};
    static const char *const modes[]   = {"local", "global", "adaptive", NULL};
    static const char *const updates[] = {"replicated", "root", "sharded", NULL};
    static const char *const bad[]     = {"fail", "skip", NULL};

    if (parse_rate(o->rate_text, &o->rate, problem) != 0 || parse_until(o, problem) != 0 ||
        scheme_parse(&o->division, o->scheme, strlen(o->scheme), problem) != 0 ||
        check_word("--lr-scale", o->lr_scale, scales, "none, linear, sqrt and sqrt-approximate",
                   problem) != 0 ||
        check_word("--update", o->update, updates, "replicated, root and sharded", problem) != 0 ||
        check_word("--bn", o->bn, modes, "local, global and adaptive", problem) != 0 ||
        check_word("--bad-images", o->bad_images, bad, "fail and skip", problem) != 0 ||
        parse_loader(o, problem) != 0 || parse_device(o, problem) != 0) {
        return -1;
    }
    o->owners = strcmp(o->update, "root") == 0      ? TW_WEIGHTS_ROOT
                : strcmp(o->update, "sharded") == 0 ? TW_WEIGHTS_SHARDED
                                                    : 0;
    if (check_record(o, problem) != 0) {
        return -1;
    }
    if (check_resume(o, problem) != 0) {
        return -1;
    }
    if (o->steps != 0 && o->eval_every == 0 && (o->checkpoint != NULL || o->until >= 0.0)) {
        return tw_problem_set(problem, "--steps measures, without tests: --checkpoint and --until "
                                       "go with it only beside --eval-every N");
    }
    if (o->quantiles != NULL && (o->steps == 0 || o->eval_every != 0)) {
        return tw_problem_set(problem, "--quantiles is of the last step: it goes only with --steps "
                                       "N, without --eval-every");
    }
    if (o->no_train &&
        (o->checkpoint != NULL || o->until_text != NULL || o->trace != NULL || o->profile ||
         o->awp_calibrate || o->eval_every != 0 || o->quantiles != NULL)) {
        return tw_problem_set(problem, "--no-train only loads images: not with --checkpoint, "
                                       "--until, --eval-every, --trace, --profile, --quantiles or "
                                       "--awp-calibrate");
    }
    if (o->no_overlap && o->division.kind != SCHEME_DATA) {
        return tw_problem_set(problem, "--no-overlap: what split layers need travels beside "
                                       "computation; only with --scheme data");
    }
    if (o->recompute && strcmp(o->storage, "fp32") != 0) {
        return tw_problem_set(problem, "--recompute keeps no outputs that --storage could shorten: "
                                       "name one of them");
    }
    if (o->update_period != 0 && o->division.kind == SCHEME_DATA) {
        return tw_problem_set(problem,
                              "--update-period needs split layers: --scheme a, b, c or group=G");
    }
    return check_calibration(o, problem) == 0 ? check_files(o, problem) : -1;
}
