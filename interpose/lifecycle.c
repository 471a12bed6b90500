/* SPDX-License-Identifier: BSD-3-Clause
 * interpose/lifecycle.c - MPI_Init, MPI_Finalize, MPI_Abort, and communicators that come and go.
 */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "interpose/comms.h"
#include "interpose/finish.h"
#include "interpose/handlers.h"
#include "interpose/lifecycle.h"
#include "interpose/next.h"
#include "interpose/pending.h"
#include "interpose/state.h"

int tw_on_init(const void *site, int *argc, char ***argv)
{
    const int result = tw_next.Init(argc, argv);

    (void)site;
    if (result == MPI_SUCCESS) {
        tw_state_start();
    }
    return result;
}

int tw_on_init_thread(const void *site, int *argc, char ***argv, int required, int *provided)
{
    const int result = tw_next.Init_thread(argc, argv, required, provided);

    (void)site;
    if (result == MPI_SUCCESS) {
        tw_state_start();
    }
    return result;
}

int tw_on_finalize(const void *site)
{
    int result;

    (void)site;
    tw_state_stop();
    result =
        tw_next.Finalize(); /* attributes' delete callbacks may still complete requests of ours */
    tw_pending_drop();
    return result;
}

void tw_about_to_abort(void)
{
    if (tw_active) {
        tw_finish_aborted();
    }
}

int tw_on_abort(const void *site, MPI_Comm comm, int errorcode)
{
    (void)site;
    tw_about_to_abort();
    return tw_next.Abort(comm, errorcode);
}

void tw_about_to_free(MPI_Comm comm)
{
    /* A communicator that MPI would refuse to free is left alone. */
    if (tw_active && comm != MPI_COMM_NULL && comm != MPI_COMM_WORLD && comm != MPI_COMM_SELF) {
        tw_comms_forget(comm);
    }
}

int tw_on_comm_free(const void *site, MPI_Comm *comm)
{
    (void)site;
    if (comm != NULL) {
        tw_about_to_free(*comm);
    }
    return tw_next.Comm_free(comm);
}

int tw_on_comm_disconnect(const void *site, MPI_Comm *comm)
{
    (void)site;
    if (comm != NULL) {
        tw_about_to_free(*comm);
    }
    return tw_next.Comm_disconnect(comm);
}

int tw_on_comm_set_info(const void *site, MPI_Comm comm, MPI_Info info)
{
    const int result = tw_next.Comm_set_info(comm, info);

    (void)site;
    if (result == MPI_SUCCESS) {
        tw_comms_set_info(comm, info);
    }
    return result;
}

int tw_on_comm_dup_with_info(const void *site, MPI_Comm comm, MPI_Info info, MPI_Comm *newcomm)
{
    const int result = tw_next.Comm_dup_with_info(comm, info, newcomm);

    (void)site;
    if (result == MPI_SUCCESS && newcomm != NULL) {
        tw_comms_set_info(*newcomm, info);
    }
    return result;
}

/* The process that `thinwire run` became ends, and no MPI function has come by: say so, or the user
 * would believe that it was watched. Its children, and programs that were started without `thinwire
 * run`, say nothing. */
__attribute__((destructor)) static void tw_nothing_seen(void)
{
    const char  *pid = getenv(TW_RUN_PID);
    tw_context_t context;

    if (tw_state.start_ns != 0 || pid == NULL || atol(pid) != (long)getpid() ||
        (tw_context_init(&context) == TW_OK && context.log.rank > 0)) {
        return;
    }
    fprintf(stderr,
            "thinwire: NOTHING WAS INTERCEPTED: this program called no MPI function of a shared "
            "library (is MPI linked statically? is it a script, whose programs speak for "
            "themselves?)\n");
}
