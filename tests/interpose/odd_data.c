/* SPDX-License-Identifier: BSD-3-Clause
 * tests/interpose/odd_data.c - steps of odd programs that lay out data of their own: small whole
 * numbers, so that bitpack:2 keeps them.
 */
#include "config.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tests/interpose/odd.h"
#include "tests/unreadable.h"

#define MOST 700 /* values of a block */

static float room[2][2 * MOST * T_RANKS_MAX];
static int   counts[2][T_RANKS_MAX], at[2][T_RANKS_MAX];

static float value(uint64_t seed, int from, int to, int i)
{
    return (float)(int)(t_mix(seed + (uint64_t)(from * 64 + to) * 100003u + (uint64_t)i) % 7) - 3;
}

/* Sums of `terms` values; what a lossy codec may do is bounded by their magnitude. */
static bool near(float got, float want, int terms)
{
    const double bound = t_expectation.kind == T_LOSSY ? 24.0 * t_expectation.rel_float * terms : 0;

    return fabs((double)got - (double)want) <= bound;
}

static void compare(const float *got, int step, uint64_t seed, int from, int to, int n)
{
    for (int i = 0; i < n; i++) {
        const float want = value(seed, from, to, i);

        if (!near(got[i * step], want, 1)) {
            t_fail(__FILE__, __LINE__, "value %d of rank %d is %g, not %g", i, from,
                   (double)got[i * step], (double)want);
            return;
        }
    }
}

/* ---- equal pointers, NULL, empty sides
 * ----------------------------------------------------------- */

/* What rank r of a place does with its empty side. */
enum { NOTHING_ODD, NULL_SIDE, SAME_SIDE };

/* The idle rank sends nothing, or receives nothing, or neither. */
static void empty_alltoallv(t_odd_t *odd, const t_place_t *place)
{
    const uint64_t seed  = t_random(&odd->shared);
    const int      idle  = (int)t_below(&odd->shared, (size_t)place->size);
    const size_t   sides = 1 + t_below(&odd->shared, 3); /* 1: sends nothing, 2: receives nothing */
    const int      n     = 1 + (int)t_below(&odd->shared, MOST);
    const bool     here  = place->rank == idle;
    const size_t   how   = here ? t_below(&odd->own, 3) : NOTHING_ODD;
    float         *send = room[0], *recv = room[1];

    for (int r = 0; r < place->size; r++) {
        counts[0][r] = (here && sides & 1) || (r == idle && sides & 2) ? 0 : n;
        counts[1][r] = (here && sides & 2) || (r == idle && sides & 1) ? 0 : n;
        at[0][r] = at[1][r] = r * MOST;
        for (int i = 0; i < n; i++) {
            send[r * MOST + i] = value(seed, place->rank, r, i);
        }
    }
    if (how == SAME_SIDE) {
        recv = send;
    } else if (how == NULL_SIDE) {
        send = sides & 1 ? NULL : send;
        recv = sides & 2 ? NULL : recv;
    }
    t_note("alltoallv of %d, rank %d lacks %zu, way %zu", n, idle, sides, how);
    T_OK(MPI_Alltoallv(send, counts[0], at[0], MPI_FLOAT, recv, counts[1], at[1], MPI_FLOAT,
                       place->comm));
    for (int r = 0; r < place->size; r++) {
        compare(recv + at[1][r], 1, seed, r, place->rank, counts[1][r]);
    }
}

/* One rank contributes nothing. */
static void empty_allgatherv(t_odd_t *odd, const t_place_t *place)
{
    const uint64_t seed = t_random(&odd->shared);
    const int      idle = (int)t_below(&odd->shared, (size_t)place->size);
    const int      n    = 1 + (int)t_below(&odd->shared, MOST);
    const bool     null = place->rank == idle && t_below(&odd->own, 2) == 0;
    MPI_Request    request;

    for (int r = 0; r < place->size; r++) {
        counts[1][r] = r == idle ? 0 : n;
        at[1][r]     = r * MOST;
    }
    for (int i = 0; i < n; i++) {
        room[0][i] = value(seed, place->rank, 0, i);
    }
    t_note("allgatherv of %d, none of rank %d", n, idle);
    if (t_below(&odd->shared, 2) == 0) {
        T_OK(MPI_Allgatherv(null ? NULL : room[0], counts[1][place->rank], MPI_FLOAT, room[1],
                            counts[1], at[1], MPI_FLOAT, place->comm));
    } else {
        T_OK(MPI_Iallgatherv(null ? NULL : room[0], counts[1][place->rank], MPI_FLOAT, room[1],
                             counts[1], at[1], MPI_FLOAT, place->comm, &request));
        T_OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
    }
    for (int r = 0; r < place->size; r++) {
        compare(room[1] + at[1][r], 1, seed, r, 0, counts[1][r]);
    }
}

