/* SPDX-License-Identifier: BSD-3-Clause
 * tests/interpose/agree.c - legal calls in which one rank's arguments look other than those of its
 * peers: whether they are compressed must be decided by all ranks alike, or all go wrong.
 *
 * Equal send and receive pointers without overlap: nothing is sent or received, or the types
 * interleave.
 *
 * Blocks that are not worth encoding, on one rank alone.
 *
 * Control that leaves MPI by a longjmp out of an error handler, or out of an attribute's callback:
 * what that rank calls later is called as before.
 *
 * Types made of types.
 *
 * MPI 4.1's functions that say which of several requests are complete, where the library has them
 * or between.c stands in.
 */
#include "config.h"

#include <dlfcn.h>
#include <setjmp.h>
#include <stdlib.h>
#include <string.h>

#include "tests/interpose/job.h"

#define N 400 /* values of a block */

static float       room[2][2 * N * T_RANKS_MAX];
static int         counts[2][T_RANKS_MAX], at[2][T_RANKS_MAX];
static bool        nonblocking;
static MPI_Request request;

/* Counted by all ranks alike: no call finds in its buffers what it must bring. */
static int turn;

/* Of a rank for a rank; bitpack:2 keeps them, and their sums. */
static float value(int from, int to, int i)
{
    return (float)((3 * from + 5 * to + i + turn) % 7 - 3);
}

/* Open MPI 4.1 itself takes equal pointers of a nonblocking call for MPI_IN_PLACE: only what is
 * compressed is tried there, which is nothing under an error contract. */
static int forms(void)
{
#ifdef MPICH_NUMVERSION
    return 2;
#else
    return t_expectation.kind == T_REPRESENTABLE && getenv("THINWIRE_MAX_ERROR") == NULL ? 2 : 1;
#endif
}

static void finish(void)
{
    if (nonblocking) {
        T_OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
    }
}

static void check_items(const float *got, int n, int step, int from, float want(int from, int i))
{
    for (int i = 0; i < n; i++) {
        if (got[i * step] != want(from, i)) {
            T_CHECK(got[i * step] == want(from, i), "value %d from rank %d is %g, not %g", i, from,
                    (double)got[i * step], (double)want(from, i));
            return;
        }
    }
}

static void check(const float *got, int step, int from, float want(int from, int i))
{
    check_items(got, N, step, from, want);
}

static float exchanged(int from, int i)
{
    return value(from, t_rank, i);
}

static float value_for_first(int from, int i)
{
    return value(from, 0, i);
}

static float summed(int to, int i)
{
    float sum = 0;

    for (int r = 0; r < t_size; r++) {
        sum += value(r, to, i);
    }
    return sum;
}

/* ---- nothing is sent, or nothing received, by one rank
 * ----------------------------------------- */

/* Rank `idle` sends nothing (receives nothing), and gives one pointer for both. */
static void idle_alltoallv(int idle, bool receives)
{
    const bool same = t_rank == idle;
    float     *send = room[0], *recv = same ? room[0] : room[1];

    turn++;
    for (int r = 0; r < t_size; r++) {
        counts[0][r] = (same && receives) || (r == idle && !receives) ? 0 : N;
        counts[1][r] = (same && !receives) || (r == idle && receives) ? 0 : N;
        at[0][r] = at[1][r] = r * N;
        for (int i = 0; i < N; i++) {
            send[r * N + i] = value(t_rank, r, i);
        }
    }
    t_note("rank %d only %s", idle, receives ? "receives" : "sends");
    T_OK(nonblocking ? MPI_Ialltoallv(send, counts[0], at[0], MPI_FLOAT, recv, counts[1], at[1],
                                      MPI_FLOAT, MPI_COMM_WORLD, &request)
                     : MPI_Alltoallv(send, counts[0], at[0], MPI_FLOAT, recv, counts[1], at[1],
                                     MPI_FLOAT, MPI_COMM_WORLD));
    finish();
    for (int r = 0; r < t_size; r++) {
        if (counts[1][r] > 0) {
            check(recv + r * N, 1, r, exchanged);
        }
    }
}

