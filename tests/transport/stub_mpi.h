/* SPDX-License-Identifier: BSD-3-Clause
 * tests/transport/stub_mpi.h - an MPI library whose messages take the stub device's memory.
 */
#ifndef TW_TESTS_TRANSPORT_STUB_MPI_H
#define TW_TESTS_TRANSPORT_STUB_MPI_H

#include "runtime/transport/comm/mpi_ops.h"

const tw_mpi_ops_t *stub_mpi(void);

#endif /* TW_TESTS_TRANSPORT_STUB_MPI_H */
