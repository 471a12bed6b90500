/* SPDX-License-Identifier: BSD-3-Clause
 * cuda/images.cu - the last operations on an image: crops, mirrors, means, scales. Every value goes
 * through the operations of the processor's loops, each rounded alone, so the bits are the same.
 */
#include "train/compute/cuda/device.h"
#include "train/compute/cuda/images.h"

/* Value i of the image in the batch, from where it lies in what moved; outside of what is present 0. */
TW_DEVICE float tw_image_value(const tw_image_work_t *work, const void *moved, const float *pixel,
                               size_t i)
{
    const size_t  c = i / work->w / work->h, y = i / work->w % work->h, x = i % work->w;
    const int64_t r = (int64_t)y - work->top;
    int64_t       q = (int64_t)x - work->left;
    size_t        at;
    float         v;

    if (r < 0 || r >= (int64_t)work->present_h || q < 0 || q >= (int64_t)work->present_w) {
        return 0.0f;
    }
    q  = work->mirrored ? (int64_t)work->present_w - 1 - q : q;
    at = work->first + c * work->plane + (size_t)r * work->row + (size_t)q;
    v  = work->floats ? ((const float *)moved)[at] : (float)((const uint8_t *)moved)[at];
    if (pixel != NULL) {
        v = v - pixel[work->pixel_first + (int64_t)c * work->pixel_plane + r * work->pixel_row +
                      q * work->pixel_column];
    }
    for (uint32_t k = 0; k < work->steps; k++) {
        v = (v - work->mean[k][c]) * work->scale[k][c];
    }
    return v;
}

/* from: what moved, tw_image_work_t, a mean of pixels or NULL; to: the image's place in the batch. */
TW_TASK(images)
{
    const tw_image_work_t *work  = (const tw_image_work_t *)task.from[1];
    float                 *out   = (float *)task.to[0];
    const size_t           count = (size_t)work->c * work->h * work->w;

    for (size_t i = tw_thread(); i < count; i += tw_threads()) {
        out[i] = tw_image_value(work, task.from[0], (const float *)task.from[2], i);
    }
}
