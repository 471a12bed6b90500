/* SPDX-License-Identifier: BSD-3-Clause
 * tests/mpi/neighbours.c - others in the same process: threads with communicators of their own,
 * messages of the application, and very many communicators one after another.
 */
#include "config.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "tests/mpi/job.h"

#define THREADS 3
#define COUNT   5003

/* ---- threads ----------------------------------------------------------------------------------
 */

typedef struct worker {
    pthread_t   thread;
    tw_comm_t  *comm;
    tw_how_t    how;
    float       in[COUNT], out[COUNT], want[COUNT];
    tw_status_t status;
    int         wrong;
} worker_t;

static void *work(void *arg)
{
    worker_t     *w       = arg;
    tw_request_t *request = NULL;

    for (int i = 0; i < 40 && w->status == TW_OK; i++) {
        memset(w->out, 0, sizeof(w->out));
        if (i % 2 == 0) {
            w->status = tw_allreduce(w->comm, w->in, w->out, COUNT, TW_SUM, &w->how);
        } else {
            w->status = tw_iallreduce(w->comm, w->in, w->out, COUNT, TW_SUM, &w->how, &request);
            if (w->status == TW_OK) {
                w->status = tw_wait(&request);
            }
        }
        w->wrong += memcmp(w->out, w->want, sizeof(w->want)) != 0;
    }
    return NULL;
}

/* One context, a communicator for each thread: no thread needs to wait for another. */
static void a_communicator_for_each_thread(void)
{
    static const char *const specs[THREADS] = {"tree8", "onebit:block=64", "bf16"};
    worker_t                *workers        = t_malloc(THREADS * sizeof(*workers));
    void                    *in[T_RANKS_MAX];

    memset(workers, 0, THREADS * sizeof(*workers));
    for (int k = 0; k < THREADS; k++) {
        worker_t     *w = &workers[k];
        t_model_sum_t sum;

        w->comm = t_comm(t_ctx, MPI_COMM_WORLD);
        w->how = (tw_how_t){.codec = t_codec(specs[k], TW_F32), .algorithm = TW_ALGORITHM_TWO_PASS};
        sum    = (t_model_sum_t){w->how.codec, TW_F32, t_size, TW_SUM, NULL};
        for (int r = 0; r < t_size; r++) {
            in[r] = t_malloc(COUNT * sizeof(float));
            t_fill(TW_F32, t_seed + (unsigned)(8 * k + r), 0, COUNT, in[r]);
        }
        t_model_allreduce(&sum, (const void *const *)in, COUNT, 1, w->want);
        memcpy(w->in, in[t_rank], COUNT * sizeof(float));
        for (int r = 0; r < t_size; r++) {
            free(in[r]);
        }
    }
    for (int k = 0; k < THREADS; k++) {
        T_CHECK(pthread_create(&workers[k].thread, NULL, work, &workers[k]) == 0, "no thread");
    }
    for (int k = 0; k < THREADS; k++) {
        pthread_join(workers[k].thread, NULL);
        T_CHECK(workers[k].status == TW_OK, "thread %d: %s", k, tw_status_name(workers[k].status));
        T_CHECK(workers[k].wrong == 0, "thread %d: %d results are wrong", k, workers[k].wrong);
        T_OK(tw_comm_destroy(workers[k].comm));
    }
    free(workers);
}

/* ---- the application's own messages -------------------------------------------------------------
 */

/* A receive from anybody with any tag is open on the parent all the while: none of our messages may
 * go there, and the application's message must. */
static void messages_of_the_application_are_its_own(void)
{
    uint64_t       shared = t_seed;
    tw_comm_t     *comm   = t_comm(t_ctx, MPI_COMM_WORLD);
    int            mine = 1000 + t_rank, got = -1, done = 0;
    MPI_Request    receive;
    MPI_Status     status;
    MPI_Errhandler handler;

    MPI_Irecv(&got, 1, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &receive);
    for (int i = 0; i < 3 * T_OPS; i++) {
        t_shape_t shape;

        t_shape_drawn(&shape, (t_op_t)(i % T_OPS), &shared, 2000);
        t_job_once(comm, &shape);
        MPI_Test(&receive, &done, MPI_STATUS_IGNORE);
        T_CHECK(!done, "the application received one of our messages");
    }
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Send(&mine, 1, MPI_INT, (t_rank + 1) % t_size, 77, MPI_COMM_WORLD);
    MPI_Wait(&receive, &status);
    T_CHECK(got == 1000 + (t_rank + t_size - 1) % t_size && status.MPI_TAG == 77, "%d arrived",
            got);
    MPI_Comm_get_errhandler(MPI_COMM_WORLD, &handler);
    T_CHECK(handler == MPI_ERRORS_ARE_FATAL, "the parent's error handler was changed");
    T_OK(tw_comm_destroy(comm));
}

/* ---- many communicators -------------------------------------------------------------------------
 */

/* More than an MPI library has numbers for (MPICH: 2048), if any of them were not given back. */
static void many_communicators_one_after_another(void)
{
    const int many = t_size == 1 ? 2500 : 30;

    for (int i = 0; i < many; i++) {
        tw_comm_t *comm = t_comm(t_ctx, MPI_COMM_WORLD);
        float      x = 1.0f, y = 0.0f;

        T_OK(tw_allreduce(comm, &x, &y, 1, TW_SUM, NULL));
        T_CHECK(y == (float)t_size, "the sum is %g", (double)y);
        T_OK(tw_comm_destroy(comm));
    }
}

static const t_case_t cases[] = {
    {"a communicator for each thread", a_communicator_for_each_thread, 1},
    {"messages of the application are its own", messages_of_the_application_are_its_own, 1},
    {"many communicators one after another", many_communicators_one_after_another, 1},
};

int main(int argc, char **argv)
{
    t_thread_level = MPI_THREAD_MULTIPLE;
    return t_main(argc, argv, cases, sizeof(cases) / sizeof(cases[0]));
}
