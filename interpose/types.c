/* SPDX-License-Identifier: BSD-3-Clause
 * interpose/types.c - see types.h.
 */
#include "config.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "interpose/next.h"
#include "interpose/state.h"
#include "interpose/types.h"

/* ---- predefined types ------------------------------------------------------------------------ */

/* The predefined types of floating-point numbers. Those of Fortran have the size that the MPI
 * library was built for, and a library may lack some: MPI_DATATYPE_NULL. */
static tw_kind_t tw_kind_of_named(MPI_Datatype datatype, size_t size, size_t *values_p)
{
    const MPI_Datatype reals[]     = {MPI_FLOAT, MPI_DOUBLE, MPI_REAL,
                                      MPI_REAL4, MPI_REAL8,  MPI_DOUBLE_PRECISION};
    const MPI_Datatype complexes[] = {
        MPI_C_FLOAT_COMPLEX, MPI_C_DOUBLE_COMPLEX, MPI_COMPLEX,           MPI_COMPLEX8,
        MPI_COMPLEX16,       MPI_DOUBLE_COMPLEX,   MPI_CXX_FLOAT_COMPLEX, MPI_CXX_DOUBLE_COMPLEX};
    size_t parts = 0;

    for (size_t i = 0; i < sizeof(reals) / sizeof(reals[0]) && parts == 0; i++) {
        parts = datatype == reals[i] ? 1 : 0;
    }
    for (size_t i = 0; i < sizeof(complexes) / sizeof(complexes[0]) && parts == 0; i++) {
        parts = datatype == complexes[i] ? 2 : 0;
    }
    *values_p = parts;
    if (parts > 0 && size == parts * sizeof(float)) {
        return TW_KIND_FLOAT;
    }
    if (parts > 0 && size == parts * sizeof(double)) {
        return TW_KIND_DOUBLE;
    }
    *values_p = 0;
    return TW_KIND_OTHER;
}

static void tw_type_name(MPI_Datatype datatype, tw_type_t *type)
{
    char name[MPI_MAX_OBJECT_NAME] = "";
    int  length                    = 0;

    if (type->kind != TW_KIND_OTHER) {
        const size_t parts = type->values;

        snprintf(type->name, sizeof(type->name), "%s%s",
                 type->kind == TW_KIND_FLOAT ? "float" : "double", parts == 2 ? " complex" : "");
    } else if (tw_next.Type_get_name(datatype, name, &length) == MPI_SUCCESS && length > 0) {
        snprintf(type->name, sizeof(type->name), "%.23s", name);
    } else {
        snprintf(type->name, sizeof(type->name), "other");
    }
}

static void tw_type_fill_named(MPI_Datatype datatype, tw_type_t *type)
{
    int      size = 0;
    MPI_Aint lb   = 0;

    memset(type, 0, sizeof(*type));
    type->handle = datatype;
    type->named  = true;
    if (tw_next.Type_size(datatype, &size) == MPI_SUCCESS && size > 0) {
        type->size = (size_t)size;
    }
    tw_next.Type_get_extent(datatype, &lb, &type->extent);
    type->kind  = tw_kind_of_named(datatype, type->size, &type->values);
    type->dense = type->extent == (MPI_Aint)type->size && lb == 0;
    tw_type_name(datatype, type);
}

/* Predefined types are never freed, so what was found out about them is kept. Written once under
 * the lock, read without. */
#define TW_NAMED_SLOTS 128
static struct {
    MPI_Datatype handle;
    int          filled;
    tw_type_t    type;
} tw_named[TW_NAMED_SLOTS];

static size_t tw_named_slot(MPI_Datatype datatype)
{
    return (size_t)(((uint64_t)(uintptr_t)datatype * UINT64_C(0x9e3779b97f4a7c15)) >> 57) %
           TW_NAMED_SLOTS;
}

