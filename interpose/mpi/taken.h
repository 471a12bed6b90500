/* SPDX-License-Identifier: BSD-3-Clause
 * interpose/mpi/taken.h - integers of MPI that a program takes for floats (policy/taken.h). MPI's
 * operations on them stay those on integers.
 */
#ifndef TW_INTERPOSE_TAKEN_H
#define TW_INTERPOSE_TAKEN_H

#include "interpose/mpi/types.h"

/* What a predefined type is taken for; TW_KIND_OTHER: it is what MPI says. */
tw_kind_t tw_taken_kind(MPI_Datatype datatype);

/* Is it a sum of the values of such a type? */
bool tw_taken_is_sum(MPI_Datatype datatype, MPI_Op op);

#endif /* TW_INTERPOSE_TAKEN_H */
