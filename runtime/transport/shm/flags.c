/* SPDX-License-Identifier: BSD-3-Clause
 * transport/shm/flags.c - the flags of a node's segment: see segment.h.
 */
#include "config.h"

#include "runtime/transport/shm/segment.h"

bool tw_node_all_raised(const tw_segment_t *node, uint64_t ticket, unsigned phase, int *local_p)
{
    for (int r = 0; r < node->ranks; r++) {
        if (r != node->local && !tw_node_raised(node, r, ticket, phase)) {
            *local_p = r;
            return false;
        }
    }
    return true;
}

bool tw_node_open(tw_segment_t *node, uint64_t ticket, int *local_p)
{
    uint64_t least = node->low;

    *local_p = node->local;
    if (ticket < node->open) {
        return true;
    }
    for (int r = 0; r < node->ranks; r++) {
        const uint64_t low = r == node->local
                                 ? node->low
                                 : atomic_load_explicit(tw_node_low(node, r), memory_order_acquire);

        if (low < least) {
            least    = low;
            *local_p = r;
        }
    }
    node->open = least + TW_NODE_SLOTS;
    return ticket < node->open;
}

void tw_node_complete(tw_segment_t *node, uint64_t ticket)
{
    node->complete |= UINT64_C(1) << (ticket - node->low);
    while (node->complete & 1) {
        node->complete >>= 1;
        node->low++;
    }
    atomic_store_explicit(tw_node_low(node, node->local), node->low, memory_order_release);
}
