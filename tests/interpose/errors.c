/* SPDX-License-Identifier: BSD-3-Clause
 * tests/interpose/errors.c - wrong arguments. Prints, for each, the error class that came back and
 * how often which error handler was called; errors.sh compares what is printed with and without the
 * drop-in. A communicator must still work after each.
 */
#include "config.h"

#include <stdio.h>
#include <string.h>

#include "tests/interpose/job.h"

#define N 600

static float        from[N * T_RANKS_MAX], to[N * T_RANKS_MAX];
static int          counts[T_RANKS_MAX], at[T_RANKS_MAX];
static MPI_Datatype uncommitted, vector;
static int          calls_world, calls_own; /* of the error handlers */
static MPI_Comm     last_comm;

static void on_world(MPI_Comm *comm, int *code, ...)
{
    (void)code;
    calls_world++;
    last_comm = *comm;
}

static void on_own(MPI_Comm *comm, int *code, ...)
{
    (void)code;
    calls_own++;
    last_comm = *comm;
}

/* What is wrong. */
typedef struct fault {
    const char  *name;
    int          count, root;
    MPI_Datatype type;
    MPI_Op       op;
    bool         null_comm;
} fault_t;

#define CALL(Name, Iname, ...)                                                                     \
    return nonblocking ? MPI_##Iname(__VA_ARGS__, comm, r) : MPI_##Name(__VA_ARGS__, comm)

static int call(t_op_t op, bool nonblocking, const fault_t *f, MPI_Comm comm, MPI_Request *r)
{
    const int          n    = f->count;
    const MPI_Datatype type = f->type;

    for (int i = 0; i < T_RANKS_MAX; i++) {
        counts[i] = n;
        at[i]     = i * N;
    }
    switch (op) {
    case T_BCAST:
        CALL(Bcast, Ibcast, to, n, type, f->root);
    case T_ALLGATHER:
        CALL(Allgather, Iallgather, from, n, type, to, n, type);
    case T_ALLGATHERV:
        CALL(Allgatherv, Iallgatherv, from, n, type, to, counts, at, type);
    case T_ALLTOALL:
        CALL(Alltoall, Ialltoall, from, n, type, to, n, type);
    case T_ALLTOALLV:
        CALL(Alltoallv, Ialltoallv, from, counts, at, type, to, counts, at, type);
    case T_ALLREDUCE:
        CALL(Allreduce, Iallreduce, from, to, n, type, f->op);
    case T_REDUCE:
        CALL(Reduce, Ireduce, from, to, n, type, f->op, f->root);
    case T_REDUCE_SCATTER:
        CALL(Reduce_scatter, Ireduce_scatter, from, to, counts, type, f->op);
    default:
        CALL(Reduce_scatter_block, Ireduce_scatter_block, from, to, n, type, f->op);
    }
}

static int class_of(int code)
{
    int class = code;

    MPI_Error_class(code, &class);
    return class;
}

/* All ranks make the same mistake, and see the same. */
static void report(const char *what, int class, int world_calls, int own_calls, int right_comm)
{
    const int mine[4] = {class, world_calls, own_calls, right_comm};
    int       least[4], most[4];

    PMPI_Allreduce(mine, least, 4, MPI_INT, MPI_MIN, t_harness);
    PMPI_Allreduce(mine, most, 4, MPI_INT, MPI_MAX, t_harness);
    if (t_rank == 0) {
        printf(
            "= %s: class %d, handlers called %d and %d times, for the right communicator: %d%s\n",
            what, class, world_calls, own_calls, right_comm,
            memcmp(least, most, sizeof(least)) == 0 ? "" : ", not the same everywhere");
        fflush(stdout);
    }
}

/* The communicator still adds up. */
static void still_works(MPI_Comm comm)
{
    float x[N], y[N];

    for (int i = 0; i < N; i++) {
        x[i] = (float)(t_rank + 1);
    }
    T_OK(MPI_Allreduce(x, y, N, MPI_FLOAT, MPI_SUM, comm));
    for (int i = 0; i < N; i++) {
        const float sum = (float)(t_size * (t_size + 1) / 2);

        if (y[i] < sum * 0.5f || y[i] > sum * 1.5f) {
            t_fail(__FILE__, __LINE__, "element %d is %g, not about %g", i, (double)y[i],
                   (double)sum);
            return;
        }
    }
}

static void one(t_op_t op, bool nonblocking, const fault_t *fault, MPI_Comm comm)
{
    MPI_Request request = MPI_REQUEST_NULL;
    char        what[200];
    int class;

    snprintf(what, sizeof(what), "%s%s, %s", nonblocking ? "i" : "", t_op_names[op], fault->name);
    t_note("%s", what);
    calls_world = calls_own = 0;
    last_comm               = MPI_COMM_NULL;
    class =
        class_of(call(op, nonblocking, fault, fault->null_comm ? MPI_COMM_NULL : comm, &request));
    T_CHECK(class != MPI_SUCCESS || request != MPI_REQUEST_NULL || !nonblocking,
            "no error and no request");
    report(what, class, calls_world, calls_own,
           last_comm == (fault->null_comm ? MPI_COMM_WORLD : comm));
    if (class == MPI_SUCCESS && request != MPI_REQUEST_NULL) {
        MPI_Wait(&request, MPI_STATUS_IGNORE);
    }
}

