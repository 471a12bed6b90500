/* SPDX-License-Identifier: BSD-3-Clause
 * train/feed/feed.c - see feed.h.
 */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "train/feed/feed_inside.h"
#include "train/input/fold.h"
#include "train/input/prepare.h"
#include "train/input/root.h"
#include "train/base/random.h"

static void shuffle(uint32_t *image, size_t n, uint64_t key)
{
    for (size_t i = n; i > 1; i--) {
        const size_t   j    = tw_random_below(key, i, (uint32_t)i);
        const uint32_t kept = image[i - 1];

        image[i - 1] = image[j];
        image[j]     = kept;
    }
}

void tw_order_draw(uint32_t *order, size_t n, uint64_t seed, uint64_t epoch)
{
    for (size_t i = 0; i < n; i++) {
        order[i] = (uint32_t)i;
    }
    shuffle(order, n, tw_random_key(seed, TW_RANDOM_ORDER, epoch, 0));
}

/* ---- what is done to the images ------------------------------------------------------------ */

/* The list that the model's keys mean, where neither the model nor the command line has one. Images
 * of different sizes become those that the model is made for: a crop of 7/8 of the shorter side
 * (S4, 224 of 256). */
static void usual_list(const tw_feed_t *feed, const tw_network_t *net, char *text, size_t size)
{
    const size_t side = net->input.h > net->input.w ? net->input.h : net->input.w;
    size_t       used = 0;

    text[0] = '\0';
    if (feed->source.shape.h == 0) {
        used = (size_t)snprintf(text, size, "resize:%zu crop:%zux%zu,random ", (8 * side + 6) / 7,
                                net->input.h, net->input.w);
    }
    if (net->crop_pad > 0) {
        used += (size_t)snprintf(text + used, size - used, "crop:pad=%zu ", net->crop_pad);
    }
    snprintf(text + used, size - used, "%smean:%.9g scale:%.9g", net->mirror ? "mirror " : "",
             (double)net->mean, (double)net->scale);
}

static tw_image_form_t form_of(const tw_feed_t *feed, const tw_network_t *net)
{
    const tw_shape_t shape = feed->source.shape;

    if (shape.c != 0) {
        return (tw_image_form_t){.type = TW_IMAGE_PIXELS, .shape = shape};
    }
    return (tw_image_form_t){.type = TW_IMAGE_FILE, .shape = {net->input.c == 1 ? 1 : 3, 0, 0}};
}

static int make_lists(tw_feed_t *feed, const tw_network_t *net, tw_problem_t *problem)
{
    const char *train = feed->options->augment, *test = feed->options->augment_test;
    char        text[2 * TW_TRANSFORMS_TEXT]; /* a list for tests may be longer */

    feed->form = form_of(feed, net);
    usual_list(feed, net, text, sizeof(text));
    train = train != NULL ? train : net->augment[0] != '\0' ? net->augment : text;
    if (tw_transforms_parse(&feed->list[TW_SUBSET_TRAIN], train, feed->form, "--augment",
                            problem) != 0) {
        return -1;
    }
    tw_transforms_for_tests(&feed->list[TW_SUBSET_TRAIN], text, sizeof(text));
    test = test != NULL                                                     ? test
           : feed->options->augment == NULL && net->augment_test[0] != '\0' ? net->augment_test
                                                                            : text;
    if (feed->list[TW_SUBSET_TRAIN].views > 1) {
        return tw_problem_set(problem,
                              "--augment: '%s' makes %zu views of an image, which only tests can "
                              "take: give it to --augment-test",
                              train, feed->list[TW_SUBSET_TRAIN].views);
    }
    return tw_transforms_parse(&feed->list[TW_SUBSET_TEST], test, feed->form, "--augment-test",
                               problem);
}

static int fit(tw_feed_t *feed, tw_network_t *net, tw_problem_t *problem)
{
    const tw_shape_t train = feed->list[TW_SUBSET_TRAIN].form.shape,
                     test  = feed->list[TW_SUBSET_TEST].form.shape;
    tw_problem_t inner     = {0};

    if (train.c != test.c || train.h != test.h || train.w != test.w) {
        return tw_problem_set(problem,
                              "training images become %zux%zux%zu and test images %zux%zux%zu: "
                              "--augment and --augment-test must make them equal",
                              train.h, train.w, train.c, test.h, test.w, test.c);
    }
    if (tw_network_override(net, &train, feed->source.classes, &inner) != 0) {
        return tw_problem_set(problem, "--data %s, %zux%zux%zu, does not fit --model %s: %s",
                              feed->options->data, train.h, train.w, train.c, feed->options->model,
                              inner.text);
    }
    return 0;
}

