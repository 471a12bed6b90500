/* SPDX-License-Identifier: BSD-3-Clause
 * cuda/images.h - between images.c, which folds an image's last operations, and the kernel that
 * does them. Compiles as C and as CUDA.
 */
#ifndef TW_COMPUTE_CUDA_IMAGES_H
#define TW_COMPUTE_CUDA_IMAGES_H

#include <stdint.h>

#define TW_IMAGE_STEPS  8
#define TW_IMAGE_PLANES 4

/* One image, as tw_folded_t has it; h and w of what is seen, the region that is present in it. */
typedef struct tw_image_work {
    const void *moved; /* memory of the device */
    uint32_t    c, h, w, top, left, present_h, present_w;
    uint32_t    row, mirrored, floats, steps;
    uint64_t    first, plane; /* values from the beginning of moved; from a plane to the next */
    int64_t     pixel_first, pixel_row, pixel_column, pixel_plane;
    float       mean[TW_IMAGE_STEPS][TW_IMAGE_PLANES], scale[TW_IMAGE_STEPS][TW_IMAGE_PLANES];
} tw_image_work_t;

#endif /* TW_COMPUTE_CUDA_IMAGES_H */
