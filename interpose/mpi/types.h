/* SPDX-License-Identifier: BSD-3-Clause
 * interpose/mpi/types.h - what a datatype holds, and vectors of values in and out of it.
 *
 * Only the signature counts: whether all basic elements are of one type of base/dtype.h, and how
 * many. Ranks may describe the same signature by different layouts.
 */
#ifndef TW_INTERPOSE_TYPES_H
#define TW_INTERPOSE_TYPES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "interpose/mpi/late.h"
#include "interpose/report/records.h"

typedef enum tw_kind {
    TW_KIND_OTHER,
/* All elements are of one type; complex numbers are pairs. As TW_ELEMENTS_ in records.h. */
#define TW_KIND_OF(dtype, row, ...) TW_KIND_##row,
    TW_DTYPES(TW_KIND_OF)
#undef TW_KIND_OF
        TW_KIND_WORDS, /* for tests: integers and the like, whose bits pass for float32        */
    TW_KINDS
} tw_kind_t;

typedef struct tw_type {
    MPI_Datatype  handle;
    tw_kind_t     kind;
    tw_elements_t elements; /* for the report                                      */
    bool          named;    /* a predefined type                                     */
    bool          taken;    /* for what THINWIRE_TYPES says; taken.h knows of its sums */
    bool          dense;    /* items follow each other without holes, in order        */
    size_t        size;     /* bytes of data in one item                              */
    size_t        values;   /* in one item; 0 for TW_KIND_OTHER                       */
    MPI_Aint      extent;   /* bytes from one item to the next                        */
    struct tw_device
        *device;   /* the items are its memory; NULL: the host's. Set where these are known */
    char name[24]; /* for the report: "float", "derived(float)"              */
} tw_type_t;

/* In MPI_Init and MPI_Finalize. */
void tw_types_start(void);
void tw_types_stop(void);

/* Look at a datatype. false where MPI would refuse it (MPI_DATATYPE_NULL, not committed). */
bool tw_type_look(MPI_Datatype datatype, tw_type_t *type);

/* The same of a type that MPI has just taken, at less cost where it was looked at before; without
 * its extent. */
bool tw_type_glance(MPI_Datatype datatype, tw_type_t *type);

/* Before the program frees a type, whose handle may come back as another one. */
void tw_types_forget(const MPI_Datatype *datatype);

/* `count` items at `buffer` to consecutive values in host memory and back, through a type of any
 * layout. The vector has count * type->values values. In device memory without holes by a copy;
 * with holes it is MPI that reads and writes it. false after an MPI error. */
bool tw_type_pack(const tw_type_t *type, const void *buffer, size_t count, void *vector);
bool tw_type_unpack(const tw_type_t *type, const void *vector, size_t count, void *buffer);

/* Does it stand for an element type? */
static inline bool tw_kind_is_values(tw_kind_t kind)
{
    return kind != TW_KIND_OTHER && kind != TW_KIND_WORDS;
}

/* The place in the list of the type of its values; words pass for float32, the first. */
static inline size_t tw_kind_index(tw_kind_t kind)
{
    return tw_kind_is_values(kind) ? (size_t)kind - 1 : 0;
}

static inline tw_dtype_t tw_kind_dtype(tw_kind_t kind)
{
    return tw_dtypes[tw_kind_index(kind)];
}

/* Must a codec of float32 be told to take it (--double)? */
static inline bool tw_kind_is_asked(tw_kind_t kind)
{
    return !tw_dtype_row(tw_kind_dtype(kind))->in_f32;
}

/* Bytes of a value of this kind. */
static inline size_t tw_kind_size(tw_kind_t kind)
{
    return tw_dtype_row(tw_kind_dtype(kind))->bytes;
}

/* May the values of items be read and written where they lie? Else they are packed. */
static inline bool tw_type_at_hand(const tw_type_t *type)
{
    return type->dense && type->device == NULL;
}

/* Address of item `index` of a buffer. */
static inline void *tw_type_at(const tw_type_t *type, const void *buffer, MPI_Aint index)
{
    return (char *)(uintptr_t)buffer + index * type->extent;
}

#endif /* TW_INTERPOSE_TYPES_H */
