/* SPDX-License-Identifier: BSD-3-Clause
 * input/pipeline.c - see pipeline.h.
 *
 * A slot of the ring holds one batch. Its word `claim` is the batch's number and how many of its
 * images nobody has claimed yet; a worker takes one by lowering it, and so cannot take an image of
 * a batch that has come into the slot since. The lock is only for going to sleep and waking up.
 */
#include "config.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "runtime/base/clock.h"
#include "train/input/pipeline_inside.h"

static double now(void)
{
    return 1e-9 * (double)tw_clock_ns();
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

static void pipeline_release(const tw_input_device_t *device, tw_staging_t *staging)
{
    if (device->release != NULL) {
        device->release(device, staging);
    }
    tw_buffer_destroy(&staging->host);
}

void tw_pipeline_destroy(tw_pipeline_t *p)
{
    if (p == NULL) {
        return;
    }
    tw_pipeline_stop(p);
    for (int i = 0; p->computing != NULL && i < p->config.computing; i++) {
        tw_thread_state_destroy(&p->computing[i]);
    }
    free(p->computing);
    for (int k = 0; k < TW_PIPELINE_DEPTH; k++) {
        for (size_t i = 0; p->slot[k].row != NULL && i < p->config.rows; i++) {
            pipeline_release(p->config.device, &p->slot[k].row[i].staging);
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
    for (size_t i; tw_pipeline_claim(slot, (uint32_t)p->taken, &i);) {
        tw_pipeline_prepare(p, slot, i, tw_thread_state_own(p->computing));
        tw_pipeline_finish(p, slot);
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
static void pipeline_run(tw_pipeline_t *p, tw_pipeline_slot_t *slot, float *out)
{
    const tw_prepare_t     how     = tw_pipeline_preparing(p, slot);
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
        tw_pipeline_fail(slot, &problem);
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
        pipeline_run(p, slot, out);
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
