/* SPDX-License-Identifier: BSD-3-Clause
 * train/options.c - one table of options; the parser and --help read it.
 */
#include "config.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "thinwire/codec.h"
#include "thinwire/statistics.h"
#include "train/input/data.h"
#include "train/model/network.h"
#include "train/options.h"

typedef enum tw_option_kind {
    TW_OPTION_TEXT,
    TW_OPTION_COUNT, /* uint64_t, least .. most */
    TW_OPTION_RATE,  /* double, above 0, at most 1 */
    TW_OPTION_SHARE, /* double, 0 or above, below 1 */
    TW_OPTION_UNTIL,
    TW_OPTION_FLAG
} tw_option_kind_t;

typedef struct tw_option {
    const char      *name, *argument, *help;
    size_t           offset;
    tw_option_kind_t kind;
    uint64_t         least, most;
} tw_option_t;

#define TW_AT(field) offsetof(tw_train_options_t, field)

static const tw_option_t tw_options[] = {
    {"--model", "MODEL", "network to train: a name below, or a file [mlp]", TW_AT(model),
     TW_OPTION_TEXT, 0, 0},
    {"--data", "SET", "data set, see below [digits]", TW_AT(data), TW_OPTION_TEXT, 0, 0},
    {"--codec", "SPEC", "how gradients and activations travel, see below [fp32]", TW_AT(codec),
     TW_OPTION_TEXT, 0, 0},
    {"--force", NULL, "1 bit for activations all the same", TW_AT(force), TW_OPTION_FLAG, 0, 0},
    {"--scheme", "X", "data, or dense layers split by a, b, c or group=G [data]", TW_AT(scheme),
     TW_OPTION_TEXT, 0, 0},
    {"--update-period", "N", "update split layers after N passes [once per step]",
     TW_AT(update_period), TW_OPTION_COUNT, 1, 1000000},
    {"--epochs", "N", "passes over the training images [the model's]", TW_AT(epochs),
     TW_OPTION_COUNT, 1, 1000000},
    {"--steps", "N", "stop after N steps, without test [by epochs]", TW_AT(steps), TW_OPTION_COUNT,
     1, 1000000000},
    {"--batch", "N", "images per step, over all ranks together [the model's]", TW_AT(batch),
     TW_OPTION_COUNT, 1, 1000000},
    {"--lr", "X", "learning rate [the model's]", TW_AT(rate), TW_OPTION_RATE, 0, 0},
    {"--lr-schedule", "S", "how it falls: thinwire-model(5) [the model's]", TW_AT(schedule),
     TW_OPTION_TEXT, 0, 0},
    {"--lr-scale", "RULE", "none, linear, sqrt, sqrt-approximate: for another batch [none]",
     TW_AT(lr_scale), TW_OPTION_TEXT, 0, 0},
    {"--momentum", "X", "of SGD [the model's]", TW_AT(momentum), TW_OPTION_SHARE, 0, 0},
    {"--decay", "X", "weight decay [the model's]", TW_AT(decay), TW_OPTION_SHARE, 0, 0},
    {"--bn", "MODE", "batch statistics: local, global, adaptive [local]", TW_AT(bn), TW_OPTION_TEXT,
     0, 0},
    {"--bn-group", "G", "ranks that share global statistics [all]", TW_AT(bn_group),
     TW_OPTION_COUNT, 1, 1000000},
    {"--bn-max-batch", "N", "statistics stay local from this batch on [no limit]",
     TW_AT(bn_max_batch), TW_OPTION_COUNT, 1, 1000000000},
    {"--bn-tolerance", "X", "adaptive: a gain of accuracy below it counts as none [0.01]",
     TW_AT(bn_tolerance), TW_OPTION_SHARE, 0, 0},
    {"--bn-patience", "N", "adaptive: epochs without gain before the switch [2]",
     TW_AT(bn_patience), TW_OPTION_COUNT, 1, 1000000},
    {"--bucket", "BYTES", "gradients that travel together [4194304]", TW_AT(bucket),
     TW_OPTION_COUNT, 1024, 1073741824},
    {"--seed", "N", "of weights, dropout, crops and the order of images [1]", TW_AT(seed),
     TW_OPTION_COUNT, 0, INT64_MAX},
    {"--threads", "N", "threads per rank [1]", TW_AT(threads), TW_OPTION_COUNT, 1, 1024},
    {"--until", "error<=X", "stop when the test error is at most X (0.03 or 3%)", TW_AT(until),
     TW_OPTION_UNTIL, 0, 0},
    {"--checkpoint", "FILE", "write the state there after each epoch", TW_AT(checkpoint),
     TW_OPTION_TEXT, 0, 0},
    {"--resume", NULL, "go on from the checkpoint", TW_AT(resume), TW_OPTION_FLAG, 0, 0},
    {"--json", "FILE", "write the results there", TW_AT(json), TW_OPTION_TEXT, 0, 0},
    {"--trace", "FILE", "write what was computed and sent when, for Perfetto", TW_AT(trace),
     TW_OPTION_TEXT, 0, 0},
    {"--describe", "MODEL", "print layers, parameters and operations, and stop", TW_AT(describe),
     TW_OPTION_TEXT, 0, 0},
    {"--show-model", "MODEL", "print the model's file, to start one's own from", TW_AT(show),
     TW_OPTION_TEXT, 0, 0},
    {"--help", NULL, "print this", TW_AT(help), TW_OPTION_FLAG, 0, 0},
    {"--version", NULL, "print the version", TW_AT(version), TW_OPTION_FLAG, 0, 0},
};