static void no_data(void)
{
    for (int form = 0; form < forms(); form++) {
        nonblocking = form == 1;
        for (int receives = 0; receives < 2; receives++) {
            idle_alltoallv(0, receives == 1);
            idle_alltoallv(t_size - 1, receives == 1);
        }
    }
}

/* What rank `who` has for itself does not pay; it exchanges `others` items with each other rank. */
static void small_alltoallv(int who, int others)
{
    turn++;
    for (int r = 0; r < t_size; r++) {
        counts[0][r] = r != who && t_rank != who ? N : r != t_rank ? others : 3;
        counts[1][r] = counts[0][r];
        at[0][r] = at[1][r] = r * N;
        for (int i = 0; i < N; i++) {
            room[0][r * N + i] = value(t_rank, r, i);
        }
    }
    t_note("rank %d has little for itself, %d items for others", who, others);
    T_OK(nonblocking ? MPI_Ialltoallv(room[0], counts[0], at[0], MPI_FLOAT, room[1], counts[1],
                                      at[1], MPI_FLOAT, MPI_COMM_WORLD, &request)
                     : MPI_Alltoallv(room[0], counts[0], at[0], MPI_FLOAT, room[1], counts[1],
                                     at[1], MPI_FLOAT, MPI_COMM_WORLD));
    finish();
    for (int r = 0; r < t_size; r++) {
        check_items(room[1] + r * N, counts[1][r], 1, r, exchanged);
    }
}

static void little_data(void)
{
    for (int form = 0; form < forms(); form++) {
        nonblocking = form == 1;
        for (int who = 0; who < t_size; who++) {
            small_alltoallv(who, N);
            small_alltoallv(who, 0);
        }
    }
}

/* MPICH refuses equal pointers here, whatever is received; Open MPI 4.1's nonblocking form hangs on
 * an empty share. */
static void no_share(void)
{
#ifdef MPICH_NUMVERSION
    t_skip("MPICH refuses equal pointers");
#else
    for (int idle = 0; idle < t_size; idle++) {
        float *send = room[0], *recv = t_rank == idle ? room[0] : room[1];
        int    n = 0;

        turn++;
        for (int r = 0; r < t_size; r++) {
            counts[0][r] = r == idle ? 0 : N;
            for (int i = 0; i < counts[0][r]; i++) {
                send[n++] = value(t_rank, r, i);
            }
        }
        t_note("rank %d has no share", idle);
        T_OK(MPI_Reduce_scatter(send, recv, counts[0], MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD));
        if (t_rank != idle) {
            check(recv, 1, t_rank, summed);
        }
    }
#endif
}

/* ---- types that interleave
 * --------------------------------------------------------------------- */

static MPI_Datatype even, odd;

static void make_types(void)
{
    const int      one  = 1;
    const MPI_Aint four = 4;
    MPI_Datatype   type;

    MPI_Type_create_resized(MPI_FLOAT, 0, 8, &even);
    MPI_Type_create_hindexed(1, &one, &four, MPI_FLOAT, &type);
    MPI_Type_create_resized(type, 0, 8, &odd);
    MPI_Type_free(&type);
    MPI_Type_commit(&even);
    MPI_Type_commit(&odd);
}

static void check_odd(const float *got)
{
    for (int r = 0; r < t_size; r++) {
        check(got + 2 * r * N + 1, 2, r, exchanged);
    }
}

