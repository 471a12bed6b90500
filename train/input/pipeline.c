/* SPDX-License-Identifier: BSD-3-Clause
 * input/pipeline.c - see pipeline.h.
 *
 * A slot of the ring holds one batch. Its word `claim` is the batch's number and how many of its
 * images nobody has claimed yet; a worker takes one by lowering it, and so cannot take an image of
 * a batch that has come into the slot since. The lock is only for going to sleep and waking up.
 */
#include "config.h"

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "runtime/base/clock.h"
#include "train/input/pipeline.h"
#include "train/input/prepare.h"

typedef struct tw_pipeline_slot {
    _Atomic uint64_t claim; /* number of the batch << 32 | images not yet claimed */
    atomic_size_t    unfinished;
    size_t           n;
    tw_subset_t      part;
    uint64_t         epoch;
    size_t           view;
    int              transfer;
    tw_input_row_t  *row; /* [rows] */
    tw_broken_t      broken;
    _Atomic uint64_t bytes;
    atomic_int       failed;
    tw_problem_t     problem; /* the first */
} tw_pipeline_slot_t;

typedef struct tw_worker {
    tw_pipeline_t    *pipeline;
    int               id;
    pthread_t         thread;
    tw_thread_state_t state;
} tw_worker_t;

struct tw_pipeline {
    tw_pipeline_config_t config;
    tw_pipeline_slot_t   slot[TW_PIPELINE_DEPTH];
    size_t               values; /* of an image */

    tw_worker_t    **worker; /* [started] */
    int              started;
    atomic_int       active; /* workers 0 .. active - 1 work, the others sleep */
    atomic_int       closing;
    _Atomic uint64_t posted;
    uint64_t         taken;

    pthread_mutex_t lock;
    pthread_cond_t  work, done; /* batches posted, workers called; a batch finished */

    tw_thread_state_t *computing; /* [config.computing] */

    tw_broken_t         broken;
    _Atomic uint64_t    grown, busy_ns;
    tw_pipeline_facts_t facts;
};

static double now(void)
{
    return 1e-9 * (double)tw_clock_ns();
}

