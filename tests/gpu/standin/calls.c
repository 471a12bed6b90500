/* SPDX-License-Identifier: BSD-3-Clause
 * tests/gpu/standin/calls.c - calls are counted and made to fail; findings; objects that are left.
 */
#include "config.h"

#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/gpu/standin/core.h"

#define CALLS 128 /* functions */
#define KINDS 32
#define FAILS 99 /* the exit status */

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

int                standin_devices, standin_major;
size_t             standin_memory;
size_t             standin_used[STANDIN_DEVICES];
int                standin_broken[STANDIN_DEVICES];
bool               standin_started[STANDIN_DEVICES];
bool               standin_peers_possible;
bool               standin_peers[STANDIN_DEVICES][STANDIN_DEVICES];
_Thread_local int  standin_current;
_Thread_local bool standin_bound;
_Thread_local bool standin_in_host_function;
static const char *current_call = "";
static uint64_t    seed         = 1;
static char        last_finding[256];
static int         findings;
static bool        leaks_are_meant, started;

static struct {
    const char   *call;
    unsigned long count;
} calls[CALLS];

static struct {
    const char *kind;
    int         count;
} kinds[KINDS];

static struct {
    char           call[64];
    int            n, error, late;
    standin_mode_t mode;
} failing;

/* ---- at the start, and at the end ----------------------------------------------------------- */

static unsigned long long number_of(const char *name, unsigned long long otherwise)
{
    const char *text = getenv(name);

    return text != NULL && *text != '\0' ? strtoull(text, NULL, 10) : otherwise;
}

static void fail_by_environment(const char *text)
{
    char call[64], mode[16] = "";
    int  n, error;

    if (sscanf(text, "%63[^:]:%d:%d:%15s", call, &n, &error, mode) < 3) {
        fprintf(stderr, "standin: STANDIN_FAIL is '%s', not CALL:N:ERROR[:sticky|:late]\n", text);
        _exit(2);
    }
    standin_fail(call, n, error,
                 strcmp(mode, "sticky") == 0 ? STANDIN_STICKY
                 : strcmp(mode, "late") == 0 ? STANDIN_LATE
                                             : STANDIN_ONCE);
}

static void start(void)
{
    const char *fail = getenv("STANDIN_FAIL");

    started                = true;
    standin_devices        = (int)number_of("STANDIN_DEVICES", 1);
    standin_devices        = standin_devices < STANDIN_DEVICES ? standin_devices : STANDIN_DEVICES;
    standin_memory         = (size_t)number_of("STANDIN_MEMORY", 1 << 30);
    standin_major          = (int)number_of("STANDIN_MAJOR", 8);
    seed                   = number_of("STANDIN_SEED", seed);
    leaks_are_meant        = number_of("STANDIN_LEAKS", 0) != 0;
    standin_peers_possible = number_of("STANDIN_PEERS", 1) != 0;
    if (fail != NULL && *fail != '\0') {
        fail_by_environment(fail);
    }
}

/* What a broken device holds cannot be released. */
static bool anything_broken(void)
{
    for (int d = 0; d < STANDIN_DEVICES; d++) {
        if (standin_broken[d] != 0) {
            return true;
        }
    }
    return false;
}

__attribute__((destructor)) static void end(void)
{
    const bool count = !leaks_are_meant && !anything_broken();
    int        left  = 0;

    for (int k = 0; k < KINDS && kinds[k].kind != NULL && count; k++) {
        if (kinds[k].count != 0) {
            fprintf(stderr, "standin: left at the end: %d %s\n", kinds[k].count, kinds[k].kind);
            left += kinds[k].count;
        }
    }
    if (findings > 0 || left != 0) {
        fflush(NULL);
        _exit(FAILS);
    }
}

/* ---- calls ---------------------------------------------------------------------------------- */

static unsigned long count_call(const char *call)
{
    for (int i = 0; i < CALLS; i++) {
        if (calls[i].call == NULL || strcmp(calls[i].call, call) == 0) {
            calls[i].call = call;
            return ++calls[i].count;
        }
    }
    fprintf(stderr, "standin: more than %d functions\n", CALLS);
    abort();
}

