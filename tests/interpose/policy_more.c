/* SPDX-License-Identifier: BSD-3-Clause
 * tests/interpose/policy_more.c - what policy does when its first word is one of these:
 *
 *     means N CALL...       N times each Allreduce in turn; prints the error of one result and
 *                           that of the mean of all
 *     memory CALL           how far a call with these buffers makes the process grow
 *     threads               Allreduce by four threads at the same time
 *     sites                 calls from more places than a report has lines
 *     leave abort|exit|error N    three Allreduce calls, then rank 1 leaves with code N, or by
 *                           MPI's error handler, as a message is longer than it expects
 *     no-collectives        point-to-point messages only
 *     in-place SPEC         an in-place Alltoallv on a communicator with thinwire_codec=SPEC, of
 *                           which rank 2 has small pieces only
 */
#include "config.h"

#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/policy/algorithms.h"
#include "tests/interpose/policy.h"

static int world_rank(void)
{
    int rank;

    PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
    return rank;
}

/* ---- means of repeated sums ---------------------------------------------------------------- */

typedef struct mean {
    job_t   job;
    size_t  n;
    double *sum, *exact;
} mean_t;

static double widened(const call_t *call, const void *numbers, size_t i)
{
    return call->width == sizeof(float) ? (double)((const float *)numbers)[i]
                                        : ((const double *)numbers)[i];
}

static bool mean_make(mean_t *mean, char *word)
{
    call_t call;

    if (!call_read(word, &call) || call.op != OP_ALLREDUCE) {
        return false;
    }
    job_make(&mean->job, &call);
    mean->n     = (size_t)call.count * (size_t)call.values;
    mean->sum   = allocate(mean->n * sizeof(double));
    mean->exact = allocate(mean->n * sizeof(double));
    job_issue(&mean->job, true);
    for (size_t i = 0; i < mean->n; i++) {
        mean->sum[i]   = 0.0;
        mean->exact[i] = widened(&call, mean->job.recv, i);
    }
    return true;
}

static void mean_say(const mean_t *mean, int times)
{
    const call_t *call   = &mean->job.call;
    double        single = 0.0, error = 0.0, exact = 0.0;

    for (size_t i = 0; i < mean->n; i++) {
        const double one = widened(call, mean->job.recv, i) - mean->exact[i];
        const double all = mean->sum[i] / times - mean->exact[i];

        single += one * one;
        error += all * all;
        exact += mean->exact[i] * mean->exact[i];
    }
    if (world_rank() == 0) {
        printf("mean %s %d %s: single %.10g mean %.10g\n", call->type_name, call->count,
               call->comm_name, sqrt(single / exact), sqrt(error / exact));
    }
}

int means(int argc, char **argv)
{
    mean_t all[8];
    int    times = argc > 0 ? atoi(argv[0]) : 0;

    if (argc < 2 || argc > 9 || times < 1) {
        return 1;
    }
    for (int i = 1; i < argc; i++) {
        if (!mean_make(&all[i - 1], argv[i])) {
            return 1;
        }
    }
    for (int t = 0; t < times; t++) {
        for (mean_t *mean = all; mean < all + argc - 1; mean++) {
            job_issue(&mean->job, false);
            for (size_t i = 0; i < mean->n; i++) {
                mean->sum[i] += widened(&mean->job.call, mean->job.recv, i);
            }
        }
    }
    for (mean_t *mean = all; mean < all + argc - 1; mean++) {
        mean_say(mean, times);
        job_free(&mean->job);
        free(mean->sum);
        free(mean->exact);
    }
    return 0;
}

/* ---- memory -------------------------------------------------------------------------------- */

/* Of this process, in bytes: VmRSS, VmHWM. */
static double resident(const char *name)
{
    FILE  *status = fopen("/proc/self/status", "r");
    char   line[256];
    double kib = -1.0;

    while (status != NULL && fgets(line, sizeof(line), status) != NULL) {
        if (strncmp(line, name, strlen(name)) == 0) {
            kib = atof(line + strlen(name) + 1);
        }
    }
    if (status != NULL) {
        fclose(status);
    }
    return kib * 1024.0;
}

