/* SPDX-License-Identifier: BSD-3-Clause
 * train/feed/tuning.c - see tuning.h.
 */
#include "config.h"

#include <inttypes.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "command/file.h"
#include "command/machine.h"
#include "command/watch.h"
#include "train/base/cache.h"
#include "train/base/hash.h"
#include "train/feed/tuning.h"

#define TW_TUNING_IMAGES 128  /* images of a state, at least: S2, slide 18        */
#define TW_TUNING_DRIFT  0.10 /* steps so much longer or shorter: a new search    */

struct tw_tuning {
    tw_tuning_config_t config;
    int                rank;
    int                automatic, searching, kept;
    tw_tuner_state_t   state;
    size_t             searches, steps;
    tw_tuner_t        *tuner;      /* rank 0 */
    char               path[4096]; /* rank 0; "": the environment names no folder */
    char               key[1400];
};

/* ---- the most threads ---------------------------------------------------------------------- */

/* Cores of the ranks of this node together, for each of them, that its computing threads leave. */
static int spare_cores(const tw_tuning_config_t *config)
{
    cpu_set_t binding;
    MPI_Comm  node;
    int       cores, ranks, least;

    CPU_ZERO(&binding);
    if (sched_getaffinity(0, sizeof(binding), &binding) != 0) {
        CPU_SET(0, &binding);
    }
    MPI_Comm_split_type(config->comm, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &node);
    MPI_Comm_size(node, &ranks);
    MPI_Allreduce(MPI_IN_PLACE, &binding, (int)sizeof(binding), MPI_BYTE, MPI_BOR, node);
    MPI_Comm_free(&node);
    cores = CPU_COUNT(&binding) / ranks - (int)config->options->threads;
    cores = cores < 1 ? 1 : cores;
    MPI_Allreduce(&cores, &least, 1, MPI_INT, MPI_MIN, config->comm);
    return least;
}

/* ---- what an earlier run found ------------------------------------------------------------- */

/* Everything that the best state depends on. */
static void make_key(tw_tuning_t *tuning, int threads_most)
{
    const tw_tuning_config_t *c = &tuning->config;
    char                      cpu[256];
    int                       ranks;
    uint64_t                  hash;

    MPI_Comm_size(c->comm, &ranks);
    tw_machine_cpu(cpu, sizeof(cpu));
    snprintf(tuning->key, sizeof(tuning->key),
             "%s, %s%s, %d ranks, %d computing threads, %d loader threads (%s), index %s, %zu "
             "images, model "
             "%016" PRIx64 ", %s%s: %.500s",
             cpu, c->isa, c->on_device ? ", device" : "", ranks, (int)c->options->threads,
             threads_most, c->options->loader_text, c->options->transfer_text, c->rows, c->model,
             c->options->no_train ? "loader alone, " : "", tw_feed_source(c->feed)->ops->name,
             tw_feed_operations(c->feed, TW_SUBSET_TRAIN));
    hash = tw_hash(0, tuning->key, strlen(tuning->key));
    tw_cache_path(tuning->path, sizeof(tuning->path), hash, "loader");
}

/* A file that is not ours, or of other things, is as none. */
static void read_kept(tw_tuning_t *tuning)
{
    FILE            *file = tuning->path[0] != '\0' ? fopen(tuning->path, "r") : NULL;
    char             key[sizeof(tuning->key) + 2];
    tw_tuner_state_t state;
    double           seconds;

    if (file == NULL) {
        return;
    }
    if (fscanf(file, "thinwire loader 1 threads %d index %d seconds %lf\n", &state.threads,
               &state.index, &seconds) == 3 &&
        fgets(key, sizeof(key), file) != NULL) {
        key[strcspn(key, "\n")] = '\0';
        tuning->kept =
            strcmp(key, tuning->key) == 0 && tw_tuner_adopt(tuning->tuner, state, seconds) == 0;
    }
    fclose(file);
}

/* A run does not fail for a file that only saves time. */
static void keep(const tw_tuning_t *tuning)
{
    const tw_tuner_state_t best    = tw_tuner_next(tuning->tuner);
    tw_problem_t           ignored = {0};
    tw_file_t              file;
    const tw_tuner_row_t  *row;
    double                 seconds = 0.0;
    size_t                 count;

    if (tuning->path[0] == '\0') {
        return;
    }
    row = tw_tuner_rows(tuning->tuner, &count);
    for (size_t i = 0; i < count; i++) {
        if (row[i].state.threads == best.threads && row[i].state.index == best.index) {
            seconds = row[i].median;
        }
    }
    tw_cache_folders(tuning->path);
    if (tw_file_begin(&file, "the loader's state", tuning->path, &ignored) == 0) {
        fprintf(file.stream, "thinwire loader 1 threads %d index %d seconds %.9g\n%s\n",
                best.threads, best.index, seconds, tuning->key);
        tw_file_end(&file, "the loader's state", &ignored);
    }
}

/* ---- the state ----------------------------------------------------------------------------- */

/* The one that was given, as far as the operations and the device go; negative: none was. */
static int transfer_index(const tw_train_options_t *o, int least, int all)
{
    const int64_t index = o->transfer_index;

    return index < 0 ? -1 : index > all ? all : index < least ? least : (int)index;
}

