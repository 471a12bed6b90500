/* SPDX-License-Identifier: BSD-3-Clause
 * tests/interpose/moves.c - broadcasts and allgathers of what no codec takes, legal ones of which
 * ranks say the same signature by different types: contiguous or single, with holes on some ranks
 * alone, MPI_BYTE beside MPI_PACKED, by addresses, from read-only memory, in place, with blocks of
 * other lengths, none, and in other places on each rank; and what must stay MPI's. Prints how many
 * of the former had more than no byte.
 */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <mpi.h>

enum { N = 6000, ROOM = 4 * N };

static int rank, size, failures, moves;

static const unsigned char constant[N] = {1, 2, 3, 250};

static unsigned char value(int turn, int i)
{
    return (unsigned char)(turn * 37 + i * 11 + i / 256);
}

/* A type with its count of items for n bytes, and where its i-th byte of data lies in memory. */
typedef struct layout {
    const char  *name;
    MPI_Datatype type;
    int          unit;        /* bytes of data in an item                               */
    int          block, step; /* bytes in a piece without holes, and from one to the next */
} layout_t;

static MPI_Datatype committed(MPI_Datatype type)
{
    MPI_Type_commit(&type);
    return type;
}

static MPI_Datatype contiguous(int n, MPI_Datatype of)
{
    MPI_Datatype type;

    MPI_Type_contiguous(n, of, &type);
    return committed(type);
}

/* Every second int. */
static MPI_Datatype every_second(void)
{
    MPI_Datatype type;

    MPI_Type_create_resized(MPI_INT, 0, 2 * (MPI_Aint)sizeof(int), &type);
    return committed(type);
}

/* A buffer whose data are those of a turn, or junk; its bytes between the data are 0xee. */
static void fill(unsigned char *memory, const layout_t *l, int n, int turn, int known)
{
    memset(memory, 0xee, ROOM);
    for (int i = 0; i < n; i++) {
        memory[i / l->block * l->step + i % l->block] = known ? value(turn, i) : 0x77;
    }
}

static void broadcast(const layout_t *mine, int n, int root, int turn, int by_address)
{
    static unsigned char memory[ROOM], want[ROOM];
    MPI_Datatype         type  = mine->type;
    void                *at    = memory;
    int                  items = n / mine->unit;

    fill(memory, mine, n, turn, rank == root);
    fill(want, mine, n, turn, 1);
    if (by_address && n > 0) {
        MPI_Aint address;

        MPI_Get_address(memory, &address);
        MPI_Type_create_hindexed(1, &items, &address, mine->type, &type);
        type  = committed(type);
        at    = MPI_BOTTOM;
        items = 1;
    }
    MPI_Bcast(at, items, type, root, MPI_COMM_WORLD);
    moves += n > 0;
    if (memcmp(memory, want, ROOM) != 0) {
        printf("rank %d: a broadcast of %d bytes from %d as %s is wrong\n", rank, n, root,
               mine->name);
        failures++;
    }
    if (type != mine->type) {
        MPI_Type_free(&type);
    }
}

/* Blocks of n bytes: sent by one type, received by another. */
static void allgather(const layout_t *out, const layout_t *in, int n, int turn, int in_place)
{
    unsigned char *all = malloc((size_t)size * ROOM), *want = malloc((size_t)size * ROOM);
    unsigned char *own   = malloc(ROOM);
    const int      place = n * (in->step / in->block); /* bytes from block to block */

    memset(all, 0xee, (size_t)size * ROOM);
    memset(want, 0xee, (size_t)size * ROOM);
    fill(own, out, n, turn + rank, 1);
    for (int r = 0; r < size; r++) {
        for (int i = 0; i < n; i++) {
            const size_t at = (size_t)r * (size_t)place + (size_t)(i / in->block * in->step) +
                              (size_t)(i % in->block);

            want[at] = value(turn + r, i);
            all[at]  = in_place && r == rank ? want[at] : 0x77;
        }
    }
    MPI_Allgather(in_place ? MPI_IN_PLACE : own, in_place ? -7 : n / out->unit,
                  in_place ? MPI_DATATYPE_NULL : out->type, all, n / in->unit, in->type,
                  MPI_COMM_WORLD);
    moves += n > 0;
    if (memcmp(all, want, (size_t)size * ROOM) != 0) {
        printf("rank %d: an allgather of %d bytes as %s, %s%s is wrong\n", rank, n, out->name,
               in->name, in_place ? ", in place" : "");
        failures++;
    }
    free(all);
    free(want);
    free(own);
}

/* Blocks of 0, 4000 and 8000 bytes, or all of 0, in places that each rank chooses: one after
 * another, with gaps, or from the last to the first; those of nothing are anywhere. Open MPI 4.1
 * itself hangs from 3 ranks on: it chooses how by counts, which differ. */
