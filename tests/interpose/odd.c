/* SPDX-License-Identifier: BSD-3-Clause
 * tests/interpose/odd.c - see odd.h.
 */
#include "config.h"

#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/interpose/odd.h"

#define MOST    1500 /* basic elements of a message */
#define THREADS 3
#define CALLS   4 /* of a thread */

/* ---- attributes: every communicator of a program has one, and so have its duplicates
 * ----------- */

static int        keyval = MPI_KEYVAL_INVALID;
static atomic_int living; /* communicators with the attribute, those that others made too */

static int on_copy(MPI_Comm comm, int key, void *extra, void *in, void *out, int *flag)
{
    (void)comm;
    (void)key;
    (void)extra;
    memcpy(out, &in, sizeof(in));
    *flag = 1;
    atomic_fetch_add(&living, 1);
    return MPI_SUCCESS;
}

static int on_delete(MPI_Comm comm, int key, void *value, void *extra)
{
    (void)comm;
    (void)key;
    (void)value;
    (void)extra;
    atomic_fetch_sub(&living, 1);
    return MPI_SUCCESS;
}

/* ---- errors
 * ------------------------------------------------------------------------------------ */

/* A call that is wrong on this rank, and says so before anything is sent. */
static int wrong(MPI_Comm comm, size_t which)
{
    float       x[8]    = {0}, y[8 * T_RANKS_MAX];
    MPI_Request request = MPI_REQUEST_NULL;

    switch (which % 4) {
    case 0:
        return MPI_Bcast(x, -1, MPI_FLOAT, 0, comm);
    case 1:
        return MPI_Bcast(x, 8, MPI_FLOAT, -5, comm);
    case 2:
        return MPI_Ibcast(x, 8, MPI_DATATYPE_NULL, 0, comm, &request);
    default:
        return MPI_Allgather(x, 8, MPI_DATATYPE_NULL, y, 8, MPI_DATATYPE_NULL, comm);
    }
}

static void call_on(t_odd_t *odd, const t_place_t *place, bool blocking)
{
    t_call_t call;

    t_call_draw(&call, place, t_random(&odd->shared), (size_t)8 << t_below(&odd->shared, 9),
                blocking);
    if (blocking) {
        t_job_once(place, &call);
    } else {
        t_pool_begin(&odd->pool, place, &call);
    }
}

static void step_errors(t_odd_t *odd)
{
    const t_place_t *place = &odd->places[t_below(&odd->shared, 2)];
    const size_t     which = t_below(&odd->own, 4);

    MPI_Comm_set_errhandler(place->comm, MPI_ERRORS_RETURN);
    if (t_below(&odd->own, 2) == 0) {
        T_CHECK(wrong(place->comm, which) != MPI_SUCCESS, "a wrong call is none");
    }
    call_on(odd, place, true);
    MPI_Comm_set_errhandler(place->comm, MPI_ERRORS_ARE_FATAL);
}

#ifndef MPICH_NUMVERSION /* which calls handlers inside its lock */

static jmp_buf landing;

static void on_error(MPI_Comm *comm, int *code, ...)
{
    (void)comm;
    (void)code;
    longjmp(landing, 1);
}

/* Control leaves the handler, on some ranks, for good. */
static void step_jump(t_odd_t *odd)
{
    const t_place_t *place = &odd->places[t_below(&odd->shared, 2)];
    MPI_Errhandler   handler;

    MPI_Comm_create_errhandler(on_error, &handler);
    MPI_Comm_set_errhandler(place->comm, handler);
    if (t_below(&odd->own, 2) == 0 && setjmp(landing) == 0) {
        wrong(place->comm, t_below(&odd->own, 4));
        T_CHECK(false, "a wrong call calls no handler");
    }
    MPI_Comm_set_errhandler(place->comm, MPI_ERRORS_ARE_FATAL);
    MPI_Errhandler_free(&handler);
    call_on(odd, place, true);
    call_on(odd, place, true);
}

#else
#define step_jump step_errors
#endif

/* ---- calls, communicators
 * ---------------------------------------------------------------------- */

static void step_call(t_odd_t *odd)
{
    call_on(odd, &odd->places[t_below(&odd->shared, T_ODD_PLACES)], true);
}

static void step_pending(t_odd_t *odd)
{
    for (size_t n = 1 + t_below(&odd->shared, 4); n > 0; n--) {
        call_on(odd, &odd->places[t_below(&odd->shared, T_ODD_PLACES)], false);
    }
}

static void step_complete(t_odd_t *odd)
{
    t_pool_some(&odd->pool, &odd->own);
}

/* Does an Iallreduce survive its communicator? Not in Open MPI 4.1 itself, whose nonblocking
 * collectives crash then; those of two stages, which the drop-in makes of messages on a duplicate,
 * do. bitpack:2 has two from 4 ranks on. */
