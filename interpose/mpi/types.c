/* SPDX-License-Identifier: BSD-3-Clause
 * interpose/mpi/types.c - what a type holds, by what it is made of; see types.h.
 */
#include "config.h"

#include <stdlib.h>
#include <stdio.h>
#include <string.h>

#include "interpose/mpi/named.h"
#include "interpose/mpi/taken.h"
#include "interpose/next.h"
#include "interpose/state.h"
#include "interpose/mpi/types.h"
#include "runtime/base/bytes.h"

/* What the basic elements of a type have in common, and whether they follow each other. */
typedef struct tw_parts {
    tw_kind_t kind;
    bool      any; /* some part with data has been seen */
    bool      mixed;
    bool      contiguous;
    bool      taken; /* by its name, whatever it is made of; asked each time */
} tw_parts_t;

static void tw_parts_add(tw_parts_t *parts, tw_kind_t kind)
{
    parts->mixed = parts->mixed || kind == TW_KIND_OTHER || (parts->any && kind != parts->kind);
    parts->kind  = kind;
    parts->any   = true;
}

/* A type in use is looked at in every call, and may be made of others that are made of others, the
 * same ones again and again: what is known of a derived type stays with it as an attribute, whose
 * value is no address but these bits, so that there is nothing to release. */
enum { TW_KNOWN = 1, TW_KNOWN_ANY = 2, TW_KNOWN_MIXED = 4, TW_KNOWN_CONTIGUOUS = 8 };
#define TW_KNOWN_KIND 4 /* the kind from this bit on */

static int  tw_types_key;
static bool tw_types_keyed;

static int tw_types_copy(MPI_Datatype type, int key, void *extra, void *value, void *new_value,
                         int *flag)
{
    (void)type;
    (void)key;
    (void)extra;
    *(void **)new_value = value;
    *flag               = 1;
    return MPI_SUCCESS;
}

static int tw_types_delete(MPI_Datatype type, int key, void *value, void *extra)
{
    (void)type;
    (void)key;
    (void)value;
    (void)extra;
    return MPI_SUCCESS;
}

/* MPI_Type_get_contents() of Open MPI gives duplicates of inner types, without attributes: of types
 * inside types each would be opened wherever it stands, 2^18 times for 18 levels of two. This is
 * what it calls itself, and gives the types; as it is in the versions 4. */
typedef int32_t tw_type_args_fn(MPI_Datatype type, int32_t which, int32_t *integer_count,
                                int32_t *integers, int32_t *address_count, ptrdiff_t *addresses,
                                int32_t *type_count, MPI_Datatype *types, int32_t *combiner);

static tw_type_args_fn *tw_types_args;

static void tw_types_find_args(void)
{
#ifdef OPEN_MPI
    char version[MPI_MAX_LIBRARY_VERSION_STRING] = "";
    int  length                                  = 0;

    tw_next.Get_library_version(version, &length);
    if (strncmp(version, "Open MPI v4.", 12) == 0) {
        *(void **)&tw_types_args = tw_late_symbol("ompi_datatype_get_args");
    }
#endif
}

/* What derived types are called: every message of one asks. */
static char tw_types_names[TW_KINDS][sizeof(((tw_type_t *)0)->name)] = {"derived"};

void tw_types_start(void)
{
    for (tw_kind_t kind = TW_KIND_OTHER + 1; kind < TW_KINDS; kind++) {
        snprintf(tw_types_names[kind], sizeof(tw_types_names[kind]), "derived(%s)",
                 kind == TW_KIND_WORDS ? "words" : tw_elements_text((tw_elements_t)kind));
    }
    tw_types_find_args();
    tw_types_keyed = tw_next.Type_create_keyval(tw_types_copy, tw_types_delete, &tw_types_key,
                                                NULL) == MPI_SUCCESS;
}

void tw_types_stop(void)
{
    if (tw_types_keyed) {
        tw_types_keyed = false;
        tw_next.Type_free_keyval(&tw_types_key);
    }
}

static uintptr_t tw_parts_bits(const tw_parts_t *parts)
{
    return TW_KNOWN | (parts->any ? TW_KNOWN_ANY : 0u) | (parts->mixed ? TW_KNOWN_MIXED : 0u) |
           (parts->contiguous ? TW_KNOWN_CONTIGUOUS : 0u) | (uintptr_t)parts->kind << TW_KNOWN_KIND;
}

