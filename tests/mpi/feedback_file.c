/* SPDX-License-Identifier: BSD-3-Clause
 * tests/mpi/feedback_file.c - residuals saved and restored, on the same ranks and on others, from
 * whole files and from damaged ones.
 */
#include "config.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/mpi/job.h"

#define COUNT 801

/* An object on comm that has been through some steps of a two_pass allreduce, so that both of its
 * residuals hold something. */
static tw_feedback_t *used(tw_comm_t *comm, const char *name, uint64_t seed, size_t count,
                           int steps)
{
    tw_feedback_t *fb  = NULL;
    float         *x   = t_malloc(count * sizeof(float));
    tw_how_t       how = {.codec = t_codec("onebit:block=64", TW_F32)};

    T_OK(tw_feedback_create(comm, name, TW_F32, count, &fb));
    how.feedback  = fb;
    how.algorithm = TW_ALGORITHM_TWO_PASS;
    for (int step = 0; step < steps; step++) {
        t_fill(TW_F32, seed + (unsigned)(8 * step + tw_comm_rank(comm)), 0, count, x);
        T_OK(tw_allreduce(comm, TW_IN_PLACE, x, count, TW_SUM, &how));
    }
    free(x);
    return fb;
}

/* What the file of an object holds, on rank 0 of its communicator; NULL elsewhere. */
static char *saved(tw_feedback_t *fb, int rank, size_t *bytes_p)
{
    FILE *stream = rank == 0 ? tmpfile() : NULL;
    char *bytes;

    T_OK(tw_feedback_save(fb, stream));
    if (stream == NULL) {
        return NULL;
    }
    T_CHECK(fflush(stream) == 0, "cannot write a temporary file");
    *bytes_p = (size_t)ftell(stream);
    bytes    = t_malloc(*bytes_p);
    rewind(stream);
    T_CHECK(fread(bytes, 1, *bytes_p, stream) == *bytes_p, "cannot read a temporary file");
    fclose(stream);
    return bytes;
}

static tw_status_t restored(tw_feedback_t *fb, int rank, char *bytes, size_t n,
                            tw_feedback_use_t use)
{
    FILE       *stream = NULL;
    tw_status_t status;

    if (rank == 0) {
        stream = tmpfile();
        T_CHECK(fwrite(bytes, 1, n, stream) == n, "cannot write a temporary file");
        rewind(stream);
    }
    status = tw_feedback_restore(fb, stream, use);
    if (stream != NULL) {
        fclose(stream);
    }
    return status;
}

static void same_objects(tw_feedback_t *a, tw_feedback_t *b)
{
    float  x[COUNT], y[COUNT];
    double p = -1, q = -2;

    T_OK(tw_feedback_read(a, x));
    T_OK(tw_feedback_read(b, y));
    T_SAME(TW_F32, x, y, COUNT);
    T_OK(tw_feedback_norm(a, &p));
    T_OK(tw_feedback_norm(b, &q));
    T_CHECK(p == q && p > 0, "norms %.17g and %.17g", p, q);
}

/* Bit-identical, second residual included: the next steps are the same too. */
static void the_same_ranks_go_on_as_if_nothing_had_happened(void)
{
    tw_feedback_t *fb = used(t_world, "layer3.weight", t_seed, COUNT, 3), *back = NULL;
    tw_how_t       how = {.codec = t_codec("onebit:block=64", TW_F32)};
    float          x[COUNT], y[COUNT], z[COUNT];
    size_t         n     = 0;
    char          *bytes = saved(fb, t_rank, &n);

    T_OK(tw_feedback_create(t_world, "layer3.weight", TW_F32, COUNT, &back));
    T_OK(restored(back, t_rank, bytes, n, TW_FEEDBACK_SUM));
    same_objects(fb, back);
    how.algorithm = TW_ALGORITHM_TWO_PASS;
    for (unsigned step = 0; step < 3; step++) {
        t_fill(TW_F32, t_seed + 1000 + 8 * step + (unsigned)t_rank, 0, COUNT, x);
        how.feedback = fb;
        T_OK(tw_allreduce(t_world, x, y, COUNT, TW_SUM, &how));
        how.feedback = back;
        T_OK(tw_allreduce(t_world, x, z, COUNT, TW_SUM, &how));
        T_SAME(TW_F32, z, y, COUNT);
        same_objects(fb, back);
    }
    T_OK(restored(fb, t_rank, bytes, n, TW_FEEDBACK_AVERAGE)); /* the same ranks: no scaling */
    T_OK(restored(back, t_rank, bytes, n, TW_FEEDBACK_SUM));
    same_objects(fb, back);
    tw_feedback_destroy(fb);
    tw_feedback_destroy(back);
    free(bytes);
}

