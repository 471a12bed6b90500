/* SPDX-License-Identifier: BSD-3-Clause
 * interpose/start.c - what MPI_Init sets up and MPI_Finalize takes down.
 */
#include "config.h"

#include <stdio.h>
#include <unistd.h>

#include "interpose/mpi/comms.h"
#include "interpose/mpi/device.h"
#include "interpose/finish.h"
#include "interpose/next.h"
#include "interpose/mpi/pending.h"
#include "interpose/report/python.h"
#include "interpose/report/report_parts.h"
#include "interpose/state.h"
#include "interpose/record/recording.h"
#include "interpose/mpi/two_stage.h"
#include "interpose/mpi/types.h"
#include "runtime/base/clock.h"

#define TW_POOL_GETS 256 /* buffers asked for, until memory that they could not use goes back */

/* A communicator of the same ranks, without the attributes of the program, whose copy and delete
 * functions are none of our business. */
static int tw_state_duplicate(MPI_Comm comm, MPI_Comm *newcomm)
{
    int rank = 0;

    tw_next.Comm_rank(comm, &rank);
    return tw_next.Comm_split(comm, 0, rank, newcomm);
}

static void tw_state_ops(void)
{
#define X(name) .name = tw_next.name,
    tw_state.ops      = (tw_mpi_ops_t){TW_MPI_OPS(X)};
#undef X
    tw_state.ops.Comm_dup = tw_state_duplicate;
    tw_state.ops.Testall  = tw_next.Testall;
    tw_state.ops.Testsome = tw_next.Testsome;
}

static void tw_state_step_aside(void)
{
    char version[128];

    tw_format_library(version, sizeof(version), tw_mpi_version());
    if (tw_context_init(&tw_state.context) != TW_OK || tw_state.context.log.rank <= 0) {
        fprintf(stderr,
                "thinwire: this preload library is for %s, the program runs over %s; nothing is "
                "compressed\n",
                tw_late_family, version);
    }
}

/* The settings are wrong on some rank: said already. All ranks end, with no help from the program.
 */
static void tw_state_refuse(void)
{
    fflush(NULL);
    tw_next.Finalize();
    _exit(2);
}

void tw_state_start(void)
{
    tw_returning_t returning;
    tw_status_t    status;
    int            provided = MPI_THREAD_SINGLE;

    tw_state.start_ns = tw_clock_ns();
    if (!tw_fits) {
        tw_state_step_aside();
        return;
    }
    tw_next.Comm_rank(MPI_COMM_WORLD, &tw_state.rank);
    tw_next.Comm_size(MPI_COMM_WORLD, &tw_state.size);
    tw_pool_init(&tw_state.pool);
    tw_state.pool.window = TW_POOL_GETS;
    tw_state_ops();
    tw_next.Type_contiguous(TW_UNIT, MPI_BYTE, &tw_state.unit);
    tw_next.Type_commit(&tw_state.unit);
    tw_types_start();
    tw_comms_info_start();
    tw_errors_return(&returning);
    status = tw_state_settings();
    tw_errors_restore(&returning);
    if (status != TW_OK) {
        tw_state_refuse();
    }
    tw_next.Query_thread(&provided);
    tw_state.multiple = provided == MPI_THREAD_MULTIPLE;
    if (tw_state.codecs) {
        tw_two_stage_start();
        if (tw_state.multiple) {
            tw_state_quiet(); /* later it may wait for another thread's MPI_Comm_dup */
        }
    }
    tw_python_start();
    tw_recording_begin();
    tw_state.seen++; /* MPI_Init itself: something was intercepted */
    __atomic_store_n(&tw_active, true, __ATOMIC_RELEASE);
}

void tw_state_stop(void)
{
    if (!tw_active) {
        return;
    }
    tw_recording_end();
    tw_finish_report();
    __atomic_store_n(&tw_active, false, __ATOMIC_RELEASE);
    tw_two_stage_stop();
    tw_comms_stop();
    tw_types_stop();
    tw_comms_info_stop();
    tw_next.Type_free(&tw_state.unit);
    if (!tw_pending_any()) { /* else these are needed when their requests end */
        tw_devices_stop();
        tw_state_quiet_free();
    }
}
