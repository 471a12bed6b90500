/* SPDX-License-Identifier: BSD-3-Clause
 * input/transforms/mean.c - a mean is subtracted: one number for all planes or one for each. Pixels
 * become floats.
 */
#include "config.h"

#include "train/input/transforms.h"
#include "train/input/transforms/settings.h"

typedef struct tw_mean {
    size_t n;
    float  mean[TW_CHANNELS_MAX];
} tw_mean_t;

static int parse(void *own, const char *arguments, tw_problem_t *problem)
{
    tw_mean_t *mean = own;

    (void)problem;
    mean->n = tw_setting_numbers(arguments, -1e6, 1e6, mean->mean, TW_CHANNELS_MAX);
    return mean->n > 0 ? 0 : -1;
}

static int follow(void *own, tw_form_t *form, tw_problem_t *problem)
{
    const tw_mean_t *mean = own;

    form->type = TW_IMAGE_FLOATS;
    return tw_setting_suits(mean->n, form->shape.c, problem);
}

static int run(const void *own, const tw_step_t *step, tw_image_t *image, tw_work_t *work,
               tw_buffer_t *out, tw_problem_t *problem)
{
    const tw_mean_t *mean = own;
    const float      one  = 1.0f;

    (void)step;
    return tw_setting_affine(image, mean->mean, mean->n, &one, 1, work, out, problem);
}

const tw_transform_ops_t tw_transform_mean = {.name   = "mean",
                                              .form   = "mean:M or mean:M,M,M",
                                              .help   = "subtracted, from all planes or from each; "
                                                        "pixels are 0 to 255",
                                              .own    = sizeof(tw_mean_t),
                                              .parse  = parse,
                                              .follow = follow,
                                              .run    = run};
