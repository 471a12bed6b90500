/* SPDX-License-Identifier: BSD-3-Clause
 * interpose/mpi/taken.c - see taken.h. Types of MPI are known by their handles. A name that the
 * program gives a type of its own is local: the setting, which is the same on all ranks, says that
 * they all give it.
 */
#include "config.h"

#include "interpose/mpi/taken.h"
#include "interpose/next.h"
#include "interpose/state.h"

#define TW_TAKEN_ROW(type) {type, #type},

static bool taken_met[TW_TAKEN_MAX]; /* row i is a type's */

/* NULL: it is what MPI says. */
static const tw_taken_t *taken_of(MPI_Datatype datatype)
{
    const struct {
        MPI_Datatype handle;
        const char  *name;
    } of_mpi[]                                  = {TW_TAKEN(TW_TAKEN_ROW)};
    char              name[MPI_MAX_OBJECT_NAME] = "";
    int               length                    = 0;
    const tw_taken_t *taken                     = NULL;

    for (size_t i = 0; i < sizeof(of_mpi) / sizeof(of_mpi[0]); i++) {
        if (of_mpi[i].handle == datatype) {
            return tw_taken_find(&tw_state.taken, of_mpi[i].name);
        }
    }
    if (tw_state.taken.count > 0 && tw_next.Type_get_name(datatype, name, &length) == MPI_SUCCESS &&
        !tw_taken_is_of_mpi(name)) {
        taken = tw_taken_find(&tw_state.taken, name);
    }
    if (taken != NULL) {
        __atomic_store_n(&taken_met[taken - tw_state.taken.row], true, __ATOMIC_RELAXED);
    }
    return taken;
}

const char *tw_taken_unmet(size_t row)
{
    const char *const name = tw_state.taken.row[row].name;

    return tw_taken_is_of_mpi(name) || __atomic_load_n(&taken_met[row], __ATOMIC_RELAXED) ? NULL
                                                                                          : name;
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
