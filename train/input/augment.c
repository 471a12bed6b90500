/* SPDX-License-Identifier: BSD-3-Clause
 * input/augment.c - from the pixels of a set to the input of a network: crops, mirrors, floats.
 */
#include "config.h"

#include <string.h>

#include "train/input/data.h"
#include "train/random.h"

tw_placement_t tw_augment_place(const tw_augment_t *augment, uint32_t index)
{
    const uint64_t key     = tw_random_key(augment->seed, TW_RANDOM_AUGMENT, augment->epoch, index);
    const uint32_t offsets = 2 * (uint32_t)augment->pad + 1;

    return (tw_placement_t){.down   = tw_random_below(key, 0, offsets),
                            .across = tw_random_below(key, 1, offsets),
                            .mirror = augment->mirror && tw_random_below(key, 2, 2) == 1};
}

static void convert(float *restrict out, const uint8_t *restrict pixels, size_t n, float mean,
                    float scale)
{
#pragma omp simd
    for (size_t i = 0; i < n; i++) {
        out[i] = ((float)pixels[i] - mean) * scale;
    }
}

static void convert_mirrored(float *restrict out, const uint8_t *restrict pixels, size_t n,
                             float mean, float scale)
{
    const uint8_t *last = pixels + n - 1;

#pragma omp simd
    for (size_t i = 0; i < n; i++) {
        out[i] = ((float)last[-(ptrdiff_t)i] - mean) * scale;
    }
}

/* What of n values in a line the crop shows: those from .. from + count - 1, at place of the crop.
 */
typedef struct tw_window {
    size_t from, place, count;
} tw_window_t;

static tw_window_t window(size_t n, size_t pad, size_t corner)
{
    tw_window_t see = {.from  = corner > pad ? corner - pad : 0,
                       .place = corner < pad ? pad - corner : 0};

    see.count = see.from + see.place < n ? n - see.from - see.place : 0;
    return see;
}

void tw_image_place(tw_shape_t shape, const uint8_t *pixels, size_t pad, tw_placement_t placement,
                    float mean, float scale, float *out)
{
    const tw_window_t y    = window(shape.h, pad, placement.down);
    const tw_window_t x    = window(shape.w, pad, placement.across);
    const size_t      left = placement.mirror ? shape.w - x.place - x.count : x.place;

    if (y.count < shape.h || x.count < shape.w) {
        memset(out, 0, tw_shape_size(shape) * sizeof(*out));
    } else if (!placement.mirror) {
        convert(out, pixels, tw_shape_size(shape), mean, scale);
        return;
    }
    for (size_t c = 0; c < shape.c && x.count > 0 && y.count > 0; c++) {
        const uint8_t *from = pixels + (c * shape.h + y.from) * shape.w + x.from;
        float         *to   = out + (c * shape.h + y.place) * shape.w + left;

        for (size_t k = 0; k < y.count; k++, from += shape.w, to += shape.w) {
            (placement.mirror ? convert_mirrored : convert)(to, from, x.count, mean, scale);
        }
    }
}

void tw_data_rows(const tw_data_t *data, const tw_set_t *set, const uint32_t *indices, size_t n,
                  const tw_augment_t *augment, float mean, float scale, int threads, float *out)
{
    static const tw_augment_t none = {.pad = 0};

    if (augment == NULL) {
        augment = &none;
    }
#pragma omp parallel for num_threads(threads) schedule(static) if (threads > 1)
    for (size_t i = 0; i < n; i++) {
        tw_image_place(data->shape, set->pixels + indices[i] * data->pixels, augment->pad,
                       tw_augment_place(augment, indices[i]), mean, scale, out + i * data->pixels);
    }
}