int tw_feed_create(tw_feed_t **feed_p, const tw_train_options_t *options, tw_network_t *network,
                   MPI_Comm comm, tw_problem_t *problem)
{
    const tw_source_ranks_t ranks = {comm};
    tw_feed_t              *feed  = calloc(1, sizeof(*feed));

    if (feed == NULL) {
        return tw_problem_set(problem, "out of memory");
    }
    feed->options = options;
    if (tw_source_open(&feed->source, options->data, strcmp(options->bad_images, "skip") == 0,
                       &ranks, problem) != 0 ||
        make_lists(feed, network, problem) != 0 || fit(feed, network, problem) != 0) {
        tw_feed_destroy(feed);
        return -1;
    }
    *feed_p = feed;
    return 0;
}

void tw_feed_destroy(tw_feed_t *feed)
{
    if (feed == NULL) {
        return;
    }
    tw_pipeline_destroy(feed->pipeline);
    for (tw_subset_t part = 0; part < TW_SUBSETS; part++) {
        tw_transforms_destroy(&feed->list[part]);
    }
    for (int k = 0; k < ORDERS; k++) {
        free(feed->order[k].image);
    }
    free(feed->index);
    free(feed->batch);
    tw_source_close(&feed->source);
    free(feed);
}

const tw_source_t *tw_feed_source(const tw_feed_t *feed)
{
    return &feed->source;
}

const char *tw_feed_operations(const tw_feed_t *feed, tw_subset_t part)
{
    return feed->list[part].text;
}

const tw_transforms_t *tw_feed_list(const tw_feed_t *feed, tw_subset_t part)
{
    return &feed->list[part];
}

tw_image_form_t tw_feed_form(const tw_feed_t *feed)
{
    return feed->form;
}

uint64_t tw_feed_max_pixels(const tw_feed_t *feed)
{
    return feed->options->max_pixels;
}

int tw_feed_skips(const tw_feed_t *feed)
{
    return strcmp(feed->options->bad_images, "skip") == 0;
}

size_t tw_feed_views(const tw_feed_t *feed)
{
    return feed->list[TW_SUBSET_TEST].views;
}

size_t tw_feed_operation_count(const tw_feed_t *feed)
{
    return feed->list[TW_SUBSET_TRAIN].n;
}

size_t tw_feed_count(const tw_feed_t *feed, tw_subset_t part)
{
    return feed->source.part[part].n;
}

uint32_t tw_feed_label(const tw_feed_t *feed, tw_subset_t part, uint32_t image)
{
    return feed->source.part[part].labels[image];
}

/* ---- which images -------------------------------------------------------------------------- */

int tw_feed_start(tw_feed_t *feed, const tw_feed_config_t *config, tw_problem_t *problem)
{
    const size_t               train   = tw_feed_count(feed, TW_SUBSET_TRAIN);
    const tw_train_options_t  *o       = feed->options;
    const tw_pipeline_config_t prepare = {
        .source    = &feed->source,
        .list      = {&feed->list[TW_SUBSET_TRAIN], &feed->list[TW_SUBSET_TEST]},
        .kernels   = config->kernels,
        .device    = config->device,
        .rows      = (config->batch - 1) / (size_t)config->size + 1,
        .seed      = o->seed,
        .most      = o->max_pixels,
        .computing = (int)o->threads,
        .skip      = tw_feed_skips(feed)};

    feed->config = *config;
    feed->steps  = (train + config->batch - 1) / config->batch;
    feed->index  = malloc(prepare.rows * sizeof(*feed->index));
    feed->batch  = malloc(config->batch * sizeof(*feed->batch));
    for (int k = 0; k < ORDERS; k++) {
        feed->order[k].image = malloc(train * sizeof(*feed->order[k].image));
    }
    if (feed->index == NULL || feed->batch == NULL || feed->order[0].image == NULL ||
        feed->order[1].image == NULL) {
        return tw_problem_set(problem, "out of memory for the order of %zu images", train);
    }
    return tw_pipeline_create(&feed->pipeline, &prepare, problem);
}

