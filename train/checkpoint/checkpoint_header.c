/* SPDX-License-Identifier: BSD-3-Clause
 * train/checkpoint/checkpoint_header.c - the header of a checkpoint. It is read on rank 0 only.
 */
#include "config.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "train/checkpoint/checkpoint_inside.h"
#include "train/base/hash.h"

#define TW_CHECKPOINT_ORDER  UINT64_C(0x0102030405060708)
#define TW_CHECKPOINT_FORMAT 8
#define TW_EPOCHS_MOST       1000000u
#define TW_STEPS_MOST        (UINT64_C(1) << 53)

static const char magic[8] = {'t', 'w', 't', 'r', 'a', 'i', 'n', '0' + TW_CHECKPOINT_FORMAT};

/* An interval of an epoch stays one with other batches. */
static void fill_codecs(const tw_training_t *t, tw_checkpoint_header_t *header)
{
    tw_weight_codec_t weight = t->codecs.weight;

    weight.rule.interval = weight.by_epoch ? 0 : weight.rule.interval;
    tw_codecs_text(&t->codecs, 0, 0, header->codec, sizeof(header->codec));
    if (t->split) {
        snprintf(header->split, sizeof(header->split), ",act=%s,back=%s",
                 tw_codec_spec(t->codecs.codec[TW_CLASS_ACT]),
                 tw_codec_spec(t->codecs.codec[TW_CLASS_BACK]));
    }
    tw_weight_codec_text(&weight, header->weights, sizeof(header->weights));
}

void tw_checkpoint_header_fill(const tw_training_t *t, tw_checkpoint_header_t *header)
{
    const tw_train_options_t *o = t->options;

    memset(header, 0, sizeof(*header));
    memcpy(header->magic, magic, sizeof(magic));
    header->order         = TW_CHECKPOINT_ORDER;
    header->format        = TW_CHECKPOINT_FORMAT;
    header->epochs        = t->epochs;
    header->step          = t->step;
    header->evaluations   = t->evaluations.count;
    header->seconds       = t->seconds;
    header->steps         = t->steps;
    header->shift         = t->shift;
    header->numbers       = tw_masters_numbers(t->masters);
    header->shapes        = tw_checkpoint_shapes(t);
    header->ranks         = (uint64_t)t->size;
    header->seed          = o->seed;
    header->batch         = t->batch;
    header->data_hash     = t->data_hash;
    header->network_hash  = t->network_hash;
    header->update_period = o->update_period;
    header->rate          = t->rates.base;
    header->momentum      = t->rates.momentum;
    header->decay         = t->rates.decay;
    tw_adaptive_save(&t->norm.rule, header->adaptive);
    snprintf(header->model, sizeof(header->model), "%s", t->network.name);
    fill_codecs(t, header);
    snprintf(header->scheme, sizeof(header->scheme), "%s", o->scheme);
    snprintf(header->scale, sizeof(header->scale), "%s", o->lr_scale);
    snprintf(header->statistics, sizeof(header->statistics),
             "%s,%" PRIu64 ",%" PRIu64 ",%g,%" PRIu64, o->bn, o->bn_group, o->bn_max_batch,
             o->bn_tolerance, o->bn_patience);
    snprintf(header->schedule, sizeof(header->schedule), "%s",
             o->schedule != NULL ? o->schedule : t->network.schedule);
    snprintf(header->dropout_schedule, sizeof(header->dropout_schedule), "%s",
             o->dropout_schedule != NULL ? o->dropout_schedule : t->network.dropout_schedule);
}

int tw_checkpoint_sum(FILE *stream, uint64_t bytes, uint64_t *sum_p)
{
    const size_t most = (size_t)1 << 20;
    char        *part = malloc(most);
    uint64_t     sum  = TW_CHECKPOINT_ORDER;
    size_t       n;

    if (part == NULL || fseek(stream, 0, SEEK_SET) != 0) {
        free(part);
        return -1;
    }
    for (; bytes > 0; bytes -= n) {
        n = bytes < most ? (size_t)bytes : most;
        if (fread(part, 1, n, stream) != n) {
            free(part);
            return -1;
        }
        sum = tw_hash(sum, part, n);
    }
    free(part);
    *sum_p = sum;
    return 0;
}

int tw_checkpoint_damaged(const char *path, const char *how, tw_problem_t *problem)
{
    return tw_problem_set(problem, "--checkpoint %s: %s", path, how);
}

