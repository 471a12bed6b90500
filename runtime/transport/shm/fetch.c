/* SPDX-License-Identifier: BSD-3-Clause
 * transport/shm/fetch.c - process_vm_readv().
 */
#include "config.h"

#include <errno.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

#include "runtime/transport/shm/fetch.h"

#define TW_FETCH_MOST ((size_t)1 << 30) /* bytes a call: the system stops short of 2 GiB */

static const uint64_t tw_fetch_probed = UINT64_C(0x7468696e77697265);

static bool tw_fetch_once(const tw_segment_t *node, int local, uint64_t address, size_t bytes,
                          void *into, size_t *got_p)
{
    const struct iovec to   = {.iov_base = into, .iov_len = bytes};
    const struct iovec from = {.iov_base = (void *)(uintptr_t)address, .iov_len = bytes};
    const ssize_t      got =
        process_vm_readv((pid_t)tw_node_control(node, local)->process, &to, 1, &from, 1, 0);

    *got_p = got > 0 ? (size_t)got : 0;
    return got > 0;
}

void tw_fetch_publish(const tw_segment_t *node)
{
    tw_node_control_t *control = tw_node_control(node, node->local);

    control->process = getpid();
    control->probe   = (uint64_t)(uintptr_t)&tw_fetch_probed;
}

tw_status_t tw_fetch_probe(const tw_segment_t *node)
{
    for (int r = 0; r < node->ranks; r++) {
        uint64_t found = 0;
        size_t   got;

        if (r != node->local && (!tw_fetch_once(node, r, tw_node_control(node, r)->probe,
                                                sizeof(found), &found, &got) ||
                                 got != sizeof(found) || found != tw_fetch_probed)) {
            return TW_ERR_UNSUPPORTED;
        }
    }
    return TW_OK;
}

/* Once for each communicator: what follows is slower, and somebody may wonder why. */
static void tw_fetch_refused(tw_comm_t *comm, int local, int error)
{
    if (!comm->node->warned) {
        TW_INFO(&comm->log,
                "memory of rank %d cannot be read: %s; its long blocks are copied through shared "
                "memory",
                tw_nodes_rank(comm->nodes, comm->nodes->mine, local), strerror(error));
        comm->node->warned = true;
    }
}

bool tw_fetch(tw_comm_t *comm, int local, uint64_t address, size_t bytes, void *into)
{
    for (size_t at = 0; at < bytes && address != 0;) {
        const size_t left = bytes - at;
        size_t       got;

        if (!tw_fetch_once(comm->node, local, address + at,
                           left < TW_FETCH_MOST ? left : TW_FETCH_MOST, (uint8_t *)into + at,
                           &got)) {
            tw_fetch_refused(comm, local, errno);
            return false;
        }
        at += got;
    }
    return address != 0;
}
