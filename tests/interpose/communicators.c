/* SPDX-License-Identifier: BSD-3-Clause
 * tests/interpose/communicators.c - communicators made, used and freed by the thousand: neither
 * memory nor communicators may be lost.
 */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "tests/interpose/job.h"

#define ALIVE      60
#define GROWTH_MIB 4 /* in the second half of a case */

/* A thousand, or enough to see any that is lost, where memory is not the question. */
static int times_wanted(void)
{
    return t_thin() > 2 ? 200 : 1000;
}

static t_call_t some_call(t_op_t op, t_form_t form)
{
    return (t_call_t){.op    = op,
                      .form  = form,
                      .send  = &t_layouts[T_L_FLOAT],
                      .recv  = &t_layouts[T_L_FLOAT],
                      .unit  = 1,
                      .units = 600,
                      .seed  = t_next_seed()};
}

/* Memory that is in use, in KiB; 0 where it cannot be told: sanitizers keep what is freed. */
static long resident(void)
{
#if !defined(__SANITIZE_ADDRESS__)
    FILE *status = fopen("/proc/self/statm", "r");
    long  total, pages;

    if (status != NULL) {
        const int n = fscanf(status, "%ld %ld", &total, &pages);

        fclose(status);
        return n == 2 ? pages * (sysconf(_SC_PAGESIZE) / 1024) : 0;
    }
#endif
    return 0;
}

static void check_growth(long before)
{
    const long now = resident();

    T_CHECK(before == 0 || now - before < GROWTH_MIB * 1024, "memory grew from %ld to %ld KiB",
            before, now);
}

/* About how many communicators there are. Both libraries number them by a table whose free places
 * are used again, the lowest first: of three new ones at least two lie above any that were lost. */
static int communicators(void)
{
    MPI_Comm comms[3];
    int      highest = 0;

    for (int i = 0; i < 3; i++) {
        MPI_Comm_dup(MPI_COMM_SELF, &comms[i]);
        if ((int)(MPI_Comm_c2f(comms[i]) & 0x3ffff) > highest) {
            highest = (int)(MPI_Comm_c2f(comms[i]) & 0x3ffff);
        }
    }
    for (int i = 0; i < 3; i++) {
        MPI_Comm_free(&comms[i]);
    }
    return highest;
}

/* Each communicator of the program may have one duplicate of the drop-in's. */
static void check_number(int before, int alive)
{
    const int now = communicators();

#ifdef MPICH_NUMVERSION
    if (alive > 1) { /* freed places are used again, but not the lowest first */
        return;
    }
#endif
    T_CHECK(now <= before + 8 + alive, "the highest number of a communicator is %d, and was %d",
            now, before);
}

static MPI_Comm make(int i)
{
    MPI_Comm    comm = MPI_COMM_NULL;
    MPI_Request request;
    MPI_Info    info;

    switch (i % 5) {
    case 0:
        T_OK(MPI_Comm_dup(MPI_COMM_WORLD, &comm));
        break;
    case 1:
        T_OK(MPI_Comm_split(MPI_COMM_WORLD, t_rank % 2, -t_rank, &comm));
        break;
    case 2:
        T_OK(MPI_Comm_idup(MPI_COMM_WORLD, &comm, &request));
        T_OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
        break;
    case 3:
        MPI_Info_create(&info);
        MPI_Info_set(info, "host", "any");
        T_OK(MPI_Comm_dup_with_info(MPI_COMM_WORLD, info, &comm));
        MPI_Info_free(&info);
        break;
    default:
        T_OK(MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, t_rank, MPI_INFO_NULL,
                                 &comm));
        break;
    }
    return comm;
}

static void use(MPI_Comm comm, int i)
{
    static const t_op_t ops[] = {T_ALLREDUCE, T_ALLGATHER, T_ALLTOALL, T_BCAST, T_ALLREDUCE};
    const t_place_t     place = t_place(comm, "a communicator of many");
    const t_form_t      form  = i % 4 == 1 ? T_NONBLOCKING : T_BLOCKING;
    const t_call_t      call  = some_call(ops[i / 3 % 5], form);

    t_job_once(&place, &call);
}

static void unmake(MPI_Comm *comm, int i)
{
    T_OK(i % 3 == 0 ? MPI_Comm_disconnect(comm) : MPI_Comm_free(comm));
    T_CHECK(*comm == MPI_COMM_NULL, "a freed communicator is not MPI_COMM_NULL");
}

/* ---- the cases ------------------------------------------------------------------------------- */

