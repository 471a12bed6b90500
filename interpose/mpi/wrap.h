/* SPDX-License-Identifier: BSD-3-Clause
 * interpose/mpi/wrap.h - what the generated wrappers need.
 *
 * A wrapper does nothing but pass its arguments on unless we are active (between MPI_Init and
 * MPI_Finalize, with settings that all ranks share) and this thread is not already inside one of
 * our wrappers (tw_enter()): what MPI or a tool calls from inside stays untouched.
 */
#ifndef TW_INTERPOSE_WRAP_H
#define TW_INTERPOSE_WRAP_H

#include <stddef.h>
#include <stdint.h>

#include "interpose/mpi/comms.h"
#include "interpose/handlers.h"
#include "interpose/mpi/late.h"
#include "interpose/mpi/lifecycle.h"
#include "interpose/mpi/messages.h"
#include "interpose/next.h"
#include "interpose/mpi/pending.h"
#include "interpose/state.h"
#include "interpose/record/recording.h"
#include "interpose/mpi/types.h"
#include "interpose/mpi/watch.h"

/* mpi.h of MPICH does not mark its functions visible: the wrappers must be. */
#define TW_EXPORT                  __attribute__((visibility("default")))
#define TW_ALIAS(name, of, params) TW_EXPORT void name params __attribute__((alias(#of)))

/* A handle given by value, as the program's family has it. */
typedef uintptr_t tw_word_t;

#define TW_SITE __builtin_return_address(0)

/* What a call from Fortran returned; mpi_f08 may leave the argument out. */
#define TW_IERR(ierr) ((ierr) != NULL ? *(ierr) : MPI_SUCCESS)

/* MPI_IN_PLACE and MPI_BOTTOM come from Fortran as addresses of variables of the MPI library, or of
 * any other object that is loaded. */
void *tw_fortran_buffer(void *address);

/* As tw_missing(). */
void tw_fortran_missing(const char *name, MPI_Fint *ierr);

#endif /* TW_INTERPOSE_WRAP_H */
