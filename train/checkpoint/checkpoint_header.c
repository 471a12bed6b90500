/* SPDX-License-Identifier: BSD-3-Clause
 * train/checkpoint/checkpoint_header.c - the header of a checkpoint, and the check that this run
 * may continue from it. On rank 0 only.
 */
#include "config.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "train/checkpoint/checkpoint_inside.h"
#include "train/base/hash.h"

#define TW_CHECKPOINT_ORDER  UINT64_C(0x0102030405060708)
#define TW_CHECKPOINT_FORMAT 7
#define TW_EPOCHS_MOST       1000000u

static const char magic[8] = {'t', 'w', 't', 'r', 'a', 'i', 'n', '0' + TW_CHECKPOINT_FORMAT};

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
    tw_codecs_text(&t->codecs, 0, t->split, header->codec, sizeof(header->codec));
    tw_weight_codec_text(&t->codecs.weight, header->weights, sizeof(header->weights));
    snprintf(header->scheme, sizeof(header->scheme), "%s", o->scheme);
    snprintf(header->scale, sizeof(header->scale), "%s", o->lr_scale);
    snprintf(header->statistics, sizeof(header->statistics),
             "%s,%" PRIu64 ",%" PRIu64 ",%g,%" PRIu64, o->bn, o->bn_group, o->bn_max_batch,
             o->bn_tolerance, o->bn_patience);
    snprintf(header->schedule, sizeof(header->schedule), "%s",
             o->schedule != NULL ? o->schedule : t->network.schedule);
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

static int differs(const char *path, const char *what, const char *file, const char *run,
                   tw_problem_t *problem)
{
    return tw_problem_set(problem, "--checkpoint %s: is of %s %s, this run of %s", path, what, file,
                          run);
}

static int same_text(const char *path, const char *what, char *file, const char *run, size_t size,
                     tw_problem_t *problem)
{
    file[size - 1] = '\0';
    return strcmp(file, run) == 0 ? 0 : differs(path, what, file, run, problem);
}

static int same_count(const char *path, const char *what, uint64_t file, uint64_t run,
                      tw_problem_t *problem)
{
    char a[32], b[32];

    snprintf(a, sizeof(a), "%" PRIu64, file);
    snprintf(b, sizeof(b), "%" PRIu64, run);
    return file == run ? 0 : differs(path, what, a, b, problem);
}

static int same_number(const char *path, const char *what, double file, double run,
                       tw_problem_t *problem)
{
    char a[32], b[32];

    snprintf(a, sizeof(a), "%g", file);
    snprintf(b, sizeof(b), "%g", run);
    return memcmp(&file, &run, sizeof(run)) == 0 ? 0 : differs(path, what, a, b, problem);
}

/* A run goes on only where it stopped: all that decides what comes next is the same, but for the
 * number of ranks. The scheme comes before the codec, whose classes follow from it. */
static int compare_headers(const char *path, tw_checkpoint_header_t *file,
                           const tw_checkpoint_header_t *run, tw_problem_t *problem)
{
    if (same_text(path, "model", file->model, run->model, sizeof(run->model), problem) != 0 ||
        same_text(path, "scheme", file->scheme, run->scheme, sizeof(run->scheme), problem) != 0 ||
        same_text(path, "codec", file->codec, run->codec, sizeof(run->codec), problem) != 0 ||
        same_text(path, "weights that travel in", file->weights, run->weights, sizeof(run->weights),
                  problem) != 0 ||
        same_text(path, "scaling of rates", file->scale, run->scale, sizeof(run->scale), problem) !=
            0 ||
        same_text(path, "batch statistics (mode, group, most batch, tolerance, patience)",
                  file->statistics, run->statistics, sizeof(run->statistics), problem) != 0 ||
        same_text(path, "schedule", file->schedule, run->schedule, sizeof(run->schedule),
                  problem) != 0) {
        return -1;
    }
    if (file->network_hash != run->network_hash) {
        return tw_checkpoint_damaged(path, "is of another text of the model", problem);
    }
    if (file->data_hash != run->data_hash) {
        return tw_checkpoint_damaged(path, "is of other data", problem);
    }
    if (same_count(path, "seed", file->seed, run->seed, problem) != 0 ||
        same_count(path, "batch", file->batch, run->batch, problem) != 0 ||
        same_count(path, "update period", file->update_period, run->update_period, problem) != 0 ||
        same_number(path, "learning rate", file->rate, run->rate, problem) != 0 ||
        same_number(path, "momentum", file->momentum, run->momentum, problem) != 0 ||
        same_number(path, "decay", file->decay, run->decay, problem) != 0) {
        return -1;
    }
    return 0;
}

/* How far the run was, and whether the file can hold so much of it; the data are the same here. */
static int check_progress(const tw_training_t *t, const char *path,
                          const tw_checkpoint_header_t *file, uint64_t body, tw_problem_t *problem)
{
    const uint64_t left = body - sizeof(*file);

    if (file->step == 0 || file->epochs > TW_EPOCHS_MOST || file->step < file->epochs * t->steps ||
        file->step >= (file->epochs + 1) * t->steps) {
        return tw_checkpoint_damaged(path, "says nothing possible about the steps that were done",
                                     problem);
    }
    if (file->evaluations > left / sizeof(tw_evaluation_t) ||
        file->epochs > left / sizeof(tw_training_record_t)) {
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
                   compare_headers(path, header, &run, problem) == 0
               ? check_progress(t, path, header, *body_p, problem)
               : -1;
}