static void allgatherv(const layout_t *out, const layout_t *in, int some, int turn, int in_place)
{
    const size_t   room = (size_t)size * ROOM;
    const int      item = in->unit / in->block > 0 ? in->unit / in->block * in->step : in->unit;
    unsigned char *all = malloc(room), *want = malloc(room), *own = malloc(ROOM);
    int           *counts = malloc(2 * (size_t)size * sizeof(*counts)), *displs = counts + size;
    int            next = 0, n = 0;

    memset(all, 0xee, room);
    memset(want, 0xee, room);
    for (int k = 0; k < size; k++) {
        const int r     = (rank + turn) % 3 == 2 ? size - 1 - k : k;
        const int bytes = some ? (r + turn) % 3 * 4000 : 0;

        counts[r] = bytes / in->unit;
        displs[r] = bytes > 0 ? next : 123456;
        n         = r == rank ? bytes : n;
        for (int i = 0; i < bytes; i++) {
            const size_t at = (size_t)next * (size_t)item + (size_t)(i / in->block * in->step) +
                              (size_t)(i % in->block);

            want[at] = value(turn + r, i);
            all[at]  = in_place && r == rank ? want[at] : 0x77;
        }
        next += counts[r] + (rank + turn) % 3;
    }
    fill(own, out, n, turn + rank, 1);
    MPI_Allgatherv(in_place ? MPI_IN_PLACE : own, in_place ? -7 : n / out->unit,
                   in_place ? MPI_DATATYPE_NULL : out->type, all, counts, displs, in->type,
                   MPI_COMM_WORLD);
    moves += some;
    if (memcmp(all, want, room) != 0) {
        printf("rank %d: an allgatherv, turn %d, as %s, %s%s is wrong\n", rank, turn, out->name,
               in->name, in_place ? ", in place" : "");
        failures++;
    }
    free(all);
    free(want);
    free(own);
    free(counts);
}

static void allgathers(const layout_t *ints)
{
    for (int shift = 0; shift < 4; shift++) {
        for (int n = 0; n <= 4000; n += 4000) {
            allgather(&ints[(rank + shift) % 4], &ints[(2 * rank + shift) % 4], n, shift, 0);
            allgather(&ints[0], &ints[(rank + shift) % 4], n, shift, 1);
            allgatherv(&ints[(rank + shift) % 4], &ints[(2 * rank + shift) % 4], n > 0, shift, 0);
            allgatherv(&ints[0], &ints[(rank + shift) % 4], n > 0, shift, 1);
        }
    }
}

/* All ways in which ranks may say n bytes, the ranks in turn. */
static void signatures(void)
{
    const layout_t ints[]   = {{"1000 ints", contiguous(1000, MPI_INT), 4000, N, N},
                               {"ints", MPI_INT, 4, N, N},
                               {"ints with holes", every_second(), 4, 4, 8},
                               {"two ints", MPI_2INT, 8, N, N}};
    const layout_t others[] = {{"bytes", MPI_BYTE, 1, N, N}, {"packed", MPI_PACKED, 1, N, N}};
    int            turn     = 0;

    MPI_Type_set_name(ints[0].type, "float");
    for (int root = 0; root < size; root++) {
        for (int shift = 0; shift < 4; shift++) {
            for (int n = 0; n <= 4000; n += 4000) {
                broadcast(&ints[(rank + shift) % 4], n, root, turn, (rank + shift) % 3 == 0);
                turn++;
            }
            broadcast(&others[(rank + shift) % 2], 4321 + shift, root, turn++, 0);
        }
    }
    allgathers(ints);
    for (int i = 0; i < 3; i += 2) {
        MPI_Datatype type = ints[i].type;

        MPI_Type_free(&type);
    }
}

/* Pairs that have holes in themselves, and what a root may only read. */
static void holes_and_constants(void)
{
    const layout_t       pair = {"a short and an int", MPI_SHORT_INT, 6, N, N};
    static unsigned char memory[N];
    struct {
        short s;
        int   i;
    } x[500] = {{0}};

    for (int i = 0; i < 500 && rank == 0; i++) {
        x[i].s = (short)(i * 3);
        x[i].i = i * 70001;
    }
    MPI_Bcast(x, 500, pair.type, 0, MPI_COMM_WORLD);
    MPI_Bcast(rank == 0 ? (void *)(size_t)constant : memory, N, MPI_CHAR, 0, MPI_COMM_WORLD);
    moves += 2;
    for (int i = 0; i < 500; i++) {
        failures += x[i].s != (short)(i * 3) || x[i].i != i * 70001;
    }
    failures += rank != 0 && memcmp(memory, constant, N) != 0;
}

/* Groups of even and of odd ranks, one of which broadcasts to the other: never ours. */
static void between_groups(void)
{
    MPI_Comm part, inter;
    int      x[2000], turn = 5, root = rank % 2 == 0 ? (rank == 0 ? MPI_ROOT : MPI_PROC_NULL) : 0;

    if (size < 2) {
        return;
    }
    MPI_Comm_split(MPI_COMM_WORLD, rank % 2, rank, &part);
    MPI_Intercomm_create(part, 0, MPI_COMM_WORLD, 1 - rank % 2, 3, &inter);
    for (int i = 0; i < 2000; i++) {
        x[i] = rank == 0 ? i * turn : -1;
    }
    MPI_Bcast(x, 2000, MPI_INT, root, inter);
    for (int i = 0; i < 2000 && rank % 2 == 1; i++) {
        failures += x[i] != i * turn;
    }
    MPI_Comm_free(&inter);
    MPI_Comm_free(&part);
}

/* Stays MPI's. */
static void alltoall_in_place(void)
{
    int *all = malloc((size_t)size * 1000 * sizeof(*all));

    for (int i = 0; i < size * 1000; i++) {
        all[i] = rank * 5000 + i;
    }
    MPI_Alltoall(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, all, 1000, MPI_INT, MPI_COMM_WORLD);
    for (int i = 0; i < size * 1000; i++) {
        failures += all[i] != i / 1000 * 5000 + rank * 1000 + i % 1000;
    }
    free(all);
}

int main(int argc, char **argv)
{
    int all = 0;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    signatures();
    holes_and_constants();
    between_groups();
    alltoall_in_place();
    MPI_Allreduce(&failures, &all, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    if (rank == 0) {
        printf("moves: %d\n", moves);
    }
    MPI_Finalize();
    return all > 0;
}
