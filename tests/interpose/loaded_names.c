/* SPDX-License-Identifier: BSD-3-Clause
 * A C library with functions of its own whose names begin with mpi_: C reserves MPI_ alone. It is
 * not linked with MPI's Fortran half.
 */
#include <mpi.h>
#include <stdio.h>

int    mpi_barrier(const char *why);
int    mpi_init(int verbose);
int    MPI_BCAST(int what);
int    mpi_reduce__(int what);
double mpi_allreduce(double x);
void   work(void);

int mpi_barrier(const char *why)
{
    return why != NULL && MPI_Barrier(MPI_COMM_WORLD) == MPI_SUCCESS ? 42 : 0;
}

int mpi_init(int verbose)
{
    return verbose + 1;
}

int MPI_BCAST(int what)
{
    return what + 2;
}

int mpi_reduce__(int what)
{
    return what + 3;
}

double mpi_allreduce(double x)
{
    double sum = -1.0;

    MPI_Allreduce(&x, &sum, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    return sum;
}

void work(void)
{
    int ranks;

    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    if (mpi_init(1) != 2 || mpi_barrier("why") != 42 || MPI_BCAST(1) != 3 || mpi_reduce__(1) != 4 ||
        mpi_allreduce(1.5) != 1.5 * ranks) {
        printf("wrong: another library's function was called\n");
        MPI_Abort(MPI_COMM_WORLD, 3);
    }
}
