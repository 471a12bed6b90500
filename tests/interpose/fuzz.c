/* SPDX-License-Identifier: BSD-3-Clause
 * tests/interpose/fuzz.c - random sequences of collectives over random communicators, types,
 * layouts, operations and forms. Results are recomputed from the seed, without communication.
 * THINWIRE_SEED repeats a run; TW_FUZZ is the number of sequences. And odd programs, see odd.h,
 * which have threads and so are run by themselves (TW_CASE="odd programs").
 */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "tests/interpose/odd.h"

#define STEPS      8 /* of a sequence, at most */
#define PLACES     4
#define PER_PLACES 10 /* sequences before other communicators are made */

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

static void sequence(const t_place_t places[PLACES], uint64_t shared, uint64_t own)
{
    const int    n    = 1 + (int)t_below(&shared, STEPS);
    const size_t most = (size_t)8 << t_below(&shared, 9);
    t_pool_t     pool = {.count = 0};

    for (int i = 0; i < n; i++) {
        const t_place_t *place    = &places[t_below(&shared, PLACES)];
        const bool       blocking = t_below(&shared, 2) == 0;
        t_call_t         call;

        t_call_draw(&call, place, t_random(&shared), most, blocking);
        if (blocking) {
            t_job_once(place, &call);
        } else {
            t_pool_begin(&pool, place, &call);
        }
    }
    t_pool_drain(&pool, &own);
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

static const t_case_t cases[] = {{"random sequences", random_sequences, 1},
                                 {"odd programs", t_odd_programs, 1}};

int main(int argc, char **argv)
{
    const char *only = getenv("TW_CASE");

    if (only != NULL && strstr("odd programs", only) != NULL) {
        t_thread_level = MPI_THREAD_MULTIPLE;
    }
    return t_main(argc, argv, cases, sizeof(cases) / sizeof(cases[0]));
}
