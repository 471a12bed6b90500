/* SPDX-License-Identifier: BSD-3-Clause
 * tests/transport/stub_mpi.c - addresses of the stub device become addresses of its bytes.
 */
#include "config.h"

#include "tests/transport/stub_device.h"
#include "tests/transport/stub_mpi.h"

static int stub_isend(const void *p, int n, MPI_Datatype type, int peer, int tag, MPI_Comm comm,
                      MPI_Request *request)
{
    return MPI_Isend(stub_real(p), n, type, peer, tag, comm, request);
}

static int stub_irecv(void *p, int n, MPI_Datatype type, int peer, int tag, MPI_Comm comm,
                      MPI_Request *request)
{
    return MPI_Irecv(stub_real(p), n, type, peer, tag, comm, request);
}

const tw_mpi_ops_t *stub_mpi(void)
{
    static tw_mpi_ops_t mpi;

    mpi       = tw_mpi_default;
    mpi.Isend = stub_isend;
    mpi.Irecv = stub_irecv;
    return &mpi;
}
