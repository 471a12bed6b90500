/* SPDX-License-Identifier: BSD-3-Clause
 * train/checkpoint.c - see checkpoint.h. Rank 0 writes and reads; weights are the same everywhere,
 * residuals are gathered and spread by the library.
 */
#include "config.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "train/checkpoint.h"
#include "train/file.h"
#include "train/hash.h"

#define TW_CHECKPOINT_ORDER  UINT64_C(0x0102030405060708)
#define TW_CHECKPOINT_FORMAT 1
#define TW_EPOCHS_MOST       1000000u

static const char magic[8] = {'t', 'w', 't', 'r', 'a', 'i', 'n', '1'};

typedef struct tw_header {
    char     magic[8];
    uint64_t order, format;
    uint64_t epochs, ranks;
    uint64_t seed, batch, data_hash;
    double   rate;
    char     model[32], shape[96], codec[192];
} tw_header_t;

static void fill_header(const tw_training_t *t, tw_header_t *header)
{
    memset(header, 0, sizeof(*header));
    memcpy(header->magic, magic, sizeof(magic));
    header->order     = TW_CHECKPOINT_ORDER;
    header->format    = TW_CHECKPOINT_FORMAT;
    header->epochs    = t->epochs;
    header->ranks     = (uint64_t)t->size;
    header->seed      = t->options->seed;
    header->batch     = t->options->batch;
    header->data_hash = t->data_hash;
    header->rate      = t->options->rate;
    snprintf(header->model, sizeof(header->model), "%s", t->model->name);
    tw_model_shape(t->model, header->shape, sizeof(header->shape));
    snprintf(header->codec, sizeof(header->codec), "%s", tw_exchange_spec(t->exchange));
}

/* Arrays that all ranks have alike, one after another; NULL at the end. */
static float *array_at(const tw_net_t *net, size_t k, size_t *n_p)
{
    const size_t l = k / 2;

    if (l < net->layers) {
        *n_p = net->layer[l].in * net->layer[l].units;
        return k % 2 == 0 ? net->layer[l].w : net->layer[l].m;
    }
    *n_p = net->biases;
    return l > net->layers ? NULL : k % 2 == 0 ? net->b : net->bm;
}

/* Check sum of the first `bytes` bytes. */
static int sum_stream(FILE *stream, uint64_t bytes, uint64_t *sum_p)
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

/* Write errors stay in the stream's error flag and are reported once, at the end. */
static void write_common(tw_training_t *t, FILE *stream)
{
    tw_header_t  header;
    const float *array;
    size_t       n;

    fill_header(t, &header);
    fwrite(&header, sizeof(header), 1, stream);
    fwrite(t->records, sizeof(*t->records), t->epochs, stream);
    for (size_t k = 0; (array = array_at(&t->net, k, &n)) != NULL; k++) {
        fwrite(array, sizeof(*array), n, stream);
    }
}

static int seal(tw_file_t *file, tw_problem_t *problem)
{
    uint64_t sum;
    long     length;

    if (fflush(file->stream) == 0 && !ferror(file->stream)) {
        length = ftell(file->stream);
        if (length < 0 || sum_stream(file->stream, (uint64_t)length, &sum) != 0 ||
            fseek(file->stream, 0, SEEK_END) != 0) {
            tw_problem_set(problem, "--checkpoint %s: cannot be read back", file->path);
            tw_file_drop(file);
            return -1;
        }
        fwrite(&sum, sizeof(sum), 1, file->stream);
    }
    return tw_file_end(file, "--checkpoint", problem);
}

int tw_checkpoint_save(tw_training_t *t, const char *path, tw_problem_t *problem)
{
    tw_file_t file = {.stream = NULL};
    int       mine = 0, all;

    if (t->rank == 0) {
        mine = tw_file_begin(&file, "--checkpoint", path, problem);
        if (mine == 0 && file.special) {
            mine = tw_problem_set(problem, "--checkpoint %s: is not a regular file", path);
        }
        if (mine == 0) {
            write_common(t, file.stream);
        }
    }
    MPI_Allreduce(&mine, &all, 1, MPI_INT, MPI_MIN, t->comm);
    if (all == 0) {
        all = tw_exchange_save(t->exchange, file.stream, problem);
    }
    if (file.stream == NULL) {
        return all;
    }
    if (all != 0) {
        tw_file_drop(&file);
        return -1;
    }
    return seal(&file, problem);
}

/* ---- reading ------------------------------------------------------------------------------- */

static int damaged(const char *path, const char *how, tw_problem_t *problem)
{
    return tw_problem_set(problem, "--checkpoint %s: %s", path, how);
}

/* Open it, see that it is one of ours and that its check sum holds. */
static int open_checked(const char *path, FILE **stream_p, tw_header_t *header, uint64_t *body_p,
                        tw_problem_t *problem)
{
    FILE    *stream = fopen(path, "rb");
    uint64_t sum = 0, want = 0;
    long     length;

    if (stream == NULL) {
        return tw_problem_set(problem, "--checkpoint %s: cannot be read: %s", path,
                              strerror(errno));
    }
    *stream_p = stream;
    if (fread(header, sizeof(*header), 1, stream) != 1 ||
        memcmp(header->magic, magic, sizeof(magic)) != 0) {
        return damaged(path, "is not a checkpoint of thinwire-train", problem);
    }
    if (header->order != TW_CHECKPOINT_ORDER || header->format != TW_CHECKPOINT_FORMAT) {
        return damaged(path, "was written by another version or on a machine of other byte order",
                       problem);
    }
    if (fseek(stream, 0, SEEK_END) != 0 || (length = ftell(stream)) < 0 ||
        (size_t)length < sizeof(*header) + sizeof(sum) ||
        sum_stream(stream, (uint64_t)length - sizeof(sum), &sum) != 0 ||
        fread(&want, sizeof(want), 1, stream) != 1 || sum != want) {
        return damaged(path, "is damaged or incomplete (its check sum is wrong)", problem);
    }
    *body_p = (uint64_t)length - sizeof(sum);
    return fseek(stream, sizeof(*header), SEEK_SET) == 0
               ? 0
               : damaged(path, "cannot be read from the middle", problem);
}

