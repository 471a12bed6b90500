/* SPDX-License-Identifier: BSD-3-Clause
 * train/checkpoint.c - see checkpoint.h. Rank 0 writes and reads; weights are the same everywhere,
 * residuals are gathered and spread by the library.
 */
#include "config.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "train/checkpoint.h"
#include "train/file.h"
#include "train/hash.h"
#include "train/random.h"

#define TW_CHECKPOINT_ORDER  UINT64_C(0x0102030405060708)
#define TW_CHECKPOINT_FORMAT 5
#define TW_EPOCHS_MOST       1000000u

static const char magic[8] = {'t', 'w', 't', 'r', 'a', 'i', 'n', '0' + TW_CHECKPOINT_FORMAT};

typedef struct tw_header {
    char     magic[8];
    uint64_t order, format;
    uint64_t epochs, step, evaluations, ranks;
    double   seconds;
    uint64_t seed, batch, data_hash, network_hash;
    uint64_t update_period;
    double   rate, momentum, decay;
    double   adaptive[TW_ADAPTIVE_NUMBERS];
    char model[64], codec[800], weights[200], scheme[24], scale[24], statistics[64], schedule[192];
} tw_header_t;

static void fill_header(const tw_training_t *t, tw_header_t *header)
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
static void write_head(tw_training_t *t, FILE *stream)
{
    const tw_evaluations_t *e = &t->evaluations;
    tw_header_t             header;

    fill_header(t, &header);
    fwrite(&header, sizeof(header), 1, stream);
    fwrite(t->records, sizeof(*t->records), t->epochs, stream);
    fwrite(&t->record, sizeof(t->record), 1, stream);
    if (e->count > 0) {
        fwrite(e->list, sizeof(*e->list), e->count, stream);
    }
}

/* ---- tensors that are split over the ranks ------------------------------------------------- */

/* Units that fit a piece of this many elements, at least one. */
#define TW_PIECE ((size_t)1 << 22)

static size_t units_of_piece(const tw_param_t *p)
{
    return p->per_unit < TW_PIECE ? TW_PIECE / p->per_unit : 1;
}

/* The elements that each rank has of units a .. b - 1, and where: for MPI_Gatherv and MPI_Scatterv.
 */
static void share_piece(const tw_training_t *t, const tw_param_t *p, size_t a, size_t b,
                        int *counts, int *places)
{
    for (int r = 0; r < t->size; r++) {
        size_t       first;
        const size_t units = tw_params_share(p->units_all, r, t->size, &first);
        const size_t from  = first > a ? first : a;
        const size_t to    = first + units < b ? first + units : b;

        counts[r] = to > from ? (int)((to - from) * p->per_unit) : 0;
        places[r] = to > from ? (int)((from - a) * p->per_unit) : 0;
    }
}

/* Where this rank's part of units a .. b - 1 begins in its share of a tensor. */
static float *own_part(const tw_param_t *p, float *share, size_t a)
{
    const size_t from = a > p->units_first ? a - p->units_first : 0;

    return share + (from < p->units ? from * p->per_unit : 0);
}

typedef struct tw_pieces {
    float *piece; /* on rank 0: units of one piece */
    int   *counts, *places;
} tw_pieces_t;

/* Collective: all ranks learn whether all have the memory. */
static int make_pieces(const tw_training_t *t, tw_pieces_t *pieces, tw_problem_t *problem)
{
    size_t most = TW_PIECE;
    int    mine, all;

    for (size_t i = 0; i < t->params.count; i++) {
        most = t->params.param[i].per_unit > most ? t->params.param[i].per_unit : most;
    }
    pieces->piece  = t->rank == 0 ? malloc(most * sizeof(float)) : NULL;
    pieces->counts = malloc((size_t)t->size * sizeof(int));
    pieces->places = malloc((size_t)t->size * sizeof(int));
    mine =
        (t->rank != 0 || pieces->piece != NULL) && pieces->counts != NULL && pieces->places != NULL;
    MPI_Allreduce(&mine, &all, 1, MPI_INT, MPI_MIN, t->comm);
    return all ? 0 : tw_problem_set(problem, "out of memory");
}

