/* SPDX-License-Identifier: BSD-3-Clause
 * transport/link/mpi_type.c - see mpi_type.h.
 */
#include "config.h"

#include "runtime/transport/link/mpi_type.h"

MPI_Datatype tw_mpi_type(tw_dtype_t dtype)
{
    switch (dtype) {
#define TW_TYPE_CASE(dtype, row, mpi, ...)                                                         \
    case dtype:                                                                                    \
        return mpi;
        TW_DTYPES(TW_TYPE_CASE)
    case TW_BYTE:
        return MPI_BYTE;
    default:
        return MPI_DATATYPE_NULL;
    }
}

MPI_Op tw_mpi_op(tw_reduction_t reduction)
{
    switch (reduction) {
#define TW_REDUCTION_CASE(reduction, name, mpi, ...)                                               \
    case reduction:                                                                                \
        return mpi;
        TW_REDUCTIONS(TW_REDUCTION_CASE)
    }
    return MPI_OP_NULL;
}

bool tw_mpi_reduction(MPI_Op op, tw_reduction_t *reduction_p)
{
#define TW_REDUCTION_IF(reduction, name, mpi, ...)                                                 \
    if (op == mpi) {                                                                               \
        *reduction_p = reduction;                                                                  \
        return true;                                                                               \
    }
    TW_REDUCTIONS(TW_REDUCTION_IF)
    return false;
}
