/* SPDX-License-Identifier: BSD-3-Clause
 * tests/store/mpi.h - what programs of tests/mpi call of MPI beside sockets/mpi.h: so they run
 * without MPI, too, started by start.sh.
 */
#ifndef TW_TESTS_STORE_MPI_H
#define TW_TESTS_STORE_MPI_H

#include "runtime/sockets/mpi.h"

#undef MPI_COMM_WORLD
#define MPI_COMM_WORLD t_mpi_world /* of RANK and WORLD_SIZE, which meet in TW_STORE */
extern MPI_Comm t_mpi_world;

#define MPI_CHAR          MPI_BYTE
#define MPI_STATUS_IGNORE MPI_STATUSES_IGNORE

int    MPI_Init(int *argc, char ***argv);
int    MPI_Init_thread(int *argc, char ***argv, int required, int *provided);
int    MPI_Finalize(void);
int    MPI_Abort(MPI_Comm comm, int code);
int    MPI_Barrier(MPI_Comm comm);
double MPI_Wtime(void);
int MPI_Gatherv(const void *send, int sends, MPI_Datatype send_type, void *recv, const int counts[],
                const int firsts[], MPI_Datatype type, int root, MPI_Comm comm);
int MPI_Scatterv(const void *send, const int counts[], const int firsts[], MPI_Datatype type,
                 void *recv, int count, MPI_Datatype recv_type, int root, MPI_Comm comm);

#define PMPI_Allreduce MPI_Allreduce
#define PMPI_Barrier   MPI_Barrier
#define PMPI_Bcast     MPI_Bcast
#define PMPI_Comm_dup  MPI_Comm_dup
#define PMPI_Comm_free MPI_Comm_free
#define PMPI_Wtime     MPI_Wtime

#endif /* TW_TESTS_STORE_MPI_H */
