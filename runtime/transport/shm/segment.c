/* SPDX-License-Identifier: BSD-3-Clause
 * transport/shm/segment.c - creating the shared memory of each node.
 *
 * The lowest rank of a node creates a POSIX shared memory object and unlinks it at once, so that
 * nothing remains however the job ends. The others open it through /proc/PID/fd. Its pages are
 * allocated (posix_fallocate), so that a full file system is an error here, not a SIGBUS later.
 */
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "runtime/base/bytes.h"
#include "runtime/base/clock.h"
#include "runtime/transport/comm/comm.h"
#include "runtime/transport/comm/sync.h"
#include "runtime/transport/shm/fetch.h"

#define TW_NODE_BYTES    ((size_t)32 << 20) /* wanted for a node                              */
#define TW_SLOT_LEAST    ((size_t)64 << 10)
#define TW_SLOT_MOST     ((size_t)512 << 10)
#define TW_SPINS_ALONE   4000 /* ranks that have a core each: some microseconds          */
#define TW_SPINS_CROWDED 8

size_t tw_node_slot_bytes(int ranks)
{
    const size_t share =
        TW_NODE_BYTES / TW_NODE_SLOTS / (size_t)ranks / TW_NODE_LINE * TW_NODE_LINE;

    return share < TW_SLOT_LEAST ? TW_SLOT_LEAST : share < TW_SLOT_MOST ? share : TW_SLOT_MOST;
}

/* What the lowest rank of a node tells the others. */
typedef struct tw_node_where {
    int64_t  process; /* 0: it has none                                       */
    int64_t  file;
    uint64_t device, inode; /* of the file: a process of that number elsewhere has others */
} tw_node_where_t;