static void one_after_the_other(void)
{
    const int times  = times_wanted();
    long      before = 0;
    int       number = 0;

    t_layouts_make();
    for (int i = 0; i < times; i++) {
        MPI_Comm comm = make(i);

        t_note("communicator %d", i);
        if (i == times / 2) {
            before = resident();
            number = communicators();
        }
        if (i % 3 != 2) {
            use(comm, i);
        }
        unmake(&comm, i);
    }
    check_growth(before);
    check_number(number, 1);
    t_layouts_free();
}

/* Many at once, freed in another order than they were made. */
static void many_at_once(void)
{
    MPI_Comm  comms[ALIVE];
    const int times  = times_wanted();
    uint64_t  shared = t_next_seed();
    long      before = 0;
    int       number = 0;

    t_layouts_make();
    for (int i = 0; i < ALIVE; i++) {
        comms[i] = make(i);
        use(comms[i], i);
    }
    for (int i = 0; i < times / 2; i++) {
        const int k = (int)t_below(&shared, ALIVE);

        t_note("communicator %d in place %d", i, k);
        if (i == times / 4) {
            before = resident();
            number = communicators();
        }
        unmake(&comms[k], i);
        comms[k] = make(i);
        use(comms[k], i);
        use(comms[t_below(&shared, ALIVE)], i + 1);
    }
    check_growth(before);
    check_number(number, ALIVE);
    for (int i = 0; i < ALIVE; i++) {
        unmake(&comms[i], i);
    }
    t_layouts_free();
}

/* Freed while a sum is under way on it, in two stages of the drop-in, as there are more than three
 * ranks. Open MPI 4.1 itself crashes in its own nonblocking sums then. */
static void freed_in_use(void)
{
    const int times  = times_wanted() / 10;
    long      before = 0;
    int       number = 0;

    if (t_expectation.kind != T_REPRESENTABLE) {
        return;
    }
    t_layouts_make();
    for (int i = 0; i < times; i++) {
        const t_call_t call    = some_call(T_ALLREDUCE, T_NONBLOCKING);
        MPI_Request    request = MPI_REQUEST_NULL;
        MPI_Comm       comm;
        t_place_t      place;
        t_job_t        job;

        t_note("communicator %d", i);
        if (i == times / 2) {
            before = resident();
            number = communicators();
        }
        T_OK(MPI_Comm_dup(MPI_COMM_WORLD, &comm));
        use(comm, 0); /* a blocking sum */
        place = t_place(comm, "a communicator that is freed");
        t_job_open(&job, &place, &call);
        T_OK(t_job_issue(&job, &request));
        T_OK(MPI_Comm_free(&comm));
        T_OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
        t_job_check(&job, NULL);
        t_job_close(&job);
    }
    check_growth(before);
    check_number(number, 1);
    t_layouts_free();
}

/* ---- what the program hangs on communicators ---------------------------------------------------
 */

static int copies, deletes;

static int on_copy(MPI_Comm comm, int key, void *extra, void *value, void *new_value, int *flag)
{
    (void)comm;
    (void)key;
    (void)extra;
    *(void **)new_value = value;
    *flag               = 1;
    copies++;
    return MPI_SUCCESS;
}

static int on_delete(MPI_Comm comm, int key, void *value, void *extra)
{
    (void)comm;
    (void)key;
    (void)value;
    (void)extra;
    deletes++;
    return MPI_SUCCESS;
}

/* Attributes are copied and deleted as often as the program duplicates and frees. */
static void attributes(void)
{
    MPI_Comm comm, copy;
    int      key, value = 5;

    t_layouts_make();
    copies = deletes = 0;
    MPI_Comm_create_keyval(on_copy, on_delete, &key, NULL);
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    MPI_Comm_set_attr(comm, key, &value);
    for (int i = 0; i < 15; i++) {
        use(comm, i);
    }
    MPI_Comm_dup(comm, &copy);
    use(copy, 0);
    MPI_Comm_free(&copy);
    T_CHECK(copies == 1 && deletes == 1, "%d copies and %d deletions, not one each", copies,
            deletes);
    MPI_Comm_free(&comm);
    T_CHECK(copies == 1 && deletes == 2, "%d copies and %d deletions, not 1 and 2", copies,
            deletes);
    MPI_Comm_free_keyval(&key);
    t_layouts_free();
}

static const t_case_t cases[] = {
    {"a thousand, one after the other", one_after_the_other, 1},
    {"sixty at once", many_at_once, 1},
    {"freed while a sum is under way", freed_in_use, 4},
    {"attributes of the program", attributes, 1},
};

T_MAIN(cases)
