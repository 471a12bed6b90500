/* SPDX-License-Identifier: BSD-3-Clause
 * tests/mpi/stored.h - feedback objects, and what their files hold, for the tests of files.
 */
#ifndef TW_TESTS_MPI_STORED_H
#define TW_TESTS_MPI_STORED_H

#include "tests/mpi/harness.h"

#define T_STORED_COUNT 801 /* values of the objects that are compared */

/* An object on comm that has been through some steps of a two_pass allreduce, so that both of its
 * residuals hold something. */
tw_feedback_t *t_feedback_used(tw_comm_t *comm, const char *name, uint64_t seed, size_t count,
                               int steps);

/* What the file of an object holds, on rank 0 of its communicator; NULL elsewhere. */
char *t_feedback_saved(tw_feedback_t *fb, int rank, size_t *bytes_p);

/* The status of restoring from a file of n bytes; rank as above. */
tw_status_t t_feedback_restored(tw_feedback_t *fb, int rank, char *bytes, size_t n,
                                tw_feedback_use_t use);

/* Residuals and norms of two objects of T_STORED_COUNT float32 values are the same bits. */
void t_feedback_same(tw_feedback_t *a, tw_feedback_t *b);

#endif /* TW_TESTS_MPI_STORED_H */
