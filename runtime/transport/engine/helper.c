/* SPDX-License-Identifier: BSD-3-Clause
 * transport/engine/helper.c - see helper.h.
 *
 * The thread sleeps on a condition while nothing is outstanding or a call is inside. Else it makes
 * passes, as long as something moves; where nothing does, it naps for longer and longer: ranks and
 * their computing share cores, and a sleeper gets its core back at once when it wakes, a spinner
 * does not.
 */
#include "config.h"

#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "runtime/transport/engine/helper.h"
#include "runtime/transport/engine/request.h"
#include "runtime/transport/link/endpoint.h"

#define TW_PASSES    1       /* without success before a nap: MPI may give the core away in each */
#define TW_NAP_FIRST 10000L  /* nanoseconds; doubled until                           */
#define TW_NAP_MOST  100000L /* while operations are outstanding                     */
#define TW_NAP_IDLE  10000000L /* while only the endpoint is looked after              */
#define TW_NAP_QUIET 1000000L  /* without a call, before the endpoint is looked after  */

#define TW_TURN 100000 /* nanoseconds of the core at a time that the thread asks for */

typedef enum tw_helper_state {
    TW_HELPER_AWAKE,   /* or about to be                                                 */
    TW_HELPER_NAPPING, /* over an endpoint that is not idle; a new operation wakes it    */
    TW_HELPER_AWAY,    /* until the call that is inside ends                             */
    TW_HELPER_ASLEEP   /* nothing to do                                                  */
} tw_helper_state_t;

struct tw_helper {
    tw_comm_t      *comm;
    pthread_t       thread;
    pthread_mutex_t lock; /* recursive */
    pthread_cond_t  wake;
    int             callers; /* inside, or waiting for the lock; atomic                 */
    unsigned        calls;   /* since it was started                                    */
    bool            whole, stop;
    unsigned        seen; /* calls when the thread last looked                           */
    long            nap;  /* the next one, in nanoseconds                                */

    tw_helper_state_t state;
};

/* The lock is held, and given back while the thread naps or sleeps. */
static void tw_helper_nap(tw_helper_t *helper, tw_helper_state_t state, long most)
{
    struct timespec until;

    clock_gettime(CLOCK_MONOTONIC, &until);
    until.tv_nsec += helper->nap;
    if (until.tv_nsec >= 1000000000L) {
        until.tv_sec++;
        until.tv_nsec -= 1000000000L;
    }
    helper->state = state;
    pthread_cond_timedwait(&helper->wake, &helper->lock, &until);
    helper->state = TW_HELPER_AWAKE;
    helper->nap   = 2 * helper->nap < most ? 2 * helper->nap : most;
}

static void tw_helper_sleep(tw_helper_t *helper, tw_helper_state_t state)
{
    helper->state = state;
    pthread_cond_wait(&helper->wake, &helper->lock);
    helper->state = TW_HELPER_AWAKE;
    helper->nap   = TW_NAP_FIRST;
}

/* Operations are outstanding: advance them, or leave it to the call that is inside. */
static void tw_helper_advance(tw_helper_t *helper)
{
    tw_comm_t *comm  = helper->comm;
    bool       moved = false;

    for (int pass = 0; pass < TW_PASSES && !moved; pass++) {
        if (__atomic_load_n(&helper->callers, __ATOMIC_RELAXED) > 0) {
            tw_helper_sleep(helper, TW_HELPER_AWAY);
            return;
        }
        comm->by_helper = true;
        tw_comm_progress(comm, &moved);
        comm->by_helper = false;
    }
    if (moved) {
        helper->nap = TW_NAP_FIRST;
        return;
    }
    tw_helper_nap(helper, TW_HELPER_AWAKE, TW_NAP_MOST);
}

/* Nothing is outstanding, but the endpoint may have something left to do; as long as there are
 * calls, they do it. */
static void tw_helper_look_after(tw_helper_t *helper)
{
    tw_comm_t *comm = helper->comm;

    if (helper->seen != helper->calls) {
        helper->seen = helper->calls;
        helper->nap  = TW_NAP_QUIET;
    } else if (comm->endpoint->idle(comm)) {
        tw_helper_sleep(helper, TW_HELPER_ASLEEP);
        return;
    } else {
        comm->endpoint->progress(comm);
    }
    tw_helper_nap(helper, TW_HELPER_NAPPING, TW_NAP_IDLE);
}

