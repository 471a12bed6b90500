/* SPDX-License-Identifier: BSD-3-Clause
 * interpose/state.h - the state of the drop-in in this process: are we active, with which settings.
 */
#ifndef TW_INTERPOSE_STATE_H
#define TW_INTERPOSE_STATE_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include <thinwire/codec.h>

#include "interpose/mpi/late.h"
#include "runtime/base/context.h"
#include "runtime/base/pool.h"
#include "runtime/policy/drop_in.h"
#include "runtime/policy/policy.h"
#include "runtime/policy/rules.h"
#include "runtime/policy/taken.h"
#include "runtime/transport/comm/mpi_ops.h"

typedef struct tw_state {
    tw_context_t        context; /* log and base settings; for codecs and communicators           */
    tw_drop_in_config_t config;
    tw_policy_config_t  policy;
    tw_rules_t          rules; /* those of THINWIRE_RULES, then of the file, then the codec's own */
    uint64_t        rules_used; /* bit i: rule i has decided a call (the first 64)             */
    char           *rules_text; /* for the comparison between ranks; owned                     */
    tw_taken_list_t taken;      /* THINWIRE_TYPES                                                */
    tw_exec_t       exec;       /* host, one thread unless THINWIRE_THREADS says more            */
    tw_mpi_ops_t    ops;        /* MPI's functions as the transport wants them                   */
    MPI_Datatype    unit;       /* TW_UNIT bytes: what encoded vectors are counted in            */
    int             rank, size;
    bool            codecs;   /* a codec or a rule is given: not only watching                 */
    bool            multiple; /* MPI_THREAD_MULTIPLE is provided                               */
    bool            aborting; /* the job ends, and what is to be said of it has been said */
    bool            info;     /* some communicator's MPI_Info named one                        */
    uint64_t        start_ns;
    uint64_t        seen; /* wrapped calls, of all kinds                                   */
    tw_pool_t       pool; /* of the buffers of calls that are outside the transport        */
    pthread_mutex_t lock; /* of the lists of communicators and outstanding requests        */
} tw_state_t;

extern tw_state_t tw_state;

/* The environment variable in which `thinwire run` leaves the number of the process that it
 * becomes. */
#define TW_RUN_PID "_THINWIRE_RUN_PID"

/* Encoded vectors are padded to a multiple of this many bytes, and sent as that many units: counts
 * and displacements of bytes beyond 2^31 stay ints. */
#define TW_UNIT 64

/* Tests ask for it: encode whatever can be, whether it pays or not. */
static inline bool tw_encode_always(void)
{
    return tw_state.config.encode == TW_ENCODE_ALWAYS;
}

/* Between MPI_Init and MPI_Finalize, and working. */
extern bool tw_active;

/* The same for a thread that calls MPI beside the one that is in MPI_Init or MPI_Finalize. */
static inline bool tw_is_active(void)
{
    return __atomic_load_n(&tw_active, __ATOMIC_ACQUIRE);
}

/* The frame of the wrapper that this thread is in, 0 for none. It may be left over: a longjmp or a
 * C++ exception out of a callback of the program's, such as an error handler, leaves MPI and our
 * wrapper without a word. So it says no more than that a call from a deeper frame may be an inner
 * one; whether it is, the place of the call tells. Buffers of a call that was left so stay where
 * they are: MPI may still use them. */
extern _Thread_local uintptr_t tw_inside __attribute__((tls_model("initial-exec")));

extern bool tw_bound; /* tw_next is filled */
extern bool tw_fits;  /* the MPI library is of the family that this was compiled for */

/* Fill tw_next; false if there is no MPI of C in the process. */
bool tw_bind(void);

/* Is there? One of Fortran alone is passed by. */
static inline bool tw_is_ready(void)
{
    return __builtin_expect(__atomic_load_n(&tw_bound, __ATOMIC_ACQUIRE), 1) || tw_bind();
}

/* Ends the process with one line. */
void tw_no_mpi(void) __attribute__((noreturn));

static inline void tw_ready(void)
{
    if (!tw_is_ready()) {
        tw_no_mpi();
    }
}

/* The program calls a function that no loaded library has but this one: one line, and what the
 * error handler of MPI_COMM_WORLD makes of it. Returns MPI's error if that returns. */
int tw_missing(const char *name);

/* Start of a wrapper: true if a handler is to be called, and tw_leave() after it. */
static inline __attribute__((always_inline)) bool tw_enter(void)
{
    const uintptr_t frame = (uintptr_t)__builtin_frame_address(0);

    tw_ready();
    if (!tw_is_active() ||
        (tw_inside != 0 && frame < tw_inside && tw_late_behind(__builtin_return_address(0)))) {
        return false;
    }
    tw_inside = frame;
    return true;
}

static inline void tw_leave(void)
{
    tw_inside = 0;
}

/* For handlers that are called always: what MPI does inside them stays untouched. */
static inline __attribute__((always_inline)) uintptr_t tw_enter_any(void)
{
    const uintptr_t before = tw_inside;

    tw_ready();
    tw_inside = (uintptr_t)__builtin_frame_address(0);
    return before;
}

static inline void tw_leave_any(uintptr_t before)
{
    tw_inside = before;
}

/* A buffer of the pool; without memory the job ends (a rank that fell back alone would leave the
 * others waiting). Give it back with tw_buffer_put(); NULL is allowed there. */
void *tw_buffer_get(MPI_Comm comm, size_t bytes);
void  tw_buffer_put(void *buffer);

/* A communicator of this rank alone that returns errors, to pack with; made at first use, which
 * nothing does while only watching. */
MPI_Comm tw_state_quiet(void);
void     tw_state_quiet_free(void);

/* What the MPI library says it is. It may be asked before MPI_Init. The other family's limit may be
 * larger than ours: MPICH's is 8192 bytes. */
const char *tw_mpi_version(void);

/* Ours on MPI_COMM_WORLD, in MPI_Init and MPI_Finalize, where the program has nothing under way: it
 * returns errors there meanwhile. */
typedef struct tw_returning {
    MPI_Errhandler handler; /* of the program */
} tw_returning_t;

void tw_errors_return(tw_returning_t *returning);
void tw_errors_restore(tw_returning_t *returning);

/* Wait for a nonblocking collective, at most `limit_s` seconds: 1 if it is complete, 0 if the time
 * is over, -1 after an error. */
int tw_wait_limited(MPI_Request *request, double limit_s);

/* Read the settings of this process and compare them over the ranks; what is wrong with them, rank
 * 0 says in one line. Collective. */
tw_status_t tw_state_settings(void);

/* After MPI_Init: check the library, read and compare the settings; active if all is well. Ends the
 * job with one line from rank 0 if the settings are wrong or differ. */
void tw_state_start(void);

/* Before MPI_Finalize: report, and release everything. */
void tw_state_stop(void);

/* Lines for the user. One line, "thinwire: ..." on stderr. tw_say: rank 0 only. */
void tw_say(const char *format, ...) __attribute__((format(printf, 1, 2)));
void tw_complain(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* One line, and MPI_Abort: where going on would leave other ranks waiting. */
void tw_give_up(MPI_Comm comm, const char *format, ...)
    __attribute__((format(printf, 2, 3), noreturn));

#endif /* TW_INTERPOSE_STATE_H */