/* Several objects one after another in one stream, after something foreign. */
static void several_objects_in_one_stream(void)
{
    tw_feedback_t *a       = used(t_world, "a", t_seed, COUNT, 2);
    tw_feedback_t *b       = used(t_world, "b", t_seed + 99, COUNT, 3);
    tw_feedback_t *c       = used(t_world, "a", t_seed + 50, COUNT, 1);
    tw_feedback_t *d       = used(t_world, "b", t_seed + 60, COUNT, 1);
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
    same_objects(a, c);
    same_objects(b, d);
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
    double       norm = 0, square = 0, worst = 0;

    T_OK(tw_feedback_read(fb, got));
    for (size_t i = 0; i < COUNT; i++) {
        double want = 0, size = 0, total = 0;

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
        fb    = used(from, "moved", t_seed, COUNT, 3);
        bytes = saved(fb, t_rank, &n);
        T_OK(tw_feedback_read(fb, mine));
        tw_feedback_destroy(fb);
    }
    MPI_Allgather(mine, COUNT, MPI_FLOAT, all, COUNT, MPI_FLOAT, MPI_COMM_WORLD);
    if (to != NULL) {
        for (int use = TW_FEEDBACK_SUM; use <= TW_FEEDBACK_AVERAGE; use++) {
            fb = used(to, "moved", t_seed + 5, COUNT, use);
            T_OK(restored(fb, t_rank, bytes, n, (tw_feedback_use_t)use));
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
    bytes = saved(fb, t_rank, &n);
    T_OK(restored(back, t_rank, bytes, n, TW_FEEDBACK_SUM));
    T_OK(tw_feedback_read(fb, y));
    T_OK(tw_feedback_read(back, z));
    T_SAME(TW_F64, z, y, 300);
    tw_feedback_destroy(fb);
    tw_feedback_destroy(back);
    free(bytes);
}

/* ---- bad files ------------------------------------------------------------------------------ */

typedef struct bad {
    tw_context_t  *ctx;
    tw_comm_t     *comm;
    tw_feedback_t *fb, *twin; /* twin: what fb must stay */
    t_log_t        log;
    char          *bytes;
    size_t         n;
} bad_t;

static void open_bad(bad_t *bad)
{
    memset(bad, 0, sizeof(*bad));
    bad->ctx = t_context();
    T_OK(tw_context_set_log(bad->ctx, t_log_take, &bad->log));
    bad->comm  = t_comm(bad->ctx, MPI_COMM_WORLD);
    bad->fb    = used(bad->comm, "w", t_seed, COUNT, 2);
    bad->twin  = used(bad->comm, "w", t_seed, COUNT, 2);
    bad->bytes = saved(bad->fb, t_rank, &bad->n);
    MPI_Bcast(&bad->n, sizeof(bad->n), MPI_BYTE, 0, MPI_COMM_WORLD);
}

static void close_bad(bad_t *bad)
{
    same_objects(bad->fb, bad->twin);
    tw_feedback_destroy(bad->fb);
    tw_feedback_destroy(bad->twin);
    t_comm_done(bad->comm, bad->ctx);
    free(bad->bytes);
}

/* Refused on all ranks, with one line in all; nothing is changed. */
static void refused(bad_t *bad, tw_feedback_t *fb, size_t n)
{
    int lines;

    bad->log.lines   = 0;
    bad->log.text[0] = '\0';
    T_STATUS(restored(fb, t_rank, bad->bytes, n, TW_FEEDBACK_SUM), TW_ERR_FORMAT);
    MPI_Allreduce(&bad->log.lines, &lines, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    T_CHECK(lines == 1, "%d log lines: %s", lines, bad->log.text);
}

/* One changed bit anywhere is seen. */
static void a_damaged_file_is_refused(void)
{
    uint64_t random = t_seed;
    bad_t    bad;

    open_bad(&bad);
    for (size_t i = 0; i < 60; i++) {
        const size_t at  = i < 90   ? (i < bad.n ? i : 0)
                           : i < 42 ? bad.n - 1 - (i - 40)
                                    : t_below(&random, bad.n);
        const char   bit = (char)(1 << t_below(&random, 8));

        t_note("byte %zu of %zu is damaged", at, bad.n);
        if (t_rank == 0) {
            bad.bytes[at] = (char)(bad.bytes[at] ^ bit);
        }
        refused(&bad, bad.fb, bad.n);
        if (t_rank == 0) {
            bad.bytes[at] = (char)(bad.bytes[at] ^ bit);
        }
    }
    T_OK(restored(bad.fb, t_rank, bad.bytes, bad.n, TW_FEEDBACK_SUM));
    close_bad(&bad);
}

static void a_cut_file_is_refused(void)
{
    bad_t bad;

    open_bad(&bad);
    for (size_t i = 0; i < 24; i++) {
        const size_t n = i < 14 ? i * 7 : i == 23 ? bad.n - 1 : (i - 13) * bad.n / 11;

        t_note("the first %zu of %zu bytes", n, bad.n);
        refused(&bad, bad.fb, n);
    }
    close_bad(&bad);
}

static void a_file_of_another_object_is_refused(void)
{
    static const struct {
        const char *name;
        tw_dtype_t  dtype;
        size_t      count;
    } others[] = {{"v", TW_F32, COUNT},     {"ww", TW_F32, COUNT},    {"w", TW_F64, COUNT},
                  {"w", TW_F32, COUNT - 1}, {"w", TW_F32, COUNT + 1}, {"w", TW_F32, 0}};
    bad_t bad;

    open_bad(&bad);
    for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++) {
        tw_feedback_t *fb = NULL;

        t_note("for %s, %zu values", others[i].name, others[i].count);
        T_OK(tw_feedback_create(bad.comm, others[i].name, others[i].dtype, others[i].count, &fb));
        refused(&bad, fb, bad.n);
        tw_feedback_destroy(fb);
    }
    t_note("text");
    if (t_rank == 0) {
        memset(bad.bytes, 'x', bad.n);
    }
    refused(&bad, bad.fb, bad.n);
    close_bad(&bad);
}

/* A stream that cannot be written or read: the same status on all ranks. */
static void a_bad_stream_is_an_error_everywhere(void)
{
    FILE          *full = t_rank == 0 ? fopen("/dev/full", "wb") : NULL;
    FILE          *dead = t_rank == 0 ? fopen("/dev/null", "rb") : NULL;
    bad_t          bad;
    tw_feedback_t *big;
    int            codes[2], low, high;

    open_bad(&bad);
    big = used(bad.comm, "big", t_seed, 100000, 1);
    T_STATUS(tw_feedback_save(big, full), TW_ERR_IO);
    T_STATUS(tw_feedback_save(bad.fb, dead), TW_ERR_IO);
    codes[0] = (int)tw_feedback_save(bad.fb, NULL);
    codes[1] = (int)tw_feedback_restore(bad.fb, NULL, TW_FEEDBACK_SUM);
    for (int i = 0; i < 2; i++) {
        MPI_Allreduce(&codes[i], &low, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
        MPI_Allreduce(&codes[i], &high, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
        T_CHECK(low == high && low != TW_OK, "no stream on rank 0: %s here",
                tw_status_name((tw_status_t)codes[i]));
    }
    tw_feedback_destroy(big);
    close_bad(&bad);
    if (t_rank == 0) {
        fclose(full);
        fclose(dead);
    }
}

static const t_case_t cases[] = {
    {"the same ranks go on as if nothing had happened",
     the_same_ranks_go_on_as_if_nothing_had_happened, 1},
    {"several objects in one stream", several_objects_in_one_stream, 1},
    {"another number of ranks keeps the sum", another_number_of_ranks_keeps_the_sum, 1},
    {"doubles too", doubles_too, 1},
    {"a damaged file is refused", a_damaged_file_is_refused, 1},
    {"a cut file is refused", a_cut_file_is_refused, 1},
    {"a file of another object is refused", a_file_of_another_object_is_refused, 1},
    {"a bad stream is an error everywhere", a_bad_stream_is_an_error_everywhere, 1},
};

int main(int argc, char **argv)
{
    return t_main(argc, argv, cases, sizeof(cases) / sizeof(cases[0]));
}