static void free_pieces(tw_pieces_t *pieces)
{
    free(pieces->piece);
    free(pieces->counts);
    free(pieces->places);
}

static void write_split(const tw_training_t *t, const tw_param_t *p, float *share,
                        tw_pieces_t *pieces, FILE *stream)
{
    const size_t step = units_of_piece(p);

    for (size_t a = 0; a < p->units_all; a += step) {
        const size_t b = p->units_all - a < step ? p->units_all : a + step;

        share_piece(t, p, a, b, pieces->counts, pieces->places);
        MPI_Gatherv(own_part(p, share, a), pieces->counts[t->rank], MPI_FLOAT, pieces->piece,
                    pieces->counts, pieces->places, MPI_FLOAT, 0, t->comm);
        if (t->rank == 0) {
            fwrite(pieces->piece, sizeof(float), (b - a) * p->per_unit, stream);
        }
    }
}

/* *bad_p: the file has ended; what is spread then is garbage, and nobody keeps it. */
static void read_split(const tw_training_t *t, const tw_param_t *p, float *share,
                       tw_pieces_t *pieces, FILE *stream, int *bad_p)
{
    const size_t step = units_of_piece(p);

    for (size_t a = 0; a < p->units_all; a += step) {
        const size_t b = p->units_all - a < step ? p->units_all : a + step;
        const size_t n = (b - a) * p->per_unit;

        share_piece(t, p, a, b, pieces->counts, pieces->places);
        if (t->rank == 0 && fread(pieces->piece, sizeof(float), n, stream) != n) {
            *bad_p = 1;
        }
        MPI_Scatterv(pieces->piece, pieces->counts, pieces->places, MPI_FLOAT,
                     own_part(p, share, a), pieces->counts[t->rank], MPI_FLOAT, 0, t->comm);
    }
}

/* ---- writing ------------------------------------------------------------------------------- */

static void write_whole(const tw_training_t *t, const float *array, size_t n, FILE *stream)
{
    if (t->rank == 0) {
        fwrite(array, sizeof(*array), n, stream);
    }
}

/* The k-th of what the file has of tensors, values (which: 0) and momentum (1) of each, in the order of
 * layers, however they are laid out here. NULL: there are no more. */
static const tw_param_t *tensor_of_file(const tw_training_t *t, size_t k, int *which_p)
{
    static const tw_param_role_t roles[] = {TW_WEIGHT, TW_GAMMA, TW_BIAS, TW_BETA};
    size_t                       left    = k / 2;

    *which_p = (int)(k % 2);
    for (size_t l = 0; l < t->network.layers; l++) {
        for (int r = 0; r < 4; r++) {
            const tw_param_t *p = tw_params_find(&t->params, l, roles[r]);

            if (p != NULL && left-- == 0) {
                return p;
            }
        }
    }
    return NULL;
}

/* Where this rank has values or momentum of a tensor; what owners elsewhere have of it passes through
 * where the gradient is. */
static float *place_of(const tw_training_t *t, const tw_param_t *p, int which, int owned)
{
    return owned        ? t->params.gradient + p->first
           : which == 0 ? t->params.value + p->first
                        : t->params.momentum + p->state;
}

static int owned_elsewhere(const tw_training_t *t, const tw_param_t *p)
{
    return t->masters != NULL && p->ownable;
}