static uint64_t thread_ns(void)
{
    struct timespec t;

    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* ---- workers ------------------------------------------------------------------------------- */

/* The first image that fails speaks for the batch; nobody reads what it says before all are
 * done. */
static void fail(tw_pipeline_slot_t *slot, const tw_problem_t *problem)
{
    if (atomic_exchange(&slot->failed, 1) == 0) {
        slot->problem = *problem;
    }
}

static tw_prepare_t preparing(tw_pipeline_t *p, tw_pipeline_slot_t *slot)
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
static void prepare(tw_pipeline_t *p, tw_pipeline_slot_t *slot, size_t i, tw_thread_state_t *state)
{
    const tw_input_device_t *device  = p->config.device;
    const tw_prepare_t       how     = preparing(p, slot);
    tw_input_row_t          *row     = &slot->row[i];
    tw_staging_t            *staging = &row->staging;
    const uint64_t           before  = staging->host.grown;
    tw_problem_t             problem = {0};
    size_t                   bytes;

    row->begun = tw_clock_ns();
    if ((device->claim != NULL && device->claim(device, staging, &problem) != 0) ||
        tw_prepare_begin(&how, &row->prepared, (size_t)slot->transfer, state, &staging->host,
                         &problem) != 0) {
        fail(slot, &problem);
        return;
    }
    row->made = tw_clock_ns();
    if (device->move(device, staging, &row->prepared.planned.image, state->work.pixels, &bytes,
                     &problem) != 0) {
        fail(slot, &problem);
        return;
    }
    row->moved = tw_clock_ns();
    atomic_fetch_add(&slot->bytes, bytes);
    atomic_fetch_add(&p->grown, staging->host.grown - before + tw_thread_state_grown(state));
}

static void finish(tw_pipeline_t *p, tw_pipeline_slot_t *slot)
{
    if (atomic_fetch_sub(&slot->unfinished, 1) == 1) {
        pthread_mutex_lock(&p->lock);
        pthread_cond_broadcast(&p->done);
        pthread_mutex_unlock(&p->lock);
    }
}

/* One image of batch `number`, if there is one that nobody has claimed. */
static int claim(tw_pipeline_slot_t *slot, uint32_t number, size_t *i)
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
        if (!claim(slot, (uint32_t)next, &i)) {
            next++;
            continue;
        }
        prepare(p, slot, i, &w->state);
        later = thread_ns();
        atomic_fetch_add(&p->busy_ns, later - spent);
        spent = later;
        finish(p, slot);
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

/* ---- made and taken down ------------------------------------------------------------------- */

static int create_memory(tw_pipeline_t *p, tw_problem_t *problem)
{
    const tw_pipeline_config_t *c = &p->config;

    p->computing = calloc((size_t)c->computing, sizeof(*p->computing));
    for (int i = 0; p->computing != NULL && i < c->computing; i++) {
        if (tw_thread_state_create(&p->computing[i], c->kernels, c->most) != 0) {
            return tw_problem_machine(problem, "out of memory");
        }
    }
    for (int k = 0; k < TW_PIPELINE_DEPTH; k++) {
        p->slot[k].row = calloc(c->rows, sizeof(*p->slot[k].row));
        if (p->slot[k].row == NULL || p->computing == NULL) {
            return tw_problem_machine(problem, "out of memory for batches of %zu images", c->rows);
        }
        for (size_t i = 0; i < c->rows; i++) {
            p->slot[k].row[i].staging.host.memory = c->device->memory;
        }
    }
    return 0;
}

int tw_pipeline_create(tw_pipeline_t **pipeline_p, const tw_pipeline_config_t *config,
                       tw_problem_t *problem)
{
    tw_pipeline_t *p = calloc(1, sizeof(*p));

    if (p == NULL) {
        return tw_problem_machine(problem, "out of memory");
    }
    p->config        = *config;
    p->config.device = config->device != NULL ? config->device : &tw_input_host;
    p->values        = tw_shape_size(config->list[TW_SUBSET_TRAIN]->form.shape);
    pthread_mutex_init(&p->lock, NULL);
    pthread_cond_init(&p->work, NULL);
    pthread_cond_init(&p->done, NULL);
    tw_broken_init(&p->broken);
    for (int k = 0; k < TW_PIPELINE_DEPTH; k++) {
        tw_broken_init(&p->slot[k].broken);
    }
    if (create_memory(p, problem) != 0 || tw_pipeline_threads(p, config->threads, problem) != 0) {
        tw_pipeline_destroy(p);
        return -1;
    }
    *pipeline_p = p;
    return 0;
}

static void release(const tw_input_device_t *device, tw_staging_t *staging)
{
    if (device->release != NULL) {
        device->release(device, staging);
    }
    tw_buffer_destroy(&staging->host);
}

static void stop_workers(tw_pipeline_t *p)
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

void tw_pipeline_destroy(tw_pipeline_t *p)
{
    if (p == NULL) {
        return;
    }
    stop_workers(p);
    for (int i = 0; p->computing != NULL && i < p->config.computing; i++) {
        tw_thread_state_destroy(&p->computing[i]);
    }
    free(p->computing);
    for (int k = 0; k < TW_PIPELINE_DEPTH; k++) {
        for (size_t i = 0; p->slot[k].row != NULL && i < p->config.rows; i++) {
            release(p->config.device, &p->slot[k].row[i].staging);
        }
        free(p->slot[k].row);
        tw_broken_destroy(&p->slot[k].broken);
    }
    tw_broken_destroy(&p->broken);
    pthread_cond_destroy(&p->done);
    pthread_cond_destroy(&p->work);
    pthread_mutex_destroy(&p->lock);
    free(p);
}

/* ---- batches ------------------------------------------------------------------------------- */

size_t tw_pipeline_posted(const tw_pipeline_t *p)
{
    return (size_t)(atomic_load(&p->posted) - p->taken);
}

void tw_pipeline_post(tw_pipeline_t *p, const tw_pipeline_batch_t *batch)
{
    const uint64_t      number     = atomic_load(&p->posted);
    const size_t        operations = p->config.list[batch->part]->n;
    tw_pipeline_slot_t *slot       = &p->slot[number % TW_PIPELINE_DEPTH];

    slot->part     = batch->part;
    slot->epoch    = batch->epoch;
    slot->view     = batch->view;
    slot->n        = batch->n;
    slot->transfer = (size_t)batch->transfer < operations ? batch->transfer : (int)operations;
    for (size_t i = 0; i < batch->n; i++) {
        slot->row[i].prepared.index = batch->index[i];
    }
    atomic_store(&slot->bytes, 0);
    atomic_store(&slot->failed, 0);
    slot->problem = (tw_problem_t){0};
    atomic_store(&slot->unfinished, batch->n);
    atomic_store(&slot->claim, (number & UINT32_MAX) << 32 | batch->n);
    pthread_mutex_lock(&p->lock);
    atomic_store(&p->posted, number + 1);
    pthread_cond_broadcast(&p->work);
    pthread_mutex_unlock(&p->lock);
}

/* Without workers the computing threads prepare what nobody has claimed. */
static void prepare_here(tw_pipeline_t *p, tw_pipeline_slot_t *slot)
{
#pragma omp parallel num_threads(p->config.computing) if (p->config.computing > 1)
    for (size_t i; claim(slot, (uint32_t)p->taken, &i);) {
        prepare(p, slot, i, tw_thread_state_own(p->computing));
        finish(p, slot);
    }
}

static void wait_for(tw_pipeline_t *p, tw_pipeline_slot_t *slot)
{
    const double start = now();

    if (atomic_load(&p->active) == 0) {
        prepare_here(p, slot);
    }

    if (atomic_load(&slot->unfinished) > 0) {
        pthread_mutex_lock(&p->lock);
        while (atomic_load(&slot->unfinished) > 0) {
            pthread_cond_wait(&p->done, &p->lock);
        }
        pthread_mutex_unlock(&p->lock);
        p->facts.waited += now() - start;
    }
}

/* What is left to do, for all images of the batch together, by the device. */
static void run(tw_pipeline_t *p, tw_pipeline_slot_t *slot, float *out)
{
    const tw_prepare_t     how     = preparing(p, slot);
    const double           start   = now();
    tw_problem_t           problem = {0};
    const tw_input_batch_t batch   = {.how      = &how,
                                      .transfer = (size_t)slot->transfer,
                                      .row      = slot->row,
                                      .n        = slot->n,
                                      .values   = p->values,
                                      .out      = out,
                                      .state    = p->computing,
                                      .threads  = p->config.computing};

    if (p->config.device->run(p->config.device, &batch, &problem) != 0) {
        fail(slot, &problem);
    }
    for (int i = 0; i < p->config.computing; i++) {
        atomic_fetch_add(&p->grown, tw_thread_state_grown(&p->computing[i]));
    }
    p->facts.device += now() - start;
}

int tw_pipeline_take(tw_pipeline_t *p, float *out, tw_problem_t *problem)
{
    tw_pipeline_slot_t *slot = &p->slot[p->taken % TW_PIPELINE_DEPTH];

    wait_for(p, slot);
    if (out != NULL && atomic_load(&slot->failed) == 0) {
        run(p, slot, out);
    }
    p->taken++;
    if (out == NULL) {
        slot->broken.n = 0; /* as if it had never been looked at */
        return 0;
    }
    tw_broken_merge(&p->broken, &slot->broken);
    p->facts.batches++;
    p->facts.images += slot->n;
    p->facts.values += slot->n * p->values;
    p->facts.bytes += atomic_load(&slot->bytes);
    return atomic_load(&slot->failed) == 0 ? 0 : tw_problem_set(problem, "%s", slot->problem.text);
}

tw_pipeline_times_t tw_pipeline_times(const tw_pipeline_t *p, size_t i)
{
    const tw_input_row_t *row =
        &p->slot[(p->taken + TW_PIPELINE_DEPTH - 1) % TW_PIPELINE_DEPTH].row[i];

    return (tw_pipeline_times_t){.image    = row->prepared.index,
                                 .begun    = row->begun,
                                 .read     = row->prepared.read,
                                 .prepared = row->made,
                                 .moved    = row->moved};
}

void tw_pipeline_facts(const tw_pipeline_t *p, tw_pipeline_facts_t *facts)
{
    *facts       = p->facts;
    facts->grown = atomic_load(&p->grown);
    facts->busy  = 1e-9 * (double)atomic_load(&p->busy_ns);
}

size_t tw_pipeline_broken(const tw_pipeline_t *p, uint64_t *image, size_t room)
{
    return tw_broken_list(&p->broken, image, room);
}
