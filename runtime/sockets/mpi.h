/* SPDX-License-Identifier: BSD-3-Clause
 * sockets/mpi.h - the part of MPI that the runtime calls, for the library without MPI: transport
 * and scheduler are compiled a second time with this header, and its functions send by TCP.
 *
 * Functions do what the MPI standard says of the calls that the runtime makes, and no more: types
 * are predefined, tags are no wildcards, only a test of one request sets a status, errors are
 * returned.
 */
#ifndef TW_SOCKETS_MPI_H
#define TW_SOCKETS_MPI_H

typedef struct tw_tcp_group   *MPI_Comm;
typedef struct tw_tcp_message *MPI_Request;
typedef int                    MPI_Info;
typedef int                    MPI_Errhandler;
typedef struct MPI_Status {
    int MPI_SOURCE;
} MPI_Status;

typedef enum tw_mpi_type {
    MPI_DATATYPE_NULL,
    MPI_BYTE,
    MPI_UNSIGNED_CHAR,
    MPI_UINT16_T,
    MPI_INT,
    MPI_UINT64_T,
    MPI_FLOAT,
    MPI_DOUBLE
} MPI_Datatype;

typedef enum tw_mpi_op { MPI_OP_NULL, MPI_SUM, MPI_PROD, MPI_MAX, MPI_MIN } MPI_Op;

/* Classes of errors: the low bits of what a call returns (world.h). */
enum { MPI_SUCCESS, MPI_ERR_TRUNCATE, MPI_ERR_IN_STATUS, MPI_ERR_OTHER };

#define MPI_COMM_NULL        ((MPI_Comm)0)
#define MPI_COMM_WORLD       MPI_COMM_NULL /* nobody knows all processes of the job */
#define MPI_COMM_SELF        MPI_COMM_NULL
#define MPI_REQUEST_NULL     ((MPI_Request)0)
#define MPI_IN_PLACE         ((void *)-1)
#define MPI_STATUSES_IGNORE  ((MPI_Status *)0)
#define MPI_INFO_NULL        0
#define MPI_ERRORS_RETURN    0
#define MPI_ANY_SOURCE       (-1)
#define MPI_UNDEFINED        (-32766)
#define MPI_COMM_TYPE_SHARED 1
#define MPI_TAG_UB           1
#define MPI_THREAD_SINGLE    0
#define MPI_THREAD_MULTIPLE  3

#define MPI_MAX_ERROR_STRING           256
#define MPI_MAX_LIBRARY_VERSION_STRING 64

/* ---- the library, and its errors ------------------------------------------------------------- */

int MPI_Initialized(int *flag);
#define MPI_Query_thread(level_p) (*(level_p) = MPI_THREAD_MULTIPLE)
int MPI_Get_library_version(char *version, int *length);
int MPI_Error_class(int error, int *error_class);
int MPI_Error_string(int error, char *text, int *length);

/* ---- communicators --------------------------------------------------------------------------- */

int MPI_Comm_rank(MPI_Comm comm, int *rank);
int MPI_Comm_size(MPI_Comm comm, int *size); /* of MPI_COMM_WORLD: INT_MAX */
int MPI_Comm_test_inter(MPI_Comm comm, int *flag);
int MPI_Comm_set_errhandler(MPI_Comm comm, MPI_Errhandler errhandler);
int MPI_Comm_get_attr(MPI_Comm comm, int key, void *value_p, int *flag);
int MPI_Comm_dup(MPI_Comm comm, MPI_Comm *dup);
int MPI_Comm_split(MPI_Comm comm, int color, int key, MPI_Comm *part);
int MPI_Comm_split_type(MPI_Comm comm, int type, int key, MPI_Info info, MPI_Comm *part);
int MPI_Comm_free(MPI_Comm *comm);

