/* SPDX-License-Identifier: BSD-3-Clause
 * tests/mpi/feedback_file.c - residuals saved and restored, on the same ranks and on others.
 */
#include "config.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/mpi/job.h"
#include "tests/mpi/stored.h"

#define COUNT T_STORED_COUNT

/* Bit-identical, second residual included: the next steps are the same too. */
static void the_same_ranks_go_on_as_if_nothing_had_happened(void)
{
    tw_feedback_t *fb = t_feedback_used(t_world, "layer3.weight", t_seed, COUNT, 3), *back = NULL;
    tw_how_t       how = {.codec = t_codec("onebit:block=64", TW_F32)};
    float          x[COUNT], y[COUNT], z[COUNT];
    size_t         n     = 0;
    char          *bytes = t_feedback_saved(fb, t_rank, &n);

    T_OK(tw_feedback_create(t_world, "layer3.weight", TW_F32, COUNT, &back));
    T_OK(t_feedback_restored(back, t_rank, bytes, n, TW_FEEDBACK_SUM));
    t_feedback_same(fb, back);
    how.algorithm = TW_ALGORITHM_TWO_PASS;
    for (unsigned step = 0; step < 3; step++) {
        t_fill(TW_F32, t_seed + 1000 + 8 * step + (unsigned)t_rank, 0, COUNT, x);
        how.feedback = fb;
        T_OK(tw_allreduce(t_world, x, y, COUNT, TW_SUM, &how));
        how.feedback = back;
        T_OK(tw_allreduce(t_world, x, z, COUNT, TW_SUM, &how));
        T_SAME(TW_F32, z, y, COUNT);
        t_feedback_same(fb, back);
    }
    T_OK(t_feedback_restored(fb, t_rank, bytes, n,
                             TW_FEEDBACK_AVERAGE)); /* the same ranks: no scaling */
    T_OK(t_feedback_restored(back, t_rank, bytes, n, TW_FEEDBACK_SUM));
    t_feedback_same(fb, back);
    tw_feedback_destroy(fb);
    tw_feedback_destroy(back);
    free(bytes);
}

/* Several objects one after another in one stream, after something foreign. */
static void several_objects_in_one_stream(void)
{
    tw_feedback_t *a       = t_feedback_used(t_world, "a", t_seed, COUNT, 2);
    tw_feedback_t *b       = t_feedback_used(t_world, "b", t_seed + 99, COUNT, 3);
    tw_feedback_t *c       = t_feedback_used(t_world, "a", t_seed + 50, COUNT, 1);
    tw_feedback_t *d       = t_feedback_used(t_world, "b", t_seed + 60, COUNT, 1);
    FILE          *stream  = t_rank == 0 ? tmpfile() : NULL;
    char           head[8] = "", tail[8] = "";

    if (stream != NULL) {
        T_CHECK(fwrite("weights", 1, 7, stream) == 7, "cannot write a temporary file");
    }
    T_OK(tw_feedback_save(a, stream));
    T_OK(tw_feedback_save(b, stream));
    if (stream != NULL) {
        T_CHECK(fwrite("the end", 1, 7, stream) == 7, "cannot write a temporary file");
        rewind(stream);
        T_CHECK(fread(head, 1, 7, stream) == 7, "cannot read a temporary file");
    }
    T_OK(tw_feedback_restore(c, stream, TW_FEEDBACK_SUM));
    T_OK(tw_feedback_restore(d, stream, TW_FEEDBACK_SUM));
    if (stream != NULL) {
        T_CHECK(fread(tail, 1, 7, stream) == 7 && strcmp(tail, "the end") == 0,
                "the stream is not where the object ends");
        fclose(stream);
    }
    t_feedback_same(a, c);
    t_feedback_same(b, d);
    tw_feedback_destroy(a);
    tw_feedback_destroy(b);
    tw_feedback_destroy(c);
    tw_feedback_destroy(d);
}

/* A communicator over the first n ranks; NULL on the others. */
static tw_comm_t *first_ranks(int n)
{
    tw_comm_t *comm = NULL;
    MPI_Comm   part;

    MPI_Comm_split(MPI_COMM_WORLD, t_rank < n ? 0 : MPI_UNDEFINED, t_rank, &part);
    if (part != MPI_COMM_NULL) {
        comm = t_comm(t_ctx, part);
        MPI_Comm_free(&part);
    }
    return comm;
}

/* Saved on `before` ranks, restored on `after`: old rank q's residual is added to that of new rank
 * q mod after; with AVERAGE everything is scaled by after / before. all holds the residuals of the
 * old ranks, on every rank of the world. */
static void check_moved(tw_feedback_t *fb, const float *all, int before, int after,
                        tw_feedback_use_t use)
{
    const double scale = use == TW_FEEDBACK_AVERAGE ? (double)after / before : 1.0;
    float        got[COUNT];
    double       norm = 0, square = 0, worst = 0, largest = 0;

    /* A rank's two residuals are added one after the other, and may nearly cancel: what is rounded
     * is of their size, not of their sum's. */
    for (size_t i = 0; i < (size_t)before * COUNT; i++) {
        largest = fmax(largest, fabs((double)all[i]));
    }
    T_OK(tw_feedback_read(fb, got));
    for (size_t i = 0; i < COUNT; i++) {
        double want = 0, size = largest * scale, total = 0;

        for (int q = 0; q < before; q++) {
            const double value = (double)all[(size_t)q * COUNT + i];

            total += value;
            want += q % after == t_rank ? value * scale : 0.0;
            size += q % after == t_rank ? fabs(value) * scale : 0.0;
        }
        square += total * scale * total * scale;
        worst = fmax(worst, fabs((double)got[i] - want) - 4 * before * 0x1p-24 * size);
    }
    T_CHECK(worst <= 0, "a residual is off by %g more than rounding", worst);
    T_OK(tw_feedback_norm(fb, &norm));
    T_CHECK(fabs(norm - sqrt(square)) <= 1e-5 * sqrt(square), "norm %.9g, not %.9g", norm,
            sqrt(square));
}

