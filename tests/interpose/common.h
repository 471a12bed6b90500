/* SPDX-License-Identifier: BSD-3-Clause
 * tests/interpose/common.h - what the programs that run under the drop-in share: an expectation,
 * cases, checks, random numbers. They are ordinary MPI programs and know nothing of thinwire.
 *
 * main's arguments are EXPECTATION RANKS. An expectation says what the drop-in may do:
 *     exact            nothing: every result is what plain MPI gives, bit for bit
 *     representable    compress by bitpack:2; the values are ones that it keeps, so all is exact
 *     lossy:F[:D]      compress floats (doubles too, where D is given): results are within F (D) of
 *                      the exact ones, as rms of the error over rms of the summands' magnitudes,
 * and some must differ from them, or nothing was compressed. All else is exact.
 *
 * The harness itself talks through PMPI_ on communicators of its own, so that a wrong wrapper does
 * not confuse it. A failed check is printed (rank, file, line, case, seed, what was going on) and
 * counted, and the case goes on, so that the ranks stay in step.
 *
 * Environment: THINWIRE_SEED (0 or unset draws one), TW_CASE (run only the cases whose name
 * contains it), TW_CASE_LIMIT (seconds after which a case counts as hanging), TW_PRELOADED (a file
 * that must be mapped into this process), TW_THIN (do one in so many of the calls where there are
 * thousands).
 */
#ifndef TW_TESTS_INTERPOSE_COMMON_H
#define TW_TESTS_INTERPOSE_COMMON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <mpi.h>

#define T_RANKS_MAX 8

typedef enum t_expect { T_EXACT, T_REPRESENTABLE, T_LOSSY } t_expect_t;

typedef struct t_expectation {
    t_expect_t kind;
    double     rel_float, rel_double; /* T_LOSSY; rel_double 0: doubles stay as they are */
} t_expectation_t;

typedef struct t_case {
    const char *name;
    void (*run)(void);
    int min_ranks; /* with fewer the case is passed over, aloud */
} t_case_t;

extern int             t_rank, t_size; /* of MPI_COMM_WORLD                              */
extern uint64_t        t_seed;         /* the same on all ranks                          */
extern t_expectation_t t_expectation;
extern MPI_Comm        t_harness;      /* a duplicate of the world, made by PMPI         */
extern int             t_thread_level; /* for MPI_Init_thread; set before t_main()       */

/* The whole of main(). */
int t_main(int argc, char **argv, const t_case_t *cases, size_t count);

/* What cannot be tried here, and why: a line of its own among the results. */
void t_skip(const char *why);

/* What is being tested right now; printed with a failure. Per thread. */
void t_note(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Where in a long case that is; printed before the note. A case that hangs is timed from here. */
void t_within(const char *format, ...) __attribute__((format(printf, 1, 2)));

void t_fail(const char *file, int line, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Both may be called by any thread. */
#define T_CHECK(condition, ...)                                                                    \
    do {                                                                                           \
        if (!(condition)) {                                                                        \
            t_fail(__FILE__, __LINE__, __VA_ARGS__);                                               \
        }                                                                                          \
    } while (0)

/* An MPI call that must succeed. */
#define T_OK(call)                                                                                 \
    do {                                                                                           \
        const int t_code_ = (call);                                                                \
        T_CHECK(t_code_ == MPI_SUCCESS, "%s is error %d", #call, t_code_);                         \
    } while (0)

uint64_t t_mix(uint64_t x);                      /* a bijection that looks random */
uint64_t t_random(uint64_t *state);              /* the next of a sequence        */
size_t   t_below(uint64_t *state, size_t bound); /* 0 .. bound - 1              */

/* A seed for the next thing to do; begins anew with each case. Ranks that go different ways within
 * a case do not agree any more. */
uint64_t t_next_seed(void);
/* TW_THIN, 1 if it is not set; is a thing to be done, or thinned out? One in TW_THIN is left, drawn
 * from its seed. */
int  t_thin(void);
bool t_chosen(uint64_t seed);

void *t_malloc(size_t bytes); /* or the program ends; never NULL */

#endif /* TW_TESTS_INTERPOSE_COMMON_H */
