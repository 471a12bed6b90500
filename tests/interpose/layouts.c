/* SPDX-License-Identifier: BSD-3-Clause
 * tests/interpose/layouts.c - the datatypes of the tests, and the values put into them.
 */
#include "config.h"

#include <string.h>

#include "tests/interpose/layouts.h"

/* MPI_FLOAT_INT of both libraries is the C struct. */
t_layout_t t_layouts[T_LAYOUTS] = {
    [T_L_FLOAT]         = {"float", T_FLOATS, true, 1, {T_FLOAT}, {0}, 4, MPI_DATATYPE_NULL},
    [T_L_CONTIGUOUS]    = {"contiguous(3 float)",
                           T_FLOATS,
                           false,
                           3,
                           {T_FLOAT, T_FLOAT, T_FLOAT},
                           {0, 4, 8},
                           12,
                           MPI_DATATYPE_NULL},
    [T_L_VECTOR]        = {"vector(2 of stride 3 float)",
                           T_FLOATS,
                           false,
                           2,
                           {T_FLOAT, T_FLOAT},
                           {0, 12},
                           16,
                           MPI_DATATYPE_NULL},
    [T_L_INDEXED]       = {"indexed(6 float, holes, not ascending)",
                           T_FLOATS,
                           false,
                           6,
                           {T_FLOAT, T_FLOAT, T_FLOAT, T_FLOAT, T_FLOAT, T_FLOAT},
                           {20, 24, 0, 32, 36, 40},
                           44,
                           MPI_DATATYPE_NULL},
    [T_L_RESIZED]       = {"resized(2 float, lower bound -8)",
                           T_FLOATS,
                           false,
                           2,
                           {T_FLOAT, T_FLOAT},
                           {0, 4},
                           20,
                           MPI_DATATYPE_NULL},
    [T_L_HINDEXED]      = {"hindexed(4 float, odd addresses)",
                           T_FLOATS,
                           false,
                           4,
                           {T_FLOAT, T_FLOAT, T_FLOAT, T_FLOAT},
                           {0, 5, 9, 14},
                           21,
                           MPI_DATATYPE_NULL},
    [T_L_DOUBLE]        = {"double", T_DOUBLES, true, 1, {T_DOUBLE}, {0}, 8, MPI_DATATYPE_NULL},
    [T_L_DOUBLE_VECTOR] = {"vector(2 of stride 2 double)",
                           T_DOUBLES,
                           false,
                           2,
                           {T_DOUBLE, T_DOUBLE},
                           {0, 16},
                           24,
                           MPI_DATATYPE_NULL},
    [T_L_COMPLEX] =
        {"float complex", T_COMPLEX, true, 2, {T_FLOAT, T_FLOAT}, {0, 4}, 8, MPI_DATATYPE_NULL},
    [T_L_COMPLEX_VECTOR] = {"vector(2 of stride 2 float complex)",
                            T_COMPLEX,
                            false,
                            4,
                            {T_FLOAT, T_FLOAT, T_FLOAT, T_FLOAT},
                            {0, 4, 16, 20},
                            24,
                            MPI_DATATYPE_NULL},
    [T_L_DOUBLE_COMPLEX] = {"double complex",
                            T_DOUBLE_COMPLEX,
                            true,
                            2,
                            {T_DOUBLE, T_DOUBLE},
                            {0, 8},
                            16,
                            MPI_DATATYPE_NULL},
    [T_L_INT]            = {"int", T_OTHER, true, 1, {T_INT}, {0}, 4, MPI_DATATYPE_NULL},
    [T_L_FLOAT_INT] =
        {"MPI_FLOAT_INT", T_OTHER, true, 2, {T_FLOAT, T_INT}, {0, 4}, 8, MPI_DATATYPE_NULL},
    [T_L_BYTES]        = {"contiguous(4 byte)",
                          T_OTHER,
                          false,
                          4,
                          {T_BYTE, T_BYTE, T_BYTE, T_BYTE},
                          {0, 1, 2, 3},
                          4,
                          MPI_DATATYPE_NULL},
    [T_L_INT_FLOAT]    = {"struct(int, 2 float)",
                          T_OTHER,
                          false,
                          3,
                          {T_INT, T_FLOAT, T_FLOAT},
                          {4, 12, 16},
                          24,
                          MPI_DATATYPE_NULL},
    [T_L_FLOAT_DOUBLE] = {"struct(float, double)",
                          T_OTHER,
                          false,
                          2,
                          {T_FLOAT, T_DOUBLE},
                          {0, 8},
                          16,
                          MPI_DATATYPE_NULL},
};

static void resize(MPI_Datatype type, MPI_Aint lower, MPI_Aint extent, MPI_Datatype *new_p)
{
    MPI_Type_create_resized(type, lower, extent, new_p);
    MPI_Type_free(&type);
}

