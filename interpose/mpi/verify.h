/* SPDX-License-Identifier: BSD-3-Clause
 * interpose/mpi/verify.h - sampled calls are compared with the exact collective; the error
 * contract.
 *
 * A level holds the codec that a kind of call - communicator, operation, type, count; communicator
 * and operation alone for alltoallv, whose counts and types may differ between ranks - uses now. It
 * moves, on all ranks together, only by errors that were reduced over the ranks inside a verified
 * call. A verified call returns the compressed result.
 * A broadcast does not synchronise, and so must not be followed by a reduction: under a contract
 * the root measures what it is about to send and puts the codec it chose before it.
 */
#ifndef TW_INTERPOSE_VERIFY_H
#define TW_INTERPOSE_VERIFY_H

#include "interpose/call.h"

/* After the choice of a codec: replace it by the level's under a contract (NULL and CONTRACT where
 * none keeps it, or where the call cannot be verified), and say whether this call is verified. */
void tw_verify_decide(tw_call_t *call);

/* For one pair of an alltoallv, whose level tw_verify_pairs() has found. */
const tw_choice_t *tw_verify_choice(tw_call_t *call, const tw_choice_t *choice);

/* At the start of an alltoallv that is not refused: count it, decide whether it is verified. */
void tw_verify_pairs(tw_call_t *call);

/* Sums over a vector: squares of errors and of exact values, largest error. long double, as squares
 * of doubles may be beyond the range of double. */
typedef struct tw_errors {
    long double error2, exact2;
    double      worst;
} tw_errors_t;

/* Time since `start` goes to what the program did not ask for; if it was the exact collective, to
 * that too. */
void tw_verify_spent(tw_call_t *call, uint64_t start, bool exact);

/* Add n values: result against exact. */
void tw_errors_add(tw_errors_t *errors, tw_dtype_t dtype, const void *result, const void *exact,
                   size_t n);

/* Reduce the errors over the ranks of the communicator, note them in the call, and under a contract
 * step up where it is broken. Collective. Every rank of a verified call calls it, whatever it sent.
 */
void tw_verify_conclude(tw_call_t *call, const tw_errors_t *errors);

/* The same on one rank, without communication or step: what the root of a broadcast measured. */
void tw_verify_note(tw_call_t *call, const tw_errors_t *errors);

/* What was noted was an attempt: nothing of it was sent. */
void tw_verify_forget(tw_call_t *call);

/* Add `items` items of a type of any layout against consecutive exact values. */
void tw_verify_compare(tw_call_t *call, tw_errors_t *errors, const tw_type_t *type,
                       const void *buffer, size_t items, const void *exact);

/* Does rms(error) / rms(exact) keep the contract? */
bool tw_errors_kept(const tw_errors_t *errors);

#endif /* TW_INTERPOSE_VERIFY_H */
