/* SPDX-License-Identifier: BSD-3-Clause
 * train/options.c - one table of options; the parser and --help read it.
 */
#include "config.h"

#include <inttypes.h>
#include <string.h>

#include "command/options.h"
#include "thinwire/codec.h"
#include "thinwire/statistics.h"
#include "train/input/transforms.h"
#include "train/input/sources.h"
#include "train/model/network.h"
#include "train/options.h"

static const char default_model[] = "mlp", default_scheme[] = "data", default_codec[] = "fp32",
                  default_update[] = "replicated";

enum { TW_TRAIN_OPTIONS = 64 };

static command_t tw_train_command(tw_train_options_t *o, option_t list[TW_TRAIN_OPTIONS])
{
    const option_t options[] = {
        {"--model", "MODEL", "network to train: a name below, or a file [mlp]", OPTION_TEXT,
         &o->model, 0, 0},
        {"--data", "SET", "data set, see below [digits]", OPTION_TEXT, &o->data, 0, 0},
        {"--augment", "LIST", "what is done to training images, see below [the model's]",
         OPTION_TEXT, &o->augment, 0, 0},
        {"--augment-test", "LIST", "and to test images [the same, without what is drawn]",
         OPTION_TEXT, &o->augment_test, 0, 0},
        {"--loader-threads", "N", "that prepare images, or auto[:MOST], or all[:MOST] [auto]",
         OPTION_TEXT, &o->loader_text, 0, 0},
        {"--transfer-index", "N", "operations before an image moves to the device [auto]",
         OPTION_TEXT, &o->transfer_text, 0, 0},
        {"--bad-images", "X", "fail, or skip: take the next one of that class [fail]", OPTION_TEXT,
         &o->bad_images, 0, 0},
        {"--no-train", NULL, "prepare the images of an epoch, and nothing else: measure the loader",
         OPTION_FLAG, &o->no_train, 0, 0},
        {"--show-images", "FILE", "write training images as PNG, with labels, and stop",
         OPTION_TEXT, &o->show_images, 0, 0},
        {"--max-pixels", "N", "of an image that is accepted [67108864]", OPTION_WHOLE,
         &o->max_pixels, 1, 4294967296},
        {"--codec", "SPEC", "how gradients and activations travel, see below [fp32]", OPTION_TEXT,
         &o->codec, 0, 0},
        {"--force", NULL, "1 bit for activations or weights all the same", OPTION_FLAG, &o->force,
         0, 0},
        {"--scheme", "X", "data, or dense layers split by a, b, c, group=G, also :split=N [data]",
         OPTION_TEXT, &o->scheme, 0, 0},
        {"--update", "X", "who updates: replicated, root or sharded [replicated]", OPTION_TEXT,
         &o->update, 0, 0},
        {"--update-period", "N", "update split layers after N passes [once per step]", OPTION_WHOLE,
         &o->update_period, 1, 1000000},
        {"--epochs", "N", "passes over the training images [the model's]", OPTION_WHOLE, &o->epochs,
         1, 1000000},
        {"--steps", "N", "stop after N steps, without test [by epochs]", OPTION_WHOLE, &o->steps, 1,
         1000000000},
        {"--eval-every", "N", "test after every N steps, too [after each epoch]", OPTION_WHOLE,
         &o->eval_every, 1, 1000000000},
        {"--batch", "N", "images per step, over all ranks together [the model's]", OPTION_WHOLE,
         &o->batch, 1, 1000000},
        {"--lr", "X", "learning rate [the model's]", OPTION_TEXT, &o->rate_text, 0, 0},
        {"--lr-schedule", "S", "how it falls: thinwire-model(5) [the model's]", OPTION_TEXT,
         &o->schedule, 0, 0},
        {"--dropout-schedule", "S", "the same for the rates of all dropouts [the model's]",
         OPTION_TEXT, &o->dropout_schedule, 0, 0},
        {"--lr-scale", "RULE", "none, linear, sqrt, sqrt-approximate: for another batch [none]",
         OPTION_TEXT, &o->lr_scale, 0, 0},
        {"--momentum", "X", "of SGD [the model's]", OPTION_SHARE, &o->momentum, 0, 0},
        {"--decay", "X", "weight decay [the model's]", OPTION_SHARE, &o->decay, 0, 0},
        {"--bn", "MODE", "batch statistics: local, global, adaptive [local]", OPTION_TEXT, &o->bn,
         0, 0},
        {"--bn-group", "G", "ranks that share global statistics [all]", OPTION_WHOLE, &o->bn_group,
         1, 1000000},
        {"--bn-max-batch", "N", "statistics stay local from this batch on [no limit]", OPTION_WHOLE,
         &o->bn_max_batch, 1, 1000000000},
        {"--bn-tolerance", "X", "adaptive: a gain of accuracy below it counts as none [0.01]",
         OPTION_SHARE, &o->bn_tolerance, 0, 0},
        {"--bn-patience", "N", "adaptive: epochs without gain before the switch [2]", OPTION_WHOLE,
         &o->bn_patience, 1, 1000000},
        {"--bucket", "BYTES", "gradients that travel together, such as 64k [4M]", OPTION_BYTES,
         &o->bucket, 1024, 1073741824},
        {"--seed", "N", "of weights, dropout, crops and the order of images [1]", OPTION_WHOLE,
         &o->seed, 0, INT64_MAX},
        {"--threads", "N", "threads per rank [1]", OPTION_WHOLE, &o->threads, 1, 1024},
        {"--device", "X", "what computes: cpu, auto or the number of a CUDA device [cpu]",
         OPTION_TEXT, &o->device_text, 0, 0},
        {"--tf32", NULL, "let a device round factors to 10 bits (tensor cores)", OPTION_FLAG,
         &o->tf32, 0, 0},
        {"--fast", NULL, "let a device use algorithms whose results differ from run to run",
         OPTION_FLAG, &o->fast, 0, 0},
        {"--recompute", NULL, "keep few outputs of layers, and compute the others again backward",
         OPTION_FLAG, &o->recompute, 0, 0},
        {"--storage", "SPEC", "codec of outputs of layers between forward and backward pass [fp32]",
         OPTION_TEXT, &o->storage, 0, 0},
        {"--until", "error<=X", "stop at a test error of at most X (0.03 or 3%), or top5<=X",
         OPTION_TEXT, &o->until_text, 0, 0},
        {"--awp-calibrate", NULL, "stop when the test error drops, and tell T for weight=awp",
         OPTION_FLAG, &o->awp_calibrate, 0, 0},
        {"--checkpoint", "FILE", "write the state there after each epoch and test", OPTION_TEXT,
         &o->checkpoint, 0, 0},
        {"--resume", NULL, "go on from the checkpoint", OPTION_FLAG, &o->resume, 0, 0},
        {"--allow-change", "LIST", "what may differ from the checkpoint, such as batch,rate",
         OPTION_TEXT, &o->allow_text, 0, 0},
        {"--import", "FILE", "begin with these weights: safetensors", OPTION_TEXT, &o->import_from,
         0, 0},
        {"--export", "FILE", "write the weights there at the end: safetensors", OPTION_TEXT,
         &o->export_to, 0, 0},
        {"--evaluate-only", NULL, "test the weights of --resume or --import, and stop", OPTION_FLAG,
         &o->evaluate_only, 0, 0},
        {"--json", "FILE", "write the results there", OPTION_TEXT, &o->json, 0, 0},
        {"--trace", "FILE", "write what was computed and sent when, for Perfetto", OPTION_TEXT,
         &o->trace, 0, 0},
        {"--record", "FILE", "write what a step computes and sends, for thinwire scale",
         OPTION_TEXT, &o->record, 0, 0},
        {"--quantiles", "FILE", "write the distributions of gradients and activations", OPTION_TEXT,
         &o->quantiles, 0, 0},
        {"--profile", NULL, "print where the time of a step goes", OPTION_FLAG, &o->profile, 0, 0},
        {"--no-overlap", NULL, "exchanges are waited for where they start", OPTION_FLAG,
         &o->no_overlap, 0, 0},
        {"--plan", "FILE", "take model, batch, scheme and codec from thinwire plan --json",
         OPTION_TEXT, &o->plan, 0, 0},
        {"--describe", "MODEL", "print layers, parameters and operations, and stop", OPTION_TEXT,
         &o->describe, 0, 0},
        {"--show-model", "MODEL", "print the model's file, to start one's own from", OPTION_TEXT,
         &o->show, 0, 0},
        {"--version", NULL, "print the version", OPTION_FLAG, &o->version, 0, 0},
        {NULL, NULL, NULL, OPTION_FLAG, NULL, 0, 0}};

    _Static_assert(sizeof(options) <= TW_TRAIN_OPTIONS * sizeof(option_t), "room for all");
    memcpy(list, options, sizeof(options));
    return (command_t){
        .usage    = "mpirun -n P thinwire-train [OPTION...]",
        .about    = "Train a network over P ranks: data parallel, or with its dense layers split.\n"
                    "Defaults stand in brackets. thinwire-train pack --help: a data set as one "
                    "file.",
        .epilogue = "",
        .options  = list};
}

