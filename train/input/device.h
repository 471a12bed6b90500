/* SPDX-License-Identifier: BSD-3-Clause
 * input/device.h - the device of a pipeline, to which images are transferred at the transfer index,
 * and which runs the operations after it. A table of functions, one per kind of device;
 * tw_input_host is the processor, whose computing threads run the operations.
 *
 * The ring of batches has a staging per image: a host buffer and the device's buffer for it. The
 * processing of an image, by the eight steps of S2, slide 24:
 *
 *     1  the pipeline selects the staging
 *     2  claim()   waits until the last copy out of its host buffer is complete
 *     3  the source reads the image
 *     4  operations 0 .. t - 1; the last of them may write to the host buffer
 *     5  move()    orders the copy after all work on the staging's device buffer,
 *     6            starts the copy to it,
 *     7            and records its end for claim()
 *     8  run()     operations t .. of all images of a batch, each written to its position
 *
 * Images are planned before the transfer, so run() reads no file header and draws no random number.
 * Many threads call claim() and move() at once, each for a different staging; one thread calls
 * run().
 */
#ifndef TW_INPUT_DEVICE_H
#define TW_INPUT_DEVICE_H

#include <stddef.h>
#include <stdint.h>

#include "train/input/prepare.h"

typedef struct tw_staging {
    tw_buffer_t host;   /* page-locked, if the device's `memory` is         */
    void       *device; /* private to the device; NULL at first             */
} tw_staging_t;

/* An image of a batch. */
typedef struct tw_input_row {
    tw_prepared_t prepared;
    tw_staging_t  staging;
    uint64_t      begun, made, moved; /* times, by tw_clock_ns() */
} tw_input_row_t;

/* A batch on the device. */
typedef struct tw_input_batch {
    const tw_prepare_t *how;
    size_t              transfer; /* number of operations already run                       */
    tw_input_row_t     *row;      /* [n] */
    size_t              n;
    size_t              values; /* of an image in the batch                                */
    float              *out;    /* [n][c][h][w], in memory of the device                   */
    tw_thread_state_t  *state;  /* [threads]: for the processor's threads                  */
    int                 threads;
} tw_input_batch_t;

typedef struct tw_input_device tw_input_device_t;

struct tw_input_device {
    const char               *name;
    const tw_buffer_memory_t *memory; /* of host buffers; NULL: any */

    /** Step 2. NULL: no wait is needed. @return 0, or -1 with the problem set. */
    int (*claim)(const tw_input_device_t *device, tw_staging_t *staging, tw_problem_t *problem);

    /** Steps 5 to 7. After it image->data is memory of the device, where the present part of the
     * image is contiguous and not mirrored; the copy may still be in flight.
     * @param image  in the host buffer or elsewhere in host memory.
     * @param [out] bytes_p  bytes copied. @return 0, or -1 with the problem set. */
    int (*move)(const tw_input_device_t *device, tw_staging_t *staging, tw_image_t *image,
                const tw_pixels_t *pixels, size_t *bytes_p, tw_problem_t *problem);

    /** Step 8. May return before completion if later computations on the device are ordered after
     * it. @return 0, or -1 with the problem set, which names a broken image. */
    int (*run)(const tw_input_device_t *device, const tw_input_batch_t *batch,
               tw_problem_t *problem);

    /** Release staging->device. NULL: nothing to release. */
    void (*release)(const tw_input_device_t *device, tw_staging_t *staging);
};

/* The processor. */
extern const tw_input_device_t tw_input_host;

#endif /* TW_INPUT_DEVICE_H */
