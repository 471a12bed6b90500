/* SPDX-License-Identifier: BSD-3-Clause
 * input/root.h - the ranks that open a source together. Apart from source.h, which code for devices
 * reads without MPI.
 */
#ifndef TW_INPUT_ROOT_H
#define TW_INPUT_ROOT_H

#include <mpi.h>

#include "train/input/source.h"

struct tw_source_ranks {
    MPI_Comm comm;
};

#endif /* TW_INPUT_ROOT_H */
