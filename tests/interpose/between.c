/* SPDX-License-Identifier: BSD-3-Clause
 * tests/interpose/between.c - a tool that stands between the drop-in and the MPI library: preloaded
 * after the drop-in, it is what the drop-in calls. It counts the communicators that the drop-in
 * makes, and how often it asks what a datatype is made of, and says so at the end of the process:
 *
 *     = the drop-in made 2 communicators
 *     = the drop-in opened 20 types
 *     = the drop-in began 0 collectives in MPI_Init without waiting
 *
 * (MPI_Ibcast and MPI_Iallreduce on MPI_COMM_WORLD, which it calls for itself nowhere else.)
 * It has the functions of MPI 4.1 that ask for the status of several requests, for MPI libraries
 * that lack them. Its MPI_Wait takes up to a millisecond after the request is complete, where
 * TW_LATE is set: what other threads do meanwhile, with the handle that is free now, must not
 * matter. Its MPI_Startall takes 5 ms where TW_SLOW is set. In MPI_Alltoall it calls MPI_Allreduce,
 * as MPI libraries and tools do: such inner calls stay as they are, or it ends the job. Where
 * TW_ALIKE is set, MPI_Alltoallv ends it if some ranks give predefined types and others do not: MPI
 * libraries go another way with derived types (Open MPI with UCC), and ranks that go different ways
 * hang.
 */
#include "config.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <mpi.h>

#define EXPORT __attribute__((visibility("default")))

static int made, opened, begun;

/* A call from the drop-in, not from the program or from MPI itself? */
static void tally(const void *site, int *counter)
{
    Dl_info info;

    if (dladdr(site, &info) != 0 && info.dli_fname != NULL &&
        strstr(info.dli_fname, "libthinwire-preload") != NULL) {
        __atomic_fetch_add(counter, 1, __ATOMIC_RELAXED);
    }
}

__attribute__((destructor)) static void say(void)
{
    int initialized = 0;

    PMPI_Initialized(&initialized);
    if (initialized) {
        fprintf(stderr,
                "= the drop-in made %d communicators\n= the drop-in opened %d types\n"
                "= the drop-in began %d collectives in MPI_Init without waiting\n",
                made, opened, begun);
    }
}

EXPORT int MPI_Type_get_contents(MPI_Datatype type, int max_integers, int max_addresses,
                                 int max_types, int integers[], MPI_Aint addresses[],
                                 MPI_Datatype types[])
{
    tally(__builtin_return_address(0), &opened);
    return PMPI_Type_get_contents(type, max_integers, max_addresses, max_types, integers, addresses,
                                  types);
}

EXPORT int MPI_Ibcast(void *buffer, int count, MPI_Datatype type, int root, MPI_Comm comm,
                      MPI_Request *request)
{
    if (comm == MPI_COMM_WORLD) {
        tally(__builtin_return_address(0), &begun);
    }
    return PMPI_Ibcast(buffer, count, type, root, comm, request);
}

EXPORT int MPI_Iallreduce(const void *sendbuf, void *recvbuf, int count, MPI_Datatype type,
                          MPI_Op op, MPI_Comm comm, MPI_Request *request)
{
    if (comm == MPI_COMM_WORLD) {
        tally(__builtin_return_address(0), &begun);
    }
    return PMPI_Iallreduce(sendbuf, recvbuf, count, type, op, comm, request);
}

#define INNER 600

static void inner(MPI_Comm comm)
{
    float in[INNER], got[INNER], want[INNER];

    for (int i = 0; i < INNER; i++) {
        in[i] = 1.0f / (float)(i + 3);
    }
    MPI_Allreduce(in, got, INNER, MPI_FLOAT, MPI_SUM, comm);
    PMPI_Allreduce(in, want, INNER, MPI_FLOAT, MPI_SUM, comm);
    if (memcmp(got, want, sizeof(got)) != 0) {
        fprintf(stderr, "an inner MPI_Allreduce was compressed\n");
        PMPI_Abort(comm, 1);
    }
}

EXPORT int MPI_Alltoall(const void *sendbuf, int sendcount, MPI_Datatype sendtype, void *recvbuf,
                        int recvcount, MPI_Datatype recvtype, MPI_Comm comm)
{
    int inter = 0;

    PMPI_Comm_test_inter(comm, &inter);
    if (!inter) {
        inner(comm);
    }
    return PMPI_Alltoall(sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, comm);
}

static int derived(MPI_Datatype type)
{
    int integers, addresses, types, combiner;

    return PMPI_Type_get_envelope(type, &integers, &addresses, &types, &combiner) == MPI_SUCCESS &&
           combiner != MPI_COMBINER_NAMED;
}

