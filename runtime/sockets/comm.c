/* SPDX-License-Identifier: BSD-3-Clause
 * sockets/comm.c - communicators, and what errors are called.
 */
#include "config.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>

#include "runtime/base/bytes.h"
#include "runtime/sockets/world.h"

/* ---- the library, and its errors ------------------------------------------------------------- */

int MPI_Initialized(int *flag)
{
    *flag = 1;
    return MPI_SUCCESS;
}

int MPI_Get_library_version(char *version, int *length)
{
    *length = snprintf(version, MPI_MAX_LIBRARY_VERSION_STRING, "thinwire TCP " PACKAGE_VERSION);
    return MPI_SUCCESS;
}

int MPI_Error_class(int error, int *error_class)
{
    *error_class = TW_FAILED_CLASS(error) < MPI_ERR_OTHER ? TW_FAILED_CLASS(error) : MPI_ERR_OTHER;
    return MPI_SUCCESS;
}

int MPI_Error_string(int error, char *text, int *length)
{
    static const char *const texts[] = {
        [MPI_SUCCESS]           = "no error",
        [MPI_ERR_TRUNCATE]      = "a message is longer than its receive",
        [MPI_ERR_OTHER]         = "error",
        [TW_FAILED_LOST]        = "rank %d was lost",
        [TW_FAILED_GAVE_UP]     = "rank %d gave up",
        [TW_FAILED_LEFT]        = "rank %d has left the communicator",
        [TW_FAILED_UNREACHABLE] = "rank %d cannot be reached at its address (THINWIRE_ADDRESS)",
        [TW_FAILED_MEMORY]      = "rank %d has no memory for a message",
        [TW_FAILED_SYSTEM]      = "rank %d cannot accept a connection",
        [TW_FAILED_TIME]        = "nothing moved on rank %d until THINWIRE_TIMEOUT",
        [TW_FAILED_FORKED]      = "this process is a child of rank %d, and no rank"};
    const int   cause = TW_FAILED_ERRNO(error);
    const char *found = texts[TW_FAILED_CLASS(error)];

    snprintf(text, MPI_MAX_ERROR_STRING, found != NULL ? found : "error", TW_FAILED_RANK(error));
    if (cause != 0) {
        const size_t at = strlen(text);

        snprintf(text + at, MPI_MAX_ERROR_STRING - at, ": %s", strerror(cause));
    }
    *length = (int)strlen(text);
    return MPI_SUCCESS;
}

/* ---- facts ----------------------------------------------------------------------------------- */

int MPI_Comm_rank(MPI_Comm comm, int *rank)
{
    *rank = comm->rank;
    return MPI_SUCCESS;
}

int MPI_Comm_size(MPI_Comm comm, int *size)
{
    *size = comm != MPI_COMM_WORLD ? comm->size : INT_MAX;
    return MPI_SUCCESS;
}

int MPI_Comm_test_inter(MPI_Comm comm, int *flag)
{
    (void)comm;
    *flag = 0;
    return MPI_SUCCESS;
}

int MPI_Comm_set_errhandler(MPI_Comm comm, MPI_Errhandler errhandler)
{
    (void)comm;
    (void)errhandler;
    return MPI_SUCCESS;
}

int MPI_Comm_get_attr(MPI_Comm comm, int key, void *value_p, int *flag)
{
    static int largest = INT_MAX;

    (void)comm;
    *flag = key == MPI_TAG_UB;
    if (*flag) {
        *(int **)value_p = &largest;
    }
    return MPI_SUCCESS;
}

/* ---- communicators --------------------------------------------------------------------------- */

/* The identity of a communicator: of its parent, how many that had before, and its own lowest rank.
 * Equal on its ranks without a message; even. */
static uint64_t tw_group_context(const tw_tcp_group_t *parent, uint64_t child, int lowest)
{
    const uint64_t words[] = {parent->context, child, (uint64_t)lowest};

    return tw_fnv1a(TW_FNV_START, words, sizeof(words)) & ~UINT64_C(1);
}

