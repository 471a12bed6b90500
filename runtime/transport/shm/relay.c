/* SPDX-License-Identifier: BSD-3-Clause
 * transport/shm/relay.c - see relay.h.
 */
#include "config.h"

#include "runtime/transport/shm/quick.h"
#include "runtime/transport/shm/relay.h"

static size_t tw_relay_pieces(size_t bytes, size_t piece)
{
    return bytes / piece + (bytes % piece != 0);
}

static uint64_t tw_relay_count(const tw_segment_t *node, int local, uint64_t ticket)
{
    return atomic_load_explicit(&tw_node_slot(node, local, ticket)->pieces, memory_order_acquire);
}

static void tw_relay_counted(tw_comm_t *comm, uint64_t ticket, uint64_t pieces)
{
    atomic_store_explicit(&tw_node_slot(comm->node, comm->node->local, ticket)->pieces, pieces,
                          memory_order_release);
    tw_comm_moved(comm);
}

static size_t tw_relay_least(size_t a, size_t b)
{
    return a < b ? a : b;
}

/* Before a flag of the ticket says that there is something to count. */
static void tw_relay_reset(const tw_segment_t *node, uint64_t ticket)
{
    atomic_store_explicit(&tw_node_slot(node, node->local, ticket)->pieces, 0,
                          memory_order_relaxed);
}

/* ---- bcast: pieces go round in the root's slot ---------------------------------------------- */

void tw_relay_offer(tw_segment_t *node, uint64_t ticket, const void *block)
{
    tw_relay_reset(node, ticket);
    tw_fetch_table(node, node->local, ticket)[0] = tw_fetch_address(node, block);
    tw_node_raise(node, ticket, TW_RELAY_OFFERED);
}

void tw_relay_read(tw_comm_t *comm, uint64_t ticket, int root, size_t bytes, void *into)
{
    tw_segment_t *node = comm->node;

    if (!tw_fetch(comm, root, tw_fetch_table(node, root, ticket)[0], bytes, into)) {
        tw_relay_reset(node, ticket);
        tw_node_raise(node, ticket, TW_RELAY_ASKED);
    }
}

/* Has the caller, or a rank that has not completed the ticket, said that it could not read? */
static bool tw_relay_asked(const tw_segment_t *node, int local, uint64_t ticket)
{
    return tw_node_raised(node, local, ticket, TW_RELAY_ASKED);
}

static bool tw_relay_done(const tw_segment_t *node, int local, uint64_t ticket)
{
    return atomic_load_explicit(tw_node_low(node, local), memory_order_acquire) > ticket;
}

/* Of the ranks that could not read, the one that has taken the fewest pieces; ranks that have
 * neither read nor said that count as none taken. */
static uint64_t tw_relay_slowest(const tw_segment_t *node, uint64_t ticket, bool *asked_p,
                                 bool *silent_p, int *local_p)
{
    uint64_t least = UINT64_MAX;

    *asked_p = *silent_p = false;
    for (int r = 0; r < node->ranks; r++) {
        const bool done = r == node->local || tw_relay_done(node, r, ticket);
        const bool asks = !done && tw_relay_asked(node, r, ticket);
        uint64_t   has  = asks ? tw_relay_count(node, r, ticket) : 0;

        *asked_p |= asks;
        *silent_p |= !done && !asks;
        if (!done && has < least) {
            least    = has;
            *local_p = r;
        }
    }
    return least;
}

static bool tw_relay_give(tw_comm_t *comm, uint64_t ticket, size_t bytes, const uint8_t *block,
                          int *local_p)
{
    tw_segment_t  *node   = comm->node;
    const size_t   ring   = node->slot_bytes / TW_NODE_FRAGMENT;
    const uint64_t pieces = tw_relay_pieces(bytes, TW_NODE_FRAGMENT);
    uint64_t       put    = tw_relay_count(node, node->local, ticket), taken;
    bool           asked, silent;

    taken = tw_relay_slowest(node, ticket, &asked, &silent, local_p);
    if (silent) { /* it may yet read the address, which may lie where pieces would */
        return false;
    }
    node->unreadable |= asked;
    while (asked && put < pieces && put < taken + ring) {
        const size_t at = (size_t)put * TW_NODE_FRAGMENT;

        comm->system->copy(tw_node_data(node, node->local, ticket) + put % ring * TW_NODE_FRAGMENT,
                           block + at, tw_relay_least(bytes - at, TW_NODE_FRAGMENT));
        tw_relay_counted(comm, ticket, ++put);
    }
    return !asked;
}

static bool tw_relay_take(tw_comm_t *comm, uint64_t ticket, int root, size_t bytes, uint8_t *block)
{
    tw_segment_t  *node   = comm->node;
    const size_t   ring   = node->slot_bytes / TW_NODE_FRAGMENT;
    const uint64_t pieces = tw_relay_pieces(bytes, TW_NODE_FRAGMENT);
    const uint64_t put    = tw_relay_count(node, root, ticket);
    uint64_t       taken  = tw_relay_count(node, node->local, ticket);

    while (taken < put) {
        const size_t at = (size_t)taken * TW_NODE_FRAGMENT;

        comm->system->copy(block + at,
                           tw_node_data(node, root, ticket) + taken % ring * TW_NODE_FRAGMENT,
                           tw_relay_least(bytes - at, TW_NODE_FRAGMENT));
        tw_relay_counted(comm, ticket, ++taken);
    }
    return taken == pieces;
}

