/* SPDX-License-Identifier: BSD-3-Clause
 * tests/mpi/absolute.h - cases of auto.mpi about the other codec that collectives replace, abs:E.
 */
#ifndef TW_TESTS_MPI_ABSOLUTE_H
#define TW_TESTS_MPI_ABSOLUTE_H

void t_absolute_bound_is_kept(void);
void t_absolute_sums_are_exact(void);
void t_absolute_limits(void);

#endif /* TW_TESTS_MPI_ABSOLUTE_H */
