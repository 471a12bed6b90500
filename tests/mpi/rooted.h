/* SPDX-License-Identifier: BSD-3-Clause
 * tests/mpi/rooted.h - cases of scatter(v) and gather(v).
 */
#ifndef TW_TESTS_MPI_ROOTED_H
#define TW_TESTS_MPI_ROOTED_H

void a_root_scatters_and_gathers(void);
void what_a_root_and_bytes_refuse(void);

#endif /* TW_TESTS_MPI_ROOTED_H */