/* By hand, or the first of a search, or an earlier one's result. */
static int tuning_begin(tw_tuning_t *tuning, int threads_most, tw_problem_t *problem)
{
    const tw_tuning_config_t *c       = &tuning->config;
    const tw_train_options_t *o       = c->options;
    const tw_source_t        *source  = tw_feed_source(c->feed);
    const int                 all     = (int)tw_feed_operation_count(c->feed);
    const int                 threads = (int)o->loader_threads; /* negative: not given */
    const int                 least   = (int)tw_feed_transfer_least(c->feed);
    const int                 index   = transfer_index(o, least, all);
    tw_tuner_state_t          shift   = {.index = least};
    tw_tuner_config_t         search  = {.operations = all - least,
                                         .samples    = (TW_TUNING_IMAGES + c->rows - 1) / c->rows,
                                         .settle     = TW_PIPELINE_DEPTH + 1,
                                         .prune      = !o->loader_all,
                                         .drift      = TW_TUNING_DRIFT};

    search.threads_most = o->loader_most > 0 ? (int)o->loader_most : threads_most;
    tuning->state       = (tw_tuner_state_t){.threads = threads >= 0 ? threads : !source->in_memory,
                                             .index   = index >= 0     ? index
                                                        : c->on_device ? least
                                                                       : all};
    if (threads > 0) {
        search.threads_most = 1;
        shift.threads       = threads - 1;
    }
    if (index >= 0) {
        search.operations = 0;
        shift.index       = index;
    }
    tuning->automatic = !source->in_memory && threads != 0 && (threads < 0 || index < 0);
    if (!tuning->automatic) {
        return 0;
    }
    tuning->searching = 1;
    if (tuning->rank != 0) {
        return 0;
    }
    tuning->tuner = tw_tuner_create(&search);
    if (tuning->tuner == NULL) {
        return tw_problem_set(problem, "out of memory");
    }
    tw_tuner_shift(tuning->tuner, shift);
    make_key(tuning, search.threads_most);
    read_kept(tuning);
    return 0;
}

/* A rank that gets no threads cannot go on, and the others do not know. */
static int apply(tw_tuning_t *tuning, tw_problem_t *problem)
{
    int ranks;

    if (tw_feed_set(tuning->config.feed, tuning->state.threads, tuning->state.index, problem) ==
        0) {
        return 0;
    }
    MPI_Comm_size(tuning->config.comm, &ranks);
    problem->fatal = ranks > 1;
    return -1;
}

/* Rank 0 tells the others where it is. */
static void tell(tw_tuning_t *tuning)
{
    int word[4] = {0};

    if (tuning->rank == 0) {
        const tw_tuner_state_t next = tw_tuner_next(tuning->tuner);

        word[0] = next.threads;
        word[1] = next.index;
        word[2] = !tw_tuner_settled(tuning->tuner);
        word[3] = (int)tw_tuner_searches(tuning->tuner);
    }
    watch_begin("MPI_Bcast");
    MPI_Bcast(word, 4, MPI_INT, 0, tuning->config.comm);
    watch_end();
    tuning->state     = (tw_tuner_state_t){word[0], word[1]};
    tuning->searching = word[2];
    tuning->searches  = (size_t)word[3];
}

int tw_tuning_create(tw_tuning_t **tuning_p, const tw_tuning_config_t *config,
                     tw_problem_t *problem)
{
    tw_tuning_t *tuning       = calloc(1, sizeof(*tuning));
    const int    threads_most = spare_cores(config);
    int          mine, all;

    if (tuning != NULL) {
        tuning->config = *config;
        MPI_Comm_rank(config->comm, &tuning->rank);
        tuning_begin(tuning, threads_most, problem);
    } else {
        tw_problem_set(problem, "out of memory");
    }
    mine = !problem->set;
    MPI_Allreduce(&mine, &all, 1, MPI_INT, MPI_MIN, config->comm);
    if (!all) {
        tw_tuning_destroy(tuning);
        return -1;
    }
    if (tuning->automatic) {
        tell(tuning);
    }
    *tuning_p = tuning;
    return apply(tuning, problem);
}

void tw_tuning_destroy(tw_tuning_t *tuning)
{
    if (tuning != NULL) {
        tw_tuner_destroy(tuning->tuner);
    }
    free(tuning);
}

int tw_tuning_step(tw_tuning_t *tuning, double seconds, tw_problem_t *problem)
{
    if (!tuning->automatic) {
        return 0;
    }
    if (!tuning->searching) {
        if (tuning->rank == 0 && tw_tuner_settled(tuning->tuner)) {
            tw_tuner_observe(tuning->tuner, seconds);
        }
        return 0;
    }
    tuning->steps++;
    if (tuning->rank == 0) {
        tw_tuner_observe(tuning->tuner, seconds);
    }
    tell(tuning);
    if (!tuning->searching && tuning->rank == 0) {
        tuning->kept = 0;
        keep(tuning);
    }
    return apply(tuning, problem);
}

int tw_tuning_drifted(const tw_tuning_t *tuning)
{
    return tuning->tuner != NULL && !tuning->searching && !tw_tuner_settled(tuning->tuner);
}

void tw_tuning_search(tw_tuning_t *tuning)
{
    tuning->searching = 1;
}

void tw_tuning_facts(const tw_tuning_t *tuning, tw_tuning_facts_t *facts)
{
    *facts = (tw_tuning_facts_t){.automatic = tuning->automatic,
                                 .searching = tuning->searching,
                                 .kept      = tuning->kept,
                                 .state     = tuning->state,
                                 .searches  = tuning->searches,
                                 .steps     = tuning->steps};
    if (tuning->tuner != NULL) {
        facts->rows = tw_tuner_rows(tuning->tuner, &facts->count);
    }
}