static bool tw_named_find(MPI_Datatype datatype, tw_type_t *type)
{
    const size_t first = tw_named_slot(datatype);

    for (size_t i = 0; i < TW_NAMED_SLOTS; i++) {
        const size_t slot = (first + i) % TW_NAMED_SLOTS;

        if (!__atomic_load_n(&tw_named[slot].filled, __ATOMIC_ACQUIRE)) {
            return false;
        }
        if (tw_named[slot].handle == datatype) {
            *type = tw_named[slot].type;
            return true;
        }
    }
    return false;
}

static void tw_named_keep(const tw_type_t *type)
{
    const size_t first = tw_named_slot(type->handle);

    pthread_mutex_lock(&tw_state.lock);
    for (size_t i = 0; i < TW_NAMED_SLOTS; i++) {
        const size_t slot = (first + i) % TW_NAMED_SLOTS;

        if (!tw_named[slot].filled || tw_named[slot].handle == type->handle) {
            tw_named[slot].handle = type->handle;
            tw_named[slot].type   = *type;
            __atomic_store_n(&tw_named[slot].filled, 1, __ATOMIC_RELEASE);
            break;
        }
    }
    pthread_mutex_unlock(&tw_state.lock);
}

/* ---- derived types --------------------------------------------------------------------------- */

/* What the parts of a derived type have in common. */
typedef struct tw_parts {
    tw_kind_t kind;
    bool      any; /* some part with data has been seen */
    bool      mixed;
} tw_parts_t;

static void tw_parts_add(tw_parts_t *parts, tw_kind_t kind)
{
    parts->mixed = parts->mixed || kind == TW_KIND_OTHER || (parts->any && kind != parts->kind);
    parts->kind  = kind;
    parts->any   = true;
}

/* Types that stand behind this one, with their counts where a struct gives them: a member of which
 * there are none is no part of the signature. */
static bool tw_parts_of(MPI_Datatype datatype, tw_parts_t *parts, bool *contiguous_p);

static bool tw_parts_contents(MPI_Datatype datatype, const int number[3], int combiner,
                              tw_parts_t *parts, bool *contiguous_p)
{
    int          *integers  = malloc(((size_t)number[0] + 1) * sizeof(*integers));
    MPI_Aint     *addresses = malloc(((size_t)number[1] + 1) * sizeof(*addresses));
    MPI_Datatype *types     = malloc(((size_t)number[2] + 1) * sizeof(*types));
    bool          fine      = integers != NULL && addresses != NULL && types != NULL;

    fine = fine && tw_next.Type_get_contents(datatype, number[0], number[1], number[2], integers,
                                             addresses, types) == MPI_SUCCESS;
    for (int i = 0; fine && i < number[2]; i++) {
        bool      contiguous = false;
        const int none       = combiner == MPI_COMBINER_STRUCT && integers[1 + i] == 0;

        if (!none) {
            fine = tw_parts_of(types[i], parts, &contiguous);
        }
        *contiguous_p =
            contiguous && (combiner == MPI_COMBINER_CONTIGUOUS || combiner == MPI_COMBINER_DUP);
    }
    for (int i = 0; fine && i < number[2]; i++) {
        int inner[3], inner_combiner = MPI_COMBINER_NAMED;

        /* The handles of derived types are ours to free. */
        if (tw_next.Type_get_envelope(types[i], &inner[0], &inner[1], &inner[2], &inner_combiner) ==
                MPI_SUCCESS &&
            inner_combiner != MPI_COMBINER_NAMED && inner_combiner != MPI_COMBINER_F90_REAL &&
            inner_combiner != MPI_COMBINER_F90_COMPLEX &&
            inner_combiner != MPI_COMBINER_F90_INTEGER) {
            tw_next.Type_free(&types[i]);
        }
    }
    free(integers);
    free(addresses);
    free(types);
    return fine;
}

