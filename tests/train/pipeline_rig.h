/* SPDX-License-Identifier: BSD-3-Clause
 * tests/train/pipeline_rig.h - a pipeline for tests, whose images are functions of their numbers,
 * and the batches that it prepares.
 */
#ifndef TW_TESTS_TRAIN_PIPELINE_RIG_H
#define TW_TESTS_TRAIN_PIPELINE_RIG_H

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

#include "train/input/pipeline.h"

enum { C = 3, H = 24, W = 20, OUT = C * 16 * 16, IMAGES = 97, ROWS = 13, CLASSES = 5 };

extern uint16_t   labels[IMAGES];
extern atomic_int broken[IMAGES];         /* whether an image is */
extern void (*when_read)(uint32_t image); /* by any thread; NULL: nothing is called */
extern tw_transforms_t      list;
extern tw_problem_t         problem;
extern tw_pipeline_config_t config;
extern tw_pipeline_t       *pipeline;

void set_up(void);
void open_pipeline(void); /* as config says */
void tear_down(void);

/* Image i of batch b, and how many it has: some are smaller, one is empty. */
uint32_t image_of(uint64_t b, size_t i);
size_t   rows_of(uint64_t b);

void post(uint64_t b, int transfer);

/* What batch b is, prepared by one thread, one image after the other. */
void plainly(uint64_t b, float *out);

#endif /* TW_TESTS_TRAIN_PIPELINE_RIG_H */
