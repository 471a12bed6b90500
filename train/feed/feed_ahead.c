/* SPDX-License-Identifier: BSD-3-Clause
 * train/feed/feed_ahead.c - preparation of batches ahead of the run, and taking them.
 */
#include "config.h"

#include <string.h>

#include "train/feed/feed_inside.h"
#include "train/base/share.h"

static int test_follows(const tw_feed_t *feed, uint64_t step)
{
    const uint64_t every = feed->config.eval_every;

    return (every != 0 && step % every == 0) ||
           (feed->config.eval_epochs && step % feed->steps == 0);
}

/* The batch after one. */
static tw_feed_batch_t after(const tw_feed_t *feed, tw_feed_batch_t batch)
{
    if (!batch.testing) {
        batch.step++;
        batch.testing = test_follows(feed, batch.step);
        batch.begin   = 0;
        return batch;
    }
    if (++batch.view < tw_feed_views(feed)) {
        return batch;
    }
    batch.view = 0;
    batch.begin += feed->config.batch;
    if (batch.begin >= tw_feed_count(feed, TW_SUBSET_TEST)) {
        batch.testing = 0;
        batch.begin   = 0;
    }
    return batch;
}

static int same(tw_feed_batch_t a, tw_feed_batch_t b)
{
    return a.step == b.step && a.testing == b.testing && a.begin == b.begin && a.view == b.view;
}

static size_t share_of(const tw_feed_t *feed, tw_feed_batch_t batch, size_t *first)
{
    size_t n;

    tw_share(tw_feed_size(feed, batch), feed->config.size, feed->config.rank, first, &n);
    return n;
}

/* All ranks post the same batches in the same order. */
static void fetch(tw_feed_t *feed, tw_subset_t part, tw_feed_batch_t batch)
{
    const size_t n = tw_feed_size(feed, batch);

    for (size_t i = 0; i < n; i++) {
        feed->batch[i] = tw_feed_image(feed, batch, i);
    }
    feed->source.fetch(&feed->source, part, feed->batch, n);
}

static void post(tw_feed_t *feed, tw_feed_batch_t batch)
{
    tw_pipeline_batch_t to    = {.part     = batch.testing ? TW_SUBSET_TEST : TW_SUBSET_TRAIN,
                                 .epoch    = batch.step / feed->steps,
                                 .view     = batch.view,
                                 .index    = feed->index,
                                 .transfer = feed->transfer};
    const int           least = (int)tw_feed_least(feed, to.part);
    size_t              first;

    to.transfer = to.transfer > least ? to.transfer : least;
    to.n        = share_of(feed, batch, &first);
    for (size_t i = 0; i < to.n; i++) {
        feed->index[i] = tw_feed_image(feed, batch, first + i);
    }
    if (feed->source.fetch != NULL) {
        fetch(feed, to.part, batch);
    }
    feed->posted[tw_pipeline_posted(feed->pipeline)] = batch;
    tw_pipeline_post(feed->pipeline, &to);
}

static int is_last(const tw_feed_t *feed, tw_feed_batch_t batch)
{
    return !batch.testing && batch.step >= feed->config.last;
}

/* Have everything prepared that there is room for. */
static void fill(tw_feed_t *feed, tw_feed_batch_t newest)
{
    size_t posted;

    while ((posted = tw_pipeline_posted(feed->pipeline)) < TW_PIPELINE_DEPTH) {
        newest = after(feed, posted > 0 ? feed->posted[posted - 1] : newest);
        if (is_last(feed, newest)) {
            return;
        }
        post(feed, newest);
    }
}

/* What the threads did for a batch that has been taken. */
static void trace(const tw_feed_t *feed, size_t n)
{
    tw_trace_t *to = feed->config.trace;

    for (size_t i = 0; i < n; i++) {
        const tw_pipeline_times_t at     = tw_pipeline_times(feed->pipeline, i);
        const int64_t             number = at.image;

        if (at.read > at.prepared) {
            continue; /* it was broken, and another one took its place behind the transfer */
        }
        tw_trace_add(to, TW_TRACE_READ, "read", number, at.begun, at.read);
        tw_trace_add(to, TW_TRACE_PREPARE, "operations", number, at.read, at.prepared);
        tw_trace_add(to, TW_TRACE_TRANSFER, "transfer", number, at.prepared, at.moved);
    }
}

static int take_oldest(tw_feed_t *feed, float *out, tw_problem_t *problem)
{
    const int64_t span   = out != NULL ? tw_trace_begin(feed->config.trace, TW_TRACE_COMPUTE,
                                                        "images", (int64_t)feed->posted[0].step)
                                       : -1;
    const int     status = tw_pipeline_take(feed->pipeline, out, problem);
    size_t        first;

    tw_trace_end(feed->config.trace, span);
    if (feed->config.trace != NULL && !feed->source.in_memory && out != NULL && status == 0) {
        trace(feed, share_of(feed, feed->posted[0], &first));
    }
    memmove(feed->posted, feed->posted + 1, sizeof(feed->posted) - sizeof(feed->posted[0]));
    return status;
}

int tw_feed_take(tw_feed_t *feed, tw_feed_batch_t batch, float *out, tw_problem_t *problem)
{
    int status;

    while (tw_pipeline_posted(feed->pipeline) > 0 && !same(feed->posted[0], batch)) {
        take_oldest(feed, NULL, problem);
    }
    if (tw_pipeline_posted(feed->pipeline) == 0) {
        post(feed, batch);
        fill(feed, batch);
    }
    status = take_oldest(feed, out, problem);
    fill(feed, batch);
    return status;
}
