/* SPDX-License-Identifier: BSD-3-Clause
 * tests/transport/bind.c - places and devices of a communicator's ranks, on a made-up machine: who
 * takes which device, what each rank says where one cannot be had, and that nobody is left waiting.
 */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/transport/made_up.h"

/* All see all: rank r has GPU r. A number is a number, and auto by the setting does not move
 * again. */
static void all_see_all(void)
{
    tw_context_t *ctx;
    tw_comm_t    *comm   = open_comm(&ctx);
    int           device = -7;

    T_OK(tw_comm_bind_device(comm, TW_BIND_NONE, &device, NULL, 0));
    t_expect("none", (uint64_t)device, (uint64_t)-1);
    t_expect("nothing current", (uint64_t)made_current, (uint64_t)-1);
    T_OK(tw_comm_bind_device(comm, TW_BIND_SETTING, &device, NULL, 0)); /* its default */
    t_expect("none", (uint64_t)device, (uint64_t)-1);
    T_OK(tw_comm_bind_device(comm, TW_BIND_AUTO, &device, NULL, 0));
    t_expect("auto", (uint64_t)device, (uint64_t)t_rank % 8);
    expect_place(comm, t_rank % 8, t_rank % 8);
    T_OK(tw_comm_bind_device(comm, (t_rank + 5) % 8, &device, NULL, 0));
    expect_place(comm, (t_rank + 5) % 8, (t_rank + 5) % 8);
    setenv("THINWIRE_DEVICE", "auto", 1);
    T_OK(tw_comm_bind_device(comm, TW_BIND_SETTING, &device, NULL, 0));
    unsetenv("THINWIRE_DEVICE");
    expect_place(comm, (t_rank + 5) % 8, (t_rank + 5) % 8);
    t_expect("lines", (uint64_t)lines, 0);
    T_STATUS(tw_comm_bind_device(comm, -5, &device, NULL, 0), TW_ERR_INVALID_ARG);
    T_STATUS(tw_comm_bind_device(comm, 0, &device, NULL, 1), TW_ERR_INVALID_ARG);
    T_STATUS(tw_comm_bind_device(comm, 0, NULL, NULL, 0), TW_ERR_INVALID_ARG);
    T_STATUS(tw_comm_bind_device(NULL, 0, &device, NULL, 0), TW_ERR_INVALID_ARG);
    T_STATUS(tw_comm_place(comm, NULL, NULL), TW_ERR_INVALID_ARG);
    close_comm(comm, ctx);
}

/* A launcher gave each rank a device cgroup of its own: all call their GPU device 0. */
static void own_device_each(void)
{
    tw_context_t *ctx;
    tw_comm_t    *comm   = open_comm(&ctx);
    const int     gpu    = (3 * t_rank + 2) % 8;
    int           device = -7;

    made_count  = 1;
    made_bus[0] = s4_bus[gpu];
    T_OK(tw_comm_bind_device(comm, TW_BIND_AUTO, &device, NULL, 0));
    t_expect("device", (uint64_t)device, 0);
    expect_place(comm, 0, gpu);
    close_comm(comm, ctx);
}

/* Fewer devices than ranks: in turn, with a warning. Then devices that no map shows. */
static void fewer_devices(void)
{
    tw_context_t *ctx;
    tw_comm_t    *comm   = open_comm(&ctx);
    int           device = -7;

    made_count = 2;
    T_OK(tw_comm_bind_device(comm, TW_BIND_AUTO, &device, NULL, 0));
    expect_place(comm, t_rank % 2, t_rank % 2);
    t_expect("lines", t_over_all((uint64_t)lines), t_size > 2);
    made_bus[0] = "000a:00:00.0";
    made_bus[1] = NULL;
    T_OK(tw_comm_bind_device(comm, TW_BIND_AUTO, &device, NULL, 0));
    expect_place(comm, t_rank % 2, -1);
    close_comm(comm, ctx);
}

