/* SPDX-License-Identifier: BSD-3-Clause
 * interpose/lifecycle.h - what must be done before MPI ends or frees something, in any language.
 */
#ifndef TW_INTERPOSE_LIFECYCLE_H
#define TW_INTERPOSE_LIFECYCLE_H

#include "interpose/late.h"

/* MPI_Abort is about to be called: this rank's counters. */
void tw_about_to_abort(void);

/* The program is about to free a communicator. */
void tw_about_to_free(MPI_Comm comm);

#endif /* TW_INTERPOSE_LIFECYCLE_H */
