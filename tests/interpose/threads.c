/* SPDX-License-Identifier: BSD-3-Clause
 * tests/interpose/threads.c - MPI_THREAD_MULTIPLE: threads that are in collectives at the same
 * time, each on its own communicators; their first calls, too.
 */
#include "config.h"

#include <pthread.h>
#include <time.h>

#include "tests/interpose/job.h"

#define THREADS 4
#define CALLS   100
#define MOST    1500

typedef struct thread {
    pthread_t id;
    MPI_Comm  comm;
    uint64_t  seed;
} thread_t;

static void *run(void *argument)
{
    const thread_t *thread = argument;
    uint64_t        shared = thread->seed;

    for (int i = 0; i < CALLS; i++) {
        const uint64_t seed  = t_random(&shared);
        MPI_Comm       comm  = thread->comm;
        t_place_t      place = t_place(comm, "a thread's duplicate");
        t_call_t       call;

        if (i % 10 == 9) { /* communicators come and go beside the others' calls */
            T_OK(MPI_Comm_dup(thread->comm, &comm));
            place = t_place(comm, "a duplicate of a thread's duplicate");
        }
        t_call_draw(&call, &place, seed, MOST, seed % 2 == 0);
        t_job_once(&place, &call);
        if (comm != thread->comm) {
            T_OK(MPI_Comm_free(&comm));
        }
    }
    return NULL;
}

static void threads(void)
{
    thread_t all[THREADS];

    t_layouts_make();
    t_operations_make();
    for (int i = 0; i < THREADS; i++) {
        all[i].seed = t_next_seed();
        MPI_Comm_dup(MPI_COMM_WORLD, &all[i].comm);
    }
    for (int i = 0; i < THREADS; i++) {
        T_CHECK(pthread_create(&all[i].id, NULL, run, &all[i]) == 0, "no thread");
    }
    for (int i = 0; i < THREADS; i++) {
        pthread_join(all[i].id, NULL);
        MPI_Comm_free(&all[i].comm);
    }
    t_operations_free();
    t_layouts_free();
}

/* ---- first calls ----------------------------------------------------------------------------- */

#define ROUNDS 10
#define FLOATS 3000

typedef struct first {
    pthread_t          id;
    pthread_barrier_t *together;
    MPI_Comm           comm;
    int                number;
} first_t;

static void *first_call(void *argument)
{
    const first_t *first = argument;
    const float    value = (float)(first->number + 1), want = value * (float)t_size;
    float          in[FLOATS], out[FLOATS];

    for (int i = 0; i < FLOATS; i++) {
        in[i] = value;
    }
    pthread_barrier_wait(first->together);
    T_OK(MPI_Allreduce(in, out, FLOATS, MPI_FLOAT, MPI_SUM, first->comm));
    for (int i = 0; i < FLOATS; i++) { /* equal values lose nothing in any codec here */
        T_CHECK(out[i] == want, "thread %d: value %d is %g, not %g", first->number, i,
                (double)out[i], (double)want);
    }
    return NULL;
}

/* Each thread's first call on a new communicator, all at once: what the communicators of a process
 * share is made then. */
static void first_calls(void)
{
    first_t           all[THREADS];
    pthread_barrier_t together;

    pthread_barrier_init(&together, NULL, THREADS);
    for (int round = 0; round < ROUNDS; round++) {
        for (int i = 0; i < THREADS; i++) {
            all[i] = (first_t){.together = &together, .number = i};
            MPI_Comm_dup(MPI_COMM_WORLD, &all[i].comm);
        }
        for (int i = 0; i < THREADS; i++) {
            T_CHECK(pthread_create(&all[i].id, NULL, first_call, &all[i]) == 0, "no thread");
        }
        for (int i = 0; i < THREADS; i++) {
            pthread_join(all[i].id, NULL);
            MPI_Comm_free(&all[i].comm);
        }
    }
    pthread_barrier_destroy(&together);
}

/* Rank 0 is in both calls at once, the others in one after the other, the younger communicator's
 * first. Nothing depends on the pause but whether this would show that a call waits for the
 * other. */
static void crossed(void)
{
    const struct timespec pause = {.tv_nsec = 30000000};
    first_t               both[2];
    pthread_barrier_t     alone;

    pthread_barrier_init(&alone, NULL, 1);
    for (int i = 0; i < 2; i++) {
        both[i] = (first_t){.together = &alone, .number = i};
        MPI_Comm_dup(MPI_COMM_WORLD, &both[i].comm);
    }
    if (t_rank == 0) {
        T_CHECK(pthread_create(&both[0].id, NULL, first_call, &both[0]) == 0, "no thread");
        nanosleep(&pause, NULL);
        first_call(&both[1]);
        pthread_join(both[0].id, NULL);
    } else {
        nanosleep(&pause, NULL);
        first_call(&both[1]);
        first_call(&both[0]);
    }
    for (int i = 0; i < 2; i++) {
        MPI_Comm_free(&both[i].comm);
    }
    pthread_barrier_destroy(&alone);
}

static const t_case_t cases[] = {{"first calls at once", first_calls, 1},
                                 {"first calls in another order", crossed, 2},
                                 {"four threads", threads, 1}};

int main(int argc, char **argv)
{
    t_thread_level = MPI_THREAD_MULTIPLE;
    return t_main(argc, argv, cases, sizeof(cases) / sizeof(cases[0]));
}
