/* SPDX-License-Identifier: BSD-3-Clause
 * interpose/mpi/named.c - see named.h.
 */
#include "config.h"

#include <stdio.h>
#include <string.h>

#include "interpose/mpi/named.h"
#include "interpose/mpi/taken.h"
#include "interpose/next.h"
#include "interpose/state.h"
#include "runtime/base/bytes.h"

enum { TW_REALS_MOST = 3 }; /* of MPI's types for an element type */

/* THINWIRE_ENCODE=always: elements of 4 and 8 bytes that are no floating-point numbers, as words.
 * Of the pairs, those whose members are words, too: a struct of the same members must be the
 * same. */
static bool tw_words_of_named(MPI_Datatype datatype, size_t size)
{
    return tw_encode_always() && (size == 4 || size == 8 || datatype == MPI_LONG_INT) &&
           datatype != MPI_FLOAT_INT;
}

tw_kind_t tw_kind_of_size(size_t size)
{
    for (int i = 0; i < TW_DTYPE_ROWS; i++) {
        if (tw_dtype_size(tw_dtypes[i]) == size) {
            return (tw_kind_t)(i + 1);
        }
    }
    return TW_KIND_OTHER;
}

/* The predefined types of floating-point numbers; the pairs of Fortran are defined as two of them
 * (MPI 4.1, 6.9.4), complex numbers count as two. Those of Fortran have the size that the MPI
 * library was built for, and a library may lack some: MPI_DATATYPE_NULL. */
static tw_kind_t tw_kind_of_named(MPI_Datatype datatype, size_t size, size_t *values_p)
{
#define TW_REALS(dtype, row, mpi, ...) {TW_KIND_##row, {__VA_ARGS__}},
    const struct {
        tw_kind_t    kind;
        MPI_Datatype type[TW_REALS_MOST];
    } reals[]                  = {TW_DTYPES(TW_REALS)};
    const MPI_Datatype pairs[] = {MPI_C_FLOAT_COMPLEX,   MPI_C_DOUBLE_COMPLEX,   MPI_COMPLEX,
                                  MPI_COMPLEX8,          MPI_COMPLEX16,          MPI_DOUBLE_COMPLEX,
                                  MPI_CXX_FLOAT_COMPLEX, MPI_CXX_DOUBLE_COMPLEX, MPI_2REAL,
                                  MPI_2DOUBLE_PRECISION};
    size_t             parts   = 0;
    tw_kind_t          kind;

    for (size_t i = 0; i < sizeof(reals) / sizeof(reals[0]); i++) {
        for (int k = 0; k < TW_REALS_MOST && size > 0; k++) {
            if (datatype == reals[i].type[k]) { /* unnamed ones are NULL, or 0 */
                kind = size == tw_kind_size(reals[i].kind) ? reals[i].kind : tw_kind_of_size(size);
                *values_p = kind != TW_KIND_OTHER ? 1 : 0;
                return kind;
            }
        }
    }
    for (size_t i = 0; i < sizeof(pairs) / sizeof(pairs[0]) && parts == 0; i++) {
        parts = datatype == pairs[i] ? 2 : 0;
    }
    *values_p = parts;
    if (parts > 0 && size % parts == 0 && tw_kind_of_size(size / parts) != TW_KIND_OTHER) {
        return tw_kind_of_size(size / parts);
    }
    if (parts == 0 && tw_words_of_named(datatype, size)) {
        *values_p = size / sizeof(float);
        return TW_KIND_WORDS;
    }
    *values_p = 0;
    return TW_KIND_OTHER;
}

/* By the name that the standard gives it: characters are bytes, pairs of integers and truth values
 * are integers. */