static bool tw_parts_of(MPI_Datatype datatype, tw_parts_t *parts, bool *contiguous_p)
{
    int       number[3] = {0, 0, 0}, combiner = 0;
    MPI_Count size = 0;

    *contiguous_p = false;
    if (tw_next.Type_get_envelope(datatype, &number[0], &number[1], &number[2], &combiner) !=
            MPI_SUCCESS ||
        tw_next.Type_size_x(datatype, &size) != MPI_SUCCESS) {
        return false;
    }
    switch (combiner) {
    case MPI_COMBINER_NAMED: {
        tw_type_t named;

        tw_type_fill_named(datatype, &named);
        if (size != 0) {
            tw_parts_add(parts, named.kind);
        }
        *contiguous_p = named.dense;
        return true;
    }
    case MPI_COMBINER_F90_REAL:
        tw_parts_add(parts, size == 4 ? TW_KIND_FLOAT : size == 8 ? TW_KIND_DOUBLE : TW_KIND_OTHER);
        *contiguous_p = true;
        return true;
    case MPI_COMBINER_F90_COMPLEX:
        tw_parts_add(parts, size == 8    ? TW_KIND_FLOAT
                            : size == 16 ? TW_KIND_DOUBLE
                                         : TW_KIND_OTHER);
        *contiguous_p = true;
        return true;
    case MPI_COMBINER_F90_INTEGER:
        tw_parts_add(parts, TW_KIND_OTHER);
        return true;
    default:
        return size == 0 || tw_parts_contents(datatype, number, combiner, parts, contiguous_p);
    }
}

/* MPI refuses types that were not committed, and so must we where we would use them: a pack of
 * nothing tells. */
static bool tw_type_usable(MPI_Datatype datatype)
{
    char byte     = 0;
    int  position = 0;

    if (!tw_state.codecs && !tw_state.info) { /* only watching */
        return true;
    }
    return tw_next.Pack(&byte, 0, datatype, &byte, 1, &position, tw_state_quiet()) == MPI_SUCCESS;
}

static bool tw_type_look_derived(MPI_Datatype datatype, tw_type_t *type)
{
    tw_parts_t parts      = {.kind = TW_KIND_OTHER};
    MPI_Count  size       = 0; /* int would not do for 2 GiB and more */
    MPI_Aint   lb         = 0;
    bool       contiguous = false;

    memset(type, 0, sizeof(*type));
    type->handle = datatype;
    if (tw_next.Type_size_x(datatype, &size) != MPI_SUCCESS || size < 0 ||
        tw_next.Type_get_extent(datatype, &lb, &type->extent) != MPI_SUCCESS ||
        !tw_parts_of(datatype, &parts, &contiguous)) {
        return false;
    }
    type->size = (size_t)size;
    type->kind = parts.any && !parts.mixed ? parts.kind : TW_KIND_OTHER;
    type->dense =
        contiguous && type->kind != TW_KIND_OTHER && type->extent == (MPI_Aint)size && lb == 0;
    if (type->kind != TW_KIND_OTHER) {
        type->values = type->size / (type->kind == TW_KIND_FLOAT ? sizeof(float) : sizeof(double));
        snprintf(type->name, sizeof(type->name), "derived(%s)",
                 type->kind == TW_KIND_FLOAT ? "float" : "double");
    } else {
        snprintf(type->name, sizeof(type->name), "derived");
    }
    return true;
}

bool tw_type_look(MPI_Datatype datatype, tw_type_t *type)
{
    int number[3], combiner = 0;

    if (datatype == MPI_DATATYPE_NULL) {
        return false;
    }
    if (tw_named_find(datatype, type)) {
        return true;
    }
    /* Asked on a communicator of ours: the error of a type that is none is the program's own. */
    if (!tw_type_usable(datatype) ||
        tw_next.Type_get_envelope(datatype, &number[0], &number[1], &number[2], &combiner) !=
            MPI_SUCCESS) {
        return false;
    }
    if (combiner != MPI_COMBINER_NAMED) {
        return tw_type_look_derived(datatype, type);
    }
    tw_type_fill_named(datatype, type);
    tw_named_keep(type);
    return true;
}

