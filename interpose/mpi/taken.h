/* SPDX-License-Identifier: BSD-3-Clause
 * interpose/mpi/taken.h - integers of MPI that a program takes for floats of as many bytes, as it
 * says by THINWIRE_TYPES: "MPI_UINT16_T=bfloat16", and with ":sum", that its own operations
 * (MPI_Op_create) on them are the sum. MPI's operations on them stay those on integers.
 */
#ifndef TW_INTERPOSE_TAKEN_H
#define TW_INTERPOSE_TAKEN_H

#include "interpose/mpi/types.h"

/* Read the setting: a list separated by commas. TW_OK, or TW_ERR_SETTING with `why`. */
tw_status_t tw_taken_parse(const char *text, char *why, size_t size);

/* What a predefined type is taken for; TW_KIND_OTHER: it is what MPI says. */
tw_kind_t tw_taken_kind(MPI_Datatype datatype);

/* Is it a sum of the values of such a type? */
bool tw_taken_is_sum(MPI_Datatype datatype, MPI_Op op);

#endif /* TW_INTERPOSE_TAKEN_H */
