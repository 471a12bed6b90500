/* SPDX-License-Identifier: BSD-3-Clause
 * tools/bench_operations.c - the collectives of the bench, and the check of their results.
 *
 * Exact results are taken in double, in pieces, by native MPI: the sum of the inputs (allreduce,
 * reduce_scatter), the root's input (bcast), the other rank's input (allgather, alltoall).
 */
#include "config.h"

#include <math.h>
#include <string.h>

#include <mpi.h>

#include "runtime/base/dtype.h"
#include "tools/bench_operations.h"
#include "command/watch.h"

#define PIECE ((size_t)65536) /* values compared at once */

/* ---- elements ------------------------------------------------------------------------------- */

/* The type that moves them. */
static MPI_Datatype mpi_type(const bench_call_t *x)
{
    switch (x->dtype) {
#define TYPE_CASE(dtype, row, mpi, ...)                                                            \
    case dtype:                                                                                    \
        return mpi;
        TW_DTYPES(TYPE_CASE)
    default:
        return MPI_DATATYPE_NULL;
    }
}

static const tw_dtype_row_t *adding; /* of the operation below */

static void add(void *in, void *sum, int *count, MPI_Datatype *type)
{
    (void)type;
    adding->combine[TW_COMBINE_ADD](in, sum, (size_t)*count, sum);
}

/* MPI's addition of them; of elements that MPI only moves, one by the program, in their type. */
static MPI_Op mpi_sum(const bench_call_t *x)
{
    static MPI_Op sum = MPI_OP_NULL;

    adding = tw_dtype_row(x->dtype);
    if (adding->sum == x->dtype) {
        return MPI_SUM;
    }
    if (sum == MPI_OP_NULL) {
        MPI_Op_create(add, 1, &sum);
    }
    return sum;
}

static size_t bytes_of(const bench_call_t *x, size_t values)
{
    return values * tw_dtype_size(x->dtype);
}

static uint8_t *element_at(const bench_call_t *x, const void *buffer, size_t i)
{
    return (uint8_t *)(uintptr_t)buffer + bytes_of(x, i);
}

static void doubles_of(const bench_call_t *x, const void *buffer, size_t first, size_t n,
                       double *doubles)
{
    tw_dtype_row(x->dtype)->to_f64(element_at(x, buffer, first), n, doubles);
}

/* As the library counts the values, of which a movement may send the bytes. */
static size_t counted(const bench_call_t *x, const tw_how_t *how)
{
    return how->codec == tw_codec_bytes() ? bytes_of(x, x->count) : x->count;
}

/* ---- operations ------------------------------------------------------------------------------ */

static int allreduce_native(const bench_call_t *x)
{
    return MPI_Allreduce(x->send, x->recv, (int)x->count, mpi_type(x), mpi_sum(x), MPI_COMM_WORLD);
}

static tw_status_t allreduce_thinwire(const bench_call_t *x, const tw_how_t *how)
{
    return tw_allreduce(x->comm, x->send, x->recv, x->count, TW_SUM, how);
}

