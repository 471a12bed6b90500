/* SPDX-License-Identifier: BSD-3-Clause
 * interpose/mpi/rungs.h - the steps that an error contract takes where ranks must agree on one
 * although their codecs and types differ (alltoallv): all specs that a codec names as the next
 * finer one, by bytes. The list is that of the codecs, so all ranks of a job have it alike.
 */
#ifndef TW_INTERPOSE_RUNGS_H
#define TW_INTERPOSE_RUNGS_H

#include "interpose/choice.h"

/* What the contract would step up to from this choice, as a number from 1 that grows with the
 * bytes: the largest over the ranks serves all. One above all others: elements as they are. */
int tw_rung_after(const tw_choice_t *choice);

/* The spec of such a number (from 1), with the codec's default options; "": elements as they
 * are. */
const char *tw_rung_spec(int rung);

#endif /* TW_INTERPOSE_RUNGS_H */
