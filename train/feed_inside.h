/* SPDX-License-Identifier: BSD-3-Clause
 * train/feed_inside.h - the parts of feed.c: what is prepared ahead of the run (feed_ahead.c).
 */
#ifndef TW_TRAIN_FEED_INSIDE_H
#define TW_TRAIN_FEED_INSIDE_H

#include "train/feed.h"

enum { ORDERS = 2 }; /* of the epoch at hand and of the one whose first batches are prepared */

typedef struct tw_feed_order {
    uint64_t  epoch;
    int       drawn;
    uint32_t *image; /* [training images] */
} tw_feed_order_t;

struct tw_feed {
    const tw_train_options_t *options;
    tw_source_t               source;
    tw_image_form_t           form; /* of what the source has */
    tw_transforms_t           list[TW_SUBSETS];
    tw_feed_config_t          config;
    uint64_t                  steps; /* of an epoch */
    tw_feed_order_t           order[ORDERS];
    tw_pipeline_t            *pipeline;
    uint32_t                 *index;                     /* of the batch to be posted       */
    tw_feed_batch_t           posted[TW_PIPELINE_DEPTH]; /* oldest first */
    int                       transfer;
    uint64_t                  permutation; /* see tw_feed_shuffle() */
};

/** The least transfer index of a list of operations, by what the device can do. */
size_t tw_feed_least(const tw_feed_t *feed, tw_subset_t part);

#endif /* TW_TRAIN_FEED_INSIDE_H */