int memory(int argc, char **argv)
{
    call_t call, small;
    job_t  job, warm;
    double before, grown, most, message;

    if (argc != 1 || !call_read(argv[0], &call)) {
        return 1;
    }
    small       = call;
    small.count = 1000; /* what MPI itself sets up at the first call */
    job_make(&warm, &small);
    job_issue(&warm, false);
    job_free(&warm);
    job_make(&job, &call);
    PMPI_Barrier(MPI_COMM_WORLD);
    before = resident("VmRSS");
    job_issue(&job, false);
    job_issue(&job, false);
    grown = resident("VmHWM") - before;
    PMPI_Allreduce(&grown, &most, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    message = (double)(call.width * (size_t)call.values);
    message *= (double)(job.send_items > job.recv_items ? job.send_items : job.recv_items);
    if (world_rank() == 0) {
        printf("memory %s: grown %.0f message %.0f\n", op_names[call.op], most, message);
    }
    job_free(&job);
    return 0;
}

/* ---- threads ------------------------------------------------------------------------------- */

#define THREADS 4
#define ROUNDS  8

typedef struct worker {
    pthread_t thread;
    MPI_Comm  comm, plain; /* what is tested, and what compares */
    int       number, wrong;
    double    worst;
} worker_t;

static float summand(const worker_t *worker, int rank, int round, int i)
{
    return (float)sin(0.37 * i + rank + 3.1 * round) * (float)(1 + worker->number);
}

/* Against the sum that can be told without a call, and against rank 0's bits. */
static void worker_check(worker_t *worker, int round, int n, const float *got)
{
    double error = 0.0, exact = 0.0;
    float *first = allocate((size_t)n * sizeof(*first));
    int    size;

    PMPI_Comm_size(worker->plain, &size);
    for (int i = 0; i < n; i++) {
        double want = 0.0;

        for (int r = 0; r < size; r++) {
            want += (double)summand(worker, r, round, i);
        }
        error += ((double)got[i] - want) * ((double)got[i] - want);
        exact += want * want;
    }
    error         = sqrt(error / exact);
    worker->worst = error <= worker->worst ? worker->worst : error;
    memcpy(first, got, (size_t)n * sizeof(*first));
    PMPI_Bcast(first, n, MPI_FLOAT, 0, worker->plain);
    worker->wrong += memcmp(first, got, (size_t)n * sizeof(*first)) != 0;
    free(first);
}

static void *worker_run(void *arg)
{
    worker_t *worker = arg;
    const int n      = 5000 + 1000 * worker->number;
    float    *send   = allocate((size_t)n * sizeof(*send));
    float    *recv   = allocate((size_t)n * sizeof(*recv));

    for (int round = 0; round < ROUNDS; round++) {
        for (int i = 0; i < n; i++) {
            send[i] = summand(worker, world_rank(), round, i);
        }
        MPI_Allreduce(send, recv, n, MPI_FLOAT, MPI_SUM, worker->comm);
        worker_check(worker, round, n, recv);
    }
    free(send);
    free(recv);
    return NULL;
}

int threads(void)
{
    worker_t workers[THREADS];
    double   worst = 0.0, most;
    int      wrong = 0, all;

    for (int t = 0; t < THREADS; t++) {
        workers[t] = (worker_t){.number = t};
        MPI_Comm_dup(MPI_COMM_WORLD, &workers[t].comm);
        PMPI_Comm_dup(MPI_COMM_WORLD, &workers[t].plain);
    }
    for (int t = 0; t < THREADS; t++) {
        if (pthread_create(&workers[t].thread, NULL, worker_run, &workers[t]) != 0) {
            return 1;
        }
    }
    for (int t = 0; t < THREADS; t++) {
        pthread_join(workers[t].thread, NULL);
        worst = workers[t].worst <= worst ? worst : workers[t].worst;
        wrong += workers[t].wrong;
        MPI_Comm_free(&workers[t].comm);
        PMPI_Comm_free(&workers[t].plain);
    }
    PMPI_Allreduce(&worst, &most, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    PMPI_Allreduce(&wrong, &all, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    if (world_rank() == 0) {
        printf("threads: rms %.10g, %d results differ between ranks\n", most, all);
    }
    return 0;
}

/* ---- places, and ends ---------------------------------------------------------------------- */

#define FOUR(x)    x x x x
#define SIXTEEN(x) FOUR(FOUR(x))

int sites(void)
{
    float *send = allocate(20000 * sizeof(*send));
    float *recv = allocate(20000 * sizeof(*recv));

    for (int i = 0; i < 20000; i++) {
        send[i] = (float)i;
    }
    SIXTEEN(MPI_Allreduce(send, recv, 20000, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);)
    SIXTEEN(MPI_Bcast(recv, 20000, MPI_FLOAT, 0, MPI_COMM_WORLD);)
    SIXTEEN(MPI_Bcast(recv, 20, MPI_INT, 0, MPI_COMM_WORLD);)
    free(send);
    free(recv);
    return 0;
}

/* One place in the program, whatever a compiler does to the loop around it. */
static __attribute__((noinline)) bool add_up(const float *send, float *recv)
{
    return MPI_Allreduce(send, recv, 1000, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD) == MPI_SUCCESS;
}

int leave(int argc, char **argv)
{
    const int code = argc == 2 ? atoi(argv[1]) : 0;
    float     send[1000], recv[1000];

    for (int i = 0; i < 1000; i++) {
        send[i] = (float)i;
    }
    for (int i = 0; i < 4 && argc == 2; i++) {
        if (i == 3 && world_rank() == 0 && strcmp(argv[0], "error") == 0) {
            MPI_Send(send, 100, MPI_FLOAT, 1, 1, MPI_COMM_WORLD);
        }
        if (i == 3 && world_rank() == 1) {
            if (strcmp(argv[0], "error") == 0) {
                MPI_Recv(recv, 10, MPI_FLOAT, 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            } else if (strcmp(argv[0], "abort") == 0) {
                MPI_Abort(MPI_COMM_WORLD, code);
            }
            exit(code);
        }
        if (!add_up(send, recv)) {
            break;
        }
    }
    return 1;
}

int no_collectives(void)
{
    const int rank = world_rank();
    int       size, text = rank;

    PMPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Sendrecv_replace(&text, 1, MPI_INT, (rank + 1) % size, 1, (rank + size - 1) % size, 1,
                         MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    return text == (rank + size - 1) % size ? 0 : 1;
}

/* Whatever a rank's own pieces are, all must exchange in the same way. */
int in_place(int argc, char **argv)
{
    const int rank = world_rank();
    int       counts[RANKS_MAX], at[RANKS_MAX], size, total = 0, wrong = 0, all;
    MPI_Info  info;
    float    *data;

    PMPI_Comm_size(MPI_COMM_WORLD, &size);
    for (int r = 0; r < size; r++) {
        counts[r] = rank == 2 || r == 2 ? 3 : 20000;
        at[r]     = total;
        total += counts[r];
    }
    data = allocate((size_t)total * sizeof(*data));
    for (int r = 0; r < size; r++) {
        for (int i = 0; i < counts[r]; i++) {
            data[at[r] + i] = (float)(10 * rank + r);
        }
    }
    MPI_Info_create(&info);
    MPI_Info_set(info, "thinwire_codec", argc > 0 ? argv[0] : "off");
    MPI_Comm_set_info(MPI_COMM_WORLD, info);
    MPI_Info_free(&info);
    MPI_Alltoallv(MPI_IN_PLACE, NULL, NULL, MPI_DATATYPE_NULL, data, counts, at, MPI_FLOAT,
                  MPI_COMM_WORLD);
    for (int r = 0; r < size; r++) {
        for (int i = 0; i < counts[r]; i++) {
            wrong += data[at[r] + i] != (float)(10 * r + rank);
        }
    }
    free(data);
    PMPI_Allreduce(&wrong, &all, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    if (rank == 0) {
        printf("in place: %d wrong\n", all);
    }
    return all != 0;
}

/* Sums of ones on a communicator; how many came out otherwise. */
static int sum_ones(MPI_Comm comm, int size)
{
    static const int counts[] = {1, 3000, 100000};
    float           *x        = allocate(100000 * sizeof(*x));
    int              wrong    = 0;

    for (int c = 0; c < 3; c++) {
        for (int i = 0; i < counts[c]; i++) {
            x[i] = 1.0f;
        }
        MPI_Allreduce(MPI_IN_PLACE, x, counts[c], MPI_FLOAT, MPI_SUM, comm);
        for (int i = 0; i < counts[c]; i++) {
            wrong += !(x[i] > 0.9f * (float)size && x[i] < 1.1f * (float)size);
        }
    }
    free(x);
    return wrong;
}

#define NAME(x, name, considered) #name,

/* Every algorithm by name, on so many ranks of MPI_COMM_WORLD, and with nodes of several sizes:
 * settings are read where a communicator's first call is. */
int algorithms(void)
{
    static const char *const names[] = {TW_REDUCTION_ALGORITHMS(NAME, )};
    static const char *const nodes[] = {"0", "1"};
    static const int         sizes[] = {1, 2, 3, 4, 7};
    const int                rank    = world_rank();
    int                      size, wrong = 0, all, tried = 0;

    PMPI_Comm_size(MPI_COMM_WORLD, &size);
    for (int i = 0; i < (int)(sizeof(names) / sizeof(names[0])) * 2 * 5; i++) {
        const int ranks = sizes[i % 5];
        MPI_Comm  comm;

        if (ranks > size) {
            continue;
        }
        setenv("THINWIRE_ALLREDUCE", names[i / 10], 1);
        setenv("THINWIRE_NODE_RANKS", nodes[i / 5 % 2], 1);
        MPI_Comm_split(MPI_COMM_WORLD, rank < ranks ? 0 : MPI_UNDEFINED, rank, &comm);
        if (comm != MPI_COMM_NULL) {
            wrong += sum_ones(comm, ranks);
            MPI_Comm_free(&comm);
        }
        PMPI_Barrier(MPI_COMM_WORLD);
        tried++;
    }
    PMPI_Allreduce(&wrong, &all, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    if (rank == 0) {
        printf("algorithms: %d tried, %d wrong\n", tried, all);
    }
    return all != 0;
}
