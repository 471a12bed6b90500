/* SPDX-License-Identifier: BSD-3-Clause
 * transport/auto/auto.h - the codec `auto`: decisions for collectives.
 *
 * A decision (codec, algorithm, fragment; or MPI's own collective) is a function of the operation,
 * the class of the count, the permitted error, the type, the use of error feedback, the forced
 * algorithm, and the facts of the communicator. All ranks use rank 0's facts, so all ranks decide
 * alike. A decision is made once and then looked up. THINWIRE_DECISIONS replays decisions instead.
 */
#ifndef TW_TRANSPORT_AUTO_AUTO_H
#define TW_TRANSPORT_AUTO_AUTO_H

#include <thinwire/facts.h>

#include "runtime/policy/decisions.h"
#include "runtime/transport/auto/abs.h"
#include "runtime/transport/coll/collective.h"

/* A decision, ready for use. */
typedef struct tw_auto_answer {
    bool              native; /* MPI's own collective                                  */
    const tw_codec_t *codec;  /* with native: a lossless one, which only gives the type  */
    size_t            fragment;
    char              algorithm[TW_DECISION_NAME];
} tw_auto_answer_t;

/* Answers by operation and class of counts, for one kind of question; 0: not decided yet, else 1 +
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
    tw_auto_answer_t *answers; /* in the order in which they were decided */
    int               answer_count;
    tw_auto_table_t  *tables;
    tw_auto_codec_t  *codecs;
    tw_abs_state_t    abs;
};

/* Collective, when a communicator is created: decide on recording or replay, and set
 * comm->patient. */
tw_status_t tw_auto_open(tw_comm_t *comm);

/* When a communicator is destroyed; save: rank 0 writes the decisions if they are recorded. */
void tw_auto_close(tw_comm_t *comm, bool save);

/* Collective the first time: facts from a file or a short measurement. */
tw_status_t tw_auto_know(tw_comm_t *comm);

/* Set the facts of the communicator, equal on all ranks; discard earlier decisions. */
tw_status_t tw_auto_learn(tw_comm_t *comm, const tw_facts_t *facts);

/* The execution of a call: `how` with `auto` replaced by a codec and an algorithm. */
typedef struct tw_auto_choice {
    tw_how_t    how;
    bool        native;    /* MPI's own collective, if MPI can count the call        */
    bool        named;     /* the caller named TW_ALGORITHM_MPI                      */
    const char *algorithm; /* NULL: as without auto                                  */
    size_t      fragment;  /* for tw_request_shape_t                                         */
} tw_auto_choice_t;

/* Resolve `auto` of a call; collective as the call. If its codec is not `auto`, choice->how is
 * *call->how. If its algorithm is TW_ALGORITHM_MPI, choice->native is set, and choice->how names no
 * algorithm. */
tw_status_t tw_auto_resolve(const tw_collective_call_t *call, tw_auto_choice_t *choice);

/* Is the codec `auto` (or `abs`) or the algorithm MPI's own, so that a call must be resolved? */
bool tw_auto_asked(const tw_how_t *how);

/* On rank 0, before the facts are shared: raise errors below the codecs' own bounds, and add a
 * lossless codec of each type that has none. */
void tw_auto_trust_facts(tw_comm_t *comm, tw_facts_t *facts);

/* Does the codec of a recorded decision meet the permitted error? If not, `why` is the reason. */
bool tw_auto_trust_decision(tw_comm_t *comm, const tw_decision_t *decision, char *why,
                            size_t why_size);

/* The algorithm that a setting names cannot be used on this communicator: rank 0 logs it at level
 * info. */
void tw_auto_cannot(const tw_comm_t *comm, const tw_question_t *question);

/* As tw_auto_resolve() where counts differ between ranks (alltoallv): `auto` becomes a lossless
 * codec, without a decision. */
tw_status_t tw_auto_resolve_unequal(tw_comm_t *comm, const tw_how_t *how, tw_auto_choice_t *choice);

/* Fast path of blocking calls: has `auto` already decided for MPI's own blocking collective? */
bool tw_auto_is_native(const tw_comm_t *comm, tw_operation_t operation, size_t count,
                       const tw_how_t *how);

/* A codec by its spec, owned by the communicator; NULL without memory. */
const tw_codec_t *tw_auto_codec(tw_comm_t *comm, const char *spec, tw_dtype_t dtype);

/* THINWIRE_EXPLAIN: log a decision and its candidates, one line on rank 0. */
void tw_auto_explain(const tw_comm_t *comm, const tw_question_t *question,
                     const tw_model_candidate_t *list, int count, const tw_decision_t *decision);

#endif /* TW_TRANSPORT_AUTO_AUTO_H */