static void one_interleaved(bool same, bool v)
{
    float *send = room[0], *recv = same ? room[0] : room[1];

    turn++;
    for (int r = 0; r < t_size; r++) {
        counts[0][r] = counts[1][r] = N;
        at[0][r] = at[1][r] = r * N;
        for (int i = 0; i < N; i++) {
            send[2 * (r * N + i)] = value(t_rank, r, i);
        }
    }
    t_note("%s, %s", v ? "alltoallv" : "alltoall", same ? "one buffer" : "two");
    if (v) {
        T_OK(nonblocking ? MPI_Ialltoallv(send, counts[0], at[0], even, recv, counts[1], at[1], odd,
                                          MPI_COMM_WORLD, &request)
                         : MPI_Alltoallv(send, counts[0], at[0], even, recv, counts[1], at[1], odd,
                                         MPI_COMM_WORLD));
    } else {
        T_OK(nonblocking ? MPI_Ialltoall(send, N, even, recv, N, odd, MPI_COMM_WORLD, &request)
                         : MPI_Alltoall(send, N, even, recv, N, odd, MPI_COMM_WORLD));
    }
    finish();
    check_odd(recv);
}

static void interleaved(void)
{
    make_types();
    for (int form = 0; form < forms(); form++) {
        nonblocking = form == 1;
        for (int who = -1; who < t_size; who++) { /* one rank; all */
            one_interleaved(who < 0 || t_rank == who, false);
            one_interleaved(who < 0 || t_rank == who, true);
        }
    }
    MPI_Type_free(&even);
    MPI_Type_free(&odd);
}

/* ---- one signature, two types
 * ------------------------------------------------------------------ */

/* Some ranks name the pairs of Fortran, the others their members, of `bytes` bytes. */
static void one_of_pairs(MPI_Datatype pair, MPI_Datatype member, size_t bytes, int pairs, int root)
{
    const bool with_pairs = t_rank % 2 == pairs;

    turn++;
    for (int i = 0; i < N; i++) {
        const float  x = value(root, 0, i);
        const double y = x;

        memcpy((char *)room[0] + (size_t)i * bytes, bytes == sizeof(x) ? (void *)&x : (void *)&y,
               bytes);
        memset((char *)room[1] + (size_t)i * bytes, 0, bytes);
    }
    t_note("%zu bytes, root %d, pairs on ranks %% 2 == %d", bytes, root, pairs);
    T_OK(MPI_Bcast(t_rank == root ? room[0] : room[1], with_pairs ? N / 2 : N,
                   with_pairs ? pair : member, root, MPI_COMM_WORLD));
    T_CHECK(t_rank == root || memcmp(room[0], room[1], N * bytes) == 0, "other values");
}

static void pairs(void)
{
    for (int root = 0; root < t_size; root++) {
        for (int of = 0; of < 2; of++) {
            if (MPI_2REAL != MPI_DATATYPE_NULL) {
                one_of_pairs(MPI_2REAL, MPI_REAL, sizeof(float), of, root);
                one_of_pairs(MPI_2DOUBLE_PRECISION, MPI_DOUBLE_PRECISION, sizeof(double), of, root);
            }
        }
    }
}

/* ---- attributes of types
 * ----------------------------------------------------------------------- */

static int copied, deleted;

static int copy_attribute(MPI_Datatype type, int key, void *extra, void *from, void *to, int *flag)
{
    (void)type;
    (void)key;
    (void)extra;
    *(void **)to = from;
    *flag        = 1;
    copied++;
    return MPI_SUCCESS;
}

static int delete_attribute(MPI_Datatype type, int key, void *what, void *extra)
{
    (void)type;
    (void)key;
    (void)what;
    (void)extra;
    deleted++;
    return MPI_SUCCESS;
}

/* The program duplicates no type, so the callbacks for that are not called. */
static void attributes(void)
{
    int key;

    copied = deleted = 0;
    turn++;
    make_types();
    MPI_Type_free(&odd);
    MPI_Type_create_keyval(copy_attribute, delete_attribute, &key, NULL);
    MPI_Type_set_attr(even, key, &copied);
    for (int i = 0; i < N; i++) {
        room[0][2 * i] = t_rank == 0 ? value(0, 0, i) : -1.0f;
    }
    T_OK(MPI_Ibcast(room[0], N, even, 0, MPI_COMM_WORLD, &request));
    MPI_Type_free(&even);
    T_OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
    MPI_Type_free_keyval(&key);
    for (int i = 0; i < N; i++) {
        if (room[0][2 * i] != value(0, 0, i)) {
            T_CHECK(false, "value %d is %g", i, (double)room[0][2 * i]);
            break;
        }
    }
    T_CHECK(copied == 0 && deleted == 1, "copied %d times, deleted %d times", copied, deleted);
}

