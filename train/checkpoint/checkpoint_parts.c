/* SPDX-License-Identifier: BSD-3-Clause
 * train/checkpoint/checkpoint_parts.c - residuals of the sums of split layers' gradients over
 * groups of ranks: the ranks of the first group have them in memory, part by part, and rank 0
 * writes and reads them.
 */
#include "config.h"

#include <stdlib.h>

#include "train/checkpoint/checkpoint_inside.h"

/* Bytes of one message. */
#define TW_MESSAGE ((size_t)1 << 30)

/* Bytes from one rank of the group to another. */
static void move_bytes(const tw_split_t *parts, char *at, size_t bytes, int from, int to)
{
    for (size_t done = 0; done < bytes;) {
        const size_t left = bytes - done, n = left < TW_MESSAGE ? left : TW_MESSAGE;

        if (parts->rank == from) {
            MPI_Send(at + done, (int)n, MPI_BYTE, to, 0, parts->inside);
        } else {
            MPI_Recv(at + done, (int)n, MPI_BYTE, from, 0, parts->inside, MPI_STATUS_IGNORE);
        }
        done += n;
    }
}

/* One rank alone, while others wait for it. */
static int alone(tw_problem_t *problem)
{
    problem->fatal = 1;
    return tw_problem_set(problem, "out of memory for the residuals of split layers");
}

/* Part by part to rank 0 and into the file. */
static int write_part(const tw_training_t *t, int part, char *mine, uint64_t bytes, FILE *stream,
                      tw_problem_t *problem)
{
    char *data = mine;

    if (t->rank == 0 && part > 0) {
        MPI_Recv(&bytes, 1, MPI_UINT64_T, part, 0, t->parts.inside, MPI_STATUS_IGNORE);
        data = malloc(bytes + 1);
        if (data == NULL) {
            return alone(problem);
        }
        move_bytes(&t->parts, data, bytes, part, 0);
    } else if (part > 0 && t->parts.rank == part) {
        MPI_Send(&bytes, 1, MPI_UINT64_T, 0, 0, t->parts.inside);
        move_bytes(&t->parts, mine, bytes, part, 0);
    }
    if (t->rank == 0) {
        fwrite(&bytes, sizeof(bytes), 1, stream);
        fwrite(data, 1, bytes, stream);
    }
    if (data != mine) {
        free(data);
    }
    return 0;
}

int tw_checkpoint_write_parts(tw_training_t *t, FILE *stream, tw_problem_t *problem)
{
    const uint64_t parts = t->parts.groups > 1 ? (uint64_t)t->parts.ranks : 0;
    char          *data  = NULL;
    size_t         bytes = 0;
    FILE          *memory;
    int            status;

    if (t->options->division.split != 0 && t->rank == 0) {
        fwrite(&parts, sizeof(parts), 1, stream);
    }
    if (parts == 0) {
        return 0;
    }
    memory = t->parts.group == 0 ? open_memstream(&data, &bytes) : NULL;
    if (t->parts.group == 0 && memory == NULL) {
        return alone(problem);
    }
    status = tw_exchange_save(t->peers, memory, problem);
    if (memory != NULL && fclose(memory) != 0) {
        status = alone(problem);
    }
    problem->fatal |= status != 0; /* other parts may have been saved */
    for (int part = 0; part < t->parts.ranks && t->parts.group == 0 && status == 0; part++) {
        status = write_part(t, part, data, bytes, stream, problem);
    }
    free(data);
    return status;
}

/* ---- reading ------------------------------------------------------------------------------- */

/* On rank 0: how many parts the file has, and that it has them whole, before anybody waits for
 * them. The stream is then where the first begins; *behind_p: where the last ends. */