enum { TW_OPTIONS = sizeof(tw_options) / sizeof(tw_options[0]) };

static int parse_count(const tw_option_t *option, const char *value, uint64_t *count_p,
                       tw_problem_t *problem)
{
    char    *end;
    uint64_t count;

    errno = 0;
    count = strtoull(value, &end, 10);
    if (*value < '0' || *value > '9' || *end != '\0' || errno != 0 || count < option->least ||
        count > option->most) {
        return tw_problem_set(problem,
                              "%s '%s': accepted are whole numbers from %" PRIu64 " to %" PRIu64,
                              option->name, value, option->least, option->most);
    }
    *count_p = count;
    return 0;
}

static int parse_rate(const tw_option_t *option, const char *value, double *rate_p,
                      tw_problem_t *problem)
{
    char  *end;
    double rate = strtod(value, &end);

    if (end == value || *end != '\0' || !(rate >= TW_RATE_LEAST && rate <= TW_RATE_MOST)) {
        return tw_problem_set(problem, "%s '%s': accepted are numbers from %g to %g", option->name,
                              value, TW_RATE_LEAST, TW_RATE_MOST);
    }
    *rate_p = rate;
    return 0;
}

static int parse_share(const tw_option_t *option, const char *value, double *share_p,
                       tw_problem_t *problem)
{
    char  *end;
    double share = strtod(value, &end);

    if (end == value || *end != '\0' || !(share >= 0.0 && share < 1.0)) {
        return tw_problem_set(problem, "%s '%s': accepted are numbers from 0, below 1",
                              option->name, value);
    }
    *share_p = share;
    return 0;
}

/* "error<=0.03" or "error<=3%". */
static int parse_until(const char *value, double *until_p, tw_problem_t *problem)
{
    static const char begin[] = "error<=";
    const char       *number  = value + sizeof(begin) - 1;
    char             *end;
    double            until;

    if (strncmp(value, begin, sizeof(begin) - 1) == 0) {
        until = strtod(number, &end);
        if (end != number && *end == '%' && end[1] == '\0') {
            until /= 100.0;
            end++;
        }
        if (end != number && *end == '\0' && until >= 0.0 && until <= 1.0) {
            *until_p = until;
            return 0;
        }
    }
    return tw_problem_set(problem,
                          "--until '%s': accepted is error<=X with X from 0 to 1, or in "
                          "percent as in error<=3%%",
                          value);
}

static int set_option(tw_train_options_t *options, const tw_option_t *option, const char *value,
                      tw_problem_t *problem)
{
    void *field = (char *)options + option->offset;

    switch (option->kind) {
    case TW_OPTION_TEXT:
        *(const char **)field = value;
        return *value != '\0' ? 0
                              : tw_problem_set(problem, "%s needs a %s that is not empty",
                                               option->name, option->argument);
    case TW_OPTION_COUNT:
        return parse_count(option, value, field, problem);
    case TW_OPTION_RATE:
        return parse_rate(option, value, field, problem);
    case TW_OPTION_SHARE:
        return parse_share(option, value, field, problem);
    case TW_OPTION_UNTIL:
        return parse_until(value, field, problem);
    case TW_OPTION_FLAG:
        *(int *)field = 1;
        return 0;
    }
    return -1;
}

