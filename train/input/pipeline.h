/* SPDX-License-Identifier: BSD-3-Clause
 * input/pipeline.h - batches prepared by threads of their own while the network computes (S2).
 *
 *     source -> worker threads: read, operations 0 .. t-1 -> transfer -> the device: t .. -> batch
 *
 * t is the transfer index (S2, slide 15). Batches are posted ahead into a ring, and taken in the
 * same order. The workers divide a batch by images and claim them without a lock; what a batch
 * holds does not depend on the number of threads or on t, which may change with every post, but is
 * one number within a batch.
 *
 * One thread posts and takes. The operations behind the transfer are done by the device, all images
 * of the batch together, in tw_pipeline_take(); with the processor as the device, by the computing
 * threads.
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
    uint64_t                    seed;   /* of what operations draw                            */
    uint64_t                    most;   /* pixels of one encoded image that are accepted      */
    int threads;   /* workers to begin with; 0: the computing threads do it all, when a
                                              batch is taken                                     */
    int computing; /* threads of the caller, for what it does itself     */
    int skip;      /* a broken image is replaced; else it is an error    */
} tw_pipeline_config_t;

/* A batch to be prepared. */
typedef struct tw_pipeline_batch {
    tw_subset_t     part;
    uint64_t        epoch;    /* of what operations draw                               */
    size_t          view;     /* of the list's views of each image                     */
    const uint32_t *index;    /* [n] images of the part; copied                        */
    size_t          n;        /* at most rows; 0 is allowed                            */
    int             transfer; /* 0 .. operations of the list; beyond: all of them      */
} tw_pipeline_batch_t;

/* Totals since the beginning. */
typedef struct tw_pipeline_facts {
    uint64_t batches, images; /* taken                                                            */
    uint64_t values;          /* of these batches                                                 */
    uint64_t bytes;           /* that moved at the transfer: a value of 8 bits 1, a float 4       */
    uint64_t grown;           /* buffers allocated, all threads and batches                       */
    double   waited;          /* seconds that tw_pipeline_take() waited for workers               */
    double   device;          /* and took for the operations behind the transfer                  */
    double   busy;            /* processor seconds of the workers                                 */
} tw_pipeline_facts_t;

/** @return 0, or -1 with the problem set. All pointers in config must outlive it. */
int tw_pipeline_create(tw_pipeline_t **pipeline_p, const tw_pipeline_config_t *config,
                       tw_problem_t *problem);

/** Ends the workers, whatever they are doing; NULL is allowed. */
void tw_pipeline_destroy(tw_pipeline_t *pipeline);

/** Batches that are posted and not yet taken. */
size_t tw_pipeline_posted(const tw_pipeline_t *pipeline);

/** Have a batch prepared. Fewer than TW_PIPELINE_DEPTH may be posted. Never waits. */
void tw_pipeline_post(tw_pipeline_t *pipeline, const tw_pipeline_batch_t *batch);

/* When what happened to an image of the batch that was taken last, in nanoseconds. */
typedef struct tw_pipeline_times {
    uint32_t image;
    uint64_t begun, read, prepared, moved;
} tw_pipeline_times_t;

/** Times of row i of that batch. */
tw_pipeline_times_t tw_pipeline_times(const tw_pipeline_t *pipeline, size_t i);

/** Take the oldest batch that is posted: wait for it, and do what is left to do.
 * @param [out] out  [n][c][h][w] of that batch, in memory of the device; NULL: throw it away.
 * @return 0, or -1 with the problem set: an image of it is broken, by name. */
int tw_pipeline_take(tw_pipeline_t *pipeline, float *out, tw_problem_t *problem);

/** Work with so many threads from the next image on; 0: none, as above.
 * @return 0, or -1 with the problem set: the system gives no more threads. */
int tw_pipeline_threads(tw_pipeline_t *pipeline, int threads, tw_problem_t *problem);

void tw_pipeline_facts(const tw_pipeline_t *pipeline, tw_pipeline_facts_t *facts);

/** Images that were replaced: how many, and the first `room` of them, subset << 32 | index. */
size_t tw_pipeline_broken(const tw_pipeline_t *pipeline, uint64_t *image, size_t room);

#endif /* TW_INPUT_PIPELINE_H */
