/* SPDX-License-Identifier: BSD-3-Clause
 * tests/interpose/layouts.h - datatypes as lists of basic elements, and the values put into them.
 *
 * A value is a function of (seed, who, position), position counted in basic elements along the type
 * signature, so that any rank can compute any other's data, however it is laid out.
 */
#ifndef TW_TESTS_INTERPOSE_LAYOUTS_H
#define TW_TESTS_INTERPOSE_LAYOUTS_H

#include "tests/interpose/common.h"

#define T_BASICS 8 /* of an item, at most */

typedef enum t_base { T_FLOAT, T_DOUBLE, T_INT, T_BYTE } t_base_t;

/* Layouts of one family have one type signature, if the counts are right. */
typedef enum t_family { T_FLOATS, T_DOUBLES, T_COMPLEX, T_DOUBLE_COMPLEX, T_OTHER } t_family_t;

typedef struct t_layout {
    const char   *name;
    t_family_t    family;
    bool          predefined;
    int           basics; /* in one item, in the order of the signature */
    unsigned char base[T_BASICS];
    short         at[T_BASICS]; /* bytes from the item's address; may be negative */
    short         extent;
    MPI_Datatype  type;
} t_layout_t;

/* All of them; made by t_layouts_make(), after MPI_Init. */
enum {
    T_L_FLOAT,
    T_L_CONTIGUOUS,
    T_L_VECTOR,
    T_L_INDEXED,
    T_L_RESIZED,
    T_L_HINDEXED, /* the last of the floats */
    T_L_DOUBLE,
    T_L_DOUBLE_VECTOR,
    T_L_COMPLEX,
    T_L_COMPLEX_VECTOR,
    T_L_DOUBLE_COMPLEX,
    T_L_INT,
    T_L_FLOAT_INT,
    T_L_BYTES,
    T_L_INT_FLOAT,
    T_L_FLOAT_DOUBLE,
    T_LAYOUTS
};
#define T_FLOAT_LAYOUTS (T_L_HINDEXED + 1)
#define T_FLOAT_UNIT    12 /* basic elements: a multiple of the basics of each layout of floats */

extern t_layout_t t_layouts[T_LAYOUTS];

void t_layouts_make(void);
void t_layouts_free(void);

size_t t_base_size(t_base_t base);

/* A whole number. Sums over T_RANKS_MAX of them are exact in the type, in any order; unless the
 * expectation is "representable", single ones and sums use more bits than any lossy codec keeps. */
int64_t t_integer(t_base_t base, uint64_t seed, int who, uint64_t position);

/* Random bits, NaN and infinities among them. */
void t_write_raw(t_base_t base, uint64_t seed, int who, uint64_t position, unsigned char *to);

void   t_write(t_base_t base, int64_t value, unsigned char *to);
double t_read(t_base_t base, const unsigned char *from);

#endif /* TW_TESTS_INTERPOSE_LAYOUTS_H */
