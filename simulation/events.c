/* SPDX-License-Identifier: BSD-3-Clause
 * simulation/events.c - see events.h. A binary heap; ranks are contexts of ucontext.h.
 *
 * A rank that sleeps while nothing else happens before it wakes just goes on, without a switch.
 */
#include "config.h"

#include <stdlib.h>
#include <sys/mman.h>
#include <ucontext.h>

#include "simulation/events.h"
#include "simulation/world.h"

#define STACK ((size_t)512 << 10)

typedef struct coming {
    double        time;
    uint64_t      order;
    event_call_t *call;
    void         *context;
    uint64_t      number;
} coming_t;

typedef struct actor {
    ucontext_t context;
    int        waits, done;
    uint64_t   turn; /* switches to it: what was to wake it before one is stale */
} actor_t;

static struct {
    double     now;
    coming_t  *heap;
    size_t     events, room;
    uint64_t   order;
    actor_t   *actor;
    int        actors, running, done;
    ucontext_t main;
    void (*play)(int);
} sim;

double event_now(void)
{
    return sim.now;
}

int event_rank(void)
{
    return sim.running;
}

/* ---- the heap ------------------------------------------------------------------------------ */

static int is_before(const coming_t *a, const coming_t *b)
{
    return a->time < b->time || (a->time <= b->time && a->order < b->order);
}

void event_at(double time, event_call_t *call, void *context, uint64_t number)
{
    const coming_t event = {time > sim.now ? time : sim.now, sim.order++, call, context, number};
    size_t         at    = sim.events;

    if (sim.events == sim.room) {
        sim.room = sim.room > 0 ? 2 * sim.room : 1024;
        sim.heap = realloc(sim.heap, sim.room * sizeof(*sim.heap));
        if (sim.heap == NULL) {
            world_fail("out of memory");
        }
    }
    sim.events++;
    while (at > 0 && is_before(&event, &sim.heap[(at - 1) / 2])) {
        sim.heap[at] = sim.heap[(at - 1) / 2];
        at           = (at - 1) / 2;
    }
    sim.heap[at] = event;
}

static coming_t take_event(void)
{
    const coming_t first = sim.heap[0], last = sim.heap[--sim.events];
    size_t         at = 0;

    for (size_t next = 1; next < sim.events; next = 2 * at + 1) {
        if (next + 1 < sim.events && is_before(&sim.heap[next + 1], &sim.heap[next])) {
            next++;
        }
        if (!is_before(&sim.heap[next], &last)) {
            break;
        }
        sim.heap[at] = sim.heap[next];
        at           = next;
    }
    sim.heap[at] = last;
    return first;
}

/* ---- ranks --------------------------------------------------------------------------------- */

static void enter_rank(void)
{
    sim.play(sim.running);
    sim.actor[sim.running].done = 1;
    sim.done++;
}

static void resume_rank(int rank)
{
    actor_t *actor = &sim.actor[rank];

    actor->waits = 0;
    actor->turn++;
    sim.running = rank;
    swapcontext(&sim.main, &actor->context);
    sim.running = -1;
}

/* number: the turn that has not come yet. */
static void go_on(void *context, uint64_t number)
{
    actor_t *actor = context;

    if (!actor->done && actor->turn == number) {
        resume_rank((int)(actor - sim.actor));
    }
}

void event_wake_now(int rank)
{
    if (sim.actor[rank].waits) {
        resume_rank(rank);
    }
}

static void wake_rank(void *context, uint64_t rank)
{
    (void)context;
    event_wake_now((int)rank);
}

void event_wake(int rank, double time)
{
    event_at(time, wake_rank, NULL, (uint64_t)rank);
}

static void leave_rank(actor_t *actor)
{
    swapcontext(&actor->context, &sim.main);
}

void event_sleep(double seconds)
{
    actor_t     *actor = &sim.actor[sim.running];
    const double until = sim.now + seconds;

    if (sim.events == 0 || until < sim.heap[0].time) {
        sim.now = until;
        return;
    }
    event_at(until, go_on, actor, actor->turn);
    leave_rank(actor);
}

void event_wait(double until)
{
    actor_t *actor = &sim.actor[sim.running];

    if (until < WORLD_EVER) {
        event_at(until, go_on, actor, actor->turn);
    }
    actor->waits = 1;
    leave_rank(actor);
}

static void create_context(actor_t *actor)
{
    void *stack = mmap(NULL, STACK, PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

    if (stack == MAP_FAILED || getcontext(&actor->context) != 0) {
        world_fail("out of memory");
    }
    actor->context.uc_stack.ss_sp   = stack;
    actor->context.uc_stack.ss_size = STACK;
    actor->context.uc_link          = &sim.main;
    makecontext(&actor->context, enter_rank, 0);
}

int event_run(int ranks, void (*main)(int rank))
{
    sim.play   = main;
    sim.actors = ranks;
    sim.actor  = calloc((size_t)ranks, sizeof(*sim.actor));
    if (sim.actor == NULL) {
        world_fail("out of memory");
    }
    for (int r = 0; r < ranks; r++) {
        create_context(&sim.actor[r]);
        event_at(0.0, go_on, &sim.actor[r], 0);
    }
    while (sim.events > 0) {
        const coming_t event = take_event();

        sim.now = event.time;
        event.call(event.context, event.number);
    }
    return sim.done == ranks ? 0 : -1;
}
