/* SPDX-License-Identifier: BSD-3-Clause
 * tools/mpi_library.h - what can be found out about the MPI library.
 */
#ifndef TOOLS_MPI_LIBRARY_H
#define TOOLS_MPI_LIBRARY_H

#include "tools/job.h"

typedef struct mpi_library {
    char library[256];   /* first line of MPI_Get_library_version             */
    char fabric[256];    /* how its messages travel, or "unknown" and why     */
    char cuda_aware[16]; /* "yes", "no", "unknown"                            */
} mpi_library_t;

/* Under mpirun MPI is asked directly; alone, in a child process, because MPI_Init ends the process
 * where it cannot start. */
void mpi_library_get(mpi_library_t *facts, const job_t *job);

#endif /* TOOLS_MPI_LIBRARY_H */
