/* SPDX-License-Identifier: BSD-3-Clause
 * input/transforms/decode.c - the bytes of a file become pixels.
 *
 * A JPEG is decoded at an eighth, a quarter or half of its size where the operation behind it makes
 * it as small or smaller (the inverse DCT of fewer coefficients, which costs less than decoding all
 * of them and is no worse than filtering afterwards). What is pixels already stays as it is.
 */
#include "config.h"

#include <string.h>

#include "train/input/transforms.h"
#include "train/input/transforms/settings.h"

typedef struct tw_decode {
    size_t channels;
    int    stored; /* the file's orientation is left alone */
} tw_decode_t;

static int decode_parse(void *own, const char *arguments, tw_problem_t *problem)
{
    tw_decode_t *decode = own;

    (void)problem;
    decode->stored = strcmp(arguments, "orientation=stored") == 0;
    return *arguments == '\0' || decode->stored || strcmp(arguments, "orientation=exif") == 0 ? 0
                                                                                              : -1;
}

static int decode_follow(void *own, tw_image_form_t *form, tw_problem_t *problem)
{
    tw_decode_t *decode = own;

    (void)problem;
    decode->channels = form->shape.c;
    if (form->type == TW_IMAGE_FILE) {
        form->type = TW_IMAGE_PIXELS;
    }
    return 0;
}

/* The smallest scale whose image is not smaller than what the next operation makes of the whole. */
static int scale_for(const tw_transform_t *next, tw_shape_t full)
{
    tw_transform_step_t step    = {.in = full, .out = full};
    tw_problem_t        problem = {0};

    if (next == NULL || !next->ops->shrinks ||
        next->ops->plan(next->own, NULL, NULL, 0, 0, &step, NULL, &problem) != 0) {
        return 8;
    }
    for (int eighths = 1; eighths < 8; eighths *= 2) {
        if (tw_decode_scaled(full.h, eighths) >= step.out.h &&
            tw_decode_scaled(full.w, eighths) >= step.out.w) {
            return eighths;
        }
    }
    return 8;
}

static int decode_plan(const void *own, const tw_transform_t *next, const tw_image_t *image,
                       uint64_t key, unsigned draw, tw_transform_step_t *step, tw_work_t *work,
                       tw_problem_t *problem)
{
    const tw_decode_t *decode = own;
    tw_file_facts_t   *facts  = &step->drawn.file.facts;
    int                eighths;

    (void)key;
    (void)draw;
    if (image->type != TW_IMAGE_FILE) {
        return 0;
    }
    if (tw_decode_facts(work->decoder, image->data, image->bytes, work->most, facts, problem) !=
        0) {
        return -1;
    }
    if (decode->stored) {
        tw_decode_as_stored(facts);
    }
    step->out                = (tw_shape_t){decode->channels, facts->h, facts->w};
    eighths                  = facts->jpeg ? scale_for(next, step->out) : 8;
    step->out.h              = tw_decode_scaled(step->out.h, eighths);
    step->out.w              = tw_decode_scaled(step->out.w, eighths);
    step->drawn.file.eighths = eighths;
    return 0;
}

static int decode_run(const void *own, const tw_transform_step_t *step, tw_image_t *image,
                      tw_work_t *work, tw_buffer_t *out, tw_problem_t *problem)
{
    tw_buffer_t *to = tw_work_free(work, image, out);

    (void)own;
    if (image->type != TW_IMAGE_FILE) {
        return 0;
    }
    if (tw_decode_region(work->decoder, image->data, image->bytes, &step->drawn.file.facts,
                         step->out.c, step->drawn.file.eighths, step->make, to, problem) != 0) {
        return -1;
    }
    *image = (tw_image_t){.type    = TW_IMAGE_PIXELS,
                          .data    = to->bytes,
                          .shape   = step->out,
                          .present = step->make,
                          .row     = step->make.w,
                          .plane   = step->make.h * step->make.w};
    return 0;
}

const tw_transform_ops_t tw_transform_decode = {
    .name   = "decode",
    .form   = "decode[:orientation=exif|stored]",
    .help   = "JPEG and PNG to pixels, turned as their EXIF says or as they are stored [exif]; "
              "always first",
    .own    = sizeof(tw_decode_t),
    .parse  = decode_parse,
    .follow = decode_follow,
    .plan   = decode_plan,
    .run    = decode_run};