static int write_tensors(tw_training_t *t, tw_pieces_t *pieces, FILE *stream, tw_problem_t *problem)
{
    const tw_param_t *p;
    int               which;

    for (size_t k = 0; (p = tensor_of_file(t, k, &which)) != NULL; k++) {
        const int owned = owned_elsewhere(t, p);

        if (owned && tw_masters_collect(t->masters, p, which, problem) != 0) {
            return -1;
        }
        if (p->split) {
            write_split(t, p, place_of(t, p, which, owned), pieces, stream);
        } else {
            write_whole(t, place_of(t, p, which, owned), p->count, stream);
        }
    }
    write_whole(t, t->params.state, t->params.states, stream);
    if (t->masters != NULL && t->rank == 0) {
        tw_masters_write_rule(t->masters, stream);
    }
    return 0;
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
    tw_file_t   file   = {.stream = NULL};
    tw_pieces_t pieces = {NULL, NULL, NULL};
    int         mine   = 0, all;

    if (t->rank == 0) {
        mine = tw_file_begin(&file, "--checkpoint", path, problem);
        if (mine == 0 && file.special) {
            mine = tw_problem_set(problem, "--checkpoint %s: is not a regular file", path);
        }
    }
    MPI_Allreduce(&mine, &all, 1, MPI_INT, MPI_MIN, t->comm);
    if (all == 0) {
        all = make_pieces(t, &pieces, problem);
    }
    if (all == 0) {
        if (t->rank == 0) {
            write_head(t, file.stream);
        }
        all = write_tensors(t, &pieces, file.stream, problem);
    }
    if (all == 0) {
        all = tw_exchange_save(t->exchange, file.stream, problem);
    }
    free_pieces(&pieces);
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

/* The first words say whose file it is; the rest of the header is as long as the format says. */
static int read_header(const char *path, FILE *stream, tw_header_t *header, tw_problem_t *problem)
{
    const size_t first = offsetof(tw_header_t, epochs);

    if (fread(header, first, 1, stream) != 1 ||
        memcmp(header->magic, magic, sizeof(magic) - 1) != 0) {
        return damaged(path, "is not a checkpoint of thinwire-train", problem);
    }
    if (header->order != TW_CHECKPOINT_ORDER) {
        return damaged(path, "was written on a machine of other byte order", problem);
    }
    if (header->format != TW_CHECKPOINT_FORMAT) {
        return tw_problem_set(problem,
                              "--checkpoint %s: was written by another version, in format %" PRIu64
                              "; this version reads format %d",
                              path, header->format, TW_CHECKPOINT_FORMAT);
    }
    if (fread(&header->epochs, sizeof(*header) - first, 1, stream) != 1) {
        return damaged(path, "is damaged or incomplete", problem);
    }
    return 0;
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
    if (read_header(path, stream, header, problem) != 0) {
        return -1;
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
 * number of ranks. */
static int compare_headers(const char *path, tw_header_t *file, const tw_header_t *run,
                           tw_problem_t *problem)
{
    if (same_text(path, "model", file->model, run->model, sizeof(run->model), problem) != 0 ||
        same_text(path, "codec", file->codec, run->codec, sizeof(run->codec), problem) != 0 ||
        same_text(path, "weights that travel in", file->weights, run->weights, sizeof(run->weights),
                  problem) != 0 ||
        same_text(path, "scheme", file->scheme, run->scheme, sizeof(run->scheme), problem) != 0 ||
        same_text(path, "scaling of rates", file->scale, run->scale, sizeof(run->scale), problem) !=
            0 ||
        same_text(path, "batch statistics (mode, group, most batch, tolerance, patience)",
                  file->statistics, run->statistics, sizeof(run->statistics), problem) != 0 ||
        same_text(path, "schedule", file->schedule, run->schedule, sizeof(run->schedule),
                  problem) != 0) {
        return -1;
    }
    if (file->network_hash != run->network_hash) {
        return damaged(path, "is of another text of the model", problem);
    }
    if (file->data_hash != run->data_hash) {
        return damaged(path, "is of other data", problem);
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
static int check_progress(const tw_training_t *t, const char *path, const tw_header_t *file,
                          uint64_t body, tw_problem_t *problem)
{
    const uint64_t left = body - sizeof(*file);

    if (file->step == 0 || file->epochs > TW_EPOCHS_MOST || file->step < file->epochs * t->steps ||
        file->step >= (file->epochs + 1) * t->steps) {
        return damaged(path, "says nothing possible about the steps that were done", problem);
    }
    if (file->evaluations > left / sizeof(tw_evaluation_t) ||
        file->epochs > left / sizeof(tw_training_record_t)) {
        return damaged(path, "is too short", problem);
    }
    return 0;
}

/* Room for the records of the file and of the run to come, which may end inside an epoch. */
static int make_room(tw_training_t *t, const tw_header_t *header, tw_problem_t *problem)
{
    tw_training_record_t *records;

    if (header->epochs >= t->room) {
        records = realloc(t->records, (header->epochs + 1) * sizeof(*records));
        if (records == NULL) {
            return tw_problem_set(problem, "out of memory");
        }
        t->records = records;
        t->room    = header->epochs + 1;
    }
    return tw_evaluations_reserve(&t->evaluations, header->evaluations, problem);
}

/* Read on rank 0 and give to all. */
static void read_whole(const tw_training_t *t, void *array, size_t bytes, FILE *stream, int *bad_p)
{
    char *at = array;

    if (t->rank == 0 && fread(array, 1, bytes, stream) != bytes) {
        *bad_p = 1;
    }
    for (size_t done = 0; done < bytes;) {
        const size_t left = bytes - done, n = left < ((size_t)1 << 30) ? left : (size_t)1 << 30;

        MPI_Bcast(at + done, (int)n, MPI_BYTE, 0, t->comm);
        done += n;
    }
}

static int finite_record(const tw_training_record_t *r)
{
    const double *number = (const double *)r;

    for (size_t i = 0; i < sizeof(*r) / sizeof(*number); i++) {
        if (!isfinite(number[i])) {
            return 0;
        }
    }
    return r->images >= 0.0 && r->seconds >= 0.0;
}

/* What the run has been, the same on all ranks now. */
static int check_history(const tw_training_t *t, const char *path, const tw_header_t *header,
                         tw_problem_t *problem)
{
    int good = finite_record(&t->record) &&
               tw_evaluations_possible(&t->evaluations, header->step, header->seconds);

    for (uint64_t e = 0; e < header->epochs; e++) {
        good &= finite_record(&t->records[e]);
    }
    return good ? 0 : damaged(path, "holds results that cannot be", problem);
}

/* Values, momentum and running statistics; what owners elsewhere keep of momentum they take from where
 * the gradients are, as they take values from those of the parameters when the run goes on. */
static void read_tensors(tw_training_t *t, tw_pieces_t *pieces, FILE *stream, int *bad_p)
{
    const tw_param_t *p;
    int               which;

    for (size_t k = 0; (p = tensor_of_file(t, k, &which)) != NULL; k++) {
        float *to = place_of(t, p, which, which == 1 && owned_elsewhere(t, p));

        if (p->split) {
            read_split(t, p, to, pieces, stream, bad_p);
        } else {
            read_whole(t, to, p->count * sizeof(float), stream, bad_p);
        }
    }
    read_whole(t, t->params.state, t->params.states * sizeof(float), stream, bad_p);
    if (t->masters != NULL) {
        tw_masters_take_state(t->masters);
    }
}

/* How far AWP is: of every group the numbers of its rule. */
static int read_rule(tw_training_t *t, const char *path, FILE *stream, tw_problem_t *problem)
{
    const size_t n       = t->masters != NULL ? tw_masters_numbers(t->masters) : 0;
    double      *numbers = calloc(n + 1, sizeof(*numbers));
    int          mine = numbers == NULL, bad = 0, status;

    MPI_Allreduce(&mine, &bad, 1, MPI_INT, MPI_MAX, t->comm);
    if (bad) {
        free(numbers);
        return tw_problem_set(problem, "out of memory");
    }
    read_whole(t, numbers, n * sizeof(*numbers), stream, &bad);
    MPI_Bcast(&bad, 1, MPI_INT, 0, t->comm);
    status = bad      ? damaged(path, "is too short", problem)
             : n == 0 ? 0
                      : tw_masters_restore_rule(t->masters, numbers, problem);
    free(numbers);
    return status;
}

/* Records, tensors and running statistics. */
static int read_body(tw_training_t *t, const char *path, FILE *stream, const tw_header_t *header,
                     tw_problem_t *problem)
{
    tw_pieces_t pieces = {NULL, NULL, NULL};
    int         bad    = 0, status;

    status = make_pieces(t, &pieces, problem);
    if (status == 0) {
        read_whole(t, t->records, header->epochs * sizeof(*t->records), stream, &bad);
        read_whole(t, &t->record, sizeof(t->record), stream, &bad);
        read_whole(t, t->evaluations.list, header->evaluations * sizeof(*t->evaluations.list),
                   stream, &bad);
        t->evaluations.count = header->evaluations;
        read_tensors(t, &pieces, stream, &bad);
        MPI_Bcast(&bad, 1, MPI_INT, 0, t->comm);
        status =
            bad ? damaged(path, "is too short", problem) : check_history(t, path, header, problem);
    }
    free_pieces(&pieces);
    return status == 0 ? read_rule(t, path, stream, problem) : status;
}

static int load_on_root(tw_training_t *t, const char *path, FILE **stream_p, uint64_t *body_p,
                        tw_header_t *header, tw_problem_t *problem)
{
    tw_header_t run;

    fill_header(t, &run);
    return open_checked(path, stream_p, header, body_p, problem) == 0 &&
                   compare_headers(path, header, &run, problem) == 0
               ? check_progress(t, path, header, *body_p, problem)
               : -1;
}

/* After the header; collective. */
static int load_rest(tw_training_t *t, const char *path, FILE *stream, const tw_header_t *header,
                     tw_problem_t *problem)
{
    int mine = make_room(t, header, problem), all;

    MPI_Allreduce(&mine, &all, 1, MPI_INT, MPI_MIN, t->comm);
    if (all != 0) {
        return -1;
    }
    if (tw_adaptive_restore(&t->norm.rule, header->adaptive) != TW_OK) {
        return damaged(path, "holds a state of batch statistics that cannot be", problem);
    }
    if (read_body(t, path, stream, header, problem) != 0) {
        return -1;
    }
    t->epochs  = header->epochs;
    t->step    = header->step;
    t->seconds = header->seconds;
    return tw_exchange_restore(t->exchange, stream, problem);
}

int tw_checkpoint_load(tw_training_t *t, const char *path, tw_problem_t *problem)
{
    tw_header_t header = {.epochs = 0};
    FILE       *stream = NULL;
    uint64_t    body   = 0;
    int         good = 0, status = -1;

    if (t->rank == 0) {
        good = load_on_root(t, path, &stream, &body, &header, problem) == 0;
    }
    MPI_Bcast(&good, 1, MPI_INT, 0, t->comm);
    MPI_Bcast(&header, sizeof(header), MPI_BYTE, 0, t->comm);
    if (good) {
        status = load_rest(t, path, stream, &header, problem);
    }
    if (stream != NULL) {
        if (status == 0 && (uint64_t)ftell(stream) != body) {
            status = damaged(path, "is longer than it should be", problem);
        }
        fclose(stream);
    }
    return status;
}

/* ---- hash ---------------------------------------------------------------------------------- */

/* Sums of hashes of units, which do not depend on who holds which. What all ranks have, rank 0
 * tells. */
void tw_training_hash(tw_training_t *t)
{
    uint64_t mine = 0, all = 0;

    for (size_t i = 0; i < t->params.count; i++) {
        const tw_param_t *p   = &t->params.param[i];
        const uint64_t    key = tw_random_mix(4 * p->layer + (uint64_t)p->role + 1);

        for (size_t u = 0; u < p->units && (p->split || t->rank == 0); u++) {
            mine +=
                tw_hash(tw_random_mix(key + p->units_first + u),
                        t->params.value + p->first + u * p->per_unit, p->per_unit * sizeof(float));
        }
    }
    MPI_Allreduce(&mine, &all, 1, MPI_UINT64_T, MPI_SUM, t->comm);
    t->hash = tw_random_mix(all);
}