/* One rank asks for what is not there: all leave, it alone says why, and no device is handed
 * out. */
static void one_rank_wrong(void)
{
    tw_context_t *ctx;
    tw_comm_t    *comm   = open_comm(&ctx);
    int           device = -7;

    made_count = 4;
    T_STATUS(tw_comm_bind_device(comm, t_rank == t_size - 1 ? 7 : TW_BIND_AUTO, &device, NULL, 0),
             TW_ERR_RANGE);
    t_expect("device", (uint64_t)device, (uint64_t)-7);
    t_expect("lines", (uint64_t)lines, t_rank == t_size - 1);
    if (t_rank == t_size - 1) {
        t_expect("what is accepted",
                 strstr(last, "device 7: this rank has 4 devices; accepted: auto, 0 to 3") != NULL,
                 1);
    }
    setenv("THINWIRE_DEVICE", "7", 1);
    T_STATUS(tw_comm_bind_device(comm, TW_BIND_SETTING, &device, NULL, 0), TW_ERR_SETTING);
    unsetenv("THINWIRE_DEVICE");
    t_expect("the setting", strstr(last, "THINWIRE_DEVICE=7: this rank has 4") != NULL, 1);
    T_OK(tw_comm_status(comm));
    close_comm(comm, ctx);
}

/* No driver on rank 0: a number fails everywhere, auto goes on there without a device. */
static void no_driver(void)
{
    tw_context_t *ctx;
    tw_comm_t    *comm   = open_comm(&ctx);
    int           device = -7;

    made_problem = t_rank == 0 ? "the driver is too old" : NULL;
    T_STATUS(tw_comm_bind_device(comm, 0, &device, NULL, 0), TW_ERR_UNSUPPORTED);
    t_expect("lines", (uint64_t)lines, t_rank == 0);
    t_expect("nothing current", (uint64_t)made_current, (uint64_t)-1);
    lines = 0;
    T_OK(tw_comm_bind_device(comm, TW_BIND_AUTO, &device, NULL, 0));
    t_expect("device", device >= 0, t_rank > 0);
    t_expect("current", (uint64_t)made_current, (uint64_t)device);
    t_expect("lines", (uint64_t)lines, t_rank == 0);
    if (t_rank == 0) {
        t_expect("says so", strstr(last, "too old; computing on the processor") != NULL, 1);
    }
    close_comm(comm, ctx);
}

/* The device is another process's: the one before stays on all ranks, and none is handed out. */
static void busy(void)
{
    tw_context_t *ctx;
    tw_comm_t    *comm   = open_comm(&ctx);
    int           device = -7;

    made_current = 5;
    made_busy    = t_rank == 0 ? 0 : -1;
    T_STATUS(tw_comm_bind_device(comm, 0, &device, NULL, 0), TW_ERR_BUSY);
    t_expect("device", (uint64_t)device, (uint64_t)-7);
    t_expect("current", (uint64_t)made_current, 5);
    t_expect("lines", t_over_all((uint64_t)(t_rank == 0 && strstr(last, "busy") != NULL)), 1);
    made_busy  = -1;
    made_stuck = t_rank == t_size - 1 ? 3 : -1;
    T_STATUS(tw_comm_bind_device(comm, 3, &device, NULL, 0), TW_ERR_IO);
    t_expect("current", (uint64_t)made_current, 5);
    made_stuck = -1;
    made_busy  = t_rank == 0 ? 0 : -1;
    lines      = 0;
    T_OK(tw_comm_bind_device(comm, TW_BIND_AUTO, &device, NULL, 0));
    t_expect("device", (uint64_t)device, (uint64_t)(t_rank == 0 ? -1 : t_rank));
    t_expect("current", (uint64_t)made_current, (uint64_t)(t_rank == 0 ? 5 : t_rank));
    t_expect("lines", (uint64_t)lines, t_rank == 0);
    close_comm(comm, ctx);
}

