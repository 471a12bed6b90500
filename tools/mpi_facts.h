/* SPDX-License-Identifier: BSD-3-Clause
 * tools/mpi_facts.h - what can be found out about the MPI library.
 */
#ifndef TOOLS_MPI_FACTS_H
#define TOOLS_MPI_FACTS_H

#include "tools/job.h"

typedef struct mpi_facts {
    char library[256];   /* first line of MPI_Get_library_version             */
    char fabric[256];    /* how its messages travel, or "unknown" and why     */
    char cuda_aware[16]; /* "yes", "no", "unknown"                            */
} mpi_facts_t;

/* Under mpirun MPI is asked directly; alone, in a child process, because MPI_Init ends the process
 * where it cannot start. */
void mpi_facts_get(mpi_facts_t *facts, const job_t *job);

#endif /* TOOLS_MPI_FACTS_H */