/* What makes the MPI library itself crash. */
static bool fatal(t_op_t op, bool nonblocking, const fault_t *fault)
{
#ifdef MPICH_NUMVERSION /* 4.0 */
    return !nonblocking && fault->count < 0 &&
           (op == T_ALLREDUCE || op == T_REDUCE || op == T_REDUCE_SCATTER_BLOCK);
#else /* Open MPI 4.1 */
    (void)nonblocking;
    return op == T_ALLGATHER && fault->null_comm;
#endif
}

static void each(MPI_Comm comm)
{
    const fault_t faults[] = {
        {"count -1", -1, 0, MPI_FLOAT, MPI_SUM, false},
        {"root too large", N, t_size, MPI_FLOAT, MPI_SUM, false},
        {"root -1", N, -1, MPI_FLOAT, MPI_SUM, false},
        {"no type", N, 0, MPI_DATATYPE_NULL, MPI_SUM, false},
        {"a type that is not committed", 1, 0, uncommitted, MPI_SUM, false},
        {"no operation", N, 0, MPI_FLOAT, MPI_OP_NULL, false},
        {"band of floats", N, 0, MPI_FLOAT, MPI_BAND, false},
        {"minloc of floats", N, 0, MPI_FLOAT, MPI_MINLOC, false},
        {"sum of a derived type", 1, 0, vector, MPI_SUM, false},
        {"no communicator", N, 0, MPI_FLOAT, MPI_SUM, true},
        {"no fault", 0, 0, MPI_FLOAT, MPI_SUM, false},
    };

    for (size_t i = 0; i < sizeof(faults) / sizeof(faults[0]); i++) {
        const fault_t *f = &faults[i];

        for (int op = 0; op < T_OPS; op++) {
            const bool rooted = op == T_BCAST || op == T_REDUCE;

            if ((f->root != 0 && !rooted) ||
                ((f->op != MPI_SUM || f->type == vector) && op < T_ALLREDUCE)) {
                continue;
            }
            for (int nonblocking = 0; nonblocking < 2; nonblocking++) {
                if (!fatal((t_op_t)op, nonblocking != 0, f)) {
                    one((t_op_t)op, nonblocking != 0, f, comm);
                }
            }
        }
        still_works(comm);
    }
}

/* ---- the cases ------------------------------------------------------------------------------- */

static void with_handlers(MPI_Errhandler world, MPI_Errhandler own)
{
    MPI_Comm comm;

    MPI_Type_vector(2, 1, 2, MPI_FLOAT, &uncommitted);
    MPI_Type_vector(2, 1, 2, MPI_FLOAT, &vector);
    MPI_Type_commit(&vector);
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, world);
    MPI_Comm_set_errhandler(comm, own);
    each(comm);
    still_works(comm);
    MPI_Comm_free(&comm);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
    MPI_Type_free(&vector);
    MPI_Type_free(&uncommitted);
}

static void returned(void)
{
    with_handlers(MPI_ERRORS_RETURN, MPI_ERRORS_RETURN);
}

static void handled(void)
{
    MPI_Errhandler world, own;

    MPI_Comm_create_errhandler(on_world, &world);
    MPI_Comm_create_errhandler(on_own, &own);
    with_handlers(world, own);
    MPI_Errhandler_free(&world);
    MPI_Errhandler_free(&own);
}

/* A message that is too long, beside a collective in one list. */
static void in_status(void)
{
    MPI_Request requests[3];
    MPI_Status  statuses[3];
    MPI_Comm    comm;
    int         small = 0, large[4] = {1, 2, 3, 4}, code;
    char        what[200];

    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    for (int i = 0; i < 3; i++) {
        statuses[i].MPI_ERROR = 4711;
    }
    MPI_Ibcast(to, N, MPI_FLOAT, 0, comm, &requests[0]);
    MPI_Wait(&requests[0], MPI_STATUS_IGNORE);
    MPI_Ibcast(to, N, MPI_FLOAT, 0, MPI_COMM_SELF, &requests[0]);
    MPI_Isend(large, 4, MPI_INT, 0, 3, MPI_COMM_SELF, &requests[2]);
    MPI_Irecv(&small, 1, MPI_INT, 0, 3, MPI_COMM_SELF, &requests[1]);
    code = MPI_Waitall(3, requests, statuses);
    snprintf(what, sizeof(what), "waitall with a truncated message, statuses %d %d %d",
             code == MPI_SUCCESS ? 0 : class_of(statuses[0].MPI_ERROR),
             code == MPI_SUCCESS ? 0 : class_of(statuses[1].MPI_ERROR),
             code == MPI_SUCCESS ? 0 : class_of(statuses[2].MPI_ERROR));
    report(what, class_of(code), requests[0] == MPI_REQUEST_NULL, requests[1] == MPI_REQUEST_NULL,
           requests[2] == MPI_REQUEST_NULL);
    still_works(comm);
    MPI_Comm_free(&comm);
    report("freeing no communicator", class_of(MPI_Comm_free(&comm)), 0, 0, 0);
    report("disconnecting from no communicator", class_of(MPI_Comm_disconnect(&comm)), 0, 0, 0);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_ARE_FATAL);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
}

static const t_case_t cases[] = {
    {"errors that are returned", returned, 1},
    {"error handlers of the program", handled, 1},
    {"an error in a status", in_status, 1},
};

T_MAIN(cases)