void tw_feed_shuffle(tw_feed_t *feed, uint64_t permutation)
{
    feed->permutation    = permutation;
    feed->order[0].drawn = feed->order[1].drawn = 0;
}

static void shuffle_batches(const tw_feed_t *feed, const tw_feed_order_t *order)
{
    const size_t all = tw_feed_count(feed, TW_SUBSET_TRAIN);

    for (size_t begin = 0; begin < all; begin += feed->config.batch) {
        const size_t n = all - begin < feed->config.batch ? all - begin : feed->config.batch;

        shuffle(order->image + begin, n,
                tw_random_key(feed->permutation, TW_RANDOM_ORDER, order->epoch, begin));
    }
}

/* The order of an epoch, drawn when it is first asked for. */
static const uint32_t *order_of(tw_feed_t *feed, uint64_t epoch)
{
    tw_feed_order_t *order = &feed->order[epoch % ORDERS];

    if (!order->drawn || order->epoch != epoch) {
        tw_order_draw(order->image, tw_feed_count(feed, TW_SUBSET_TRAIN), feed->options->seed,
                      epoch);
        order->epoch = epoch;
        order->drawn = 1;
        if (feed->permutation != 0) {
            shuffle_batches(feed, order);
        }
    }
    return order->image;
}

static size_t begin_of(const tw_feed_t *feed, tw_feed_batch_t batch)
{
    return batch.testing ? batch.begin : (size_t)(batch.step % feed->steps) * feed->config.batch;
}

size_t tw_feed_size(const tw_feed_t *feed, tw_feed_batch_t batch)
{
    const size_t left = tw_feed_count(feed, batch.testing ? TW_SUBSET_TEST : TW_SUBSET_TRAIN) -
                        begin_of(feed, batch);

    return left < feed->config.batch ? left : feed->config.batch;
}

uint32_t tw_feed_image(tw_feed_t *feed, tw_feed_batch_t batch, size_t place)
{
    const size_t i = begin_of(feed, batch) + place;

    return batch.testing ? (uint32_t)i : order_of(feed, batch.step / feed->steps)[i];
}

size_t tw_feed_least(const tw_feed_t *feed, tw_subset_t part)
{
    return feed->config.device != NULL ? tw_fold_first(&feed->list[part]) : 0;
}

size_t tw_feed_transfer_least(const tw_feed_t *feed)
{
    return tw_feed_least(feed, TW_SUBSET_TRAIN);
}

int tw_feed_set(tw_feed_t *feed, int threads, int transfer, tw_problem_t *problem)
{
    feed->transfer = transfer;
    return tw_pipeline_threads(feed->pipeline, threads, problem);
}

int tw_feed_single(tw_feed_t *feed, tw_subset_t part, uint64_t epoch, uint32_t image, float *out,
                   tw_problem_t *problem)
{
    tw_broken_t        broken;
    const tw_prepare_t how      = {.source = &feed->source,
                                   .list   = &feed->list[part],
                                   .part   = part,
                                   .seed   = feed->options->seed,
                                   .epoch  = epoch,
                                   .broken = tw_feed_skips(feed) ? &broken : NULL};
    tw_prepared_t      prepared = {.index = image};
    tw_thread_state_t  state;
    int                status;

    tw_broken_init(&broken);
    if (tw_thread_state_create(&state, feed->config.kernels, feed->options->max_pixels) != 0) {
        return tw_problem_set(problem, "out of memory");
    }
    status = tw_prepare_begin(&how, &prepared, 0, &state, NULL, problem) == 0
                 ? tw_prepare_end(&how, &prepared, 0, &state, out, problem)
                 : -1;
    tw_thread_state_destroy(&state);
    tw_broken_destroy(&broken);
    return status;
}

void tw_feed_facts(const tw_feed_t *feed, tw_pipeline_facts_t *facts)
{
    *facts = (tw_pipeline_facts_t){.batches = 0};
    if (feed->pipeline != NULL) {
        tw_pipeline_facts(feed->pipeline, facts);
    }
}

size_t tw_feed_broken(const tw_feed_t *feed, uint64_t *image, size_t room)
{
    return feed->pipeline != NULL ? tw_pipeline_broken(feed->pipeline, image, room) : 0;
}
