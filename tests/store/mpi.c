/* SPDX-License-Identifier: BSD-3-Clause
 * tests/store/mpi.c - see mpi.h.
 */
#include "config.h"

#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

#include "runtime/base/clock.h"
#include "runtime/base/descriptor.h"
#include "runtime/sockets/world.h"
#include "tests/store/folder.h"

MPI_Comm t_mpi_world;

static int number(const char *name)
{
    const char *value = getenv(name);

    return value != NULL ? atoi(value) : -1;
}

int MPI_Init(int *argc, char ***argv)
{
    const tw_log_t   log   = {.level = TW_LOG_WARN, .rank = number("RANK")};
    const tw_store_t store = t_folder(getenv("TW_STORE"));

    (void)argc;
    (void)argv;
    if (store.user == NULL || tw_world_bootstrap(&log, log.rank, number("WORLD_SIZE"), &store,
                                                 "mpi", "lo", NULL, 0.0, &t_mpi_world) != TW_OK) {
        fprintf(stderr, "RANK, WORLD_SIZE and TW_STORE say nothing useful; see start.sh\n");
        exit(1);
    }
    return MPI_SUCCESS;
}

int MPI_Init_thread(int *argc, char ***argv, int required, int *provided)
{
    *provided = required;
    return MPI_Init(argc, argv);
}

int MPI_Finalize(void)
{
    MPI_Barrier(t_mpi_world);
    return MPI_Comm_free(&t_mpi_world);
}

int MPI_Abort(MPI_Comm comm, int code)
{
    (void)comm;
    exit(code); /* start.sh ends the others */
}

int MPI_Barrier(MPI_Comm comm)
{
    const int mine = 0;
    int       all;

    return MPI_Allreduce(&mine, &all, 1, MPI_INT, MPI_MAX, comm);
}

double MPI_Wtime(void)
{
    return (double)tw_clock_ns() * 1e-9;
}

/* Of one rank, or of the root with each: out to them, or in from them. */
static int rooted(bool sends, void *own, int count, void *all, const int *counts, const int *firsts,
                  MPI_Datatype type, int root, MPI_Comm comm)
{
    MPI_Request requests[65];
    int         started = 0, done = 0, error = MPI_SUCCESS;

    for (int r = 0; r < comm->size && comm->rank == root; r++) {
        uint8_t *at = (uint8_t *)all + (size_t)firsts[r] * tw_mpi_extent(type);

        if (sends) {
            MPI_Isend(at, counts[r], type, r, 1, comm, &requests[started++]);
        } else {
            MPI_Irecv(at, counts[r], type, r, 1, comm, &requests[started++]);
        }
    }
    if (sends) {
        MPI_Irecv(own, count, type, root, 1, comm, &requests[started++]);
    } else {
        MPI_Isend(own, count, type, root, 1, comm, &requests[started++]);
    }
    while (error == MPI_SUCCESS && !done) {
        error = MPI_Testall(started, requests, &done, MPI_STATUSES_IGNORE);
        tw_nap(TW_DESCRIPTOR_NONE);
    }
    return error;
}

int MPI_Gatherv(const void *send, int sends, MPI_Datatype send_type, void *recv, const int counts[],
                const int firsts[], MPI_Datatype type, int root, MPI_Comm comm)
{
    (void)send_type;
    return rooted(false, (void *)(uintptr_t)send, sends, recv, counts, firsts, type, root, comm);
}

int MPI_Scatterv(const void *send, const int counts[], const int firsts[], MPI_Datatype type,
                 void *recv, int count, MPI_Datatype recv_type, int root, MPI_Comm comm)
{
    (void)recv_type;
    return rooted(true, recv, count, (void *)(uintptr_t)send, counts, firsts, type, root, comm);
}
