/* SPDX-License-Identifier: BSD-3-Clause
 * A program that asks the loader whether functions are there, as those do that are made for several
 * MPI libraries: it prints which of the names in a file are. With TW_MISSING, which is not linked
 * with MPI's Fortran half, it calls a function of that and prints what comes back.
 */
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

#include <mpi.h>

#ifdef TW_MISSING

static int ask(const char *file)
{
    void (*barrier)(const MPI_Fint *comm, MPI_Fint *ierr) = NULL;
    const MPI_Fint world                                  = MPI_Comm_c2f(MPI_COMM_WORLD);
    MPI_Fint       error                                  = MPI_SUCCESS;

    (void)file;
    *(void **)&barrier = dlsym(RTLD_DEFAULT, "mpi_barrier_");
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    if (barrier == NULL) {
        puts("not there");
    } else {
        barrier(&world, &error);
        puts(error == MPI_SUCCESS ? "success" : "an error");
    }
    return 0;
}

#else

static int ask(const char *file)
{
    FILE *names = fopen(file, "r");
    char  name[200];

    while (names != NULL && fscanf(names, "%199s", name) == 1) {
        if (dlsym(RTLD_DEFAULT, name) != NULL) {
            puts(name);
        }
    }
    return names == NULL || fclose(names) != 0;
}

#endif

int main(int argc, char **argv)
{
    int status;

    MPI_Init(&argc, &argv);
    status = ask(argc > 1 ? argv[1] : "");
    MPI_Finalize();
    return status;
}
