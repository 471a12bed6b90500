/* SPDX-License-Identifier: BSD-3-Clause
 * input/transforms/crop.c - a part of the image, its corner anywhere or in the centre, or out of
 * the image with a border around it; or five of them, the corners and the centre (with mirror:both
 * the ten views of AlexNet's authors). Moves no bytes: what is seen of the image changes.
 *
 * A border stays empty and becomes 0 in the batch, as a pixel of the mean does.
 */
#include "config.h"

#include <stdio.h>
#include <string.h>

#include "train/input/transforms.h"
#include "train/input/transforms/settings.h"
#include "train/base/random.h"

typedef enum tw_crop_place { RANDOM, CENTRE, FIVE, PLACES } tw_crop_place_t;

typedef struct tw_crop {
    size_t          h, w; /* 0: those of the image */
    size_t          pad;
    tw_crop_place_t place;
} tw_crop_t;

enum { PAD_MAX = 1024 };

/* What follows the name of a place, without its comma; NULL: it is another word. */
static const char *after_place(const char *text, tw_crop_place_t *place)
{
    static const char *const names[PLACES] = {"random", "centre", "five"};

    for (int k = 0; k < PLACES; k++) {
        const size_t length = strlen(names[k]);

        if (strncmp(text, names[k], length) == 0) {
            *place = (tw_crop_place_t)k;
            text += length;
            return *text == '\0' ? text : *text == ',' && text[1] != '\0' ? text + 1 : NULL;
        }
    }
    return NULL;
}

static int crop_parse(void *own, const char *arguments, tw_problem_t *problem)
{
    tw_crop_t *crop = own;
    double     pad;
    int        both, padded = 0, placed = 0;

    (void)problem;
    if (*arguments >= '0' && *arguments <= '9') {
        arguments = tw_setting_size(arguments, &crop->h, &crop->w, &both);
    } else if (strncmp(arguments, "pad=", 4) != 0) {
        return -1;
    }
    while (arguments != NULL && *arguments != '\0') {
        const char *rest = tw_setting_named(arguments, "pad", 0.0, PAD_MAX, &pad);

        if (rest != NULL) {
            crop->pad = (size_t)pad;
            arguments = !padded && (double)crop->pad == pad ? rest : NULL;
            padded    = 1;
        } else {
            arguments = placed ? NULL : after_place(arguments, &crop->place);
            placed    = 1;
        }
    }
    return arguments != NULL ? 0 : -1;
}

static int too_small(const tw_crop_t *crop, size_t h, size_t w, const char *what,
                     tw_problem_t *problem)
{
    if (crop->h <= h + 2 * crop->pad && crop->w <= w + 2 * crop->pad) {
        return 0;
    }
    return tw_problem_set(problem, "%s of %zux%zu is smaller than the crop of %zux%zu", what, h, w,
                          crop->h, crop->w);
}

static int crop_follow(void *own, tw_image_form_t *form, tw_problem_t *problem)
{
    const tw_crop_t *crop = own;
    const size_t     h    = form->shape.h != 0 ? form->shape.h : form->least,
                 w        = form->shape.h != 0 ? form->shape.w : form->least;

    if (h != 0 &&
        too_small(crop, h, w, form->shape.h != 0 ? "an image" : "a resized image", problem) != 0) {
        return -1;
    }
    if (crop->h != 0) {
        form->shape.h = crop->h;
        form->shape.w = crop->w;
    }
    form->bordered |= crop->pad > 0;
    return 0;
}

static size_t views(const void *own)
{
    return ((const tw_crop_t *)own)->place == FIVE ? 5 : 1;
}

/* Where the crop begins in one direction, of 0 .. room. Of the five, the first four are the
 * corners: from the left to the right, then from the top to the bottom. */
static int32_t crop_begin(const tw_crop_t *crop, size_t room, int far, uint64_t key, unsigned draw,
                          size_t view)
{
    if (crop->place == RANDOM) {
        return (int32_t)tw_random_below(key, draw, (uint32_t)room + 1);
    }
    return (int32_t)(crop->place == CENTRE || view == 4 ? room / 2 : far ? room : 0);
}

