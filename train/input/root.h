/* SPDX-License-Identifier: BSD-3-Clause
 * input/root.h - the ranks that open a source together. Apart from source.h, which code for devices
 * reads without MPI.
 */
#ifndef TW_INPUT_ROOT_H
#define TW_INPUT_ROOT_H

#include <mpi.h>

#include "train/input/source.h"

/* The source sends its messages, of tag 1, over this communicator itself, and closes without a
 * collective call: a rank whose part of opening fails closes while the others wait elsewhere. */
struct tw_source_ranks {
    MPI_Comm comm; /* until the source is closed */
};

#endif /* TW_INPUT_ROOT_H */
