/* SPDX-License-Identifier: BSD-3-Clause
 * tests/interpose/fuzz.c - random sequences of collectives over random communicators, types,
 * layouts, operations and forms. Results are recomputed from the seed, without communication.
 * THINWIRE_SEED repeats a run; TW_FUZZ is the number of sequences.
 */
#include "config.h"

#include <stdlib.h>

#include "tests/interpose/job.h"

#define STEPS      8 /* of a sequence, at most */
#define PLACES     4
#define PER_PLACES 10 /* sequences before other communicators are made */

typedef struct step {
    t_job_t     job;
    MPI_Request request;
    bool        open;
} step_t;

/* The world, a duplicate of it, and two partitions, with the ranks in some order. Some are
 * duplicates of parts, or parts of duplicates. */
static void make_places(t_place_t places[PLACES], uint64_t *shared)
{
    static const char *const names[PLACES] = {"world", "a duplicate", "a part",
                                              "a part of a duplicate"};

    places[0] = t_place(MPI_COMM_WORLD, names[0]);
    for (int i = 1; i < PLACES; i++) {
        const uint64_t seed   = t_random(shared);
        const int      colour = (int)(t_mix(seed + (uint64_t)t_rank) % 2);
        const int      key    = (int)(t_mix(seed + 77 + (uint64_t)t_rank) % 100);
        MPI_Comm       comm;

        if (i == 1) {
            MPI_Comm_dup(MPI_COMM_WORLD, &comm);
        } else {
            MPI_Comm_split(i == 2 ? MPI_COMM_WORLD : places[1].comm, colour, key, &comm);
        }
        places[i] = t_place(comm, names[i]);
    }
}

static void free_places(t_place_t places[PLACES], uint64_t *shared)
{
    for (int i = 1; i < PLACES; i++) {
        T_OK(t_below(shared, 2) == 0 ? MPI_Comm_free(&places[i].comm)
                                     : MPI_Comm_disconnect(&places[i].comm));
    }
}

static void finish(step_t *step)
{
    t_job_check(&step->job, NULL);
    if (step->request != MPI_REQUEST_NULL) {
        T_OK(MPI_Request_free(&step->request));
    }
    t_job_close(&step->job);
    step->open = false;
}

/* One more request is completed, or several, as this rank likes. */
static void complete_some(step_t *steps, int n, uint64_t *own)
{
    MPI_Request requests[STEPS];
    MPI_Status  statuses[STEPS];
    int         which[STEPS], k = 0, flag = 1, index = 0;

    for (int i = 0; i < n; i++) {
        if (steps[i].open) {
            which[k]      = i;
            requests[k++] = steps[i].request;
        }
    }
    index = (int)t_below(own, (size_t)k);
    t_note("%d requests open", k);
    switch (t_below(own, 4)) {
    case 0:
        T_OK(MPI_Wait(&requests[index], MPI_STATUS_IGNORE));
        break;
    case 1:
        T_OK(MPI_Test(&requests[index], &flag, MPI_STATUS_IGNORE));
        break;
    case 2:
        T_OK(MPI_Waitall(k, requests, statuses));
        index = -1;
        break;
    default:
        T_OK(MPI_Waitany(k, requests, &index, MPI_STATUS_IGNORE));
        break;
    }
    for (int i = 0; flag && i < k; i++) {
        steps[which[i]].request = requests[i];
        if (index == -1 || index == i) {
            finish(&steps[which[i]]);
        }
    }
}

static void sequence(const t_place_t places[PLACES], uint64_t shared, uint64_t own)
{
    static step_t steps[STEPS];
    const int     n     = 1 + (int)t_below(&shared, STEPS);
    const size_t  most  = (size_t)8 << t_below(&shared, 9);
    int           begun = 0, open = 0;

    for (int i = 0; i < n; i++) {
        const t_place_t *place    = &places[t_below(&shared, PLACES)];
        const bool       blocking = t_below(&shared, 2) == 0;
        t_call_t         call;
        step_t          *step = &steps[begun];

        t_call_draw(&call, place, t_random(&shared), most, blocking);
        if (blocking) {
            t_job_once(place, &call);
            continue;
        }
        t_job_open(&step->job, place, &call);
        T_OK(t_job_issue(&step->job, &step->request));
        if (call.form == T_PERSISTENT) {
            T_OK(MPI_Start(&step->request));
        }
        step->open = true;
        begun++;
    }
    do {
        open = 0;
        for (int i = 0; i < begun; i++) {
            open += steps[i].open;
        }
        if (open > 0) {
            complete_some(steps, begun, &own);
        }
    } while (open > 0);
}

static void random_sequences(void)
{
    const char *text   = getenv("TW_FUZZ");
    const int   wanted = text != NULL ? atoi(text) : 200;
    uint64_t    shared = t_next_seed();
    t_place_t   places[PLACES];

    t_layouts_make();
    t_operations_make();
    for (int i = 0; i < wanted; i++) {
        const uint64_t seed = t_random(&shared);

        if (i % PER_PLACES == 0) {
            make_places(places, &shared);
        }
        sequence(places, seed, t_mix(seed + (uint64_t)t_rank));
        if (i % PER_PLACES == PER_PLACES - 1 || i == wanted - 1) {
            free_places(places, &shared);
        }
    }
    t_operations_free();
    t_layouts_free();
}

static const t_case_t cases[] = {{"random sequences", random_sequences, 1}};

int main(int argc, char **argv)
{
    return t_main(argc, argv, cases, sizeof(cases) / sizeof(cases[0]));
}
