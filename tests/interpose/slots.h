/* SPDX-License-Identifier: BSD-3-Clause
 * tests/interpose/slots.h - fifty requests: what each is, how it begins, what its end must look
 * like.
 */
#ifndef TW_TESTS_INTERPOSE_SLOTS_H
#define TW_TESTS_INTERPOSE_SLOTS_H

#include "tests/interpose/job.h"

#define T_SLOTS   50
#define T_MESSAGE 40 /* ints in a message from rank to rank */

typedef enum t_kind {
    T_COLLECTIVE,
    T_SEND,
    T_RECV,
    T_PERSISTENT_SEND,
    T_PERSISTENT_RECV,
    T_BARRIER,
    T_GENERAL,
    T_NOTHING,
    T_KINDS
} t_kind_t;

extern const char *const t_kind_names[T_KINDS];

typedef struct t_slot {
    t_kind_t    kind;
    int         index;
    MPI_Request request;
    bool        open; /* not completed yet; never for T_NOTHING */
    bool        persistent;
    t_job_t     job;
    int         message[T_MESSAGE];
    int         freed; /* calls of the free function of a generalized request */
} t_slot_t;

extern t_slot_t t_slots[T_SLOTS];

/* Begin all of them, drawn from shared, which must be equal on all ranks; messages go round the
 * ranks of the world in the communicator `messages`. A blocking call may come in between. */
void t_slots_begin(const t_place_t *place, MPI_Comm messages, uint64_t *shared);

/* Complete them in a random order of this rank's own. complete.c. */
void t_slots_complete(uint64_t *own);

void t_slots_free(void);

/* A request is done, as `how` says; the status is NULL where it was ignored. */
void t_slot_completed(t_slot_t *slot, const MPI_Status *status, const char *how);
void t_slot_status(const t_slot_t *slot, const MPI_Status *status);
void t_empty_status(const MPI_Status *status);

#endif /* TW_TESTS_INTERPOSE_SLOTS_H */
