/* SPDX-License-Identifier: BSD-3-Clause
 * input/transforms/settings.c - see settings.h.
 */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "runtime/base/text.h"
#include "train/input/transforms/settings.h"

enum { SIDE_MAX = 16384 };

int tw_setting_none(void *own, const char *arguments, tw_problem_t *problem)
{
    (void)own;
    (void)problem;
    return arguments[0] == '\0' ? 0 : -1;
}

void tw_setting_dropped(const char *word, char *text, size_t size)
{
    (void)word;
    (void)size;
    text[0] = '\0';
}

static const char *whole(const char *text, size_t *value)
{
    char         *end;
    unsigned long number;

    if (*text < '0' || *text > '9') {
        return NULL;
    }
    number = strtoul(text, &end, 10);
    *value = number;
    return number < 1 || number > SIDE_MAX ? NULL : end;
}

/* The end of a setting, or the one behind its comma. */
static const char *after(const char *text)
{
    if (text == NULL || *text == '\0') {
        return text;
    }
    return *text == ',' && text[1] != '\0' ? text + 1 : NULL;
}

const char *tw_setting_size(const char *text, size_t *h, size_t *w, int *both)
{
    const char *end = whole(text, h);

    *w    = *h;
    *both = end != NULL && *end == 'x';
    return after(*both ? whole(end + 1, w) : end);
}

/* One number, up to the end or a comma. */
static const char *number_at(const char *text, double least, double most, double *value)
{
    const size_t length = strcspn(text, ",");
    char         copy[40];

    if (length == 0 || length >= sizeof(copy)) {
        return NULL;
    }
    memcpy(copy, text, length);
    copy[length] = '\0';
    return tw_text_number(copy, value) && *value >= least && *value <= most ? after(text + length)
                                                                            : NULL;
}

size_t tw_setting_numbers(const char *text, double least, double most, float *number, size_t room)
{
    size_t n = 0;
    double value;

    while (*text != '\0') {
        text = n < room ? number_at(text, least, most, &value) : NULL;
        if (text == NULL) {
            return 0;
        }
        number[n++] = (float)value;
    }
    return n;
}

const char *tw_setting_named(const char *text, const char *name, double least, double most,
                             double *value)
{
    const size_t length = strlen(name);

    if (strncmp(text, name, length) != 0 || text[length] != '=') {
        return NULL;
    }
    return number_at(text + length + 1, least, most, value);
}

int tw_setting_suits(size_t n, size_t c, tw_problem_t *problem)
{
    return n == 1 || n == c
               ? 0
               : tw_problem_set(problem, "%zu numbers, and images have %zu planes", n, c);
}

static void affine_row(const tw_image_t *image, const tw_pixels_t *pixels, size_t at, float mean,
                       float scale, float *to)
{
    const size_t w = image->present.w;

    if (image->type == TW_IMAGE_PIXELS) {
        (image->mirrored ? pixels->convert_reversed
                         : pixels->convert)((const uint8_t *)image->data + at, w, mean, scale, to);
    } else if (image->mirrored) {
        pixels->reverse_floats((const float *)image->data + at, w, to);
        pixels->shift(to, w, mean, scale, to);
    } else {
        pixels->shift((const float *)image->data + at, w, mean, scale, to);
    }
}

int tw_setting_affine(tw_image_t *image, const float *mean, size_t means, const float *scale,
                      size_t scales, tw_work_t *work, tw_buffer_t *out, tw_problem_t *problem)
{
    const tw_region_t see = image->present;
    float            *to, *at;
    tw_buffer_t      *buffer = tw_work_free(work, image, out);

    to = tw_buffer_need(buffer, image->shape.c * see.h * see.w * sizeof(float) + 1);
    if (to == NULL) {
        return tw_problem_machine(problem, "out of memory");
    }
    at = to;
    for (size_t c = 0; c < image->shape.c; c++) {
        for (size_t y = 0; y < see.h; y++, at += see.w) {
            affine_row(image, work->pixels, c * image->plane + y * image->row,
                       mean[means > 1 ? c : 0], scale[scales > 1 ? c : 0], at);
        }
    }
    image->type     = TW_IMAGE_FLOATS;
    image->data     = to;
    image->row      = see.w;
    image->plane    = see.h * see.w;
    image->mirrored = 0;
    return 0;
}
