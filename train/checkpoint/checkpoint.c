/* SPDX-License-Identifier: BSD-3-Clause
 * train/checkpoint/checkpoint.c - see checkpoint.h. Rank 0 writes and reads; the library gathers
 * and distributes residuals.
 */
#include "config.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "command/file.h"
#include "train/checkpoint/checkpoint_inside.h"
#include "train/base/hash.h"
#include "train/base/random.h"

/* ---- writing ------------------------------------------------------------------------------- */

/* Write errors stay in the stream's error flag and are reported once, at the end. */
static void write_head(tw_training_t *t, FILE *stream)
{
    const tw_evaluations_t *e = &t->evaluations;
    tw_checkpoint_header_t  header;

    tw_checkpoint_header_fill(t, &header);
    fwrite(&header, sizeof(header), 1, stream);
    fwrite(t->records, sizeof(*t->records), t->epochs, stream);
    fwrite(&t->record, sizeof(t->record), 1, stream);
    if (e->count > 0) {
        fwrite(e->list, sizeof(*e->list), e->count, stream);
    }
}

static int seal(tw_file_t *file, tw_problem_t *problem)
{
    uint64_t sum;
    long     length;

    if (fflush(file->stream) == 0 && !ferror(file->stream)) {
        length = ftell(file->stream);
        if (length < 0 || tw_checkpoint_sum(file->stream, (uint64_t)length, &sum) != 0 ||
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
    }
    MPI_Allreduce(&mine, &all, 1, MPI_INT, MPI_MIN, t->comm);
    if (all == 0) {
        if (t->rank == 0) {
            write_head(t, file.stream);
        }
        all = tw_checkpoint_write_tensors(t, file.stream, problem);
    }
    if (all == 0) {
        if (t->rank == 0) {
            tw_masters_write_rule(t->masters, file.stream);
        }
        all = tw_exchange_save(t->exchange, file.stream, problem);
    }
    if (all == 0) {
        all = tw_checkpoint_write_parts(t, file.stream, problem);
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

/* Room for the records of the file and of the run to come, which may end inside an epoch. */
static int make_room(tw_training_t *t, const tw_checkpoint_header_t *header, tw_problem_t *problem)
{
    const uint64_t        most = header->epochs + 2 + t->options->steps / t->steps;
    tw_training_record_t *records;

    if (most > t->room) {
        records = realloc(t->records, most * sizeof(*records));
        if (records == NULL) {
            return tw_problem_set(problem, "out of memory");
        }
        t->records = records;
        t->room    = most;
    }
    return tw_evaluations_reserve(&t->evaluations, header->evaluations, problem);
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
static int check_history(const tw_training_t *t, const char *path,
                         const tw_checkpoint_header_t *header, tw_problem_t *problem)
{
    int good =
        finite_record(&t->record) &&
        tw_evaluations_possible(&t->evaluations, header->step + header->shift, header->seconds);

    for (uint64_t e = 0; e < header->epochs; e++) {
        good &= finite_record(&t->records[e]);
    }
    return good ? 0 : tw_checkpoint_damaged(path, "holds results that cannot be", problem);
}

/* How far AWP is: of every group the numbers of its rule. Another codec has no use for them. */
static int read_rule(tw_training_t *t, const char *path, FILE *stream,
                     const tw_checkpoint_header_t *file, const tw_checkpoint_header_t *run,
                     tw_problem_t *problem)
{
    const size_t n = file->numbers;
    const int    used =
        strcmp(file->weights, run->weights) == 0 && tw_checkpoint_same_split(file, run);
    double *numbers = calloc(n + 1, sizeof(*numbers));
    int     mine = numbers == NULL, bad = 0, status;

    MPI_Allreduce(&mine, &bad, 1, MPI_INT, MPI_MAX, t->comm);
    if (bad) {
        free(numbers);
        return tw_problem_set(problem, "out of memory");
    }
    tw_checkpoint_read_bcast(t, numbers, n * sizeof(*numbers), stream, &bad);
    MPI_Bcast(&bad, 1, MPI_INT, 0, t->comm);
    status = bad ? tw_checkpoint_damaged(path, "is too short", problem)
             : used && n != run->numbers
                 ? tw_checkpoint_damaged(path, "is not as its header says", problem)
             : !used || n == 0
                 ? 0
                 : tw_masters_restore_rule(t->masters, numbers, tw_checkpoint_same_order(file, run),
                                           problem);
    free(numbers);
    return status;
}

/* Records, tensors and running statistics. */
static int read_body(tw_training_t *t, const char *path, FILE *stream,
                     const tw_checkpoint_header_t *header, const tw_checkpoint_header_t *run,
                     tw_problem_t *problem)
{
    int bad = 0, status;

    tw_checkpoint_read_bcast(t, t->records, header->epochs * sizeof(*t->records), stream, &bad);
    tw_checkpoint_read_bcast(t, &t->record, sizeof(t->record), stream, &bad);
    tw_checkpoint_read_bcast(t, t->evaluations.list,
                             header->evaluations * sizeof(*t->evaluations.list), stream, &bad);
    t->evaluations.count = header->evaluations;
    status               = tw_checkpoint_read_tensors(t, stream, &bad, problem);
    if (status == 0) {
        MPI_Bcast(&bad, 1, MPI_INT, 0, t->comm);
        status = bad ? tw_checkpoint_damaged(path, "is too short", problem)
                     : check_history(t, path, header, problem);
    }
    return status == 0 ? read_rule(t, path, stream, header, run, problem) : status;
}

/* Where the run goes on: with another batch at the one that holds the epoch's next example, with
 * other data at the beginning of the epoch. */
static void take_place(tw_training_t *t, const tw_checkpoint_header_t *file)
{
    const uint64_t begun = file->step - file->epochs * file->steps;

    t->epochs  = file->epochs;
    t->seconds = file->seconds;
    t->step    = t->epochs * t->steps;
    if (file->data_hash == t->data_hash) {
        t->step += begun * file->batch / t->batch;
    }
    t->shift = file->shift + file->step - t->step;
}

/* Residuals, if they are of what this run sends. */
static int load_residuals(tw_training_t *t, FILE *stream, uint64_t body,
                          const tw_checkpoint_header_t *file, const tw_checkpoint_header_t *run,
                          tw_problem_t *problem)
{
    if (!t->options->evaluate_only && tw_checkpoint_same_residuals(file, run)) {
        if (tw_exchange_restore(t->exchange, stream, problem) != 0) {
            return -1;
        }
        if (strcmp(file->scheme, run->scheme) == 0) {
            return tw_checkpoint_read_parts(t, stream, problem);
        }
    }
    return stream == NULL || fseek(stream, (long)body, SEEK_SET) == 0
               ? 0
               : tw_problem_set(problem, "--checkpoint: cannot be read to its end");
}

/* After the header; collective. */
static int load_rest(tw_training_t *t, const char *path, FILE *stream, uint64_t body,
                     const tw_checkpoint_header_t *header, tw_problem_t *problem)
{
    tw_checkpoint_header_t run;
    int                    mine = make_room(t, header, problem), all;

    MPI_Allreduce(&mine, &all, 1, MPI_INT, MPI_MIN, t->comm);
    if (all != 0) {
        return -1;
    }
    tw_checkpoint_header_fill(t, &run);
    if (strcmp(header->statistics, run.statistics) == 0 &&
        tw_adaptive_restore(&t->norm.rule, header->adaptive) != TW_OK) {
        return tw_checkpoint_damaged(path, "holds a state of batch statistics that cannot be",
                                     problem);
    }
    if (read_body(t, path, stream, header, &run, problem) != 0) {
        return -1;
    }
    take_place(t, header);
    return load_residuals(t, stream, body, header, &run, problem);
}

int tw_checkpoint_load(tw_training_t *t, const char *path, tw_problem_t *problem)
{
    tw_checkpoint_header_t header = {.epochs = 0};
    FILE                  *stream = NULL;
    uint64_t               body   = 0;
    int                    good = 0, status = -1;

    if (t->rank == 0) {
        good = tw_checkpoint_open(t, path, &stream, &body, &header, problem) == 0;
    }
    MPI_Bcast(&good, 1, MPI_INT, 0, t->comm);
    MPI_Bcast(&header, sizeof(header), MPI_BYTE, 0, t->comm);
    if (good) {
        status = load_rest(t, path, stream, body, &header, problem);
    }
    if (stream != NULL) {
        if (status == 0 && (uint64_t)ftell(stream) != body) {
            status = tw_checkpoint_damaged(path, "is longer than it should be", problem);
        }
        fclose(stream);
    }
    return status;
}

/* ---- hash ---------------------------------------------------------------------------------- */

/* Units of a tensor are read into memory of the host by about so many elements at a time. */
#define TW_HASHED ((size_t)1 << 20)

static int hash_units(const tw_training_t *t, const tw_param_t *p, float *host, size_t step,
                      uint64_t *sum, tw_problem_t *problem)
{
    const uint64_t key = tw_random_mix(4 * p->layer + (uint64_t)p->role + 1);

    for (size_t u = 0; u < p->units; u++) {
        const size_t left = p->units - u;

        if (u % step == 0 &&
            tw_params_get(&t->params, host, t->params.value + p->first + u * p->per_unit,
                          (left < step ? left : step) * p->per_unit, problem) != 0) {
            return -1;
        }
        *sum += tw_hash(tw_random_mix(key + p->units_first + u), host + u % step * p->per_unit,
                        p->per_unit * sizeof(float));
    }
    return 0;
}

static int hash_tensor(const tw_training_t *t, const tw_param_t *p, uint64_t *sum,
                       tw_problem_t *problem)
{
    const size_t step   = p->per_unit < TW_HASHED ? TW_HASHED / p->per_unit : 1;
    const size_t most   = p->units < step ? p->units : step;
    float       *host   = malloc(most * p->per_unit * sizeof(*host) + 1);
    const int    status = host != NULL
                              ? hash_units(t, p, host, step, sum, problem)
                              : tw_problem_set(problem, "out of memory for a hash of the weights");

    free(host);
    return status;
}

/* Sums of hashes of units, which do not depend on who holds which. What all ranks have, rank 0
 * tells, and of split layers the first group. */
int tw_training_hash(tw_training_t *t, tw_problem_t *problem)
{
    uint64_t mine = 0, all = 0;

    for (size_t i = 0; i < t->params.count && !problem->set; i++) {
        const tw_param_t *p = &t->params.param[i];

        if (p->per_unit > 0 && (p->split ? t->parts.group == 0 : t->rank == 0)) {
            hash_tensor(t, p, &mine, problem);
        }
    }
    MPI_Allreduce(&mine, &all, 1, MPI_UINT64_T, MPI_SUM, t->comm);
    t->hash = tw_random_mix(all);
    return problem->set ? -1 : 0;
}