/* Ask for short turns: of two threads that share a core, Linux (6.12 and later) lets the one with
 * shorter turns have it as soon as it wakes, not when the other's turn of milliseconds is over, by
 * which time the link would stand still. Elsewhere nothing changes. */
static void tw_helper_turns(void)
{
#if defined(SYS_sched_getattr) && defined(SYS_sched_setattr)
    struct { /* sched_setattr(2); the C library has no name for it */
        uint32_t size, policy;
        uint64_t flags;
        int32_t  nice;
        uint32_t priority;
        uint64_t runtime, deadline, period;
    } how = {0};

    if (syscall(SYS_sched_getattr, 0, &how, sizeof(how), 0) == 0 && how.policy == SCHED_OTHER) {
        how.size    = sizeof(how);
        how.runtime = TW_TURN;
        (void)syscall(SYS_sched_setattr, 0, &how, 0);
    }
#endif
}

static void *tw_helper_main(void *arg)
{
    tw_helper_t *helper = arg;
    tw_comm_t   *comm   = helper->comm;

    tw_helper_turns();

    pthread_mutex_lock(&helper->lock);
    while (!helper->stop) {
        if (comm->status != TW_OK) {
            tw_helper_sleep(helper, TW_HELPER_ASLEEP);
        } else if (helper->whole && comm->running != NULL) {
            tw_helper_advance(helper);
        } else {
            tw_helper_look_after(helper);
        }
    }
    pthread_mutex_unlock(&helper->lock);
    return NULL;
}

void tw_helper_enter(tw_helper_t *helper)
{
    __atomic_add_fetch(&helper->callers, 1, __ATOMIC_RELAXED);
    pthread_mutex_lock(&helper->lock);
    helper->calls++;
}

void tw_helper_leave(tw_helper_t *helper)
{
    const int  left = __atomic_sub_fetch(&helper->callers, 1, __ATOMIC_RELAXED);
    const bool work = helper->whole && helper->comm->running != NULL;

    if (left == 0 &&
        (helper->state == TW_HELPER_AWAY || (work && helper->state != TW_HELPER_AWAKE))) {
        pthread_cond_signal(&helper->wake);
    }
    pthread_mutex_unlock(&helper->lock);
}

void tw_helper_notice(tw_helper_t *helper)
{
    if (helper->state == TW_HELPER_ASLEEP) {
        pthread_cond_signal(&helper->wake);
    }
}

/* The program's signal handlers run in the program's threads. */
static bool tw_helper_thread(tw_helper_t *helper)
{
    sigset_t all, before;
    bool     well;

    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    well = pthread_create(&helper->thread, NULL, tw_helper_main, helper) == 0;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return well;
}

bool tw_helper_start(tw_comm_t *comm, bool whole)
{
    pthread_mutexattr_t recursive;
    pthread_condattr_t  monotonic;
    tw_helper_t        *helper = comm->helper;

    if (helper != NULL) {
        tw_helper_enter(helper);
        helper->whole = helper->whole || whole;
        tw_helper_leave(helper);
        return true;
    }
    helper = calloc(1, sizeof(*helper));
    if (helper == NULL) {
        return false;
    }
    helper->comm  = comm;
    helper->whole = whole;
    helper->nap   = TW_NAP_FIRST;
    pthread_mutexattr_init(&recursive);
    pthread_mutexattr_settype(&recursive, PTHREAD_MUTEX_RECURSIVE);
    pthread_mutex_init(&helper->lock, &recursive);
    pthread_mutexattr_destroy(&recursive);
    pthread_condattr_init(&monotonic);
    pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    pthread_cond_init(&helper->wake, &monotonic);
    pthread_condattr_destroy(&monotonic);
    if (!tw_helper_thread(helper)) {
        pthread_cond_destroy(&helper->wake);
        pthread_mutex_destroy(&helper->lock);
        free(helper);
        return false;
    }
    comm->helper = helper;
    return true;
}

void tw_helper_stop(tw_comm_t *comm)
{
    tw_helper_t *helper = comm->helper;

    if (helper == NULL) {
        return;
    }
    pthread_mutex_lock(&helper->lock);
    helper->stop = true;
    pthread_cond_signal(&helper->wake);
    pthread_mutex_unlock(&helper->lock);
    pthread_join(helper->thread, NULL);
    comm->helper = NULL;
    pthread_cond_destroy(&helper->wake);
    pthread_mutex_destroy(&helper->lock);
    free(helper);
}