static void make_floats(void)
{
    static const int      lengths[3] = {2, 1, 3}, places[3] = {5, 0, 8}, ones[3] = {1, 2, 1};
    static const MPI_Aint bytes[3] = {0, 5, 14};
    MPI_Datatype          type;

    t_layouts[T_L_FLOAT].type = MPI_FLOAT;
    MPI_Type_contiguous(3, MPI_FLOAT, &t_layouts[T_L_CONTIGUOUS].type);
    MPI_Type_vector(2, 1, 3, MPI_FLOAT, &t_layouts[T_L_VECTOR].type);
    MPI_Type_indexed(3, lengths, places, MPI_FLOAT, &t_layouts[T_L_INDEXED].type);
    MPI_Type_contiguous(2, MPI_FLOAT, &type);
    resize(type, -8, 20, &t_layouts[T_L_RESIZED].type);
    MPI_Type_create_hindexed(3, ones, bytes, MPI_FLOAT, &type);
    resize(type, 0, 21, &t_layouts[T_L_HINDEXED].type);
}

static void make_others(void)
{
    static const int      lengths[2] = {1, 2}, ones[2] = {1, 1};
    static const MPI_Aint after_int[2] = {4, 12}, after_float[2] = {0, 8};
    const MPI_Datatype    int_float[2] = {MPI_INT, MPI_FLOAT}, wide[2] = {MPI_FLOAT, MPI_DOUBLE};
    MPI_Datatype          type;

    t_layouts[T_L_DOUBLE].type         = MPI_DOUBLE;
    t_layouts[T_L_COMPLEX].type        = MPI_C_FLOAT_COMPLEX;
    t_layouts[T_L_DOUBLE_COMPLEX].type = MPI_C_DOUBLE_COMPLEX;
    t_layouts[T_L_INT].type            = MPI_INT;
    t_layouts[T_L_FLOAT_INT].type      = MPI_FLOAT_INT;
    MPI_Type_vector(2, 1, 2, MPI_DOUBLE, &t_layouts[T_L_DOUBLE_VECTOR].type);
    MPI_Type_vector(2, 1, 2, MPI_C_FLOAT_COMPLEX, &t_layouts[T_L_COMPLEX_VECTOR].type);
    MPI_Type_contiguous(4, MPI_BYTE, &t_layouts[T_L_BYTES].type);
    MPI_Type_create_struct(2, lengths, after_int, int_float, &type);
    resize(type, 0, 24, &t_layouts[T_L_INT_FLOAT].type);
    MPI_Type_create_struct(2, ones, after_float, wide, &t_layouts[T_L_FLOAT_DOUBLE].type);
}

void t_layouts_make(void)
{
    make_floats();
    make_others();
    for (int i = 0; i < T_LAYOUTS; i++) {
        MPI_Aint lower, extent;

        if (!t_layouts[i].predefined) {
            MPI_Type_commit(&t_layouts[i].type);
        }
        MPI_Type_get_extent(t_layouts[i].type, &lower, &extent);
        T_CHECK(extent == t_layouts[i].extent, "%s has extent %ld", t_layouts[i].name,
                (long)extent);
    }
}

void t_layouts_free(void)
{
    for (int i = 0; i < T_LAYOUTS; i++) {
        if (!t_layouts[i].predefined) {
            MPI_Type_free(&t_layouts[i].type);
        }
    }
}

/* ---- values ---------------------------------------------------------------------------------- */

size_t t_base_size(t_base_t base)
{
    return base == T_DOUBLE ? 8 : base == T_BYTE ? 1 : 4;
}

static uint64_t draw(uint64_t seed, int who, uint64_t position)
{
    return t_mix(seed + (uint64_t)(who + 1) * UINT64_C(0x8cb92ba72f3d8dd7) + position);
}

int64_t t_integer(t_base_t base, uint64_t seed, int who, uint64_t position)
{
    const uint64_t bits  = draw(seed, who, position);
    const int      width = base == T_FLOAT ? 21 : base == T_DOUBLE ? 50 : base == T_INT ? 28 : 7;

    if (t_expectation.kind == T_REPRESENTABLE && (base == T_FLOAT || base == T_DOUBLE)) {
        return (int64_t)(bits % 7) - 3; /* sums of 8 have magnitudes below 32, that is 5 bits */
    }
    return (int64_t)(bits >> (64 - width)) - (INT64_C(1) << (width - 1));
}

void t_write_raw(t_base_t base, uint64_t seed, int who, uint64_t position, unsigned char *to)
{
    uint64_t bits = draw(seed, who, position);

    if ((bits & 15) == 0) { /* an infinity or a NaN, as float and as double */
        bits |= UINT64_C(0x7ff000007f800000);
    }
    memcpy(to, &bits, t_base_size(base)); /* little endian: the low bytes; any bytes will do */
}

void t_write(t_base_t base, int64_t value, unsigned char *to)
{
    const float  f = (float)value;
    const double d = (double)value;
    const int    i = (int)value;

    switch (base) {
    case T_FLOAT:
        memcpy(to, &f, sizeof(f));
        break;
    case T_DOUBLE:
        memcpy(to, &d, sizeof(d));
        break;
    case T_INT:
        memcpy(to, &i, sizeof(i));
        break;
    case T_BYTE:
        *to = (unsigned char)value;
        break;
    }
}

double t_read(t_base_t base, const unsigned char *from)
{
    float  f;
    double d;
    int    i;

    switch (base) {
    case T_FLOAT:
        memcpy(&f, from, sizeof(f));
        return (double)f;
    case T_DOUBLE:
        memcpy(&d, from, sizeof(d));
        return d;
    case T_INT:
        memcpy(&i, from, sizeof(i));
        return (double)i;
    case T_BYTE:
        return (double)*from;
    }
    return 0;
}