/* The first words say whose file it is; the rest of the header is as long as the format says. */
static int read_header(const char *path, FILE *stream, tw_checkpoint_header_t *header,
                       tw_problem_t *problem)
{
    const size_t first = offsetof(tw_checkpoint_header_t, epochs);

    if (fread(header, first, 1, stream) != 1 ||
        memcmp(header->magic, magic, sizeof(magic) - 1) != 0) {
        return tw_checkpoint_damaged(path, "is not a checkpoint of thinwire-train", problem);
    }
    if (header->order != TW_CHECKPOINT_ORDER) {
        return tw_checkpoint_damaged(path, "was written on a machine of other byte order", problem);
    }
    if (header->format != TW_CHECKPOINT_FORMAT) {
        return tw_problem_set(problem,
                              "--checkpoint %s: was written by another version, in format %" PRIu64
                              "; this version reads format %d",
                              path, header->format, TW_CHECKPOINT_FORMAT);
    }
    if (fread(&header->epochs, sizeof(*header) - first, 1, stream) != 1) {
        return tw_checkpoint_damaged(path, "is damaged or incomplete", problem);
    }
    return 0;
}

/* Open it, see that it is one of ours and that its check sum holds. */
static int open_checked(const char *path, FILE **stream_p, tw_checkpoint_header_t *header,
                        uint64_t *body_p, tw_problem_t *problem)
{
    FILE    *stream = fopen(path, "rb");
    uint64_t sum = 0, want = 0;
    long     length;

    if (stream == NULL) {
        return tw_problem_set(problem, "--checkpoint %s: cannot be read: %s", path,
                              strerror(errno));
    }
    *stream_p = stream;
    if (read_header(path, stream, header, problem) != 0) {
        return -1;
    }
    if (fseek(stream, 0, SEEK_END) != 0 || (length = ftell(stream)) < 0 ||
        (size_t)length < sizeof(*header) + sizeof(sum) ||
        tw_checkpoint_sum(stream, (uint64_t)length - sizeof(sum), &sum) != 0 ||
        fread(&want, sizeof(want), 1, stream) != 1 || sum != want) {
        return tw_checkpoint_damaged(path, "is damaged or incomplete (its check sum is wrong)",
                                     problem);
    }
    *body_p = (uint64_t)length - sizeof(sum);
    return fseek(stream, sizeof(*header), SEEK_SET) == 0
               ? 0
               : tw_checkpoint_damaged(path, "cannot be read from the middle", problem);
}

/* Steps of an epoch are those of its batch on the same data; of others nothing is known. */
static int possible_epoch(const tw_training_t *t, const tw_checkpoint_header_t *file)
{
    const uint64_t images = tw_feed_count(t->feed, TW_SUBSET_TRAIN);

    return file->steps >= 1 && file->steps <= UINT32_MAX && file->batch >= 1 &&
           (file->data_hash != t->data_hash ||
            (file->batch <= images && file->steps == (images - 1) / file->batch + 1));
}

/* How far the run was, and whether the file can hold so much of it. */
static int check_progress(const tw_training_t *t, const char *path,
                          const tw_checkpoint_header_t *file, uint64_t body, tw_problem_t *problem)
{
    const uint64_t left = body - sizeof(*file);

    if (file->step == 0 || file->epochs > TW_EPOCHS_MOST || !possible_epoch(t, file) ||
        file->step < file->epochs * file->steps || file->step >= (file->epochs + 1) * file->steps ||
        file->step + file->shift - 1 >= TW_STEPS_MOST) {
        return tw_checkpoint_damaged(path, "says nothing possible about the steps that were done",
                                     problem);
    }
    if (file->evaluations > left / sizeof(tw_evaluation_t) ||
        file->epochs > left / sizeof(tw_training_record_t) ||
        file->numbers > left / sizeof(double)) {
        return tw_checkpoint_damaged(path, "is too short", problem);
    }
    return 0;
}

int tw_checkpoint_open(const tw_training_t *t, const char *path, FILE **stream_p, uint64_t *body_p,
                       tw_checkpoint_header_t *header, tw_problem_t *problem)
{
    tw_checkpoint_header_t run;

    tw_checkpoint_header_fill(t, &run);
    return open_checked(path, stream_p, header, body_p, problem) == 0 &&
                   tw_checkpoint_compare(path, t->options->allowed, header, &run, problem) == 0
               ? check_progress(t, path, header, *body_p, problem)
               : -1;
}
