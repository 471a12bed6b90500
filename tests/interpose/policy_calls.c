/* SPDX-License-Identifier: BSD-3-Clause
 * tests/interpose/policy_calls.c - the collectives of policy: buffers, the calls, the comparison.
 */
#include "config.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/interpose/policy.h"

void *allocate(size_t bytes)
{
    void *memory = malloc(bytes > 0 ? bytes : 1);

    if (memory == NULL) {
        fprintf(stderr, "no memory for %zu bytes\n", bytes);
        MPI_Abort(MPI_COMM_WORLD, 1);
        exit(1);
    }
    memset(memory, 0xa5, bytes);
    return memory;
}

/* ---- numbers ------------------------------------------------------------------------------- */

static uint64_t mix(uint64_t x)
{
    x = (x + UINT64_C(0x9e3779b97f4a7c15)) * UINT64_C(0xbf58476d1ce4e5b9);
    x = (x ^ (x >> 27)) * UINT64_C(0x94d049bb133111eb);
    return x ^ (x >> 31);
}

/* The sum of four numbers in (-0.5, 0.5), scaled to variance 1. */
static double normal(uint64_t key)
{
    const uint64_t bits = mix(key);
    double         sum  = 0.0;

    for (int i = 0; i < 4; i++) {
        sum += (double)((bits >> (16 * i)) & 0xffff) / 65536.0 - 0.5;
    }
    return sum * 1.7320508075688772;
}

static double scale_of(const call_t *call)
{
    const bool wide = call->width == sizeof(double);

    if (strcmp(call->data, "huge") == 0) {
        return wide ? 1e200 : 1e30;
    }
    if (strcmp(call->data, "tiny") == 0) {
        return wide ? 1e-200 : 1e-30;
    }
    return 1.0;
}

void fill(const call_t *call, int rank, size_t n, void *numbers)
{
    const double scale = scale_of(call);
    const bool   inf   = strcmp(call->data, "inf") == 0;

    for (size_t i = 0; i < n; i++) {
        const double x =
            inf && i == 77 ? (double)INFINITY : scale * normal(((uint64_t)(rank + 1) << 40) + i);
        const float   f = (float)x;
        const int32_t w = (int32_t)(x * 1000.0);

        if (call->whole) {
            memcpy((char *)numbers + i * sizeof(w), &w, sizeof(w));
        } else if (call->width == sizeof(f)) {
            memcpy((char *)numbers + i * sizeof(f), &f, sizeof(f));
        } else {
            memcpy((char *)numbers + i * sizeof(x), &x, sizeof(x));
        }
    }
}

static double number(const call_t *call, const void *numbers, size_t i)
{
    float   f;
    double  d;
    int32_t w;

    if (call->whole) {
        memcpy(&w, (const char *)numbers + i * sizeof(w), sizeof(w));
        return (double)w;
    }
    if (call->width == sizeof(f)) {
        memcpy(&f, (const char *)numbers + i * sizeof(f), sizeof(f));
        return (double)f;
    }
    memcpy(&d, (const char *)numbers + i * sizeof(d), sizeof(d));
    return d;
}

/* ---- buffers ------------------------------------------------------------------------------- */

static size_t add_up(int n, const int counts[], int at[])
{
    size_t sum = 0;

    for (int r = 0; r < n; r++) {
        at[r] = (int)sum;
        sum += (size_t)counts[r];
    }
    return sum;
}

/* Items of an alltoallv's pair: a little different everywhere, or every other pair has an eighth.
 */
static int pair_count(const call_t *call, int from, int to)
{
    if (call->uneven) {
        return (from + to) % 2 ? call->count / 8 : call->count;
    }
    return call->count + 16 * ((from + 2 * to) % 3);
}

/* Items of a rank's block or share. */
static int block_count(const call_t *call, int rank)
{
    if (call->op != OP_ALLGATHERV && call->op != OP_REDUCE_SCATTER) {
        return call->count;
    }
    return call->uneven ? call->count * (rank + 1) : call->count + 16 * rank;
}

