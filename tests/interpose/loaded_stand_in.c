/* SPDX-License-Identifier: BSD-3-Clause
 * An MPI library of Fortran functions alone, for one rank, as solvers bring them; and, with
 * TW_PROGRAM, what gfortran makes of a program that is linked with it.
 */
#ifdef TW_PROGRAM

#include <stdio.h>

void mpi_init_(int *ierr);
void mpi_barrier_(const int *comm, int *ierr);
void mpi_allreduce_(const void *send, void *receive, const int *count, const int *type,
                    const int *op, const int *comm, int *ierr);
void mpi_finalize_(int *ierr);

int main(void)
{
    const int one  = 1;
    int       ierr = 1, value = 7, sum = 0;

    mpi_init_(&ierr);
    mpi_barrier_(&one, &ierr);
    mpi_allreduce_(&value, &sum, &one, &one, &one, &one, &ierr);
    mpi_finalize_(&ierr);
    printf("sum %d, error %d\n", sum, ierr);
    return 0;
}

#else

void mpi_init_(int *ierr);
void mpi_barrier_(const int *comm, int *ierr);
void mpi_allreduce_(const int *send, int *receive, const int *count, const int *type, const int *op,
                    const int *comm, int *ierr);
void mpi_finalize_(int *ierr);

void mpi_init_(int *ierr)
{
    *ierr = 0;
}

void mpi_barrier_(const int *comm, int *ierr)
{
    *ierr = *comm - 1;
}

void mpi_allreduce_(const int *send, int *receive, const int *count, const int *type, const int *op,
                    const int *comm, int *ierr)
{
    for (int i = 0; i < *count; i++) {
        receive[i] = send[i];
    }
    *ierr = *type + *op - 2 * *comm;
}

void mpi_finalize_(int *ierr)
{
    *ierr = 0;
}

#endif
