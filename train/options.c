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
#include "train/input/data.h"
#include "train/model/model.h"
#include "train/options.h"

typedef enum tw_option_kind {
    TW_OPTION_TEXT,
    TW_OPTION_COUNT, /* uint64_t, least .. most */
    TW_OPTION_RATE,  /* double, above 0, at most 1 */
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
    {"--model", "NAME", "network to train [mlp]", TW_AT(model), TW_OPTION_TEXT, 0, 0},
    {"--data", "SET", "data set, see below [digits]", TW_AT(data), TW_OPTION_TEXT, 0, 0},
    {"--codec", "SPEC", "how gradients travel, see below [fp32]", TW_AT(codec), TW_OPTION_TEXT, 0,
     0},
    {"--epochs", "N", "passes over the training images [5]", TW_AT(epochs), TW_OPTION_COUNT, 1,
     1000000},
    {"--batch", "N", "images per step, over all ranks together [128]", TW_AT(batch),
     TW_OPTION_COUNT, 1, 1000000},
    {"--lr", "X", "learning rate of RMSProp; times 0.99 after each epoch [0.006]", TW_AT(rate),
     TW_OPTION_RATE, 0, 0},
    {"--seed", "N", "of weights, dropout and the order of images [1]", TW_AT(seed), TW_OPTION_COUNT,
     0, INT64_MAX},
    {"--threads", "N", "threads per rank [1]", TW_AT(threads), TW_OPTION_COUNT, 1, 1024},
    {"--until", "error<=X", "stop when the test error is at most X (0.03 or 3%)", TW_AT(until),
     TW_OPTION_UNTIL, 0, 0},
    {"--checkpoint", "FILE", "write the state there after each epoch", TW_AT(checkpoint),
     TW_OPTION_TEXT, 0, 0},
    {"--resume", NULL, "go on from the checkpoint", TW_AT(resume), TW_OPTION_FLAG, 0, 0},
    {"--json", "FILE", "write the results there", TW_AT(json), TW_OPTION_TEXT, 0, 0},
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

    if (end == value || *end != '\0' || !(rate > 0.0 && rate <= 1.0)) {
        return tw_problem_set(problem, "%s '%s': accepted are numbers above 0, at most 1",
                              option->name, value);
    }
    *rate_p = rate;
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

int tw_train_options_parse(tw_train_options_t *options, int argc, char **argv,
                           tw_problem_t *problem)
{
    *options = (tw_train_options_t){.model   = "mlp",
                                    .data    = "digits",
                                    .codec   = "fp32",
                                    .epochs  = 5,
                                    .batch   = 128,
                                    .rate    = 0.006,
                                    .seed    = 1,
                                    .threads = 1,
                                    .until   = -1.0};
    for (int at = 1; at < argc; at++) {
        if (parse_word(options, argc, argv, &at, problem) != 0) {
            return -1;
        }
    }
    if (options->resume && options->checkpoint == NULL) {
        return tw_problem_set(problem, "--resume needs --checkpoint FILE to resume from");
    }
    return 0;
}

void tw_train_options_help(FILE *out)
{
    const tw_model_t *model;
    const char       *form, *help;

    fputs("usage: mpirun -n P thinwire-train [OPTION]...\n"
          "Train a network data-parallel over P ranks; gradients travel through a codec.\n\n"
          "options [default]:\n",
          out);
    for (int k = 0; k < TW_OPTIONS; k++) {
        const tw_option_t *o = &tw_options[k];

        fprintf(out, "  %-12s %-9s %s\n", o->name, o->argument == NULL ? "" : o->argument, o->help);
    }
    fputs("\nmodels:\n", out);
    for (size_t k = 0; (model = tw_model_at(k)) != NULL; k++) {
        fprintf(out, "  %-22s %s\n", model->name, model->help);
    }
    fputs("\ndata sets:\n"
          "  mnist:DIR              the four IDX files of MNIST, plain or .gz\n"
          "  cifar10:DIR            CIFAR-10, data_batch*.bin and test_batch*.bin, plain or .gz\n"
          "  digits                 embedded generator, 12000 training and 2000 test images\n"
          "  digits:train=N,seed=S  the same with N training and N/6 test images, other strokes\n"
          "  random:HxWxC,CLASSES   noise for speed; also ,n=N training and ,test=N test images\n"
          "\ncodecs:\n"
          "  mpi                    a plain MPI_Allreduce, for comparison\n",
          out);
    for (size_t k = 0; tw_codec_describe(k, NULL, &form, &help) == TW_OK; k++) {
        fprintf(out, "  %-22s %s\n", form, help);
    }
    fputs("\nexit status: 0 success, 1 error, 2 wrong command line, 3 the error of --until was not reached\n"
          "example: mpirun -n 4 thinwire-train --data digits --codec onebit --epochs 3\n",
          out);
}

void tw_train_options_text(const tw_train_options_t *o, char *text, size_t size)
{
    snprintf(text, size,
             "--model %s --data %s --codec %s --epochs %" PRIu64 " --batch %" PRIu64
             " --lr %a --seed %" PRIu64 " --until %a --checkpoint %s --resume %d --json %s --help %d --version %d",
             o->model, o->data, o->codec, o->epochs, o->batch, o->rate, o->seed, o->until,
             o->checkpoint == NULL ? "none" : o->checkpoint, o->resume,
             o->json == NULL ? "none" : o->json, o->help, o->version);
}