bool tw_relay_bcast(tw_comm_t *comm, uint64_t ticket, int root, size_t bytes, void *block,
                    int *local_p)
{
    const tw_segment_t *node = comm->node;

    if (node->local == root) {
        return tw_relay_give(comm, ticket, bytes, block, local_p);
    }
    *local_p = root;
    return !tw_relay_asked(node, node->local, ticket) ||
           tw_relay_take(comm, ticket, root, bytes, block);
}

/* ---- alltoall: a piece for every rank, in the halves of the slot by turns ------------------ */

/* Bytes of each block in a half: the same on all ranks. */
static size_t tw_relay_piece(const tw_segment_t *node)
{
    return node->slot_bytes / 2 / (size_t)node->ranks;
}

static uint8_t *tw_relay_room(const tw_segment_t *node, uint64_t ticket, int from, int to,
                              uint64_t piece)
{
    return tw_node_data(node, from, ticket) + piece % 2 * (node->slot_bytes / 2) +
           (size_t)to * tw_relay_piece(node);
}

void tw_relay_offer_all(tw_segment_t *node, const tw_relay_t *relay)
{
    tw_relay_reset(node, relay->ticket);
    for (int r = 0; r < node->ranks; r++) {
        tw_fetch_table(node, node->local, relay->ticket)[r] =
            relay->send == relay->recv
                ? 0
                : tw_fetch_address(node, (const uint8_t *)relay->send + (size_t)r * relay->bytes);
    }
    tw_node_raise(node, relay->ticket, TW_RELAY_OFFERED);
}

tw_relay_phase_t tw_relay_read_from(tw_comm_t *comm, const tw_relay_t *relay, int local)
{
    tw_segment_t *node = comm->node;
    uint8_t      *into = (uint8_t *)relay->recv + (size_t)local * relay->bytes;
    uint64_t      address;

    if (relay->send == relay->recv) {
        return TW_RELAY_WITHHELD; /* what others have not taken lies there */
    }
    if (local == node->local) {
        comm->system->copy(into, (const uint8_t *)relay->send + (size_t)local * relay->bytes,
                           relay->bytes);
        return TW_RELAY_READ;
    }
    address = tw_fetch_table(node, local, relay->ticket)[node->local];
    if (address == 0) {
        return TW_RELAY_WITHHELD;
    }
    return tw_fetch(comm, local, address, relay->bytes, into) ? TW_RELAY_READ : TW_RELAY_REFUSED;
}

void tw_relay_answer(tw_segment_t *node, const tw_relay_t *relay, tw_relay_phase_t phase)
{
    tw_node_raise(node, relay->ticket, phase);
}

static void tw_relay_put(tw_comm_t *comm, const tw_relay_t *relay, uint64_t piece)
{
    const tw_segment_t *node = comm->node;
    const size_t        at   = (size_t)piece * tw_relay_piece(node);

    for (int r = 0; r < node->ranks; r++) {
        if (r != node->local) {
            comm->system->copy(tw_relay_room(node, relay->ticket, node->local, r, piece),
                               (const uint8_t *)relay->send + (size_t)r * relay->bytes + at,
                               tw_relay_least(relay->bytes - at, tw_relay_piece(node)));
        }
    }
    tw_relay_counted(comm, relay->ticket, piece + 1);
}

static void tw_relay_get(const tw_comm_t *comm, const tw_relay_t *relay, uint64_t piece)
{
    const tw_segment_t *node = comm->node;
    const size_t        at   = (size_t)piece * tw_relay_piece(node);

    for (int r = 0; r < node->ranks; r++) {
        if (r != node->local) {
            comm->system->copy((uint8_t *)relay->recv + (size_t)r * relay->bytes + at,
                               tw_relay_room(node, relay->ticket, r, node->local, piece),
                               tw_relay_least(relay->bytes - at, tw_relay_piece(node)));
        }
    }
}

/* Have all others put that many pieces? A rank puts a piece when it has taken the one before, so
 * that the half in which its next piece goes is free. */
static bool tw_relay_all_put(const tw_segment_t *node, uint64_t ticket, uint64_t pieces,
                             int *local_p)
{
    for (int r = 0; r < node->ranks; r++) {
        if (r != node->local && tw_relay_count(node, r, ticket) < pieces) {
            *local_p = r;
            return false;
        }
    }
    return true;
}

bool tw_relay_alltoall(tw_comm_t *comm, const tw_relay_t *relay, int *local_p)
{
    tw_segment_t  *node   = comm->node;
    const uint64_t ticket = relay->ticket;
    const uint64_t pieces = tw_relay_pieces(relay->bytes, tw_relay_piece(node));
    uint64_t       put    = tw_relay_count(node, node->local, ticket);
    bool           copies = false;

    if (!tw_node_all_raised(node, ticket, TW_RELAY_READ, local_p)) {
        return false;
    }
    for (int r = 0; r < node->ranks; r++) {
        copies |= tw_node_raised(node, r, ticket, TW_RELAY_WITHHELD);
    }
    if (!copies) {
        return true;
    }
    for (int r = 0; r < node->ranks; r++) {
        node->unreadable |= tw_node_raised(node, r, ticket, TW_RELAY_REFUSED);
    }
    if (put == 0) {
        tw_relay_put(comm, relay, put++);
    }
    /* The last is counted once more, when it is taken: pieces + 1 says that the caller is done. */
    while (put <= pieces && tw_relay_all_put(node, ticket, put, local_p)) {
        tw_relay_get(comm, relay, put - 1);
        if (put < pieces) {
            tw_relay_put(comm, relay, put);
        } else {
            tw_relay_counted(comm, ticket, put + 1);
        }
        put++;
    }
    return put > pieces;
}
