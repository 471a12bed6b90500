/* SPDX-License-Identifier: BSD-3-Clause
 * train/device.h - the compute backend of a run: a device on every rank, or the processor on every
 * rank.
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

/** Open the backend of --device. With auto, all ranks use the processor if one rank has no device;
 * that rank logs the reason in one line. Collective.
 * @return 0, or -1 with the problem set on one rank at least. */
int tw_device_open(tw_backend_t **backend_p, const tw_device_wish_t *wish, tw_problem_t *problem);

#endif /* TW_TRAIN_DEVICE_H */