static void move(int before, int after)
{
    tw_comm_t     *from = first_ranks(before), *to = first_ranks(after);
    tw_feedback_t *fb  = NULL;
    float         *all = t_malloc((size_t)t_size * COUNT * sizeof(float)), mine[COUNT] = {0};
    char          *bytes = NULL;
    size_t         n     = 0;

    t_note("from %d ranks to %d", before, after);
    if (from != NULL) {
        fb    = t_feedback_used(from, "moved", t_seed, COUNT, 3);
        bytes = t_feedback_saved(fb, t_rank, &n);
        T_OK(tw_feedback_read(fb, mine));
        tw_feedback_destroy(fb);
    }
    MPI_Allgather(mine, COUNT, MPI_FLOAT, all, COUNT, MPI_FLOAT, MPI_COMM_WORLD);
    if (to != NULL) {
        for (int use = TW_FEEDBACK_SUM; use <= TW_FEEDBACK_AVERAGE; use++) {
            fb = t_feedback_used(to, "moved", t_seed + 5, COUNT, use);
            T_OK(t_feedback_restored(fb, t_rank, bytes, n, (tw_feedback_use_t)use));
            check_moved(fb, all, before, after, (tw_feedback_use_t)use);
            tw_feedback_destroy(fb);
        }
        T_OK(tw_comm_destroy(to));
    }
    if (from != NULL) {
        T_OK(tw_comm_destroy(from));
    }
    free(all);
    free(bytes);
}

static void another_number_of_ranks_keeps_the_sum(void)
{
    const int some = t_size / 2 + 1;

    move(t_size, 1);
    move(1, t_size);
    if (t_size > 2) {
        move(t_size, t_size - 1);
        move(t_size - 1, t_size);
        move(t_size, some);
        move(some, t_size);
        move(t_size - 1, some);
    }
}

/* Long vectors pass through rank 0, and through the norm, in several pieces. */
static void longer_than_a_piece(void)
{
    enum { LONG = 150001 };
    tw_feedback_t *fb = t_feedback_used(t_world, "long", t_seed, LONG, 2), *back = NULL;
    tw_comm_t     *one = first_ranks(1);
    float         *x = t_malloc(LONG * sizeof(float)), *y = t_malloc(LONG * sizeof(float));
    double         norm = 0, norm_back = 0, norm_one = 0;
    size_t         n     = 0;
    char          *bytes = t_feedback_saved(fb, t_rank, &n);

    T_OK(tw_feedback_create(t_world, "long", TW_F32, LONG, &back));
    T_OK(t_feedback_restored(back, t_rank, bytes, n, TW_FEEDBACK_SUM));
    T_OK(tw_feedback_read(fb, x));
    T_OK(tw_feedback_read(back, y));
    T_SAME(TW_F32, y, x, LONG);
    T_OK(tw_feedback_norm(fb, &norm));
    T_OK(tw_feedback_norm(back, &norm_back));
    T_CHECK(norm == norm_back && norm > 0, "norms %.17g and %.17g", norm, norm_back);
    tw_feedback_destroy(fb);
    tw_feedback_destroy(back);
    if (one != NULL) {
        T_OK(tw_feedback_create(one, "long", TW_F32, LONG, &fb));
        T_OK(t_feedback_restored(fb, t_rank, bytes, n, TW_FEEDBACK_SUM));
        T_OK(tw_feedback_norm(fb, &norm_one));
        T_CHECK(fabs(norm_one - norm) <= 1e-5 * norm, "norm %.9g, not %.9g", norm_one, norm);
        tw_feedback_destroy(fb);
        T_OK(tw_comm_destroy(one));
    }
    free(bytes);
    free(x);
    free(y);
}

static void doubles_too(void)
{
    double         x[300], y[300], z[300];
    tw_feedback_t *fb = NULL, *back = NULL;
    tw_how_t       how = {.codec = t_codec("bitpack:2", TW_F64)};
    char          *bytes;
    size_t         n = 0;

    T_OK(tw_feedback_create(t_world, "d", TW_F64, 300, &fb));
    T_OK(tw_feedback_create(t_world, "d", TW_F64, 300, &back));
    how.feedback  = fb;
    how.algorithm = TW_ALGORITHM_TWO_PASS;
    t_fill(TW_F64, t_seed + (unsigned)t_rank, 0, 300, x);
    T_OK(tw_allreduce(t_world, x, y, 300, TW_SUM, &how));
    bytes = t_feedback_saved(fb, t_rank, &n);
    T_OK(t_feedback_restored(back, t_rank, bytes, n, TW_FEEDBACK_SUM));
    T_OK(tw_feedback_read(fb, y));
    T_OK(tw_feedback_read(back, z));
    T_SAME(TW_F64, z, y, 300);
    tw_feedback_destroy(fb);
    tw_feedback_destroy(back);
    free(bytes);
}

static const t_case_t cases[] = {
    {"the same ranks go on as if nothing had happened",
     the_same_ranks_go_on_as_if_nothing_had_happened, 1},
    {"several objects in one stream", several_objects_in_one_stream, 1},
    {"another number of ranks keeps the sum", another_number_of_ranks_keeps_the_sum, 1},
    {"longer than a piece", longer_than_a_piece, 1},
    {"doubles too", doubles_too, 1},
};

T_MAIN(cases)
