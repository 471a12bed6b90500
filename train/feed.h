/* SPDX-License-Identifier: BSD-3-Clause
 * train/feed.h - the images of a run: which ones a batch has, and that they are prepared in time.
 *
 * Which images batch s holds is a function of (seed, epoch, s) alone (S2, slide 22). A feed knows
 * the order in which a run trains and tests, so it has the batches after the one at hand prepared,
 * across epochs too. A batch that comes otherwise than foreseen costs time and nothing else.
 */
#ifndef TW_TRAIN_FEED_H
#define TW_TRAIN_FEED_H

#include <stddef.h>
#include <stdint.h>

#include <thinwire/trace.h>

#include "train/input/pipeline.h"
#include "train/input/source.h"
#include "train/model/network.h"
#include "train/options.h"

typedef struct tw_feed tw_feed_t;

/** Open --data, settle what is done to the images, and make the network fit to them. Local: every
 * rank does the same. @return 0, or -1 with the problem set. */
int tw_feed_create(tw_feed_t **feed_p, const tw_train_options_t *options, tw_network_t *network,
                   tw_problem_t *problem);

void tw_feed_destroy(tw_feed_t *feed); /* NULL is allowed */

const tw_source_t *tw_feed_source(const tw_feed_t *feed);

/** What is done to the images of a part, as text. */
const char *tw_feed_operations(const tw_feed_t *feed, tw_subset_t part);

/** Views that tests take of each image: their answers are averaged. */
size_t tw_feed_views(const tw_feed_t *feed);

/** How many operations the training images have: transfer indices are 0 to that. */
size_t tw_feed_operation_count(const tw_feed_t *feed);

/** The lists themselves; what they are given; and two settings, for those who look at images before
 * the run. */
const tw_transforms_t *tw_feed_list(const tw_feed_t *feed, tw_subset_t part);
tw_image_form_t        tw_feed_form(const tw_feed_t *feed);
uint64_t               tw_feed_max_pixels(const tw_feed_t *feed);
int                    tw_feed_skips(const tw_feed_t *feed);

/** Images of a part. */
size_t tw_feed_count(const tw_feed_t *feed, tw_subset_t part);

/* Where a run stands, and its division. */
typedef struct tw_feed_config {
    int                         rank, size;
    size_t                      batch;       /* images of all ranks together              */
    uint64_t                    last;        /* no step after so many; UINT64_MAX: open   */
    uint64_t                    eval_every;  /* steps; 0: by epochs                       */
    int                         eval_epochs; /* a test at the end of each epoch          */
    const tw_compute_kernels_t *kernels;
    const tw_input_device_t    *device; /* NULL: the processor */
    tw_trace_t                 *trace;  /* NULL: none          */
} tw_feed_config_t;

/** Begin to prepare. @return 0, or -1 with the problem set. */
int tw_feed_start(tw_feed_t *feed, const tw_feed_config_t *config, tw_problem_t *problem);

/** The least transfer index of the training images: in front of it are operations that the device
 * does not do. 0 for the processor. */
size_t tw_feed_transfer_least(const tw_feed_t *feed);

/** Prepare with so many threads, and move images after so many operations, from the next batch on
 * that is posted. @return 0, or -1 with the problem set. */
int tw_feed_set(tw_feed_t *feed, int threads, int transfer, tw_problem_t *problem);

/* A batch of the run. */
typedef struct tw_feed_batch {
    uint64_t step;    /* steps done before it                        */
    int      testing; /* of the test images, `begin` of them tested  */
    size_t   begin;
    size_t   view; /* of the test images: each batch comes once for every view */
} tw_feed_batch_t;

/** Images of a batch, of all ranks together. */
size_t tw_feed_size(const tw_feed_t *feed, tw_feed_batch_t batch);

/** The image at a place of the batch, in its part. */
uint32_t tw_feed_image(tw_feed_t *feed, tw_feed_batch_t batch, size_t place);

/** Label of an image of a part. */
uint32_t tw_feed_label(const tw_feed_t *feed, tw_subset_t part, uint32_t image);

/** This rank's share of a batch.
 * @param [out] out  [share][c][h][w], in memory of the device. @return 0, or -1 with the problem
 *                   set. */
int tw_feed_take(tw_feed_t *feed, tw_feed_batch_t batch, float *out, tw_problem_t *problem);

/** One image as the network gets it in an epoch, by the calling thread.
 * @param [out] out  [c][h][w]. @return 0, or -1 with the problem set. */
int tw_feed_single(tw_feed_t *feed, tw_subset_t part, uint64_t epoch, uint32_t image, float *out,
                   tw_problem_t *problem);

/** Shuffle the images inside every batch once more, by a number: 0, as it is at first, for not. For
 * tests of what the order inside a batch changes. Nothing may have been taken. */
void tw_feed_shuffle(tw_feed_t *feed, uint64_t permutation);

/** Totals of the loader; zeros before tw_feed_start(). */
void tw_feed_facts(const tw_feed_t *feed, tw_pipeline_facts_t *facts);

/** Broken images that this rank has replaced: how many, and the first `room` of them, subset << 32
 * | index. */
size_t tw_feed_broken(const tw_feed_t *feed, uint64_t *image, size_t room);

/** The order of n images in an epoch. */
void tw_order_draw(uint32_t *order, size_t n, uint64_t seed, uint64_t epoch);

#endif /* TW_TRAIN_FEED_H */
