/* SPDX-License-Identifier: BSD-3-Clause
 * train/base/agree.h - agreement of the ranks on errors, so that no rank waits for one that has
 * left.
 */
#ifndef TW_TRAIN_AGREE_H
#define TW_TRAIN_AGREE_H

#include <stddef.h>
#include <stdint.h>

#include <mpi.h>

#include <thinwire/comm.h>

#include "command/problem.h"

/** Collective: does any rank have a problem? The lowest such rank prints it to stderr, with its
 * number if it is not 0 and not all ranks have a problem. A rank with a fatal problem prints it and
 * calls MPI_Abort instead.
 * @return 0 if no rank has one, else -1 on every rank. */
int tw_agree(MPI_Comm comm, tw_problem_t *problem);

/** Collective: compare n words with those of rank 0.
 * @param [out] rank_p, index_p  the lowest rank that differs, and the first index; equal on all.
 * @return 0 if all are equal, else -1, on every rank. */
int tw_agree_words(MPI_Comm comm, const uint64_t *words, size_t n, int *rank_p, size_t *index_p);

/** The local comparison: words[ranks][n]. Same outputs. */
int tw_compare_words(const uint64_t *words, int ranks, size_t n, int *rank_p, size_t *index_p);

/** Set the problem from a status of the library; fatal if the status may differ between ranks.
 * @return 0 for TW_OK; else -1. */
int tw_problem_status(const tw_comm_t *comm, const char *what, tw_status_t status,
                      tw_problem_t *problem);

#endif /* TW_TRAIN_AGREE_H */
