/* SPDX-License-Identifier: BSD-3-Clause
 * policy/decisions.h - decisions of `auto` as text, so that a run can be repeated bit for bit.
 * Pure: no MPI, no files.
 *
 *     thinwire decisions 1
 *     version 0.1.0
 *     communicator 4 1 4 0 1
 *     allreduce float 3f947ae147ae147b plain 0 1048576 tree8:block=4096,split=0.45 two_pass 65536
 *     bcast float 3f947ae147ae147b plain 0 4 mpi mpi 0
 *     checksum 0123456789abcdef
 *
 * A communicator: ranks, nodes, most ranks on a node, rank 0's rank in the job, number. A decision:
 * operation, type of the values, greatest error (the bits of the double), plain or with feedback,
 * algorithm that the call or a setting names (0: none), least count of the class; codec, algorithm,
 * bytes of a fragment.
 */
#ifndef TW_POLICY_DECISIONS_H
#define TW_POLICY_DECISIONS_H

#include "runtime/policy/model.h"

#define TW_DECISION_SPEC 96
#define TW_DECISION_NAME 24

/* What is asked. */
typedef struct tw_question {
    tw_operation_t operation;
    tw_dtype_t     dtype;
    bool           feedback;
    int            forced; /* what the call names, or the setting: tw_policy_number(); 0: nothing */
    double         max_error;
    int            class_index;
} tw_question_t;

typedef struct tw_decision {
    tw_question_t question;
    char          spec[TW_DECISION_SPEC];      /* "mpi": MPI's own collective */
    char          algorithm[TW_DECISION_NAME]; /* then "mpi", too             */
    size_t        fragment;
} tw_decision_t;

/* Which communicator. number counts those that agree in all else, in the order of their creation on
 * the process that is rank 0 of them, from 1. */
typedef struct tw_decisions_of {
    int ranks, nodes, local_ranks, leader, number;
} tw_decisions_of_t;

typedef struct tw_decisions {
    tw_decisions_of_t of;
    tw_decision_t    *list; /* owned */
    size_t            count;
} tw_decisions_t;

typedef struct tw_decisions_file {
    tw_decisions_t *parts; /* owned, with their lists */
    size_t          count;
} tw_decisions_file_t;

bool tw_decisions_same(const tw_decisions_of_t *a, const tw_decisions_of_t *b);

/* Append a copy; false without memory. */
bool tw_decisions_add(tw_decisions_t *decisions, const tw_decision_t *decision);

/* The decision on a question, or NULL. */
const tw_decision_t *tw_decisions_find(const tw_decisions_t *decisions,
                                       const tw_question_t  *question);

/* Put a copy of the part in, in place of one of the same communicator; false without memory. */
bool tw_decisions_put(tw_decisions_file_t *file, const tw_decisions_t *part);

/* Any bytes may come. On failure the file is empty and why says what is wrong, in a few words. */
bool tw_decisions_read(const char *text, size_t length, const char *version,
                       tw_decisions_file_t *file, char *why, size_t why_size);

/* The text, to be freed, or NULL without memory. */
char *tw_decisions_write(const tw_decisions_file_t *file, const char *version, size_t *length_p);

void tw_decisions_free(tw_decisions_file_t *file);

#endif /* TW_POLICY_DECISIONS_H */
