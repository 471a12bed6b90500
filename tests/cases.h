/* SPDX-License-Identifier: BSD-3-Clause
 * tests/cases.h - the harness of the programs that mpirun starts: cases, checks, random numbers.
 *
 * A program is a list of cases, all of which run in one launch; its last argument is the number of
 * ranks expected. A failed check is printed (rank, file, line, case, seed, what was going on) and
 * counted, and the case goes on, so that the ranks stay in step; after each case the ranks add up
 * their failures, and a failure on any rank makes every rank exit with 1. Input is a function of
 * seed, rank and position: every rank can compute every other's.
 *
 * The harness itself talks through PMPI_ on a communicator of its own, so that neither a wrong
 * wrapper nor the program's messages confuse it.
 *
 * Environment: THINWIRE_SEED (0 or unset draws one), TW_CASE (run only the cases whose name
 * contains it), TW_CASE_LIMIT (seconds after which a case counts as hanging).
 */
#ifndef TW_TESTS_CASES_H
#define TW_TESTS_CASES_H

#include <stddef.h>
#include <stdint.h>

#include <mpi.h>

typedef struct t_case {
    const char *name;
    void (*run)(void);
    int min_ranks; /* with fewer the case is passed over, aloud */
} t_case_t;

/* What some programs have in common beside that. */
typedef struct t_rig {
    int most_ranks;
    const char *(*set_up)(int argc, char **argv); /* before the cases: NULL, or why it cannot be */
    void (*tear_down)(void);                      /* after them, still checking; or NULL         */
} t_rig_t;

extern int      t_rank, t_size; /* of MPI_COMM_WORLD                                            */
extern uint64_t t_seed;         /* the same on all ranks                                        */
extern MPI_Comm t_harness;      /* a duplicate of the world, made by PMPI                       */
extern int      t_thread_level; /* for MPI_Init_thread; set before t_main() (MPI_THREAD_SINGLE) */

/* main() of the programs with a rig; t_main() of each folder calls it. */
int t_run(int argc, char **argv, const t_rig_t *rig, const t_case_t *cases, size_t count);
int t_main(int argc, char **argv, const t_case_t *cases, size_t count);

/* main() of a program that does nothing else. */
#define T_MAIN(cases)                                                                              \
    int main(int argc, char **argv)                                                                \
    {                                                                                              \
        return t_main(argc, argv, cases, sizeof(cases) / sizeof((cases)[0]));                      \
    }

/* What cannot be tried here, and why: a line of its own among the results. */
void t_skip(const char *why);

/* What is being tested right now; printed with a failure. Per thread. */
void t_note(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Where in a long case that is; printed before the note. A case that hangs is timed from here. */
void t_within(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* These may be called by any thread. */
void t_fail(const char *file, int line, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

#define T_CHECK(condition, ...)                                                                    \
    do {                                                                                           \
        if (!(condition)) {                                                                        \
            t_fail(__FILE__, __LINE__, __VA_ARGS__);                                               \
        }                                                                                          \
    } while (0)

/* The collectives; those from T_ALLREDUCE on reduce. */
typedef enum t_op {
    T_BCAST,
    T_ALLGATHER,
    T_ALLGATHERV,
    T_ALLTOALL,
    T_ALLTOALLV,
    T_ALLREDUCE,
    T_REDUCE,
    T_REDUCE_SCATTER,
    T_REDUCE_SCATTER_BLOCK,
    T_OPS
} t_op_t;

extern const char *const t_op_names[T_OPS];

uint64_t t_mix(uint64_t x);                      /* a bijection that looks random */
uint64_t t_random(uint64_t *state);              /* the next of a sequence        */
size_t   t_below(uint64_t *state, size_t bound); /* 0 .. bound - 1                */

/* A seed for the next thing to do; begins anew with each case. Ranks that go different ways within
 * a case do not agree any more. */
uint64_t t_next_seed(void);

void *t_malloc(size_t bytes); /* or the program ends; never NULL */

#endif /* TW_TESTS_CASES_H */
