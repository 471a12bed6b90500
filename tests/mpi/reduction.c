/* SPDX-License-Identifier: BSD-3-Clause
 * tests/mpi/reduction.c - allreduce, reduce and the reduce-scatters against the model, a serial sum
 * and the MPI library.
 */
#include "config.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tests/mpi/job.h"

static void every_codec(t_op_t kind)
{
    for (int a = TW_ALGORITHM_DIRECT; a <= TW_ALGORITHM_GRID; a++) {
        t_jobs_edges(t_world, (t_shape_t){.kind = kind, .algorithm = (tw_algorithm_t)a});
    }
}

static void allreduce_is_what_the_model_says(void)
{
    every_codec(T_ALLREDUCE);
}
static void reduce_is_what_the_model_says(void)
{
    every_codec(T_REDUCE);
}
static void reduce_scatter_block_is_what_the_model_says(void)
{
    t_jobs_edges(t_world, (t_shape_t){.kind = T_REDUCE_SCATTER_BLOCK});
}

static void reduce_scatter_of_uneven_counts(void)
{
    uint64_t  random = t_seed;
    t_shape_t shape;

    for (size_t i = 0; t_specs_f32[i] != NULL; i++) {
        for (int in_place = 0; in_place < 2; in_place++) {
            t_shape_random(&shape, &random, t_size, 6000 * (size_t)t_size);
            shape.kind      = T_REDUCE_SCATTER;
            shape.dtype     = TW_F32;
            shape.spec      = t_specs_f32[i];
            shape.in_place  = in_place;
            shape.flags     = 0;
            shape.algorithm = TW_ALGORITHM_AUTO;
            shape.reduction = (tw_reduction_t)t_below(&random, TW_REDUCTION_ROWS);
            for (int r = 0; r < t_size; r++) {
                if (t_below(&random, 4) == 0) {
                    shape.counts[0][r] = 0;
                }
            }
            t_job_once(t_world, &shape);
        }
    }
}

static void auto_is_one_of_them(void)
{
    static const size_t      counts[] = {0, 1, 100, 5000, 40000, 100003};
    static const char *const specs[]  = {"", "tree8", "onebit", "bf16"};
    t_shape_t                shape    = {.dtype = TW_F32};

    for (size_t i = 0; i < sizeof(counts) / sizeof(counts[0]); i++) {
        for (size_t k = 0; k < sizeof(specs) / sizeof(specs[0]); k++) {
            shape.kind  = k % 2 == 0 ? T_ALLREDUCE : T_REDUCE;
            shape.count = counts[i];
            shape.spec  = specs[k];
            t_job_once(t_world, &shape);
        }
    }
}

/* THINWIRE_ALLREDUCE decides where the call does not, and is overruled where it does. */
static void the_setting_decides_where_the_call_does_not(void)
{
    static const char *const names[] = {"direct", "two_pass", "grid"};
    char                     text[40];

    for (int i = 0; i < (int)(sizeof(names) / sizeof(names[0])); i++) {
        const char *const settings[] = {text, NULL};
        tw_context_t     *ctx;
        tw_comm_t        *comm;

        strcpy(text, "ALLREDUCE=");
        strcat(text, names[i]);
        comm = t_comm_under(settings, MPI_COMM_WORLD, &ctx);
        for (int a = 0; a < 4; a++) {
            const tw_how_t    how  = {.algorithm = (tw_algorithm_t)a};
            const char *const name = t_algorithm(comm, &how, 10);

            t_note("%s, algorithm %d", text, a);
            T_CHECK(strcmp(name, names[a == 0 ? i : a - 1]) == 0, "the algorithm is %s", name);
        }
        t_comm_done(comm, ctx);
    }
}

/* ---- lossless: a serial sum in rank order, by a loop that knows nothing of codecs -------------
 */

static void serial_f32(size_t n, tw_reduction_t reduction, float *sum)
{
    float *x = t_malloc(n * sizeof(float));

    for (int r = 0; r < t_size; r++) {
        t_fill(TW_F32, t_seed + (unsigned)r, 0, n, x);
        for (size_t i = 0; i < n; i++) {
            sum[i] = r == 0 ? x[i] : sum[i] + x[i];
        }
    }
    for (size_t i = 0; reduction == TW_AVERAGE && i < n; i++) {
        sum[i] /= (float)t_size;
    }
    free(x);
}

static void lossless_is_the_serial_sum(void)
{
    enum { N = 20011 };
    static const char *const specs[] = {"", "fp32", "bitpack:4"};
    float                   *x = t_malloc(N * sizeof(float)), *y = t_malloc(N * sizeof(float));
    float                   *sum = t_malloc(N * sizeof(float));

    for (int average = 0; average < 2; average++) {
        serial_f32(N, (tw_reduction_t)average, sum);
        for (int s = 0; s < 3; s++) {
            for (int a = TW_ALGORITHM_DIRECT; a <= TW_ALGORITHM_TWO_PASS; a++) {
                const tw_how_t how = {.codec     = t_codec(specs[s], TW_F32),
                                      .algorithm = (tw_algorithm_t)a};

                t_note("%s, algorithm %d, average %d", specs[s], a, average);
                t_fill(TW_F32, t_seed + (unsigned)t_rank, 0, N, x);
                T_OK(tw_allreduce(t_world, x, y, N, (tw_reduction_t)average, &how));
                T_SAME(TW_F32, y, sum, N);
                T_OK(tw_allreduce(t_world, TW_IN_PLACE, x, N, (tw_reduction_t)average, &how));
                T_SAME(TW_F32, x, sum, N);
            }
        }
    }
    free(x);
    free(y);
    free(sum);
}

