/* SPDX-License-Identifier: BSD-3-Clause
 * interpose/state.c - what every part of the drop-in uses: its state, words, the way to MPI,
 * buffers.
 */
#include "config.h"

#include <sched.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "interpose/next.h"
#include "interpose/state.h"
#include "runtime/base/clock.h"

tw_state_t tw_state = {.lock    = PTHREAD_MUTEX_INITIALIZER,
                       .context = {.lock = PTHREAD_MUTEX_INITIALIZER}};
bool       tw_active;
bool       tw_bound;
bool       tw_fits;

_Thread_local uintptr_t tw_inside __attribute__((tls_model("initial-exec")));

/* ---- words ----------------------------------------------------------------------------------- */

static void tw_line(const char *format, va_list args)
{
    char line[TW_LOG_LINE_MAX];

    vsnprintf(line, sizeof(line), format, args);
    fprintf(stderr, "thinwire: %s\n", line);
}

void tw_say(const char *format, ...)
{
    va_list args;

    if (tw_state.rank == 0) {
        va_start(args, format);
        tw_line(format, args);
        va_end(args);
    }
}

void tw_complain(const char *format, ...)
{
    va_list args;

    va_start(args, format);
    tw_line(format, args);
    va_end(args);
}

void tw_give_up(MPI_Comm comm, const char *format, ...)
{
    va_list args;

    va_start(args, format);
    tw_line(format, args);
    va_end(args);
    tw_state.aborting = true;
    tw_next.Abort(comm, 1);
    abort();
}

const char *tw_mpi_version(void)
{
    static char version[16384];
    int         length = 0;

    if (tw_next.Get_library_version == NULL ||
        tw_next.Get_library_version(version, &length) != MPI_SUCCESS) {
        snprintf(version, sizeof(version), "an unknown library");
    }
    return version;
}

bool tw_bind(void)
{
    if (!tw_late_bind()) {
        return false;
    }
    pthread_mutex_lock(&tw_state.lock);
    if (!tw_bound) {
        tw_fits = tw_late_fits(tw_mpi_version());
        __atomic_store_n(&tw_bound, true, __ATOMIC_RELEASE);
    }
    pthread_mutex_unlock(&tw_state.lock);
    return true;
}

void tw_no_mpi(void)
{
    fprintf(stderr, "thinwire: an MPI function was called, and there is no MPI library\n");
    _exit(127);
}

int tw_missing(const char *name)
{
    fprintf(stderr, "thinwire: the program calls %s, which no library in the process has\n", name);
    if (!tw_fits || tw_next.Comm_call_errhandler == NULL) {
        _exit(127);
    }
    tw_next.Comm_call_errhandler(MPI_COMM_WORLD, MPI_ERR_OTHER);
    return MPI_ERR_OTHER;
}

/* ---- MPI ------------------------------------------------------------------------------------- */

void tw_errors_return(tw_returning_t *returning)
{
    tw_next.Comm_get_errhandler(MPI_COMM_WORLD, &returning->handler);
    tw_next.Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
}

void tw_errors_restore(tw_returning_t *returning)
{
    tw_next.Comm_set_errhandler(MPI_COMM_WORLD, returning->handler);
    tw_next.Errhandler_free(&returning->handler);
}

int tw_wait_limited(MPI_Request *request, double limit_s)
{
    const uint64_t start = tw_clock_ns();
    int            done  = 0;

    for (;;) {
        if (tw_next.Testall(1, request, &done, MPI_STATUSES_IGNORE) != MPI_SUCCESS) {
            return -1;
        }
        if (done) {
            return 1;
        }
        if ((double)(tw_clock_ns() - start) > limit_s * 1e9) {
            return 0;
        }
        sched_yield();
    }
}

static MPI_Comm        tw_self_quiet;
static bool            tw_self_quiet_made;
static pthread_mutex_t tw_self_quiet_lock = PTHREAD_MUTEX_INITIALIZER;

void tw_state_quiet_free(void)
{
    if (tw_self_quiet_made) {
        tw_self_quiet_made = false;
        tw_next.Comm_free(&tw_self_quiet);
    }
}

MPI_Comm tw_state_quiet(void)
{
    if (!__atomic_load_n(&tw_self_quiet_made, __ATOMIC_ACQUIRE)) {
        pthread_mutex_lock(&tw_self_quiet_lock);
        if (!tw_self_quiet_made) {
            if (tw_next.Comm_split(MPI_COMM_SELF, 0, 0, &tw_self_quiet) != MPI_SUCCESS) {
                tw_give_up(MPI_COMM_WORLD, "MPI makes no more communicators");
            }
            tw_next.Comm_set_errhandler(tw_self_quiet, MPI_ERRORS_RETURN);
            __atomic_store_n(&tw_self_quiet_made, true, __ATOMIC_RELEASE);
        }
        pthread_mutex_unlock(&tw_self_quiet_lock);
    }
    return tw_self_quiet;
}

/* ---- buffers --------------------------------------------------------------------------------- */

void *tw_buffer_get(MPI_Comm comm, size_t bytes)
{
    void *buffer = NULL;

    if (tw_pool_get(&tw_state.pool, bytes, &buffer) != TW_OK) {
        tw_give_up(comm, "no memory for %zu bytes of codes", bytes);
    }
    return buffer;
}

void tw_buffer_put(void *buffer)
{
    tw_pool_put(&tw_state.pool, buffer);
}