#ifndef MPICH_NUMVERSION /* which refuses equal pointers, whatever is received */

/* One rank has no share, and gives one pointer for both. */
static void empty_share(t_odd_t *odd, const t_place_t *place)
{
    const uint64_t seed = t_random(&odd->shared);
    const int      idle = (int)t_below(&odd->shared, (size_t)place->size);
    const int      n    = 1 + (int)t_below(&odd->shared, MOST);
    const bool     same = place->rank == idle && t_below(&odd->own, 4) > 0;
    float         *recv = same ? room[0] : room[1];
    int            used = 0;

    for (int r = 0; r < place->size; r++) {
        counts[0][r] = r == idle ? 0 : n;
        for (int i = 0; i < counts[0][r]; i++) {
            room[0][used++] = value(seed, place->rank, r, i);
        }
    }
    t_note("reduce_scatter of %d, none for rank %d", n, idle);
    T_OK(MPI_Reduce_scatter(room[0], recv, counts[0], MPI_FLOAT, MPI_SUM, place->comm));
    for (int i = 0; i < counts[0][place->rank]; i++) {
        float want = 0;

        for (int r = 0; r < place->size; r++) {
            want += value(seed, r, place->rank, i);
        }
        if (!near(recv[i], want, place->size)) {
            t_fail(__FILE__, __LINE__, "sum %d is %g, not %g", i, (double)recv[i], (double)want);
            return;
        }
    }
}

#else
#define empty_share empty_allgatherv
#endif

void t_odd_equal(t_odd_t *odd)
{
    const t_place_t *place = &odd->places[t_below(&odd->shared, 2)];

    switch (t_below(&odd->shared, 3)) {
    case 0:
        empty_alltoallv(odd, place);
        break;
    case 1:
        empty_allgatherv(odd, place);
        break;
    default:
        empty_share(odd, place);
        break;
    }
}

/* Every second float is sent, the others are received; some ranks have one buffer for both. */
void t_odd_interleave(t_odd_t *odd)
{
    const t_place_t *place = &odd->places[t_below(&odd->shared, 2)];
    const uint64_t   seed  = t_random(&odd->shared);
    const int        n = 1 + (int)t_below(&odd->shared, MOST), one = 1;
    const bool       same = t_below(&odd->own, 2) == 0;
    const MPI_Aint   four = 4;
    float           *recv = same ? room[0] : room[1];
    MPI_Datatype     even, odd_type, type;

    MPI_Type_create_resized(MPI_FLOAT, 0, 8, &even);
    MPI_Type_create_hindexed(1, &one, &four, MPI_FLOAT, &type);
    MPI_Type_create_resized(type, 0, 8, &odd_type);
    MPI_Type_free(&type);
    MPI_Type_commit(&even);
    MPI_Type_commit(&odd_type);
    for (int r = 0; r < place->size; r++) {
        for (int i = 0; i < n; i++) {
            room[0][2 * (r * n + i)] = value(seed, place->rank, r, i);
        }
    }
    t_note("alltoall of %d, %s", n, same ? "one buffer" : "two");
    T_OK(MPI_Alltoall(room[0], n, even, recv, n, odd_type, place->comm));
    for (int r = 0; r < place->size; r++) {
        compare(recv + 2 * r * n + 1, 2, seed, r, place->rank, n);
    }
    MPI_Type_free(&even);
    MPI_Type_free(&odd_type);
}

/* ---- types
 * --------------------------------------------------------------------------------------- */

#define SPAN 65536 /* bytes of the memory that types lie in */

static void replace(MPI_Datatype *type_p, MPI_Datatype with)
{
    if (*type_p != MPI_FLOAT) {
        MPI_Type_free(type_p);
    }
    *type_p = with;
}

