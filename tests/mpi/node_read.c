/* SPDX-License-Identifier: BSD-3-Clause
 * tests/mpi/node_read.c - long blocks are read where they lie: what if a rank's memory cannot be
 * read by others?
 */
#include "config.h"

#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/mpi/job.h"
#include "tests/mpi/node_read.h"
#include "tests/unreadable.h"

static const char *const way_names[] = {"memfd_secret", "a hole in the middle"};

/* Such memory on all ranks, or (false) the reason said by rank 0. Collective. */
static int all_have(way_t way)
{
    float *at   = unreadable(way, 20000);
    int    mine = at != NULL, all;

    if (mine) {
        unreadable_free(at, 20000);
    }
    MPI_Allreduce(&mine, &all, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
    if (!all && t_rank == 0) {
        printf("# SKIP %s: not on this system\n", way_names[way]);
    }
    return all;
}

/* ---- one call ------------------------------------------------------------------------------- */

typedef enum form { FORM_BLOCKING, FORM_NONBLOCKING, FORM_PLAN, FORM_MIXED, FORMS } form_t;

typedef struct call {
    int           alltoall, root;
    int           hidden; /* the own memory: by `way` */
    way_t         way;
    size_t        count;
    unsigned      turn;
    float        *send, *recv;
    tw_request_t *request;
} call_t;

static float value_of(const call_t *call, int from, int to, size_t i)
{
    return (float)((i * 7 + (size_t)from * 131 + (size_t)to * 17 + call->turn * 3) % 9973);
}

static size_t call_values(const call_t *call)
{
    return call->count * (size_t)(call->alltoall ? t_size : 1);
}

static void call_open(call_t *call)
{
    const size_t bytes = call_values(call) * sizeof(float);

    call->send = call->hidden ? unreadable(call->way, bytes) : t_malloc(bytes);
    call->recv = call->alltoall ? t_malloc(bytes) : call->send;
    T_CHECK(call->send != NULL, "no memory");
}

static void call_fill(call_t *call)
{
    for (int to = 0; to < (call->alltoall ? t_size : 1); to++) {
        for (size_t i = 0; i < call->count; i++) {
            call->send[(size_t)to * call->count + i] =
                call->alltoall || t_rank == call->root ? value_of(call, t_rank, to, i) : -1.0f;
        }
    }
}

static void call_check(call_t *call, const char *what)
{
    size_t wrong = 0;

    for (int from = 0; from < (call->alltoall ? t_size : 1); from++) {
        for (size_t i = 0; i < call->count; i++) {
            const float want =
                call->alltoall ? value_of(call, from, t_rank, i) : value_of(call, call->root, 0, i);

            wrong += call->recv[(size_t)from * call->count + i] != want;
        }
    }
    T_CHECK(wrong == 0, "%s: %zu of %zu values are wrong", what, wrong, call_values(call));
}

static void call_close(call_t *call)
{
    if (call->alltoall) {
        free(call->recv);
    }
    if (call->hidden) {
        unreadable_free(call->send, call_values(call) * sizeof(float));
    } else {
        free(call->send);
    }
}

static void call_blocking(tw_comm_t *comm, call_t *call)
{
    if (call->alltoall) {
        T_OK(tw_alltoall(comm, call->send, call->recv, call->count, NULL));
    } else {
        T_OK(tw_bcast(comm, call->send, call->count, call->root, NULL));
    }
}

static void call_start(tw_comm_t *comm, call_t *call)
{
    if (call->alltoall) {
        T_OK(tw_ialltoall(comm, call->send, call->recv, call->count, NULL, &call->request));
    } else {
        T_OK(tw_ibcast(comm, call->send, call->count, call->root, NULL, &call->request));
    }
}

static void call_plan(tw_comm_t *comm, call_t *call)
{
    tw_request_t *plan = NULL;

    if (call->alltoall) {
        T_OK(tw_alltoall_init(comm, call->send, call->recv, call->count, NULL, &plan));
    } else {
        T_OK(tw_bcast_init(comm, call->send, call->count, call->root, NULL, &plan));
    }
    for (int turn = 0; turn < 2; turn++) {
        call->turn++;
        call_fill(call);
        T_OK(tw_start(plan));
        T_OK(tw_wait(&plan));
        call_check(call, "a plan");
    }
    T_OK(tw_request_free(&plan));
}

static void call_once(tw_comm_t *comm, call_t *call, form_t form)
{
    call_open(call);
    call_fill(call);
    if (form == FORM_PLAN) {
        call_plan(comm, call);
    } else if (form == FORM_BLOCKING || (form == FORM_MIXED && t_rank % 2 == 0)) {
        call_blocking(comm, call);
    } else {
        call_start(comm, call);
        T_OK(tw_wait(&call->request));
    }
    call_check(call, "once");
    call_close(call);
}

/* ---- cases ---------------------------------------------------------------------------------- */

/* On a new communicator each: the root's or one rank's memory, the others', all of it; then memory
 * that can be read. */
static void unreadable_once(way_t way, size_t count, int alltoall, form_t form)
{
    for (int who = 0; who < 3; who++) {
        tw_context_t *ctx  = t_context();
        tw_comm_t    *comm = t_comm(ctx, MPI_COMM_WORLD);
        const int     root = (int)(count % (size_t)t_size);
        float         one  = 1.0f;

        t_note("%s, %zu values, %s, form %d, who %d", way_names[way], count,
               alltoall ? "alltoall" : "bcast", (int)form, who);
        T_OK(tw_allreduce(comm, TW_IN_PLACE, &one, 1, TW_SUM, NULL)); /* the segment is made */
        for (int turn = 0; turn < 3; turn++) {
            call_t call = {.alltoall = alltoall,
                           .root     = root,
                           .way      = way,
                           .count    = count,
                           .turn     = (unsigned)turn * 5,
                           .hidden   = turn < 2 && (who == 2 || (who == 0) == (t_rank == root))};

            call_once(comm, &call, form);
        }
        T_OK(tw_comm_status(comm));
        t_comm_done(comm, ctx);
    }
}

/* All forms at one length, fewer at the others; with many ranks only what ranks do of their own. */
static bool worth_it(size_t i, form_t form)
{
    return t_size > 4 ? i == 1 && form == FORM_MIXED
           : i == 1   ? true
                      : form == FORM_BLOCKING || (i == 2 && form == FORM_NONBLOCKING);
}

void memory_that_others_cannot_read(void)
{
    static const size_t counts[] = {2049, 5003, 160001};

    for (int way = 0; way < WAYS; way++) {
        if (!all_have((way_t)way)) {
            continue;
        }
        for (int i = 0; i < 3; i++) {
            for (int form = 0; form < FORMS; form++) {
                if (worth_it((size_t)i, (form_t)form)) {
                    unreadable_once((way_t)way, counts[i], 0, (form_t)form);
                    unreadable_once((way_t)way, counts[i], 1, (form_t)form);
                }
            }
        }
    }
}

/* More operations under way than slots, some of them with memory that cannot be read, on ranks that
 * each draws for itself; waited for in an order of each rank's own. */
void unreadable_memory_in_several_operations(void)
{
    enum { AT_ONCE = 11, TURNS = 12 };
    uint64_t      random = t_seed, own = t_seed * 8u + (unsigned)t_rank;
    tw_context_t *ctx  = t_context();
    tw_comm_t    *comm = t_comm(ctx, MPI_COMM_WORLD);

    if (!all_have(WAY_HOLE)) {
        t_comm_done(comm, ctx);
        return;
    }
    for (int turn = 0; turn < TURNS; turn++) {
        call_t calls[AT_ONCE];

        for (int i = 0; i < AT_ONCE; i++) {
            calls[i] = (call_t){.alltoall = (int)t_below(&random, 2),
                                .root     = (int)t_below(&random, (size_t)t_size),
                                .count    = 1 + t_below(&random, 9000),
                                .turn     = (unsigned)(turn * AT_ONCE + i)};
            if (turn % 3 == 2) { /* too short to be read */
                calls[i].count = 1 + t_below(&random, 900);
            }
            calls[i].way    = WAY_HOLE;
            calls[i].hidden = calls[i].count > 2048 && t_below(&own, 3) == 0;
            call_open(&calls[i]);
            call_fill(&calls[i]);
            if (t_below(&own, 3) == 0) {
                call_blocking(comm, &calls[i]);
            } else {
                call_start(comm, &calls[i]);
            }
        }
        for (int i = 0, at = (int)t_below(&own, AT_ONCE); i < AT_ONCE; i++) {
            call_t *call = &calls[(at + i * 4) % AT_ONCE];

            T_OK(tw_wait(&call->request));
            call_check(call, "one of several");
            call_close(call);
        }
    }
    t_comm_done(comm, ctx);
}

/* A rank forbids others to look at it when its memory has been read before, as a program does that
 * holds keys. For root that forbids nothing: then all is as ever. */
void a_rank_that_forbids_to_look(void)
{
    tw_context_t *ctx  = t_context();
    tw_comm_t    *comm = t_comm(ctx, MPI_COMM_WORLD);

    for (int turn = 0; turn < 4; turn++) {
        call_t bcast    = {.count = 20000, .root = 0, .turn = (unsigned)turn};
        call_t alltoall = {.alltoall = 1, .count = 5000, .turn = (unsigned)turn};

        if (turn > 0 && t_rank == 0) {
            prctl(PR_SET_DUMPABLE, 0);
        }
        MPI_Barrier(MPI_COMM_WORLD);
        call_once(comm, turn < 2 ? &bcast : &alltoall, FORM_MIXED);
        call_once(comm, turn < 2 ? &alltoall : &bcast, FORM_PLAN);
    }
    prctl(PR_SET_DUMPABLE, 1);
    t_comm_done(comm, ctx);
}

/* It is said once for each rank that cannot read, at level info, and nothing above that. */
void a_reader_that_is_refused_is_told_about(void)
{
    static const char *const loud[] = {"LOG_LEVEL=info", NULL};
    t_log_t                  log    = {0};
    tw_context_t            *ctx;
    tw_comm_t               *comm;
    const char              *said;
    int                      lines = 0;

    if (!all_have(WAY_HOLE)) {
        return;
    }
    comm = t_comm_logged(loud, &log, &ctx);
    for (int turn = 0; turn < 3; turn++) {
        call_t call = {.count = 5000, .way = WAY_HOLE, .hidden = t_rank == 0};

        call_once(comm, &call, FORM_BLOCKING);
    }
    for (said = log.text; (said = strstr(said, "memory of rank 0")) != NULL; said++) {
        lines++;
    }
    T_CHECK(lines == (t_rank != 0), "%d lines: %s", lines, log.text);
    t_comm_done(comm, ctx);
}

/* The root is stopped, in the call, until its readers have all read, as they tell it. */
void a_root_that_is_stopped_is_read(void)
{
    enum { N = 50000 };
    tw_context_t *ctx  = t_context();
    tw_comm_t    *comm = t_comm(ctx, MPI_COMM_WORLD);
    call_t        call = {.count = N};
    int           to[2], readers = t_size - 1;
    pid_t         child    = -1;
    char          byte     = 0;
    char          path[64] = "";
    tw_request_t *request  = NULL;
    int           done     = 0;

    call_open(&call);
    call_fill(&call);
    call_blocking(comm, &call);
    call.turn = 1;
    call_fill(&call);
    if (t_rank == 0) {
        T_CHECK(pipe(to) == 0, "pipe");
        snprintf(path, sizeof(path), "/proc/%ld/fd/%d", (long)getpid(), to[1]);
        T_OK(tw_ibcast(comm, call.send, N, 0, NULL, &request)); /* its address is told */
        T_OK(tw_test(&request, &done));
    }
    MPI_Bcast(path, sizeof(path), MPI_CHAR, 0, MPI_COMM_WORLD);
    if (t_rank == 0) {
        child = fork();
        if (child == 0) { /* goes on when all readers have written */
            usleep(50000);
            kill(getppid(), SIGSTOP);
            while (readers > 0 && read(to[0], &byte, 1) == 1) {
                readers--;
            }
            kill(getppid(), SIGCONT);
            _exit(0);
        }
        usleep(200000); /* stopped in here */
        T_OK(tw_wait(&request));
        waitpid(child, NULL, 0);
        close(to[0]);
        close(to[1]);
    } else {
        FILE *pipe_of_root;

        usleep(100000);
        pipe_of_root = fopen(path, "w");
        T_OK(tw_bcast(comm, call.send, N, 0, NULL));
        T_CHECK(pipe_of_root != NULL && fputc('r', pipe_of_root) != EOF, "no pipe");
        if (pipe_of_root != NULL) {
            fclose(pipe_of_root);
        }
    }
    call_check(&call, "from a root that is stopped");
    call_close(&call);
    t_comm_done(comm, ctx);
}
