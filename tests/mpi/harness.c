/* SPDX-License-Identifier: BSD-3-Clause
 * tests/mpi/harness.c - cases, checks, comparisons, and the main program.
 */
#include "config.h"

#include <inttypes.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/lsan_interface.h>
#endif

#include "tests/mpi/harness.h"

#define T_FAILURES_SHOWN 4 /* per case and rank */

int           t_thread_level = MPI_THREAD_SINGLE;
int           t_rank, t_size;
uint64_t      t_seed;
tw_context_t *t_ctx;
tw_comm_t    *t_world;

static const char *current_case = "set-up";
static int         current_failures;
static char        current_note[256];

void t_codecs_release(void); /* data.c */

void t_note(const char *format, ...)
{
    va_list args;

    va_start(args, format);
    vsnprintf(current_note, sizeof(current_note), format, args);
    va_end(args);
}

void t_fail(const char *file, int line, const char *format, ...)
{
    char    text[512];
    va_list args;

    current_failures++;
    if (current_failures > T_FAILURES_SHOWN) {
        return;
    }
    va_start(args, format);
    vsnprintf(text, sizeof(text), format, args);
    va_end(args);
    printf("rank %d of %d: %s:%d: %s (THINWIRE_SEED=%" PRIu64 "): %s%s%s\n", t_rank, t_size, file,
           line, current_case, t_seed, current_note, current_note[0] != '\0' ? ": " : "", text);
    fflush(stdout);
}

void t_status(const char *file, int line, const char *call, tw_status_t got, tw_status_t want)
{
    if (got != want) {
        t_fail(file, line, "%.200s is %s, not %s", call, tw_status_name(got), tw_status_name(want));
    }
}

/* ---- comparing ------------------------------------------------------------------------------ */

static double element(tw_dtype_t dtype, const void *data, size_t i)
{
    double d;
    float  f;

    if (dtype == TW_F64) {
        memcpy(&d, (const char *)data + i * sizeof(d), sizeof(d));
        return d;
    }
    memcpy(&f, (const char *)data + i * sizeof(f), sizeof(f));
    return (double)f;
}

static void compare(const char *file, int line, tw_dtype_t dtype, const void *got, const void *want,
                    size_t n, int any_nan)
{
    const size_t bytes     = tw_dtype_size(dtype);
    size_t       different = 0, first = 0;

    if (n == 0 || memcmp(got, want, n * bytes) == 0) {
        return;
    }
    for (size_t i = n; i-- > 0;) {
        const double g = element(dtype, got, i), w = element(dtype, want, i);

        if (memcmp((const char *)got + i * bytes, (const char *)want + i * bytes, bytes) != 0 &&
            !(any_nan && g != g && w != w)) {
            different++;
            first = i;
        }
    }
    if (different != 0) {
        t_fail(file, line, "%zu of %zu elements differ, first [%zu]: %a (%.9g), not %a (%.9g)",
               different, n, first, element(dtype, got, first), element(dtype, got, first),
               element(dtype, want, first), element(dtype, want, first));
    }
}

void t_same(const char *file, int line, tw_dtype_t dtype, const void *got, const void *want,
            size_t n)
{
    compare(file, line, dtype, got, want, n, 0);
}

void t_same_or_nan(const char *file, int line, tw_dtype_t dtype, const void *got, const void *want,
                   size_t n)
{
    compare(file, line, dtype, got, want, n, 1);
}

void t_same_everywhere(const char *file, int line, MPI_Comm comm, const void *data, size_t bytes)
{
    uint64_t hash = bytes, root;

    for (size_t i = 0; i < bytes; i++) {
        hash = (hash ^ ((const unsigned char *)data)[i]) * UINT64_C(0x100000001b3);
        hash ^= hash >> 29;
    }
    root = hash;
    MPI_Bcast(&root, 1, MPI_UINT64_T, 0, comm);
    if (root != hash) {
        t_fail(file, line, "this rank holds other bits than rank 0");
    }
}

/* ---- the main program ----------------------------------------------------------------------- */

