/* SPDX-License-Identifier: BSD-3-Clause
 * interpose/mpi/messages.h - messages from rank to rank and one-sided transfers: counted and passed
 * on.
 *
 * The generated wrappers call this after MPI has taken the call, so that nothing is asked of
 * arguments that MPI would refuse. A program may send a million messages a second: a call is
 * counted without a lock, and without a look at the clock, in the record of its place, operation
 * and type.
 */
#ifndef TW_INTERPOSE_MESSAGES_H
#define TW_INTERPOSE_MESSAGES_H

#include <stddef.h>
#include <stdint.h>

#include "interpose/mpi/late.h"
#include "interpose/mpi/requests.h"
#include "interpose/report/records.h"
#include "interpose/mpi/types.h"

/* What was called: tw_watched_t; form: 0 usual, 1 persistent, 2 large count. */
#define TW_SENT(op, nonblocking, form) ((unsigned)(op) | (nonblocking) << 8 | (form) << 16)

/* One message: where it is counted, its bytes, and values to look at, NULL without. */
typedef struct tw_sending {
    tw_record_t *record;
    uint64_t     bytes;
    const void  *values;
    size_t       count;
    tw_dtype_t   dtype;    /* of the values */
    int          offset;   /* while recording: from this rank to the other; 0: not known */
    int          elements; /* tw_elements_t */
} tw_sending_t;

/* `count` items to a rank. What goes to MPI_PROC_NULL is no message, and what a rank sends itself
 * has no bytes, as in collectives. buf NULL: what was there is no longer. */
void tw_message_sent(const void *site, unsigned what, const void *buf, MPI_Count count,
                     MPI_Datatype datatype, int dest, MPI_Comm comm);

/* The same of a persistent request, counted at each start (watch.c). */
void tw_message_kept(const void *site, unsigned what, const void *buf, MPI_Count count,
                     MPI_Datatype datatype, int dest, MPI_Comm comm, tw_requests_t request);

/* `count` items to or from a window of a rank. */
void tw_message_moved(const void *site, unsigned what, MPI_Count count, MPI_Datatype datatype,
                      int target);

/* What is counted of such a message; false: nothing. */
bool tw_message_of(tw_sending_t *message, const void *site, unsigned what, const void *buf,
                   MPI_Count count, MPI_Datatype datatype, int dest, MPI_Comm comm);

/* Count it. */
void tw_message_count(const tw_sending_t *message);

#endif /* TW_INTERPOSE_MESSAGES_H */
