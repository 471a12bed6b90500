/* SPDX-License-Identifier: BSD-3-Clause
 * tests/mpi/harness.h - what programs that call the library add to tests/cases.h: a context and a
 * communicator, random vectors, guarded buffers, comparisons.
 */
#ifndef TW_TESTS_MPI_HARNESS_H
#define TW_TESTS_MPI_HARNESS_H

#include <thinwire/thinwire.h>

#include "tests/cases.h"

#define T_RANKS_MAX 16

extern tw_context_t *t_ctx;   /* of the default settings         */
extern tw_comm_t    *t_world; /* over MPI_COMM_WORLD, with t_ctx */

/* Counters. */
void     t_expect(const char *what, uint64_t got, uint64_t want);
uint64_t t_over_all(uint64_t mine); /* the sum over the ranks */

void t_status(const char *file, int line, const char *call, tw_status_t got, tw_status_t want);

#define T_STATUS(call, want) t_status(__FILE__, __LINE__, #call, (call), (want))
#define T_OK(call)           T_STATUS(call, TW_OK)

/* Elements first .. first + n - 1 of the vector that (dtype, seed) names: both signs, many
 * magnitudes, some zeros of either sign. out is aligned. */
void t_fill(tw_dtype_t dtype, uint64_t seed, size_t first, size_t n, void *out);

/* ---- buffers -------------------------------------------------------------------------------- */

/* bytes between guard words, at an address that is misalign (0..63) above a multiple of 64;
 * filled with junk. Never NULL. */
void *t_alloc(size_t bytes, size_t misalign);

/* Checks the guard words; NULL is allowed. */
void t_free(void *data);

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

/* Its block; 1 without one. */
size_t t_block(const char *spec, tw_dtype_t dtype);

/* What an allreduce of this many elements takes. Static. */
const char *t_algorithm(tw_comm_t *comm, const tw_how_t *how, size_t count);

/* Every codec there is, defaults and options, for an element type; NULL ends the list. */
extern const char *const t_specs_f32[];
extern const char *const t_specs_f64[];
const char *const       *t_specs(tw_dtype_t dtype);
/* The codec that leaves an element as it is. */
const char *t_spec_as_is(tw_dtype_t dtype);

/* Are there 2 bytes of an element, whose sums are float32? And its value, as a double. */
int    t_is_half(tw_dtype_t dtype);
double t_value(tw_dtype_t dtype, const void *data, size_t i);

/* Lines of a log; t_log_take goes to tw_context_set_log(ctx, t_log_take, &log). */
typedef struct t_log {
    int  lines;
    char text[4000];
} t_log_t;

void t_log_take(void *arg, tw_log_level_t level, int rank, const char *line);
/* Does the log of any rank of comm hold the text? Collective; the same answer everywhere. */
int t_log_holds(MPI_Comm comm, const t_log_t *log, const char *text);

/* A context whose lines *log takes, empty at first; and a communicator over all ranks under these
 * settings, with such a context of its own. */
tw_context_t *t_context_logged(t_log_t *log);
tw_comm_t    *t_comm_logged(const char *const *settings, t_log_t *log, tw_context_t **ctx_p);

/* Collective: some rank said that it waits for the last one. */
void t_last_is_named(const t_log_t *log);

#endif /* TW_TESTS_MPI_HARNESS_H */
