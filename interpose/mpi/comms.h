/* SPDX-License-Identifier: BSD-3-Clause
 * interpose/mpi/comms.h - what is known about the program's communicators.
 *
 * An entry is made at the first call on a communicator, locally, and goes when the program frees
 * the communicator (or at MPI_Finalize), together with the private duplicate that the transport
 * uses, if there is one. A duplicate is made only inside a blocking Allreduce, Bcast or
 * Allgather(v), so that whether it exists follows from the communicator's history of collectives
 * and is equal on all ranks. */
#ifndef TW_INTERPOSE_COMMS_H
#define TW_INTERPOSE_COMMS_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include <thinwire/comm.h>
#include <thinwire/feedback.h>

#include "interpose/mpi/late.h"
#include "runtime/policy/abs.h"
#include "runtime/policy/rules.h"

/* Error feedback of repeated Allreduce calls: by type and count, never by buffer address. The list
 * has the one used last first. */
typedef struct tw_entry_feedback {
    struct tw_entry_feedback *next;
    char           type[24]; /* of the program: complex numbers are no floats here      */
    uint64_t       count;
    tw_dtype_t     dtype; /* of what is encoded */
    tw_feedback_t *feedback;
} tw_entry_feedback_t;

/* The error contract's state for one kind of call: how many calls there were, and the codec that a
 * broken contract has moved to; or what an absolute bound has seen. Equal on all ranks. */
typedef struct tw_entry_level {
    struct tw_entry_level *next;
    tw_rule_op_t           op;
    tw_dtype_t             dtype;
    tw_reduction_t         reduction;
    uint64_t               count; /* values; 0 where counts may differ between ranks */
    uint64_t               calls;
    char                   spec[TW_RULE_SPEC_MAX]; /* in use; "" is off */
    tw_abs_level_t         absolute;
} tw_entry_level_t;

typedef struct tw_entry {
    struct tw_entry  *next;
    MPI_Comm          handle;
    int               rank, size;
    bool              usable; /* an intracommunicator of ranks of MPI_COMM_WORLD, more than one  */
    int               why;    /* tw_why_t where not usable                                       */
    char              label[40]; /* for the report: "world", "self", its name, "N ranks"         */
    const char       *name;      /* for rules: "world", "self" or ""; other names are known to one
                                       rank alone */
    char              info[TW_RULE_SPEC_MAX]; /* thinwire_codec, see hint.c; "" none              */
    tw_comm_t        *duplicate; /* NULL before the first blocking call that makes it            */
    uint64_t          made;      /* how many duplicates there were when it was made           */
    struct tw_device *device;    /* that the duplicate works on, too; NULL: none yet       */
    bool              in_host;   /* but no more: it had no memory                              */
    bool              no_duplicate; /* making it failed, on all ranks                            */
    bool              gone; /* freed by the program; the duplicate is still in use             */
    int stride;    /* of its ranks in MPI_COMM_WORLD; 0: not asked yet                      */
    int two_stage; /* two-stage operations outstanding on the duplicate               */
    int users;     /* nonblocking calls outstanding, those included                   */
    tw_entry_feedback_t *feedbacks;
    uint64_t             feedback_bytes; /* of the vectors that these are for                    */
    tw_entry_level_t    *levels;
    pthread_mutex_t      lock; /* of the duplicate: the transport wants one thread at a time     */
} tw_entry_t;

/* The entry of a communicator; NULL for MPI_COMM_NULL. */
tw_entry_t *tw_comms_get(MPI_Comm comm);

/* From one of its ranks to the next in MPI_COMM_WORLD, in the mean; at least 1. Local. */
int tw_comms_stride(tw_entry_t *entry);

/* Inside a blocking call of these: the duplicate, made now if there is none. NULL if it cannot be
 * made, on all ranks alike. */
tw_comm_t *tw_comms_duplicate(tw_entry_t *entry);

/* The feedback object for vectors of count values that are encoded as dtype, of a type of the
 * program with this name; made at first use (collective). Others that were not used for longest go
 * where THINWIRE_FEEDBACK_MAX asks for it, and are added to *dropped: what goes follows from the
 * calls on this communicator, so all ranks drop the same. NULL on failure. */
tw_feedback_t *tw_comms_feedback(tw_entry_t *entry, const char *type, tw_dtype_t dtype,
                                 uint64_t count, uint64_t *dropped);

/* The level of a kind of call, made with `spec` at first use. Those that were not used for
 * longest go, on all ranks alike, and begin anew. */
tw_entry_level_t *tw_comms_level(tw_entry_t *entry, tw_rule_op_t op, tw_dtype_t dtype,
                                 tw_reduction_t reduction, uint64_t count, const char *spec);

/* The program frees the communicator: call before it does. Collective where the program's call is.
 */
void tw_comms_forget(MPI_Comm comm);

/* A nonblocking call begins and ends: while one is outstanding the entry stays, and the duplicate
 * too where two-stage operations run on it, although the program has freed the communicator. Such a
 * duplicate goes when the program frees the next communicator, or at MPI_Finalize. */
void tw_comms_hold(tw_entry_t *entry);
void tw_comms_let_go(tw_entry_t *entry);

/* Read thinwire_codec from info for this communicator. Collective, as MPI_Comm_set_info is: the
 * ranks must say the same, else none of them follows it, and rank 0 says so. */
void tw_comms_set_info(MPI_Comm comm, MPI_Info info);

/* The same for a duplicate, which has what it was copied from until then; NULL is allowed. */
void tw_comms_set_info_of_copy(const MPI_Comm *comm, MPI_Info info);

/* Keep the spec as an attribute of the communicator, which copies of it inherit. */
void tw_comms_keep_info(MPI_Comm comm, const char *spec);

/* What a communicator has of it, from there or from the one that it is a duplicate of: into spec,
 * which stays as it is without; and away with it, on a duplicate that gets another MPI_Info. */
void tw_comms_get_info(MPI_Comm comm, char *spec, size_t size);
void tw_comms_drop_info(MPI_Comm comm);

/* In MPI_Init and MPI_Finalize. */
void tw_comms_info_start(void);
void tw_comms_info_stop(void);

/* The error contract begins anew; so does error feedback. */
void tw_comms_drop_levels(tw_entry_t *entry);
void tw_comms_drop_feedbacks(tw_entry_t *entry);

/* At MPI_Finalize: free all duplicates, in the order in which they were made. */
void tw_comms_stop(void);

#endif /* TW_INTERPOSE_COMMS_H */