static void job_counts(job_t *job)
{
    const bool pairs = job->call.op == OP_ALLTOALLV;

    for (int r = 0; r < job->size; r++) {
        job->send_counts[r] =
            pairs ? pair_count(&job->call, job->rank, r) : block_count(&job->call, r);
        job->recv_counts[r] =
            pairs ? pair_count(&job->call, r, job->rank) : block_count(&job->call, r);
    }
}

void job_make(job_t *job, const call_t *call)
{
    const size_t item = call->width * (size_t)call->values;
    size_t       sent, received;

    memset(job, 0, sizeof(*job));
    job->call = *call;
    MPI_Comm_rank(call->comm, &job->rank);
    MPI_Comm_size(call->comm, &job->size);
    job_counts(job);
    sent            = add_up(job->size, job->send_counts, job->send_at);
    received        = add_up(job->size, job->recv_counts, job->recv_at);
    job->send_items = job->recv_items = (size_t)call->count;
    if (call->op == OP_ALLTOALL || call->op == OP_ALLTOALLV) {
        job->send_items = sent;
        job->recv_items = received;
    } else if (call->op == OP_ALLGATHER || call->op == OP_ALLGATHERV) {
        job->send_items = (size_t)job->send_counts[job->rank];
        job->recv_items = received;
    } else if (call->op == OP_REDUCE_SCATTER || call->op == OP_REDUCE_SCATTER_BLOCK) {
        job->send_items = sent;
        job->recv_items = (size_t)job->recv_counts[job->rank];
    }
    job->send = allocate(job->send_items * item);
    job->recv = allocate(job->recv_items * item);
    fill(call, job->rank, job->send_items * (size_t)call->values, job->send);
}

void job_free(job_t *job)
{
    free(job->send);
    free(job->recv);
}

/* ---- calls --------------------------------------------------------------------------------- */

/* The same by MPI_ and by PMPI_, blocking and not. The report must name the line of a call: where
 * it is, a "site" above it tells policy_report.sh. */
#define ISSUE(name, i_name, ...)                                                                   \
    do {                                                                                           \
        if (plainly) {                                                                             \
            j->call.nonblocking ? PMPI_##i_name(__VA_ARGS__, &request) : PMPI_##name(__VA_ARGS__); \
        } else {                                                                                   \
            j->call.nonblocking ? MPI_##i_name(__VA_ARGS__, &request) : MPI_##name(__VA_ARGS__);   \
        }                                                                                          \
    } while (0)

void job_issue(const job_t *j, bool plainly)
{
    const MPI_Datatype type    = j->call.type;
    const MPI_Comm     comm    = j->call.comm;
    const int          n       = j->call.count;
    const int          root    = j->call.root;
    MPI_Request        request = MPI_REQUEST_NULL;

    switch (j->call.op) {
    case OP_ALLREDUCE:
        /* site: allreduce */
        ISSUE(Allreduce, Iallreduce, j->send, j->recv, n, type, MPI_SUM, comm);
        break;
    case OP_BCAST:
        if (j->rank == root) {
            memcpy(j->recv, j->send, j->send_items * j->call.width * (size_t)j->call.values);
        }
        /* site: bcast */
        ISSUE(Bcast, Ibcast, j->recv, n, type, root, comm);
        break;
    case OP_REDUCE:
        /* site: reduce */
        ISSUE(Reduce, Ireduce, j->send, j->recv, n, type, MPI_SUM, root, comm);
        break;
    case OP_REDUCE_SCATTER:
        ISSUE(Reduce_scatter, Ireduce_scatter, j->send, j->recv, j->recv_counts, type, MPI_SUM,
              comm);
        break;
    case OP_REDUCE_SCATTER_BLOCK:
        ISSUE(Reduce_scatter_block, Ireduce_scatter_block, j->send, j->recv, n, type, MPI_SUM,
              comm);
        break;
    case OP_ALLGATHER:
        /* site: allgather */
        ISSUE(Allgather, Iallgather, j->send, n, type, j->recv, n, type, comm);
        break;
    case OP_ALLGATHERV:
        ISSUE(Allgatherv, Iallgatherv, j->send, (int)j->send_items, type, j->recv, j->recv_counts,
              j->recv_at, type, comm);
        break;
    case OP_ALLTOALL:
        /* site: alltoall */
        ISSUE(Alltoall, Ialltoall, j->send, n, type, j->recv, n, type, comm);
        break;
    default:
        ISSUE(Alltoallv, Ialltoallv, j->send, j->send_counts, j->send_at, type, j->recv,
              j->recv_counts, j->recv_at, type, comm);
    }
    if (request != MPI_REQUEST_NULL && plainly) {
        PMPI_Wait(&request, MPI_STATUS_IGNORE);
    } else if (request != MPI_REQUEST_NULL) {
        MPI_Wait(&request, MPI_STATUS_IGNORE);
    }
}

