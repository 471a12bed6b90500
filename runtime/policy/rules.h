/* SPDX-License-Identifier: BSD-3-Clause
 * policy/rules.h - which codec for which call of a program that knows nothing of thinwire.
 *
 * A rule is "CONDITION[:CONDITION...]=SPEC" or "CONDITION[:CONDITION...]:off"; the first rule whose
 * conditions all hold decides. Conditions, in any order, each kind at most once:
 *     bcast, allreduce, reduce, reduce_scatter, reduce_scatter_block, allgather, allgatherv,
 *     alltoall, alltoallv      the operation; the nonblocking form (ibcast) goes with it
 *     float, double            the type of the values, as base/dtype.h names them (complex numbers
 *     are pairs of them)
 *     sum, max, min, prod      what a reduction makes of the values, as base/reduction.h names it
 *     >=SIZE, >SIZE, <=SIZE, <SIZE   bytes of the vector that would be encoded (64k, 1M, 2G)
 *     comm=world, comm=self, comm=N   MPI_COMM_WORLD, MPI_COMM_SELF, any communicator of N ranks
 *     *                        anything
 * A lower and an upper size are two kinds: ">=64k:<1M" is a range. comm=MPI_COMM_WORLD and
 * comm=MPI_COMM_SELF are world and self; other names are refused, since MPI_Comm_set_name is local
 * and ranks that decided by what it set could decide differently. "=off" is the same as ":off".
 * Text may hold several rules, separated by line breaks or semicolons; # starts a comment that goes
 * to the end of the line, blanks around rules, conditions and specs are skipped. Pure functions, no
 * MPI; codec specs are not checked here.
 */
#ifndef TW_POLICY_RULES_H
#define TW_POLICY_RULES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <thinwire/codec.h>
#include <thinwire/status.h>

/* The operations, in the order of the table of names. */
typedef enum tw_rule_op {
    TW_RULE_BCAST,
    TW_RULE_ALLREDUCE,
    TW_RULE_REDUCE,
    TW_RULE_REDUCE_SCATTER,
    TW_RULE_REDUCE_SCATTER_BLOCK,
    TW_RULE_ALLGATHER,
    TW_RULE_ALLGATHERV,
    TW_RULE_ALLTOALL,
    TW_RULE_ALLTOALLV,
    TW_RULE_OPS
} tw_rule_op_t;

extern const char *const tw_rule_op_names[TW_RULE_OPS]; /* "bcast", ... */

#define TW_RULE_SPEC_MAX 64 /* bytes of a codec spec with its NUL */

typedef struct tw_rule {
    int      op;          /* tw_rule_op_t, or -1 for any                                       */
    int      dtype;       /* tw_dtype_t, or -1 for any                                         */
    uint64_t least, most; /* bytes, both included                                              */
    char     comm[8];     /* "" any; else "world" or "self"                                    */
    int      ranks;       /* 0 any; else the number of ranks, and comm is ""                   */
    char     spec[TW_RULE_SPEC_MAX]; /* "" is off                                               */
    int      line;      /* where it stood in its text, from 1                                */
    int      reduction; /* tw_reduction_t, or -1 for any call                                */
} tw_rule_t;

typedef struct tw_rules {
    tw_rule_t *rules; /* owned */
    size_t     count;
} tw_rules_t;

/** Append the rules of `text` to `rules` (zero-initialise it first).
 * @param [out] why  on failure one line: which rule, which part, and what is accepted; else "". It
 *                   is cut to why_size; 512 bytes hold all of it. May be NULL.
 * @return TW_OK, TW_ERR_SPEC, TW_ERR_NO_MEMORY; on failure the rules are as before. */
tw_status_t tw_rules_parse(tw_rules_t *rules, const char *text, char *why, size_t why_size);

/** A rule as it would be written, with sizes as limits that are included:
 * "allreduce:float:>=1M=tree8". 128 bytes and the spec hold all of it. */
void tw_rule_text(const tw_rule_t *rule, char *text, size_t size);

void tw_rules_free(tw_rules_t *rules);

/* What a call is, in terms that all its ranks know to be equal. */
typedef struct tw_rule_query {
    tw_rule_op_t op;
    tw_dtype_t   dtype;
    uint64_t     bytes;     /* of the vector that would be encoded, at full width               */
    const char  *comm_name; /* "world", "self", or "" for all others                            */
    int          ranks;
    int          reduction; /* tw_reduction_t, or -1 where nothing is reduced                   */
} tw_rule_query_t;

/* The index of the first rule that holds, or -1. Allocates nothing. */
int tw_rules_match(const tw_rules_t *rules, const tw_rule_query_t *query);

#endif /* TW_POLICY_RULES_H */
