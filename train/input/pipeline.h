/* SPDX-License-Identifier: BSD-3-Clause
 * input/pipeline.h - batches prepared by separate threads while the network computes (S2).
 *
 *     source -> worker threads: read, operations 0 .. t-1 -> transfer -> the device: t .. -> batch
 *
 * t is the transfer index (S2, slide 15). Batches are posted ahead to a ring, and taken in the same
 * order. The workers claim single images of a batch without a lock. The contents of a batch do not
 * depend on the number of threads or on t, which may change with every post but is constant within
 * a batch.
 *
 * One thread posts and takes. In tw_pipeline_take() the device runs the operations after the
 * transfer, for all images of the batch together; if the device is the processor, the computing
 * threads run them.
 */
#ifndef TW_INPUT_PIPELINE_H
#define TW_INPUT_PIPELINE_H

#include <stddef.h>
#include <stdint.h>

#include "train/compute/kernels.h"
#include "train/input/device.h"
#include "train/input/transform.h"
#include "train/input/source.h"

enum { TW_PIPELINE_DEPTH = 3 }; /* batches in preparation or waiting to be taken */

typedef struct tw_pipeline tw_pipeline_t;

typedef struct tw_pipeline_config {
    const tw_source_t     *source;
    const tw_transforms_t *list[TW_SUBSETS]; /* for images of each part; of the same shape    */
    const tw_compute_kernels_t *kernels;
    const tw_input_device_t    *device; /* NULL: the processor                                */
    size_t                      rows;   /* of the largest batch, at least 1                   */
    uint64_t                    seed;   /* of random operations                               */
    uint64_t                    most;   /* most pixels of an encoded image                    */
    int threads;   /* initial workers; 0: the computing threads do all work when a
                                              batch is taken                                     */
    int computing; /* computing threads of the caller                    */
    int skip;      /* replace broken images; else they are an error      */
} tw_pipeline_config_t;

/* A batch to prepare. */
typedef struct tw_pipeline_batch {
    tw_subset_t     part;
    uint64_t        epoch;    /* of random operations                                  */
    size_t          view;     /* of the list's views of each image                     */
    const uint32_t *index;    /* [n] images of the part; copied                        */
    size_t          n;        /* at most rows; 0 is allowed                            */
    int             transfer; /* 0 .. operations of the list; beyond: all of them      */
} tw_pipeline_batch_t;

/* Totals since the beginning. */
typedef struct tw_pipeline_facts {
    uint64_t batches, images; /* taken                                                            */
    uint64_t values;          /* of these batches                                                 */
    uint64_t bytes;           /* transferred: 1 per 8-bit value, 4 per float                      */
    uint64_t grown;           /* buffers allocated, all threads and batches                       */
    double   waited;          /* seconds that tw_pipeline_take() waited for workers               */
    double   device;          /* seconds in it of the operations after the transfer               */
    double   busy;            /* CPU seconds of the workers                                       */
} tw_pipeline_facts_t;

/** @return 0, or -1 with the problem set. All pointers in config must outlive it. */
int tw_pipeline_create(tw_pipeline_t **pipeline_p, const tw_pipeline_config_t *config,
                       tw_problem_t *problem);

/** Stops the workers, even while they work; NULL is allowed. */
void tw_pipeline_destroy(tw_pipeline_t *pipeline);

/** Number of posted batches that are not taken yet. */
size_t tw_pipeline_posted(const tw_pipeline_t *pipeline);

/** Post a batch; fewer than TW_PIPELINE_DEPTH must be posted before. Does not block. */
void tw_pipeline_post(tw_pipeline_t *pipeline, const tw_pipeline_batch_t *batch);

/* Times of an image of the last taken batch, in nanoseconds. */
typedef struct tw_pipeline_times {
    uint32_t image;
    uint64_t begun, read, prepared, moved;
} tw_pipeline_times_t;

/** Times of row i of that batch. */
tw_pipeline_times_t tw_pipeline_times(const tw_pipeline_t *pipeline, size_t i);

/** Take the oldest posted batch: wait for it, and run the remaining operations.
 * @param [out] out  [n][c][h][w] of that batch, in memory of the device; NULL: discard it.
 * @return 0, or -1 with the problem set, which names a broken image. */
int tw_pipeline_take(tw_pipeline_t *pipeline, float *out, tw_problem_t *problem);

/** Set the number of threads from the next image on; 0: none, as above.
 * @return 0, or -1 with the problem set: no more threads can be created. */
int tw_pipeline_threads(tw_pipeline_t *pipeline, int threads, tw_problem_t *problem);

void tw_pipeline_facts(const tw_pipeline_t *pipeline, tw_pipeline_facts_t *facts);

/** Replaced images: their number, and the first `room` of them, subset << 32 | index. */
size_t tw_pipeline_broken(const tw_pipeline_t *pipeline, uint64_t *image, size_t room);

#endif /* TW_INPUT_PIPELINE_H */