/* One more level around a type. Where overlap is allowed (of what is sent), parts may. */
static void nest(MPI_Datatype *type_p, uint64_t *random, bool overlap)
{
    const int      few = 1 + (int)t_below(random, 3), ones[2] = {1, 1};
    MPI_Aint       lower, extent, true_lower, true_extent, places[2];
    MPI_Datatype   types[2] = {*type_p, *type_p}, made;
    const MPI_Aint gap      = 4 * (MPI_Aint)t_below(random, 3);

    MPI_Type_get_extent(*type_p, &lower, &extent);
    MPI_Type_get_true_extent(*type_p, &true_lower, &true_extent);
    places[0] = overlap && t_below(random, 3) == 0 ? 0 : true_extent + gap;
    places[1] = 0;
    switch (t_below(random, 6)) {
    case 0:
        MPI_Type_contiguous(few, *type_p, &made);
        break;
    case 1:
        MPI_Type_create_hvector(few, 1, places[0], *type_p, &made);
        break;
    case 2: /* not in the order of addresses */
        MPI_Type_create_hindexed(2, ones, places, *type_p, &made);
        break;
    case 3:
        MPI_Type_create_struct(2, ones, places, types, &made);
        break;
    case 4: /* the bounds before and behind the data */
        MPI_Type_create_resized(*type_p, true_lower - gap, true_extent + 2 * gap, &made);
        break;
    default:
        MPI_Type_dup(*type_p, &made);
        break;
    }
    MPI_Type_get_extent(made, &lower, &extent);
    MPI_Type_get_true_extent(made, &true_lower, &true_extent);
    if (!overlap && extent < true_extent) { /* or the items of a message would overlap */
        types[0] = made;
        MPI_Type_create_resized(types[0], true_lower, true_extent, &made);
        MPI_Type_free(&types[0]);
    }
    replace(type_p, made);
}

/* A type of at most 64 floats, and how many items of it fit the memory. */
static MPI_Datatype draw_type(uint64_t *random, bool overlap, int *items_p, int *floats_p)
{
    const int    depth = 1 + (int)t_below(random, 6);
    MPI_Datatype type  = MPI_FLOAT;
    MPI_Aint     lower, extent, true_lower, true_extent, step;
    int          size = 4;

    for (int i = 0; i < depth && size <= 64; i++) {
        nest(&type, random, overlap);
        MPI_Type_size(type, &size);
    }
    if (type == MPI_FLOAT) {
        MPI_Type_dup(MPI_FLOAT, &type);
    }
    MPI_Type_commit(&type);
    MPI_Type_get_extent(type, &lower, &extent);
    MPI_Type_get_true_extent(type, &true_lower, &true_extent);
    step     = extent < 4 ? 4 : extent;
    *items_p = 1 + (int)t_below(random, (size_t)((SPAN / 4 - true_extent) / step / T_RANKS_MAX));
    while (*items_p * size > MOST * 4 && *items_p > 1) {
        *items_p /= 2;
    }
    *floats_p = *items_p * size / 4;
    return type;
}

static void fill_span(float *span, uint64_t seed, int who)
{
    for (int i = 0; i < SPAN / 4; i++) {
        span[i] = value(seed, who, 0, i);
    }
}

static void pack(const float *span, MPI_Datatype type, int items, int floats, float *packed)
{
    int position = 0;

    PMPI_Pack((const char *)span + SPAN / 2, items, type, packed, floats * 4, &position, t_harness);
}

/* A type on the sending side, floats on the receiving one. */
static void send_typed(t_odd_t *odd, const t_place_t *place, float *span, float *packed)
{
    const uint64_t seed = t_random(&odd->shared);
    uint64_t       draw = t_random(&odd->shared);
    int            items, floats;
    MPI_Datatype   type = draw_type(&draw, true, &items, &floats);

    fill_span(span, seed, place->rank);
    t_note("allgather of %d items, %d floats", items, floats);
    T_OK(MPI_Allgather((char *)span + SPAN / 2, items, type, room[1], floats, MPI_FLOAT,
                       place->comm));
    for (int r = 0; r < place->size; r++) {
        fill_span(span, seed, r);
        pack(span, type, items, floats, packed);
        for (int i = 0; i < floats; i++) {
            if (!near(room[1][r * floats + i], packed[i], 1)) {
                t_fail(__FILE__, __LINE__, "value %d of rank %d is %g, not %g", i, r,
                       (double)room[1][r * floats + i], (double)packed[i]);
                break;
            }
        }
    }
    MPI_Type_free(&type);
}

