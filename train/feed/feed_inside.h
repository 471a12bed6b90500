/* SPDX-License-Identifier: BSD-3-Clause
 * train/feed/feed_inside.h - shared by feed.c and feed_ahead.c, which prepares batches ahead of the
 * run.
 */
#ifndef TW_TRAIN_FEED_INSIDE_H
#define TW_TRAIN_FEED_INSIDE_H

#include "train/feed/feed.h"

enum { ORDERS = 2 }; /* of the current epoch, and of the next, whose first batches are prepared */

typedef struct tw_feed_order {
    uint64_t  epoch;
    int       drawn;
    uint32_t *image; /* [training images] */
} tw_feed_order_t;

struct tw_feed {
    const tw_train_options_t *options;
    tw_source_t               source;
    tw_image_form_t           form; /* of the source's images */
    tw_transforms_t           list[TW_SUBSETS];
    tw_feed_config_t          config;
    uint64_t                  steps; /* of an epoch */
    tw_feed_order_t           order[ORDERS];
    tw_pipeline_t            *pipeline;
    uint32_t                 *index;                     /* of the batch to post            */
    uint32_t                 *batch;                     /* of all ranks                    */
    tw_feed_batch_t           posted[TW_PIPELINE_DEPTH]; /* oldest first */
    int                       transfer;
    uint64_t                  permutation; /* see tw_feed_shuffle() */
};

/** The least transfer index of a list of operations that the device supports. */
size_t tw_feed_least(const tw_feed_t *feed, tw_subset_t part);

#endif /* TW_TRAIN_FEED_INSIDE_H */
