/* SPDX-License-Identifier: BSD-3-Clause
 * interpose/mpi/requests.h - requests of the program: handles of C, or Fortran's integers.
 */
#ifndef TW_INTERPOSE_REQUESTS_H
#define TW_INTERPOSE_REQUESTS_H

#include <stdbool.h>
#include <stddef.h>

#include "interpose/next.h"

typedef struct tw_requests {
    const MPI_Request *c;
    const MPI_Fint    *fortran;
} tw_requests_t;

#define TW_C(requests) ((tw_requests_t){.c = (requests)})
#define TW_F(requests) ((tw_requests_t){.fortran = (requests)})

static inline bool tw_requests_given(tw_requests_t requests)
{
    return requests.c != NULL || requests.fortran != NULL;
}

static inline MPI_Request tw_request_at(tw_requests_t requests, int i)
{
    return requests.c != NULL ? requests.c[i] : tw_mpi_request_f2c(requests.fortran[i]);
}

#endif /* TW_INTERPOSE_REQUESTS_H */