static const tw_option_t *find_option(const char *word, size_t length)
{
    for (int k = 0; k < TW_OPTIONS; k++) {
        if (strlen(tw_options[k].name) == length &&
            strncmp(tw_options[k].name, word, length) == 0) {
            return &tw_options[k];
        }
    }
    return NULL;
}

/* The option at argv[*at_p] and its value: "--batch 100" or "--batch=100". */
static int parse_word(tw_train_options_t *options, int argc, char **argv, int *at_p,
                      tw_problem_t *problem)
{
    const char        *word = argv[*at_p], *value = NULL;
    const size_t       length = strcspn(word, "=");
    const tw_option_t *option = find_option(word, length);

    if (option == NULL) {
        return tw_problem_set(problem, "unknown option '%s'; thinwire-train --help lists all",
                              word);
    }
    if (option->kind == TW_OPTION_FLAG && word[length] == '=') {
        return tw_problem_set(problem, "%s takes no value", option->name);
    }
    if (option->kind != TW_OPTION_FLAG) {
        if (word[length] == '=') {
            value = word + length + 1;
        } else if (*at_p + 1 < argc) {
            value = argv[++*at_p];
        } else {
            return tw_problem_set(problem, "%s needs a value: %s", option->name, option->argument);
        }
    }
    return set_option(options, option, value, problem);
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

static int parse_scheme(tw_train_options_t *options, tw_problem_t *problem)
{
    static const char *const words[] = {"data", "a", "b", "c"};
    const char              *scheme  = options->scheme;
    char                    *end;
    unsigned long            group;

    for (int i = 0; i < 4; i++) {
        if (strcmp(scheme, words[i]) == 0) {
            options->division = (tw_division_t)i;
            return 0;
        }
    }
    if (strncmp(scheme, "group=", 6) == 0 && scheme[6] >= '0' && scheme[6] <= '9') {
        group = strtoul(scheme + 6, &end, 10);
        if (*end == '\0' && group >= 1 && group <= 1000000) {
            options->division = TW_DIVIDE_GROUP;
            options->group    = (int)group;
            return 0;
        }
    }
    return tw_problem_set(problem,
                          "--scheme '%s': accepted are data, a, b, c and group=G, G from 1 to "
                          "1000000",
                          scheme);
}

/* What is written later would replace what was written before. */
static int check_files(const tw_train_options_t *o, tw_problem_t *problem)
{
    const struct {
        const char *option, *path;
    } file[] = {{"--checkpoint", o->checkpoint}, {"--json", o->json}, {"--trace", o->trace}};

    for (int i = 0; i < 3; i++) {
        for (int j = i + 1; j < 3; j++) {
            if (file[i].path != NULL && file[j].path != NULL &&
                strcmp(file[i].path, file[j].path) == 0) {
                return tw_problem_set(problem, "%s and %s are the same file, %s", file[i].option,
                                      file[j].option, file[i].path);
            }
        }
    }
    return 0;
}

static int check_together(tw_train_options_t *o, tw_problem_t *problem)
{
    static const char *const scales[] = {"none", "linear", "sqrt", "sqrt-approximate", NULL};
    static const char *const modes[]  = {"local", "global", "adaptive", NULL};

    if (parse_scheme(o, problem) != 0 ||
        check_word("--lr-scale", o->lr_scale, scales, "none, linear, sqrt and sqrt-approximate",
                   problem) != 0 ||
        check_word("--bn", o->bn, modes, "local, global and adaptive", problem) != 0) {
        return -1;
    }
    if (o->resume && o->checkpoint == NULL) {
        return tw_problem_set(problem, "--resume needs --checkpoint FILE to resume from");
    }
    if (o->steps != 0 && (o->checkpoint != NULL || o->until >= 0.0)) {
        return tw_problem_set(problem,
                              "--steps measures, and does not go with --checkpoint or --until");
    }
    if (o->update_period != 0 && o->division == TW_DIVIDE_DATA) {
        return tw_problem_set(problem,
                              "--update-period needs split layers: --scheme a, b, c or group=G");
    }
    return check_files(o, problem);
}

int tw_train_options_parse(tw_train_options_t *options, int argc, char **argv,
                           tw_problem_t *problem)
{
    *options = (tw_train_options_t){.model        = "mlp",
                                    .data         = "digits",
                                    .codec        = "fp32",
                                    .scheme       = "data",
                                    .lr_scale     = "none",
                                    .bn           = "local",
                                    .bn_tolerance = TW_ADAPTIVE_TOLERANCE,
                                    .bn_patience  = TW_ADAPTIVE_PATIENCE,
                                    .bucket       = 4194304,
                                    .seed         = 1,
                                    .threads      = 1,
                                    .rate         = -1.0,
                                    .momentum     = -1.0,
                                    .decay        = -1.0,
                                    .until        = -1.0};
    for (int at = 1; at < argc; at++) {
        if (parse_word(options, argc, argv, &at, problem) != 0) {
            return -1;
        }
    }
    return check_together(options, problem);
}

void tw_train_options_help(FILE *out)
{
    const char *form, *help;

    fputs("usage: mpirun -n P thinwire-train [OPTION]...\n"
          "Train a network over P ranks: data parallel, or with its dense layers split.\n\n"
          "options [default]:\n",
          out);
    for (int k = 0; k < TW_OPTIONS; k++) {
        const tw_option_t *o = &tw_options[k];

        fprintf(out, "  %-15s %-9s %s\n", o->name, o->argument == NULL ? "" : o->argument, o->help);
    }
    fputs("\nmodels:\n ", out);
    for (size_t k = 0; tw_network_builtin(k) != NULL; k++) {
        fprintf(out, " %s", tw_network_builtin(k));
    }
    fputs("\n  FILE.cfg, or a path: see thinwire-model(5)\n"
          "\ndata sets:\n"
          "  mnist:DIR              the four IDX files of MNIST, plain or .gz\n"
          "  cifar10:DIR            CIFAR-10, data_batch*.bin and test_batch*.bin, plain or .gz\n"
          "  digits                 embedded generator, 12000 training and 2000 test images\n"
          "  digits:train=N,seed=S  the same with N training and N/6 test images, other strokes\n"
          "  random:HxWxC,CLASSES   noise, for speed; also ,n=N,test=N,seed=S\n"
          "\ncodecs: SPEC for all, or CLASS=SPEC,... with classes grad (gradients of what every "
          "rank has),\n"
          "act (activations between ranks) and back (their gradients; default: act)\n"
          "  mpi                    a plain MPI_Allreduce of gradients, for comparison\n",
          out);
    for (size_t k = 0; tw_codec_describe(k, NULL, &form, &help) == TW_OK; k++) {
        fprintf(out, "  %-22s %s\n", form, help);
    }
    fputs("\nexit status: 0 success, 1 error, 2 wrong command line, 3 the error of --until was not "
          "reached\n"
          "example: mpirun -n 4 thinwire-train --data digits --model lenet --scheme c --codec "
          "act=tree8 --epochs 3\n",
          out);
}

/* Every option in the table, in its order, so that none is forgotten. */
void tw_train_options_text(const tw_train_options_t *options, char *text, size_t size)
{
    size_t used = 0;

    for (int k = 0; k < TW_OPTIONS && used < size; k++) {
        const tw_option_t *o     = &tw_options[k];
        const char        *field = (const char *)options + o->offset;
        const char        *word;
        int                n = 0;

        switch (o->kind) {
        case TW_OPTION_TEXT:
            word = *(const char *const *)(const void *)field;
            n    = snprintf(text + used, size - used, "%s %s ", o->name, word == NULL ? "-" : word);
            break;
        case TW_OPTION_COUNT:
            if (o->offset != TW_AT(threads)) {
                n = snprintf(text + used, size - used, "%s %" PRIu64 " ", o->name,
                             *(const uint64_t *)(const void *)field);
            }
            break;
        case TW_OPTION_FLAG:
            n = snprintf(text + used, size - used, "%s %d ", o->name,
                         *(const int *)(const void *)field);
            break;
        case TW_OPTION_RATE:
        case TW_OPTION_SHARE:
        case TW_OPTION_UNTIL:
            n = snprintf(text + used, size - used, "%s %a ", o->name,
                         *(const double *)(const void *)field);
            break;
        }
        used += (size_t)n;
    }
}