static tw_parts_t tw_parts_from(uintptr_t bits)
{
    return (tw_parts_t){.kind       = (tw_kind_t)(bits >> TW_KNOWN_KIND),
                        .any        = (bits & TW_KNOWN_ANY) != 0,
                        .mixed      = (bits & TW_KNOWN_MIXED) != 0,
                        .contiguous = (bits & TW_KNOWN_CONTIGUOUS) != 0};
}

static void tw_parts_keep(MPI_Datatype datatype, const tw_parts_t *parts)
{
    if (tw_types_keyed) {
        tw_next.Type_set_attr(datatype, tw_types_key, (void *)tw_parts_bits(parts));
    }
}

static bool tw_parts_known(MPI_Datatype datatype, tw_parts_t *parts)
{
    void *value = NULL;
    int   found = 0;

    if (!tw_types_keyed ||
        tw_next.Type_get_attr(datatype, tw_types_key, (void *)&value, &found) != MPI_SUCCESS ||
        !found) {
        return false;
    }
    *parts = tw_parts_from((uintptr_t)value);
    return value != NULL;
}

static bool tw_parts_of(MPI_Datatype datatype, tw_parts_t *parts);

/* Types that stand behind this one, with their counts where a struct gives them: a member of which
 * there are none is no part of the signature. */
