/* SPDX-License-Identifier: BSD-3-Clause
 * transport/node/fetch.c - process_vm_readv().
 */
#include "config.h"

#include <errno.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

#include "runtime/transport/node/fetch.h"

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
    control->probe   = tw_fetch_address(&tw_fetch_probed);
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

tw_status_t tw_fetch(tw_comm_t *comm, int local, uint64_t address, size_t bytes, void *into)
{
    for (size_t at = 0; at < bytes;) {
        const size_t left = bytes - at;
        size_t       got;

        if (!tw_fetch_once(&comm->node, local, address + at,
                           left < TW_FETCH_MOST ? left : TW_FETCH_MOST, (uint8_t *)into + at,
                           &got)) {
            TW_ERROR(&comm->log,
                     "reading %zu bytes of rank %d failed: %s; the communicator is dead", left,
                     tw_nodes_rank(&comm->nodes, comm->nodes.mine, local), strerror(errno));
            comm->status = TW_ERR_MPI;
            return TW_ERR_MPI;
        }
        at += got;
    }
    return TW_OK;
}
