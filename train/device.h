/* SPDX-License-Identifier: BSD-3-Clause
 * train/device.h - what computes a run: on every rank a device, or on every rank the processor.
 */
#ifndef TW_TRAIN_DEVICE_H
#define TW_TRAIN_DEVICE_H

#include <mpi.h>

#include <thinwire/thinwire.h>

#include "command/problem.h"
#include "train/compute/backend.h"
#include "train/compute/kernels.h"
#include "train/options.h"

typedef struct tw_device_wish {
    MPI_Comm                    parent;
    tw_comm_t                  *comm;
    const tw_compute_kernels_t *kernels; /* of the processor */
    const tw_train_options_t   *options;
} tw_device_wish_t;

/** Open what --device asks for. With auto, a rank that has no device makes all of them compute on
 * the processor, and says why in one line. Collective.
 * @return 0, or -1 with the problem set on one rank at least. */
int tw_device_open(tw_backend_t **backend_p, const tw_device_wish_t *wish, tw_problem_t *problem);

#endif /* TW_TRAIN_DEVICE_H */
