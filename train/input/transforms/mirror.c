/* SPDX-License-Identifier: BSD-3-Clause
 * input/transforms/mirror.c - left and right exchanged in half of the images, or in one of two
 * views of each. Moves no bytes: rows are seen backward.
 */
#include "config.h"

#include <string.h>

#include "train/input/transforms.h"
#include "train/input/transforms/settings.h"
#include "train/base/random.h"

typedef struct tw_mirror {
    int both;
} tw_mirror_t;

static int mirror_parse(void *own, const char *arguments, tw_problem_t *problem)
{
    tw_mirror_t *mirror = own;

    mirror->both = strcmp(arguments, "both") == 0;
    return mirror->both ? 0 : tw_setting_none(own, arguments, problem);
}

static size_t views(const void *own)
{
    return ((const tw_mirror_t *)own)->both ? 2 : 1;
}

static int mirror_plan(const void *own, const tw_transform_t *next, const tw_image_t *image,
                       uint64_t key, unsigned draw, tw_transform_step_t *step, tw_work_t *work,
                       tw_problem_t *problem)
{
    const tw_mirror_t *mirror = own;

    (void)next;
    (void)image;
    (void)work;
    (void)problem;
    step->drawn.whole[0] = mirror->both ? (int32_t)step->view : tw_random_below(key, draw, 2) == 1;
    return 0;
}

static tw_region_t mirrored(const tw_transform_step_t *step, tw_region_t region)
{
    if (step->drawn.whole[0]) {
        region.left = step->in.w - region.left - region.w;
    }
    return region;
}

static tw_region_t needs(const void *own, const tw_transform_step_t *step, tw_region_t make)
{
    (void)own;
    return mirrored(step, make);
}

static int mirror_run(const void *own, const tw_transform_step_t *step, tw_image_t *image,
                      tw_work_t *work, tw_buffer_t *out, tw_problem_t *problem)
{
    (void)own;
    (void)work;
    (void)out;
    (void)problem;
    image->present  = mirrored(step, image->present);
    image->mirrored = image->mirrored != step->drawn.whole[0];
    return 0;
}

const tw_transform_ops_t tw_transform_mirror = {
    .name  = "mirror",
    .form  = "mirror or mirror:both",
    .help  = "left and right exchanged, in half of the images; both: in tests, two views of each",
    .own   = sizeof(tw_mirror_t),
    .parse = mirror_parse,
    .views = views,
    .draws = 1,
    .plan  = mirror_plan,
    .needs = needs,
    .run   = mirror_run,
    .view  = 1,
    .in_tests = tw_setting_dropped};
