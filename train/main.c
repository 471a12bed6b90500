/* SPDX-License-Identifier: BSD-3-Clause
 * train/main.c - thinwire-train: training of a network on many ranks, data parallel or hybrid, over
 * thinwire.
 * Exit status: 0 success, 1 error, 2 wrong command line.
 */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <mpi.h>
#ifdef __SANITIZE_ADDRESS__
#include <sanitizer/lsan_interface.h>
#endif

#include <thinwire/thinwire.h>

#include "command/level.h"
#include "train/base/agree.h"
#include "train/base/hash.h"
#include "train/evaluating.h"
#include "train/loading.h"
#include "train/loop.h"
#include "train/model/network.h"
#include "train/advice.h"
#include "train/pack/pack_command.h"
#include "train/report/report.h"

enum { EXIT_USAGE = 2 };

/* Ranks may have been started with different command lines; what must be equal is compared before
 * anything depends on it. */
static int agree_on_options(tw_train_options_t *options, tw_problem_t *problem)
{
    char     text[16384];
    uint64_t word;
    int      rank;
    size_t   index;

    tw_train_options_text(options, text, sizeof(text));
    word = tw_hash(0, text, strlen(text));
    if (tw_agree_words(MPI_COMM_WORLD, &word, 1, &rank, &index) != 0) {
        tw_problem_set(problem, "rank %d was started with other options than rank 0", rank);
    }
    return tw_agree(MPI_COMM_WORLD, problem);
}

/* --no-train and --show-images. */
static int load(const tw_train_options_t *options, tw_context_t *ctx, int argc, char **argv)
{
    tw_problem_t  problem = {0};
    tw_training_t training;
    int           code = EXIT_FAILURE;

    if (tw_training_create_loader(&training, options, ctx, MPI_COMM_WORLD, &problem) == 0 &&
        (options->show_images != NULL ? tw_loading_show(&training, &problem)
                                      : tw_loading_run(&training, argc, argv, &problem)) == 0) {
        code = EXIT_SUCCESS;
    }
    tw_training_destroy(&training);
    return code;
}

static int train(const tw_train_options_t *options, tw_context_t *ctx, int argc, char **argv)
{
    tw_problem_t  problem = {0};
    tw_training_t training;
    int           code = EXIT_FAILURE;

    if (tw_training_create(&training, options, ctx, MPI_COMM_WORLD, &problem) == 0) {
        tw_report_begin(&training);
        if (options->evaluate_only) {
            code = tw_evaluating_run(&training, argc, argv, &problem) == 0 ? EXIT_SUCCESS : code;
        } else if (tw_training_run(&training, &problem) == 0) {
            tw_report_end(&training);
            tw_report_json(&training, argc, argv, &problem);
            if (tw_agree(MPI_COMM_WORLD, &problem) == 0) {
                code = EXIT_SUCCESS;
            }
        }
    }
    tw_training_destroy(&training);
    return code;
}

/* Collective. The library logs a malformed setting, which most often all ranks have: rank 0 tries
 * first, so that it is said once. */
static int make_context(int rank, tw_context_t **ctx_p, tw_problem_t *problem)
{
    if (rank == 0 && tw_context_create(ctx_p) != TW_OK) {
        tw_problem_set(problem, "%s", "");
    }
    if (tw_agree(MPI_COMM_WORLD, problem) != 0) {
        return -1;
    }
    if (rank != 0 && tw_context_create(ctx_p) != TW_OK) {
        tw_problem_set(problem, "%s", "");
    }
    return tw_agree(MPI_COMM_WORLD, problem);
}

/* Collective. */
static int ranks_of_this_node(void)
{
    MPI_Comm node;
    int      ranks;

    MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &node);
    MPI_Comm_size(node, &ranks);
    MPI_Comm_free(&node);
    return ranks;
}

static int describe_network(const tw_network_t *net, const tw_train_options_t *options, int local,
                            tw_problem_t *problem)
{
    tw_network_share_t share = {.batch  = options->batch != 0 ? options->batch : net->batch,
                                .parts  = 1,
                                .owners = options->owners};
    int                ranks;

    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    share.ranks = (size_t)ranks;
    if (options->division.kind != SCHEME_DATA) {
        share.parts = (size_t)scheme_ranks(&options->division, ranks, local, problem);
        if (share.parts == 0) {
            return -1;
        }
    }
    tw_network_describe(net, share.batch, stdout);
    if (options->device != TW_BIND_NONE) {
        tw_network_describe_memory(net, &share, stdout);
    }
    return 0;
}

/* --describe and --show-model, on rank 0. */
static int describe(const tw_train_options_t *options, int rank, tw_problem_t *problem)
{
    const char  *name  = options->describe != NULL ? options->describe : options->show;
    tw_network_t net   = {.layers = 0};
    const int    local = ranks_of_this_node();
    char        *text  = NULL, source[256];

    if (rank == 0 && options->describe != NULL) {
        if (tw_network_load(&net, name, problem) == 0) {
            describe_network(&net, options, local, problem);
        }
        tw_network_destroy(&net);
    } else if (rank == 0 && tw_network_text(name, &text, source, problem) == 0) {
        fputs(text, stdout);
        free(text);
    }
    return tw_agree(MPI_COMM_WORLD, problem) == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}

static int main_run(int argc, char **argv)
{
    tw_train_options_t options;
    tw_problem_t       problem = {0};
    tw_context_t      *ctx     = NULL;
    int                rank, code;

    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    tw_train_options_parse(&options, argc, argv, &problem);
    if (tw_agree(MPI_COMM_WORLD, &problem) != 0) {
        return EXIT_USAGE;
    }
    if (agree_on_options(&options, &problem) != 0) {
        return EXIT_FAILURE;
    }
    if (options.plan != NULL && !options.help && !options.version &&
        tw_advice_take(&options, MPI_COMM_WORLD, &problem) != 0) {
        return EXIT_USAGE;
    }
    if (options.help || options.version) {
        if (rank == 0 && options.help) {
            tw_train_options_help();
        } else if (rank == 0) {
            printf("thinwire-train %s\n", tw_version());
        }
        return EXIT_SUCCESS;
    }
    if (options.describe != NULL || options.show != NULL) {
        return describe(&options, rank, &problem);
    }
    code = EXIT_FAILURE;
    if (make_context(rank, &ctx, &problem) == 0) {
        code = options.no_train || options.show_images != NULL ? load(&options, ctx, argc, argv)
                                                               : train(&options, ctx, argc, argv);
    }
    tw_context_destroy(ctx);
    return code;
}

int main(int argc, char **argv)
{
    int provided, code;

    if (argc > 1 && strcmp(argv[1], "pack") == 0) {
        return tw_pack_command(argc - 1, argv + 1);
    }
    MPI_Init_thread(&argc, &argv, level_wanted(MPI_THREAD_FUNNELED), &provided);
    code = main_run(argc, argv);
#ifdef __SANITIZE_ADDRESS__
    __lsan_do_leak_check(); /* before the MPI library unloads what its stacks point into */
#endif
    MPI_Finalize();
    return code;
}