static int crop_plan(const void *own, const tw_transform_t *next, const tw_image_t *image,
                     uint64_t key, unsigned draw, tw_transform_step_t *step, tw_work_t *work,
                     tw_problem_t *problem)
{
    const tw_crop_t *crop = own;
    const size_t     view = step->view;

    (void)next;
    (void)image;
    (void)work;
    if (too_small(crop, step->in.h, step->in.w, "an image", problem) != 0) {
        return -1;
    }
    if (crop->h != 0) {
        step->out.h = crop->h;
        step->out.w = crop->w;
    }
    step->drawn.whole[0] =
        crop_begin(crop, step->in.h + 2 * crop->pad - step->out.h, view / 2 == 1, key, draw, view);
    step->drawn.whole[1] = crop_begin(crop, step->in.w + 2 * crop->pad - step->out.w, view % 2 == 1,
                                      key, draw + 1, view);
    return 0;
}

/* What of [0, n) a window of `count` from `corner` on shows, where the image begins at `pad`: one
 * value at least, so that there is always something to compute. */
static void shown(size_t n, size_t pad, size_t corner, size_t count, size_t *from, size_t *seen)
{
    const size_t low  = corner > pad ? corner - pad : 0;
    const size_t high = corner + count > pad ? corner + count - pad : 0;

    *from = low < n ? low : n - 1;
    *seen = high < n ? high : n;
    *seen = *seen > *from ? *seen - *from : 1;
}

static tw_region_t needs(const void *own, const tw_transform_step_t *step, tw_region_t make)
{
    const tw_crop_t *crop = own;
    tw_region_t      need;

    shown(step->in.h, crop->pad, (size_t)step->drawn.whole[0] + make.top, make.h, &need.top,
          &need.h);
    shown(step->in.w, crop->pad, (size_t)step->drawn.whole[1] + make.left, make.w, &need.left,
          &need.w);
    return need;
}

/* Rows or columns that lie before the window are cut away; the others begin where they are seen. */
static int crop_run(const void *own, const tw_transform_step_t *step, tw_image_t *image,
                    tw_work_t *work, tw_buffer_t *out, tw_problem_t *problem)
{
    const tw_crop_t  *crop = own;
    const size_t      down = (size_t)step->drawn.whole[0], across = (size_t)step->drawn.whole[1];
    const tw_region_t at = {.top  = image->present.top + crop->pad,
                            .left = image->present.left + crop->pad,
                            .h    = image->present.h,
                            .w    = image->present.w};

    (void)work;
    (void)out;
    (void)problem;
    image->present = at; /* in the image with its border */
    tw_image_cut(image, (tw_region_t){.top  = down + step->make.top,
                                      .left = across + step->make.left,
                                      .h    = step->make.h,
                                      .w    = step->make.w});
    image->present.top -= down;
    image->present.left -= across;
    image->shape = step->out;
    return 0;
}

/* In the centre; of an image with a border, that makes a difference only where it is too small. */
static void in_tests(const char *word, char *text, size_t size)
{
    tw_crop_t    crop    = {.h = 0};
    tw_problem_t problem = {0};

    crop_parse(&crop, strchr(word, ':') + 1, &problem);
    text[0] = '\0';
    if (crop.h != 0 && crop.pad > 0) {
        snprintf(text, size, "crop:%zux%zu,pad=%zu,centre", crop.h, crop.w, crop.pad);
    } else if (crop.h != 0) {
        snprintf(text, size, "crop:%zux%zu,centre", crop.h, crop.w);
    }
}

const tw_transform_ops_t tw_transform_crop = {
    .name  = "crop",
    .form  = "crop:N or crop:HxW, sides 1 to 16384, or crop:pad=P, P 0 to 1024; then ,pad=P and "
             ",random, ,centre or ,five",
    .help  = "a part, anywhere, in the centre, or in tests the corners and the centre, five views; "
             "pad: of the image with a border of zeros",
    .own   = sizeof(tw_crop_t),
    .parse = crop_parse,
    .follow   = crop_follow,
    .views    = views,
    .draws    = 2,
    .plan     = crop_plan,
    .needs    = needs,
    .run      = crop_run,
    .view     = 1,
    .in_tests = in_tests};
