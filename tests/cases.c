/* SPDX-License-Identifier: BSD-3-Clause
 * tests/cases.c - the main program, cases, checks, random numbers.
 */
#include "config.h"

#include <inttypes.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/lsan_interface.h>
#endif

#include "tests/cases.h"

#define T_FAILURES_SHOWN 4 /* per case and rank */

int      t_thread_level = MPI_THREAD_SINGLE;
int      t_rank, t_size;
uint64_t t_seed;
MPI_Comm t_harness;

const char *const t_op_names[T_OPS] = {"bcast",    "allgather",      "allgatherv",
                                       "alltoall", "alltoallv",      "allreduce",
                                       "reduce",   "reduce_scatter", "reduce_scatter_block"};

static const char        *current_case = "set-up";
static uint64_t           current_seed;
static atomic_int         current_failures;
static _Thread_local char current_note[400];
static char *_Atomic      hanging_note; /* the latest, of any thread */
static char               current_place[100];

void t_note(const char *format, ...)
{
    va_list args;

    va_start(args, format);
    vsnprintf(current_note, sizeof(current_note), format, args);
    va_end(args);
    hanging_note = current_note;
}

void t_within(const char *format, ...)
{
    const char *limit = getenv("TW_CASE_LIMIT");
    va_list     args;

    va_start(args, format);
    vsnprintf(current_place, sizeof(current_place), format, args);
    va_end(args);
    alarm(limit != NULL ? (unsigned)atoi(limit) : 200);
}

void t_fail(const char *file, int line, const char *format, ...)
{
    char    text[512];
    va_list args;

    if (atomic_fetch_add(&current_failures, 1) >= T_FAILURES_SHOWN) {
        return;
    }
    va_start(args, format);
    vsnprintf(text, sizeof(text), format, args);
    va_end(args);
    printf("rank %d of %d: %s:%d: %s (THINWIRE_SEED=%" PRIu64 ")%s%s: %s%s%s\n", t_rank, t_size,
           file, line, current_case, t_seed, current_place[0] != '\0' ? ", " : "", current_place,
           current_note, current_note[0] != '\0' ? ": " : "", text);
    fflush(stdout);
}

void t_skip(const char *why)
{
    if (t_rank == 0) {
        printf("# SKIP %s: %s\n", current_case, why);
    }
}

/* ---- random numbers, memory ------------------------------------------------------------------ */

uint64_t t_mix(uint64_t x)
{
    x += UINT64_C(0x9e3779b97f4a7c15);
    x = (x ^ (x >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    x = (x ^ (x >> 27)) * UINT64_C(0x94d049bb133111eb);
    return x ^ (x >> 31);
}

uint64_t t_random(uint64_t *state)
{
    *state += UINT64_C(0xd1342543de82ef95);
    return t_mix(*state);
}

size_t t_below(uint64_t *state, size_t bound)
{
    return (size_t)(t_random(state) % bound);
}

uint64_t t_next_seed(void)
{
    return t_random(&current_seed);
}

void *t_malloc(size_t bytes)
{
    void *data = malloc(bytes != 0 ? bytes : 1);

    if (data == NULL) {
        fprintf(stderr, "rank %d: the test has no memory for %zu bytes\n", t_rank, bytes);
        MPI_Abort(MPI_COMM_WORLD, 1);
        exit(1);
    }
    return data;
}

/* ---- the main program ----------------------------------------------------------------------- */

/* A hang is reported where it is: the case and the note of the rank whose clock runs out first. */
static void on_alarm(int number)
{
    char line[700];
    int  n;

    (void)number;
    n = snprintf(line, sizeof(line), "rank %d: hangs in %s (THINWIRE_SEED=%" PRIu64 ") %s: %s\n",
                 t_rank, current_case, t_seed, current_place,
                 hanging_note != NULL ? hanging_note : "");
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
    PMPI_Bcast(&t_seed, 1, MPI_UINT64_T, 0, t_harness);
}

/* How many checks have failed on all ranks since the case began. */
static int failures_of_case(void)
{
    int own = atomic_load(&current_failures), all = 0;

    PMPI_Allreduce(&own, &all, 1, MPI_INT, MPI_SUM, t_harness);
    return all;
}

static void begin_case(const char *name)
{
    current_case = name;
    current_seed = t_seed;
    atomic_store(&current_failures, 0);
    t_note("%s", "");
}

static int run_case(const t_case_t *test)
{
    const double start = PMPI_Wtime();
    int          failures;

    begin_case(test->name);
    if (t_size < test->min_ranks) {
        if (t_rank == 0) {
            printf("%s: not run, needs %d ranks\n", test->name, test->min_ranks);
        }
        return 0;
    }
    t_within("%s", "");
    test->run();
    PMPI_Barrier(t_harness);
    alarm(0);
    failures = failures_of_case();
    if (t_rank == 0) {
        printf("%s: %s (%d failed checks, %.2f s)\n", test->name, failures == 0 ? "ok" : "FAILED",
               failures, PMPI_Wtime() - start);
        fflush(stdout);
    }
    return failures;
}

static int run_all(const t_rig_t *rig, const t_case_t *cases, size_t count)
{
    const char *only     = getenv("TW_CASE");
    int         failures = 0, ran = 0;

    for (size_t i = 0; i < count; i++) {
        if (only == NULL || strstr(cases[i].name, only) != NULL) {
            failures += run_case(&cases[i]);
            ran++;
        }
    }
    begin_case("end");
    T_CHECK(ran > 0, "no case is called '%s'", only);
    if (rig->tear_down != NULL) {
        rig->tear_down();
    }
    return failures + failures_of_case();
}

static void give_up(const char *why)
{
    printf("rank %d of %d: %s\n", t_rank, t_size, why);
    fflush(stdout);
    MPI_Abort(MPI_COMM_WORLD, 1);
    exit(1);
}

static void start(int argc, char **argv, const t_rig_t *rig)
{
    const int   wanted = argc > 1 ? atoi(argv[argc - 1]) : 0;
    int         level  = MPI_THREAD_SINGLE;
    const char *why;

    if (t_thread_level == MPI_THREAD_SINGLE) {
        MPI_Init(&argc, &argv);
    } else {
        MPI_Init_thread(&argc, &argv, t_thread_level, &level);
    }
    MPI_Comm_rank(MPI_COMM_WORLD, &t_rank);
    MPI_Comm_size(MPI_COMM_WORLD, &t_size);
    if (t_size != wanted || t_size > rig->most_ranks) {
        give_up("the last argument says otherwise, or these are too many");
    }
    if (level < t_thread_level) { /* 77: skipped, the last line says why */
        printf("this MPI library gives thread level %d, not %d\n", level, t_thread_level);
        MPI_Finalize();
        exit(77);
    }
    PMPI_Comm_dup(MPI_COMM_WORLD, &t_harness);
    signal(SIGALRM, on_alarm);
    draw_seed();
    why = rig->set_up(argc, argv);
    if (why != NULL) {
        give_up(why);
    }
}

int t_run(int argc, char **argv, const t_rig_t *rig, const t_case_t *cases, size_t count)
{
    int failures;

    start(argc, argv, rig);
    failures = run_all(rig, cases, count);
    if (t_rank == 0) {
        printf("THINWIRE_SEED=%" PRIu64 ": %d failed checks\n", t_seed, failures);
        fflush(stdout);
    }
    PMPI_Comm_free(&t_harness);
#if defined(__SANITIZE_ADDRESS__)
    __lsan_do_leak_check(); /* at exit the MPI library's components are unloaded, and so unnamed */
#endif
    MPI_Finalize();
    return failures == 0 ? 0 : 1;
}
