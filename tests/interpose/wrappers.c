/* SPDX-License-Identifier: BSD-3-Clause
 * tests/interpose/wrappers.c - every collective that the drop-in knows, in every form that the MPI
 * library has, over types, counts, operations, roots and communicators inside and outside of what
 * may be compressed.
 */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>

#include "tests/interpose/job.h"
#include "tests/unreadable.h"

/* How many ranks can be the root; in an inter-communicator it is in the low group. */
static int roots(t_op_t op, const t_place_t *place)
{
    if (op != T_BCAST && op != T_REDUCE) {
        return 1;
    }
    return place->inter && place->base != 0 ? place->remote : place->size;
}

/* One operation in one form on one type: all reductions, in place and not, all roots. */
static void each_way(const t_place_t *place, t_call_t call)
{
    for (int reduction = T_SUM; reduction <= T_USER_LEFT; reduction++) {
        for (int in_place = 0; in_place < 2; in_place++) {
            call.reduction = (t_reduction_t)reduction;
            call.in_place  = in_place != 0;
            for (int root = 0; root < roots(call.op, place); root++) {
                call.root    = root;
                call.seed    = t_next_seed();
                call.strange = call.seed % 2 == 0;
                if (t_allowed(&call, place) && t_chosen(call.seed)) {
                    t_job_once(place, &call);
                }
            }
        }
    }
}

static void each_type(const t_place_t *place, int units)
{
    for (int op = 0; op < T_OPS; op++) {
        for (int form = 0; form < T_FORMS; form++) {
            for (int i = 0; i < T_LAYOUTS; i++) {
                const t_layout_t *layout = &t_layouts[i];

                each_way(place, (t_call_t){.op    = (t_op_t)op,
                                           .form  = (t_form_t)form,
                                           .send  = layout,
                                           .recv  = layout,
                                           .unit  = layout->basics,
                                           .units = units});
            }
        }
    }
}

/* Each rank has layouts of its own; only the signatures agree. */
static void each_layout(const t_place_t *place, int units)
{
    for (int op = 0; op < T_ALLREDUCE; op++) {
        for (int form = 0; form < T_FORMS; form++) {
            for (int i = 0; i < T_FLOAT_LAYOUTS; i++) {
                /* Open MPI 4.1 chooses how to do MPI_Allgatherv by counts that must then agree. */
                const int mine = i + (op == T_ALLGATHERV ? 0 : place->rank);

                each_way(place, (t_call_t){.op    = (t_op_t)op,
                                           .form  = (t_form_t)form,
                                           .send  = &t_layouts[mine % T_FLOAT_LAYOUTS],
                                           .recv  = &t_layouts[(5 * mine + 2) % T_FLOAT_LAYOUTS],
                                           .unit  = T_FLOAT_UNIT,
                                           .units = units});
            }
        }
    }
}

/* ---- the cases ------------------------------------------------------------------------------- */

static void nothing(void)
{
    const t_place_t world = t_place(MPI_COMM_WORLD, "world");

    each_type(&world, 0);
}

static void one(void)
{
    const t_place_t world = t_place(MPI_COMM_WORLD, "world");

    each_type(&world, 1);
}

static void some(void)
{
    const t_place_t world = t_place(MPI_COMM_WORLD, "world");

    each_type(&world, 7);
    each_type(&world, 700);
}

static void many(void)
{
    const t_place_t world   = t_place(MPI_COMM_WORLD, "world");
    const int       which[] = {T_L_FLOAT, T_L_INDEXED, T_L_DOUBLE, T_L_COMPLEX};

    for (int op = 0; op < T_OPS; op++) {
        for (int form = 0; form < T_FORMS; form++) {
            for (int i = 0; i < 4; i++) {
                const t_layout_t *layout = &t_layouts[which[i]];
                /* Several of the pieces that long vectors are cut into, where that is quick. */
                const bool long_one = i == 0 && (op == T_BCAST || op == T_ALLREDUCE);
                t_call_t   call     = {.op       = (t_op_t)op,
                                       .form     = (t_form_t)form,
                                       .in_place = op != T_BCAST && i % 2 == 1,
                                       .root     = t_size - 1,
                                       .send     = layout,
                                       .recv     = layout,
                                       .unit     = layout->basics,
                                       .units    = (long_one ? 300000 : 20000) / layout->basics,
                                       .seed     = t_next_seed()};

                if (t_allowed(&call, &world)) {
                    t_job_once(&world, &call);
                }
            }
        }
    }
}

static void layouts(void)
{
    const t_place_t world = t_place(MPI_COMM_WORLD, "world");

    each_layout(&world, 0);
    each_layout(&world, 1);
    each_layout(&world, 75);
}

static void part(void)
{
    t_place_t place;
    MPI_Comm  comm;

    MPI_Comm_split(MPI_COMM_WORLD, t_rank % 2, -t_rank, &comm);
    place = t_place(comm, "a part, ranks reversed");
    each_type(&place, 3);
    each_type(&place, 400);
    each_layout(&place, 40);
    MPI_Comm_free(&comm);
}

static void self(void)
{
    const t_place_t place = t_place(MPI_COMM_SELF, "self");

    each_type(&place, 5);
    each_layout(&place, 50);
}

