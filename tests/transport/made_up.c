/* SPDX-License-Identifier: BSD-3-Clause
 * tests/transport/made_up.c - see made_up.h.
 */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/transport/comm/comm.h"
#include "runtime/transport/device/device.h"
#include "tests/transport/made_up.h"

/* ---- the table ------------------------------------------------------------------------------- */

int         made_count, made_busy = -1, made_current, made_started, made_stuck = -1;
const char *made_bus[16], *made_problem, *made_machine = "s4.xml";

static tw_status_t made_up_count(int *count_p, char *why, size_t size)
{
    if (made_problem != NULL) {
        snprintf(why, size, "%s", made_problem);
        return TW_ERR_UNSUPPORTED;
    }
    *count_p = made_count;
    return TW_OK;
}

static tw_status_t made_up_bus(int device, char *text, size_t size)
{
    if (made_bus[device] == NULL) {
        return TW_ERR_IO;
    }
    snprintf(text, size, "%s", made_bus[device]);
    return TW_OK;
}

static tw_status_t made_up_start(int device, char *why, size_t size)
{
    if (device < 0 || device >= made_count || device == made_busy) {
        snprintf(why, size, "device %d is busy", device);
        return TW_ERR_BUSY;
    }
    made_started |= 1 << device;
    return TW_OK;
}

static tw_status_t made_up_current(int *device_p)
{
    *device_p = made_current;
    return made_current >= 0 ? TW_OK : TW_ERR_UNSUPPORTED;
}

static tw_status_t made_up_use(int device, int *before_p)
{
    if (device == made_stuck) {
        return TW_ERR_IO;
    }
    if (before_p != NULL) {
        *before_p = device != made_current ? made_current : -1;
    }
    made_current = device;
    return TW_OK;
}

static bool made_up_owns(const void *p, const void *q)
{
    (void)p;
    (void)q;
    return false;
}

static const tw_device_ops_t made_up = {.name    = "made up",
                                        .count   = made_up_count,
                                        .bus     = made_up_bus,
                                        .start   = made_up_start,
                                        .current = made_up_current,
                                        .use     = made_up_use,
                                        .owns    = made_up_owns};

const tw_device_ops_t *made_table = &made_up;

/* ---- communicators --------------------------------------------------------------------------- */

const char *const s4_bus[] = {"0000:03:00.0", "0000:04:00.0", "0000:05:00.0", "0000:06:00.0",
                              "0000:83:00.0", "0000:84:00.0", "0000:85:00.0", "0000:86:00.0"};

int  lines;
char last[512];

static void keep_line(void *arg, tw_log_level_t level, int rank, const char *line)
{
    (void)arg;
    (void)rank;
    if (level <= TW_LOG_WARN) {
        lines++;
        snprintf(last, sizeof(last), "%s", line);
    }
}

tw_comm_t *open_over(tw_context_t **ctx_p, MPI_Comm parent)
{
    char       path[4096];
    tw_comm_t *comm;

    snprintf(path, sizeof(path), "%s/tests/topology/%s", getenv("top_srcdir"), made_machine);
    setenv("HWLOC_XMLFILE", made_machine[0] == '/' ? made_machine : path, 1);
    T_OK(tw_context_create(ctx_p));
    T_OK(tw_context_set_log(*ctx_p, keep_line, NULL));
    comm              = t_comm(*ctx_p, parent);
    comm->device->ops = made_table;
    made_count        = 8;
    made_problem      = NULL;
    made_busy         = -1;
    made_current      = -1;
    made_started      = 0;
    made_stuck        = -1;
    memcpy(made_bus, s4_bus, sizeof(s4_bus));
    lines   = 0;
    last[0] = '\0';
    return comm;
}

tw_comm_t *open_comm(tw_context_t **ctx_p)
{
    return open_over(ctx_p, MPI_COMM_WORLD);
}

void close_comm(tw_comm_t *comm, tw_context_t *ctx)
{
    t_comm_done(comm, ctx);
    unsetenv("HWLOC_XMLFILE");
}

void expect_place(tw_comm_t *comm, int device, int gpu)
{
    const tw_node_t  *node  = NULL;
    const tw_place_t *place = NULL;

    T_OK(tw_comm_place(comm, &node, &place));
    t_expect("current device", (uint64_t)made_current, (uint64_t)device);
    t_expect("device of the place", (uint64_t)place->device, (uint64_t)device);
    t_expect("GPU of the place", (uint64_t)place->gpu, (uint64_t)gpu);
    t_expect("GPUs of the machine", (uint64_t)tw_node_count(node, TW_PART_GPU), 8);
}