/* Attributes of MPI_COMM_SELF are deleted by MPI_Finalize, which nobody calls. */
#define MPI_COMM_NULL_COPY_FN                           NULL
#define MPI_Comm_create_keyval(copy, end, key_p, extra) ((void)(end), *(key_p) = 0)
#define MPI_Comm_free_keyval(key_p)                     ((void)(key_p))
#define MPI_Comm_set_attr(comm, key, value)             ((void)(value), MPI_SUCCESS)
#define MPI_Comm_delete_attr(comm, key)                 ((void)(key))

/* Beyond MPI. Advance the connections of comm, as a test of a request does; fails once a rank is
 * lost. What to sleep on until they may advance again (base/descriptor.h); AGAIN: they have since
 * the last call of this function, so that requests are to be tested first; and another descriptor
 * that ends such a sleep when it can be read, until it is closed. And free comm, whose operations
 * may not be complete, after an error: the last one of a process closes its connections, which the
 * other ranks take for its death. */
int tw_mpi_comm_progress(MPI_Comm comm);
int tw_mpi_comm_descriptor(MPI_Comm comm);
int tw_mpi_comm_watch(MPI_Comm comm, int descriptor);
int tw_mpi_comm_abandon(MPI_Comm *comm);

/* ---- messages -------------------------------------------------------------------------------- */

int MPI_Isend(const void *data, int count, MPI_Datatype type, int dest, int tag, MPI_Comm comm,
              MPI_Request *request);
int MPI_Irecv(void *data, int count, MPI_Datatype type, int source, int tag, MPI_Comm comm,
              MPI_Request *request);
int MPI_Testall(int count, MPI_Request requests[], int *flag, MPI_Status statuses[]);
int MPI_Testsome(int count, MPI_Request requests[], int *done, int indices[],
                 MPI_Status statuses[]);

/* ---- collectives: plain schedules of messages, for set-up and as the algorithm "mpi" --------- */

int MPI_Ibcast(void *data, int count, MPI_Datatype type, int root, MPI_Comm comm,
               MPI_Request *request);
int MPI_Ireduce(const void *send, void *recv, int count, MPI_Datatype type, MPI_Op op, int root,
                MPI_Comm comm, MPI_Request *request);
int MPI_Iallreduce(const void *send, void *recv, int count, MPI_Datatype type, MPI_Op op,
                   MPI_Comm comm, MPI_Request *request);
int MPI_Ireduce_scatter(const void *send, void *recv, const int counts[], MPI_Datatype type,
                        MPI_Op op, MPI_Comm comm, MPI_Request *request);
int MPI_Ireduce_scatter_block(const void *send, void *recv, int count, MPI_Datatype type, MPI_Op op,
                              MPI_Comm comm, MPI_Request *request);
int MPI_Iallgather(const void *send, int sends, MPI_Datatype send_type, void *recv, int count,
                   MPI_Datatype type, MPI_Comm comm, MPI_Request *request);
int MPI_Iallgatherv(const void *send, int sends, MPI_Datatype send_type, void *recv,
                    const int counts[], const int displacements[], MPI_Datatype type, MPI_Comm comm,
                    MPI_Request *request);
int MPI_Ialltoall(const void *send, int sends, MPI_Datatype send_type, void *recv, int count,
                  MPI_Datatype type, MPI_Comm comm, MPI_Request *request);

int MPI_Bcast(void *data, int count, MPI_Datatype type, int root, MPI_Comm comm);
int MPI_Reduce(const void *send, void *recv, int count, MPI_Datatype type, MPI_Op op, int root,
               MPI_Comm comm);
int MPI_Allreduce(const void *send, void *recv, int count, MPI_Datatype type, MPI_Op op,
                  MPI_Comm comm);
int MPI_Reduce_scatter_block(const void *send, void *recv, int count, MPI_Datatype type, MPI_Op op,
                             MPI_Comm comm);
int MPI_Allgather(const void *send, int sends, MPI_Datatype send_type, void *recv, int count,
                  MPI_Datatype type, MPI_Comm comm);
int MPI_Alltoall(const void *send, int sends, MPI_Datatype send_type, void *recv, int count,
                 MPI_Datatype type, MPI_Comm comm);

#endif /* TW_SOCKETS_MPI_H */