static tw_elements_t tw_elements_of_name(const char *name)
{
    static const char *const numbers[] = {"DOUBLE", "FLOAT", "REAL", "COMPLEX"};
    static const char *const bytes[]   = {"BYTE", "PACKED", "CHAR"};
    static const char *const words[]   = {"INT",  "LONG",  "SHORT",  "UNSIGNED", "LOGICAL",
                                          "BOOL", "COUNT", "OFFSET", "AINT"};

    for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++) {
        if (strstr(name, numbers[i]) != NULL) {
            return TW_ELEMENTS_OTHER;
        }
    }
    for (size_t i = 0; i < sizeof(bytes) / sizeof(bytes[0]); i++) {
        if (strstr(name, bytes[i]) != NULL) {
            return TW_ELEMENTS_BYTES;
        }
    }
    for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
        if (strstr(name, words[i]) != NULL) {
            return TW_ELEMENTS_INTEGERS;
        }
    }
    return TW_ELEMENTS_OTHER;
}

static void tw_type_name(MPI_Datatype datatype, tw_type_t *type)
{
    char name[MPI_MAX_OBJECT_NAME] = "";
    int  length                    = 0;

    if (tw_kind_is_values(type->kind)) {
        const bool complex =
            type->values == 2 && datatype != MPI_2REAL && datatype != MPI_2DOUBLE_PRECISION;

        type->elements = (tw_elements_t)type->kind;
        snprintf(type->name, sizeof(type->name), "%s%s", tw_elements_text(type->elements),
                 complex ? " complex" : "");
    } else if (tw_next.Type_get_name(datatype, name, &length) == MPI_SUCCESS && length > 0) {
        snprintf(type->name, sizeof(type->name), "%.23s", name);
        type->elements = tw_elements_of_name(name);
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
    type->kind  = tw_taken_kind(datatype);
    type->taken = type->kind != TW_KIND_OTHER && type->size == tw_kind_size(type->kind);
    if (type->taken) {
        type->values = 1;
    } else {
        type->kind = tw_kind_of_named(datatype, type->size, &type->values);
    }
    type->dense = type->extent == (MPI_Aint)type->size && lb == 0;
    tw_type_name(datatype, type);
}

/* Predefined types are never freed, so what was found out about them is kept. Written once under
 * the lock, read without. */
#define TW_NAMED_BITS  7
#define TW_NAMED_SLOTS (1 << TW_NAMED_BITS)
static struct {
    MPI_Datatype handle;
    int          filled;
    tw_type_t    type;
} tw_named[TW_NAMED_SLOTS];

/* Where a type stands or would stand; TW_NAMED_SLOTS if there is no room. */
static size_t tw_named_slot(MPI_Datatype datatype)
{
    const size_t first = tw_hash_word((uintptr_t)datatype, TW_NAMED_BITS);

    for (size_t i = 0; i < TW_NAMED_SLOTS; i++) {
        const size_t slot = (first + i) % TW_NAMED_SLOTS;

        if (!__atomic_load_n(&tw_named[slot].filled, __ATOMIC_ACQUIRE) ||
            tw_named[slot].handle == datatype) {
            return slot;
        }
    }
    return TW_NAMED_SLOTS;
}

const tw_type_t *tw_named_at(MPI_Datatype datatype)
{
    const size_t slot = tw_named_slot(datatype);

    return slot == TW_NAMED_SLOTS || !__atomic_load_n(&tw_named[slot].filled, __ATOMIC_ACQUIRE) ||
                   tw_named[slot].handle != datatype
               ? NULL
               : &tw_named[slot].type;
}

bool tw_named_find(MPI_Datatype datatype, tw_type_t *type)
{
    const tw_type_t *at = tw_named_at(datatype);

    if (at != NULL) {
        *type = *at;
    }
    return at != NULL;
}

static void tw_named_keep(const tw_type_t *type)
{
    size_t slot;

    pthread_mutex_lock(&tw_state.lock);
    slot = tw_named_slot(type->handle);
    /* Where another thread was quicker it stays: readers have no lock. */
    if (slot != TW_NAMED_SLOTS && !tw_named[slot].filled) {
        tw_named[slot].handle = type->handle;
        tw_named[slot].type   = *type;
        __atomic_store_n(&tw_named[slot].filled, 1, __ATOMIC_RELEASE);
    }
    pthread_mutex_unlock(&tw_state.lock);
}

void tw_named_get(MPI_Datatype datatype, tw_type_t *type)
{
    if (!tw_named_find(datatype, type)) {
        tw_type_fill_named(datatype, type);
        tw_named_keep(type);
    }
}