static int find_parts(FILE *stream, uint64_t *parts_p, long *behind_p)
{
    const long body = fread(parts_p, sizeof(*parts_p), 1, stream) == 1 ? ftell(stream) : -1;
    long       end = -1, at = body;
    uint64_t   bytes;

    if (body < 0 || *parts_p > SCHEME_GROUPS || fseek(stream, 0, SEEK_END) != 0) {
        return -1;
    }
    end = ftell(stream);
    for (uint64_t part = 0; part < *parts_p; part++) {
        if (fseek(stream, at, SEEK_SET) != 0 || fread(&bytes, sizeof(bytes), 1, stream) != 1 ||
            bytes > (uint64_t)(end - ftell(stream))) {
            return -1;
        }
        at = ftell(stream) + (long)bytes;
    }
    *behind_p = at;
    return fseek(stream, body, SEEK_SET);
}

/* The next part of the file, to the rank of the first group that restores it. */
static int read_part(const tw_training_t *t, int part, FILE *stream, char **data_p, size_t *bytes_p,
                     tw_problem_t *problem)
{
    uint64_t bytes = 0;
    int      good  = 1;
    char    *data;

    if (t->rank != 0 && t->parts.rank != part) {
        return 0;
    }
    if (t->rank == 0) {
        good = fread(&bytes, sizeof(bytes), 1, stream) == 1;
        if (part > 0) {
            MPI_Send(&bytes, 1, MPI_UINT64_T, part, 0, t->parts.inside);
        }
    } else {
        MPI_Recv(&bytes, 1, MPI_UINT64_T, 0, 0, t->parts.inside, MPI_STATUS_IGNORE);
    }
    data = malloc(bytes + 1);
    if (data == NULL) {
        return alone(problem);
    }
    if (t->rank == 0 && (!good || fread(data, 1, bytes, stream) != bytes)) {
        problem->fatal = 1; /* the others restore */
        tw_problem_set(problem, "--checkpoint %s: cannot be read to its end",
                       t->options->checkpoint);
    }
    if (part > 0) {
        move_bytes(&t->parts, data, bytes, 0, part);
    }
    if (t->parts.rank == part) {
        *data_p  = data;
        *bytes_p = bytes;
    } else {
        free(data);
    }
    return problem->set ? -1 : 0;
}

static int restore_parts(tw_training_t *t, FILE *stream, tw_problem_t *problem)
{
    FILE  *memory = NULL;
    char  *data   = NULL;
    size_t bytes  = 0;
    int    status = 0;

    for (int part = 0; part < t->parts.ranks && t->parts.group == 0 && status == 0; part++) {
        status = read_part(t, part, stream, &data, &bytes, problem);
    }
    if (status == 0 && t->parts.group == 0) {
        memory = fmemopen(data, bytes + 1, "rb");
        status = memory != NULL ? 0 : alone(problem);
    }
    if (status == 0) {
        status = tw_exchange_restore(t->peers, memory, problem);
        problem->fatal |= status != 0; /* other parts may have been restored */
    }
    if (memory != NULL) {
        fclose(memory);
    }
    free(data);
    return status;
}

int tw_checkpoint_read_parts(tw_training_t *t, FILE *stream, tw_problem_t *problem)
{
    uint64_t parts  = 0;
    long     behind = 0;
    int      good   = 1;

    if (t->options->division.split == 0) {
        return 0;
    }
    if (t->rank == 0) {
        good = find_parts(stream, &parts, &behind) == 0;
    }
    MPI_Bcast(&good, 1, MPI_INT, 0, t->comm);
    MPI_Bcast(&parts, 1, MPI_UINT64_T, 0, t->comm);
    if (!good) {
        return tw_problem_set(problem, "--checkpoint %s: is too short", t->options->checkpoint);
    }
    if (t->parts.groups > 1 && parts == (uint64_t)t->parts.ranks) {
        return restore_parts(t, stream, problem);
    }
    return t->rank != 0 || fseek(stream, behind, SEEK_SET) == 0
               ? 0
               : tw_problem_set(problem, "--checkpoint %s: cannot be read to its end",
                                t->options->checkpoint);
}