int standin_enter(const char *call, int broken)
{
    int error = 0;

    pthread_mutex_lock(&lock);
    if (!started) {
        start();
    }
    current_call = call;
    count_call(call);
    failing.late = 0;
    if (standin_in_host_function) {
        standin_found("called by a host function of a stream");
        return cudaErrorNotPermitted;
    }
    if (broken != 0 && standin_broken[standin_current] != 0) {
        return broken == -1 ? standin_broken[standin_current] : broken;
    }
    if (failing.n > 0 && (strcmp(failing.call, "*") == 0 || strcmp(failing.call, call) == 0) &&
        --failing.n == 0) {
        if (failing.mode == STANDIN_LATE) {
            failing.late = failing.error;
        } else {
            error = failing.error;
        }
        if (failing.mode == STANDIN_STICKY) {
            standin_break(standin_current, error);
        }
    }
    return error;
}

int standin_leave(int error)
{
    failing.late = 0;
    pthread_mutex_unlock(&lock);
    return error;
}

int standin_late(void)
{
    const int error = failing.late;

    failing.late = 0;
    return error;
}

/* Between the two, for functions of the program. */
void standin_unlock(void)
{
    pthread_mutex_unlock(&lock);
}

void standin_lock(void)
{
    pthread_mutex_lock(&lock);
}

unsigned standin_lot(unsigned below)
{
    seed = seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (unsigned)(seed >> 33) % below;
}

void standin_found(const char *format, ...)
{
    const size_t room = sizeof(last_finding);
    int          at   = snprintf(last_finding, room, "%s: ", current_call);
    va_list      args;

    va_start(args, format);
    vsnprintf(last_finding + at, room - (size_t)at, format, args);
    va_end(args);
    fprintf(stderr, "standin: %s\n", last_finding);
    findings++;
}

/* By the handler of a signal, in any thread. */
void standin_found_by_signal(const char *text)
{
    snprintf(last_finding, sizeof(last_finding), "%s", text);
    findings++;
}

void standin_work_of(const char *call)
{
    current_call = call;
}

const char *standin_call(void)
{
    return current_call;
}

void standin_count(const char *kind, int by)
{
    for (int k = 0; k < KINDS; k++) {
        if (kinds[k].kind == NULL || strcmp(kinds[k].kind, kind) == 0) {
            kinds[k].kind = kind;
            kinds[k].count += by;
            return;
        }
    }
}

void standin_break(int device, int error)
{
    standin_broken[device] = error;
}

/* ---- for tests ------------------------------------------------------------------------------ */

void standin_seed(uint64_t value)
{
    standin_lock();
    if (!started) {
        start();
    }
    seed = value;
    standin_unlock();
}

void standin_machine(int gpus, const char *visible, int driver)
{
    standin_lock();
    if (!started) {
        start();
    }
    gpus            = gpus < STANDIN_DEVICES ? gpus : STANDIN_DEVICES;
    standin_devices = standin_visible(gpus, visible);
    standin_driver  = driver;
    standin_current = 0;
    standin_unlock();
}

void standin_fail(const char *call, int n, int error, standin_mode_t mode)
{
    snprintf(failing.call, sizeof(failing.call), "%s", call != NULL ? call : "");
    failing.n     = call != NULL ? n : 0;
    failing.error = error;
    failing.mode  = mode;
}

unsigned long standin_calls(const char *call)
{
    unsigned long sum = 0;

    for (int i = 0; i < CALLS && calls[i].call != NULL; i++) {
        sum += strcmp(call, "*") == 0 || strcmp(call, calls[i].call) == 0 ? calls[i].count : 0;
    }
    return sum;
}

int standin_findings(void)
{
    const int n = findings;

    findings = 0;
    return n;
}

const char *standin_finding(void)
{
    return last_finding;
}

int standin_objects_of(const char *kind)
{
    int sum = 0;

    for (int k = 0; k < KINDS && kinds[k].kind != NULL; k++) {
        sum += kind == NULL || strcmp(kind, kinds[k].kind) == 0 ? kinds[k].count : 0;
    }
    return sum;
}

int standin_objects(void)
{
    return standin_objects_of(NULL);
}

/* The first is the one without mine(). */
static standin_kernels_t kinds_of_kernels[4];
static int               kernel_kinds = 1;

void standin_kernels_set(const standin_kernels_t *kernels)
{
    if (kernels->mine == NULL) {
        kinds_of_kernels[0] = *kernels;
    } else if (kernel_kinds < (int)(sizeof(kinds_of_kernels) / sizeof(kinds_of_kernels[0]))) {
        kinds_of_kernels[kernel_kinds++] = *kernels;
    }
}

const standin_kernels_t *standin_kernels_of(const void *kernel)
{
    int k = kernel_kinds;

    while (--k > 0 && !kinds_of_kernels[k].mine(kernel)) {
    }
    return kinds_of_kernels[k].run != NULL ? &kinds_of_kernels[k] : NULL;
}
