/* SPDX-License-Identifier: BSD-3-Clause
 * train/training_local.c - the local part of creation: options, data, output files, codecs.
 */
#include "config.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "command/file.h"
#include "train/base/hash.h"
#include "train/training_inside.h"

/* What the command line leaves open the model says. */
static int settle_options(tw_training_t *t, tw_problem_t *problem)
{
    const tw_train_options_t *o = t->options;

    t->batch         = o->batch != 0 ? o->batch : t->network.batch;
    t->epochs_wanted = o->epochs != 0 ? o->epochs : o->no_train ? 1 : t->network.epochs;
    t->split         = o->division.kind != SCHEME_DATA;
    if (t->batch < (uint64_t)t->size) {
        return tw_problem_set(problem, "--batch %" PRIu64 " is smaller than the %d ranks", t->batch,
                              t->size);
    }
    if (o->quantiles != NULL && t->size > 1) {
        return tw_problem_set(problem,
                              "--quantiles is of gradients before they are summed: it "
                              "takes 1 rank, not %d",
                              t->size);
    }
    if (o->steps != 0) {
        t->epochs_wanted = UINT32_MAX;
    }
    return 0;
}

/* What the images are and what is done to them. */
static uint64_t hash_images(const tw_feed_t *feed)
{
    uint64_t hash = tw_source_hash(tw_feed_source(feed));

    for (tw_subset_t part = 0; part < TW_SUBSETS; part++) {
        const char *list = tw_feed_operations(feed, part);

        hash = tw_hash(hash, list, strlen(list));
    }
    return tw_hash(hash, &(uint64_t){(uint64_t)tw_feed_skips(feed)}, sizeof(uint64_t));
}

int tw_training_open_data(tw_training_t *t, tw_problem_t *problem)
{
    size_t images;

    if (tw_feed_create(&t->feed, t->options, &t->network, t->comm, problem) != 0) {
        return -1;
    }
    images = tw_feed_count(t->feed, TW_SUBSET_TRAIN);
    if (t->batch > images && !t->options->evaluate_only) {
        return tw_problem_set(problem,
                              t->options->batch != 0 ? "--batch %" PRIu64
                                                       " is larger than the %zu training images"
                                                     : "the model's batch of %" PRIu64
                                                       " is larger than the %zu training "
                                                       "images: name a smaller one by --batch",
                              t->batch, images);
    }
    t->data_hash = hash_images(t->feed);
    t->steps     = (images + t->batch - 1) / t->batch;
    return 0;
}

/* A checkpoint is replaced, so it cannot be a device or a pipe. */
static int try_checkpoint(const char *path, tw_problem_t *problem)
{
    struct stat info;

    if (stat(path, &info) == 0 && !S_ISREG(info.st_mode) && !S_ISDIR(info.st_mode)) {
        return tw_problem_set(problem, "--checkpoint %s: is not a regular file", path);
    }
    return tw_file_try("--checkpoint", path, problem);
}

/* Files are tried before the work, by the rank that will write them. */
static int try_files(const tw_training_t *t, tw_problem_t *problem)
{
    const tw_train_options_t *o = t->options;

    if (t->rank != 0) {
        return 0;
    }
    if ((o->json != NULL && tw_file_try("--json", o->json, problem) != 0) ||
        (o->trace != NULL && tw_file_try("--trace", o->trace, problem) != 0) ||
        (o->record != NULL && tw_file_try("--record", o->record, problem) != 0) ||
        (o->quantiles != NULL && tw_file_try("--quantiles", o->quantiles, problem) != 0) ||
        (o->export_to != NULL && tw_file_try("--export", o->export_to, problem) != 0)) {
        return -1;
    }
    return o->checkpoint != NULL && !o->evaluate_only ? try_checkpoint(o->checkpoint, problem) : 0;
}

/* Codecs, and memory for the records. */
int tw_training_make_local(tw_training_t *t, tw_problem_t *problem)
{
    const tw_train_options_t *o = t->options;

    t->step_times   = malloc(2 * t->steps * sizeof(*t->step_times));
    t->network_sent = calloc((size_t)t->size + 1, sizeof(*t->network_sent));
    t->room         = o->steps != 0 ? 2 + o->steps / t->steps : t->epochs_wanted;
    t->records      = calloc(t->room, sizeof(*t->records));
    t->recorder     = o->record != NULL ? tw_recorder_create(t->network.layers) : NULL;
    if (t->step_times == NULL || t->network_sent == NULL || t->records == NULL ||
        (o->record != NULL && t->recorder == NULL) ||
        (o->trace != NULL && tw_trace_create(0, &t->trace) != TW_OK)) {
        return tw_problem_set(problem, "out of memory");
    }
    if (tw_codecs_create(&t->codecs, t->ctx, o->codec, o->owners != 0, t->split, o->force,
                         problem) != 0) {
        return -1;
    }
    if (tw_codecs_storage(&t->codecs, t->ctx, o->storage, problem) != 0) {
        return -1;
    }
    if (t->codecs.weight.rule.interval == 0) {
        t->codecs.weight.rule.interval = t->steps;
        t->codecs.weight.by_epoch      = 1;
    }
    tw_codecs_text(&t->codecs, o->owners != 0, t->split, t->codec_text, sizeof(t->codec_text));
    return 0;
}

int tw_training_settle_local(tw_training_t *t, tw_problem_t *problem)
{
    t->kernels = tw_kernels_for(tw_cpu_level(t->ctx));
    return settle_options(t, problem) == 0 ? try_files(t, problem) : -1;
}

int tw_training_set_outputs(tw_training_t *t, tw_problem_t *problem)
{
    const tw_train_options_t *o    = t->options;
    const char               *what = o->recompute                ? "--recompute"
                                     : t->codecs.storage != NULL ? "--storage"
                                     : t->codecs.weight.integers ? "--codec weight=awp:family=int"
                                                                 : NULL;

    if (what != NULL && tw_backend_memory(t->backend) != TW_MEMORY_HOST) {
        return tw_problem_set(problem, "%s: only on processors; accepted with it: --device cpu",
                              what);
    }
    tw_trunk_set_recompute(t->trunk, o->recompute);
    if (tw_trunk_set_storage(t->trunk, t->codecs.storage) != 0) {
        return tw_problem_set(problem,
                              "--storage: %s has too few layers before the first dense one",
                              t->network.name);
    }
    return 0;
}
