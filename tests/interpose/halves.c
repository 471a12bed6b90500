/* SPDX-License-Identifier: BSD-3-Clause
 * tests/interpose/halves.c - 16-bit floats of MPI in collectives, beside an oracle: sums in float32
 * in rank order, rounded once, and what is moved. The argument is the largest error, relative to
 * the largest exact value: 0 where nothing is to be lost, bit for bit. Run by halves.sh.
 *
 * With HALVES_ARE_INTEGERS they are MPI_UINT16_T, which an operation of this program adds; MPI_SUM
 * of these stays what it is. With a second argument they are two bytes, a type of that name.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <mpi.h>

#include "tests/half.h"

#ifdef HALVES_ARE_INTEGERS
static MPI_Datatype half = MPI_DATATYPE_NULL;
#define HALF half
#else
#define HALF MPIX_C_FLOAT16
#endif

#define N     5000 /* values of a rank */
#define RANKS 4

static int      rank, size, failures;
static MPI_Op   sum_op = MPI_OP_NULL;
static double   most;
static uint16_t in[RANKS * N], out[RANKS * N], want[RANKS * N];

/* Value i of a rank: of both signs and many magnitudes, so that the order of roundings shows. */
static double value(int of, size_t i)
{
    const uint32_t x = ((uint32_t)i * 2654435761u) ^ ((uint32_t)of * 40503u + 977u) * 2246822519u;

    return t_half_round(TW_F16, ((double)(x >> 8 & 0xffff) - 32768.0) / 32768.0 *
                                    (double)(1 + (x >> 24) % 60));
}

static void check(const char *what, size_t n)
{
    double error = 0.0, largest = 0.0;

    for (size_t i = 0; i < n; i++) {
        const double exact = t_half_value(TW_F16, want[i]);

        largest = fabs(exact) > largest ? fabs(exact) : largest;
        error   = fmax(error, fabs(t_half_value(TW_F16, out[i]) - exact));
    }
    if (most > 0.0 ? !(error > 0.0 && error <= most * largest) : memcmp(out, want, 2 * n) != 0) {
        printf("rank %d of %d: %s: error %g of %g\n", rank, size, what, error, largest);
        failures++;
    }
    memset(out, 0xff, sizeof(out)); /* NaN: what is not written shows */
}

static uint16_t sum_of(size_t i)
{
    float sum = (float)value(0, i);

    for (int r = 1; r < size; r++) {
        sum += (float)value(r, i);
    }
    return t_half_bits(TW_F16, t_half_round(TW_F16, sum));
}

/* want = the sums of values [first, first + n) of all ranks. */
static void want_sums(size_t first, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        want[i] = sum_of(first + i);
    }
}

/* want[at ..] = values [first, first + n) of a rank. */
static void want_values(size_t at, int of, size_t first, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        want[at + i] = t_half_bits(TW_F16, value(of, first + i));
    }
}

static void sums(void)
{
    want_sums(0, N);
    MPI_Allreduce(in, out, N, HALF, sum_op, MPI_COMM_WORLD);
    check("MPI_Allreduce", N);
    if (most == 0.0 ||
        size == 2) { /* others are left to MPI, which may lack such sums: MPICH 4.0 */
        MPI_Reduce(in, out, N, HALF, sum_op, size - 1, MPI_COMM_WORLD);
        if (rank == size - 1) {
            check("MPI_Reduce", N);
        }
    }
    want_sums((size_t)rank * N, N);
    MPI_Reduce_scatter_block(in, out, N, HALF, sum_op, MPI_COMM_WORLD);
    check("MPI_Reduce_scatter_block", N);
}

static void movements(void)
{
    memcpy(out, in, sizeof(in));
    want_values(0, 0, 0, N);
    MPI_Bcast(out, N, HALF, 0, MPI_COMM_WORLD);
    check("MPI_Bcast", N);
    for (int r = 0; r < size; r++) {
        want_values((size_t)r * N, r, 0, N);
    }
    MPI_Allgather(in, N, HALF, out, N, HALF, MPI_COMM_WORLD);
    check("MPI_Allgather", (size_t)size * N);
    for (int r = 0; r < size; r++) {
        want_values((size_t)r * N, r, (size_t)rank * N, N);
    }
    MPI_Alltoall(in, N, HALF, out, N, HALF, MPI_COMM_WORLD);
    check("MPI_Alltoall", (size_t)size * N);
}

#ifdef HALVES_ARE_INTEGERS
static void add(void *a, void *b, int *n, MPI_Datatype *type)
{
    (void)type;
    for (int i = 0; i < *n; i++) {
        const uint16_t x = ((const uint16_t *)a)[i], y = ((const uint16_t *)b)[i];

        ((uint16_t *)b)[i] = t_half_bits(
            TW_F16, t_half_round(TW_F16, t_half_value(TW_F16, x) + t_half_value(TW_F16, y)));
    }
}

/* From 1 upwards as floats, whose sums of integers are others, and fit for 4 ranks. */
static void integers(void)
{
    const double before = most;

    for (size_t i = 0; i < N; i++) {
        out[i]  = (uint16_t)(0x3c00 + i % 100);
        want[i] = (uint16_t)(size * (0x3c00 + (int)(i % 100)));
    }
    MPI_Allreduce(MPI_IN_PLACE, out, N, HALF, MPI_SUM, MPI_COMM_WORLD);
    most = 0.0;
    check("MPI_SUM of integers", N);
    most = before;
}
#endif

int main(int argc, char **argv)
{
    int all = 0;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    most = argc > 1 ? atof(argv[1]) : 0.0;
    if (size > RANKS) {
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
    for (size_t i = 0; i < (size_t)size * N; i++) {
        in[i] = t_half_bits(TW_F16, value(rank, i));
    }
#ifdef HALVES_ARE_INTEGERS
    MPI_Op_create(add, 1, &sum_op);
    if (argc > 2) {
        MPI_Datatype unnamed;

        MPI_Type_contiguous(2, MPI_BYTE, &unnamed);
        MPI_Type_commit(&unnamed);
        if (rank == 0) { /* what one rank has done with another type says nothing */
            MPI_Sendrecv(&in[0], 1, unnamed, 0, 0, &in[1], 1, unnamed, 0, 0, MPI_COMM_SELF,
                         MPI_STATUS_IGNORE);
            in[1] = t_half_bits(TW_F16, value(rank, 1));
        }
        MPI_Type_dup(unnamed, &half);
        MPI_Type_free(&unnamed);
        MPI_Type_set_name(half, argv[2]);
    } else {
        half = MPI_UINT16_T;
        integers();
    }
#else
    sum_op = MPI_SUM;
#endif
    sums();
    movements();
    MPI_Allreduce(&failures, &all, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    MPI_Finalize();
    return all > 0;
}
