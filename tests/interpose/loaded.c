/* SPDX-License-Identifier: BSD-3-Clause
 * A program that loads the library named, and calls work() in it or, if that is `handle`, MPI's
 * functions in it. With TW_WITH_MPI it uses MPI itself, so that the MPI library is there for all,
 * and MPI's Fortran half with the library that is loaded for no one else.
 */
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

#ifdef TW_WITH_MPI
#include <mpi.h>
#endif

int main(int argc, char **argv)
{
    void *library;
    void (*work)(void) = NULL;

    if (argc != 3) {
        fprintf(stderr, "usage: loaded LIBRARY local|global|handle\n");
        return 2;
    }
#ifdef TW_WITH_MPI
    MPI_Init(&argc, &argv);
#endif
    library =
        dlopen(argv[1], RTLD_NOW | (strcmp(argv[2], "local") == 0 ? RTLD_LOCAL : RTLD_GLOBAL));
    if (library == NULL) {
        fprintf(stderr, "%s\n", dlerror());
        return 2;
    }
    if (strcmp(argv[2], "handle") == 0) {
        int (*init)(int *, char ***) = NULL;
        int (*finalize)(void)        = NULL;

        *(void **)&init     = dlsym(library, "MPI_Init");
        *(void **)&finalize = dlsym(library, "MPI_Finalize");
        return init(&argc, &argv) != 0 || finalize() != 0;
    }
    *(void **)&work = dlsym(library, "work");
    work();
#ifdef TW_WITH_MPI
    MPI_Finalize();
#endif
    return 0;
}
