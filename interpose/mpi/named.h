/* SPDX-License-Identifier: BSD-3-Clause
 * interpose/mpi/named.h - MPI's predefined types: which are floating-point numbers, and what they
 * are called.
 */
#ifndef TW_INTERPOSE_NAMED_H
#define TW_INTERPOSE_NAMED_H

#include "interpose/mpi/types.h"

/* A type that was asked for before: a look into a table, without a call of MPI's. */
bool tw_named_find(MPI_Datatype datatype, tw_type_t *type);

/* The same where it stands, for ever; NULL: it was not asked for before. */
const tw_type_t *tw_named_at(MPI_Datatype datatype);

/* Any predefined type. */
void tw_named_get(MPI_Datatype datatype, tw_type_t *type);

/* Of floating-point numbers of so many bytes. */
tw_kind_t tw_kind_of_size(size_t size);

#endif /* TW_INTERPOSE_NAMED_H */
