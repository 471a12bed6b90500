/* SPDX-License-Identifier: BSD-3-Clause
 * tests/interpose/common.c - the main program, cases, checks, random numbers.
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

#include "tests/interpose/common.h"

#define T_FAILURES_SHOWN 4 /* per case and rank */

int             t_thread_level = MPI_THREAD_SINGLE;
int             t_rank, t_size;
uint64_t        t_seed;
t_expectation_t t_expectation;
MPI_Comm        t_harness;

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

static unsigned limit_of_case(void)
{
    const char *limit = getenv("TW_CASE_LIMIT");

    return limit != NULL ? (unsigned)atoi(limit) : 60;
}

void t_within(const char *format, ...)
{
    va_list args;

    va_start(args, format);
    vsnprintf(current_place, sizeof(current_place), format, args);
    va_end(args);
    alarm(limit_of_case());
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

int t_thin(void)
{
    const char *text = getenv("TW_THIN");
    const int   thin = text != NULL ? atoi(text) : 1;

    return thin > 1 ? thin : 1;
}

bool t_chosen(uint64_t seed)
{
    return t_mix(seed) % (uint64_t)t_thin() == 0;
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
    char line[600];
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

static bool expectation_parse(const char *text)
{
    if (strcmp(text, "exact") == 0) {
        t_expectation.kind = T_EXACT;
        return true;
    }
    if (strcmp(text, "representable") == 0) {
        t_expectation.kind = T_REPRESENTABLE;
        return true;
    }
    t_expectation.kind = T_LOSSY;
    return sscanf(text, "lossy:%lf:%lf", &t_expectation.rel_float, &t_expectation.rel_double) >= 1;
}

/* Was the library loaded that this run is about? */
static bool preloaded(void)
{
    const char *name = getenv("TW_PRELOADED");
    FILE       *maps;
    char        line[4096];
    bool        found = false;

    if (name == NULL || *name == '\0') {
        return true;
    }
    maps = fopen("/proc/self/maps", "r");
    while (maps != NULL && !found && fgets(line, sizeof(line), maps) != NULL) {
        found = strstr(line, name) != NULL;
    }
    if (maps != NULL) {
        fclose(maps);
    }
    return found;
}

void t_skip(const char *why)
{
    if (t_rank == 0) {
        printf("# SKIP %s: %s\n", current_case, why);
    }
}

static int run_case(const t_case_t *test)
{
    const double start = PMPI_Wtime();
    int          failures, own;

    current_case = test->name;
    current_seed = t_seed;
    atomic_store(&current_failures, 0);
    t_note("%s", "");
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
    own = atomic_load(&current_failures);
    PMPI_Allreduce(&own, &failures, 1, MPI_INT, MPI_SUM, t_harness);
    if (t_rank == 0) {
        printf("%s: %s (%d failed checks, %.2f s)\n", test->name, failures == 0 ? "ok" : "FAILED",
               failures, PMPI_Wtime() - start);
        fflush(stdout);
    }
    return failures;
}

static void start(int *argc, char ***argv)
{
    const int wanted = *argc == 3 ? atoi((*argv)[2]) : 0;
    int       level  = MPI_THREAD_SINGLE;

    if (t_thread_level == MPI_THREAD_SINGLE) {
        MPI_Init(argc, argv);
    } else {
        MPI_Init_thread(argc, argv, t_thread_level, &level);
    }
    MPI_Comm_rank(MPI_COMM_WORLD, &t_rank);
    MPI_Comm_size(MPI_COMM_WORLD, &t_size);
    if (*argc != 3 || t_size != wanted || t_size > T_RANKS_MAX || !expectation_parse((*argv)[1])) {
        printf("%d ranks; usage: EXPECTATION RANKS (at most %d)\n", t_size, T_RANKS_MAX);
        fflush(stdout);
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
    if (!preloaded()) {
        printf("rank %d: %s is not loaded\n", t_rank, getenv("TW_PRELOADED"));
        fflush(stdout);
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
    if (level < t_thread_level) { /* 77: skipped, the last line says why */
        printf("this MPI library gives thread level %d, not %d\n", level, t_thread_level);
        MPI_Finalize();
        exit(77);
    }
}

int t_main(int argc, char **argv, const t_case_t *cases, size_t count)
{
    const char *only     = getenv("TW_CASE");
    int         failures = 0, ran = 0;

    start(&argc, &argv);
    PMPI_Comm_dup(MPI_COMM_WORLD, &t_harness);
    signal(SIGALRM, on_alarm);
    draw_seed();
    for (size_t i = 0; i < count; i++) {
        if (only == NULL || strstr(cases[i].name, only) != NULL) {
            failures += run_case(&cases[i]);
            ran++;
        }
    }
    if (ran == 0) {
        printf("no case is called '%s'\n", only);
        failures = 1;
    }
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