/* Floats on the root, a type of each rank's own elsewhere; nothing beside it changes. */
static void receive_typed(t_odd_t *odd, const t_place_t *place, float *span, float *packed)
{
    const uint64_t seed  = t_random(&odd->shared);
    uint64_t       draw  = t_random(&odd->shared);
    const int      root  = (int)t_below(&odd->shared, (size_t)place->size);
    float         *want  = t_malloc(SPAN);
    int            items = 0, floats = 0, position = 0;
    MPI_Datatype   type = draw_type(&draw, false, &items, &floats);

    for (int i = 0; i < floats; i++) {
        packed[i] = value(seed, root, 1, i);
    }
    fill_span(span, seed, place->rank);
    memcpy(want, span, SPAN);
    t_note("bcast of %d items, %d floats, root %d", items, floats, root);
    if (place->rank == root) {
        T_OK(MPI_Bcast(packed, floats, MPI_FLOAT, root, place->comm));
    } else {
        PMPI_Unpack(packed, floats * 4, &position, (char *)want + SPAN / 2, items, type, t_harness);
        T_OK(MPI_Bcast((char *)span + SPAN / 2, items, type, root, place->comm));
        for (int i = 0; i < SPAN / 4; i++) {
            if (!near(span[i], want[i], 1)) {
                t_fail(__FILE__, __LINE__, "float %d of the memory is %g, not %g", i - SPAN / 8,
                       (double)span[i], (double)want[i]);
                break;
            }
        }
    }
    free(want);
    MPI_Type_free(&type);
}

void t_odd_types(t_odd_t *odd)
{
    const t_place_t *place = &odd->places[t_below(&odd->shared, 2)];
    float           *span = t_malloc(SPAN), *packed = t_malloc(SPAN);

    if (t_below(&odd->shared, 2) == 0) {
        send_typed(odd, place, span, packed);
    } else {
        receive_typed(odd, place, span, packed);
    }
    free(span);
    free(packed);
}

/* ---- memory that others cannot read
 * --------------------------------------------------------------- */

/* MPICH 4.0 over UCX dies of it. */
static float *hidden_memory(way_t way, size_t bytes)
{
#ifdef MPICH_NUMVERSION
    (void)way;
    (void)bytes;
    return NULL;
#else
    return unreadable(way, bytes);
#endif
}

void t_odd_hidden(t_odd_t *odd)
{
    const t_place_t *place  = &odd->places[t_below(&odd->shared, 2)];
    const uint64_t   seed   = t_random(&odd->shared);
    const int        n      = 1 + (int)t_below(&odd->shared, 30000);
    const int        root   = (int)t_below(&odd->shared, (size_t)place->size);
    const way_t      way    = t_below(&odd->own, 2) == 0 ? WAY_SECRET : WAY_HOLE;
    const size_t     bytes  = (size_t)n * sizeof(float);
    float           *hidden = t_below(&odd->own, 2) == 0 ? hidden_memory(way, bytes) : NULL;
    float           *x      = hidden != NULL ? hidden : t_malloc(bytes);

    for (int i = 0; i < n; i++) {
        x[i] = place->rank == root ? value(seed, root, 2, i) : 0;
    }
    t_note("bcast of %d, root %d, memory %s", n, root, hidden != NULL ? "hidden" : "as usual");
    T_OK(MPI_Bcast(x, n, MPI_FLOAT, root, place->comm));
    compare(x, 1, seed, root, 2, n);
    for (int i = 0; i < n; i++) {
        x[i] = value(seed, place->rank, 3, i);
    }
    T_OK(MPI_Allreduce(MPI_IN_PLACE, x, n, MPI_FLOAT, MPI_SUM, place->comm));
    for (int i = 0; i < n; i++) {
        float want = 0;

        for (int r = 0; r < place->size; r++) {
            want += value(seed, r, 3, i);
        }
        if (!near(x[i], want, place->size)) {
            t_fail(__FILE__, __LINE__, "sum %d is %g, not %g", i, (double)x[i], (double)want);
            break;
        }
    }
    if (hidden != NULL) {
        unreadable_free(hidden, bytes);
    } else {
        free(x);
    }
}
