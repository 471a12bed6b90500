/* SPDX-License-Identifier: BSD-3-Clause
 * tests/mpi/harness.h - what the MPI tests share: cases, checks, random data, guarded buffers.
 *
 * A program is a list of cases, all of which run in one launch. A failed check is printed (rank,
 * file, line, case, seed, what was going on) and counted, and the case goes on, so that the ranks
 * stay in step; after each case the ranks add up their failures, and a failure on any rank makes
 * every rank exit with 1. Input is a function of seed, rank and position: every rank can compute
 * every other's.
 *
 * Environment: THINWIRE_SEED (0 or unset draws one), TW_CASE (run only the cases whose name
 * contains it), TW_CASE_LIMIT (seconds after which a case counts as hanging).
 */
#ifndef TW_TESTS_MPI_HARNESS_H
#define TW_TESTS_MPI_HARNESS_H

#include <stddef.h>
#include <stdint.h>

#include <mpi.h>

#include <thinwire/thinwire.h>

#define T_RANKS_MAX 16

typedef struct t_case {
    const char *name;
    void (*run)(void);
    int min_ranks; /* with fewer the case is passed over, aloud */
} t_case_t;

extern int           t_rank, t_size; /* of MPI_COMM_WORLD                              */
extern uint64_t      t_seed;         /* the same on all ranks                          */
extern tw_context_t *t_ctx;          /* of the default settings                        */
extern tw_comm_t    *t_world;        /* over MPI_COMM_WORLD, with t_ctx                */

extern int t_thread_level; /* for MPI_Init_thread; set before t_main() (MPI_THREAD_SINGLE) */

/* The whole of main(): the last argument is the number of ranks expected. */
int t_main(int argc, char **argv, const t_case_t *cases, size_t count);

/* What is being tested right now; printed with a failure. */
void t_note(const char *format, ...) __attribute__((format(printf, 1, 2)));

void t_fail(const char *file, int line, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

#define T_CHECK(condition, ...)                                                                    \
    do {                                                                                           \
        if (!(condition)) {                                                                        \
            t_fail(__FILE__, __LINE__, __VA_ARGS__);                                               \
        }                                                                                          \
    } while (0)

void t_status(const char *file, int line, const char *call, tw_status_t got, tw_status_t want);

#define T_STATUS(call, want) t_status(__FILE__, __LINE__, #call, (call), (want))
#define T_OK(call)           T_STATUS(call, TW_OK)

/* ---- random numbers ------------------------------------------------------------------------- */

uint64_t t_mix(uint64_t x);                    /* a bijection that looks random                  */
uint64_t t_random(uint64_t *state);            /* the next of a sequence                         */
size_t t_below(uint64_t *state, size_t bound); /* 0 .. bound - 1                                 */

/* Elements first .. first + n - 1 of the vector that (dtype, seed) names: both signs, many
 * magnitudes, some zeros of either sign. out is aligned. */
void t_fill(tw_dtype_t dtype, uint64_t seed, size_t first, size_t n, void *out);

/* ---- buffers -------------------------------------------------------------------------------- */

/* bytes between guard words, at an address that is misalign (0..63) above a multiple of 64;
 * filled with junk. Never NULL. */
void *t_alloc(size_t bytes, size_t misalign);

/* Checks the guard words; NULL is allowed. */
void t_free(void *data);

/* Aligned memory without guards, or the program ends. */
void *t_malloc(size_t bytes);

/* ---- comparing ------------------------------------------------------------------------------ */

/* Bit for bit; on failure prints the first element that differs. */
void t_same(const char *file, int line, tw_dtype_t dtype, const void *got, const void *want,
            size_t n);
/* The same, but any NaN equals any NaN. */
void t_same_or_nan(const char *file, int line, tw_dtype_t dtype, const void *got, const void *want,
                   size_t n);
/* Do all ranks of comm hold the same bytes? Collective. */
void t_same_everywhere(const char *file, int line, MPI_Comm comm, const void *data, size_t bytes);

#define T_SAME(dtype, got, want, n)        t_same(__FILE__, __LINE__, dtype, got, want, n)
#define T_SAME_OR_NAN(dtype, got, want, n) t_same_or_nan(__FILE__, __LINE__, dtype, got, want, n)
#define T_SAME_EVERYWHERE(comm, data, bytes)                                                       \
    t_same_everywhere(__FILE__, __LINE__, comm, data, bytes)

/* ---- contexts, communicators, codecs -------------------------------------------------------- */

/* Put THINWIRE_NAME=value into the environment for each "NAME=value", and take them out again. NULL
 * ends the list; a NULL list is empty. */
void t_settings_put(const char *const *settings);
void t_settings_take_out(const char *const *settings);

/* A context and a communicator that must come into being, or the job ends. */
tw_context_t *t_context(void);
tw_comm_t    *t_comm(tw_context_t *ctx, MPI_Comm parent);

/* A communicator over parent, with a context of its own, both made under these settings. */
tw_comm_t *t_comm_under(const char *const *settings, MPI_Comm parent, tw_context_t **ctx_p);
void       t_comm_done(tw_comm_t *comm, tw_context_t *ctx);

/* A codec by its spec; made once, released at the end. NULL for "" (as in tw_how_t: fp32). */
const tw_codec_t *t_codec(const char *spec, tw_dtype_t dtype);

/* Every codec there is, defaults and options, for float32 (and for double); NULL ends the list. */
extern const char *const t_specs_f32[];
extern const char *const t_specs_f64[];

/* Lines of a log; t_log_take goes to tw_context_set_log(ctx, t_log_take, &log). */
typedef struct t_log {
    int  lines;
    char text[4000];
} t_log_t;

void t_log_take(void *arg, tw_log_level_t level, int rank, const char *line);
/* Does the log of any rank of comm hold the text? Collective; the same answer everywhere. */
int t_log_holds(MPI_Comm comm, const t_log_t *log, const char *text);

/* A communicator over all ranks under these settings, in a context of its own whose lines *log
 * takes. */
tw_comm_t *t_comm_logged(const char *const *settings, t_log_t *log, tw_context_t **ctx_p);

/* Collective: some rank said that it waits for the last one. */
void t_last_is_named(const t_log_t *log);

#endif /* TW_TESTS_MPI_HARNESS_H */
