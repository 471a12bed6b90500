/* SPDX-License-Identifier: BSD-3-Clause
 * cuda/images.cu - the last operations on an image: crops, mirrors, means, scales. Every value goes
 * through the operations of the processor's loops, each rounded alone, so the bits are the same.
 */
#include "train/compute/cuda/device.h"
#include "train/compute/cuda/images.h"

/* The value at place (c, y, x) of what is seen; outside of what is present 0. */
TW_DEVICE float tw_image_value(const tw_image_work_t *work, const void *moved, const float *pixel,
                               uint32_t c, uint32_t y, uint32_t x)
{
    const uint32_t r = y - work->top; /* above what is present it wraps around */
    uint32_t       q = x - work->left;
    size_t         at;
    float          v;

    if (r >= work->present_h || q >= work->present_w) {
        return 0.0f;
    }
    q  = work->mirrored ? work->present_w - 1 - q : q;
    at = work->first + c * work->plane + (size_t)r * work->row + q;
    v  = work->floats ? ((const float *)moved)[at] : (float)((const uint8_t *)moved)[at];
    if (pixel != NULL) {
        v = v - pixel[work->pixel_first + (int64_t)c * work->pixel_plane +
                      (int64_t)r * work->pixel_row + (int64_t)q * work->pixel_column];
    }
    for (uint32_t k = 0; k < work->steps; k++) {
        v = (v - work->mean[k][c]) * work->scale[k][c];
    }
    return v;
}

/* A batch. from: tw_image_work_t of each image, a mean of pixels or NULL; to: the batch, n[1]
 * values of an image after another. n[0] thread blocks share an image, a warp takes a row of a
 * plane. */
TW_TASK(images)
{
    const uint32_t         share = (uint32_t)task.n[0], image = blockIdx.x / share;
    const tw_image_work_t *work  = (const tw_image_work_t *)task.from[0] + image;
    const void            *moved = TW_DEVICE_MEMORY(work->moved);
    const float           *pixel = (const float *)task.from[1];
    float                 *out   = (float *)task.to[0] + image * task.n[1];
    const uint32_t         h = work->h, w = work->w, rows = work->c * h;
    const uint32_t         warps = TW_TASK_THREADS / TW_TASK_WARP;

    for (uint32_t row = (blockIdx.x - image * share) * warps + threadIdx.x / TW_TASK_WARP;
         row < rows; row += share * warps) {
        const uint32_t c = row / h, y = row - c * h;

        for (uint32_t x = threadIdx.x % TW_TASK_WARP; x < w; x += TW_TASK_WARP) {
            out[(size_t)row * w + x] = tw_image_value(work, moved, pixel, c, y, x);
        }
    }
}
