/* SPDX-License-Identifier: BSD-3-Clause
 * simulation/smpi.c - the calls of world.h on a SimGrid platform: its own network, hosts and MPI
 * (SMPI), under smpirun without private globals, so that all ranks share those of the player.
 *
 * A test takes no simulated time; so a rank whose tests found nothing complete waits for any of the
 * messages that it tested. What comes through a node's memory cannot be waited for: that is
 * tested at intervals.
 */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <simgrid/actor.h>
#include <simgrid/host.h>

#include "simulation/world.h"

/* Seconds between two looks at what cannot be waited for: at least, and of a computation. */
#define LOOK 2e-6
enum { LOOKS = 64 };

/* Requests that were tested and not complete since the rank last waited. */
typedef struct tested {
    MPI_Request *requests;
    int          count;
} tested_t;

typedef struct smpi_rank {
    double        deferred;
    int           found;
    tested_t     *tested;
    size_t        count, room;
    MPI_Request **origin; /* for waiting: where each request is  */
    MPI_Request  *request;
    size_t        requests;
} smpi_rank_t;

static const script_t *script;
static smpi_rank_t    *states;

static smpi_rank_t *state_here(void)
{
    return &states[world_rank()];
}

int world_rank(void)
{
    int rank = 0;

    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    return rank;
}

MPI_Comm world_comm(void)
{
    return MPI_COMM_WORLD;
}

double world_now(void)
{
    return MPI_Wtime();
}

static void pass_work(smpi_rank_t *me)
{
    const double seconds = me->deferred;

    me->deferred = 0.0;
    if (seconds > 0.0) {
        sg_actor_sleep_for(seconds);
    }
}

void world_work(double seconds)
{
    smpi_rank_t *me = state_here();

    me->deferred += seconds;
    pass_work(me);
}

void world_code(double seconds)
{
    world_work(seconds);
}

void world_moved(void) {}

/* ---- messages ------------------------------------------------------------------------------ */

static double overhead(int peer)
{
    return 0.5 * (peer / script->per_node == world_rank() / script->per_node
                      ? script->inside.message
                      : script->between.message);
}

static int send_message(const void *bytes, int count, MPI_Datatype type, int to, int tag,
                        MPI_Comm comm, MPI_Request *request)
{
    world_work(overhead(to));
    return MPI_Isend(bytes, count, type, to, tag, comm, request);
}

static int receive_message(void *bytes, int count, MPI_Datatype type, int from, int tag,
                           MPI_Comm comm, MPI_Request *request)
{
    state_here()->deferred += overhead(from);
    return MPI_Irecv(bytes, count, type, from, tag, comm, request);
}

static void keep_requests(smpi_rank_t *me, MPI_Request requests[], int count)
{
    for (size_t i = 0; i < me->count; i++) {
        if (me->tested[i].requests == requests) {
            me->tested[i].count = count;
            return;
        }
    }
    if (me->count == me->room) {
        me->room   = 2 * me->room + 8;
        me->tested = realloc(me->tested, me->room * sizeof(*me->tested));
        if (me->tested == NULL) {
            world_fail("out of memory");
        }
    }
    me->tested[me->count++] = (tested_t){requests, count};
}

static int test_all(int count, MPI_Request requests[], int *flag, MPI_Status statuses[])
{
    smpi_rank_t *me  = state_here();
    int          any = 0, result;

    for (int i = 0; i < count && !any; i++) {
        any = requests[i] != MPI_REQUEST_NULL;
    }
    result = MPI_Testall(count, requests, flag, statuses);
    if (!*flag) {
        keep_requests(me, requests, count);
    } else if (any) { /* else it is no news */
        me->found = 1;
    }
    return result;
}

/* All that is not complete of what was looked at. */
static int gather_requests(smpi_rank_t *me)
{
    size_t most = 0;
    int    n    = 0;

    for (size_t i = 0; i < me->count; i++) {
        most += (size_t)me->tested[i].count;
    }
    if (most > me->requests) {
        me->requests = most;
        me->origin   = realloc(me->origin, most * sizeof(*me->origin));
        me->request  = realloc(me->request, most * sizeof(*me->request));
        if (me->origin == NULL || me->request == NULL) {
            world_fail("out of memory");
        }
    }
    for (size_t i = 0; i < me->count; i++) {
        for (int k = 0; k < me->tested[i].count; k++) {
            MPI_Request *at = &me->tested[i].requests[k];

            if (*at != MPI_REQUEST_NULL) {
                me->origin[n]    = at;
                me->request[n++] = *at;
            }
        }
    }
    return n;
}

void world_idle(double until, int polls)
{
    smpi_rank_t *me = state_here();
    MPI_Status   status;
    int          n, which;

    if (me->found || me->deferred > 0.0) {
        me->found = 0;
        pass_work(me);
    } else if (until < WORLD_EVER) {
        const double left = until - world_now(), look = left / LOOKS > LOOK ? left / LOOKS : LOOK;

        sg_actor_sleep_for(look < left ? look : left);
    } else {
        n = polls ? 0 : gather_requests(me);
        if (n > 0 && MPI_Waitany(n, me->request, &which, &status) == MPI_SUCCESS &&
            which != MPI_UNDEFINED) {
            *me->origin[which] = MPI_REQUEST_NULL;
        } else if (n == 0) {
            sg_actor_sleep_for(LOOK);
        }
    }
    me->count = 0;
}

tw_mpi_ops_t world_ops(void)
{
    tw_mpi_ops_t ops = tw_mpi_default;

    ops.Testall  = test_all;
    ops.Testsome = NULL;
    ops.Isend    = send_message;
    ops.Irecv    = receive_message;
    return ops;
}

/* ---- the world ----------------------------------------------------------------------------- */

int world_run(const script_t *given, void (*play)(int rank))
{
    int rank, last;

    MPI_Init(NULL, NULL);
    rank = world_rank();
    if (states == NULL) {
        script = given;
        states = calloc((size_t)given->ranks, sizeof(*states));
        if (states == NULL) {
            world_fail("out of memory");
        }
    }
    play(rank);
    MPI_Barrier(MPI_COMM_WORLD);
    last = rank == 0;
    MPI_Finalize();
    return last;
}

/* ---- a look at the platform ---------------------------------------------------------------- */

/* Seconds of a message of the first rank to the second. */
static double one_way(int rank, char *bytes, int count)
{
    const double start = MPI_Wtime();

    for (int turn = 0; turn < 2; turn++) {
        if (turn == rank) {
            MPI_Send(bytes, count, MPI_BYTE, 1 - rank, 0, MPI_COMM_WORLD);
        } else {
            MPI_Recv(bytes, count, MPI_BYTE, 1 - rank, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        }
    }
    return 0.5 * (MPI_Wtime() - start);
}

void world_describe(void)
{
    enum { LONG = 16 << 20 };
    char      *bytes = calloc(1, LONG);
    sg_host_t *hosts;
    double     latency, seconds;
    int        rank;

    MPI_Init(NULL, NULL);
    rank = world_rank();
    if (bytes == NULL) {
        world_fail("out of memory");
    }
    latency = one_way(rank, bytes, 1);
    seconds = one_way(rank, bytes, LONG);
    if (rank == 0) {
        printf(SCRIPT_LINK_LINE, latency, LONG / fmax(seconds - latency, 1e-12));
        hosts = sg_host_list();
        for (size_t i = 0; i < sg_host_count(); i++) {
            printf(SCRIPT_HOST "%s\n", sg_host_get_name(hosts[i]));
        }
    }
    free(bytes);
    MPI_Finalize();
}