static int differs(const char *path, const char *what, const char *file, const char *run,
                   tw_problem_t *problem)
{
    return tw_problem_set(problem, "--checkpoint %s: is of %s %s, this run of %s", path, what, file,
                          run);
}

/* A run goes on only where it stopped: same model, data, codec, seed, batch and rate. */
static int compare_headers(const char *path, tw_header_t *file, const tw_header_t *run,
                           tw_problem_t *problem)
{
    char a[32], b[32];

    file->model[sizeof(file->model) - 1] = '\0';
    file->shape[sizeof(file->shape) - 1] = '\0';
    file->codec[sizeof(file->codec) - 1] = '\0';
    if (strcmp(file->model, run->model) != 0 || strcmp(file->shape, run->shape) != 0) {
        return differs(path, "model", file->shape, run->shape, problem);
    }
    if (strcmp(file->codec, run->codec) != 0) {
        return differs(path, "codec", file->codec, run->codec, problem);
    }
    if (file->data_hash != run->data_hash) {
        return damaged(path, "is of other data", problem);
    }
    snprintf(a, sizeof(a), "%" PRIu64, file->seed);
    snprintf(b, sizeof(b), "%" PRIu64, run->seed);
    if (file->seed != run->seed) {
        return differs(path, "seed", a, b, problem);
    }
    snprintf(a, sizeof(a), "%" PRIu64, file->batch);
    snprintf(b, sizeof(b), "%" PRIu64, run->batch);
    if (file->batch != run->batch) {
        return differs(path, "batch", a, b, problem);
    }
    snprintf(a, sizeof(a), "%g", file->rate);
    snprintf(b, sizeof(b), "%g", run->rate);
    if (memcmp(&file->rate, &run->rate, sizeof(run->rate)) != 0) {
        return differs(path, "learning rate", a, b, problem);
    }
    if (file->epochs == 0 || file->epochs > TW_EPOCHS_MOST) {
        return damaged(path, "holds no epoch", problem);
    }
    return 0;
}

static int read_common(tw_training_t *t, const char *path, FILE *stream, uint64_t epochs,
                       tw_problem_t *problem)
{
    float *array;
    size_t n;
    int    bad = fread(t->records, sizeof(*t->records), epochs, stream) != epochs;

    for (size_t k = 0; !bad && (array = array_at(&t->net, k, &n)) != NULL; k++) {
        bad = fread(array, sizeof(*array), n, stream) != n;
    }
    return bad ? damaged(path, "is too short", problem) : 0;
}

/* Room for the records of the file and of the run to come. */
static int make_room(tw_training_t *t, uint64_t epochs, tw_problem_t *problem)
{
    tw_record_t *records;

    if (epochs <= t->options->epochs) {
        return 0;
    }
    records = realloc(t->records, epochs * sizeof(*records));
    if (records == NULL) {
        return tw_problem_set(problem, "out of memory");
    }
    t->records = records;
    return 0;
}

/* What rank 0 has read, to all. */
static void spread(tw_training_t *t)
{
    float *array;
    size_t n;

    MPI_Bcast(t->records, (int)(t->epochs * sizeof(*t->records)), MPI_BYTE, 0, t->comm);
    for (size_t k = 0; (array = array_at(&t->net, k, &n)) != NULL; k++) {
        MPI_Bcast(array, (int)n, MPI_FLOAT, 0, t->comm);
    }
}

static int load_on_root(tw_training_t *t, const char *path, FILE **stream_p, uint64_t *body_p,
                        uint64_t *epochs_p, tw_problem_t *problem)
{
    tw_header_t header, run;

    fill_header(t, &run);
    if (open_checked(path, stream_p, &header, body_p, problem) != 0 ||
        compare_headers(path, &header, &run, problem) != 0) {
        return -1;
    }
    *epochs_p = header.epochs;
    return 0;
}

int tw_checkpoint_load(tw_training_t *t, const char *path, tw_problem_t *problem)
{
    FILE    *stream  = NULL;
    uint64_t word[2] = {0, 0}, body = 0; /* 1 if all is well; epochs */
    int      mine = 0, all;

    if (t->rank == 0) {
        word[0] = load_on_root(t, path, &stream, &body, &word[1], problem) == 0;
    }
    MPI_Bcast(word, 2, MPI_UINT64_T, 0, t->comm);
    if (word[0] == 1) {
        mine = make_room(t, word[1], problem);
        if (mine == 0 && t->rank == 0) {
            mine = read_common(t, path, stream, word[1], problem);
        }
    } else {
        mine = -1;
    }
    MPI_Allreduce(&mine, &all, 1, MPI_INT, MPI_MIN, t->comm);
    if (all == 0) {
        t->epochs = word[1];
        spread(t);
        all = tw_exchange_restore(t->exchange, stream, problem);
    }
    if (stream != NULL) {
        if (all == 0 && (uint64_t)ftell(stream) != body) {
            all = damaged(path, "is longer than it should be", problem);
        }
        fclose(stream);
    }
    return all;
}
