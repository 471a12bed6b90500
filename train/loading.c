/* SPDX-License-Identifier: BSD-3-Clause
 * train/loading.c - see loading.h.
 */
#include "config.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "command/json.h"
#include "command/watch.h"
#include "train/base/agree.h"
#include "train/base/hash.h"
#include "train/loading.h"
#include "train/loop.h"
#include "train/report/report.h"
#include "train/base/share.h"
#include "train/sheet.h"

enum { SHOWN = 64 }; /* images of a sheet */

/* What all ranks did; hashes add up, so it does not matter who had which image. */
typedef struct tw_loaded {
    uint64_t steps, images, hash;
    double   seconds; /* of the slowest rank */
} tw_loaded_t;

/* Of this rank's images of a batch: each with its place, so that their order counts. */
static uint64_t hash_batch(const tw_training_t *t, uint64_t step, size_t first, size_t n,
                           const float *images)
{
    const size_t size = tw_shape_size(t->network.input);
    uint64_t     sum  = 0;

    for (size_t i = 0; i < n; i++) {
        const uint64_t place[2] = {step, first + i};

        sum += tw_hash(tw_hash(0, place, sizeof(place)), images + i * size, size * sizeof(*images));
    }
    return sum;
}

static int load_batch(tw_training_t *t, uint64_t step, float *images, tw_loaded_t *mine,
                      tw_problem_t *problem)
{
    const tw_feed_batch_t batch = {.step = step};
    const double          start = MPI_Wtime();
    size_t                first, n;

    tw_share(tw_feed_size(t->feed, batch), t->size, t->rank, &first, &n);
    if (tw_feed_take(t->feed, batch, images, problem) != 0) {
        problem->fatal = t->size > 1; /* the others load on */
        return -1;
    }
    mine->hash += hash_batch(t, step, first, n, images);
    mine->images += n;
    mine->steps++;
    if (tw_training_tune(t, MPI_Wtime() - start, problem) != 0) {
        return -1;
    }
    mine->seconds += MPI_Wtime() - start;
    return 0;
}

/* Add this rank's part of an epoch to all that was loaded. Collective. */
static tw_loaded_t gather(const tw_training_t *t, const tw_loaded_t *mine, tw_loaded_t *all)
{
    uint64_t    words[2] = {mine->images, mine->hash};
    tw_loaded_t epoch    = {.steps = mine->steps};

    watch_begin("MPI_Allreduce");
    MPI_Allreduce(MPI_IN_PLACE, words, 2, MPI_UINT64_T, MPI_SUM, t->comm);
    MPI_Allreduce(&mine->seconds, &epoch.seconds, 1, MPI_DOUBLE, MPI_MAX, t->comm);
    watch_end();
    epoch.images = words[0];
    epoch.hash   = words[1];
    all->steps += epoch.steps;
    all->images += epoch.images;
    all->hash += epoch.hash;
    all->seconds += epoch.seconds;
    return epoch;
}

static void print_epoch(const tw_training_t *t, uint64_t number, const tw_loaded_t *epoch)
{
    if (t->rank == 0) {
        printf("epoch %3" PRIu64 "  %" PRIu64
               " images  %6.2f s  %7.0f images/s  batches %016" PRIx64 "\n",
               number, epoch->images, epoch->seconds, (double)epoch->images / epoch->seconds,
               epoch->hash);
        fflush(stdout);
    }
}

static void print_end(const tw_training_t *t, const tw_loaded_t *all)
{
    tw_pipeline_facts_t facts;
    tw_tuning_facts_t   tuning;

    tw_feed_facts(t->feed, &facts);
    tw_tuning_facts(t->tuning, &tuning);
    if (t->rank != 0) {
        return;
    }
    printf(
        "loader: %.0f images/s, %d thread%s a rank, transfer index %d of %zu, %.2f bytes moved a "
        "value, ",
        (double)all->images / all->seconds, tuning.state.threads,
        tuning.state.threads == 1 ? "" : "s", tuning.state.index, tw_feed_operation_count(t->feed),
        facts.values > 0 ? (double)facts.bytes / (double)facts.values : 0.0);
    if (facts.busy > 0.0) {
        printf("%.0f images per second of a thread, ", (double)facts.images / facts.busy);
    }
    printf("batches %016" PRIx64 "\n", all->hash);
    fflush(stdout);
}