static bool survives(const t_place_t *place)
{
#ifdef MPICH_NUMVERSION
    (void)place;
    return true;
#else
    const char *codec = getenv("THINWIRE_CODEC");

    return codec != NULL && strcmp(codec, "bitpack:2") == 0 && getenv("THINWIRE_VERIFY") == NULL &&
           place->size >= 4;
#endif
}

/* A message goes round while its communicator is freed. */
static void free_message(t_odd_t *odd, MPI_Comm *comm)
{
    const int   right = (t_rank + 1) % t_size, left = (t_rank + t_size - 1) % t_size;
    MPI_Request requests[2];
    MPI_Status  statuses[2]; /* MPICH's MPI_STATUSES_IGNORE draws a warning */
    int         word = -1, own = t_rank;

    T_OK(MPI_Irecv(&word, 1, MPI_INT, left, 3, *comm, &requests[0]));
    if (t_below(&odd->own, 2) == 0) {
        usleep(200);
    }
    T_OK(MPI_Isend(&own, 1, MPI_INT, right, 3, *comm, &requests[1]));
    T_OK(MPI_Comm_free(comm));
    T_OK(MPI_Waitall(2, requests, statuses));
    T_CHECK(word == left, "the word is %d, not %d", word, left);
}

/* A communicator that is freed while its operations are under way; a blocking Allreduce before them
 * lets those of two stages be compressed, too. */
static void step_free(t_odd_t *odd)
{
    const t_call_t first = {.op    = T_ALLREDUCE,
                            .send  = &t_layouts[T_L_FLOAT],
                            .recv  = &t_layouts[T_L_FLOAT],
                            .unit  = 1,
                            .units = 600,
                            .seed  = t_random(&odd->shared)};
    t_call_t       later = first;
    MPI_Comm       comm;
    t_place_t      place;

    MPI_Comm_dup(odd->places[0].comm, &comm);
    place = t_place(comm, "a duplicate that is freed");
    if (t_below(&odd->shared, 4) > 0) {
        t_job_once(&place, &first);
        later.form = T_NONBLOCKING;
        if (t_below(&odd->own, 3) == 0) { /* so that the others free while they wait for this one */
            usleep(2000);
        }
        for (size_t n = survives(&place) ? 1 + t_below(&odd->shared, 2) : 0; n > 0; n--) {
            later.seed++;
            t_pool_begin(&odd->pool, &place, &later);
        }
    }
    free_message(odd, &comm);
}

/* Duplicates of all kinds, one of another, that live for one call. */
static void step_duplicate(t_odd_t *odd)
{
    MPI_Comm    one, two;
    MPI_Request request;
    MPI_Info    info;
    t_place_t   place;

    MPI_Info_create(&info);
    MPI_Info_set(info, "what", "a hint that nobody knows");
    T_OK(MPI_Comm_dup_with_info(odd->places[0].comm, info, &one));
    MPI_Info_free(&info);
    T_OK(MPI_Comm_idup(one, &two, &request));
    T_OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
    T_OK(MPI_Comm_free(&one));
    place = t_place(two, "a duplicate of a freed one");
    call_on(odd, &place, true);
    T_OK(t_below(&odd->shared, 2) == 0 ? MPI_Comm_free(&two) : MPI_Comm_disconnect(&two));
}

/* ---- threads
 * ----------------------------------------------------------------------------------- */

typedef struct odd_thread {
    pthread_t id;
    MPI_Comm  comm;
    uint64_t  seed;
} odd_thread_t;

static void *thread_run(void *argument)
{
    odd_thread_t   *thread = argument;
    const t_place_t place  = t_place(thread->comm, "a thread's duplicate");

    for (int i = 0; i < CALLS; i++) {
        t_call_t call;

        t_call_draw(&call, &place, t_random(&thread->seed), MOST, i % 2 == 0);
        t_job_once(&place, &call);
    }
    return NULL;
}

static void step_threads(t_odd_t *odd)
{
    odd_thread_t all[THREADS];

    for (int i = 0; i < THREADS; i++) {
        all[i].seed = t_random(&odd->shared);
        MPI_Comm_dup(odd->places[0].comm, &all[i].comm);
    }
    for (int i = 0; i < THREADS; i++) {
        T_CHECK(pthread_create(&all[i].id, NULL, thread_run, &all[i]) == 0, "no thread");
    }
    for (int i = 0; i < THREADS; i++) {
        pthread_join(all[i].id, NULL);
    }
    for (int i = 0; i < THREADS; i++) {
        MPI_Comm_free(&all[i].comm);
    }
}

/* ---- processes that are stopped
 * ---------------------------------------------------------------- */

static void collect_child(t_odd_t *odd)
{
    if (odd->child > 0) {
        waitpid((pid_t)odd->child, NULL, 0);
    }
    odd->child = 0;
}

