/* SPDX-License-Identifier: BSD-3-Clause
 * transport/comm/mpi_ops.h - table of the MPI functions that the transport calls. A program that
 * intercepts MPI_ symbols fills it with PMPI_ symbols, so that it does not intercept these calls.
 */
#ifndef TW_TRANSPORT_COMM_MPI_OPS_H
#define TW_TRANSPORT_COMM_MPI_OPS_H

#include <mpi.h>

/* clang-format off */
#define TW_MPI_OPS(X)                                                                              \
    X(Comm_free) X(Comm_rank) X(Comm_size) X(Comm_test_inter) X(Comm_split_type)                   \
    X(Comm_set_errhandler) X(Comm_get_attr) X(Initialized)                                         \
    /* set-up and messages */                                                                      \
    X(Isend) X(Irecv) X(Ibcast) X(Iallreduce) X(Iallgather)                             \
    /* MPI's own collectives on values (coll/native/) */                                           \
    X(Allreduce) X(Reduce) X(Reduce_scatter_block) X(Bcast) X(Allgather) X(Alltoall) X(Ireduce)    \
    X(Ireduce_scatter) X(Ireduce_scatter_block) X(Iallgatherv) X(Ialltoall)                        \
    X(Get_library_version) X(Error_class) X(Error_string)
/* clang-format on */

typedef struct tw_mpi_ops {
    int (*Comm_dup)(MPI_Comm, MPI_Comm *); /* the drop-in has one of its own */
    /* With MPICH's declaration gcc warns that MPI_STATUSES_IGNORE is too short an array. */
    int (*Testall)(int, MPI_Request[], int *, MPI_Status[]);
    /* NULL: messages are tested by Testall, batch by batch. */
    int (*Testsome)(int, MPI_Request[], int *, int[], MPI_Status[]);
    /* Beyond MPI (sockets/mpi.h); NULL: there is none. Advance connections while no message is
     * awaited, to notice that a rank is lost; what to sleep on until they move, and another
     * descriptor that ends the sleep; and free a communicator that is dead. */
    int (*Comm_progress)(MPI_Comm);
    int (*Comm_descriptor)(MPI_Comm);
    int (*Comm_watch)(MPI_Comm, int);
    int (*Comm_abandon)(MPI_Comm *);
#define X(name) __typeof__(MPI_##name) *name;
    TW_MPI_OPS(X)
#undef X
} tw_mpi_ops_t;

extern const tw_mpi_ops_t tw_mpi_default; /* the MPI_ symbols */

#endif /* TW_TRANSPORT_COMM_MPI_OPS_H */
