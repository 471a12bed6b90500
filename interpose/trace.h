/* SPDX-License-Identifier: BSD-3-Clause
 * interpose/trace.h - what --record records while the program runs: this rank's sequence of
 * collectives, and what it computes between them.
 *
 * Time outside of MPI is computation; time within MPI that is no collective of thinwire-job(5) is
 * fixed. Where threads call MPI at the same time (MPI_THREAD_MULTIPLE), only the thread that called
 * MPI_Init is recorded: their calls have no order. So nothing here takes a lock.
 */
#ifndef TW_INTERPOSE_TRACE_H
#define TW_INTERPOSE_TRACE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "interpose/call.h"
#include "interpose/late.h"
#include "interpose/trace_fold.h"
#include "interpose/trace_words.h"

/* Between MPI_Init and MPI_Finalize, with --record. */
extern bool tw_trace_on;

static inline bool tw_tracing(void)
{
    return __builtin_expect(__atomic_load_n(&tw_trace_on, __ATOMIC_RELAXED), 0);
}

/* In MPI_Init, when it is known how the program uses threads. */
void tw_trace_begin(void);

/* At the start of MPI_Finalize: the sequence is complete. */
void tw_trace_end(void);

/* When all ranks are in MPI_Finalize: rank 0 writes the job. Collective on MPI_COMM_WORLD. */
void tw_trace_finish(void);

/* A call that has just been counted; it took from call->start_ns to end_ns. */
void tw_trace_call(const tw_call_t *call, uint64_t end_ns);

/* MPI gave this request for the nonblocking call that was recorded last, or that call failed. */
void tw_trace_request(int result, const MPI_Request *request);
void tw_trace_request_f(MPI_Fint result, const MPI_Fint *request);

/* Around any other function of MPI. 0 is no time: this call is not looked at. */
uint64_t tw_trace_other_begin(void);
void     tw_trace_other_end(uint64_t start_ns);

/* Recorded collectives among the requests of a completion call. */
typedef struct tw_trace_under_way tw_trace_under_way_t;

#define TW_TRACE_SMALL 16
typedef struct tw_trace_waiting {
    int                   index;
    tw_trace_under_way_t *what;
} tw_trace_waiting_t;

typedef struct tw_trace_waits {
    uint64_t            start_ns; /* 0: not looked at */
    int                 count;
    tw_trace_waiting_t *list;
    tw_trace_waiting_t  small[TW_TRACE_SMALL];
} tw_trace_waits_t;

/* Around the call, as tw_pending_look() and its like: afterwards all are complete or none; or those at
 * `n` indices, of which the first is 0 in C and 1 in Fortran. */
void tw_trace_wait_begin(tw_trace_waits_t *waits, int count, const MPI_Request requests[]);
void tw_trace_wait_begin_f(tw_trace_waits_t *waits, int count, const MPI_Fint requests[]);
void tw_trace_wait_end(tw_trace_waits_t *waits, bool complete);
void tw_trace_wait_end_at(tw_trace_waits_t *waits, int n, const int indices[], int first);

/* ---- between the files of it --------------------------------------------------------------- */

/* How much is told apart, so that it fits. */
typedef enum tw_trace_level {
    TW_TRACE_ALL,      /* everything                                                    */
    TW_TRACE_AVERAGED, /* calls of a site whose sizes differ have their mean             */
    TW_TRACE_UNORDERED /* the order of the calls is lost                                 */
} tw_trace_level_t;

typedef struct tw_trace_event {
    uint32_t id;
    uint64_t compute_ns, fixed_ns; /* since the one before */
} tw_trace_event_t;

#define TW_TRACE_EVENTS 1024  /* that are folded together              */
#define TW_TRACE_NODES  40000 /* of the folded sequence: 10 MB of text */
#define TW_TRACE_WORDS  40000 /* different calls                       */

typedef struct tw_trace {
    bool             everyone; /* calls of all threads are recorded                     */
    pid_t            process;
    pthread_t        thread; /* else those of this one                                */
    uint64_t         others; /* calls of other threads                                */
    bool             failed; /* no memory                                             */
    tw_trace_level_t level;
    tw_trace_words_t words;
    tw_fold_t        fold;
    uint64_t         mark_ns; /* when MPI was left                                      */
    uint64_t         compute_ns, fixed_ns; /* since the last event             */
    uint64_t         collective_ns;        /* in what is recorded              */
    uint64_t         calls;
    uint64_t         sequence; /* hash of all calls, without their sites             */
    struct {                   /* the nonblocking call whose request is to come       */
        uint32_t start, wait;  /* start: its word in slot 0, or TW_TRACE_NO_ID        */
        uint32_t slot;
    } started;
    size_t           events;
    tw_trace_event_t event[TW_TRACE_EVENTS];
} tw_trace_t;

extern tw_trace_t tw_trace;

/* Does this thread record? */
bool tw_trace_mine(void);

/* This thread was in MPI from start_ns to end_ns. */
void tw_trace_passed(uint64_t start_ns, uint64_t end_ns, bool collective);

/* The next of the sequence. */
void tw_trace_add(uint32_t id);

/* All that was added is in words and fold. */
void tw_trace_flush(void);

/* Words are told apart by less from now on; map: from old ids to new ones. */
void tw_trace_requests_renumber(const uint32_t *map);

/* Leave sizes or sites out of everything; where it does not fit even so, the order. */
void tw_trace_coarsen(tw_trace_without_t without);

#endif /* TW_INTERPOSE_TRACE_H */