/* Of these ranks of the parent. */
static int tw_group_make(tw_tcp_group_t *parent, const int *members, int size, MPI_Comm *made_p)
{
    tw_world_t     *world = parent->world;
    tw_tcp_group_t *made  = malloc(sizeof(*made) + (size_t)size * sizeof(made->ranks[0]));

    if (made == NULL) {
        return TW_FAILED(TW_FAILED_MEMORY, 0, world->rank);
    }
    *made = (tw_tcp_group_t){.world = world, .size = size};
    for (int i = 0; i < size; i++) {
        made->ranks[i] = parent->ranks[members[i]];
        made->rank     = made->ranks[i] == world->rank ? i : made->rank;
    }
    made->context = tw_group_context(parent, parent->children, made->ranks[0]);
    pthread_mutex_lock(&world->lock);
    world->groups++;
    pthread_mutex_unlock(&world->lock);
    *made_p = made;
    return MPI_SUCCESS;
}

/* Of those ranks for which part[2 * rank] is this rank's, in the order of part[2 * rank + 1], and
 * else of ranks. Releases part; NULL: no memory. */
static int tw_group_part(tw_tcp_group_t *parent, int *part, MPI_Comm *made_p)
{
    int *members = malloc((size_t)parent->size * sizeof(*members));
    int  size = 0, error = MPI_SUCCESS;

    *made_p = MPI_COMM_NULL;
    if (members == NULL || part == NULL) {
        error = TW_FAILED(TW_FAILED_MEMORY, 0, parent->world->rank);
    }
    for (int r = 0; r < parent->size && error == MPI_SUCCESS; r++) {
        int at = size;

        if (part[2 * r] != part[2 * parent->rank]) {
            continue;
        }
        for (; at > 0 && part[2 * members[at - 1] + 1] > part[2 * r + 1]; at--) {
            members[at] = members[at - 1];
        }
        members[at] = r;
        size++;
    }
    parent->children++;
    if (error == MPI_SUCCESS && part[2 * parent->rank] != MPI_UNDEFINED) {
        error = tw_group_make(parent, members, size, made_p);
    }
    free(members);
    free(part);
    return error;
}

int MPI_Comm_split(MPI_Comm comm, int color, int key, MPI_Comm *part)
{
    const int mine[2] = {color, key};
    int      *all     = malloc((size_t)comm->size * sizeof(mine));
    const int error =
        all != NULL ? MPI_Allgather(mine, 2, MPI_INT, all, 2, MPI_INT, comm) : MPI_SUCCESS;

    if (error != MPI_SUCCESS) {
        free(all);
        return error;
    }
    return tw_group_part(comm, all, part);
}

/* Without a message: all ranks know the machines of all. The color is the lowest rank there. */
int MPI_Comm_split_type(MPI_Comm comm, int type, int key, MPI_Info info, MPI_Comm *part)
{
    int *all = calloc((size_t)comm->size, 2 * sizeof(*all));

    (void)type;
    (void)key;
    (void)info;
    for (int r = 0; r < comm->size && all != NULL; r++) {
        while (comm->world->peers[comm->ranks[all[2 * r]]].host !=
               comm->world->peers[comm->ranks[r]].host) {
            all[2 * r]++;
        }
    }
    return tw_group_part(comm, all, part);
}

int MPI_Comm_dup(MPI_Comm comm, MPI_Comm *dup)
{
    return tw_group_part(comm, calloc((size_t)comm->size, 2 * sizeof(int)), dup);
}

int tw_mpi_comm_watch(MPI_Comm comm, int descriptor)
{
    tw_world_t        *world = comm->world;
    struct epoll_event event = {.events = EPOLLIN, .data.ptr = world};

    return epoll_ctl(world->epoll, EPOLL_CTL_ADD, descriptor, &event) == 0
               ? MPI_SUCCESS
               : TW_FAILED(TW_FAILED_SYSTEM, errno, world->rank);
}

static int tw_group_free(MPI_Comm *comm, bool bye)
{
    tw_world_t *world = (*comm)->world;
    bool        last;

    pthread_mutex_lock(&world->lock);
    last = --world->groups == 0;
    pthread_mutex_unlock(&world->lock);
    free(*comm);
    *comm = MPI_COMM_NULL;
    if (last) {
        tw_world_end(world, bye);
    }
    return MPI_SUCCESS;
}

int MPI_Comm_free(MPI_Comm *comm)
{
    return tw_group_free(comm, true);
}

int tw_mpi_comm_abandon(MPI_Comm *comm)
{
    return tw_group_free(comm, false);
}
