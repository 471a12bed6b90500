/* SPDX-License-Identifier: BSD-3-Clause
 * input/transforms/scale.c - values are multiplied by a number, or divided by a standard deviation:
 * one for all planes or one for each. Pixels become floats.
 */
#include "config.h"

#include "train/input/transforms.h"
#include "train/input/transforms/settings.h"

typedef struct tw_scale {
    size_t n;
    float  factor[TW_CHANNELS_MAX];
} tw_scale_t;

static int parse_factor(void *own, const char *arguments, tw_problem_t *problem)
{
    tw_scale_t *scale = own;

    (void)problem;
    scale->n = tw_setting_numbers(arguments, 1e-9, 1e9, scale->factor, TW_CHANNELS_MAX);
    return scale->n > 0 ? 0 : -1;
}

static int parse_deviation(void *own, const char *arguments, tw_problem_t *problem)
{
    tw_scale_t *scale  = own;
    const int   status = parse_factor(own, arguments, problem);

    for (size_t i = 0; i < scale->n; i++) {
        scale->factor[i] = 1.0f / scale->factor[i];
    }
    return status;
}

static int scale_follow(void *own, tw_image_form_t *form, tw_problem_t *problem)
{
    const tw_scale_t *scale = own;

    form->type = TW_IMAGE_FLOATS;
    return tw_setting_suits(scale->n, form->shape.c, problem);
}

static int scale_run(const void *own, const tw_transform_step_t *step, tw_image_t *image,
                     tw_work_t *work, tw_buffer_t *out, tw_problem_t *problem)
{
    const tw_scale_t *scale = own;
    const float       zero  = 0.0f;

    (void)step;
    return tw_setting_affine(image, &zero, 1, scale->factor, scale->n, work, out, problem);
}

static void affine(const void *own, const tw_transform_step_t *step, const float **mean,
                   const float **factor, size_t *n)
{
    const tw_scale_t *scale = own;

    (void)step;
    (void)mean;
    *factor = scale->factor;
    *n      = scale->n;
}

const tw_transform_ops_t tw_transform_scale     = {.name   = "scale",
                                                   .form   = "scale:S or scale:S,S,S",
                                                   .help   = "multiplied, all planes or each",
                                                   .own    = sizeof(tw_scale_t),
                                                   .parse  = parse_factor,
                                                   .follow = scale_follow,
                                                   .run    = scale_run,
                                                   .affine = affine};
const tw_transform_ops_t tw_transform_deviation = {.name   = "deviation",
                                                   .form   = "deviation:D or deviation:D,D,D",
                                                   .help   = "divided: a standard deviation of all "
                                                             "planes or of each",
                                                   .own    = sizeof(tw_scale_t),
                                                   .parse  = parse_deviation,
                                                   .follow = scale_follow,
                                                   .run    = scale_run,
                                                   .affine = affine};
