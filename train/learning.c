/* SPDX-License-Identifier: BSD-3-Clause
 * train/learning.c - see learning.h.
 */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "command/watch.h"
#include "train/cache.h"
#include "train/file.h"
#include "train/hash.h"
#include "train/input/prepare.h"
#include "train/learning.h"

enum { IMAGES = 8192 }; /* that are looked at, at most: evenly from all training images */

/* One operation that learns. */
typedef struct tw_lesson {
    tw_feed_t                  *feed;
    const tw_compute_kernels_t *kernels;
    const tw_transforms_t      *before; /* the operations in front of it */
    const tw_transform_t       *op;
    MPI_Comm                    comm;
    int                         rank, size;
    uint64_t                   *sums; /* [count] */
    size_t                      count;
    char                        path[4096]; /* "": none */
} tw_lesson_t;

/* ---- the file ------------------------------------------------------------------------------ */

/* The sums, and a hash of them. On rank 0. */
static int read_kept(const tw_lesson_t *lesson)
{
    FILE    *file = lesson->path[0] != '\0' ? fopen(lesson->path, "rb") : NULL;
    uint64_t hash = 0, extra;
    int      good;

    if (file == NULL) {
        return 0;
    }
    good = fread(lesson->sums, sizeof(*lesson->sums), lesson->count, file) == lesson->count &&
           fread(&hash, sizeof(hash), 1, file) == 1 && fread(&extra, 1, 1, file) == 0 &&
           hash == tw_hash(lesson->count, lesson->sums, lesson->count * sizeof(*lesson->sums));
    fclose(file);
    return good;
}

static void keep(const tw_lesson_t *lesson)
{
    const uint64_t hash =
        tw_hash(lesson->count, lesson->sums, lesson->count * sizeof(*lesson->sums));
    tw_problem_t ignored = {0};
    tw_file_t    file;

    if (lesson->path[0] == '\0') {
        return;
    }
    tw_cache_folders(lesson->path);
    if (tw_file_begin(&file, "the mean", lesson->path, &ignored) == 0) {
        fwrite(lesson->sums, sizeof(*lesson->sums), lesson->count, file.stream);
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
static int add_images(const tw_lesson_t *lesson, tw_problem_t *problem)
{
    const tw_source_t *source = tw_feed_source(lesson->feed);
    const size_t       n = source->part[TW_SUBSET_TRAIN].n, all = n < IMAGES ? n : IMAGES;
    tw_prepare_t       how = {.source = source, .list = lesson->before, .part = TW_SUBSET_TRAIN};
    tw_broken_t        broken;
    tw_hand_t          hand;

    if (tw_hand_create(&hand, lesson->kernels, tw_feed_max_pixels(lesson->feed)) != 0) {
        return tw_problem_set(problem, "out of memory");
    }
    tw_broken_init(&broken);
    how.broken = tw_feed_skips(lesson->feed) ? &broken : NULL;
    for (size_t i = (size_t)lesson->rank; i < all && !problem->set; i += (size_t)lesson->size) {
        tw_prepared_t prepared = {.index = (uint32_t)((uint64_t)i * n / all)};

        if (tw_prepare_begin(&how, &prepared, lesson->before->n, &hand, NULL, problem) == 0 &&
            tw_image_straighten(&prepared.planned.image, &hand.work, problem) == 0) {
            lesson->op->ops->add(lesson->op->own, &prepared.planned.image, hand.work.pixels,
                                 lesson->sums);
        }
    }
    tw_broken_destroy(&broken);
    tw_hand_destroy(&hand, source);
    return problem->set ? -1 : 0;
}

/* From the file, or from the images. Collective. */
static int learn(tw_lesson_t *lesson, tw_problem_t *problem)
{
    int kept = lesson->rank == 0 && read_kept(lesson);

    watch_begin("MPI_Bcast");
    MPI_Bcast(&kept, 1, MPI_INT, 0, lesson->comm);
    if (kept) {
        MPI_Bcast(lesson->sums, (int)lesson->count, MPI_UINT64_T, 0, lesson->comm);
    }
    watch_end();
    if (kept) {
        return 0;
    }
    memset(lesson->sums, 0, lesson->count * sizeof(*lesson->sums));
    add_images(lesson, problem);
    if (!all_well(lesson->comm, problem)) {
        return -1;
    }
    watch_begin("MPI_Allreduce");
    MPI_Allreduce(MPI_IN_PLACE, lesson->sums, (int)lesson->count, MPI_UINT64_T, MPI_SUM,
                  lesson->comm);
    watch_end();
    if (lesson->rank == 0) {
        keep(lesson);
    }
    return 0;
}

/* ---- lists --------------------------------------------------------------------------------- */

/* The operation of a list that learns; NULL: none does. */
static const tw_transform_t *find(const tw_transforms_t *list, size_t *k)
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
                     MPI_Comm comm, const tw_transforms_t *list, size_t k, tw_lesson_t *lesson,
                     tw_problem_t *problem)
{
    tw_transforms_t before = {.n = 0};
    int             status = -1;

    *lesson = (tw_lesson_t){.feed    = feed,
                            .kernels = kernels,
                            .before  = &before,
                            .op      = &list->op[k],
                            .comm    = comm,
                            .count   = list->op[k].ops->learns(list->op[k].own)};
    MPI_Comm_rank(comm, &lesson->rank);
    MPI_Comm_size(comm, &lesson->size);
    hash = tw_hash(hash + lesson->count, list->text, list->at[k]);
    tw_cache_path(lesson->path, sizeof(lesson->path), hash, "mean");
    lesson->sums = malloc(lesson->count * sizeof(*lesson->sums));
    if (lesson->sums == NULL) {
        tw_problem_set(problem, "out of memory for a mean of %zu numbers", lesson->count);
    } else {
        list_before(feed, list, k, &before, problem);
    }
    if (all_well(comm, problem)) {
        status = learn(lesson, problem);
    }
    tw_transforms_destroy(&before);
    return status;
}

int tw_learning_run(tw_feed_t *feed, const tw_compute_kernels_t *kernels, uint64_t hash,
                    MPI_Comm comm, tw_problem_t *problem)
{
    tw_lesson_t lesson = {.sums = NULL};
    int         status = 0;

    /* Test images take what the training images have taught, where it fits. */
    for (tw_subset_t part = 0; part < TW_SUBSETS && status == 0; part++) {
        const tw_transforms_t *list = tw_feed_list(feed, part);
        size_t                 k;
        const tw_transform_t  *op = find(list, &k);

        if (op == NULL) {
            continue;
        }
        if (lesson.sums == NULL || op->ops->learns(op->own) != lesson.count) {
            free(lesson.sums);
            status = learn_one(feed, kernels, hash, comm, list, k, &lesson, problem);
        }
        if (status == 0) {
            op->ops->learn(op->own, lesson.sums);
        }
    }
    free(lesson.sums);
    return status;
}
