/* SPDX-License-Identifier: BSD-3-Clause
 * tests/interpose/job.h - one collective call: its buffers, its input, and the result it must give.
 *
 * A call says what is to be done, a place where. Results are computed here, from the seed alone.
 * All bytes of all buffers are compared afterwards, also those around the data and in its holes.
 */
#ifndef TW_TESTS_INTERPOSE_JOB_H
#define TW_TESTS_INTERPOSE_JOB_H

#include "tests/interpose/layouts.h"
#include "tests/interpose/memory.h"

#define T_GUARD 64 /* bytes on either side of the data of a buffer */

typedef enum t_form {
    T_BLOCKING,
    T_NONBLOCKING,
    T_PERSISTENT, /* from here on: MPI 4 */
    T_LARGE,      /* MPI_Count: the _c calls */
    T_LARGE_NONBLOCKING
} t_form_t;

#if MPI_VERSION >= 4
#define T_FORMS 5
#else
#define T_FORMS 2
#endif

extern const char *const t_form_names[5];

typedef enum t_reduction { T_SUM, T_MAX, T_BAND, T_MINLOC, T_USER_SUM, T_USER_LEFT } t_reduction_t;

typedef struct t_place {
    MPI_Comm    comm;
    const char *name;
    bool        inter;
    int         rank, size; /* in the local group                                           */
    int         remote;     /* ranks of the remote group; of the same group if not inter    */
    int         base;       /* rank r of the local group is the `who` base + r of t_integer */
    int         remote_base;
} t_place_t;

typedef struct t_call {
    t_op_t            op;
    t_form_t          form;
    bool              in_place;
    bool              strange; /* arguments that MPI ignores hold what it would refuse        */
    int               root;
    t_reduction_t     reduction;
    const t_layout_t *send, *recv; /* may differ between ranks within their family           */
    int               unit;        /* basic elements: a multiple of what each rank's items have */
    int               units;       /* of a message; v-forms draw 0 to twice as many          */
    uint64_t          seed;
} t_call_t;

typedef struct t_piece {
    long     at; /* items from the buffer's address                       */
    long     items;
    int      who;   /* whose data, -1: reduced over the remote group         */
    uint64_t first; /* position of its first basic element                   */
} t_piece_t;

typedef struct t_buffer {
    const t_layout_t *layout;
    t_memory_t        place;         /* of memory                             */
    unsigned char    *memory, *want; /* all of it, and what it must be        */
    unsigned char    *data; /* the address that goes to MPI, T_GUARD bytes behind the first */
    size_t            bytes;
    t_piece_t         pieces[T_RANKS_MAX]; /* the data in it                  */
    int               count;
} t_buffer_t;

typedef struct t_job {
    t_call_t   call;
    t_place_t  place;
    t_buffer_t send, recv;
    int        send_n, recv_n; /* items of a message of the forms without v   */
    int        send_counts[T_RANKS_MAX], send_at[T_RANKS_MAX];
    int        recv_counts[T_RANKS_MAX], recv_at[T_RANKS_MAX];
    size_t     loose_from, loose_to; /* bytes of recv.memory that may be anything */
    MPI_Op     op;
    bool       receives; /* recv is significant on this rank                  */
    void      *large;    /* arrays of the _c forms, see issue.c               */
} t_job_t;

/* Places. The intracommunicators' names go into the messages. */
t_place_t t_place(MPI_Comm comm, const char *name);
t_place_t t_place_inter(MPI_Comm comm, const char *name, bool low);

/* User operations must exist while jobs are open. */
void t_operations_make(void);
void t_operations_free(void);

/* May this call be compressed? */
bool t_eligible(const t_call_t *call, const t_place_t *place);
/* Does MPI allow it? */
bool t_allowed(const t_call_t *call, const t_place_t *place);

/* A call that MPI allows, of messages of at most `most` basic elements (about); the same on all
 * ranks of the place, except for the layouts. draw.c. */
void t_call_draw(t_call_t *call, const t_place_t *place, uint64_t seed, size_t most, bool blocking);

MPI_Op t_operation(t_reduction_t reduction);

/* The result of a reduction at a position, and the sum of its summands' magnitudes. */
int64_t t_reduced(const t_job_t *job, t_base_t base, uint64_t position, double *magnitude_p);

void t_job_open(t_job_t *job, const t_place_t *place, const t_call_t *call);

/* Calls MPI. Persistent requests come back inactive; issue.c. */
int t_job_issue(t_job_t *job, MPI_Request *request_p);

/* Compares; *changed_p (or NULL) is set where a result differs from the exact one. */
void t_job_check(t_job_t *job, bool *changed_p);
void t_job_close(t_job_t *job);

/* All of it, with MPI_Wait where the form needs it. */
void t_job_once(const t_place_t *place, const t_call_t *call);

/* What t_job_once() counts in this thread: calls that may be compressed and have T_ENOUGH bytes per
 * message, and those of them whose results differed from the exact ones. */
#define T_ENOUGH 2048
extern _Thread_local int t_changed[T_OPS][5], t_changeable[T_OPS][5];

#endif /* TW_TESTS_INTERPOSE_JOB_H */