/* Trying it where it is not allowed sends SIGXFSZ, which ends the process. */
static bool tw_file_size_allowed(size_t bytes)
{
    struct rlimit limit;

    return getrlimit(RLIMIT_FSIZE, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY ||
           limit.rlim_cur >= bytes;
}

/* An object of that many bytes without a name; -1 with errno. */
static int tw_node_object(const tw_system_ops_t *system, size_t bytes)
{
    char name[64];
    int  file, error;

    if (!tw_file_size_allowed(bytes)) {
        errno = EFBIG;
        return -1;
    }
    snprintf(name, sizeof(name), "/thinwire-%ld-%" PRIx64, (long)getpid(), tw_clock_ns());
    file = shm_open(name, O_CREAT | O_EXCL | O_RDWR, 0600);
    if (file < 0) {
        return -1;
    }
    shm_unlink(name);
    error = system->reserve(file, bytes);
    if (error != 0) {
        close(file);
        errno = error;
        return -1;
    }
    return file;
}

static tw_node_where_t tw_node_here(int file)
{
    struct stat facts;

    if (file < 0 || fstat(file, &facts) != 0) {
        return (tw_node_where_t){0};
    }
    return (tw_node_where_t){.process = getpid(),
                             .file    = file,
                             .device  = (uint64_t)facts.st_dev,
                             .inode   = (uint64_t)facts.st_ino};
}

/* The object that another process of this machine has open; -1 with errno. */
static int tw_node_open_object(const tw_node_where_t *where)
{
    char            path[64];
    tw_node_where_t found;
    int             file;

    snprintf(path, sizeof(path), "/proc/%" PRId64 "/fd/%" PRId64, where->process, where->file);
    file  = where->process != 0 ? open(path, O_RDWR | O_CLOEXEC) : -1;
    found = tw_node_here(file);
    if (file >= 0 && (found.device != where->device || found.inode != where->inode)) {
        close(file);
        errno = ESTALE;
        return -1;
    }
    return file;
}

/* The lowest rank makes the object; all learn where the lowest rank of their node has it. */
static tw_status_t tw_node_exchange(tw_comm_t *comm, tw_node_where_t *mine, const char *what)
{
    const int   lowest = tw_nodes_rank(comm->nodes, comm->nodes->mine, 0);
    void       *all;
    tw_status_t status = tw_comm_agreed_get(comm, (size_t)comm->size * sizeof(*mine), &all);

    if (status != TW_OK) {
        return status;
    }
    status = tw_sync_allgather(comm, mine, all, sizeof(*mine), what);
    if (status == TW_OK) {
        *mine = ((const tw_node_where_t *)all)[lowest];
    }
    tw_pool_put(&comm->pool, all);
    return status;
}

static void tw_node_shape(tw_comm_t *comm, tw_segment_t *node)
{
    const long cores = sysconf(_SC_NPROCESSORS_ONLN);

    node->ranks      = tw_nodes_ranks(comm->nodes, comm->nodes->mine);
    node->local      = comm->nodes->local;
    node->slot_bytes = tw_node_slot_bytes(comm->nodes->most);
    node->area_bytes = TW_NODE_LINE + TW_NODE_SLOTS * (TW_NODE_LINE + node->slot_bytes);
    node->bytes      = (size_t)node->ranks * node->area_bytes;
    node->open       = TW_NODE_SLOTS;
    node->spins      = comm->local_ranks <= cores ? TW_SPINS_ALONE : TW_SPINS_CROWDED;
}

static tw_status_t tw_node_map(const tw_system_ops_t *system, tw_segment_t *node, int file)
{
    void *base = system->map(file, node->bytes);

    if (base == NULL) {
        return TW_ERR_UNSUPPORTED;
    }
    node->base = base;
    tw_fetch_publish(node);
    return TW_OK;
}

/* All have mapped it, and have memory for the operations that need nothing else: a rank that makes
 * one where others take a quick way (quick.h) cannot ask them any more. */
static tw_status_t tw_node_agree(tw_comm_t *comm, const tw_segment_t *node)
{
    const size_t bytes  = comm->engine->values_bytes(comm);
    const bool   well   = node->base != NULL && tw_pool_reserve(&comm->pool, bytes) == TW_OK;
    tw_status_t  status = tw_comm_agree(comm, well ? TW_OK : TW_ERR_UNSUPPORTED);

    if (status == TW_OK && comm->reserved < bytes) {
        comm->reserved = bytes;
    }
    return status;
}

static tw_status_t tw_node_make(tw_comm_t *comm, tw_segment_t *node)
{
    tw_node_where_t where = {0};
    tw_status_t     status;
    int             file = -1, error = 0;

    if (node->local == 0) {
        file  = tw_node_object(comm->system, node->bytes);
        error = errno;
        where = tw_node_here(file);
    }
    status = tw_node_exchange(comm, &where, "shared memory");
    if (status == TW_OK) {
        if (node->local > 0) {
            file  = tw_node_open_object(&where);
            error = errno;
        }
        if (file >= 0 && tw_node_map(comm->system, node, file) != TW_OK) {
            error = errno;
        }
        if (node->base == NULL && where.process != 0) {
            TW_INFO(&comm->log, "no shared memory of %zu bytes with rank %d: %s", node->bytes,
                    tw_nodes_rank(comm->nodes, comm->nodes->mine, 0), strerror(error));
        } else if (node->base == NULL && node->local == 0) {
            TW_INFO(&comm->log, "no shared memory of %zu bytes for this node: %s", node->bytes,
                    strerror(error));
        }
        status = tw_node_agree(comm, node);
    }
    if (file >= 0) {
        close(file); /* all have mapped it, or nobody will */
    }
    return status;
}

/* May the ranks of every node read each other's memory? All have published where (tw_node_make). */
static tw_status_t tw_node_probe(tw_comm_t *comm)
{
    tw_segment_t     *node   = comm->node;
    const tw_status_t mine   = comm->config.node_read ? tw_fetch_probe(node) : TW_ERR_UNSUPPORTED;
    const tw_status_t status = tw_comm_agree(comm, mine);

    node->reads = status == TW_OK;
    return status == TW_ERR_UNSUPPORTED ? TW_OK : status;
}

tw_status_t tw_node_ready(tw_comm_t *comm)
{
    tw_segment_t *node = comm->node;
    tw_status_t   status;

    if (node->state != TW_NODE_UNKNOWN) {
        return node->state == TW_NODE_THERE ? TW_OK : TW_ERR_UNSUPPORTED;
    }
    if (comm->asynchronous) {
        return TW_ERR_BUSY;
    }
    tw_node_shape(comm, node);
    status = tw_node_make(comm, node);
    if (status == TW_OK) {
        status = tw_node_probe(comm);
    }
    if (status == TW_OK) {
        node->state = TW_NODE_THERE;
        return TW_OK;
    }
    tw_node_release(comm);
    if (comm->status != TW_OK) {
        return status;
    }
    node->state = TW_NODE_ABSENT;
    if (comm->rank == 0) {
        TW_INFO(&comm->log, "some node has no shared memory; its ranks exchange messages");
    }
    return TW_ERR_UNSUPPORTED;
}

void tw_node_release(tw_comm_t *comm)
{
    if (comm->node->base != NULL) {
        munmap(comm->node->base, comm->node->bytes);
        comm->node->base = NULL;
    }
}
