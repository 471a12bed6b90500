/* SPDX-License-Identifier: BSD-3-Clause
 * interpose/mpi/lifecycle.h - what must be done before MPI ends or frees something, in any
 * language.
 */
#ifndef TW_INTERPOSE_LIFECYCLE_H
#define TW_INTERPOSE_LIFECYCLE_H

#include <stdbool.h>

#include "interpose/mpi/late.h"

/* The job is about to end, by MPI_Abort or by MPI itself for an error (0: not known): this rank's
 * counters, once. */
void tw_about_to_abort(bool by_program, int error);

/* The program is about to free a communicator. */
void tw_about_to_free(const MPI_Comm *comm);

#endif /* TW_INTERPOSE_LIFECYCLE_H */