/* ---- comparison ---------------------------------------------------------------------------- */

/* Over all ranks: the largest error, sums of squares of numbers divided by the data's scale, and on
 * how many ranks any bit differs. */
typedef struct difference {
    double worst, error2, exact2, bits;
} difference_t;

static difference_t compare(const job_t *job, const void *got, const void *want)
{
    const call_t *call  = &job->call;
    const size_t  n     = job->recv_items * (size_t)call->values;
    const double  scale = scale_of(call);
    difference_t  d     = {.bits = memcmp(got, want, n * call->width) != 0};

    for (size_t i = 0; i < n; i++) {
        const double exact = number(call, want, i);
        const double error = fabs(number(call, got, i) - exact);

        if (isfinite(exact)) {
            d.worst = error <= d.worst ? d.worst : error;
            d.error2 += (error / scale) * (error / scale);
            d.exact2 += (exact / scale) * (exact / scale);
        }
    }
    return d;
}

/* Has every rank of the communicator the bits of rank 0? */
static bool all_same(const job_t *job)
{
    const size_t bytes = job->recv_items * job->call.width * (size_t)job->call.values;
    void        *first = allocate(bytes);
    int          same, all;

    memcpy(first, job->recv, bytes);
    PMPI_Bcast(first, (int)bytes, MPI_BYTE, 0, job->call.comm);
    same = memcmp(first, job->recv, bytes) == 0;
    PMPI_Allreduce(&same, &all, 1, MPI_INT, MPI_MIN, job->call.comm);
    free(first);
    return all != 0;
}

static void say(const job_t *job, const difference_t *d, bool same)
{
    int rank;

    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (rank != 0) {
        return;
    }
    printf("%s%s %s %d %s: ", job->call.nonblocking ? "i" : "", op_names[job->call.op],
           job->call.type_name, job->call.count, job->call.comm_name);
    if (d->bits == 0.0) {
        printf("exact");
    } else {
        printf("rms %.10g max %.10g", sqrt(d->error2 / d->exact2), d->worst);
    }
    printf("%s\n", same ? "" : " RANKS DIFFER");
}

void job_compare(const call_t *call)
{
    job_t        job;
    void        *got;
    bool         same = true;
    difference_t mine = {0}, all;

    job_make(&job, call);
    job_issue(&job, false);
    if (call->op == OP_ALLREDUCE || call->op == OP_BCAST || call->op == OP_ALLGATHER ||
        call->op == OP_ALLGATHERV) {
        same = all_same(&job);
    }
    got      = job.recv;
    job.recv = allocate(job.recv_items * call->width * (size_t)call->values);
    job_issue(&job, true);
    if (call->op != OP_REDUCE || job.rank == call->root) {
        mine = compare(&job, got, job.recv);
    }
    if (call->op == OP_BCAST && job.rank == call->root) {
        mine = (difference_t){0}; /* as exact as the root has it does not count */
    }
    all = mine;
    PMPI_Allreduce(&mine.worst, &all.worst, 1, MPI_DOUBLE, MPI_MAX, call->comm);
    PMPI_Allreduce(&mine.error2, &all.error2, 3, MPI_DOUBLE, MPI_SUM, call->comm);
    say(&job, &all, same);
    free(got);
    job_free(&job);
}
