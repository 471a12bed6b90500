/* SPDX-License-Identifier: BSD-3-Clause
 * input/device.c - the processor as the device of a pipeline, see device.h. Images move into the
 * host buffers of their stagings and stay there.
 */
#include "config.h"

#include "train/input/device.h"

static int move(const tw_input_device_t *device, tw_staging_t *staging, tw_image_t *image,
                const tw_pixels_t *pixels, size_t *bytes_p, tw_problem_t *problem)
{
    (void)device;
    *bytes_p = tw_image_move(image, pixels, &staging->host);
    return *bytes_p != SIZE_MAX ? 0 : tw_problem_machine(problem, "out of memory for an image");
}

/* The first image that fails speaks for the batch. */
static int device_run(const tw_input_device_t *device, const tw_input_batch_t *batch,
                      tw_problem_t *problem)
{
    (void)device;
#pragma omp parallel for schedule(dynamic, 1) num_threads(batch->threads) if (batch->threads > 1)
    for (size_t i = 0; i < batch->n; i++) {
        tw_problem_t inner = {0};

        if (tw_prepare_end(batch->how, &batch->row[i].prepared, batch->transfer,
                           tw_thread_state_own(batch->state), batch->out + i * batch->values,
                           &inner) != 0) {
#pragma omp critical(tw_input_failed)
            if (!problem->set) {
                *problem = inner;
            }
        }
    }
    return problem->set ? -1 : 0;
}

const tw_input_device_t tw_input_host = {.name = "host", .move = move, .run = device_run};
