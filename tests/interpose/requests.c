/* SPDX-License-Identifier: BSD-3-Clause
 * tests/interpose/requests.c - many requests outstanding at once, of collectives and of other
 * things, completed in random order by every call that completes requests.
 *
 * The order in which requests begin is the same on all ranks; the order in which they are completed
 * is each rank's own.
 */
#include "config.h"

#include "tests/interpose/slots.h"

#define ROUNDS 6

static void rounds(const t_place_t *place, MPI_Comm messages, uint64_t shared)
{
    uint64_t own = t_mix(shared + (uint64_t)t_rank);

    for (int round = 0; round < ROUNDS; round++) {
        t_slots_begin(place, messages, &shared);
        t_slots_complete(&own);
        t_slots_free();
    }
}

static void mixed(void)
{
    const t_place_t world = t_place(MPI_COMM_WORLD, "world");

    t_layouts_make();
    t_operations_make();
    rounds(&world, MPI_COMM_WORLD, t_next_seed());
    t_operations_free();
    t_layouts_free();
}

/* Ranks are sorted into parts at random; messages still go round the world. */
static void mixed_part(void)
{
    const uint64_t seed = t_next_seed();
    t_place_t      place;
    MPI_Comm       part;

    t_layouts_make();
    t_operations_make();
    MPI_Comm_split(MPI_COMM_WORLD, (int)(t_mix(seed + (uint64_t)t_rank) % 2), -t_rank, &part);
    place = t_place(part, "a part");
    rounds(&place, MPI_COMM_WORLD, seed);
    MPI_Comm_free(&part);
    t_operations_free();
    t_layouts_free();
}

/* Rank 0 begins, receives, and only then waits; rank 1 waits and only then sends: the collective
 * must complete while rank 0 is inside MPI_Recv. */
static void exchange_once(const t_place_t *place, const t_call_t *call, bool test)
{
    MPI_Request request = MPI_REQUEST_NULL;
    int         word_of = t_rank, done = 0;
    t_job_t     job;

    t_job_open(&job, place, call);
    t_note("%s of %d units, rank 0 in MPI_Recv", t_op_names[call->op], call->units);
    T_OK(t_job_issue(&job, &request));
    if (t_rank == 0) {
        T_OK(MPI_Recv(&word_of, 1, MPI_INT, 1, 5, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
        T_CHECK(word_of == 1, "the word is %d", word_of);
    }
    while (test && !done) {
        T_OK(MPI_Test(&request, &done, MPI_STATUS_IGNORE));
    }
    T_OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
    if (t_rank == 1) {
        T_OK(MPI_Send(&word_of, 1, MPI_INT, 0, 5, MPI_COMM_WORLD));
    }
    t_job_check(&job, NULL);
    t_job_close(&job);
}

static void exchange(void)
{
    const int units[] = {1, 300, 1 << 20}; /* the last: 4 MiB */

    t_layouts_make();
    t_operations_make();
    for (int before = 0; before < 2; before++) {
        for (int i = 0; i < 3; i++) {
            for (int op = 0; op < T_OPS; op++) {
                t_call_t  call  = {.op    = (t_op_t)op,
                                   .form  = T_NONBLOCKING,
                                   .send  = &t_layouts[T_L_FLOAT],
                                   .recv  = &t_layouts[T_L_FLOAT],
                                   .unit  = 1,
                                   .units = units[i],
                                   .seed  = t_next_seed()};
                t_call_t  first = call;
                t_place_t place;
                MPI_Comm  comm;

                if (i == 2 && op != T_ALLREDUCE) {
                    continue;
                }
                MPI_Comm_dup(MPI_COMM_WORLD, &comm);
                place = t_place(comm, "a duplicate");
                if (before) {
                    first.op   = T_ALLREDUCE;
                    first.form = T_BLOCKING;
                    t_job_once(&place, &first);
                }
                exchange_once(&place, &call, op % 2 == 0);
                exchange_once(&place, &call, op % 2 != 0);
                MPI_Comm_free(&comm);
            }
        }
    }
    t_operations_free();
    t_layouts_free();
}

static const t_case_t cases[] = {
    {"fifty requests", mixed, 1},
    {"fifty requests in parts of the world", mixed_part, 1},
    {"exchange", exchange, 2},
};

T_MAIN(cases)
