/* SPDX-License-Identifier: BSD-3-Clause
 * transport/shm/quick.c - short blocking collectives within one node. A rank's contribution fits
 * its slot; up to TW_NODE_SHORT bytes share the flag's cache line.
 */
#include "config.h"

#include "runtime/base/descriptor.h"
#include "runtime/base/fpmode.h"
#include "runtime/codec/combine.h"
#include "runtime/transport/comm/progress_thread.h"
#include "runtime/transport/shm/quick.h"
#include "runtime/transport/shm/relay.h"

#define TW_SPINS_EAGER 500 /* looks before the processor is told that it waits */

/* ---- waiting -------------------------------------------------------------------------------- */

typedef struct tw_patience {
    tw_comm_t  *comm;
    const char *operation;
    int         looks;
    int         awaited; /* 1 + local rank, once the time is measured; 0: it is not */
} tw_patience_t;

static void tw_relax(void)
{
#if defined(__x86_64__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ volatile("yield");
#endif
}

/* After many looks: help what else runs, give the core away, and mind THINWIRE_TIMEOUT. */
static tw_status_t tw_patience_long(tw_patience_t *p, int local)
{
    tw_comm_t *comm  = p->comm;
    bool       moved = false;

    p->looks = TW_SPINS_EAGER;
    comm->engine->progress(comm, &moved);
    comm->system->yield(TW_DESCRIPTOR_NONE);
    if (p->awaited != local + 1) { /* a wait begins, or the rank before has come */
        p->awaited = local + 1;
        tw_comm_moved(comm);
    } else if (comm->status == TW_OK && !moved && tw_comm_timed_out(comm)) {
        TW_ERROR(&comm->log,
                 "%s: nothing moved for %g s, waiting for rank %d; the communicator is dead",
                 p->operation, comm->config.timeout, tw_nodes_rank(comm->nodes, 0, local));
        comm->status = TW_ERR_TIMEOUT;
    }
    return comm->status;
}

/* One more look was in vain: `local` is whom we wait for. */
static tw_status_t tw_patience_look(tw_patience_t *p, int local)
{
    if (p->looks++ < TW_SPINS_EAGER && p->comm->node->spins > TW_SPINS_EAGER) {
        return TW_OK;
    }
    if (p->looks < p->comm->node->spins) {
        tw_relax();
        return TW_OK;
    }
    return tw_patience_long(p, local);
}

static tw_status_t tw_await_open(tw_patience_t *p, uint64_t ticket)
{
    tw_status_t status = TW_OK;
    int         local;

    while (status == TW_OK && !tw_node_open(p->comm->node, ticket, &local)) {
        status = tw_patience_look(p, local);
    }
    p->awaited = 0;
    return status;
}

static tw_status_t tw_await_near(tw_patience_t *p, uint64_t ticket)
{
    tw_status_t status = TW_OK;

    while (status == TW_OK && !tw_node_near(p->comm->node, ticket)) {
        status = tw_patience_look(p, p->comm->node->local);
    }
    p->awaited = 0;
    return status;
}

static tw_status_t tw_await_raised(tw_patience_t *p, int local, uint64_t ticket, unsigned phase)
{
    tw_status_t status = TW_OK;

    while (status == TW_OK && !tw_node_raised(p->comm->node, local, ticket, phase)) {
        status = tw_patience_look(p, local);
    }
    p->awaited = 0;
    return status;
}

/* ---- the calls ------------------------------------------------------------------------------ */

/* What every operation does when it starts. */
static uint64_t tw_quick_begin(tw_comm_t *comm)
{
    comm->sequence++;
    comm->stats.calls++;
    if (comm->running != NULL) {
        comm->engine->progress(comm, NULL);
    }
    return comm->node->ticket;
}

/* Where a rank's contribution lies. */
static uint8_t *tw_quick_data(const tw_segment_t *node, int local, uint64_t ticket, size_t bytes)
{
    return bytes <= TW_NODE_SHORT ? tw_node_slot(node, local, ticket)->data
                                  : tw_node_data(node, local, ticket);
}

static tw_status_t tw_quick_publish(tw_patience_t *p, uint64_t ticket, const void *bytes,
                                    size_t size)
{
    const tw_segment_t *node   = p->comm->node;
    const tw_status_t   status = tw_await_open(p, ticket);

    if (status == TW_OK) {
        p->comm->system->copy(tw_quick_data(node, node->local, ticket, size), bytes, size);
        tw_node_raise(node, ticket, 1);
    }
    return status;
}

typedef struct tw_quick_terms {
    const tw_segment_t *node;
    uint64_t            ticket;
    size_t              bytes;
} tw_quick_terms_t;

static const void *tw_quick_term(const void *self, int rank)
{
    const tw_quick_terms_t *terms = self;

    return tw_quick_data(terms->node, rank, terms->ticket, terms->bytes);
}

/* recv = what all are combined to in rank order, and for an average divided; the own contribution
 * is taken from its slot, as recv may be where it came from. */
