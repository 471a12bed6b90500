/* SPDX-License-Identifier: BSD-3-Clause
 * transport/comm/progress_thread.c - see progress_thread.h.
 *
 * The thread sleeps while no operation is outstanding or a call holds the lock. Else it polls
 * without pause while operations advance. When none does, it sleeps until the endpoint's descriptor
 * wakes it; where there is none, between polls, longer each time: ranks and their computation share
 * cores, and the scheduler returns the core at once to a thread that wakes, but not to one that
 * spins.
 *
 * Whoever wakes it writes to an event descriptor, with the lock held, on which all its sleep is; so
 * nothing is missed between the decision to sleep and the sleep.
 */
#include "config.h"

#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "runtime/base/descriptor.h"
#include "runtime/transport/comm/progress_thread.h"
#include "runtime/transport/comm/endpoint.h"

#define TW_PASSES 1 /* without success before a nap: MPI may give the core away in each */

/* Nanoseconds of a nap. While operations are outstanding the first; then as long as all naps since
 * something moved, so that a message is seen after at most twice the time it took; until a long
 * one. Shorter ones (a quarter of all) end no step sooner, and cost a third more processor time.
 * From when that is a small part of the wait, such a part of it, until the longest: a rank that
 * waits for another one leaves the core to it. */
#define TW_NAP_FIRST 10000U
#define TW_NAP_LONG  500000U
#define TW_NAP_PART  32
#define TW_NAP_MOST  20000000U
/* On the descriptor of the endpoint, which wakes it; calls mind tw_comm_abort() and time limits. */
#define TW_NAP_SLEEP 1000000000U
#define TW_NAP_EVER  UINT64_MAX
/* While only the endpoint is looked after: after the last call, and the longest. */
#define TW_NAP_QUIET 1000000U
#define TW_NAP_IDLE  10000000U

#define TW_TURN 100000 /* nanoseconds of the core at a time that the thread asks for */

typedef enum tw_progress_thread_state {
    TW_PROGRESS_THREAD_AWAKE,    /* or about to be                                                */
    TW_PROGRESS_THREAD_WATCHING, /* until the endpoint's descriptor or a call wakes it            */
    TW_PROGRESS_THREAD_NAPPING,  /* over an endpoint that is not idle; a new operation wakes it   */
    TW_PROGRESS_THREAD_AWAY,     /* until the call that is inside ends                            */
    TW_PROGRESS_THREAD_ASLEEP    /* nothing to do                                                 */
} tw_progress_thread_state_t;

struct tw_progress_thread {
    tw_comm_t      *comm;
    pthread_t       posix;
    pthread_mutex_t lock;    /* recursive */
    int             wake;    /* an event descriptor */
    pthread_cond_t  ended;   /* an operation has, or the communicator is dead */
    int             waiters; /* for that                                      */
    unsigned        told;    /* comm->ended when they were told last          */
    int             callers; /* inside, or waiting for the lock; atomic                 */
    unsigned        calls;   /* since it was started                                    */
    bool            whole, stop;
    bool            fresh;  /* an operation has started and the thread has not looked since */
    unsigned        seen;   /* calls when the thread last looked                           */
    uint64_t        napped; /* nanoseconds since something moved                         */

    tw_progress_thread_state_t state;
};

static struct timespec tw_progress_thread_after(uint64_t ns)
{
    struct timespec at;

    clock_gettime(CLOCK_MONOTONIC, &at);
    at.tv_sec += (time_t)(ns / 1000000000U);
    at.tv_nsec += (long)(ns % 1000000000U);
    if (at.tv_nsec >= 1000000000L) {
        at.tv_sec++;
        at.tv_nsec -= 1000000000L;
    }
    return at;
}

/* The lock is held, and given back while the thread sleeps: until it is woken, the descriptor is
 * readable, or ns are over. */
static void tw_progress_thread_rest(tw_progress_thread_t *thread, tw_progress_thread_state_t state,
                                    int descriptor, uint64_t ns)
{
    const struct timespec most     = {.tv_sec  = (time_t)(ns / 1000000000U),
                                      .tv_nsec = (long)(ns % 1000000000U)};
    struct pollfd         looked[] = {{.fd = thread->wake, .events = POLLIN},
                                      {.fd = descriptor, .events = POLLIN}};
    eventfd_t             times;

    thread->state = state;
    pthread_mutex_unlock(&thread->lock);
    ppoll(looked, 2, ns != TW_NAP_EVER ? &most : NULL, NULL);
    pthread_mutex_lock(&thread->lock);
    if (looked[0].revents != 0) {
        eventfd_read(thread->wake, &times);
    }
    thread->state = TW_PROGRESS_THREAD_AWAKE;
}

