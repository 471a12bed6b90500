/* SPDX-License-Identifier: BSD-3-Clause
 * interpose/mpi/absolute.h - an absolute error bound (abs:E) in the forms of transfer.h that all
 * ranks see alike, bcast and allgather(v): the codes are looked at before they become values, and
 * what did not fit a grid travels once more, as it is. Allreduce has it by the transport.
 */
#ifndef TW_INTERPOSE_ABSOLUTE_H
#define TW_INTERPOSE_ABSOLUTE_H

#include "interpose/mpi/transfer.h"

/* What is against such a codec, abs or auto, in this call: the transport, which decides, has
 * blocking Allreduce alone. */
tw_why_t tw_absolute_refusal(const tw_call_t *call, const tw_choice_t *choice);

/* After the choice of abs for such a call: the grid by which it travels. */
void tw_absolute_decide(tw_call_t *call);

/* What all ranks have now, codes or, behind a call without a grid, values: learn from it. False: it
 * did not fit. */
bool tw_absolute_fits(tw_call_t *call, const tw_side_t *side);

#endif /* TW_INTERPOSE_ABSOLUTE_H */