static tw_status_t tw_quick_combine(tw_patience_t *p, uint64_t ticket, void *recv, size_t n,
                                    const tw_codec_t *codec, const tw_reduction_row_t *row)
{
    const tw_segment_t    *node   = p->comm->node;
    const tw_dtype_row_t  *type   = codec->type;
    const tw_quick_terms_t self   = {node, ticket, n * type->bytes};
    const tw_terms_t       terms  = {tw_quick_term, &self, node->ranks};
    const bool             widens = codec->wide != codec; /* by parts of all vectors */
    tw_status_t            status = TW_OK;

    for (int r = 0; r < node->ranks && status == TW_OK; r++) {
        if (r != node->local) {
            status = tw_await_raised(p, r, ticket, 1);
        }
        if (status == TW_OK && r > 0 && !widens) {
            type->combine[row->combination](r == 1 ? tw_quick_term(&self, 0) : recv,
                                            tw_quick_term(&self, r), n, recv);
        }
    }
    if (status == TW_OK && widens) {
        tw_codec_combine_terms(codec, row, &terms, n, NULL, recv);
    } else if (status == TW_OK && row->divides) {
        type->divide(recv, n, node->ranks);
    }
    return status;
}

static tw_status_t tw_short_reduce(tw_comm_t *comm, const char *operation, const void *send,
                                   void *recv, size_t n, const tw_codec_t *codec,
                                   tw_reduction_t reduction, int root)
{
    const uint64_t ticket = tw_quick_begin(comm);
    tw_patience_t  p      = {.comm = comm, .operation = operation};
    tw_status_t    status;

    if (n == 0) {
        return TW_OK;
    }
    comm->node->ticket++;
    status = tw_quick_publish(&p, ticket, send, n * codec->element);
    if (status == TW_OK && (root < 0 || root == comm->rank)) {
        const tw_fpmode_t mode = tw_fpmode_enter();

        status = tw_quick_combine(&p, ticket, recv, n, codec, tw_reduction_row((int)reduction));
        tw_fpmode_leave(mode);
    }
    if (status == TW_OK) {
        tw_node_complete(comm->node, ticket);
    }
    return status;
}

static tw_status_t tw_short_bcast(tw_comm_t *comm, void *buffer, size_t bytes, int root)
{
    const uint64_t ticket = tw_quick_begin(comm);
    const int      local  = tw_nodes_local(comm->nodes, root);
    tw_patience_t  p      = {.comm = comm, .operation = "bcast"};
    tw_status_t    status;

    if (bytes == 0) {
        return TW_OK;
    }
    comm->node->ticket++;
    if (comm->rank == root) {
        status = tw_quick_publish(&p, ticket, buffer, bytes);
    } else {
        status = tw_await_near(&p, ticket);
        if (status == TW_OK) {
            status = tw_await_raised(&p, local, ticket, 1);
        }
        if (status == TW_OK) {
            comm->system->copy(buffer, tw_quick_data(comm->node, local, ticket, bytes), bytes);
        }
    }
    if (status == TW_OK) {
        tw_node_complete(comm->node, ticket);
    }
    return status;
}

/* Publish `size` bytes; then block `at` (in bytes) of every rank's contribution goes to recv, rank
 * by rank. */
static tw_status_t tw_quick_move(tw_patience_t *p, const void *send, size_t size, size_t at,
                                 uint8_t *recv, size_t bytes)
{
    const tw_segment_t *node   = p->comm->node;
    const uint64_t      ticket = p->comm->node->ticket++;
    tw_status_t         status = tw_quick_publish(p, ticket, send, size);

    for (int r = 0; r < node->ranks && status == TW_OK; r++) {
        if (r != node->local) {
            status = tw_await_raised(p, r, ticket, 1);
        }
        if (status == TW_OK) {
            p->comm->system->copy(recv + (size_t)r * bytes,
                                  tw_quick_data(node, r, ticket, size) + at, bytes);
        }
    }
    if (status == TW_OK) {
        tw_node_complete(p->comm->node, ticket);
    }
    return status;
}

static tw_status_t tw_short_alltoall(tw_comm_t *comm, const void *send, void *recv, size_t bytes)
{
    tw_patience_t p = {.comm = comm, .operation = "alltoall"};

    tw_quick_begin(comm);
    return bytes == 0 ? TW_OK
                      : tw_quick_move(&p, send, bytes * (size_t)comm->size,
                                      bytes * (size_t)comm->rank, recv, bytes);
}

static tw_status_t tw_short_allgather(tw_comm_t *comm, const void *send, void *recv, size_t bytes)
{
    tw_patience_t p = {.comm = comm, .operation = "allgather"};

    tw_quick_begin(comm);
    return bytes == 0 ? TW_OK : tw_quick_move(&p, send, bytes, 0, recv, bytes);
}

/* ---- reading -------------------------------------------------------------------------------- */