static void tw_progress_thread_nap(tw_progress_thread_t *thread, tw_progress_thread_state_t state,
                                   uint64_t least, uint64_t wanted, uint64_t most)
{
    const uint64_t ns = wanted < least ? least : wanted < most ? wanted : most;

    tw_progress_thread_rest(thread, state, TW_DESCRIPTOR_NONE, ns);
    thread->napped += ns;
}

static void tw_progress_thread_sleep(tw_progress_thread_t *thread, tw_progress_thread_state_t state)
{
    tw_progress_thread_rest(thread, state, TW_DESCRIPTOR_NONE, TW_NAP_EVER);
    thread->napped = 0;
}

static void tw_progress_thread_rouse(tw_progress_thread_t *thread)
{
    eventfd_write(thread->wake, 1);
}

/* Wake those that wait for the end of an operation. */
static void tw_progress_thread_tell(tw_progress_thread_t *thread)
{
    if (thread->waiters > 0 &&
        (thread->told != thread->comm->ended || thread->comm->status != TW_OK)) {
        pthread_cond_broadcast(&thread->ended);
    }
    thread->told = thread->comm->ended;
}

/* How long to nap while operations are outstanding. */
static uint64_t tw_progress_thread_patience(uint64_t napped)
{
    const uint64_t part = napped / TW_NAP_PART;

    return part > TW_NAP_LONG ? part : napped < TW_NAP_LONG ? napped : TW_NAP_LONG;
}

/* Operations are outstanding: advance them, or leave it to the call that is inside. */
static void tw_progress_thread_advance(tw_progress_thread_t *thread)
{
    tw_comm_t *comm  = thread->comm;
    bool       moved = false;
    int        descriptor;

    for (int pass = 0; pass < TW_PASSES && !moved; pass++) {
        if (__atomic_load_n(&thread->callers, __ATOMIC_RELAXED) > 0) {
            tw_progress_thread_sleep(thread, TW_PROGRESS_THREAD_AWAY);
            return;
        }
        thread->napped           = thread->fresh ? 0 : thread->napped;
        thread->fresh            = false;
        comm->by_progress_thread = true;
        comm->engine->progress(comm, &moved);
        comm->by_progress_thread = false;
        tw_progress_thread_tell(thread);
    }
    descriptor = moved ? TW_DESCRIPTOR_AGAIN : comm->engine->descriptor(comm);
    if (descriptor != TW_DESCRIPTOR_NONE) {
        thread->napped = 0;
    }
    if (descriptor >= 0) {
        tw_progress_thread_rest(thread, TW_PROGRESS_THREAD_WATCHING, descriptor, TW_NAP_SLEEP);
    }
    if (descriptor != TW_DESCRIPTOR_NONE) {
        return;
    }
    tw_progress_thread_nap(thread, TW_PROGRESS_THREAD_AWAKE, TW_NAP_FIRST,
                           tw_progress_thread_patience(thread->napped), TW_NAP_MOST);
}

/* Nothing is outstanding, but the endpoint may have something left to do; as long as there are
 * calls, they do it. */
static void tw_progress_thread_look_after(tw_progress_thread_t *thread)
{
    tw_comm_t *comm = thread->comm;

    if (thread->seen != thread->calls) {
        thread->seen   = thread->calls;
        thread->napped = 0;
    } else if (comm->endpoint->idle(comm)) {
        tw_progress_thread_sleep(thread, TW_PROGRESS_THREAD_ASLEEP);
        return;
    } else {
        comm->endpoint->progress(comm);
    }
    tw_progress_thread_nap(thread, TW_PROGRESS_THREAD_NAPPING, TW_NAP_QUIET, thread->napped,
                           TW_NAP_IDLE);
}

/* Ask for short turns: of two threads that share a core, Linux (6.12 and later) lets the one with
 * shorter turns have it as soon as it wakes, not when the other's turn of milliseconds is over, by
 * which time the link would stand still. Elsewhere nothing changes. */
static void tw_progress_thread_turns(void)
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

static void *tw_progress_thread_main(void *arg)
{
    tw_progress_thread_t *thread = arg;
    tw_comm_t            *comm   = thread->comm;

    pthread_setname_np(pthread_self(), "tw_progress"); /* as ps -L and debuggers show it */
    tw_progress_thread_turns();
    pthread_mutex_lock(&thread->lock);
    while (!thread->stop) {
        if (comm->status != TW_OK) {
            tw_progress_thread_sleep(thread, TW_PROGRESS_THREAD_ASLEEP);
        } else if (thread->whole && comm->running != NULL) {
            tw_progress_thread_advance(thread);
        } else {
            tw_progress_thread_look_after(thread);
        }
    }
    pthread_mutex_unlock(&thread->lock);
    return NULL;
}

void tw_progress_thread_enter(tw_progress_thread_t *thread)
{
    __atomic_add_fetch(&thread->callers, 1, __ATOMIC_RELAXED);
    pthread_mutex_lock(&thread->lock);
    thread->calls++;
}

