/* SPDX-License-Identifier: BSD-3-Clause
 * input/pipeline_workers.c - threads that prepare images.
 */
#include "config.h"

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "runtime/base/clock.h"
#include "train/input/pipeline_inside.h"

static uint64_t thread_ns(void)
{
    struct timespec t;

    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* The first image that fails speaks for the batch; nobody reads what it says before all are
 * done. */
void tw_pipeline_fail(tw_pipeline_slot_t *slot, const tw_problem_t *problem)
{
    if (atomic_exchange(&slot->failed, 1) == 0) {
        slot->problem = *problem;
    }
}

tw_prepare_t tw_pipeline_preparing(tw_pipeline_t *p, tw_pipeline_slot_t *slot)
{
    return (tw_prepare_t){.source = p->config.source,
                          .list   = p->config.list[slot->part],
                          .part   = slot->part,
                          .seed   = p->config.seed,
                          .epoch  = slot->epoch,
                          .view   = slot->view,
                          .broken = p->config.skip ? &slot->broken : NULL};
}

/* Everything in front of the transfer, and the transfer. */
void tw_pipeline_prepare(tw_pipeline_t *p, tw_pipeline_slot_t *slot, size_t i,
                         tw_thread_state_t *state)
{
    const tw_input_device_t *device  = p->config.device;
    const tw_prepare_t       how     = tw_pipeline_preparing(p, slot);
    tw_input_row_t          *row     = &slot->row[i];
    tw_staging_t            *staging = &row->staging;
    const uint64_t           before  = staging->host.grown;
    tw_problem_t             problem = {0};
    size_t                   bytes;

    row->begun = tw_clock_ns();
    if ((device->claim != NULL && device->claim(device, staging, &problem) != 0) ||
        tw_prepare_begin(&how, &row->prepared, (size_t)slot->transfer, state, &staging->host,
                         &problem) != 0) {
        tw_pipeline_fail(slot, &problem);
        return;
    }
    row->made = tw_clock_ns();
    if (device->move(device, staging, &row->prepared.planned.image, state->work.pixels, &bytes,
                     &problem) != 0) {
        tw_pipeline_fail(slot, &problem);
        return;
    }
    row->moved = tw_clock_ns();
    atomic_fetch_add(&slot->bytes, bytes);
    atomic_fetch_add(&p->grown, staging->host.grown - before + tw_thread_state_grown(state));
}

void tw_pipeline_finish(tw_pipeline_t *p, tw_pipeline_slot_t *slot)
{
    if (atomic_fetch_sub(&slot->unfinished, 1) == 1) {
        pthread_mutex_lock(&p->lock);
        pthread_cond_broadcast(&p->done);
        pthread_mutex_unlock(&p->lock);
    }
}

/* One image of batch `number`, if there is one that nobody has claimed. */
int tw_pipeline_claim(tw_pipeline_slot_t *slot, uint32_t number, size_t *i)
{
    uint64_t word = atomic_load(&slot->claim);

    while ((uint32_t)(word >> 32) == number && (uint32_t)word > 0) {
        if (atomic_compare_exchange_weak(&slot->claim, &word, word - 1)) {
            *i = slot->n - (uint32_t)word;
            return 1;
        }
    }
    return 0;
}

/* Whether a worker has nothing to do before somebody calls. */
static int idle(tw_pipeline_t *p, const tw_worker_t *w, uint64_t next)
{
    return !atomic_load(&p->closing) &&
           (w->id >= atomic_load(&p->active) || next >= atomic_load(&p->posted));
}

static void sleep_while_idle(tw_pipeline_t *p, const tw_worker_t *w, uint64_t next)
{
    if (idle(p, w, next)) {
        pthread_mutex_lock(&p->lock);
        while (idle(p, w, next)) {
            pthread_cond_wait(&p->work, &p->lock);
        }
        pthread_mutex_unlock(&p->lock);
    }
}

static void *work(void *user)
{
    tw_worker_t   *w     = user;
    tw_pipeline_t *p     = w->pipeline;
    uint64_t       next  = 0; /* number of the batch to look at */
    uint64_t       spent = thread_ns();

    for (;;) {
        tw_pipeline_slot_t *slot;
        uint64_t            posted, later;
        size_t              i;

        sleep_while_idle(p, w, next);
        if (atomic_load(&p->closing)) {
            return NULL;
        }
        posted = atomic_load(&p->posted);
        if (posted - next > TW_PIPELINE_DEPTH) {
            next = posted - TW_PIPELINE_DEPTH; /* it has slept long: the others are taken */
        }
        slot = &p->slot[next % TW_PIPELINE_DEPTH];
        if (!tw_pipeline_claim(slot, (uint32_t)next, &i)) {
            next++;
            continue;
        }
        tw_pipeline_prepare(p, slot, i, &w->state);
        later = thread_ns();
        atomic_fetch_add(&p->busy_ns, later - spent);
        spent = later;
        tw_pipeline_finish(p, slot);
    }
}

static int start_worker(tw_pipeline_t *p, tw_problem_t *problem)
{
    tw_worker_t *w    = calloc(1, sizeof(*w));
    void        *more = realloc(p->worker, (size_t)(p->started + 1) * sizeof(*p->worker));
    sigset_t     all, had;
    int          error;

    p->worker = more != NULL ? more : p->worker;
    if (w == NULL || more == NULL ||
        tw_thread_state_create(&w->state, p->config.kernels, p->config.most) != 0) {
        free(w);
        return tw_problem_machine(problem, "out of memory for a loader thread");
    }
    w->pipeline = p;
    w->id       = p->started;
    /* Signals are for the threads of the program. */
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &had);
    error = pthread_create(&w->thread, NULL, work, w);
    pthread_sigmask(SIG_SETMASK, &had, NULL);
    if (error != 0) {
        tw_thread_state_destroy(&w->state);
        free(w);
        return tw_problem_set(problem, "no loader thread %d: %s", p->started + 1, strerror(error));
    }
    p->worker[p->started++] = w;
    return 0;
}

int tw_pipeline_threads(tw_pipeline_t *p, int threads, tw_problem_t *problem)
{
    while (p->started < threads) {
        if (start_worker(p, problem) != 0) {
            return -1;
        }
    }
    pthread_mutex_lock(&p->lock);
    atomic_store(&p->active, threads);
    pthread_cond_broadcast(&p->work);
    pthread_mutex_unlock(&p->lock);
    return 0;
}

void tw_pipeline_stop(tw_pipeline_t *p)
{
    pthread_mutex_lock(&p->lock);
    atomic_store(&p->closing, 1);
    pthread_cond_broadcast(&p->work);
    pthread_mutex_unlock(&p->lock);
    for (int i = 0; i < p->started; i++) {
        pthread_join(p->worker[i]->thread, NULL);
        tw_thread_state_destroy(&p->worker[i]->state);
        free(p->worker[i]);
    }
    free(p->worker);
}
