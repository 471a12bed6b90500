/* SPDX-License-Identifier: BSD-3-Clause
 * interpose/record/recording.h - what --record records while the program runs: this rank's sequence
 * of collectives, and what it computes between them.
 *
 * Time outside of MPI is computation; time within MPI that is no collective of thinwire-job(5) is
 * fixed. Where threads call MPI at the same time (MPI_THREAD_MULTIPLE), only the thread that called
 * MPI_Init is recorded: their calls have no order. So nothing here takes a lock.
 */
#ifndef TW_INTERPOSE_RECORDING_H
#define TW_INTERPOSE_RECORDING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "interpose/call.h"
#include "interpose/mpi/late.h"
#include "interpose/mpi/requests.h"

/* Between MPI_Init and MPI_Finalize, with --record. */
extern bool tw_recording_on;

static inline bool tw_is_recording(void)
{
    return __builtin_expect(__atomic_load_n(&tw_recording_on, __ATOMIC_RELAXED), 0);
}

/* In MPI_Init, when it is known how the program uses threads. */
void tw_recording_begin(void);

/* At the start of MPI_Finalize: the sequence is complete. */
void tw_recording_end(void);

/* Is this the process in which MPI_Init was called, and has it not come to MPI_Finalize? */
bool tw_recording_unfinished(void);

/* Is this the first rank of its node to say that the job is not written, while those before it
 * live? */
bool tw_recording_first_to_say(void);

/* When all ranks are in MPI_Finalize: rank 0 writes the job. Collective on MPI_COMM_WORLD. */
void tw_recording_finish(void);

/* A call that will be counted begins. */
void tw_recording_begins(void);

/* A call that has just been counted; it took from call->start_ns to end_ns. */
void tw_recording_call(const tw_call_t *call, uint64_t end_ns);

/* MPI gave this request for the nonblocking call that was recorded last, or that call failed. */
void tw_recording_request(int result, tw_requests_t request);

/* Around the calls that MPI has just started together, which it has been in since start_ns: they
 * have that time in common. */
void tw_recording_together_begin(uint64_t start_ns);
void tw_recording_together_end(void);

/* The call at hand has sent so many bytes to the rank at this offset; elements: tw_elements_t. */
void tw_recording_sent(const void *site, bool python, int offset, uint64_t bytes, int elements);

/* Around any other function of MPI. 0 is no time: this call is not looked at.
 * tw_recording_received(): around one that has waited for a message. */
void     tw_recording_received(uint64_t start_ns);
uint64_t tw_recording_other_begin(void);
void     tw_recording_other_end(uint64_t start_ns);

/* Recorded collectives among the requests of a completion call. */
#define TW_RECORDING_SMALL 16
typedef struct tw_recording_waiting {
    int                            index;
    bool                           complete;
    struct tw_recording_under_way *what;
} tw_recording_waiting_t;

typedef struct tw_recording_waits {
    uint64_t                start_ns; /* 0: not looked at */
    int                     count;
    tw_recording_waiting_t *list;
    tw_recording_waiting_t  small[TW_RECORDING_SMALL];
} tw_recording_waits_t;

/* Around the call, as tw_pending_look() and its like: afterwards all are complete or none; or those
 * at `n` indices, of which the first is 0 in C and 1 in Fortran. Which of several are complete
 * first is a matter of timing, and may differ from rank to rank: it is recorded as if those that
 * were started first were. */
void tw_recording_wait_begin(tw_recording_waits_t *waits, int count, tw_requests_t requests);
void tw_recording_wait_end(tw_recording_waits_t *waits, bool complete);
void tw_recording_wait_end_at(tw_recording_waits_t *waits, int n, const int indices[], int first);

#endif /* TW_INTERPOSE_RECORDING_H */
