/* SPDX-License-Identifier: BSD-3-Clause
 * tests/mpi/node_read.h - cases of node.c about memory that ranks read of each other.
 */
#ifndef TW_TESTS_MPI_NODE_READ_H
#define TW_TESTS_MPI_NODE_READ_H

void memory_that_others_cannot_read(void);
void unreadable_memory_in_several_operations(void);
void a_rank_that_forbids_to_look(void);
void a_reader_that_is_refused_is_told_about(void);
void a_root_that_is_stopped_is_read(void);

#endif /* TW_TESTS_MPI_NODE_READ_H */
