/* SPDX-License-Identifier: BSD-3-Clause
 * transport/link/mpi_type.h - element types and reductions by MPI's names.
 */
#ifndef TW_TRANSPORT_LINK_MPI_TYPE_H
#define TW_TRANSPORT_LINK_MPI_TYPE_H

#include <mpi.h>

#include "runtime/base/reduction.h"

/* MPI's type of an element type that has a row, or of a byte. */
MPI_Datatype tw_mpi_type(tw_dtype_t dtype);

/* MPI's operation for a reduction; the sum for an average, to be divided afterwards. */
MPI_Op tw_mpi_op(tw_reduction_t reduction);

/* The first reduction with MPI's operation `op`; false if there is none. */
bool tw_mpi_reduction(MPI_Op op, tw_reduction_t *reduction_p);

#endif /* TW_TRANSPORT_LINK_MPI_TYPE_H */
