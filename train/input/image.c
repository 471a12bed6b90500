/* SPDX-License-Identifier: BSD-3-Clause
 * input/image.c - views of images: cut, copied, turned into floats.
 */
#include "config.h"

#include <string.h>

#include "train/input/transform.h"

static size_t value_bytes(const tw_image_t *image)
{
    return image->type == TW_IMAGE_FLOATS ? sizeof(float) : 1;
}

static const uint8_t *row_of(const tw_image_t *image, size_t c, size_t y)
{
    return (const uint8_t *)image->data + (c * image->plane + y * image->row) * value_bytes(image);
}

/* What two intervals [a, a + n) and [b, b + m) have in common. */
static size_t common(size_t a, size_t n, size_t b, size_t m, size_t *from)
{
    const size_t low = a > b ? a : b, high = a + n < b + m ? a + n : b + m;

    *from = low;
    return high > low ? high - low : 0;
}

void tw_image_cut(tw_image_t *image, tw_region_t region)
{
    const tw_region_t had  = image->present;
    tw_region_t       keep = {.top = 0};
    size_t            across;

    keep.h = common(had.top, had.h, region.top, region.h, &keep.top);
    keep.w = common(had.left, had.w, region.left, region.w, &keep.left);
    if (keep.h == 0 || keep.w == 0) {
        image->present = (tw_region_t){.top = region.top, .left = region.left};
        return;
    }
    across         = image->mirrored ? had.left + had.w - keep.left - keep.w : keep.left - had.left;
    image->data    = row_of(image, 0, keep.top - had.top) + across * value_bytes(image);
    image->present = keep;
}

size_t tw_image_bytes(const tw_image_t *image)
{
    return image->type == TW_IMAGE_FILE
               ? image->bytes
               : image->shape.c * image->present.h * image->present.w * value_bytes(image);
}

static void copy_row(const tw_image_t *image, const tw_pixels_t *pixels, const uint8_t *from,
                     uint8_t *to)
{
    const size_t w = image->present.w;

    if (!image->mirrored) {
        memcpy(to, from, w * value_bytes(image));
    } else if (image->type == TW_IMAGE_FLOATS) {
        pixels->reverse_floats((const float *)(const void *)from, w, (float *)(void *)to);
    } else {
        pixels->reverse(from, w, to);
    }
}

size_t tw_image_move(tw_image_t *image, const tw_pixels_t *pixels, tw_buffer_t *to)
{
    const size_t bytes = tw_image_bytes(image), line = image->present.w * value_bytes(image);
    uint8_t     *at = to->bytes;

    if (to->bytes != NULL && image->data == to->bytes) {
        return bytes; /* made there: without gaps */
    }
    at = tw_buffer_need(to, bytes);
    if (at == NULL) {
        return SIZE_MAX;
    }
    if (image->type == TW_IMAGE_FILE) {
        memcpy(at, image->data, bytes);
    } else {
        for (size_t c = 0; c < image->shape.c; c++) {
            for (size_t y = 0; y < image->present.h; y++, at += line) {
                copy_row(image, pixels, row_of(image, c, y), at);
            }
        }
        image->row      = image->present.w;
        image->plane    = image->present.h * image->present.w;
        image->mirrored = 0;
    }
    image->data = to->bytes;
    return bytes;
}

tw_buffer_t *tw_work_free(tw_work_t *work, const tw_image_t *image, tw_buffer_t *out)
{
    const uintptr_t at = (uintptr_t)image->data, first = (uintptr_t)work->scratch[0].bytes;

    if (out != NULL) {
        return out;
    }
    return &work->scratch[work->scratch[0].bytes != NULL && at >= first &&
                          at <= first + work->scratch[0].room];
}

int tw_image_straighten(tw_image_t *image, tw_work_t *work, tw_problem_t *problem)
{
    if (image->mirrored &&
        tw_image_move(image, work->pixels, tw_work_free(work, image, NULL)) == SIZE_MAX) {
        return tw_problem_machine(problem, "out of memory");
    }
    return 0;
}

static void row_to_floats(const tw_image_t *image, const tw_pixels_t *pixels, const uint8_t *from,
                          float *to)
{
    const size_t w = image->present.w;

    if (image->type == TW_IMAGE_FLOATS) {
        copy_row(image, pixels, from, (uint8_t *)(void *)to);
    } else {
        (image->mirrored ? pixels->convert_reversed : pixels->convert)(from, w, 0.0f, 1.0f, to);
    }
}

void tw_image_floats(const tw_image_t *image, const tw_pixels_t *pixels, float *out)
{
    const tw_region_t see  = image->present;
    const int         full = see.h == image->shape.h && see.w == image->shape.w;
    const size_t      size = tw_shape_size(image->shape);

    if (!full) {
        memset(out, 0, size * sizeof(*out));
    } else if (image->type == TW_IMAGE_FLOATS && !image->mirrored && image->row == see.w &&
               image->plane == see.h * see.w) {
        memcpy(out, image->data, size * sizeof(*out));
        return;
    }
    for (size_t c = 0; c < image->shape.c; c++) {
        for (size_t y = 0; y < see.h; y++) {
            row_to_floats(image, pixels, row_of(image, c, y),
                          out + (c * image->shape.h + see.top + y) * image->shape.w + see.left);
        }
    }
}
