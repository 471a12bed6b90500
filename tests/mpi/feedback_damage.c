/* SPDX-License-Identifier: BSD-3-Clause
 * tests/mpi/feedback_damage.c - files that are damaged, cut, of another object or not there:
 * refused on all ranks with one line, and nothing is changed.
 */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/mpi/stored.h"

#define COUNT T_STORED_COUNT

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
    bad->comm  = t_comm_logged(NULL, &bad->log, &bad->ctx);
    bad->fb    = t_feedback_used(bad->comm, "w", t_seed, COUNT, 2);
    bad->twin  = t_feedback_used(bad->comm, "w", t_seed, COUNT, 2);
    bad->bytes = t_feedback_saved(bad->fb, t_rank, &bad->n);
    MPI_Bcast(&bad->n, sizeof(bad->n), MPI_BYTE, 0, MPI_COMM_WORLD);
}

static void close_bad(bad_t *bad)
{
    t_feedback_same(bad->fb, bad->twin);
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
    T_STATUS(t_feedback_restored(fb, t_rank, bad->bytes, n, TW_FEEDBACK_SUM), TW_ERR_FORMAT);
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
    T_OK(t_feedback_restored(bad.fb, t_rank, bad.bytes, bad.n, TW_FEEDBACK_SUM));
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
    big = t_feedback_used(bad.comm, "big", t_seed, 100000, 1);
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
    {"a damaged file is refused", a_damaged_file_is_refused, 1},
    {"a cut file is refused", a_cut_file_is_refused, 1},
    {"a file of another object is refused", a_file_of_another_object_is_refused, 1},
    {"a bad stream is an error everywhere", a_bad_stream_is_an_error_everywhere, 1},
};

T_MAIN(cases)