static bool tw_parts_contents(MPI_Datatype datatype, const int number[3], int combiner,
                              tw_parts_t *parts)
{
    int          *integers  = malloc(((size_t)number[0] + 1) * sizeof(*integers));
    MPI_Aint     *addresses = malloc(((size_t)number[1] + 1) * sizeof(*addresses));
    MPI_Datatype *types     = malloc(((size_t)number[2] + 1) * sizeof(*types));
    bool          fine      = integers != NULL && addresses != NULL && types != NULL;
    bool          in_order  = false;

    if (!fine) { /* alone, this rank may not take the type for another */
        tw_give_up(MPI_COMM_WORLD, "no memory to look at a datatype");
    }
    if (tw_types_args != NULL) {
        int counts[3] = {number[0], number[1], number[2]}, made_by;

        fine = tw_types_args(datatype, 1, &counts[0], integers, &counts[1], addresses, &counts[2],
                             types, &made_by) == 0;
    } else {
        fine = tw_next.Type_get_contents(datatype, number[0], number[1], number[2], integers,
                                         addresses, types) == MPI_SUCCESS;
    }
    for (int i = 0; fine && i < number[2]; i++) {
        tw_parts_t inner = {.kind = TW_KIND_OTHER};
        const int  none  = combiner == MPI_COMBINER_STRUCT && integers[1 + i] == 0;

        if (!none) {
            fine = tw_parts_of(types[i], &inner);
        }
        if (inner.any) {
            tw_parts_add(parts, inner.mixed ? TW_KIND_OTHER : inner.kind);
        }
        in_order = inner.contiguous;
    }
    parts->contiguous =
        in_order && (combiner == MPI_COMBINER_CONTIGUOUS || combiner == MPI_COMBINER_DUP);
    for (int i = 0; tw_types_args == NULL && fine && i < number[2]; i++) {
        int inner[3], inner_combiner = MPI_COMBINER_NAMED;

        /* MPI_Type_get_contents() gives handles of derived types that are ours to free. */
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
    if (fine) {
        tw_parts_keep(datatype, parts);
    }
    return fine;
}

/* A type without holes, as long as the values that its name is taken for. */
static bool tw_parts_taken(MPI_Datatype datatype, MPI_Count size, tw_parts_t *parts)
{
    const tw_kind_t kind = tw_taken_kind(datatype);
    MPI_Aint        lb = 0, extent = 0;

    if (kind == TW_KIND_OTHER || (size_t)size != tw_kind_size(kind) ||
        tw_next.Type_get_extent(datatype, &lb, &extent) != MPI_SUCCESS || lb != 0 ||
        extent != (MPI_Aint)size) {
        return false;
    }
    tw_parts_add(parts, kind);
    parts->contiguous = parts->taken = true;
    return true;
}

/* Into empty parts. */
static bool tw_parts_of(MPI_Datatype datatype, tw_parts_t *parts)
{
    int       number[3] = {0, 0, 0}, combiner = 0;
    MPI_Count size = 0;

    if (tw_next.Type_get_envelope(datatype, &number[0], &number[1], &number[2], &combiner) !=
            MPI_SUCCESS ||
        tw_next.Type_size_x(datatype, &size) != MPI_SUCCESS) {
        return false;
    }
    switch (combiner) {
    case MPI_COMBINER_NAMED: {
        tw_type_t named;

        tw_named_get(datatype, &named);
        if (size != 0) {
            tw_parts_add(parts, named.kind);
        }
        parts->contiguous = named.dense;
        return true;
    }
    case MPI_COMBINER_F90_REAL:
        tw_parts_add(parts, tw_kind_of_size((size_t)size));
        parts->contiguous = true;
        return true;
    case MPI_COMBINER_F90_COMPLEX:
        tw_parts_add(parts, tw_kind_of_size((size_t)size / 2));
        parts->contiguous = true;
        return true;
    case MPI_COMBINER_F90_INTEGER:
        tw_parts_add(parts, TW_KIND_OTHER);
        return true;
    default:
        /* The name first: what is known may be from a message of this rank alone, before it. */
        return size == 0 || tw_parts_taken(datatype, size, parts) ||
               tw_parts_known(datatype, parts) ||
               tw_parts_contents(datatype, number, combiner, parts);
    }
}

/* MPI refuses types that were not committed, and so must we where we would use them: a pack of
 * nothing tells. */
static bool tw_type_usable(MPI_Datatype datatype)
{
    char byte     = 0;
    int  position = 0;

    if (!tw_state.codecs &&
        !__atomic_load_n(&tw_state.info, __ATOMIC_RELAXED)) { /* only watching */
        return true;
    }
    return tw_next.Pack(&byte, 0, datatype, &byte, 1, &position, tw_state_quiet()) == MPI_SUCCESS;
}

/* All but where the items lie. */
static bool tw_type_fill(MPI_Datatype datatype, const tw_parts_t *parts, tw_type_t *type)
{
    MPI_Count size = 0; /* int would not do for 2 GiB and more */

    memset(type, 0, sizeof(*type));
    if (tw_next.Type_size_x(datatype, &size) != MPI_SUCCESS || size < 0) {
        return false;
    }
    type->handle   = datatype;
    type->size     = (size_t)size;
    type->kind     = parts->any && !parts->mixed ? parts->kind : TW_KIND_OTHER;
    type->dense    = parts->contiguous;
    type->taken    = parts->taken;
    type->elements = tw_kind_is_values(type->kind) ? (tw_elements_t)type->kind : TW_ELEMENTS_OTHER;
    memcpy(type->name, tw_types_names[type->kind], sizeof(type->name));
    if (type->kind != TW_KIND_OTHER) {
        type->values = type->size / tw_kind_size(type->kind);
    }
    return true;
}

static bool tw_type_look_derived(MPI_Datatype datatype, tw_type_t *type)
{
    tw_parts_t parts = {.kind = TW_KIND_OTHER};
    MPI_Aint   lb    = 0;

    if (!tw_parts_of(datatype, &parts) || !tw_type_fill(datatype, &parts, type) ||
        tw_next.Type_get_extent(datatype, &lb, &type->extent) != MPI_SUCCESS) {
        return false;
    }
    type->dense = type->dense && type->extent == (MPI_Aint)type->size && lb == 0;
    return true;
}

/* What glances have found out: handles with their bits below them, until the types are freed. */
#define TW_GLANCED_BITS 8
static uint64_t tw_glanced[1 << TW_GLANCED_BITS];

static uint64_t *tw_glanced_at(MPI_Datatype datatype)
{
    return &tw_glanced[tw_hash_word((uintptr_t)datatype, TW_GLANCED_BITS)];
}

bool tw_type_glance(MPI_Datatype datatype, tw_type_t *type)
{
    uint64_t *const at    = tw_glanced_at(datatype);
    const uint64_t  word  = (uint64_t)(uintptr_t)datatype << 8;
    const uint64_t  found = __atomic_load_n(at, __ATOMIC_RELAXED);
    tw_parts_t      parts;

    if (found != 0 && (found ^ word) < 256) {
        parts = tw_parts_from(found & 255);
    } else if (tw_parts_known(datatype, &parts)) {
        __atomic_store_n(at, word | tw_parts_bits(&parts), __ATOMIC_RELAXED);
    } else {
        return tw_type_look(datatype, type);
    }
    return tw_type_fill(datatype, &parts, type);
}

void tw_types_forget(const MPI_Datatype *datatype)
{
    if (tw_active && datatype != NULL) {
        __atomic_store_n(tw_glanced_at(*datatype), 0, __ATOMIC_RELAXED);
    }
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
    tw_named_get(datatype, type);
    return true;
}