static void inter(void)
{
    const bool low = t_rank < (t_size + 1) / 2;
    t_place_t  place;
    MPI_Comm   half, comm;

    MPI_Comm_split(MPI_COMM_WORLD, low, 0, &half);
    MPI_Intercomm_create(half, 0, MPI_COMM_WORLD, low ? (t_size + 1) / 2 : 0, 7, &comm);
    place = t_place_inter(comm, "an inter-communicator", low);
    each_type(&place, 3);
    each_type(&place, 400);
    each_layout(&place, 40);
    MPI_Comm_free(&comm);
    MPI_Comm_free(&half);
}

/* Something of every kind of call that the drop-in compresses must have been compressed. */
static void compressed(void)
{
    int sums[2][T_OPS][5];

    PMPI_Allreduce(t_changed, sums[0], T_OPS * 5, MPI_INT, MPI_SUM, t_harness);
    PMPI_Allreduce(t_changeable, sums[1], T_OPS * 5, MPI_INT, MPI_SUM, t_harness);
    for (int op = 0; op < T_OPS && t_rank == 0 && t_expectation.kind == T_LOSSY; op++) {
        for (int form = 0; form < T_FORMS; form++) {
            const bool wanted = form == T_BLOCKING || (form == T_NONBLOCKING && op <= T_ALLREDUCE);

            printf("%s %s: %d of %d results are not the exact ones\n", t_form_names[form],
                   t_op_names[op], sums[0][op][form], sums[1][op][form]);
            T_CHECK(!wanted || sums[0][op][form] > 0, "%s %s was never compressed",
                    t_form_names[form], t_op_names[op]);
        }
    }
}

/* Numbers that every codec of these launches keeps: 0, 1, ..., 63. */
static void unreadable_once(int root, size_t count, bool hidden)
{
    const size_t all = count * (size_t)t_size, bytes = all * sizeof(float);
    float       *send     = hidden ? unreadable(WAY_HOLE, bytes) : malloc(bytes);
    float       *recv     = malloc(bytes);
    int          wrong[2] = {0, 0};
    MPI_Request  request;

    if (send == NULL || recv == NULL) {
        MPI_Abort(MPI_COMM_WORLD, 1);
        return;
    }
    for (size_t i = 0; i < all; i++) {
        send[i] = (float)((i + (size_t)t_rank) % 64);
    }
    T_OK(MPI_Alltoall(send, (int)count, MPI_FLOAT, recv, (int)count, MPI_FLOAT, MPI_COMM_WORLD));
    for (int turn = 0; turn < 2; turn++) {
        for (size_t i = 0; i < all; i++) {
            const size_t from = i / count, at = (size_t)t_rank * count + i % count;

            wrong[0] += turn == 0 && recv[i] != (float)((at + from) % 64);
            send[i] = t_rank == root ? (float)((i * 3 + (size_t)turn) % 64) : -1.0f;
        }
        if (turn == 0) {
            T_OK(MPI_Bcast(send, (int)all, MPI_FLOAT, root, MPI_COMM_WORLD));
        } else {
            T_OK(MPI_Ibcast(send, (int)all, MPI_FLOAT, root, MPI_COMM_WORLD, &request));
            T_OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
        }
        for (size_t i = 0; i < all; i++) {
            wrong[1] += send[i] != (float)((i * 3 + (size_t)turn) % 64);
        }
    }
    T_CHECK(wrong[0] == 0 && wrong[1] == 0, "%d and %d wrong", wrong[0], wrong[1]);
    if (hidden) {
        unreadable_free(send, bytes);
    } else {
        free(send);
    }
    free(recv);
}

/* Is there such memory here? MPICH 4.0 over UCX dies of it. */
static bool unreadable_can_be(void)
{
#ifdef MPICH_NUMVERSION
    return false;
#else
    float *probe = unreadable(WAY_HOLE, 1);

    if (probe != NULL) {
        unreadable_free(probe, 1);
    }
    return probe != NULL;
#endif
}

/* A rank's buffers that the others of its node cannot read. */
static void unreadable_memory(void)
{
    if (!unreadable_can_be()) {
        t_skip("MPICH dies of it, or the system has no such memory");
        return;
    }
    for (int root = 0; root < t_size && t_expectation.kind != T_LOSSY; root++) {
        for (size_t count = 100; count < 100000; count *= 30) {
            t_note("root %d, %zu elements", root, count);
            unreadable_once(root, count, t_rank == root);
            unreadable_once(root, count, t_rank != root);
            unreadable_once(root, count, false);
        }
    }
}

static void all_places(void (*run)(void))
{
    t_layouts_make();
    t_operations_make();
    run();
    t_operations_free();
    t_layouts_free();
}

#define PLACED(name)                                                                               \
    static void name##_case(void)                                                                  \
    {                                                                                              \
        all_places(name);                                                                          \
    }
PLACED(nothing)
PLACED(one)
PLACED(some)
PLACED(many)
PLACED(layouts)
PLACED(part)
PLACED(self)
PLACED(inter)

static const t_case_t cases[] = {
    {"count 0", nothing_case, 1},
    {"count 1", one_case, 1},
    {"counts 7 and 700", some_case, 1},
    {"20000 and 300000 elements", many_case, 1},
    {"other layouts on other ranks", layouts_case, 1},
    {"part of the world", part_case, 1},
    {"self", self_case, 1},
    {"inter-communicator", inter_case, 2},
    {"memory that others cannot read", unreadable_memory, 1},
    {"compressed at all", compressed, 2},
};

T_MAIN(cases)
