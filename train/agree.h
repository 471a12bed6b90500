/* SPDX-License-Identifier: BSD-3-Clause
 * train/agree.h - the ranks agree on what happened, so that none waits for another that has left.
 */
#ifndef TW_TRAIN_AGREE_H
#define TW_TRAIN_AGREE_H

#include <stddef.h>
#include <stdint.h>

#include <mpi.h>

#include <thinwire/comm.h>

#include "command/problem.h"

/** Collective: does any rank have a problem? The lowest that has one prints it to stderr, with its
 * rank if it is not 0 and not all have one. After a fatal problem that rank calls MPI_Abort
 * instead.
 * @return 0 if none has, else -1 on every rank. */
int tw_agree(MPI_Comm comm, tw_problem_t *problem);

/** Collective: compare n words with those of rank 0.
 * @param [out] rank_p, index_p  the lowest rank that differs, and where first; the same everywhere.
 * @return 0 if all are equal, else -1, on every rank. */
int tw_agree_words(MPI_Comm comm, const uint64_t *words, size_t n, int *rank_p, size_t *index_p);

/** The comparison itself: words[ranks][n]. Same outputs. */
int tw_compare_words(const uint64_t *words, int ranks, size_t n, int *rank_p, size_t *index_p);

/** What a status of the library means for the run: sets the problem, fatal where the ranks may not
 * see it alike. @return 0: it was TW_OK; else -1. */
int tw_problem_status(const tw_comm_t *comm, const char *what, tw_status_t status,
                      tw_problem_t *problem);

#endif /* TW_TRAIN_AGREE_H */