/* An option that the plan has. */
static const char *chosen_of(const tw_train_options_t *o)
{
    return o->model != default_model     ? "--model"
           : o->batch != 0               ? "--batch"
           : o->scheme != default_scheme ? "--scheme"
           : o->update != default_update ? "--update"
           : o->codec != default_codec   ? "--codec"
                                         : NULL;
}

int tw_train_options_parse(tw_train_options_t *options, int argc, char **argv,
                           tw_problem_t *problem)
{
    option_t  list[TW_TRAIN_OPTIONS];
    command_t command;
    char      why[300];

    *options = (tw_train_options_t){.model         = default_model,
                                    .data          = "digits",
                                    .codec         = default_codec,
                                    .storage       = "fp32",
                                    .scheme        = default_scheme,
                                    .update        = default_update,
                                    .lr_scale      = "none",
                                    .bn            = "local",
                                    .bn_tolerance  = TW_ADAPTIVE_TOLERANCE,
                                    .bn_patience   = TW_ADAPTIVE_PATIENCE,
                                    .bad_images    = "fail",
                                    .bucket        = 4194304,
                                    .loader_text   = "auto",
                                    .transfer_text = "auto",
                                    .device_text   = "cpu",
                                    .max_pixels    = 67108864,
                                    .seed          = 1,
                                    .threads       = 1,
                                    .rate          = -1.0,
                                    .momentum      = -1.0,
                                    .decay         = -1.0,
                                    .until         = -1.0};
    command  = tw_train_command(options, list);
    switch (options_parse(&command, argc, argv, why, sizeof(why))) {
    case OPTIONS_OK:
        options->chosen = chosen_of(options);
        return options->plan != NULL ? 0 : tw_train_options_check(options, problem);
    case OPTIONS_HELP:
        options->help = 1;
        return 0;
    default:
        return tw_problem_set(problem, "%s", why);
    }
}

