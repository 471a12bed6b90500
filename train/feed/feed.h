/* SPDX-License-Identifier: BSD-3-Clause
 * train/feed/feed.h - the images of a run: the contents of each batch, and their preparation ahead.
 *
 * The images of batch s are a function of (seed, epoch, s) only (S2, slide 22). A feed computes the
 * order in which a run trains and tests, so it prepares the batches after the current one, also
 * across epochs. A batch in another order than predicted only costs time.
 */
#ifndef TW_TRAIN_FEED_H
#define TW_TRAIN_FEED_H

#include <stddef.h>
#include <stdint.h>

#include <mpi.h>

#include <thinwire/trace.h>

#include "train/input/pipeline.h"
#include "train/input/source.h"
#include "train/model/network.h"
#include "train/options.h"

typedef struct tw_feed tw_feed_t;

/** Open --data, choose the operations on the images, and fit the network to them. Every rank does
 * the same; collective where rank 0 sends the images. @return 0, or -1 with the problem set. */
int tw_feed_create(tw_feed_t **feed_p, const tw_train_options_t *options, tw_network_t *network,
                   MPI_Comm comm, tw_problem_t *problem);

void tw_feed_destroy(tw_feed_t *feed); /* NULL is allowed */

const tw_source_t *tw_feed_source(const tw_feed_t *feed);

/** The operations on the images of a part, as text. */
const char *tw_feed_operations(const tw_feed_t *feed, tw_subset_t part);

/** Number of views of each image in tests, whose outputs are averaged. */
size_t tw_feed_views(const tw_feed_t *feed);

/** Number of operations on training images: transfer indices are 0 .. this number. */
size_t tw_feed_operation_count(const tw_feed_t *feed);

/** The list of operations, the form of its input, and two settings, for code that reads images
 * before the run. */
const tw_transforms_t *tw_feed_list(const tw_feed_t *feed, tw_subset_t part);
tw_image_form_t        tw_feed_form(const tw_feed_t *feed);
uint64_t               tw_feed_max_pixels(const tw_feed_t *feed);
int                    tw_feed_skips(const tw_feed_t *feed);

/** Images of a part. */
size_t tw_feed_count(const tw_feed_t *feed, tw_subset_t part);

/* The progress of a run, and its division. */
typedef struct tw_feed_config {
    int                         rank, size;
    size_t                      batch;       /* images of all ranks together              */
    uint64_t                    last;        /* total steps; UINT64_MAX: open             */
    uint64_t                    eval_every;  /* steps; 0: by epochs                       */
    int                         eval_epochs; /* a test at the end of each epoch          */
    const tw_compute_kernels_t *kernels;
    const tw_input_device_t    *device; /* NULL: the processor */
    tw_trace_t                 *trace;  /* NULL: none          */
} tw_feed_config_t;

/** Start the preparation. @return 0, or -1 with the problem set. */
int tw_feed_start(tw_feed_t *feed, const tw_feed_config_t *config, tw_problem_t *problem);

/** The least transfer index of the training images: operations before it cannot run on the device.
 * 0 for the processor. */
size_t tw_feed_transfer_least(const tw_feed_t *feed);

/** Use `threads` threads, and transfer images after `transfer` operations, from the next posted
 * batch on. @return 0, or -1 with the problem set. */
int tw_feed_set(tw_feed_t *feed, int threads, int transfer, tw_problem_t *problem);

/* A batch of the run. */
typedef struct tw_feed_batch {
    uint64_t step;    /* steps before it                             */
    int      testing; /* a batch of test images, from `begin` on     */
    size_t   begin;
    size_t   view; /* of test images: each batch is taken once per view        */
} tw_feed_batch_t;

/** Images of a batch, of all ranks together. */
size_t tw_feed_size(const tw_feed_t *feed, tw_feed_batch_t batch);

/** The image at index `place` of the batch, as an index in its part. */
uint32_t tw_feed_image(tw_feed_t *feed, tw_feed_batch_t batch, size_t place);

/** Label of an image of a part. */
uint32_t tw_feed_label(const tw_feed_t *feed, tw_subset_t part, uint32_t image);

/** This rank's share of a batch.
 * @param [out] out  [share][c][h][w], in memory of the device. @return 0, or -1 with the problem
 *                   set. */
int tw_feed_take(tw_feed_t *feed, tw_feed_batch_t batch, float *out, tw_problem_t *problem);

/** One image as input of the network in an epoch, prepared by the calling thread.
 * @param [out] out  [c][h][w]. @return 0, or -1 with the problem set. */
int tw_feed_single(tw_feed_t *feed, tw_subset_t part, uint64_t epoch, uint32_t image, float *out,
                   tw_problem_t *problem);

/** Permute the images inside every batch by a number; 0, the default: no permutation. For tests of
 * the effect of the order inside a batch. Call it before the first batch is taken. */
void tw_feed_shuffle(tw_feed_t *feed, uint64_t permutation);

/** Totals of the loader; zeros before tw_feed_start(). */
void tw_feed_facts(const tw_feed_t *feed, tw_pipeline_facts_t *facts);

/** Broken images that this rank has replaced: their number, and the first `room` of them, as
 * subset << 32 | index. */
size_t tw_feed_broken(const tw_feed_t *feed, uint64_t *image, size_t room);

/** The order of n images in an epoch. */
void tw_order_draw(uint32_t *order, size_t n, uint64_t seed, uint64_t epoch);

#endif /* TW_TRAIN_FEED_H */