/* Some ranks are stopped for some milliseconds, now or soon. */
static void step_stop(t_odd_t *odd)
{
    const useconds_t before = (useconds_t)t_below(&odd->own, 3000);
    const useconds_t length = 1000 + (useconds_t)t_below(&odd->own, 20000);
    const pid_t      self   = getpid();

    collect_child(odd);
    if (t_below(&odd->own, 2) == 0) {
        odd->child = fork();
        if (odd->child == 0) {
            usleep(before);
            kill(self, SIGSTOP);
            usleep(length);
            kill(self, SIGCONT);
            _exit(0);
        }
    }
    call_on(odd, &odd->places[0], true);
}

/* ---- programs
 * ---------------------------------------------------------------------------------- */

static const struct {
    const char *name;
    void (*run)(t_odd_t *odd);
} kinds[] = {
    {"call", step_call},      {"pending", step_pending},        {"complete", step_complete},
    {"equal", t_odd_equal},   {"interleave", t_odd_interleave}, {"types", t_odd_types},
    {"hidden", t_odd_hidden}, {"errors", step_errors},          {"jump", step_jump},
    {"free", step_free},      {"duplicate", step_duplicate},    {"threads", step_threads},
    {"stop", step_stop}};

enum { KINDS = sizeof(kinds) / sizeof(kinds[0]) };

/* Kinds that TW_ODD_KINDS names, or all. */
static int wanted(int which[KINDS])
{
    const char *list = getenv("TW_ODD_KINDS");
    int         n    = 0;

    for (int k = 0; k < KINDS; k++) {
        const char *at = list != NULL ? strstr(list, kinds[k].name) : kinds[k].name;

        if (at != NULL) {
            which[n++] = k;
        }
    }
    T_CHECK(n > 0, "TW_ODD_KINDS names no kind of steps");
    return n;
}

/* Two groups, if there are two ranks; else the world once more. */
static void make_groups(t_odd_t *odd)
{
    const int  half = t_size - t_size / 2;
    const bool low  = t_rank < half;
    MPI_Comm   part, both;

    if (t_size == 1) {
        MPI_Comm_dup(odd->places[0].comm, &both);
        odd->places[2] = t_place(both, "a second duplicate");
        return;
    }
    PMPI_Comm_split(odd->places[0].comm, low, 0, &part);
    MPI_Intercomm_create(part, 0, odd->places[0].comm, low ? half : 0, 7, &both);
    PMPI_Comm_free(&part);
    odd->places[2] = t_place_inter(both, "two groups", low);
}

static void make_places(t_odd_t *odd)
{
    const uint64_t seed = t_random(&odd->shared);
    MPI_Comm       comm;

    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    MPI_Comm_set_attr(comm, keyval, odd);
    atomic_fetch_add(&living, 1);
    odd->places[0] = t_place(comm, "a duplicate");
    MPI_Comm_split(comm, (int)(t_mix(seed + (uint64_t)t_rank) % 2),
                   (int)(t_mix(seed + 77 + (uint64_t)t_rank) % 100), &comm);
    odd->places[1] = t_place(comm, "a part");
    make_groups(odd);
}

static void run_program(uint64_t seed, int index, int length, const int *which, int n)
{
    t_odd_t odd = {.shared = t_mix(seed + (uint64_t)index)};
    int     steps;

    odd.own = t_mix(odd.shared + 1000u + (uint64_t)t_rank);
    steps   = 1 + (int)t_below(&odd.shared, T_ODD_STEPS);
    t_within("program %d", index);
    t_note("%s", "");
    make_places(&odd);
    for (int i = 0; i < steps && i < length; i++) {
        const int k     = which[t_below(&odd.shared, (size_t)n)];
        uint64_t  after = t_random(&odd.shared); /* the next step does not depend on this one */

        t_within("program %d, step %d, %s", index, i, kinds[k].name);
        odd.own = t_mix(after + (uint64_t)t_rank);
        kinds[k].run(&odd);
        odd.shared = after;
    }
    t_within("program %d, end", index);
    t_pool_drain(&odd.pool, &odd.own);
    collect_child(&odd);
    for (int i = T_ODD_PLACES - 1; i >= 0; i--) {
        T_OK(MPI_Comm_free(&odd.places[i].comm));
    }
}

static int number(const char *name, int otherwise)
{
    const char *text = getenv(name);

    return text != NULL ? atoi(text) : otherwise;
}

void t_odd_programs(void)
{
    const int      wanted_programs = number("TW_ODD", 60), first = number("TW_ODD_FIRST", 0);
    const int      length = number("TW_ODD_LENGTH", T_ODD_STEPS);
    const uint64_t seed   = t_next_seed();
    int            which[KINDS];
    const int      n = wanted(which);

    t_layouts_make();
    t_operations_make();
    MPI_Comm_create_keyval(on_copy, on_delete, &keyval, NULL);
    for (int i = first; i < first + wanted_programs; i++) {
        run_program(seed, i, length, which, n);
    }
    t_within("%s", "");
    T_CHECK(atomic_load(&living) == 0, "%d duplicates are left behind", atomic_load(&living));
    MPI_Comm_free_keyval(&keyval);
    t_operations_free();
    t_layouts_free();
}