static int write_json(const tw_training_t *t, const tw_loaded_t *all, int argc, char **argv,
                      tw_problem_t *problem)
{
    const tw_train_options_t *o = t->options;
    char                      hash[32];
    json_t                   *root;

    if (t->rank != 0 || o->json == NULL) {
        return 0;
    }
    snprintf(hash, sizeof(hash), "%016" PRIx64, all->hash);
    root = tw_json_begin("thinwire-train", argc, argv);
    tw_json_add(&root, json_pack("{s:s, s:i, s:I, s:I, s:I, s:I, s:f, s:f, s:s, s:o}", "data",
                                 o->data, "ranks", t->size, "batch", (json_int_t)t->batch, "seed",
                                 (json_int_t)o->seed, "steps", (json_int_t)all->steps, "images",
                                 (json_int_t)all->images, "seconds", all->seconds,
                                 "images_per_second", (double)all->images / all->seconds,
                                 "batches_hash", hash, "loader", tw_report_loader_json(t)));
    return tw_json_end(root, o->json, problem);
}

/* Up to the end of the epoch, or of all. */
static int load_epoch(tw_training_t *t, uint64_t *step, uint64_t last, float *images,
                      tw_loaded_t *mine, tw_problem_t *problem)
{
    do {
        if (load_batch(t, (*step)++, images, mine, problem) != 0) {
            return -1;
        }
    } while (*step < last && *step % t->steps != 0);
    return 0;
}

static float *room_for(const tw_training_t *t, tw_problem_t *problem)
{
    const size_t rows = (size_t)((t->batch - 1) / (uint64_t)t->size + 1);
    float       *room = malloc(rows * tw_shape_size(t->network.input) * sizeof(*room));

    if (room == NULL) {
        tw_problem_set(problem, "out of memory for a batch of %zu images", rows);
    }
    if (tw_agree(t->comm, problem) != 0) {
        free(room);
        return NULL;
    }
    return room;
}

int tw_loading_run(tw_training_t *t, int argc, char **argv, tw_problem_t *problem)
{
    const uint64_t last = t->options->steps != 0 ? t->options->steps : t->epochs_wanted * t->steps;
    float         *images = room_for(t, problem);
    tw_loaded_t    all    = {.steps = 0};
    uint64_t       step   = 0;

    while (images != NULL && step < last) {
        tw_loaded_t mine = {.steps = 0}, epoch;

        load_epoch(t, &step, last, images, &mine, problem);
        if (tw_agree(t->comm, problem) != 0) {
            free(images);
            return -1;
        }
        epoch = gather(t, &mine, &all);
        print_epoch(t, (step - 1) / t->steps + 1, &epoch);
    }
    if (images == NULL) {
        return -1;
    }
    free(images);
    print_end(t, &all);
    tw_report_searching(t);
    tw_report_broken(t);
    write_json(t, &all, argc, argv, problem);
    return tw_agree(t->comm, problem);
}

/* On rank 0. */
static int show(tw_training_t *t, tw_problem_t *problem)
{
    const tw_source_t    *source = tw_feed_source(t->feed);
    const tw_feed_batch_t batch  = {.step = 0};
    const size_t size = tw_shape_size(t->network.input), all = tw_feed_size(t->feed, batch),
                 n  = all < SHOWN ? all : SHOWN;
    float   *images = malloc(n * size * sizeof(*images));
    uint32_t labels[SHOWN];

    if (images == NULL) {
        return tw_problem_set(problem, "out of memory for %zu images", n);
    }
    for (size_t i = 0; i < n && !problem->set; i++) {
        const uint32_t image = tw_feed_image(t->feed, batch, i);

        labels[i] = tw_feed_label(t->feed, TW_SUBSET_TRAIN, image);
        tw_feed_single(t->feed, TW_SUBSET_TRAIN, 0, image, images + i * size, problem);
    }
    if (!problem->set && tw_sheet_write(t->options->show_images, images, labels, n,
                                        t->network.input, problem) == 0) {
        printf("%zu training images of the first batch, %zux%zux%zu, in %s\n", n,
               t->network.input.h, t->network.input.w, t->network.input.c, t->options->show_images);
        for (size_t c = 0; source->class_names != NULL && c < source->classes; c++) {
            printf("  %zu %s\n", c, source->class_names[c]);
        }
    }
    free(images);
    return problem->set ? -1 : 0;
}

int tw_loading_show(tw_training_t *t, tw_problem_t *problem)
{
    if (t->rank == 0) {
        show(t, problem);
    }
    return tw_agree(t->comm, problem);
}
