/* SPDX-License-Identifier: BSD-3-Clause
 * tests/interpose/operations.c - MPI_MAX, MPI_MIN and MPI_PROD of floats and doubles by every
 * reduction, of values that bitpack:2 keeps, as are their products: exact with whatever codec a
 * rule names, and, since no rule names tree8 for them, with that, too. Products of complex numbers
 * are no products of their parts. Where a NaN is among the values the largest is one, if it was
 * encoded.
 */
#include "config.h"

#include <complex.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <mpi.h>

enum { N = 3000 };

static int    rank, size, failures;
static float  floats[2][N];
static double doubles[2][N];

static double value(int of, int i)
{
    static const double values[] = {1.0, -2.0, 0.5, 4.0, -1.0, 2.0, -0.5};

    return values[(3 * of + i) % 7];
}

static double expected(MPI_Op op, int i)
{
    double all = value(0, i);

    for (int r = 1; r < size; r++) {
        const double x = value(r, i);

        all = op == MPI_PROD ? all * x : op == MPI_MAX ? fmax(all, x) : fmin(all, x);
    }
    return all;
}

static void compare(const char *what, MPI_Op op, int first, int n, const float *f, const double *d)
{
    for (int i = 0; i < n; i++) {
        const double want = expected(op, first + i), got = f != NULL ? (double)f[i] : d[i];

        if (got != want) {
            printf("rank %d of %d, %s of %s, value %d: %g, not %g\n", rank, size, what,
                   f != NULL ? "floats" : "doubles", first + i, got, want);
            failures++;
            return;
        }
    }
}

static void fill(void)
{
    for (int i = 0; i < N; i++) {
        floats[0][i]  = (float)value(rank, i);
        doubles[0][i] = value(rank, i);
        floats[1][i]  = -99.0f;
        doubles[1][i] = -99.0;
    }
}

static void every_call(MPI_Op op, int wide)
{
    const MPI_Datatype type = wide ? MPI_DOUBLE : MPI_FLOAT;
    void *const in = wide ? (void *)doubles[0] : floats[0], *const out = wide ? (void *)doubles[1]
                                                                              : floats[1];
    const float *const  f    = wide ? NULL : floats[1];
    const double *const d    = wide ? doubles[1] : NULL;
    const int           each = N / size;
    MPI_Request         request;

    fill();
    MPI_Allreduce(in, out, N, type, op, MPI_COMM_WORLD);
    compare("allreduce", op, 0, N, f, d);
    fill();
    MPI_Iallreduce(in, out, N, type, op, MPI_COMM_WORLD, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    compare("iallreduce", op, 0, N, f, d);
    fill();
    memcpy(out, in, N * (wide ? sizeof(double) : sizeof(float)));
    MPI_Allreduce(MPI_IN_PLACE, out, N, type, op, MPI_COMM_WORLD);
    compare("allreduce in place", op, 0, N, f, d);
    fill();
    MPI_Reduce(in, out, N, type, op, size - 1, MPI_COMM_WORLD);
    if (rank == size - 1) {
        compare("reduce", op, 0, N, f, d);
    }
    fill();
    MPI_Reduce_scatter_block(in, out, each, type, op, MPI_COMM_WORLD);
    compare("reduce_scatter_block", op, rank * each, each, f, d);
}

static void complex_product(void)
{
    float complex x[N], y[N], want = 1.0f;

    for (int i = 0; i < N; i++) {
        x[i] = 1.0f + (float)(rank + 1) * I;
    }
    for (int r = 0; r < size; r++) {
        want *= 1.0f + (float)(r + 1) * I;
    }
    MPI_Allreduce(x, y, N, MPI_C_FLOAT_COMPLEX, MPI_PROD, MPI_COMM_WORLD);
    if (crealf(y[N - 1]) != crealf(want) || cimagf(y[N - 1]) != cimagf(want)) {
        printf("rank %d: the product of complex numbers is %g + %g i\n", rank,
               (double)crealf(y[N - 1]), (double)cimagf(y[N - 1]));
        failures++;
    }
}

static void largest_with_nan(void)
{
    for (int r = 0; r < size; r++) {
        fill();
        if (rank == r) {
            floats[0][7] = NAN;
        }
        MPI_Allreduce(floats[0], floats[1], N, MPI_FLOAT, MPI_MAX, MPI_COMM_WORLD);
        if (!isnan(floats[1][7]) && size > 1) {
            printf("rank %d: the largest is %g, rank %d has a NaN\n", rank, (double)floats[1][7],
                   r);
            failures++;
        }
    }
}

int main(int argc, char **argv)
{
    int all = 0;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    for (int wide = 0; wide < 2; wide++) {
        every_call(MPI_MAX, wide);
        every_call(MPI_MIN, wide);
        every_call(MPI_PROD, wide);
    }
    complex_product();
    if (getenv("TW_OPERATIONS_ENCODED") != NULL) {
        largest_with_nan();
    }
    MPI_Allreduce(&failures, &all, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    MPI_Finalize();
    return all > 0;
}
