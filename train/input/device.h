/* SPDX-License-Identifier: BSD-3-Clause
 * input/device.h - the device of a pipeline: where images move at the transfer index, and what does
 * the operations behind it. A table of functions, filled once per kind of device; tw_input_host is
 * the processor, whose computing threads do the operations.
 *
 * The ring of batches gives every image a staging of its own, a host buffer and what the device has
 * for it. What happens to an image, by the eight steps of S2, slide 24:
 *
 *     1  the pipeline selects the staging
 *     2  claim()   waits until the last copy out of its host buffer is complete
 *     3  the source reads the image
 *     4  operations 0 .. t - 1; the last of them may write to the host buffer
 *     5  move()    has what follows wait for all work on the staging's device buffer,
 *     6            starts the copy to it,
 *     7            and remembers its end for claim()
 *     8  run()     operations t .. of all images of a batch, and each image to its place
 *
 * Images are planned before they move, so run() needs no header of a file, and draws nothing.
 * claim() and move() are called by many threads at once, each for a staging of its own; run() by
 * one.
 */
#ifndef TW_INPUT_DEVICE_H
#define TW_INPUT_DEVICE_H

#include <stddef.h>
#include <stdint.h>

#include "train/input/prepare.h"

typedef struct tw_staging {
    tw_buffer_t host;   /* page-locked, where the device's `memory` is that */
    void       *device; /* the device's own; NULL at first                  */
} tw_staging_t;

/* An image of a batch. */
typedef struct tw_input_row {
    tw_prepared_t prepared;
    tw_staging_t  staging;
    uint64_t      begun, made, moved; /* when, by tw_clock_ns() */
} tw_input_row_t;

/* A batch on the device. */
typedef struct tw_input_batch {
    const tw_prepare_t *how;
    size_t              transfer; /* operations that have been run                          */
    tw_input_row_t     *row;      /* [n] */
    size_t              n;
    size_t              values; /* of an image in the batch                                */
    float              *out;    /* [n][c][h][w], in memory of the device                   */
    tw_thread_state_t  *state;  /* [threads]: for what the processor does, by as many      */
    int                 threads;
} tw_input_batch_t;

typedef struct tw_input_device tw_input_device_t;

struct tw_input_device {
    const char               *name;
    const tw_buffer_memory_t *memory; /* of host buffers; NULL: any */

    /** Step 2. NULL: there is nothing to wait for. @return 0, or -1 with the problem set. */
    int (*claim)(const tw_input_device_t *device, tw_staging_t *staging, tw_problem_t *problem);

    /** Steps 5 to 7. After it image->data is memory of the device, in which what is present of the
     * image is without gaps and not mirrored; the copy may still be on its way.
     * @param image  in the host buffer or anywhere else in the processor's memory.
     * @param [out] bytes_p  that move. @return 0, or -1 with the problem set. */
    int (*move)(const tw_input_device_t *device, tw_staging_t *staging, tw_image_t *image,
                const tw_pixels_t *pixels, size_t *bytes_p, tw_problem_t *problem);

    /** Step 8. May return before it is done, where the device's computations come after it by
     * themselves. @return 0, or -1 with the problem set: an image is broken, by name. */
    int (*run)(const tw_input_device_t *device, const tw_input_batch_t *batch,
               tw_problem_t *problem);

    /** Give back what staging->device is. NULL: nothing. */
    void (*release)(const tw_input_device_t *device, tw_staging_t *staging);
};

/* The processor. */
extern const tw_input_device_t tw_input_host;

#endif /* TW_INPUT_DEVICE_H */
