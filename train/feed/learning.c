/* SPDX-License-Identifier: BSD-3-Clause
 * train/feed/learning.c - see learning.h.
 */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "command/file.h"
#include "command/watch.h"
#include "train/base/cache.h"
#include "train/base/hash.h"
#include "train/input/prepare.h"
#include "train/feed/learning.h"

enum { IMAGES = 8192 }; /* that are looked at, at most: evenly from all training images */

/* One operation that learns. */
typedef struct tw_learning {
    tw_feed_t                  *feed;
    const tw_compute_kernels_t *kernels;
    const tw_transforms_t      *before; /* the operations in front of it */
    const tw_transform_t       *op;
    MPI_Comm                    comm;
    int                         rank, size;
    uint64_t                   *sums; /* [count] */
    size_t                      count;
    char                        path[4096]; /* "": none */
} tw_learning_t;

/* ---- the file ------------------------------------------------------------------------------ */

/* The sums, and a hash of them. On rank 0. */
static int read_kept(const tw_learning_t *learning)
{
    FILE    *file = learning->path[0] != '\0' ? fopen(learning->path, "rb") : NULL;
    uint64_t hash = 0, extra;
    int      good;

    if (file == NULL) {
        return 0;
    }
    good =
        fread(learning->sums, sizeof(*learning->sums), learning->count, file) == learning->count &&
        fread(&hash, sizeof(hash), 1, file) == 1 && fread(&extra, 1, 1, file) == 0 &&
        hash == tw_hash(learning->count, learning->sums, learning->count * sizeof(*learning->sums));
    fclose(file);
    return good;
}

static void keep(const tw_learning_t *learning)
{
    const uint64_t hash =
        tw_hash(learning->count, learning->sums, learning->count * sizeof(*learning->sums));
    tw_problem_t ignored = {0};
    tw_file_t    file;

    if (learning->path[0] == '\0') {
        return;
    }
    tw_cache_folders(learning->path);
    if (tw_file_begin(&file, "the mean", learning->path, &ignored) == 0) {
        fwrite(learning->sums, sizeof(*learning->sums), learning->count, file.stream);
        fwrite(&hash, sizeof(hash), 1, file.stream);
        tw_file_end(&file, "the mean", &ignored);
    }
}

/* On all ranks; what went wrong is said when the caller agrees. */
static int all_well(MPI_Comm comm, const tw_problem_t *problem)
{
    int mine = !problem->set, all;

    watch_begin("MPI_Allreduce");
    MPI_Allreduce(&mine, &all, 1, MPI_INT, MPI_MIN, comm);
    watch_end();
    return all;
}

/* ---- images -------------------------------------------------------------------------------- */

/* This rank's share of the images. */
static int add_images(const tw_learning_t *learning, tw_problem_t *problem)
{
    const tw_source_t *source = tw_feed_source(learning->feed);
    const size_t       n = source->part[TW_SUBSET_TRAIN].n, all = n < IMAGES ? n : IMAGES;
    tw_prepare_t       how = {.source = source, .list = learning->before, .part = TW_SUBSET_TRAIN};
    const int          alone = source->fetch != NULL; /* only rank 0 can read any image */
    const size_t       first = alone && learning->rank > 0 ? all : (size_t)learning->rank;
    const size_t       step  = alone ? 1 : (size_t)learning->size;
    tw_broken_t        broken;
    tw_thread_state_t  state;

    if (tw_thread_state_create(&state, learning->kernels, tw_feed_max_pixels(learning->feed)) !=
        0) {
        return tw_problem_set(problem, "out of memory");
    }
    tw_broken_init(&broken);
    how.broken = tw_feed_skips(learning->feed) ? &broken : NULL;
    for (size_t i = first; i < all; i += step) {
        for (how.view = 0; how.view < learning->before->views && !problem->set; how.view++) {
            tw_prepared_t prepared = {.index = (uint32_t)((uint64_t)i * n / all)};

            if (tw_prepare_begin(&how, &prepared, learning->before->n, &state, NULL, problem) ==
                    0 &&
                tw_image_straighten(&prepared.planned.image, &state.work, problem) == 0) {
                learning->op->ops->add(learning->op->own, &prepared.planned.image,
                                       state.work.pixels, learning->sums);
            }
        }
    }
    tw_broken_destroy(&broken);
    tw_thread_state_destroy(&state);
    return problem->set ? -1 : 0;
}

