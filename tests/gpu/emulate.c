/* SPDX-License-Identifier: BSD-3-Clause
 * tests/gpu/emulate.c - threads as contexts with stacks of their own.
 */
#include "config.h"

#undef _FORTIFY_SOURCE /* which takes a jump to another stack for an error */

#include <assert.h>
#include <setjmp.h>
#include <stdbool.h>
#include <stdlib.h>
#include <ucontext.h>

#include "tests/gpu/emulate_words.h"

#define STACK ((size_t)64 << 10)

typedef enum state { READY, AT_WARP, AT_BLOCK, DONE } state_t;

typedef struct fiber {
    ucontext_t context; /* its beginning                    */
    jmp_buf    place;   /* and where it goes on, if started */
    bool       started;
    char      *stack;
    state_t    state;
    unsigned   turn; /* exchanges so far, modulo 2 */
} fiber_t;

emulate_index_t emulate_block, emulate_blocks, emulate_thread, emulate_threads;

static fiber_t    fibers[EMULATE_THREADS];
static ucontext_t scheduler;
static jmp_buf    scheduler_place;
static uint32_t   slots[EMULATE_THREADS / EMULATE_WARP][2][EMULATE_WARP];
static void (*run_thread)(const void *argument);
static const void *parameter;
static uint32_t    lot = 1;

/* Sanitizers follow contexts only. Elsewhere those are for the first time: each switch by them is a
 * system call. */
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define BY_CONTEXT 1
#elif defined(__has_feature)
#define BY_CONTEXT (__has_feature(address_sanitizer) || __has_feature(thread_sanitizer))
#else
#define BY_CONTEXT 0
#endif

static void leave(state_t state)
{
    fiber_t *self = &fibers[emulate_thread.x];

    self->state = state;
    if (BY_CONTEXT) {
        swapcontext(&self->context, &scheduler);
    } else if (_setjmp(self->place) == 0) {
        _longjmp(scheduler_place, 1);
    }
}

/* Until it leaves. */
static void enter(fiber_t *fiber)
{
    const bool first = !fiber->started;

    fiber->started = true;
    if (BY_CONTEXT) {
        swapcontext(&scheduler, &fiber->context);
    } else if (_setjmp(scheduler_place) == 0) {
        if (first) {
            setcontext(&fiber->context);
        }
        _longjmp(fiber->place, 1);
    }
}

void emulate_syncthreads(void)
{
    leave(AT_BLOCK);
}

void emulate_syncwarp(void)
{
    leave(AT_WARP);
}

/* All lanes put their value into a slot; two sets of slots take turns, so that one barrier is
 * enough. */
static const uint32_t *publish(uint32_t mine)
{
    const unsigned thread = emulate_thread.x;
    uint32_t      *slot   = slots[thread / EMULATE_WARP][fibers[thread].turn];

    fibers[thread].turn ^= 1;
    slot[thread % EMULATE_WARP] = mine;
    emulate_syncwarp();
    return slot;
}

uint32_t emulate_exchange(uint32_t mine, unsigned from)
{
    return publish(mine)[from];
}

uint32_t emulate_most(uint32_t mine)
{
    const uint32_t *slot = publish(mine);
    uint32_t        most = 0;

    for (int i = 0; i < EMULATE_WARP; i++) {
        most = slot[i] > most ? slot[i] : most;
    }
    return most;
}

uint32_t emulate_total(uint32_t mine)
{
    const uint32_t *slot  = publish(mine);
    uint32_t        total = 0;

    for (int i = 0; i < EMULATE_WARP; i++) {
        total += slot[i];
    }
    return total;
}

uint32_t emulate_ballot(int mine)
{
    const uint32_t *slot = publish(mine != 0);
    uint32_t        bits = 0;

    for (int i = 0; i < EMULATE_WARP; i++) {
        bits |= slot[i] << i;
    }
    return bits;
}

float emulate_shuffle(float mine, int with)
{
    const unsigned lane = emulate_thread.x % EMULATE_WARP;
    uint32_t       bits;

    memcpy(&bits, &mine, sizeof(bits));
    bits = emulate_exchange(bits, lane ^ (unsigned)with);
    memcpy(&mine, &bits, sizeof(mine));
    return mine;
}

unsigned emulate_atomic_max(unsigned *at, unsigned v)
{
    const unsigned old = *at;

    *at = v > old ? v : old;
    return old;
}

/* One kernel after another: it is parked where it is done. */
static void fiber_main(void)
{
    for (;;) {
        run_thread(parameter);
        leave(DONE);
    }
}

static void fiber_start(fiber_t *fiber)
{
    if (fiber->stack == NULL) {
        fiber->stack = malloc(STACK);
        assert(fiber->stack != NULL);
        getcontext(&fiber->context);
        fiber->context.uc_stack.ss_sp   = fiber->stack;
        fiber->context.uc_stack.ss_size = STACK;
        fiber->context.uc_link          = NULL;
        makecontext(&fiber->context, fiber_main, 0);
    }
    fiber->state = READY;
    fiber->turn  = 0;
}

/* Let threads [first, first + n) go on if all of them wait in `state`. */
static void release(unsigned first, unsigned n, state_t state)
{
    for (unsigned t = first; t < first + n; t++) {
        if (fibers[t].state != state) {
            return;
        }
    }
    for (unsigned t = first; t < first + n; t++) {
        fibers[t].state = READY;
    }
}

/* One pass over the threads, from a place drawn by lot, up or down. Returns how many are done.
 * Leaving a kernel while others wait at a barrier is an error in the kernel: nobody is ready, and
 * nobody is done. */
static unsigned pass(unsigned threads)
{
    unsigned done = 0, ran = 0;

    lot = lot * 1664525u + 1013904223u;
    for (unsigned i = 0; i < threads; i++) {
        const unsigned t = ((lot >> 8) + ((lot & 0x80) != 0 ? i : threads - i)) % threads;

        if (fibers[t].state == READY) {
            emulate_thread.x = t;
            enter(&fibers[t]);
            release(t / EMULATE_WARP * EMULATE_WARP, EMULATE_WARP, AT_WARP);
            ran++;
        }
        done += fibers[t].state == DONE;
    }
    release(0, threads, AT_BLOCK);
    assert(ran > 0);
    (void)ran;
    return done;
}

void emulate_launch(void (*body)(const void *argument), const void *argument, size_t blocks,
                    unsigned threads)
{
    assert(threads <= EMULATE_THREADS);
    run_thread        = body;
    parameter         = argument;
    emulate_blocks.x  = (unsigned)blocks;
    emulate_threads.x = threads;
    for (unsigned b = 0; b < blocks; b++) {
        emulate_block.x = b;
        for (unsigned t = 0; t < threads; t++) {
            fiber_start(&fibers[t]);
        }
        while (pass(threads) < threads) {
        }
    }
}