/* ---- control leaves MPI
 * ------------------------------------------------------------------------ */

static jmp_buf before;

static void jump(MPI_Comm *comm, int *code, ...)
{
    (void)comm;
    (void)code;
    longjmp(before, 1);
}

/* A wrong call on a communicator of this rank's own, whose handler jumps. */
static void wrong_call(void)
{
    MPI_Errhandler handler;
    MPI_Comm       comm;

    MPI_Comm_create_errhandler(jump, &handler);
    MPI_Comm_dup(MPI_COMM_SELF, &comm);
    MPI_Comm_set_errhandler(comm, handler);
    if (setjmp(before) == 0) {
        MPI_Bcast(room[0], N, MPI_FLOAT, 7, comm);
        T_CHECK(false, "a root that is not there is no error");
    }
}

#ifndef MPICH_NUMVERSION /* which holds a lock of its own meanwhile */
static int jump_on_delete(MPI_Comm comm, int key, void *value, void *extra)
{
    (void)comm;
    (void)key;
    (void)value;
    (void)extra;
    longjmp(before, 1);
}

/* MPI_Comm_free does not come back: the communicator is lost, no more. */
static void never_freed(void)
{
    MPI_Comm comm;
    int      key;

    MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, jump_on_delete, &key, NULL);
    MPI_Comm_dup(MPI_COMM_SELF, &comm);
    MPI_Comm_set_attr(comm, key, NULL);
    if (setjmp(before) == 0) {
        MPI_Comm_free(&comm);
        T_CHECK(false, "an attribute was not deleted");
    }
}
#endif

/* Sums from frames below that of the call that was left, and from above. */
static void sums_at(int depth)
{
    volatile char frame[512];

    frame[0] = 1;
    if (depth > 0) {
        sums_at(depth - (int)frame[0]);
    }
    if (depth % 4 == 0) {
        t_note("depth %d", depth);
        turn++;
        for (int i = 0; i < N; i++) {
            room[0][i] = value(t_rank, 0, i);
        }
        T_OK(MPI_Allreduce(room[0], room[1], N, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD));
        check(room[1], 1, 0, summed);
        T_OK(MPI_Allgather(room[0], N, MPI_FLOAT, room[1], N, MPI_FLOAT, MPI_COMM_WORLD));
        check(room[1] + (t_size - 1) * N, 1, t_size - 1, value_for_first);
    }
}

static void left(void)
{
    for (int who = 0; who < t_size; who++) {
        if (t_rank == who) {
            wrong_call();
        }
        sums_at(8);
#ifndef MPICH_NUMVERSION
        if (t_rank == who) {
            never_freed();
        }
        sums_at(8);
#endif
    }
}

/* ---- types in types
 * ---------------------------------------------------------------------------- */

#define LEVELS 18

/* Twice the type before, and again: 2^18 floats, if every type is looked at wherever it stands. */
static void nested(void)
{
    const int    two[2] = {1, 1}, count = 1 << LEVELS;
    float       *values = t_malloc((size_t)count * sizeof(*values));
    MPI_Datatype type;

    MPI_Type_dup(MPI_FLOAT, &type);
    for (int level = 0; level < LEVELS; level++) {
        MPI_Datatype       before_it = type;
        const MPI_Datatype types[2]  = {type, type};
        const MPI_Aint     places[2] = {0, (MPI_Aint)sizeof(float) << level};

        MPI_Type_create_struct(2, two, places, types, &type);
        MPI_Type_free(&before_it);
    }
    MPI_Type_commit(&type);
    for (int root = 0; root < t_size; root++) {
        for (int i = 0; i < count; i++) {
            values[i] = t_rank == root ? value(root, 0, i) : 100.0f;
        }
        T_OK(MPI_Bcast(values, 1, type, root, MPI_COMM_WORLD));
        check(values, 1, root, value_for_first);
    }
    MPI_Type_free(&type);
    free(values);
}