static void lossless_is_the_serial_sum_of_doubles(void)
{
    enum { N = 10007 };
    double *x = t_malloc(N * sizeof(double)), *sum = t_malloc(N * sizeof(double));

    for (int a = TW_ALGORITHM_DIRECT; a <= TW_ALGORITHM_TWO_PASS; a++) {
        const tw_how_t how = {.codec     = t_codec("bitpack:8", TW_F64),
                              .algorithm = (tw_algorithm_t)a};

        for (int r = 0; r < t_size; r++) {
            t_fill(TW_F64, t_seed + (unsigned)r, 0, N, x);
            for (size_t i = 0; i < N; i++) {
                sum[i] = r == 0 ? x[i] : sum[i] + x[i];
            }
        }
        t_fill(TW_F64, t_seed + (unsigned)t_rank, 0, N, x);
        T_OK(tw_allreduce(t_world, TW_IN_PLACE, x, N, TW_SUM, &how));
        T_SAME(TW_F64, x, sum, N);
    }
    free(x);
    free(sum);
}

/* ---- within the bound of the MPI library's sum ---------------------------------------------- */

/* A sum of P values in any order is within (P - 1) * 2^-24 * sum|x| of the exact one (and a hair
 * more, for the second order), so two of them are within twice that of each other. */
