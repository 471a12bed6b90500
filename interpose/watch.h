/* SPDX-License-Identifier: BSD-3-Clause
 * interpose/watch.h - calls that are counted and passed on: persistent and large-count forms.
 */
#ifndef TW_INTERPOSE_WATCH_H
#define TW_INTERPOSE_WATCH_H

#include "interpose/late.h"
#include "runtime/policy/rules.h"

/* Count a call. form: 1 persistent (its creation), 2 large count. The vector has `count` items of
 * `datatype`, or as many as `ints` or `larges` (one per rank) add up to. */
void tw_watch_form(const void *site, tw_rule_op_t op, int nonblocking, int form, MPI_Comm comm,
                   MPI_Count count, const int *ints, const MPI_Count *larges,
                   MPI_Datatype datatype);

#endif /* TW_INTERPOSE_WATCH_H */
