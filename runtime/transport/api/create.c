/* SPDX-License-Identifier: BSD-3-Clause
 * transport/api/create.c - communicators of programs that call the library, with binding and a
 * progress thread where requested.
 */
#include "config.h"

#include "runtime/transport/api/open.h"
#include "runtime/transport/bind/bind.h"
#include "runtime/transport/comm/comm.h"
#include "runtime/transport/comm/progress_thread.h"
#include "runtime/transport/comm/mpi_ops.h"

/* Called when the attribute is deleted. */
static int tw_comm_thread_end(MPI_Comm self, int key, void *value, void *extra)
{
    tw_comm_t *comm = value;

    (void)self;
    (void)key;
    (void)extra;
    comm->thread_release = NULL;
    tw_progress_thread_stop(comm);
    return MPI_SUCCESS;
}

static void tw_comm_thread_release(tw_comm_t *comm)
{
    MPI_Comm_delete_attr(MPI_COMM_SELF, comm->thread_key);
    MPI_Comm_free_keyval(&comm->thread_key);
}

/* MPI_Finalize deletes the attributes of MPI_COMM_SELF before all else: the thread, which calls
 * MPI, ends there, whatever is under way. */
static bool tw_comm_thread_until_finalize(tw_comm_t *comm)
{
    if (comm->thread_release != NULL) {
        return true;
    }
    if (MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, tw_comm_thread_end, &comm->thread_key,
                               NULL) != MPI_SUCCESS) {
        return false;
    }
    if (MPI_Comm_set_attr(MPI_COMM_SELF, comm->thread_key, comm) != MPI_SUCCESS) {
        MPI_Comm_free_keyval(&comm->thread_key);
        return false;
    }
    comm->thread_release = tw_comm_thread_release;
    return true;
}

static tw_status_t tw_comm_thread(tw_comm_t *comm, const char **why_p)
{
    int level = MPI_THREAD_SINGLE;

    MPI_Query_thread(&level);
    if (level != MPI_THREAD_MULTIPLE) {
        *why_p = "MPI was not initialised with MPI_THREAD_MULTIPLE";
        return TW_ERR_UNSUPPORTED;
    }
    *why_p = "no thread can be started";
    return tw_comm_thread_until_finalize(comm) && tw_progress_thread_start(comm, true)
               ? TW_OK
               : TW_ERR_NO_MEMORY;
}

tw_status_t tw_comm_start_progress(tw_comm_t *comm)
{
    const char *why = NULL;
    tw_status_t status;

    if (comm == NULL) {
        return TW_ERR_INVALID_ARG;
    }
    status = tw_comm_thread(comm, &why);
    if (status != TW_OK) {
        TW_ERROR(&comm->log, "no progress thread: %s", why);
    }
    return status;
}

/* THINWIRE_PROGRESS=thread. Without one everything works, later: ranks may differ in it. */
static void tw_comm_thread_if_wanted(tw_comm_t *comm)
{
    const char *why = NULL;

    if (comm->config.progress == TW_PROGRESS_THREAD && tw_comm_thread(comm, &why) != TW_OK) {
        tw_log_write(&comm->log, comm->rank == 0 ? TW_LOG_WARN : TW_LOG_INFO,
                     "THINWIRE_PROGRESS=thread: %s; going on without", why);
    }
}

tw_status_t tw_comm_create(tw_context_t *ctx, MPI_Comm parent, tw_comm_t **comm_p)
{
    tw_comm_t  *comm;
    tw_status_t status;
    int         initialised = 0;

    tw_mpi_default.Initialized(&initialised);
    if (!initialised || comm_p == NULL) {
        return TW_ERR_INVALID_ARG;
    }
    status = tw_comm_open(ctx, &tw_mpi_default, parent, tw_comm_bind, &comm);
    if (status == TW_OK) {
        tw_comm_thread_if_wanted(comm);
        *comm_p = comm;
    }
    return status;
}
