/* SPDX-License-Identifier: BSD-3-Clause
 * tests/mpi/rows.c - whatever stands in the lists of element types, reductions, codecs and
 * algorithms, each with all others; a new row needs no line here. Values are 1 and 2, so that every
 * result is exact in every type and order; the oracle is MPI's own operation on doubles. Codecs
 * that lose something are compared elsewhere.
 */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "runtime/base/reduction.h"
#include "runtime/policy/algorithms.h"
#include "tests/mpi/harness.h"

enum { COUNT = 5003 };

#define OPERATION(reduction, name, operation, ...) [reduction] = operation,
#define NAME(x, name, considered)                  "ALLREDUCE=" #name,

static MPI_Op mpi_op(int reduction)
{
    const MPI_Op operations[] = {TW_REDUCTIONS(OPERATION)};

    return operations[reduction];
}

typedef struct rows {
    tw_comm_t     *comm;
    const char    *setting;
    double        *number, *sum; /* of this rank, and what they become */
    unsigned char *in, *out, *want;
} rows_t;

/* allreduce, and reduce to the last rank. */
static void combine(const rows_t *r, tw_dtype_t dtype, int reduction, const char *spec)
{
    const tw_dtype_row_t *row   = tw_dtype_row(dtype);
    const size_t          bytes = COUNT * row->bytes;
    const tw_how_t        how   = {.codec = t_codec(spec, dtype)};

    t_note("%s, %s of %ss by %s", r->setting, tw_reduction_name(reduction), row->name, spec);
    memset(r->out, 0, bytes);
    T_OK(tw_allreduce(r->comm, r->in, r->out, COUNT, (tw_reduction_t)reduction, &how));
    T_CHECK(memcmp(r->out, r->want, bytes) == 0, "the allreduce is another");
    memset(r->out, 0, bytes);
    T_OK(tw_reduce(r->comm, r->in, r->out, COUNT, (tw_reduction_t)reduction, t_size - 1, &how));
    T_CHECK(t_rank < t_size - 1 || memcmp(r->out, r->want, bytes) == 0, "the reduce is another");
}

/* By every codec that keeps each bit of the type, with its defaults, and by the one that the type
 * names. */
static void each_codec(const rows_t *r, tw_dtype_t dtype, int reduction)
{
    const char *name;

    combine(r, dtype, reduction, tw_dtype_row(dtype)->lossless);
    for (size_t c = 0; tw_codec_describe(c, &name, NULL, NULL) == TW_OK; c++) {
        tw_codec_t       *codec = NULL;
        tw_codec_traits_t traits;

        if (tw_codec_create(t_ctx, name, dtype, &codec, NULL, 0) == TW_OK &&
            tw_codec_traits(codec, &traits) == TW_OK && traits.lossless) {
            combine(r, dtype, reduction, name);
        }
        tw_codec_destroy(codec);
    }
}

static void each_reduction(const rows_t *r, tw_dtype_t dtype)
{
    const tw_dtype_row_t     *row = tw_dtype_row(dtype);
    const tw_reduction_row_t *made;

    for (int reduction = 0; (made = tw_reduction_row(reduction)) != NULL; reduction++) {
        MPI_Allreduce(r->number, r->sum, COUNT, MPI_DOUBLE, mpi_op(reduction), MPI_COMM_WORLD);
        for (size_t i = 0; made->divides && i < COUNT; i++) {
            r->sum[i] /= t_size;
        }
        row->from_f64(r->number, COUNT, r->in);
        row->from_f64(r->sum, COUNT, r->want);
        each_codec(r, dtype, reduction);
    }
}

static void every_row_with_all_others(void)
{
    static const char *const settings[] = {"CHECK=0", TW_REDUCTION_ALGORITHMS(NAME, )};
    rows_t                   r          = {.number = t_malloc(COUNT * sizeof(double)),
                                           .sum    = t_malloc(COUNT * sizeof(double))};
    size_t                   most       = 0;

    for (size_t t = 0; t < TW_DTYPE_ROWS; t++) {
        most = tw_dtype_size(tw_dtypes[t]) > most ? tw_dtype_size(tw_dtypes[t]) : most;
    }
    r.in   = t_malloc(COUNT * most);
    r.out  = t_malloc(COUNT * most);
    r.want = t_malloc(COUNT * most);
    for (size_t i = 0; i < COUNT; i++) {
        r.number[i] = (double)(1 + (i * 7 + i / 11 + (size_t)t_rank) % 2);
    }
    for (size_t s = 0; s < sizeof(settings) / sizeof(settings[0]); s++) {
        const char *const list[] = {settings[s], NULL};
        tw_context_t     *ctx;

        r.setting = settings[s];
        r.comm    = t_comm_under(list, MPI_COMM_WORLD, &ctx);
        for (size_t t = 0; t < TW_DTYPE_ROWS; t++) {
            each_reduction(&r, tw_dtypes[t]);
        }
        t_comm_done(r.comm, ctx);
    }
    free(r.number);
    free(r.sum);
    free(r.in);
    free(r.out);
    free(r.want);
}

static const t_case_t cases[] = {
    {"every row with all others", every_row_with_all_others, 1},
};

T_MAIN(cases)
