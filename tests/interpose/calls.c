/* SPDX-License-Identifier: BSD-3-Clause
 * tests/interpose/calls.c - communicators, operations, and what MPI allows and the drop-in may
 * compress.
 */
#include "config.h"

#include <string.h>

#include "tests/interpose/job.h"

const char *const t_form_names[5] = {"blocking", "nonblocking", "persistent", "large count",
                                     "nonblocking large count"};

static MPI_Op user_sum, user_left;

t_place_t t_place(MPI_Comm comm, const char *name)
{
    t_place_t place = {.comm = comm, .name = name};

    PMPI_Comm_rank(comm, &place.rank);
    PMPI_Comm_size(comm, &place.size);
    place.remote = place.size;
    return place;
}

t_place_t t_place_inter(MPI_Comm comm, const char *name, bool low)
{
    t_place_t place = t_place(comm, name);

    place.inter       = true;
    place.base        = low ? 0 : T_RANKS_MAX;
    place.remote_base = low ? T_RANKS_MAX : 0;
    PMPI_Comm_remote_size(comm, &place.remote);
    return place;
}

/* The layout of a type, which may be a duplicate of the program's handle: by extent and size. */
static const t_layout_t *layout_of(MPI_Datatype type)
{
    MPI_Aint lower, extent;
    int      size;

    MPI_Type_get_extent(type, &lower, &extent);
    MPI_Type_size(type, &size);
    for (int i = 0; i < T_LAYOUTS; i++) {
        const t_layout_t *layout = &t_layouts[i];

        if (layout->type == type || (layout->extent == extent && layout->family == T_FLOATS &&
                                     layout->basics * 4 == size)) {
            return layout;
        }
    }
    return NULL;
}

static void sum_up(void *in, void *inout, int *length, MPI_Datatype *type)
{
    const t_layout_t *layout = layout_of(*type);

    if (layout == NULL) {
        t_fail(__FILE__, __LINE__, "a user operation got an unknown type");
        return;
    }
    for (int i = 0; i < *length; i++) {
        for (int k = 0; k < layout->basics; k++) {
            const long     at   = (long)i * layout->extent + layout->at[k];
            const t_base_t base = (t_base_t)layout->base[k];
            const double   sum =
                t_read(base, (unsigned char *)in + at) + t_read(base, (unsigned char *)inout + at);

            t_write(base, (int64_t)sum, (unsigned char *)inout + at);
        }
    }
}

/* Associative, but not commutative: the result is what the first rank gave. */
static void keep_left(void *in, void *inout, int *length, MPI_Datatype *type)
{
    const t_layout_t *layout = layout_of(*type);

    for (int i = 0; layout != NULL && i < *length; i++) {
        for (int k = 0; k < layout->basics; k++) {
            const long at = (long)i * layout->extent + layout->at[k];

            memcpy((unsigned char *)inout + at, (unsigned char *)in + at,
                   t_base_size((t_base_t)layout->base[k]));
        }
    }
}

void t_operations_make(void)
{
    MPI_Op_create(sum_up, 1, &user_sum);
    MPI_Op_create(keep_left, 0, &user_left);
}

void t_operations_free(void)
{
    MPI_Op_free(&user_sum);
    MPI_Op_free(&user_left);
}

MPI_Op t_operation(t_reduction_t reduction)
{
    const MPI_Op all[] = {MPI_SUM, MPI_MAX, MPI_BAND, MPI_MINLOC, user_sum, user_left};

    return all[reduction];
}

bool t_eligible(const t_call_t *call, const t_place_t *place)
{
    const t_family_t family = call->recv->family;
    const bool       floats = family == T_FLOATS || family == T_COMPLEX;

    if (place->inter || place->size == 1 || t_expectation.kind == T_EXACT || family == T_OTHER ||
        (t_expectation.kind == T_LOSSY && !floats && t_expectation.rel_double <= 0)) {
        return false;
    }
    return call->op < T_ALLREDUCE || call->reduction == T_SUM;
}

/* What goes wrong without any drop-in. */
static bool broken(const t_call_t *call, const t_place_t *place)
{
#ifdef MPICH_NUMVERSION /* 4.0 */
    const bool resized =
        call->recv == &t_layouts[T_L_RESIZED] || call->recv == &t_layouts[T_L_HINDEXED];

    /* Numbers of different sizes in one type: messages are counted wrongly by some algorithms. */
    return (call->recv == &t_layouts[T_L_FLOAT_DOUBLE] &&
            (place->inter || (call->op <= T_ALLTOALLV && call->in_place))) ||
           (call->op >= T_REDUCE_SCATTER && call->reduction == T_USER_LEFT && resized) ||
           (call->op == T_REDUCE && call->in_place && call->root != 0) ||
           (call->op == T_BCAST && place->inter && call->root != 0);
#else /* Open MPI 4.1 */
    /* Messages above 4 KiB arrive with others' data in them. */
    if (call->op == T_ALLTOALLV && call->in_place && call->form == T_NONBLOCKING) {
        return call->units * call->unit * 2 * 8 > 4000;
    }
    /* It takes the type of one sender for that of all. */
    return call->op == T_ALLGATHERV && place->inter && call->send != call->recv;
#endif
}

bool t_allowed(const t_call_t *call, const t_place_t *place)
{
    const t_layout_t *layout = call->recv;

    if ((call->in_place && (call->op == T_BCAST || place->inter)) || broken(call, place)) {
        return false;
    }
    if (call->op < T_ALLREDUCE) {
        return call->reduction == T_SUM;
    }
    switch (call->reduction) {
    case T_SUM:
        return layout->predefined && layout->type != MPI_FLOAT_INT;
    case T_MAX:
        return layout->predefined && layout->basics == 1;
    case T_BAND:
        return layout->type == MPI_INT;
    case T_MINLOC:
        return layout->type == MPI_FLOAT_INT;
    case T_USER_SUM:
    case T_USER_LEFT:
        return layout->family == T_FLOATS;
    }
    return false;
}
