/* SPDX-License-Identifier: BSD-3-Clause
 * transport/link/mpi_ops.h - the MPI calls that the transport makes, as a table: a program that
 * intercepts MPI_ symbols fills it with PMPI_ ones, so that our own calls do not come back to it.
 */
#ifndef TW_TRANSPORT_LINK_MPI_OPS_H
#define TW_TRANSPORT_LINK_MPI_OPS_H

#include <mpi.h>

typedef struct tw_mpi_ops {
    int (*Comm_dup)(MPI_Comm, MPI_Comm *);
    int (*Comm_free)(MPI_Comm *);
    int (*Comm_rank)(MPI_Comm, int *);
    int (*Comm_size)(MPI_Comm, int *);
    int (*Comm_test_inter)(MPI_Comm, int *);
    int (*Comm_split_type)(MPI_Comm, int, int, MPI_Info, MPI_Comm *);
    int (*Comm_set_errhandler)(MPI_Comm, MPI_Errhandler);
    int (*Comm_get_attr)(MPI_Comm, int, void *, int *);
    int (*Initialized)(int *);
    int (*Isend)(const void *, int, MPI_Datatype, int, int, MPI_Comm, MPI_Request *);
    int (*Irecv)(void *, int, MPI_Datatype, int, int, MPI_Comm, MPI_Request *);
    int (*Testall)(int, MPI_Request[], int *, MPI_Status[]);
    int (*Ibcast)(void *, int, MPI_Datatype, int, MPI_Comm, MPI_Request *);
    int (*Iallreduce)(const void *, void *, int, MPI_Datatype, MPI_Op, MPI_Comm, MPI_Request *);
    int (*Iallgather)(const void *, int, MPI_Datatype, void *, int, MPI_Datatype, MPI_Comm,
                      MPI_Request *);
    /* MPI's own collectives on values (coll/native/); those above carry set-up messages, too. */
    int (*Allreduce)(const void *, void *, int, MPI_Datatype, MPI_Op, MPI_Comm);
    int (*Reduce)(const void *, void *, int, MPI_Datatype, MPI_Op, int, MPI_Comm);
    int (*Reduce_scatter_block)(const void *, void *, int, MPI_Datatype, MPI_Op, MPI_Comm);
    int (*Bcast)(void *, int, MPI_Datatype, int, MPI_Comm);
    int (*Allgather)(const void *, int, MPI_Datatype, void *, int, MPI_Datatype, MPI_Comm);
    int (*Alltoall)(const void *, int, MPI_Datatype, void *, int, MPI_Datatype, MPI_Comm);
    int (*Ireduce)(const void *, void *, int, MPI_Datatype, MPI_Op, int, MPI_Comm, MPI_Request *);
    int (*Ireduce_scatter)(const void *, void *, const int[], MPI_Datatype, MPI_Op, MPI_Comm,
                           MPI_Request *);
    int (*Ireduce_scatter_block)(const void *, void *, int, MPI_Datatype, MPI_Op, MPI_Comm,
                                 MPI_Request *);
    int (*Iallgatherv)(const void *, int, MPI_Datatype, void *, const int[], const int[],
                       MPI_Datatype, MPI_Comm, MPI_Request *);
    int (*Ialltoall)(const void *, int, MPI_Datatype, void *, int, MPI_Datatype, MPI_Comm,
                     MPI_Request *);
    int (*Get_library_version)(char *, int *);
    int (*Error_class)(int, int *);
    int (*Error_string)(int, char *, int *);
} tw_mpi_ops_t;

extern const tw_mpi_ops_t tw_mpi_default; /* the MPI_ symbols */

#endif /* TW_TRANSPORT_LINK_MPI_OPS_H */
