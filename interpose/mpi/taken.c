/* SPDX-License-Identifier: BSD-3-Clause
 * interpose/mpi/taken.c - see taken.h.
 */
#include "config.h"

#include "interpose/mpi/taken.h"
#include "interpose/state.h"

#define TW_TAKEN_HANDLE(type) type,

/* NULL: it is what MPI says. */
static const tw_taken_t *taken_of(MPI_Datatype datatype)
{
    const MPI_Datatype handles[TW_TAKEN_COUNT] = {TW_TAKEN(TW_TAKEN_HANDLE)};

    for (int i = 0; i < TW_TAKEN_COUNT; i++) {
        if (handles[i] == datatype) {
            return tw_state.taken[i].is ? &tw_state.taken[i] : NULL;
        }
    }
    return NULL;
}

tw_kind_t tw_taken_kind(MPI_Datatype datatype)
{
    const tw_taken_t *taken = taken_of(datatype);
    int               kind  = TW_DTYPE_ROWS;

    while (kind > 0 && (taken == NULL || tw_dtypes[kind - 1] != taken->dtype)) {
        kind--;
    }
    return (tw_kind_t)kind; /* TW_KIND_OTHER is 0 */
}

bool tw_taken_is_sum(MPI_Datatype datatype, MPI_Op op)
{
    const MPI_Op      of_mpi[] = {MPI_OP_NULL, MPI_SUM,    MPI_MIN,    MPI_MAX,     MPI_PROD,
                                  MPI_LAND,    MPI_BAND,   MPI_LOR,    MPI_BOR,     MPI_LXOR,
                                  MPI_BXOR,    MPI_MINLOC, MPI_MAXLOC, MPI_REPLACE, MPI_NO_OP};
    const tw_taken_t *taken    = taken_of(datatype);

    for (size_t i = 0; i < sizeof(of_mpi) / sizeof(of_mpi[0]); i++) {
        if (op == of_mpi[i]) {
            return false;
        }
    }
    return taken != NULL && taken->sum;
}
