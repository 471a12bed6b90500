/* SPDX-License-Identifier: BSD-3-Clause
 * input/transforms/mean.c - a mean is subtracted: given, one number for all planes or one for each;
 * or that of the training images, of each plane or of each pixel, computed before the run. Pixels
 * become floats.
 */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "train/input/transforms.h"
#include "train/input/transforms/settings.h"

typedef enum tw_mean_of { GIVEN, PLANES, PIXELS } tw_mean_of_t;

typedef struct tw_mean {
    tw_mean_of_t of;
    size_t       n;                     /* of mean                            */
    float        mean[TW_CHANNELS_MAX]; /* of planes                          */
    tw_shape_t   shape;                 /* of images, where means are learned */
    float       *pixel;                 /* [c][h][w] */
} tw_mean_t;

static int mean_parse(void *own, const char *arguments, tw_problem_t *problem)
{
    tw_mean_t *mean = own;

    (void)problem;
    if (strcmp(arguments, "planes") == 0 || strcmp(arguments, "pixels") == 0) {
        mean->of = arguments[1] == 'l' ? PLANES : PIXELS;
        return 0;
    }
    mean->n = tw_setting_numbers(arguments, -1e6, 1e6, mean->mean, TW_CHANNELS_MAX);
    return mean->n > 0 ? 0 : -1;
}

static void mean_release(void *own)
{
    free(((tw_mean_t *)own)->pixel);
}

static int mean_follow(void *own, tw_image_form_t *form, tw_problem_t *problem)
{
    tw_mean_t *mean = own;

    if (mean->of != GIVEN && (form->type != TW_IMAGE_PIXELS || form->bordered ||
                              form->shape.h == 0 || form->shape.c > TW_CHANNELS_MAX)) {
        return tw_problem_set(problem, "a mean of training images is of pixels, all images of one "
                                       "size and without a border in front of it");
    }
    mean->shape = form->shape;
    mean->n     = mean->of == PLANES ? form->shape.c : mean->n;
    if (mean->of == PIXELS) {
        mean->pixel = calloc(tw_shape_size(form->shape), sizeof(*mean->pixel));
        if (mean->pixel == NULL) {
            return tw_problem_machine(problem, "out of memory");
        }
    }
    form->type = TW_IMAGE_FLOATS;
    return mean->of == PIXELS ? 0 : tw_setting_suits(mean->n, form->shape.c, problem);
}

/* The images, then a sum of each plane or pixel. */
static size_t learns(const void *own)
{
    const tw_mean_t *mean = own;

    return mean->of == GIVEN    ? 0
           : mean->of == PLANES ? 1 + mean->shape.c
                                : 1 + tw_shape_size(mean->shape);
}

static void add(const void *own, const tw_image_t *image, const tw_pixels_t *pixels, uint64_t *sums)
{
    const tw_mean_t *mean = own;
    const size_t     h = mean->shape.h, w = mean->shape.w;

    sums[0]++;
    for (size_t c = 0; c < mean->shape.c; c++) {
        for (size_t y = 0; y < h; y++) {
            const uint8_t *row = (const uint8_t *)image->data + c * image->plane + y * image->row;
            uint64_t      *to  = sums + 1 + (c * h + y) * w;

            if (mean->of == PLANES) {
                sums[1 + c] += pixels->sum(row, w);
                continue;
            }
            for (size_t x = 0; x < w; x++) {
                to[x] += row[x];
            }
        }
    }
}

static void learn(void *own, const uint64_t *sums)
{
    tw_mean_t   *mean = own;
    const size_t n    = learns(own) - 1;
    const double count =
        (double)sums[0] * (mean->of == PLANES ? (double)(mean->shape.h * mean->shape.w) : 1.0);
    float *to = mean->of == PLANES ? mean->mean : mean->pixel;

    for (size_t i = 0; i < n; i++) {
        to[i] = (float)((double)sums[1 + i] / count);
    }
}

/* Of each pixel, by its place in the whole image. */
static int subtract(const tw_mean_t *mean, tw_image_t *image, tw_work_t *work, tw_buffer_t *out,
                    tw_problem_t *problem)
{
    const tw_region_t see = image->present;
    tw_buffer_t      *buffer;
    float            *to;

    if (tw_image_straighten(image, work, problem) != 0) {
        return -1;
    }
    buffer = tw_work_free(work, image, out);
    to     = tw_buffer_need(buffer, image->shape.c * see.h * see.w * sizeof(float) + 1);
    if (to == NULL) {
        return tw_problem_machine(problem, "out of memory");
    }
    for (size_t c = 0; c < image->shape.c; c++) {
        for (size_t y = 0; y < see.h; y++) {
            work->pixels->subtract((const uint8_t *)image->data + c * image->plane + y * image->row,
                                   mean->pixel + (c * mean->shape.h + see.top + y) * mean->shape.w +
                                       see.left,
                                   see.w, to + (c * see.h + y) * see.w);
        }
    }
    image->type  = TW_IMAGE_FLOATS;
    image->data  = to;
    image->row   = see.w;
    image->plane = see.h * see.w;
    return 0;
}

static int mean_run(const void *own, const tw_transform_step_t *step, tw_image_t *image,
                    tw_work_t *work, tw_buffer_t *out, tw_problem_t *problem)
{
    const tw_mean_t *mean = own;
    const float      one  = 1.0f;

    (void)step;
    if (mean->of == PIXELS) {
        return subtract(mean, image, work, out, problem);
    }
    return tw_setting_affine(image, mean->mean, mean->n, &one, 1, work, out, problem);
}

static void affine(const void *own, const tw_transform_step_t *step, const float **of,
                   const float **scale, size_t *n)
{
    const tw_mean_t *mean = own;

    (void)step;
    (void)scale;
    if (mean->of != PIXELS) {
        *of = mean->mean;
        *n  = mean->n;
    }
}

static const float *pixels(const void *own)
{
    const tw_mean_t *mean = own;

    return mean->of == PIXELS ? mean->pixel : NULL;
}

const tw_transform_ops_t tw_transform_mean = {
    .name    = "mean",
    .form    = "mean:M, mean:M,M,M, mean:planes or mean:pixels",
    .help    = "subtracted: given, or that of the training images, per plane or per pixel",
    .own     = sizeof(tw_mean_t),
    .parse   = mean_parse,
    .release = mean_release,
    .follow  = mean_follow,
    .learns  = learns,
    .add     = add,
    .learn   = learn,
    .run     = mean_run,
    .affine  = affine,
    .pixels  = pixels};
