/* SPDX-License-Identifier: BSD-3-Clause
 * input/transforms/colour.c - brightness, contrast and saturation, each by a factor drawn from
 * 1 - x .. 1 + x, in this order.
 *
 * A factor f mixes every pixel with a grey: grey + f (pixel - grey). The grey is black
 * (brightness), the mean luma of all that is present of the image (contrast) or the pixel's own
 * luma (saturation, images of three planes). Factors are multiples of 1/65536, and results rounded
 * to 8 bits, so all machines agree.
 */
#include "config.h"

#include <string.h>

#include "train/input/transforms.h"
#include "train/input/transforms/settings.h"
#include "train/base/random.h"

enum { BRIGHTNESS, CONTRAST, SATURATION, WAYS };

static const char *const names[WAYS] = {"brightness", "contrast", "saturation"};

typedef struct tw_colour {
    double most[WAYS];
} tw_colour_t;

static int colour_parse(void *own, const char *arguments, tw_problem_t *problem)
{
    tw_colour_t *colour = own;

    (void)problem;
    if (*arguments == '\0') {
        return -1;
    }
    while (*arguments != '\0') {
        const char *rest = NULL;

        for (int k = 0; k < WAYS && rest == NULL; k++) {
            rest = tw_setting_named(arguments, names[k], 0.0, 1.0, &colour->most[k]);
        }
        if (rest == NULL) {
            return -1;
        }
        arguments = rest;
    }
    return 0;
}

static int colour_follow(void *own, tw_image_form_t *form, tw_problem_t *problem)
{
    const tw_colour_t *colour = own;

    if (form->type == TW_IMAGE_FLOATS) {
        return tw_problem_set(problem, "colours change before pixels become floats");
    }
    if (form->shape.c != 3 && (form->shape.c != 1 || colour->most[SATURATION] > 0.0)) {
        return tw_problem_set(problem,
                              "images have %zu planes; accepted are 3, and 1 without "
                              "saturation",
                              form->shape.c);
    }
    return 0;
}

static int colour_plan(const void *own, const tw_transform_t *next, const tw_image_t *image,
                       uint64_t key, unsigned draw, tw_transform_step_t *step, tw_work_t *work,
                       tw_problem_t *problem)
{
    const tw_colour_t *colour = own;

    (void)next;
    (void)image;
    (void)work;
    (void)problem;
    for (unsigned k = 0; k < WAYS; k++) {
        const double u = 2.0 * (double)tw_random_uniform(key, draw + k) - 1.0;

        step->drawn.whole[k] = (int32_t)(65536.0 * (1.0 + u * colour->most[k]) + 0.5);
    }
    return 0;
}

/* The mean is of all of it. */
static tw_region_t needs(const void *own, const tw_transform_step_t *step, tw_region_t make)
{
    const tw_colour_t *colour = own;
    const tw_region_t  all    = {.h = step->in.h, .w = step->in.w};

    return colour->most[CONTRAST] > 0.0 ? all : make;
}

/* Planes without gaps, in memory that may be changed. */
typedef struct tw_planes {
    const tw_pixels_t *pixels;
    uint8_t           *plane, *luma;
    size_t             planes, n;
} tw_planes_t;

static const uint8_t *luma_of(const tw_planes_t *p)
{
    if (p->planes == 1) {
        return p->plane;
    }
    p->pixels->luma(p->plane, p->plane + p->n, p->plane + 2 * p->n, p->n, p->luma);
    return p->luma;
}

static void change(const tw_planes_t *p, int way, int32_t factor)
{
    const uint8_t *luma = way != BRIGHTNESS ? luma_of(p) : NULL;
    uint8_t        grey = 0;

    if (way == CONTRAST) {
        grey = (uint8_t)((p->pixels->sum(luma, p->n) + p->n / 2) / p->n);
    }
    for (size_t c = 0; c < p->planes; c++) {
        uint8_t *plane = p->plane + c * p->n;

        if (way == SATURATION) {
            p->pixels->blend_each(plane, luma, p->n, factor, plane);
        } else {
            p->pixels->blend(plane, p->n, factor, grey, plane);
        }
    }
}

static int colour_run(const void *own, const tw_transform_step_t *step, tw_image_t *image,
                      tw_work_t *work, tw_buffer_t *out, tw_problem_t *problem)
{
    const tw_colour_t *colour = own;
    tw_buffer_t       *to     = tw_work_free(work, image, out);
    tw_planes_t        p      = {
                    .pixels = work->pixels, .planes = image->shape.c, .n = image->present.h * image->present.w};

    if (p.n == 0) {
        return 0;
    }
    if (tw_image_move(image, work->pixels, to) == SIZE_MAX ||
        (p.luma = tw_buffer_need(&work->rows, p.n)) == NULL) {
        return tw_problem_machine(problem, "out of memory");
    }
    p.plane = to->bytes;
    for (int way = 0; way < WAYS; way++) {
        if (colour->most[way] > 0.0) {
            change(&p, way, step->drawn.whole[way]);
        }
    }
    return 0;
}

const tw_transform_ops_t tw_transform_colour = {
    .name     = "colour",
    .form     = "colour:brightness=X,contrast=X,saturation=X, one of them at least, X 0 to 1",
    .help     = "each by a factor drawn from 1 - X to 1 + X",
    .own      = sizeof(tw_colour_t),
    .parse    = colour_parse,
    .follow   = colour_follow,
    .draws    = WAYS,
    .plan     = colour_plan,
    .needs    = needs,
    .run      = colour_run,
    .in_tests = tw_setting_dropped};