/* ---- the status of requests
 * -------------------------------------------------------------------- */

#define REQUESTS 5

typedef int all_fn(int, const MPI_Request[], int *, MPI_Status[]);
typedef int any_fn(int, const MPI_Request[], int *, int *, MPI_Status *);
typedef int some_fn(int, const MPI_Request[], int *, int[], MPI_Status[]);

static float       gathered[REQUESTS][N * T_RANKS_MAX];
static MPI_Request requests[REQUESTS];

static void check_gathered(int k)
{
    for (int r = 0; r < t_size; r++) {
        check(gathered[k] + r * N, 1, r, value_for_first);
    }
}

static void begin_gathers(const char *name)
{
    t_note("%s", name);
    memset(gathered, 0, sizeof(gathered));
    for (int i = 0; i < N; i++) {
        room[0][i] = value(t_rank, 0, i);
    }
    for (int k = 0; k < REQUESTS; k++) {
        T_OK(MPI_Iallgather(room[0], N, MPI_FLOAT, gathered[k], N, MPI_FLOAT, MPI_COMM_WORLD,
                            &requests[k]));
    }
}

/* All is there before MPI_Wait, and still is after it. */
static void end_gathers(void)
{
    T_OK(MPI_Waitall(REQUESTS, requests, MPI_STATUSES_IGNORE));
    for (int k = 0; k < REQUESTS; k++) {
        check_gathered(k);
    }
}

static void ask_all(all_fn *call)
{
    int flag = 0;

    begin_gathers("MPI_Request_get_status_all");
    while (!flag) {
        T_OK(call(REQUESTS, requests, &flag, MPI_STATUSES_IGNORE));
    }
    for (int k = 0; k < REQUESTS; k++) {
        check_gathered(k);
    }
    end_gathers();
}

static void ask_any(any_fn *call)
{
    begin_gathers("MPI_Request_get_status_any");
    for (int open = 0; open < REQUESTS; open++) {
        int flag = 0, index = MPI_UNDEFINED;

        while (!flag) {
            T_OK(call(REQUESTS, requests, &index, &flag, MPI_STATUS_IGNORE));
        }
        check_gathered(index);
        T_OK(MPI_Wait(&requests[index], MPI_STATUS_IGNORE));
    }
    end_gathers();
}

static void ask_some(some_fn *call)
{
    int count = 0, indices[REQUESTS];

    begin_gathers("MPI_Request_get_status_some");
    while (count < REQUESTS) {
        T_OK(call(REQUESTS, requests, &count, indices, MPI_STATUSES_IGNORE));
        for (int i = 0; i < count; i++) {
            check_gathered(indices[i]);
        }
    }
    end_gathers();
}

static void asked(void)
{
    const char *preload = getenv("LD_PRELOAD");
    all_fn     *all     = NULL;
    any_fn     *any     = NULL;
    some_fn    *some    = NULL;

    if (preload == NULL || strstr(preload, "between.so") == NULL) {
        return;
    }
    *(void **)&all  = dlsym(RTLD_DEFAULT, "MPI_Request_get_status_all");
    *(void **)&any  = dlsym(RTLD_DEFAULT, "MPI_Request_get_status_any");
    *(void **)&some = dlsym(RTLD_DEFAULT, "MPI_Request_get_status_some");
    ask_all(all);
    ask_any(any);
    ask_some(some);
}

static const t_case_t cases[] = {
    {"equal pointers: nothing sent or received", no_data, 2},
    {"little to send, on one rank", little_data, 2},
    {"equal pointers: an empty share", no_share, 2},
    {"equal pointers: types that interleave", interleaved, 2},
    {"one signature, two types", pairs, 2},
    {"attributes of types", attributes, 2},
    {"control leaves MPI", left, 2},
    {"types in types", nested, 1},
    {"the status of requests", asked, 2},
};

T_MAIN(cases)