EXPORT int MPI_Alltoallv(const void *sendbuf, const int sendcounts[], const int sdispls[],
                         MPI_Datatype sendtype, void *recvbuf, const int recvcounts[],
                         const int rdispls[], MPI_Datatype recvtype, MPI_Comm comm)
{
    const int mine    = derived(recvtype) || (sendbuf != MPI_IN_PLACE && derived(sendtype));
    int       ways[2] = {mine, -mine}, most[2], inter = 0;

    PMPI_Comm_test_inter(comm, &inter);
    if (!inter && getenv("TW_ALIKE") != NULL) {
        PMPI_Allreduce(ways, most, 2, MPI_INT, MPI_MAX, comm);
        if (most[0] != -most[1]) {
            fprintf(stderr, "an MPI_Alltoallv of derived types on some ranks only\n");
            PMPI_Abort(comm, 1);
        }
    }
    return PMPI_Alltoallv(sendbuf, sendcounts, sdispls, sendtype, recvbuf, recvcounts, rdispls,
                          recvtype, comm);
}

EXPORT int MPI_Wait(MPI_Request *request, MPI_Status *status)
{
    static unsigned calls;
    const int       result = PMPI_Wait(request, status);

    if (getenv("TW_LATE") != NULL) {
        usleep(__atomic_add_fetch(&calls, 1, __ATOMIC_RELAXED) * 7919u % 1000);
    }
    return result;
}

EXPORT int MPI_Startall(int count, MPI_Request requests[])
{
    if (getenv("TW_SLOW") != NULL) {
        usleep(5000);
    }
    return PMPI_Startall(count, requests);
}

/* ---- MPI 4.1
 * ----------------------------------------------------------------------------------- */

EXPORT int MPI_Request_get_status_all(int count, const MPI_Request requests[], int *flag,
                                      MPI_Status statuses[]);
EXPORT int MPI_Request_get_status_any(int count, const MPI_Request requests[], int *index,
                                      int *flag, MPI_Status *status);
EXPORT int MPI_Request_get_status_some(int count, const MPI_Request requests[], int *outcount,
                                       int indices[], MPI_Status statuses[]);

static int complete(MPI_Request request)
{
    int flag = 0;

    if (request != MPI_REQUEST_NULL) {
        PMPI_Request_get_status(request, &flag, MPI_STATUS_IGNORE);
    }
    return flag;
}

EXPORT int MPI_Request_get_status_some(int count, const MPI_Request requests[], int *outcount,
                                       int indices[], MPI_Status statuses[])
{
    (void)statuses;
    *outcount = 0;
    for (int i = 0; i < count; i++) {
        if (complete(requests[i])) {
            indices[(*outcount)++] = i;
        }
    }
    return MPI_SUCCESS;
}

EXPORT int MPI_Request_get_status_any(int count, const MPI_Request requests[], int *index,
                                      int *flag, MPI_Status *status)
{
    (void)status;
    *flag  = 0;
    *index = MPI_UNDEFINED;
    for (int i = count - 1; i >= 0 && !*flag; i--) {
        *flag  = complete(requests[i]);
        *index = *flag ? i : MPI_UNDEFINED;
    }
    return MPI_SUCCESS;
}

EXPORT int MPI_Request_get_status_all(int count, const MPI_Request requests[], int *flag,
                                      MPI_Status statuses[])
{
    (void)statuses;
    *flag = 1;
    for (int i = 0; i < count; i++) {
        *flag = complete(requests[i]) && *flag;
    }
    return MPI_SUCCESS;
}

/* ---- communicators, types
 * ---------------------------------------------------------------------- */

/* MPI's functions that make communicators; but for MPI_Comm_dup_with_info, which the drop-in calls
 * only where the program does. */
#define MAKES(name, params, args)                                                                  \
    EXPORT int MPI_##name params;                                                                  \
    EXPORT int MPI_##name params                                                                   \
    {                                                                                              \
        tally(__builtin_return_address(0), &made);                                                 \
        return PMPI_##name args;                                                                   \
    }

MAKES(Comm_dup, (MPI_Comm comm, MPI_Comm *made_p), (comm, made_p))
MAKES(Comm_idup, (MPI_Comm comm, MPI_Comm *made_p, MPI_Request *request), (comm, made_p, request))
MAKES(Comm_create, (MPI_Comm comm, MPI_Group group, MPI_Comm *made_p), (comm, group, made_p))
MAKES(Comm_create_group, (MPI_Comm comm, MPI_Group group, int tag, MPI_Comm *made_p),
      (comm, group, tag, made_p))
MAKES(Comm_split, (MPI_Comm comm, int color, int key, MPI_Comm *made_p), (comm, color, key, made_p))
MAKES(Comm_split_type, (MPI_Comm comm, int type, int key, MPI_Info info, MPI_Comm *made_p),
      (comm, type, key, info, made_p))
MAKES(Intercomm_create,
      (MPI_Comm comm, int leader, MPI_Comm peer, int remote, int tag, MPI_Comm *made_p),
      (comm, leader, peer, remote, tag, made_p))
MAKES(Intercomm_merge, (MPI_Comm comm, int high, MPI_Comm *made_p), (comm, high, made_p))