static void near_the_sum_of_the_mpi_library(void)
{
    enum { N = 30011 };
    float  *x = t_malloc(N * sizeof(float)), *y = t_malloc(N * sizeof(float));
    float  *mpi   = t_malloc(N * sizeof(float));
    double *exact = t_malloc(2 * N * sizeof(double)), *size = exact + N;

    memset(exact, 0, 2 * N * sizeof(double));
    for (int r = 0; r < t_size; r++) {
        t_fill(TW_F32, t_seed + (unsigned)r, 0, N, x);
        for (size_t i = 0; i < N; i++) {
            exact[i] += (double)x[i];
            size[i] += fabs((double)x[i]);
        }
    }
    t_fill(TW_F32, t_seed + (unsigned)t_rank, 0, N, x);
    MPI_Allreduce(x, mpi, N, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
    for (int a = TW_ALGORITHM_DIRECT; a <= TW_ALGORITHM_TWO_PASS; a++) {
        const tw_how_t how     = {.algorithm = (tw_algorithm_t)a};
        const double   unit    = (t_size - 1) * 0x1.0001p-24;
        size_t         outside = 0;

        T_OK(tw_allreduce(t_world, x, y, N, TW_SUM, &how));
        for (size_t i = 0; i < N; i++) {
            outside += !(fabs((double)y[i] - exact[i]) <= unit * size[i]);
            outside += !(fabs((double)y[i] - (double)mpi[i]) <= 2.0 * unit * size[i]);
        }
        T_CHECK(outside == 0, "algorithm %d: %zu values are outside the bounds", a, outside);
    }
    free(x);
    free(y);
    free(mpi);
    free(exact);
}

/* The model could share a misunderstanding with the library; the truth cannot. Bounds: root mean
 * square error of one quantisation of these values, relative to their own, times sqrt(2). */
static void lossy_is_near_the_truth(void)
{
    enum { N = 20000 };
    static const struct {
        const char *spec;
        double      bound;
    } list[]  = {{"bf16", 0.005},          {"fp16", 0.001}, {"bitpack:3", 1e-4},
                 {"bitpack:2", 0.012},     {"tree8", 0.04}, {"int8", 0.015},
                 {"static8", 0.08},        {"onebit", 0.9}, {"mantissa8", 0.1},
                 {"int8:block=192", 0.015}};
    float  *x = t_malloc(N * sizeof(float)), *y = t_malloc(N * sizeof(float));
    double *sum = t_malloc(N * sizeof(double));

    memset(sum, 0, N * sizeof(double));
    for (int r = 0; r < t_size; r++) {
        t_fill(TW_F32, t_seed + (unsigned)r, 0, N, x);
        for (size_t i = 0; i < N; i++) {
            sum[i] += (double)x[i];
        }
    }
    t_fill(TW_F32, t_seed + (unsigned)t_rank, 0, N, x);
    for (size_t k = 0; k < sizeof(list) / sizeof(list[0]); k++) {
        for (int a = TW_ALGORITHM_DIRECT; a <= TW_ALGORITHM_TWO_PASS; a++) {
            const tw_how_t how   = {.codec     = t_codec(list[k].spec, TW_F32),
                                    .algorithm = (tw_algorithm_t)a};
            double         error = 0, size = 0;

            T_OK(tw_allreduce(t_world, x, y, N, TW_SUM, &how));
            for (size_t i = 0; i < N; i++) {
                error += ((double)y[i] - sum[i]) * ((double)y[i] - sum[i]);
                size += sum[i] * sum[i];
            }
            error = sqrt(error / size);
            T_CHECK(error <= list[k].bound * 1.5,
                    "%s, algorithm %d: relative error %g, expected %g", list[k].spec, a, error,
                    list[k].bound);
            T_CHECK(error > 0.0, "%s is not lossy at all", list[k].spec);
        }
    }
    free(x);
    free(y);
    free(sum);
}

static void the_same_bits_on_all_ranks(void)
{
    enum { N = 9001 };
    float *x = t_malloc(N * sizeof(float)), *y = t_malloc(N * sizeof(float));

    t_fill(TW_F32, t_seed + (unsigned)t_rank, 0, N, x);
    for (size_t i = 0; t_specs_f32[i] != NULL; i++) {
        for (int a = 0; a < 3; a++) {
            const tw_how_t how = {.codec     = t_codec(t_specs_f32[i], TW_F32),
                                  .algorithm = (tw_algorithm_t)a};

            t_note("%s, algorithm %d", t_specs_f32[i], a);
            T_OK(tw_allreduce(t_world, x, y, N, TW_AVERAGE, &how));
            T_SAME_EVERYWHERE(MPI_COMM_WORLD, y, N * sizeof(float));
        }
    }
    free(x);
    free(y);
}

/* ---- non-finite values ---------------------------------------------------------------------- */

static void poison_travels(void)
{
    enum { N = 9000, AT = 4999 };
    static const uint32_t odd[] = {0x7fc00000u, 0xffc54321u, 0x7f800000u, 0xff800000u};
    float                *x = t_malloc(N * sizeof(float)), *y = t_malloc(N * sizeof(float));
    float                *want = t_malloc(N * sizeof(float)), *in[T_RANKS_MAX];

    for (int r = 0; r < t_size; r++) {
        in[r] = t_malloc(N * sizeof(float));
        t_fill(TW_F32, t_seed + (unsigned)r, 0, N, in[r]);
    }
    for (size_t k = 0; k < sizeof(odd) / sizeof(odd[0]); k++) {
        memcpy(&in[t_size - 1][AT], &odd[k], sizeof(float));
        memcpy(&in[0][AT + 1], &odd[3 - k], sizeof(float));
        memcpy(x, in[t_rank], N * sizeof(float));
        for (size_t i = 0; t_specs_f32[i] != NULL; i++) {
            const int exempt = strncmp(t_specs_f32[i], "bitpack", 7) == 0 &&
                               strstr(t_specs_f32[i], "round") == NULL;

            for (int a = TW_ALGORITHM_DIRECT; a <= TW_ALGORITHM_TWO_PASS; a++) {
                const tw_how_t      how = {.codec     = t_codec(t_specs_f32[i], TW_F32),
                                           .algorithm = (tw_algorithm_t)a};
                const t_model_sum_t sum = {how.codec, TW_F32, t_size, TW_SUM, NULL};

                t_note("%s, algorithm %d, %08x", t_specs_f32[i], a, odd[k]);
                T_OK(tw_allreduce(t_world, x, y, N, TW_SUM, &how));
                t_model_allreduce(&sum, (const void *const *)in, N, a == TW_ALGORITHM_TWO_PASS,
                                  want);
                T_SAME_OR_NAN(TW_F32, y, want, N);
                T_SAME_EVERYWHERE(MPI_COMM_WORLD, y, N * sizeof(float));
                T_CHECK(exempt || !isfinite(y[AT]), "%a came out of a non-finite value",
                        (double)y[AT]);
                T_CHECK(exempt || !isfinite(y[AT + 1]), "%a came out of a non-finite value",
                        (double)y[AT + 1]);
                T_CHECK(isfinite(y[0]) && isfinite(y[N - 1]), "the poison spread too far");
            }
        }
    }
    for (int r = 0; r < t_size; r++) {
        free(in[r]);
    }
    free(x);
    free(y);
    free(want);
}

static const t_case_t cases[] = {
    {"allreduce is what the model says", allreduce_is_what_the_model_says, 1},
    {"reduce is what the model says", reduce_is_what_the_model_says, 1},
    {"reduce_scatter_block is what the model says", reduce_scatter_block_is_what_the_model_says, 1},
    {"reduce_scatter of uneven counts", reduce_scatter_of_uneven_counts, 1},
    {"auto is one of them", auto_is_one_of_them, 1},
    {"the setting decides where the call does not", the_setting_decides_where_the_call_does_not, 1},
    {"lossless is the serial sum", lossless_is_the_serial_sum, 1},
    {"lossless is the serial sum of doubles", lossless_is_the_serial_sum_of_doubles, 1},
    {"near the sum of the MPI library", near_the_sum_of_the_mpi_library, 1},
    {"lossy is near the truth", lossy_is_near_the_truth, 1},
    {"the same bits on all ranks", the_same_bits_on_all_ranks, 1},
    {"poison travels", poison_travels, 1},
};

T_MAIN(cases)