/* All or none: where one has none, or one that is busy, nobody has one, and all know why. Who asked
 * for a number, or for what there is, has it all the same. */
static void alike(void)
{
    tw_context_t *ctx;
    tw_comm_t    *comm             = open_comm(&ctx);
    const int     last_rank        = t_size - 1;
    char          why[TW_BIND_WHY] = "x", want[64];
    int           device           = -7;

    T_OK(tw_comm_bind_device(comm, TW_BIND_ALIKE, &device, why, sizeof(why)));
    t_expect("device", (uint64_t)device, (uint64_t)t_rank);
    t_expect("no reason", (uint64_t)why[0], 0);
    made_current = 5;
    made_started = 0;
    made_problem = t_rank == last_rank ? "the driver is too old" : NULL;
    snprintf(want, sizeof(want), "rank %d: the driver is too old", last_rank);
    T_OK(tw_comm_bind_device(comm, TW_BIND_ALIKE, &device, why, sizeof(why)));
    t_expect("device", (uint64_t)device, (uint64_t)-1);
    t_expect("the reason", strcmp(why, want) == 0, 1);
    t_expect("nothing started", (uint64_t)made_started, 0);
    made_problem = NULL;
    made_busy    = t_rank == last_rank ? last_rank : -1;
    snprintf(want, sizeof(want), "rank %d: device %d is busy", last_rank, last_rank);
    T_OK(tw_comm_bind_device(comm, TW_BIND_ALIKE, &device, why, sizeof(why)));
    t_expect("device", (uint64_t)device, (uint64_t)-1);
    t_expect("the reason", strcmp(why, want) == 0, 1);
    t_expect("current", (uint64_t)made_current, 5);
    T_OK(tw_comm_bind_device(comm, t_rank == 0 ? TW_BIND_AUTO : TW_BIND_ALIKE, &device, why, 5));
    t_expect("device", device >= 0, t_rank == 0 && t_size > 1);
    t_expect("the reason, cut", strlen(why), t_rank == 0 && t_size > 1 ? 0 : 4);
    t_expect("lines", (uint64_t)lines, t_size == 1);
    close_comm(comm, ctx);
}

static const char *const launcher[][2] = {
    {"OMPI_COMM_WORLD_LOCAL_RANK", "OMPI_COMM_WORLD_LOCAL_SIZE"},
    {"MPI_LOCALRANKID", "MPI_LOCALNRANKS"},
    {"SLURM_LOCALID", "SLURM_STEP_TASKS_PER_NODE"}};

/* The launcher says nothing of this machine's ranks; rank >= 0: it is Slurm, and says that. */
static void launched_by(int rank, int ranks)
{
    char number[32], tasks[64];

    for (size_t i = 0; i < sizeof(launcher) / sizeof(launcher[0]); i++) {
        unsetenv(launcher[i][0]);
        unsetenv(launcher[i][1]);
    }
    if (rank >= 0) {
        snprintf(number, sizeof(number), "%d", rank);
        snprintf(tasks, sizeof(tasks), "7,2(x3),%d", ranks);
        setenv("SLURM_NODEID", "4", 1);
        setenv("SLURM_LOCALID", number, 1);
        setenv("SLURM_STEP_TASKS_PER_NODE", tasks, 1);
    }
}

/* Every second rank has a communicator of its own with the others of its kind, in the other order:
 * what one of them takes, the other one knows. */