/* Until the block has been read, or copied for those that cannot. */
static tw_status_t tw_await_bcast(tw_patience_t *p, uint64_t ticket, int root, size_t bytes,
                                  void *buffer)
{
    tw_status_t status = TW_OK;
    int         local;

    while (status == TW_OK && !tw_relay_bcast(p->comm, ticket, root, bytes, buffer, &local)) {
        status = tw_patience_look(p, local);
    }
    p->awaited = 0;
    return status;
}

static tw_status_t tw_await_alltoall(tw_patience_t *p, const tw_relay_t *relay)
{
    tw_status_t status = TW_OK;
    int         local;

    while (status == TW_OK && !tw_relay_alltoall(p->comm, relay, &local)) {
        status = tw_patience_look(p, local);
    }
    p->awaited = 0;
    return status;
}

static tw_status_t tw_long_bcast(tw_comm_t *comm, void *buffer, size_t bytes, int root)
{
    const uint64_t ticket = tw_quick_begin(comm);
    const int      local  = tw_nodes_local(comm->nodes, root);
    tw_segment_t  *node   = comm->node;
    tw_patience_t  p      = {.comm = comm, .operation = "bcast"};
    tw_status_t    status;

    node->ticket++;
    if (comm->rank == root) {
        status = tw_await_open(&p, ticket);
        if (status == TW_OK) {
            tw_relay_offer(node, ticket, buffer);
        }
    } else {
        status = tw_await_near(&p, ticket);
        if (status == TW_OK) {
            status = tw_await_raised(&p, local, ticket, 1);
        }
        if (status == TW_OK) {
            tw_relay_read(comm, ticket, local, bytes, buffer);
        }
    }
    if (status == TW_OK) {
        status = tw_await_bcast(&p, ticket, local, bytes, buffer);
    }
    if (status == TW_OK) {
        tw_node_complete(node, ticket);
    }
    return status;
}

static tw_status_t tw_long_alltoall(tw_comm_t *comm, const void *send, void *recv, size_t bytes)
{
    const uint64_t   ticket = tw_quick_begin(comm);
    tw_segment_t    *node   = comm->node;
    tw_patience_t    p      = {.comm = comm, .operation = "alltoall"};
    tw_relay_t       relay  = {ticket, send, recv, bytes};
    tw_relay_phase_t phase  = TW_RELAY_READ;
    tw_status_t      status;

    node->ticket++;
    status = tw_await_open(&p, ticket);
    if (status != TW_OK) {
        return status;
    }
    tw_relay_offer_all(node, &relay);
    for (int i = 0; i < node->ranks && status == TW_OK && phase == TW_RELAY_READ; i++) {
        const int r = (node->local + i) % node->ranks;

        status = i > 0 ? tw_await_raised(&p, r, ticket, 1) : TW_OK;
        if (status == TW_OK) {
            phase = tw_relay_read_from(comm, &relay, r);
        }
    }
    if (status == TW_OK) {
        tw_relay_answer(node, &relay, phase);
        status = tw_await_alltoall(&p, &relay);
    }
    if (status == TW_OK) {
        tw_node_complete(node, ticket);
    }
    return status;
}

/* ---- the calls, with the thread of the communicator kept away -------------------------------- */

static tw_status_t tw_quick_end(tw_comm_t *comm, tw_status_t status)
{
    tw_comm_leave(comm);
    return status;
}

tw_status_t tw_quick_reduce(tw_comm_t *comm, const char *operation, const void *send, void *recv,
                            size_t n, const tw_codec_t *codec, tw_reduction_t reduction, int root)
{
    tw_comm_enter(comm);
    return tw_quick_end(comm,
                        tw_short_reduce(comm, operation, send, recv, n, codec, reduction, root));
}

tw_status_t tw_quick_bcast(tw_comm_t *comm, void *buffer, size_t bytes, int root)
{
    tw_comm_enter(comm);
    return tw_quick_end(comm, tw_short_bcast(comm, buffer, bytes, root));
}

tw_status_t tw_quick_alltoall(tw_comm_t *comm, const void *send, void *recv, size_t bytes)
{
    tw_comm_enter(comm);
    return tw_quick_end(comm, tw_short_alltoall(comm, send, recv, bytes));
}

tw_status_t tw_quick_allgather(tw_comm_t *comm, const void *send, void *recv, size_t bytes)
{
    tw_comm_enter(comm);
    return tw_quick_end(comm, tw_short_allgather(comm, send, recv, bytes));
}

tw_status_t tw_quick_bcast_read(tw_comm_t *comm, void *buffer, size_t bytes, int root)
{
    tw_comm_enter(comm);
    return tw_quick_end(comm, tw_long_bcast(comm, buffer, bytes, root));
}

tw_status_t tw_quick_alltoall_read(tw_comm_t *comm, const void *send, void *recv, size_t bytes)
{
    tw_comm_enter(comm);
    return tw_quick_end(comm, tw_long_alltoall(comm, send, recv, bytes));
}
