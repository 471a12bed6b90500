/* SPDX-License-Identifier: BSD-3-Clause
 * train/checkpoint/checkpoint_tensors.c - transfer of tensors between a checkpoint, which contains
 * whole tensors, and the ranks, which split some of them: rank 0 writes and reads pieces of bounded
 * size.
 */
#include "config.h"

#include <stdlib.h>

#include "train/base/hash.h"
#include "train/checkpoint/checkpoint_inside.h"

/* Units that fit a piece of this many elements, at least one. */
#define TW_PIECE ((size_t)1 << 22)

static size_t units_of_piece(const tw_param_t *p)
{
    return p->per_unit < TW_PIECE ? TW_PIECE / p->per_unit : 1;
}

/* The elements that each rank of a group has of units a .. b - 1, and where: for MPI_Gatherv and
 * MPI_Scatterv. */
static void share_piece(const tw_training_t *t, const tw_param_t *p, size_t a, size_t b,
                        int *counts, int *places)
{
    for (int r = 0; r < t->parts.ranks; r++) {
        size_t       first;
        const size_t units = tw_params_share(p->units_all, r, t->parts.ranks, &first);
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

int tw_pieces_make(tw_pieces_t *pieces, const tw_training_t *t, tw_problem_t *problem)
{
    size_t most = TW_PIECE;
    int    mine, all;

    for (size_t i = 0; i < t->params.count; i++) {
        most = t->params.param[i].per_unit > most ? t->params.param[i].per_unit : most;
    }
    pieces->piece  = malloc(most * sizeof(float));
    pieces->own    = malloc(most * sizeof(float));
    pieces->counts = malloc((size_t)t->size * sizeof(int));
    pieces->places = malloc((size_t)t->size * sizeof(int));
    mine           = pieces->piece != NULL && pieces->own != NULL && pieces->counts != NULL &&
           pieces->places != NULL;
    MPI_Allreduce(&mine, &all, 1, MPI_INT, MPI_MIN, t->comm);
    return all ? 0 : tw_problem_set(problem, "out of memory");
}

void tw_pieces_free(tw_pieces_t *pieces)
{
    free(pieces->piece);
    free(pieces->own);
    free(pieces->counts);
    free(pieces->places);
}

/* By the first group, which rank 0 leads. A device that fails is told in the problem; the ranks go
 * on together. */
static void write_split(const tw_training_t *t, const tw_param_t *p, float *share,
                        tw_pieces_t *pieces, FILE *stream, tw_problem_t *problem)
{
    const size_t step = units_of_piece(p);
    const int    mine = t->parts.rank;

    for (size_t a = 0; a < p->units_all && t->parts.group == 0; a += step) {
        const size_t b = p->units_all - a < step ? p->units_all : a + step;

        share_piece(t, p, a, b, pieces->counts, pieces->places);
        tw_params_get(&t->params, pieces->own, own_part(p, share, a), (size_t)pieces->counts[mine],
                      problem);
        MPI_Gatherv(pieces->own, pieces->counts[mine], MPI_FLOAT, pieces->piece, pieces->counts,
                    pieces->places, MPI_FLOAT, 0, t->parts.inside);
        if (t->rank == 0) {
            fwrite(pieces->piece, sizeof(float), (b - a) * p->per_unit, stream);
        }
    }
}

/* *bad_p: the file has ended; what is spread then is garbage, and nobody keeps it. */
static void read_split(const tw_training_t *t, const tw_param_t *p, float *share,
                       tw_pieces_t *pieces, FILE *stream, int *bad_p, tw_problem_t *problem)
{
    const size_t step = units_of_piece(p);
    const int    mine = t->parts.rank;

    for (size_t a = 0; a < p->units_all; a += step) {
        const size_t b = p->units_all - a < step ? p->units_all : a + step;
        const size_t n = (b - a) * p->per_unit;

        share_piece(t, p, a, b, pieces->counts, pieces->places);
        if (t->rank == 0 && fread(pieces->piece, sizeof(float), n, stream) != n) {
            *bad_p = 1;
        }
        if (t->parts.group == 0) {
            MPI_Scatterv(pieces->piece, pieces->counts, pieces->places, MPI_FLOAT, pieces->own,
                         pieces->counts[mine], MPI_FLOAT, 0, t->parts.inside);
        }
        if (t->parts.groups > 1) {
            MPI_Bcast(pieces->own, pieces->counts[mine], MPI_FLOAT, 0, t->parts.peers);
        }
        tw_params_put(&t->params, own_part(p, share, a), pieces->own, (size_t)pieces->counts[mine],
                      problem);
    }
}

void tw_pieces_write_whole(tw_pieces_t *pieces, const tw_training_t *t, const float *array,
                           size_t n, FILE *stream, tw_problem_t *problem)
{
    for (size_t a = 0; a < n && t->rank == 0; a += TW_PIECE) {
        const size_t count = n - a < TW_PIECE ? n - a : TW_PIECE;

        tw_params_get(&t->params, pieces->piece, array + a, count, problem);
        fwrite(pieces->piece, sizeof(float), count, stream);
    }
}

void tw_pieces_read_whole(tw_pieces_t *pieces, const tw_training_t *t, float *array, size_t n,
                          FILE *stream, int *bad_p, tw_problem_t *problem)
{
    for (size_t a = 0; a < n; a += TW_PIECE) {
        const size_t count = n - a < TW_PIECE ? n - a : TW_PIECE;

        tw_checkpoint_read_bcast(t, pieces->piece, count * sizeof(float), stream, bad_p);
        tw_params_put(&t->params, array + a, pieces->piece, count, problem);
    }
}

/* ---- all of them ---------------------------------------------------------------------------- */

const tw_param_t *tw_checkpoint_tensor(const tw_training_t *t, size_t k, int *which_p)
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

uint64_t tw_checkpoint_shapes(const tw_training_t *t)
{
    uint64_t          hash = t->params.states;
    const tw_param_t *p;
    int               which;

    for (size_t k = 0; (p = tw_checkpoint_tensor(t, k, &which)) != NULL; k += 2) {
        const uint64_t shape[] = {p->units_all, p->per_unit};

        hash = tw_hash(hash, shape, sizeof(shape));
    }
    return hash;
}

/* Where this rank has values or momentum of a tensor; what owners elsewhere have of it passes
 * through where the gradient is. */
static float *place_of(const tw_training_t *t, const tw_param_t *p, int which, int owned)
{
    return owned        ? t->params.gradient + p->first
           : which == 0 ? t->params.value + p->first
                        : t->params.momentum + p->state;
}

int tw_pieces_write(tw_pieces_t *pieces, const tw_training_t *t, const tw_param_t *p, int which,
                    FILE *stream, tw_problem_t *problem)
{
    const int owned = tw_training_owned(t, p);

    if (owned && tw_masters_collect(t->masters, p, which, problem) != 0) {
        return -1;
    }
    if (p->split) {
        write_split(t, p, place_of(t, p, which, owned), pieces, stream, problem);
    } else {
        tw_pieces_write_whole(pieces, t, place_of(t, p, which, owned), p->count, stream, problem);
    }
    return 0;
}

/* What owners elsewhere keep of momentum they take from where the gradients are, as they take
 * values from those of the parameters when the run goes on. */
void tw_pieces_read(tw_pieces_t *pieces, const tw_training_t *t, const tw_param_t *p, int which,
                    FILE *stream, int *bad_p, tw_problem_t *problem)
{
    float *to = place_of(t, p, which, which == 1 && tw_training_owned(t, p));

    if (p->split) {
        read_split(t, p, to, pieces, stream, bad_p, problem);
    } else {
        tw_pieces_read_whole(pieces, t, to, p->count, stream, bad_p, problem);
    }
}

int tw_checkpoint_agreed(const tw_training_t *t, const tw_problem_t *problem)
{
    int mine = problem->set, all;

    MPI_Allreduce(&mine, &all, 1, MPI_INT, MPI_MAX, t->comm);
    return all ? -1 : 0;
}

static int write_all(tw_training_t *t, tw_pieces_t *pieces, FILE *stream, tw_problem_t *problem)
{
    const tw_param_t *p;
    int               which;

    for (size_t k = 0; (p = tw_checkpoint_tensor(t, k, &which)) != NULL; k++) {
        if (tw_pieces_write(pieces, t, p, which, stream, problem) != 0) {
            return -1;
        }
    }
    tw_pieces_write_whole(pieces, t, t->params.state, t->params.states, stream, problem);
    return tw_checkpoint_agreed(t, problem);
}

void tw_checkpoint_read_bcast(const tw_training_t *t, void *array, size_t bytes, FILE *stream,
                              int *bad_p)
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

/* Values, momentum and running statistics. */
static int read_all(tw_training_t *t, tw_pieces_t *pieces, FILE *stream, int *bad_p,
                    tw_problem_t *problem)
{
    const tw_param_t *p;
    int               which;

    for (size_t k = 0; (p = tw_checkpoint_tensor(t, k, &which)) != NULL; k++) {
        tw_pieces_read(pieces, t, p, which, stream, bad_p, problem);
    }
    tw_pieces_read_whole(pieces, t, t->params.state, t->params.states, stream, bad_p, problem);
    tw_masters_take_state(t->masters, problem);
    return tw_checkpoint_agreed(t, problem);
}

/* ---- both ways, with the memory that they take ---------------------------------------------- */

int tw_checkpoint_write_tensors(tw_training_t *t, FILE *stream, tw_problem_t *problem)
{
    tw_pieces_t pieces = {.piece = NULL};
    int         status = tw_pieces_make(&pieces, t, problem);

    if (status == 0) {
        status = write_all(t, &pieces, stream, problem);
    }
    tw_pieces_free(&pieces);
    return status;
}

int tw_checkpoint_read_tensors(tw_training_t *t, FILE *stream, int *bad_p, tw_problem_t *problem)
{
    tw_pieces_t pieces = {.piece = NULL};
    int         status = tw_pieces_make(&pieces, t, problem);

    if (status == 0) {
        status = read_all(t, &pieces, stream, bad_p, problem);
    }
    tw_pieces_free(&pieces);
    return status;
}