static int allreduce_exact(const bench_call_t *x, size_t first, size_t n, double *exact)
{
    doubles_of(x, x->send, first, n, exact);
    return MPI_Allreduce(MPI_IN_PLACE, exact, (int)n, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
}

static tw_status_t allreduce_plan(const bench_call_t *x, const tw_how_t *how, tw_request_t **plan_p)
{
    return tw_allreduce_init(x->comm, x->send, x->recv, x->count, TW_SUM, how, plan_p);
}

/* The root sends from where the others receive; bench_check() puts its data there. */
static int bcast_native(const bench_call_t *x)
{
    return MPI_Bcast(x->job->rank == 0 ? x->send : x->recv, (int)x->count, mpi_type(x), 0,
                     MPI_COMM_WORLD);
}

static tw_status_t bcast_thinwire(const bench_call_t *x, const tw_how_t *how)
{
    const int checked = (how->flags & TW_BCAST_SAME) != 0;

    if (checked && x->job->rank == 0) {
        memcpy(x->recv, x->send, bytes_of(x, x->count));
    }
    return tw_bcast(x->comm, x->job->rank == 0 && !checked ? x->send : x->recv, counted(x, how), 0,
                    how);
}

static int bcast_exact(const bench_call_t *x, size_t first, size_t n, double *exact)
{
    if (x->job->rank == 0) {
        doubles_of(x, x->send, first, n, exact);
    }
    return MPI_Bcast(exact, (int)n, MPI_DOUBLE, 0, MPI_COMM_WORLD);
}

static tw_status_t bcast_plan(const bench_call_t *x, const tw_how_t *how, tw_request_t **plan_p)
{
    return tw_bcast_init(x->comm, x->recv, counted(x, how), 0, how, plan_p);
}

static int reduce_scatter_native(const bench_call_t *x)
{
    return MPI_Reduce_scatter_block(x->send, x->recv, (int)x->count, mpi_type(x), mpi_sum(x),
                                    MPI_COMM_WORLD);
}

static tw_status_t reduce_scatter_thinwire(const bench_call_t *x, const tw_how_t *how)
{
    return tw_reduce_scatter_block(x->comm, x->send, x->recv, x->count, TW_SUM, how);
}

static tw_status_t reduce_scatter_plan(const bench_call_t *x, const tw_how_t *how,
                                       tw_request_t **plan_p)
{
    return tw_reduce_scatter_block_init(x->comm, x->send, x->recv, x->count, TW_SUM, how, plan_p);
}

static int reduce_scatter_exact(const bench_call_t *x, size_t first, size_t n, double *exact)
{
    static double piece[PIECE];
    int           rc = MPI_SUCCESS;

    for (int owner = 0; owner < x->job->size && rc == MPI_SUCCESS; owner++) {
        doubles_of(x, x->send, (size_t)owner * x->count + first, n, piece);
        rc = MPI_Reduce(piece, exact, (int)n, MPI_DOUBLE, MPI_SUM, owner, MPI_COMM_WORLD);
    }
    return rc;
}

static int allgather_native(const bench_call_t *x)
{
    return MPI_Allgather(x->send, (int)x->count, mpi_type(x), x->recv, (int)x->count, mpi_type(x),
                         MPI_COMM_WORLD);
}

static tw_status_t allgather_thinwire(const bench_call_t *x, const tw_how_t *how)
{
    return tw_allgather(x->comm, x->send, x->recv, counted(x, how), how);
}

static tw_status_t allgather_plan(const bench_call_t *x, const tw_how_t *how, tw_request_t **plan_p)
{
    return tw_allgather_init(x->comm, x->send, x->recv, counted(x, how), how, plan_p);
}

/* Values [first, first + n) of recv may belong to several ranks' blocks. */
static int allgather_exact(const bench_call_t *x, size_t first, size_t n, double *exact)
{
    int rc = MPI_SUCCESS;

    for (size_t at = first, part; at < first + n && rc == MPI_SUCCESS; at += part) {
        const size_t left = x->count - at % x->count;
        const int    root = (int)(at / x->count);

        part = left < first + n - at ? left : first + n - at;
        if (x->job->rank == root) {
            doubles_of(x, x->send, at % x->count, part, exact + (at - first));
        }
        rc = MPI_Bcast(exact + (at - first), (int)part, MPI_DOUBLE, root, MPI_COMM_WORLD);
    }
    return rc;
}

static int alltoall_native(const bench_call_t *x)
{
    return MPI_Alltoall(x->send, (int)x->count, mpi_type(x), x->recv, (int)x->count, mpi_type(x),
                        MPI_COMM_WORLD);
}

static tw_status_t alltoall_thinwire(const bench_call_t *x, const tw_how_t *how)
{
    return tw_alltoall(x->comm, x->send, x->recv, counted(x, how), how);
}

static tw_status_t alltoall_plan(const bench_call_t *x, const tw_how_t *how, tw_request_t **plan_p)
{
    return tw_alltoall_init(x->comm, x->send, x->recv, counted(x, how), how, plan_p);
}

/* Values [first, first + n) of recv may belong to several ranks: in block b from rank b, who holds
 * them in the block for us. Block after block; everyone exchanges with everyone in turn. */
static int alltoall_exact(const bench_call_t *x, size_t first, size_t n, double *exact)
{
    static double piece[PIECE];
    const int     size = x->job->size, rank = x->job->rank;
    int           rc = MPI_SUCCESS;

    for (int step = 0; step < size && rc == MPI_SUCCESS; step++) {
        const int    to = (rank + step) % size, from = (rank - step + size) % size;
        const size_t out = (size_t)rank * x->count, in = (size_t)from * x->count;
        /* Block b of recv, cut to [first, first + n); the sender cuts the receiver's alike. */
        const size_t out_low = out > first ? out : first, out_end = out + x->count;
        const size_t in_low = in > first ? in : first, in_end = in + x->count;
        const size_t end      = first + n;
        const size_t out_high = out_end < end ? out_end : end,
                     in_high  = in_end < end ? in_end : end;
        const int    out_n    = out_high > out_low ? (int)(out_high - out_low) : 0;
        const int    in_n     = in_high > in_low ? (int)(in_high - in_low) : 0;
        const size_t source   = (size_t)to * x->count + (out_n > 0 ? out_low - out : 0);

        rc = MPI_Sendrecv(element_at(x, x->send, source), out_n, mpi_type(x), to, 0, piece, in_n,
                          mpi_type(x), from, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        if (in_n > 0) {
            doubles_of(x, piece, 0, (size_t)in_n, exact + (in_low - first));
        }
    }
    return rc;
}

/* The functions of an operation, by its name. */
#define FUNCTIONS(operation)                                                                       \
    .name = #operation, .native = operation##_native, .thinwire = operation##_thinwire,            \
    .plan = operation##_plan, .exact = operation##_exact

static const operation_t operations[] = {
    {FUNCTIONS(allreduce), .mpi_name = "MPI_Allreduce", .kind = TW_OPERATION_ALLREDUCE, .same = 1,
     .about    = "Adds vectors over all ranks by MPI_Allreduce and by tw_allreduce with each "
                 "codec,\n"
                 "and prints times, bytes on the wire, and what encoding did to the sum.",
     .examples = "Examples:\n  mpirun -n 4 thinwire bench allreduce\n"
                 "  mpirun -n 4 thinwire bench allreduce --codec tree8,int8 --min 64k --max 64M"},
    {FUNCTIONS(bcast), .mpi_name = "MPI_Bcast", .kind = TW_OPERATION_BCAST, .same = 1,
     .flags = TW_BCAST_SAME,
     .about =
         "Sends a vector from rank 0 to all ranks by MPI_Bcast and by tw_bcast with each\n"
         "codec. Times are of the default, in which the root's buffer stays exact; bytes, errors\n"
         "and identity are of one more run with TW_BCAST_SAME, after which all ranks hold the "
         "same.",
     .examples =
         "Examples:\n  mpirun -n 4 thinwire bench bcast --codec bitpack:1,bitpack:2,bitpack:3"},
    {FUNCTIONS(reduce_scatter), .mpi_name = "MPI_Reduce_scatter_block",
     .kind = TW_OPERATION_REDUCE_SCATTER, .sends_each = 1,
     .about    = "Adds vectors over all ranks, of which each rank gets a block, by\n"
                 "MPI_Reduce_scatter_block and by tw_reduce_scatter_block with each codec. A size is "
                 "one rank's\n"
                 "block of the sum.",
     .examples = "Examples:\n  mpirun -n 4 thinwire bench reduce_scatter --codec tree8 --max 16M"},
    {FUNCTIONS(allgather), .mpi_name = "MPI_Allgather", .kind = TW_OPERATION_ALLGATHER,
     .recvs_each = 1, .same = 1,
     .about    = "Every rank sends a block of values to all ranks, by MPI_Allgather and by\n"
                 "tw_allgather with each codec. A size is one rank's block.",
     .examples = "Examples:\n  mpirun -n 4 thinwire bench allgather --codec tree8 --max 16M"},
    {FUNCTIONS(alltoall), .mpi_name = "MPI_Alltoall", .kind = TW_OPERATION_ALLTOALL,
     .sends_each = 1, .recvs_each = 1,
     .about    = "Every rank sends values to every rank, by MPI_Alltoall and by tw_alltoall with\n"
                 "each codec. A size is what one rank sends to each rank, itself included.",
     .examples = "Examples:\n  mpirun -n 4 thinwire bench alltoall --codec tree8 --max 4M"}};

const operation_t *bench_operation(const char *name)
{
    for (size_t i = 0; i < sizeof(operations) / sizeof(operations[0]); i++) {
        if (strcmp(operations[i].name, name) == 0) {
            return &operations[i];
        }
    }
    return NULL;
}

size_t bench_values(const operation_t *operation, size_t count, int ranks)
{
    return operation->sends_each || operation->recvs_each ? count * (size_t)ranks : count;
}

typedef struct check_sums {
    double squares, lost, most;
    int    identical;
} check_sums_t;

static int compare_piece(const bench_call_t *x, size_t first, size_t n, const double *exact,
                         int same, check_sums_t *sums)
{
    static double got[PIECE], other[PIECE];
    const size_t  bytes = bytes_of(x, n);
    int           rc    = MPI_SUCCESS;

    doubles_of(x, x->recv, first, n, got);
    for (size_t i = 0; i < n; i++) {
        const double error = fabs(got[i] - exact[i]);

        sums->squares += exact[i] * exact[i];
        sums->lost += error * error;
        sums->most = error > sums->most || error != error ? error : sums->most;
    }
    if (same) {
        memcpy(other, element_at(x, x->recv, first), bytes);
        rc = MPI_Bcast(other, (int)bytes, MPI_BYTE, 0, MPI_COMM_WORLD);
        sums->identical &= memcmp(other, element_at(x, x->recv, first), bytes) == 0;
    }
    return rc;
}

static int combine(const tw_stats_t *stats, size_t values, const check_sums_t *mine,
                   verdict_t *verdict)
{
    double   sum[2] = {mine->squares, mine->lost}, most = mine->most, all[2], highest;
    double   total_values;
    uint64_t sent = stats->bytes_sent;
    int      ranks, rc;

    rc = MPI_Allreduce(sum, all, 2, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    if (rc == MPI_SUCCESS) {
        rc = MPI_Allreduce(&most, &highest, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    }
    if (rc == MPI_SUCCESS) {
        rc = MPI_Allreduce(&sent, &verdict->wire_bytes, 1, MPI_UINT64_T, MPI_MAX, MPI_COMM_WORLD);
    }
    if (rc == MPI_SUCCESS) {
        rc = MPI_Allreduce(&sent, &verdict->wire_total, 1, MPI_UINT64_T, MPI_SUM, MPI_COMM_WORLD);
    }
    if (rc == MPI_SUCCESS) {
        rc = MPI_Allreduce(&mine->identical, &verdict->identical, 1, MPI_INT, MPI_MIN,
                           MPI_COMM_WORLD);
    }
    if (rc != MPI_SUCCESS) {
        return rc;
    }
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    total_values       = (double)values * ranks;
    verdict->rms_error = all[0] > 0 ? sqrt(all[1] / all[0]) : 0;
    verdict->max_error = all[0] > 0 ? highest / sqrt(all[0] / total_values) : 0;
    return rc;
}

void bench_check(const operation_t *operation, const bench_call_t *x, const tw_how_t *how,
                 verdict_t *verdict)
{
    static double exact[PIECE];
    const size_t  ranks   = operation->recvs_each ? (size_t)x->job->size : 1;
    const size_t  values  = ranks * x->count; /* that come in */
    tw_how_t      checked = *how;
    check_sums_t  sums    = {.identical = 1};
    tw_stats_t    stats;
    tw_status_t   status;
    int           rc = MPI_SUCCESS;

    memset(x->recv, 0xff, bytes_of(x, values)); /* NaN: what is not written shows */
    checked.flags |= operation->flags;
    tw_comm_stats_reset(x->comm);
    status = operation->thinwire(x, &checked);
    if (status != TW_OK) {
        job_abort(x->job, "%s of %zu values: %s", operation->name, x->count,
                  tw_status_text(status));
    }
    tw_comm_stats(x->comm, &stats);
    for (size_t first = 0; first < values && rc == MPI_SUCCESS; first += PIECE) {
        const size_t n = values - first < PIECE ? values - first : PIECE;

        watch_begin("the check by native MPI");
        rc = operation->exact(x, first, n, exact);
        if (rc == MPI_SUCCESS) {
            rc = compare_piece(x, first, n, exact, operation->same, &sums);
        }
    }
    if (rc == MPI_SUCCESS) {
        rc = combine(&stats, values, &sums, verdict);
    }
    watch_end();
    if (rc != MPI_SUCCESS) {
        job_abort(x->job, "%s of %zu values: an MPI call failed", operation->name, x->count);
    }
}