static void take_halves(int lines_each)
{
    MPI_Comm      half;
    tw_context_t *ctx;
    tw_comm_t    *comm;
    int           device = -7, mine, all[T_RANKS_MAX];

    MPI_Comm_split(MPI_COMM_WORLD, t_rank % 2, -t_rank, &half);
    comm = open_over(&ctx, half);
    T_OK(tw_comm_bind_device(comm, TW_BIND_AUTO, &device, NULL, 0));
    t_expect("lines", (uint64_t)lines, lines_each > 0 && tw_comm_rank(comm) == 0);
    if (lines_each == 0) {
        expect_place(comm, t_rank, t_rank);
        mine = device;
        MPI_Allgather(&mine, 1, MPI_INT, all, 1, MPI_INT, MPI_COMM_WORLD);
        for (int r = 0; r < t_size; r++) {
            t_expect("the device of each", (uint64_t)all[r], (uint64_t)r);
        }
    } else {
        t_expect("says so", strstr(last, "others may take the same devices") != NULL,
                 tw_comm_rank(comm) == 0);
    }
    close_comm(comm, ctx);
    MPI_Comm_free(&half);
}

static void part_of_a_node(void)
{
    take_halves(0); /* as mpirun has it */
    launched_by(t_rank, t_size);
    take_halves(0);
    if (t_size >= 4) {
        launched_by(0, t_size); /* two of a half say the same */
        take_halves(1);
    }
    launched_by(-1, 0);
    take_halves(1);
}

/* Ranks see different parts of their machine: each is placed by itself, and does not take the
 * device of another. */
static void parts_of_a_machine(void)
{
    tw_context_t *ctx;
    tw_comm_t    *comm;
    int           device = -7;

    made_machine = t_rank % 2 == 0 ? "s4.xml" : "amd8.xml";
    comm         = open_comm(&ctx);
    T_OK(tw_comm_bind_device(comm, TW_BIND_AUTO, &device, NULL, 0));
    t_expect("device", (uint64_t)device, (uint64_t)t_rank % 8);
    t_expect("lines", (uint64_t)lines, t_rank == 0);
    made_machine = "s4.xml";
    close_comm(comm, ctx);
}

/* A context describes the machine once. */
static void one_map(void)
{
    tw_context_t     *ctx;
    tw_comm_t        *comm  = open_comm(&ctx);
    tw_comm_t        *other = t_comm(ctx, MPI_COMM_WORLD);
    const tw_node_t  *node[2];
    const tw_place_t *place;

    T_OK(tw_comm_place(comm, &node[0], &place));
    T_OK(tw_comm_place(other, &node[1], &place));
    t_expect("one map", node[0] == node[1], 1);
    T_OK(tw_comm_destroy(other));
    t_expect("it stays", (uint64_t)tw_node_count(node[0], TW_PART_GPU), 8);
    close_comm(comm, ctx);
}

/* Who wants none takes none from those who want one. */
static void some_want_none(void)
{
    tw_context_t     *ctx;
    tw_comm_t        *comm   = open_comm(&ctx);
    const tw_place_t *place  = NULL;
    int               device = -7;

    T_OK(
        tw_comm_bind_device(comm, t_rank % 2 == 0 ? TW_BIND_NONE : TW_BIND_AUTO, &device, NULL, 0));
    t_expect("device", (uint64_t)device, (uint64_t)(t_rank % 2 == 0 ? -1 : t_rank / 2));
    T_OK(tw_comm_place(comm, NULL, &place));
    t_expect("device of the place", (uint64_t)place->device, (uint64_t)(t_size == 1 ? 0 : device));
    close_comm(comm, ctx);
}

static const t_case_t cases[] = {
    {"all see all", all_see_all, 1},
    {"own device each", own_device_each, 1},
    {"fewer devices", fewer_devices, 1},
    {"one rank wrong", one_rank_wrong, 1},
    {"no driver", no_driver, 1},
    {"busy", busy, 1},
    {"all or none", alike, 1},
    {"some want none", some_want_none, 1},
    {"order of messages", order_of_messages, 2},
    {"near networks", near_networks, 1},
    {"one map", one_map, 1},
    {"parts of a machine", parts_of_a_machine, 2},
    {"part of a node", part_of_a_node, 2}, /* the last: what the launcher said is gone */
};

T_MAIN(cases)