/* Does it sleep although there is something to do? */
static bool tw_progress_thread_sleeps_late(const tw_progress_thread_t *thread)
{
    tw_comm_t *comm = thread->comm;

    if (thread->state == TW_PROGRESS_THREAD_AWAY || !thread->whole || comm->running == NULL) {
        return thread->state == TW_PROGRESS_THREAD_AWAY ||
               (thread->state == TW_PROGRESS_THREAD_WATCHING && !comm->endpoint->idle(comm));
    }
    if (thread->state == TW_PROGRESS_THREAD_WATCHING) { /* has the call taken the event? */
        return thread->fresh || comm->engine->descriptor(comm) < 0;
    }
    return thread->fresh || thread->state != TW_PROGRESS_THREAD_AWAKE;
}

/* One is inside no more: does the thread take over? */
static void tw_progress_thread_hand_over(tw_progress_thread_t *thread)
{
    const int left = __atomic_sub_fetch(&thread->callers, 1, __ATOMIC_RELAXED);

    tw_progress_thread_tell(thread);
    if (left == 0 && tw_progress_thread_sleeps_late(thread)) {
        tw_progress_thread_rouse(thread);
    }
}

void tw_progress_thread_leave(tw_progress_thread_t *thread)
{
    tw_progress_thread_hand_over(thread);
    pthread_mutex_unlock(&thread->lock);
}

bool tw_progress_thread_whole(const tw_progress_thread_t *thread)
{
    return thread != NULL && thread->whole;
}

void tw_progress_thread_await(tw_progress_thread_t *thread, uint64_t most_ns)
{
    const struct timespec until = tw_progress_thread_after(most_ns);

    tw_progress_thread_hand_over(thread);
    thread->waiters++;
    pthread_cond_timedwait(&thread->ended, &thread->lock, &until);
    thread->waiters--;
    __atomic_add_fetch(&thread->callers, 1, __ATOMIC_RELAXED);
}

void tw_progress_thread_started(tw_progress_thread_t *thread)
{
    thread->fresh = true;
}

void tw_progress_thread_notice(tw_progress_thread_t *thread)
{
    if (thread->state == TW_PROGRESS_THREAD_ASLEEP) {
        tw_progress_thread_rouse(thread);
    }
}

/* The program's signal handlers run in the program's threads. */
static bool tw_progress_thread_create(tw_progress_thread_t *thread)
{
    sigset_t all, before;
    bool     well;

    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    well = pthread_create(&thread->posix, NULL, tw_progress_thread_main, thread) == 0;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return well;
}

static void tw_progress_thread_free(tw_progress_thread_t *thread)
{
    if (thread->wake >= 0) {
        close(thread->wake);
    }
    pthread_cond_destroy(&thread->ended);
    pthread_mutex_destroy(&thread->lock);
    free(thread);
}

bool tw_progress_thread_start(tw_comm_t *comm, bool whole)
{
    pthread_mutexattr_t   recursive;
    pthread_condattr_t    monotonic;
    tw_progress_thread_t *thread = comm->progress_thread;

    if (thread != NULL) {
        tw_progress_thread_enter(thread);
        thread->whole = thread->whole || whole;
        tw_progress_thread_leave(thread);
        return true;
    }
    thread = calloc(1, sizeof(*thread));
    if (thread == NULL) {
        return false;
    }
    thread->comm  = comm;
    thread->whole = whole;
    thread->wake  = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    pthread_mutexattr_init(&recursive);
    pthread_mutexattr_settype(&recursive, PTHREAD_MUTEX_RECURSIVE);
    pthread_mutex_init(&thread->lock, &recursive);
    pthread_mutexattr_destroy(&recursive);
    pthread_condattr_init(&monotonic);
    pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    pthread_cond_init(&thread->ended, &monotonic);
    pthread_condattr_destroy(&monotonic);
    /* Operations may be outstanding: it sees itself from the first on. */
    pthread_mutex_lock(&thread->lock);
    comm->progress_thread = thread->wake >= 0 && tw_progress_thread_create(thread) ? thread : NULL;
    pthread_mutex_unlock(&thread->lock);
    if (comm->progress_thread == NULL) {
        tw_progress_thread_free(thread);
        return false;
    }
    return true;
}

void tw_progress_thread_stop(tw_comm_t *comm)
{
    tw_progress_thread_t *thread = comm->progress_thread;

    if (thread == NULL) {
        return;
    }
    pthread_mutex_lock(&thread->lock);
    thread->stop = true;
    tw_progress_thread_rouse(thread);
    pthread_mutex_unlock(&thread->lock);
    pthread_join(thread->posix, NULL);
    comm->progress_thread = NULL;
    tw_progress_thread_free(thread);
}
