/* SPDX-License-Identifier: BSD-3-Clause
 * interpose/mpi/taken.h - types that a program takes for floats (policy/taken.h). MPI's operations
 * on integers among them stay those on integers.
 */
#ifndef TW_INTERPOSE_TAKEN_H
#define TW_INTERPOSE_TAKEN_H

#include "interpose/mpi/types.h"

/* What a type is taken for, whose size the caller compares; TW_KIND_OTHER: it is what MPI says. */
tw_kind_t tw_taken_kind(MPI_Datatype datatype);

/* Is it a sum of the values of such a type? */
bool tw_taken_is_sum(MPI_Datatype datatype, MPI_Op op);

/* The name of a row of the setting that no type had so far; NULL: one had, or it is MPI's. */
const char *tw_taken_unmet(size_t row);

#endif /* TW_INTERPOSE_TAKEN_H */