/* A hang is reported where it is: the case and the note of the rank whose clock runs out first. */
static void on_alarm(int number)
{
    char line[400];
    int  n;

    (void)number;
    n = snprintf(line, sizeof(line), "rank %d: hangs in %s (THINWIRE_SEED=%" PRIu64 "): %s\n",
                 t_rank, current_case, t_seed, current_note);
    if (write(STDOUT_FILENO, line, (size_t)n) < 0) {
        _exit(99);
    }
    _exit(98);
}

static void draw_seed(void)
{
    const char *text = getenv("THINWIRE_SEED");

    t_seed = text != NULL ? strtoull(text, NULL, 10) : 0;
    if (t_seed == 0) {
        t_seed = t_mix((uint64_t)time(NULL) * 1000003u + (uint64_t)getpid()) % 2147483647u + 1;
    }
    MPI_Bcast(&t_seed, 1, MPI_UINT64_T, 0, MPI_COMM_WORLD);
}

static int run_case(const t_case_t *test)
{
    const char  *limit = getenv("TW_CASE_LIMIT");
    const double start = MPI_Wtime();
    int          failures;

    current_case     = test->name;
    current_failures = 0;
    current_note[0]  = '\0';
    if (t_size < test->min_ranks) {
        if (t_rank == 0) {
            printf("%s: not run, needs %d ranks\n", test->name, test->min_ranks);
        }
        return 0;
    }
    alarm(limit != NULL ? (unsigned)atoi(limit) : 200);
    test->run();
    alarm(0);
    MPI_Allreduce(&current_failures, &failures, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    if (t_rank == 0) {
        printf("%s: %s (%d failed checks, %.2f s)\n", test->name, failures == 0 ? "ok" : "FAILED",
               failures, MPI_Wtime() - start);
        fflush(stdout);
    }
    return failures;
}

static int run_all(const t_case_t *cases, size_t count)
{
    const char *only     = getenv("TW_CASE");
    int         failures = 0, ran = 0, left;

    for (size_t i = 0; i < count; i++) {
        if (only == NULL || strstr(cases[i].name, only) != NULL) {
            failures += run_case(&cases[i]);
            ran++;
        }
    }
    current_case     = "end";
    current_failures = 0;
    T_CHECK(ran > 0, "no case is called '%s'", only);
    T_OK(tw_comm_destroy(t_world));
    t_codecs_release();
    tw_context_destroy(t_ctx);
    MPI_Allreduce(&current_failures, &left, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    return failures + left;
}

int t_main(int argc, char **argv, const t_case_t *cases, size_t count)
{
    const int   wanted   = argc > 1 ? atoi(argv[argc - 1]) : 0;
    const char *progress = getenv("THINWIRE_PROGRESS");
    int         failures, level;

    if (progress != NULL && strcmp(progress, "thread") == 0) {
        t_thread_level = MPI_THREAD_MULTIPLE;
    }
    MPI_Init_thread(&argc, &argv, t_thread_level, &level);
    MPI_Comm_rank(MPI_COMM_WORLD, &t_rank);
    MPI_Comm_size(MPI_COMM_WORLD, &t_size);
    if (t_size != wanted || t_size > T_RANKS_MAX) {
        printf("%d ranks, but the last argument says %d (at most %d)\n", t_size, wanted,
               T_RANKS_MAX);
        fflush(stdout);
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
    if (level < t_thread_level) { /* 77: skipped, the last line says why */
        printf("this MPI library gives thread level %d, not %d\n", level, t_thread_level);
        MPI_Finalize();
        return 77;
    }
    signal(SIGALRM, on_alarm);
    draw_seed();
    t_ctx    = t_context();
    t_world  = t_comm(t_ctx, MPI_COMM_WORLD);
    failures = run_all(cases, count);
    if (t_rank == 0) {
        printf("THINWIRE_SEED=%" PRIu64 ": %d failed checks\n", t_seed, failures);
        fflush(stdout);
    }
#if defined(__SANITIZE_ADDRESS__)
    __lsan_do_leak_check(); /* at exit the MPI library's components are unloaded, and so unnamed */
#endif
    MPI_Finalize();
    return failures == 0 ? 0 : 1;
}