/* From the file, or from the images. Collective. */
static int learn(tw_learning_t *learning, tw_problem_t *problem)
{
    int kept = learning->rank == 0 && read_kept(learning);

    watch_begin("MPI_Bcast");
    MPI_Bcast(&kept, 1, MPI_INT, 0, learning->comm);
    if (kept) {
        MPI_Bcast(learning->sums, (int)learning->count, MPI_UINT64_T, 0, learning->comm);
    }
    watch_end();
    if (kept) {
        return 0;
    }
    memset(learning->sums, 0, learning->count * sizeof(*learning->sums));
    add_images(learning, problem);
    if (!all_well(learning->comm, problem)) {
        return -1;
    }
    watch_begin("MPI_Allreduce");
    MPI_Allreduce(MPI_IN_PLACE, learning->sums, (int)learning->count, MPI_UINT64_T, MPI_SUM,
                  learning->comm);
    watch_end();
    if (learning->rank == 0) {
        keep(learning);
    }
    return 0;
}

/* ---- lists --------------------------------------------------------------------------------- */

/* The operation of a list that learns; NULL: none does. */
static const tw_transform_t *learning_find(const tw_transforms_t *list, size_t *k)
{
    for (*k = 0; *k < list->n; (*k)++) {
        const tw_transform_t *op = &list->op[*k];

        if (op->ops->learns != NULL && op->ops->learns(op->own) > 0) {
            return op;
        }
    }
    return NULL;
}

/* The operations in front of it, as a list of their own. */
static int list_before(tw_feed_t *feed, const tw_transforms_t *list, size_t k,
                       tw_transforms_t *before, tw_problem_t *problem)
{
    char text[TW_TRANSFORMS_TEXT];

    snprintf(text, sizeof(text), "%.*s", (int)list->at[k], list->text);
    return tw_transforms_parse(before, text, tw_feed_form(feed), "--augment", problem);
}

static int learn_one(tw_feed_t *feed, const tw_compute_kernels_t *kernels, uint64_t hash,
                     MPI_Comm comm, const tw_transforms_t *list, size_t k, tw_learning_t *learning,
                     tw_problem_t *problem)
{
    tw_transforms_t before = {.n = 0};
    int             status = -1;

    *learning = (tw_learning_t){.feed    = feed,
                                .kernels = kernels,
                                .before  = &before,
                                .op      = &list->op[k],
                                .comm    = comm,
                                .count   = list->op[k].ops->learns(list->op[k].own)};
    MPI_Comm_rank(comm, &learning->rank);
    MPI_Comm_size(comm, &learning->size);
    hash = tw_hash(hash + learning->count, list->text, list->at[k]);
    tw_cache_path(learning->path, sizeof(learning->path), hash, "mean");
    learning->sums = malloc(learning->count * sizeof(*learning->sums));
    if (learning->sums == NULL) {
        tw_problem_set(problem, "out of memory for a mean of %zu numbers", learning->count);
    } else {
        list_before(feed, list, k, &before, problem);
    }
    if (all_well(comm, problem)) {
        status = learn(learning, problem);
    }
    tw_transforms_destroy(&before);
    return status;
}

int tw_learning_run(tw_feed_t *feed, const tw_compute_kernels_t *kernels, uint64_t hash,
                    MPI_Comm comm, tw_problem_t *problem)
{
    tw_learning_t learning = {.sums = NULL};
    int           status   = 0;

    /* Test images take what the training images have taught, where it fits. */
    for (tw_subset_t part = 0; part < TW_SUBSETS && status == 0; part++) {
        const tw_transforms_t *list = tw_feed_list(feed, part);
        size_t                 k;
        const tw_transform_t  *op = learning_find(list, &k);

        if (op == NULL) {
            continue;
        }
        if (learning.sums == NULL || op->ops->learns(op->own) != learning.count) {
            free(learning.sums);
            status = learn_one(feed, kernels, hash, comm, list, k, &learning, problem);
        }
        if (status == 0) {
            op->ops->learn(op->own, learning.sums);
        }
    }
    free(learning.sums);
    return status;
}
