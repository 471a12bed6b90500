/* SPDX-License-Identifier: BSD-3-Clause
 * input/pipeline_inside.h - the parts of pipeline.c: threads that prepare images
 * (pipeline_workers.c).
 */
#ifndef TW_INPUT_PIPELINE_INSIDE_H
#define TW_INPUT_PIPELINE_INSIDE_H

#include <pthread.h>
#include <stdatomic.h>

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

/** The first image that fails speaks for the batch; nobody reads what it says before all are
 * done. */
void tw_pipeline_fail(tw_pipeline_slot_t *slot, const tw_problem_t *problem);

tw_prepare_t tw_pipeline_preparing(tw_pipeline_t *p, tw_pipeline_slot_t *slot);

/** One image of batch `number`, if there is one that nobody has claimed. */
int tw_pipeline_claim(tw_pipeline_slot_t *slot, uint32_t number, size_t *i);

/** Everything in front of the transfer, and the transfer; then the image is finished. */
void tw_pipeline_prepare(tw_pipeline_t *p, tw_pipeline_slot_t *slot, size_t i,
                         tw_thread_state_t *state);
void tw_pipeline_finish(tw_pipeline_t *p, tw_pipeline_slot_t *slot);

/** All threads that were started end. */
void tw_pipeline_stop(tw_pipeline_t *p);

#endif /* TW_INPUT_PIPELINE_INSIDE_H */
