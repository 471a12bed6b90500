/* SPDX-License-Identifier: BSD-3-Clause
 * interpose/call.h - one call of the program: what it is, what is done with it, what it cost.
 *
 * The way of a call: tw_call_begin() -> the handler says what it would encode, tw_call_vector() ->
 * tw_call_decide() sets the codec or the reason against it -> the compressed form, or the next
 * library's function with the program's arguments as they are -> tw_call_end() counts. */
#ifndef TW_INTERPOSE_CALL_H
#define TW_INTERPOSE_CALL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <thinwire/codec.h>

#include "interpose/choice.h"
#include "interpose/mpi/comms.h"
#include "interpose/mpi/late.h"
#include "interpose/report/python.h"
#include "interpose/report/records.h"
#include "interpose/state.h"
#include "interpose/mpi/types.h"

typedef struct tw_call {
    const void              *site;
    const tw_python_place_t *python; /* the site, where it is a line of Python; else NULL */
    int                op; /* tw_rule_op_t or tw_watched_t                                   */
    bool               nonblocking;
    int                form; /* 0 usual, 1 persistent, 2 large count                           */
    tw_entry_t        *comm;
    tw_type_t          type;    /* of the data                                                    */
    bool               reduces; /* by: */
    tw_reduction_t     reduction;
    MPI_Op             mpi_op; /* as MPI has it */
    size_t             values; /* in the vector that would be encoded (per block, per pair)      */
    uint64_t           bytes; /* of that vector, of whatever type; the largest piece of alltoallv */
    tw_why_t           why;   /* TW_WHY_NOT: compressed                                         */
    const tw_choice_t *choice; /* NULL: not compressed                                           */
    const tw_choice_t
        *coded; /* what travels: choice, or of an absolute bound its grid, NULL: none */
    tw_entry_level_t *level;  /* error contract or verification; NULL without                   */
    bool              verify; /* this call is verified                                          */
    uint64_t          start_ns;
    uint64_t          uncompressed, sent; /* see records.h                                      */
    uint64_t          encode_ns, decode_ns;
    uint64_t          exact_ns, extra_ns; /* the exact collective of a verified call; all that the
                                                program did not ask for, that included */
    bool              verified;
    double            worst, worst_rms; /* of a verified call                                 */
    bool              stepped;
    bool              bounded, repeated; /* by an absolute bound; what did not fit went again   */
    int               bits;              /* of its grid; 0: none                                */
    bool              on_device; /* a buffer is device memory, of whatever kind              */
    bool              kept;      /* bcast: this is the root, and it kept its exact values      */
    uint64_t          dropped;   /* vectors whose residuals went */
    size_t            own; /* allgatherv: values of this rank's block                        */
    bool              could_known;
    /* Filled by handlers whose sizes differ between ranks, while watching; see records.h. */
    uint64_t could[TW_CANDIDATES_MAX];
    int      rung; /* alltoallv: the next step of the contract, see rungs.h */
} tw_call_t;

/** Start of a handler. comm may be MPI_COMM_NULL (then nothing is decided: MPI refuses it). */
void tw_call_begin(tw_call_t *call, const void *site, int op, bool nonblocking, MPI_Comm comm);

/** What would be encoded: `count` items of `datatype`. Refuses what MPI would (call->why becomes
 * ARGUMENTS): a negative count, MPI_DATATYPE_NULL, a type that was not committed.
 * @return true if it is fine so far. */
bool tw_call_vector(tw_call_t *call, MPI_Aint count, MPI_Datatype datatype);

/** Only the operations of base/reduction.h on predefined types are ours. */
void tw_call_operation(tw_call_t *call, MPI_Op op);

/** Device memory that we cannot use is MPI's: then all ranks of a call must have theirs there, or
 * none. NULL for a buffer that MPI does not look at on this rank, where any address may stand. */
void tw_call_buffers(tw_call_t *call, const void *sendbuf, const void *recvbuf);

/** Does MPI refuse equal pointers to send from and to receive into, in the collectives in which
 * Open MPI does not? MPICH does where it takes what lies there for the same data; the caller
 * compares that. A rank may not refuse more than MPI does: nothing may be sent or received there,
 * or the types may interleave, and the other ranks do not know. Forms read all that is sent before
 * they write anything. */
static inline bool tw_same_refused(const void *sendbuf, const void *recvbuf)
{
#ifdef OPEN_MPI
    (void)sendbuf;
    (void)recvbuf;
    return false;
#else
    return sendbuf == recvbuf && sendbuf != MPI_BOTTOM;
#endif
}

/** Refuse, with this reason, unless refused already. */
static inline void tw_call_refuse(tw_call_t *call, tw_why_t why)
{
    if (call->why == TW_WHY_NOT) {
        call->why = why;
    }
}

/** The codec for this call or the reason against it, by rules, threshold, MPI_Pcontrol, MPI_Info.
 * The same on all ranks. @return true if it is to be compressed. */
bool tw_call_decide(tw_call_t *call);

/** Could any call on this communicator be compressed, by settings and info? The same on all ranks.
 */
static inline bool tw_call_may_encode(const tw_call_t *call)
{
    return tw_state.codecs || call->comm->info[0] != '\0';
}

/** Is what was refused for its type to be moved by the transport, as bytes: a blocking call from
 * the threshold on, that a rule or the option names a codec for? The same on all ranks. */
bool tw_call_moves(const tw_call_t *call);

/** After all it is not compressed, for this reason. */
void tw_call_undo(tw_call_t *call, tw_why_t why);

/** For alltoallv: the same question for one pair, of `values` values of kind `kind`. The
 * communicator and operation must not have been refused. NULL: this pair travels as it is. */
const tw_choice_t *tw_call_decide_pair(tw_call_t *call, tw_kind_t kind, size_t values);

/** Why `values` values of this kind are not compressed in this call; TW_WHY_NOT if they are. */
void tw_call_choice_reason(const tw_call_t *call, tw_kind_t kind, size_t values, tw_why_t *why);

/** Count the call. */
void tw_call_end(tw_call_t *call);

/** Add time to the record of an earlier nonblocking call: its own counters are in *call, calls
 * is not counted again. */
void tw_call_more(tw_call_t *call, uint64_t ns);

/** Bytes that a rank sends in an operation over `ranks` ranks whose vector (block) has `bytes`
 * bytes, by the algorithms that move least: allreduce 2 (P-1)/P, bcast, reduce and reduce-scatter
 * (P-1)/P, allgather and alltoall (P-1). */
uint64_t tw_call_moved(tw_rule_op_t op, int ranks, uint64_t bytes);

/** Watched only, and a codec could have been there: the report says what the candidates would
 * send. */
bool tw_call_could_send(const tw_call_t *call);

/* MPI_Pcontrol: 0 off, other levels on. */
extern int tw_pcontrol_off;

#endif /* TW_INTERPOSE_CALL_H */