/* ---- packing --------------------------------------------------------------------------------- */

/* MPI_Pack counts bytes in ints, and MPICH's refuses MPI_BOTTOM. A message to oneself, the
 * program's type on one side and plain values on the other, can do both. One thread at a time, or
 * they would meet. */
static bool tw_type_by_message(const tw_type_t *type, void *buffer, size_t count, void *vector,
                               bool pack)
{
    static pthread_mutex_t lock  = PTHREAD_MUTEX_INITIALIZER;
    const bool             known = type->kind != TW_KIND_OTHER;
    const size_t width = !known ? 1 : type->kind == TW_KIND_DOUBLE ? sizeof(double) : sizeof(float);
    const MPI_Datatype plain  = !known                         ? MPI_BYTE
                                : type->kind == TW_KIND_DOUBLE ? MPI_DOUBLE
                                                               : MPI_FLOAT;
    const size_t       values = count * type->size / width;
    int                result;

    if (count > INT_MAX || values > INT_MAX) {
        return false;
    }
    pthread_mutex_lock(&lock);
    result = pack ? tw_next.Sendrecv(buffer, (int)count, type->handle, 0, 0, vector, (int)values,
                                     plain, 0, 0, tw_state_quiet(), MPI_STATUS_IGNORE)
                  : tw_next.Sendrecv(vector, (int)values, plain, 0, 0, buffer, (int)count,
                                     type->handle, 0, 0, tw_state_quiet(), MPI_STATUS_IGNORE);
    pthread_mutex_unlock(&lock);
    return result == MPI_SUCCESS;
}

static bool tw_type_wants_message(const tw_type_t *type, const void *buffer)
{
    return buffer == MPI_BOTTOM || type->size > INT_MAX;
}

/* Items that MPI_Pack can take at once, whose counts of bytes are ints. */
static size_t tw_pack_step(const tw_type_t *type)
{
    const size_t most = (size_t)1 << 30;

    return type->size >= most ? 1 : most / type->size;
}

bool tw_type_pack(const tw_type_t *type, const void *buffer, size_t count, void *vector)
{
    char  *to   = vector;
    size_t step = 0;

    if (type->dense || type->size == 0) {
        memcpy(vector, buffer, count * type->size);
        return true;
    }
    if (tw_type_wants_message(type, buffer)) {
        return tw_type_by_message(type, (void *)(uintptr_t)buffer, count, vector, true);
    }
    for (size_t at = 0; at < count; at += step) {
        int position = 0;

        step = tw_pack_step(type) < count - at ? tw_pack_step(type) : count - at;
        if (tw_next.Pack(tw_type_at(type, buffer, (MPI_Aint)at), (int)step, type->handle, to,
                         (int)(step * type->size), &position, tw_state_quiet()) != MPI_SUCCESS) {
            return false;
        }
        to += step * type->size;
    }
    return true;
}

bool tw_type_unpack(const tw_type_t *type, const void *vector, size_t count, void *buffer)
{
    const char *from = vector;
    size_t      step = 0;

    if (type->dense || type->size == 0) {
        memcpy(buffer, vector, count * type->size);
        return true;
    }
    if (tw_type_wants_message(type, buffer)) {
        return tw_type_by_message(type, buffer, count, (void *)(uintptr_t)vector, false);
    }
    for (size_t at = 0; at < count; at += step) {
        int position = 0;

        step = tw_pack_step(type) < count - at ? tw_pack_step(type) : count - at;
        if (tw_next.Unpack(from, (int)(step * type->size), &position,
                           tw_type_at(type, buffer, (MPI_Aint)at), (int)step, type->handle,
                           tw_state_quiet()) != MPI_SUCCESS) {
            return false;
        }
        from += step * type->size;
    }
    return true;
}