void tw_train_options_help(void)
{
    tw_train_options_t unused;
    option_t           list[TW_TRAIN_OPTIONS];
    const command_t    command = tw_train_command(&unused, list);
    const char        *form, *help;

    options_help(&command);
    fputs("\nmodels:\n ", stdout);
    for (size_t k = 0; tw_network_builtin(k) != NULL; k++) {
        printf(" %s", tw_network_builtin(k));
    }
    fputs("\n  FILE.cfg, or a path: see thinwire-model(5)\n"
          "\ndata sets:\n",
          stdout);
    for (size_t k = 0; tw_source_kind(k) != NULL; k++) {
        printf("  %-38s %s\n", tw_source_kind(k)->form, tw_source_kind(k)->help);
    }
    fputs("\noperations on images, LIST: words with spaces between them\n", stdout);
    for (size_t k = 0; tw_transform_kind(k) != NULL; k++) {
        printf("  %-10s %s: %s\n", tw_transform_kind(k)->name, tw_transform_kind(k)->form,
               tw_transform_kind(k)->help);
    }
    fputs("\ncodecs: SPEC for all, or CLASS=SPEC,... with classes grad (gradients of what every "
          "rank has),\n"
          "act (activations between ranks) and back (their gradients; default: act),\n"
          "weight (weights from their owners, with --update root or sharded; default: fp32)\n"
          "  awp[:T=X][,interval=N][,step=N][,first=N][,group=layer|block][,family=bitpack|int]\n"
          "     [,round][,byte=CODEC][,absolute][,norm=master|packed]   weight only: bits found "
          "while training (S0)\n"
          "  mpi                    a plain MPI_Allreduce of gradients, for comparison\n",
          stdout);
    for (size_t k = 0; tw_codec_describe(k, NULL, &form, &help) == TW_OK; k++) {
        printf("  %-22s %s\n", form, help);
    }
    fputs("\nexit status: 0 success, 1 error, 2 wrong command line\n"
          "example: mpirun -n 4 thinwire-train --data digits --model lenet --scheme c --codec "
          "act=tree8 --epochs 3\n",
          stdout);
}

/* --help, which is not in the table, and all that are, in its order, so that none is forgotten. */
void tw_train_options_text(tw_train_options_t *options, char *text, size_t size)
{
    option_t        list[TW_TRAIN_OPTIONS];
    const command_t command = tw_train_command(options, list);
    size_t          used    = (size_t)snprintf(text, size, "--help %d ", options->help);

    for (const option_t *o = command.options; o->name != NULL && used < size; o++) {
        char        *to   = text + used;
        const size_t room = size - used;
        const char  *word;
        int          n = 0;

        switch (o->type) {
        case OPTION_TEXT:
            word = *(const char **)o->value;
            n    = snprintf(to, room, "%s %s ", o->name, word == NULL ? "-" : word);
            break;
        case OPTION_WHOLE:
        case OPTION_BYTES:
            if (o->value != &options->threads) {
                n = snprintf(to, room, "%s %" PRIu64 " ", o->name, *(uint64_t *)o->value);
            }
            break;
        case OPTION_SHARE:
            n = snprintf(to, room, "%s %a ", o->name, *(double *)o->value);
            break;
        default:
            n = snprintf(to, room, "%s %d ", o->name, *(int *)o->value);
            break;
        }
        used += (size_t)n;
    }
}
