/* SPDX-License-Identifier: BSD-3-Clause
 * interpose/mpi/lifecycle.c - when MPI ends the job, when a communicator goes, and when MPI was
 * never there.
 */
#include "config.h"

#include <limits.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "interpose/mpi/comms.h"
#include "interpose/finish.h"
#include "interpose/mpi/lifecycle.h"
#include "interpose/next.h"
#include "interpose/state.h"
#include "interpose/record/recording.h"
#include "interpose/mpi/wrap.h"

void tw_about_to_abort(bool by_program, int error)
{
    if (tw_active && !__atomic_exchange_n(&tw_state.aborting, true, __ATOMIC_RELAXED)) {
        tw_finish_aborted(by_program, error);
    }
}

/* Where MPI's own error handler, MPI_ERRORS_ARE_FATAL, ends the job, no MPI_ function is called
 * that could be wrapped. An error handler of ours instead would be seen by the program. Both
 * families come through a function of their library that is called by its name, so that it can be
 * wrapped: Open MPI when it gives up, for whatever reason; MPICH for every error that a function on
 * a communicator is about to return, so that it takes a look at which handler is in force. */
#ifdef OPEN_MPI
TW_EXPORT int ompi_mpi_abort(void *comm, int error);
TW_EXPORT int ompi_mpi_abort(void *comm, int error)
{
    int (*next)(void *, int) = NULL;

    *(void **)&next = tw_late_symbol("ompi_mpi_abort");
    tw_about_to_abort(false, error);
    return next(comm, error);
}
#else
#define TW_MPICH_KIND      0x3c000000u /* of a handle: what it is a handle of */
#define TW_MPICH_KIND_COMM 0x04000000u

/* The object of a communicator begins with its handle; no object stands for MPI_COMM_WORLD. */
static bool tw_error_is_fatal(const void *object)
{
    MPI_Comm       comm    = MPI_COMM_WORLD;
    MPI_Errhandler handler = MPI_ERRHANDLER_NULL;
    bool           fatal;

    if (object != NULL) {
        memcpy(&comm, object, sizeof(comm));
        if (((unsigned)comm & TW_MPICH_KIND) != TW_MPICH_KIND_COMM) {
            return false;
        }
    }
    if (tw_next.Comm_get_errhandler(comm, &handler) != MPI_SUCCESS) {
        return false;
    }
    fatal = handler == MPI_ERRORS_ARE_FATAL;
    tw_next.Errhandler_free(&handler);
    return fatal;
}

TW_EXPORT int MPIR_Err_return_comm(void *comm, const char function[], int error);
TW_EXPORT int MPIR_Err_return_comm(void *comm, const char function[], int error)
{
    static _Thread_local bool looking; /* what is called here may fail, and come here */
    int (*next)(void *, const char *, int) = NULL;

    *(void **)&next = tw_late_symbol("MPIR_Err_return_comm");
    /* Under MPI_THREAD_MULTIPLE the function that has failed holds a lock that the look would
     * take. */
    if (error != MPI_SUCCESS && tw_active && !looking && !tw_state.multiple) {
        looking = true;
        if (tw_error_is_fatal(comm)) {
            tw_about_to_abort(false, error);
        }
        looking = false;
    }
    return next(comm, function, error);
}
#endif

void tw_about_to_free(const MPI_Comm *comm)
{
    /* A communicator that MPI would refuse to free is left alone. */
    if (tw_active && comm != NULL && *comm != MPI_COMM_NULL && *comm != MPI_COMM_WORLD &&
        *comm != MPI_COMM_SELF) {
        tw_comms_forget(*comm);
    }
}

/* By its file's name: a library that is looked into is opened, which is too late when the process
 * ends. */
static int tw_mpi_library(struct dl_phdr_info *info, size_t size, void *name)
{
    (void)size;
    if (info->dlpi_name == NULL || strstr(info->dlpi_name, "/libmpi") == NULL) {
        return 0;
    }
    snprintf(name, PATH_MAX, "%s", info->dlpi_name);
    return 1;
}

/* A recorded program has not called MPI_Finalize: say so.
 * The process that `thinwire run` became ends, and no MPI function has come by: say so, or the user
 * would believe that it was watched. Its children, and programs that were started without `thinwire
 * run`, say nothing. */
__attribute__((destructor)) static void tw_nothing_seen(void)
{
    const char  *pid = getenv(TW_RUN_PID);
    tw_context_t context;
    char         library[PATH_MAX];

    if (tw_state.rank == 0 && tw_recording_unfinished()) {
        fprintf(stderr,
                "thinwire: the job %s is not written: the program ended without MPI_Finalize\n",
                tw_state.config.record);
    }
    if (tw_state.start_ns != 0 || pid == NULL || atol(pid) != (long)getpid() ||
        (tw_context_init(&context) == TW_OK && context.log.rank > 0)) {
        return;
    }
    if (dl_iterate_phdr(tw_mpi_library, library) != 0) {
        fprintf(stderr,
                "thinwire: NOTHING WAS INTERCEPTED: this program has loaded %s and called none of "
                "its functions by name (does it ask that library for their addresses, by dlopen "
                "and dlsym, as Julia and some plug-ins do? they cannot be intercepted)\n",
                library);
        return;
    }
    fprintf(stderr,
            "thinwire: NOTHING WAS INTERCEPTED: this program called no MPI function of a shared "
            "library (is MPI linked statically? is it a script, whose programs speak for "
            "themselves?)\n");
}
