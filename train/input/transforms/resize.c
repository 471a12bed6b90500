/* SPDX-License-Identifier: BSD-3-Clause
 * input/transforms/resize.c - another size: linear interpolation, with antialiasing where it
 * becomes smaller. First the rows, then the columns, each rounded to 8 bits.
 */
#include "config.h"

#include "train/input/transforms.h"
#include "train/input/transforms/settings.h"

/* Of an image on its way: a long thin one, as it may come from anywhere, takes no more memory. */
#define PIXELS_MAX ((size_t)1 << 26)

typedef struct tw_resize {
    size_t h, w;
    int    both; /* else h is of the shorter side, and the other follows */
} tw_resize_t;

static int resize_parse(void *own, const char *arguments, tw_problem_t *problem)
{
    tw_resize_t *resize = own;
    const char  *rest   = tw_setting_size(arguments, &resize->h, &resize->w, &resize->both);

    (void)problem;
    return rest != NULL && *rest == '\0' ? 0 : -1;
}

static tw_shape_t resized(const tw_resize_t *resize, tw_shape_t in)
{
    const size_t n = resize->h;

    if (resize->both) {
        return (tw_shape_t){in.c, resize->h, resize->w};
    }
    return in.h <= in.w ? (tw_shape_t){in.c, n, n * in.w / in.h}
                        : (tw_shape_t){in.c, n * in.h / in.w, n};
}

static int resize_follow(void *own, tw_image_form_t *form, tw_problem_t *problem)
{
    const tw_resize_t *resize = own;

    if (form->type == TW_IMAGE_FLOATS || form->bordered) {
        return tw_problem_set(problem, "images are resized before %s",
                              form->bordered ? "a crop with a border" : "they become floats");
    }
    form->least = resize->both || form->shape.h != 0 ? 0 : resize->h;
    if (resize->both || form->shape.h != 0) {
        form->shape = resized(resize, form->shape);
    }
    return 0;
}

static int resize_plan(const void *own, const tw_transform_t *next, const tw_image_t *image,
                       uint64_t key, unsigned draw, tw_transform_step_t *step, tw_work_t *work,
                       tw_problem_t *problem)
{
    (void)next;
    (void)image;
    (void)key;
    (void)draw;
    (void)work;
    step->out = resized(own, step->in);
    /* What rows and columns need in between, and what comes out. */
    if (step->out.h > PIXELS_MAX / step->in.w || step->out.h > PIXELS_MAX / step->out.w) {
        return tw_problem_set(problem, "%zux%zu pixels, resized, would be %zux%zu", step->in.h,
                              step->in.w, step->out.h, step->out.w);
    }
    return 0;
}

/* What of a line of `in` the positions from .. from + n - 1 of `out` read. */
static void reads(size_t in, size_t out, size_t from, size_t n, size_t *first, size_t *count)
{
    int32_t low, high;

    tw_resize_weights(in, out, from, 1, &low, NULL);
    tw_resize_weights(in, out, from + n - 1, 1, &high, NULL);
    *first = (size_t)low;
    *count = (size_t)(high - low) + tw_resize_taps(in, out);
}

static tw_region_t needs(const void *own, const tw_transform_step_t *step, tw_region_t make)
{
    tw_region_t need;

    (void)own;
    reads(step->in.h, step->out.h, make.top, make.h, &need.top, &need.h);
    reads(step->in.w, step->out.w, make.left, make.w, &need.left, &need.w);
    return need;
}

/* The weights of one direction, for input that begins at `start` of the whole line. */
static int weights(tw_resize_line_t *line, size_t in, size_t out, size_t from, size_t n,
                   size_t start, tw_buffer_t *buffer, tw_problem_t *problem)
{
    const size_t taps  = tw_resize_taps(in, out);
    int32_t     *first = tw_buffer_need(buffer, n * (sizeof(int32_t) + taps * sizeof(int16_t)));
    int16_t     *weight;

    if (first == NULL) {
        return tw_problem_machine(problem, "out of memory");
    }
    weight = (int16_t *)(void *)(first + n);
    tw_resize_weights(in, out, from, n, first, weight);
    for (size_t i = 0; i < n; i++) {
        first[i] -= (int32_t)start;
    }
    *line = (tw_resize_line_t){.n = n, .taps = taps, .first = first, .weight = weight};
    return 0;
}

/* Rows into work->rows, whose columns then go to `to`. */
static int resize_run(const void *own, const tw_transform_step_t *step, tw_image_t *image,
                      tw_work_t *work, tw_buffer_t *out, tw_problem_t *problem)
{
    const tw_region_t need = step->need, make = step->make;
    const size_t      planes = step->in.c, between = make.h * need.w, made = make.h * make.w;
    tw_buffer_t      *to;
    uint8_t          *rows;
    tw_resize_line_t  line;

    (void)own;
    if (step->in.h == step->out.h && step->in.w == step->out.w) {
        return 0;
    }
    if (tw_image_straighten(image, work, problem) != 0) {
        return -1;
    }
    to   = tw_work_free(work, image, out);
    rows = tw_buffer_need(&work->rows, planes * between);
    if (rows == NULL || tw_buffer_need(to, planes * made) == NULL) {
        return tw_problem_machine(problem, "out of memory");
    }
    if (weights(&line, step->in.h, step->out.h, make.top, make.h, need.top, &work->weights,
                problem) != 0) {
        return -1;
    }
    for (size_t c = 0; c < planes; c++) {
        work->pixels->resize_rows(&line, (const uint8_t *)image->data + c * image->plane,
                                  image->row, need.w, rows + c * between, need.w);
    }
    if (weights(&line, step->in.w, step->out.w, make.left, make.w, need.left, &work->weights,
                problem) != 0) {
        return -1;
    }
    for (size_t c = 0; c < planes; c++) {
        work->pixels->resize_columns(&line, rows + c * between, need.w, make.h,
                                     (uint8_t *)to->bytes + c * made, make.w);
    }
    *image = (tw_image_t){.type    = TW_IMAGE_PIXELS,
                          .data    = to->bytes,
                          .shape   = step->out,
                          .present = make,
                          .row     = make.w,
                          .plane   = made};
    return 0;
}

const tw_transform_ops_t tw_transform_resize = {
    .name    = "resize",
    .form    = "resize:N or resize:HxW, sides 1 to 16384",
    .help    = "the shorter side to N, or both sides; linear, antialiased",
    .own     = sizeof(tw_resize_t),
    .parse   = resize_parse,
    .follow  = resize_follow,
    .shrinks = 1,
    .plan    = resize_plan,
    .needs   = needs,
    .run     = resize_run};
