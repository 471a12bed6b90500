/* SPDX-License-Identifier: BSD-3-Clause
 * tests/mpi/feedback_use.c - feedback objects in use: cleared, busy, misused, and around values
 * that are not finite.
 */
#include "config.h"

#include <math.h>
#include <string.h>

#include "tests/mpi/job.h"

static void cleared_it_is_as_new(void)
{
    float          x[640], y[640], first[640], zero[640] = {0};
    tw_feedback_t *fb   = NULL;
    tw_how_t       how  = {.codec = t_codec("onebit:block=64", TW_F32)};
    double         norm = -1;

    how.algorithm = TW_ALGORITHM_TWO_PASS;
    t_fill(TW_F32, t_seed + (unsigned)t_rank, 0, 640, x);
    T_OK(tw_feedback_create(t_world, "cleared", TW_F32, 640, &fb));
    T_OK(tw_feedback_norm(fb, &norm));
    T_CHECK(norm == 0.0, "a new object holds %g", norm);
    T_OK(tw_feedback_read(fb, y));
    T_SAME(TW_F32, y, zero, 640);
    how.feedback = fb;
    T_OK(tw_allreduce(t_world, x, first, 640, TW_SUM, &how));
    T_OK(tw_allreduce(t_world, x, y, 640, TW_SUM, &how));
    T_CHECK(memcmp(first, y, sizeof(y)) != 0, "feedback changes nothing");
    T_OK(tw_feedback_clear(fb));
    T_OK(tw_feedback_norm(fb, &norm));
    T_CHECK(norm == 0.0, "a cleared object holds %g", norm);
    T_OK(tw_allreduce(t_world, x, y, 640, TW_SUM, &how));
    T_SAME(TW_F32, y, first, 640);
    tw_feedback_destroy(fb);
}

