/* SPDX-License-Identifier: BSD-3-Clause
 * transport/auto/auto.h - the codec `auto`: what a collective that is asked for it does.
 *
 * A decision (codec, algorithm, fragment; or MPI's own collective) is a function of the operation,
 * the class of the count, the error wished for, the type, whether there is error feedback, what
 * algorithm is forced, and the facts of the communicator, which are rank 0's on every rank: so all
 * ranks decide alike. It is made once and looked up from then on. THINWIRE_DECISIONS replays
 * decisions instead.
 */
#ifndef TW_TRANSPORT_AUTO_AUTO_H
#define TW_TRANSPORT_AUTO_AUTO_H

#include <thinwire/facts.h>

#include "runtime/policy/decisions.h"
#include "runtime/transport/coll/collective.h"

/* What was decided, ready for use. */
typedef struct tw_auto_answer {
    bool              native; /* MPI's own collective                                  */
    const tw_codec_t *codec;  /* with native: one that loses nothing, for the type alone */
    size_t            fragment;
    char              algorithm[TW_DECISION_NAME];
} tw_auto_answer_t;

/* Answers by operation and class of counts, for one kind of question; 0: not asked yet, else 1 +
 * index. */
typedef struct tw_auto_table {
    double                max_error;
    tw_dtype_t            dtype;
    bool                  feedback;
    int                   forced; /* tw_algorithm_t of the calls */
    int                   answer[TW_OPERATIONS][TW_MODEL_CLASSES];
    struct tw_auto_table *next;
} tw_auto_table_t;

typedef struct tw_auto_codec {
    tw_codec_t           *codec;
    char                  spec[TW_DECISION_SPEC];
    tw_dtype_t            dtype;
    struct tw_auto_codec *next;
} tw_auto_codec_t;

struct tw_auto {
    bool              known;  /* facts are there                                      */
    bool              replay; /* decided was read from THINWIRE_DECISIONS             */
    bool              explain;
    char             *calibration; /* THINWIRE_CALIBRATION                            */
    char             *path;        /* rank 0: THINWIRE_DECISIONS, to be written at the end */
    tw_facts_t        facts;
    tw_decisions_t    decided;
    tw_auto_answer_t *answers; /* in the order in which they were asked for */
    int               answer_count;
    tw_auto_table_t  *tables;
    tw_auto_codec_t  *codecs;
};

/* Collective, when a communicator is created: what is recorded or replayed; are all ranks patient?
 */
tw_status_t tw_auto_open(tw_comm_t *comm);

/* When it is destroyed; save: rank 0 writes what was decided, if that is wanted. */
void tw_auto_close(tw_comm_t *comm, bool save);

/* Collective the first time: facts from a file or a short measurement. */
tw_status_t tw_auto_know(tw_comm_t *comm);

/* Give the facts, equal on all ranks, to the communicator; earlier decisions stand no more. */
tw_status_t tw_auto_learn(tw_comm_t *comm, const tw_facts_t *facts);

/* How a call is to be carried out: `how` with codec and algorithm in place of `auto`. */
typedef struct tw_auto_choice {
    tw_how_t    how;
    bool        native;    /* by MPI's own collective, if that can count the call    */
    bool        named;     /* that was the caller's wish                             */
    const char *algorithm; /* NULL: as without auto                                  */
    size_t      fragment;  /* for tw_request_shape_t                                         */
} tw_auto_choice_t;

/* Collective like the call that asks. Where its codec is not `auto`, choice->how is *call->how, and
 * native says if TW_ALGORITHM_MPI is in it. */
tw_status_t tw_auto_resolve(const tw_collective_call_t *call, tw_auto_choice_t *choice);

/* Must a call be resolved: is its codec `auto`, or its algorithm MPI's own? */
bool tw_auto_asked(const tw_how_t *how);

/* Rank 0, before it tells them to all: no codec is said to be more exact than it is, and there is
 * one of each type that loses nothing. */
void tw_auto_trust_facts(tw_comm_t *comm, tw_facts_t *facts);

/* Does the codec of a recorded decision keep the error that was asked for? Else why not. */
bool tw_auto_trust_decision(tw_comm_t *comm, const tw_decision_t *decision, char *why,
                            size_t why_size);

/* The algorithm that a setting names cannot be followed on this communicator: rank 0 says so at
 * level info. */
void tw_auto_cannot(const tw_comm_t *comm, const tw_question_t *question);

/* The same as tw_auto_resolve() where ranks know different counts (alltoallv): nothing is lost,
 * nothing is decided. */
tw_status_t tw_auto_resolve_unequal(tw_comm_t *comm, const tw_how_t *how, tw_auto_choice_t *choice);

/* The quick way of blocking calls: is it decided that this is MPI's own collective, at once? */
bool tw_auto_is_native(const tw_comm_t *comm, tw_operation_t operation, size_t count,
                       const tw_how_t *how);

/* A codec by its spec, kept as long as the communicator; NULL without memory. */
const tw_codec_t *tw_auto_codec(tw_comm_t *comm, const char *spec, tw_dtype_t dtype);

/* THINWIRE_EXPLAIN: one line on rank 0 about a decision and what it was taken from. */
void tw_auto_explain(const tw_comm_t *comm, const tw_question_t *question,
                     const tw_model_candidate_t *list, int count, const tw_decision_t *decision);

#endif /* TW_TRANSPORT_AUTO_AUTO_H */
