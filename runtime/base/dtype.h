/* SPDX-License-Identifier: BSD-3-Clause
 * base/dtype.h - element types: a row each, of which everyone asks what it wants to know of one.
 *
 * Adding one: its tw_dtype_t in <thinwire/codec.h>, its row in a file of its own in dtypes/ and in
 * sources.am, and a line here. Every function of a row is there. A codec that takes the type says
 * so in its `types`, or is unsupported.
 */
#ifndef TW_BASE_DTYPE_H
#define TW_BASE_DTYPE_H

#include <stdbool.h>
#include <stddef.h>

#include <thinwire/codec.h>

/* ROW(TW_F32, its row tw_dtype_f32, a type of MPI that moves it, MPI's types of such elements):
 * those of Fortran have the size that the MPI library was built for, and are of the first type of
 * it; TW_MPI_ is what not every library has (interpose/mpi/late.h). */
#define TW_DTYPES(ROW)                                                                             \
    ROW(TW_F32, f32, MPI_FLOAT, MPI_FLOAT, MPI_REAL, MPI_REAL4)                                    \
    ROW(TW_F64, f64, MPI_DOUBLE, MPI_DOUBLE, MPI_DOUBLE_PRECISION, MPI_REAL8)                      \
    ROW(TW_F16, f16, MPI_UINT16_T, TW_MPI_FLOAT16)                                                 \
    ROW(TW_BF16, bf16, MPI_UINT16_T, TW_MPI_BFLOAT16)

/* What two elements of one type become (base/reduction.h says which for what). */
typedef enum tw_combination {
    TW_COMBINE_ADD,
    TW_COMBINE_MULTIPLY,
    TW_COMBINE_MAXIMUM, /* a NaN, if one is among the two */
    TW_COMBINE_MINIMUM,
    TW_COMBINATIONS
} tw_combination_t;

/* out[i] = a[i] combined with b[i], rounded once to the type; n elements of any alignment. out may
 * be a or b. */
typedef void (*tw_combine_t)(const void *a, const void *b, size_t n, void *out);

typedef struct tw_dtype_row {
    const char  *name;     /* "float": in settings, rules, files; "floats" in messages */
    size_t       bytes;    /* of an element */
    int          fraction; /* bits: a sign, then the exponent's, then these (IEEE 754) */
    int          exponent;
    bool         in_f32;   /* float32 holds every value of it */
    tw_dtype_t   sum;      /* of what is added up: itself, or a type with more digits that holds
                              every value of it; sums are rounded to it once, at the end */
    const char  *lossless; /* the spec of a codec that keeps every bit of it; where sums are of
                              another type, that type's codec whose codes are such elements */
    tw_combine_t combine[TW_COMBINATIONS];
    void (*divide)(void *values, size_t n, int by); /* values[i] = fl(values[i] / by), by > 0 */
    void (*to_f64)(const void *from, size_t n, double *to);
    void (*from_f64)(const double *from, size_t n, void *to); /* rounded to nearest, ties to even */
} tw_dtype_row_t;

/* The floating-point mode of those functions is the caller's (base/fpmode.h). */

#define TW_DTYPE_ROW(dtype, row, ...) extern const tw_dtype_row_t tw_dtype_##row;
TW_DTYPES(TW_DTYPE_ROW)
#undef TW_DTYPE_ROW

/* All of them, in the order of the list. */
enum {
#define TW_DTYPE_ONE(dtype, row, ...) +1
    TW_DTYPE_ROWS = TW_DTYPES(TW_DTYPE_ONE)
#undef TW_DTYPE_ONE
};
extern const tw_dtype_t tw_dtypes[TW_DTYPE_ROWS];

/* NULL: there is none of this type. */
const tw_dtype_row_t *tw_dtype_row(tw_dtype_t dtype);

/* The type of this name; false: there is none. */
bool tw_dtype_named(const char *name, tw_dtype_t *dtype_p);

/* Of a type that has a row. */
const char *tw_dtype_name(tw_dtype_t dtype);

/* Is it of 16 bits, with sums of another type? */
bool tw_dtype_is_half(tw_dtype_t dtype);

/* Is it the spec of the codec that the row names: elements as they are? */
bool tw_dtype_is_lossless(tw_dtype_t dtype, const char *spec);

#endif /* TW_BASE_DTYPE_H */