/* A codec that loses nothing passes on all that was held back, and what is sent stays as it is. */
static void lossless_it_takes_the_residual(void)
{
    enum { N = 640 };

    for (int a = TW_ALGORITHM_DIRECT; a <= TW_ALGORITHM_GRID; a++) {
        tw_how_t       how = {.codec = t_codec("onebit:block=64", TW_F32)};
        tw_feedback_t *fb  = NULL;
        float          x[N], sum[N], first[N], rest[N], zero[N] = {0}, none[N] = {0};
        size_t         wrong = 0;

        t_note("algorithm %d", a);
        how.algorithm = (tw_algorithm_t)a;
        T_OK(tw_feedback_create(t_world, "lossless", TW_F32, N, &fb));
        how.feedback = fb;
        for (size_t i = 0; i < N; i++) {
            x[i] = (float)((i * 37 + (size_t)t_rank * 11) % 101) - 50.0f;
        }
        MPI_Allreduce(x, sum, N, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
        T_OK(tw_allreduce(t_world, x, first, N, TW_SUM, &how));
        how.codec = t_codec("fp32", TW_F32);
        T_OK(tw_allreduce(t_world, zero, rest, N, TW_AVERAGE, &how));
        for (size_t i = 0; i < N; i++) {
            wrong += !(fabsf(first[i] + (float)t_size * rest[i] - sum[i]) < 0.01f);
        }
        T_CHECK(wrong == 0, "%zu of %d sums are wrong", wrong, (int)N);
        T_CHECK(memcmp(zero, none, sizeof(zero)) == 0, "what was sent has changed");
        T_OK(tw_allreduce(t_world, zero, rest, N, TW_AVERAGE, &how));
        T_SAME(TW_F32, rest, none, N);
        tw_feedback_destroy(fb);
    }
}

/* One overflow poisons one block of one result, not the training. */
static void non_finite_values_leave_the_residual(void)
{
    static const uint32_t odd[] = {0x7f800000u, 0x7fc00000u, 0xff800000u};
    enum { N = 640, AT = 200, BLOCK = 64 };

    for (int a = TW_ALGORITHM_DIRECT; a <= TW_ALGORITHM_GRID; a++) {
        tw_how_t       how = {.codec = t_codec("onebit:block=64", TW_F32)};
        tw_feedback_t *fb  = NULL;
        float          x[N], y[N], before[N], after[N];
        size_t         spread = 0;

        how.algorithm = (tw_algorithm_t)a;
        T_OK(tw_feedback_create(t_world, "overflow", TW_F32, N, &fb));
        how.feedback = fb;
        for (unsigned k = 0; k < 3; k++) {
            t_note("algorithm %d, %08x", a, odd[k]);
            t_fill(TW_F32, t_seed + k * 8u + (unsigned)t_rank, 0, N, x);
            T_OK(tw_allreduce(t_world, x, y, N, TW_SUM, &how));
            T_OK(tw_feedback_read(fb, before));
            if (t_rank == t_size - 1) {
                memcpy(&x[AT], &odd[k], sizeof(float));
            }
            T_OK(tw_allreduce(t_world, x, y, N, TW_SUM, &how));
            T_OK(tw_feedback_read(fb, after));
            for (size_t i = 0; i < N; i++) {
                const int hit = i / BLOCK == AT / BLOCK;

                spread += hit == (isfinite(y[i]) != 0);
                spread += !isfinite(after[i]);
            }
            T_CHECK(spread == 0, "%zu values are finite that must not be, or the other way round",
                    spread);
            if (t_rank == t_size - 1) { /* it sent the poison: nothing of that block was taken in */
                T_CHECK(a != TW_ALGORITHM_DIRECT ||
                            memcmp(before + AT / BLOCK * BLOCK, after + AT / BLOCK * BLOCK,
                                   BLOCK * sizeof(float)) == 0,
                        "the residual of the poisoned block has changed");
            }
        }
        t_fill(TW_F32, t_seed, 0, N, x);
        T_OK(tw_allreduce(t_world, x, y, N, TW_SUM, &how));
        for (size_t i = 0; i < N; i++) {
            spread += !isfinite(y[i]);
        }
        T_CHECK(spread == 0, "the poison stayed");
        tw_feedback_destroy(fb);
    }
}

/* One object in two operations at once is refused, on every rank alike: until the first is
 * completed by its caller, however far the library has got with it. */
static void two_operations_at_once_are_refused(void)
{
    tw_feedback_t *fb    = NULL;
    tw_request_t  *first = NULL, *second = NULL;
    t_log_t        log;
    tw_context_t  *ctx;
    tw_comm_t     *comm  = t_comm_logged(NULL, &log, &ctx);
    tw_how_t       how   = {.codec = t_codec("onebit", TW_F32)};
    float          x[50] = {1.0f, 2.0f}, y[50], z[50];

    T_OK(tw_feedback_create(comm, "busy", TW_F32, 50, &fb));
    T_OK(tw_allreduce(comm, x, y, 50, TW_SUM, &how)); /* the ranks agree on memory */
    for (int late = 0; late < t_size; late++) {
        if (t_rank == late) {
            MPI_Barrier(MPI_COMM_WORLD);
        }
        how.feedback = fb;
        T_OK(tw_iallreduce(comm, x, y, 50, TW_SUM, &how, &first));
        T_STATUS(tw_iallreduce(comm, x, z, 50, TW_SUM, &how, &second), TW_ERR_BUSY);
        T_CHECK(second == NULL, "an output was set on failure");
        if (t_rank != late) {
            MPI_Barrier(MPI_COMM_WORLD);
        }
        how.feedback = NULL;
        T_OK(tw_allreduce(comm, x, z, 50, TW_SUM, &how)); /* carries the first to its end */
        how.feedback = fb;
        T_STATUS(tw_allreduce(comm, x, z, 50, TW_SUM, &how), TW_ERR_BUSY);
        T_STATUS(tw_feedback_clear(fb), TW_ERR_BUSY);
        T_OK(tw_wait(&first));
    }
    tw_feedback_destroy(fb);
    t_comm_done(comm, ctx);
}

static void misuse_is_refused(void)
{
    float          x[100] = {0}, y[100];
    tw_feedback_t *fb = NULL, *none = NULL, *foreign = NULL;
    tw_how_t       how = {0};
    t_log_t        log;
    tw_context_t  *ctx;
    tw_comm_t     *comm = t_comm_logged(NULL, &log, &ctx);
    double         norm;

    T_STATUS(tw_feedback_create(NULL, "a", TW_F32, 1, &none), TW_ERR_INVALID_ARG);
    T_STATUS(tw_feedback_create(t_world, NULL, TW_F32, 1, &none), TW_ERR_INVALID_ARG);
    T_STATUS(tw_feedback_create(t_world, "", TW_F32, 1, &none), TW_ERR_INVALID_ARG);
    T_STATUS(tw_feedback_create(t_world, "a b", TW_F32, 1, &none), TW_ERR_INVALID_ARG);
    T_STATUS(tw_feedback_create(t_world, "a\n", TW_F32, 1, &none), TW_ERR_INVALID_ARG);
    T_STATUS(tw_feedback_create(t_world,
                                "a234567890123456789012345678901234567890123456789012345678901234",
                                TW_F32, 1, &none),
             TW_ERR_INVALID_ARG);
    T_STATUS(tw_feedback_create(t_world, "a", (tw_dtype_t)9, 1, &none), TW_ERR_INVALID_ARG);
    T_STATUS(tw_feedback_create(t_world, "a", TW_F32, 1, NULL), TW_ERR_INVALID_ARG);
    T_CHECK(none == NULL, "an output was set on failure");
    T_STATUS(tw_feedback_clear(NULL), TW_ERR_INVALID_ARG);
    T_STATUS(tw_feedback_norm(NULL, &norm), TW_ERR_INVALID_ARG);
    T_STATUS(tw_feedback_read(NULL, x), TW_ERR_INVALID_ARG);
    tw_feedback_destroy(NULL);

    T_OK(tw_feedback_create(t_world, "foreign", TW_F32, 100, &foreign));
    T_OK(tw_feedback_create(comm, "a", TW_F32, 100, &fb));
    T_STATUS(tw_feedback_read(fb, NULL), TW_ERR_INVALID_ARG);
    T_STATUS(tw_feedback_norm(fb, NULL), TW_ERR_INVALID_ARG);
    how.feedback = fb;
    T_STATUS(tw_allreduce(comm, x, y, 99, TW_SUM, &how), TW_ERR_INVALID_ARG); /* other count */
    T_STATUS(tw_bcast(comm, x, 100, 0, &how), TW_ERR_INVALID_ARG);            /* no reduction */
    T_STATUS(tw_allgather(comm, x, y, 1, &how), TW_ERR_INVALID_ARG);
    T_STATUS(tw_alltoall(comm, x, y, 1, &how), TW_ERR_INVALID_ARG);
    how.codec = t_codec("bitpack:8", TW_F64); /* other type */
    T_STATUS(tw_allreduce(comm, x, y, 100, TW_SUM, &how), TW_ERR_INVALID_ARG);
    how = (tw_how_t){.feedback = foreign}; /* of another communicator */
    T_STATUS(tw_allreduce(comm, x, y, 100, TW_SUM, &how), TW_ERR_INVALID_ARG);
    T_CHECK(log.lines == 6 && strstr(log.text, "'a'") != NULL, "%d lines: %s", log.lines, log.text);
    T_STATUS(tw_comm_destroy(comm), TW_ERR_BUSY); /* an object is left */
    tw_feedback_destroy(fb);
    tw_feedback_destroy(foreign);

    T_OK(tw_feedback_create(comm, "empty", TW_F32, 0, &fb));
    how = (tw_how_t){.codec = t_codec("onebit", TW_F32), .feedback = fb};
    T_OK(tw_allreduce(comm, x, y, 0, TW_SUM, &how));
    T_OK(tw_feedback_norm(fb, &norm));
    T_CHECK(norm == 0.0, "nothing has norm %g", norm);
    tw_feedback_destroy(fb);
    t_comm_done(comm, ctx);
}

static const t_case_t cases[] = {
    {"cleared it is as new", cleared_it_is_as_new, 1},
    {"lossless, it takes the residual", lossless_it_takes_the_residual, 1},
    {"non-finite values leave the residual", non_finite_values_leave_the_residual, 1},
    {"two operations at once are refused", two_operations_at_once_are_refused, 1},
    {"misuse is refused", misuse_is_refused, 1},
};

T_MAIN(cases)
