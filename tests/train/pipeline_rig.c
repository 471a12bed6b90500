/* SPDX-License-Identifier: BSD-3-Clause
 * tests/train/pipeline_rig.c - see pipeline_rig.h.
 */
#include "config.h"

#include <check.h>
#include <stdio.h>
#include <string.h>

#include "tests/train/pipeline_rig.h"
#include "train/input/prepare.h"
#include "train/base/random.h"

static uint8_t pixels[IMAGES][C * H * W];

uint16_t   labels[IMAGES];
atomic_int broken[IMAGES];
void (*when_read)(uint32_t image);
tw_transforms_t      list;
tw_problem_t         problem;
tw_pipeline_config_t config;
tw_pipeline_t       *pipeline;

static int read_image(const tw_source_t *source, tw_subset_t part, uint32_t index,
                      tw_source_reader_t *reader, tw_image_record_t *record, tw_problem_t *why)
{
    (void)source;
    (void)part;
    if (when_read != NULL) {
        when_read(index);
    }
    if (atomic_load(&broken[index])) {
        return tw_problem_set(why, "image %u: it is torn", (unsigned)index);
    }
    if (tw_buffer_need(&reader->buffer, sizeof(pixels[0])) == NULL) {
        return tw_problem_set(why, "out of memory");
    }
    memcpy(reader->buffer.bytes, pixels[index], sizeof(pixels[0]));
    *record = (tw_image_record_t){
        .shape = {C, H, W}, .bytes = reader->buffer.bytes, .n = sizeof(pixels[0])};
    return 0;
}

static void name_of(const tw_source_t *source, tw_subset_t part, uint32_t index, char *name,
                    size_t size)
{
    (void)source;
    (void)part;
    snprintf(name, size, "image %u", (unsigned)index);
}

static const tw_source_ops_t ops = {.name = "test", .read = read_image, .name_of = name_of};

static tw_source_t source;

void set_up(void)
{
    const tw_image_form_t from = {.type = TW_IMAGE_PIXELS, .shape = {C, H, W}};

    for (size_t i = 0; i < IMAGES; i++) {
        labels[i] = (uint16_t)(i % CLASSES);
        for (size_t k = 0; k < C * H * W; k++) {
            pixels[i][k] = (uint8_t)tw_random_bits(i, k);
        }
    }
    problem = (tw_problem_t){0};
    source  = (tw_source_t){.ops     = &ops,
                            .shape   = {C, H, W},
                            .classes = CLASSES,
                            .part    = {{IMAGES, labels}, {IMAGES, labels}}};
    ck_assert_int_eq(tw_transforms_parse(&list,
                                         "resize:18x22 crop:16 mirror colour:contrast=0.5 "
                                         "mean:100 scale:0.01",
                                         from, "list", &problem),
                     0);
    config = (tw_pipeline_config_t){.source    = &source,
                                    .list      = {&list, &list},
                                    .kernels   = tw_kernels_for("scalar"),
                                    .rows      = ROWS,
                                    .seed      = 7,
                                    .most      = 1 << 20,
                                    .threads   = 1,
                                    .computing = 1};
}

void open_pipeline(void)
{
    ck_assert_msg(tw_pipeline_create(&pipeline, &config, &problem) == 0, "%s", problem.text);
}

void tear_down(void)
{
    tw_pipeline_destroy(pipeline);
    tw_transforms_destroy(&list);
    pipeline = NULL;
}

/* Image i of batch b. */
uint32_t image_of(uint64_t b, size_t i)
{
    return tw_random_below(b, i, IMAGES);
}

size_t rows_of(uint64_t b)
{
    return b % 7 == 6 ? b % ROWS : ROWS; /* some are smaller, one is empty */
}

void post(uint64_t b, int transfer)
{
    uint32_t                  index[ROWS];
    const tw_pipeline_batch_t batch = {.part     = b % 3 == 2 ? TW_SUBSET_TEST : TW_SUBSET_TRAIN,
                                       .epoch    = b / 5,
                                       .index    = index,
                                       .n        = rows_of(b),
                                       .transfer = transfer};

    for (size_t i = 0; i < batch.n; i++) {
        index[i] = image_of(b, i);
    }
    tw_pipeline_post(pipeline, &batch);
}

/* What batch b is, prepared by one thread, one image after the other. */
void plainly(uint64_t b, float *out)
{
    tw_thread_state_t state;

    ck_assert_int_eq(tw_thread_state_create(&state, config.kernels, config.most), 0);
    for (size_t i = 0; i < rows_of(b); i++) {
        const tw_prepare_t how      = {.source = &source,
                                       .list   = &list,
                                       .part   = b % 3 == 2 ? TW_SUBSET_TEST : TW_SUBSET_TRAIN,
                                       .seed   = 7,
                                       .epoch  = b / 5};
        tw_prepared_t      prepared = {.index = image_of(b, i)};

        ck_assert_int_eq(tw_prepare_begin(&how, &prepared, list.n, &state, NULL, &problem), 0);
        ck_assert_int_eq(tw_prepare_end(&how, &prepared, list.n, &state, out + i * OUT, &problem),
                         0);
    }
    tw_thread_state_destroy(&state);
}
