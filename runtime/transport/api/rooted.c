/* SPDX-License-Identifier: BSD-3-Clause
 * transport/api/rooted.c - the calls of scatter(v) and gather(v): an alltoallv in which only the
 * blocks of one rank, the root, have values. They go to their receiver directly, so the root's link
 * carries each once.
 */
#include "config.h"

#include "runtime/transport/api/collective.h"

/* A root's blocks on one side, of which every rank has one on the other. */
typedef struct tw_rooted {
    const char *name;
    tw_blocks_t blocks; /* on the root */
    size_t      mine;   /* values of this rank's block */
    size_t      each;   /* of all blocks, or 0 where they may differ */
    bool        differ; /* then the root needs counts */
    int         root;
} tw_rooted_t;

/* Is this rank the root, and is what both of its sides say of its block the same? */
static tw_status_t tw_rooted_check(const tw_comm_t *comm, tw_rooted_t *x, bool in_place,
                                   bool *root_p)
{
    const tw_status_t status = tw_comm_check(comm);

    if (status != TW_OK) {
        return status;
    }
    *root_p = comm->rank == x->root;
    if (x->root < 0 || x->root >= comm->size || (in_place && !*root_p) ||
        (*root_p && x->differ && x->blocks.counts == NULL)) {
        return TW_ERR_INVALID_ARG;
    }
    if (*root_p && in_place) {
        x->mine = tw_blocks_count(&x->blocks, x->root);
    }
    return !*root_p || x->mine == tw_blocks_count(&x->blocks, x->root) ? TW_OK : TW_ERR_INVALID_ARG;
}

/* Where the root's own block lies among all of them. */
static void *tw_rooted_own(const tw_comm_t *comm, const tw_rooted_t *x, const void *all,
                           const tw_how_t *how)
{
    return (uint8_t *)(uintptr_t)all +
           tw_blocks_first(&x->blocks, x->root) * tw_how_codec(comm, how)->element;
}

static tw_status_t tw_scatter_any(tw_comm_t *comm, const void *send, void *recv, tw_rooted_t x,
                                  const tw_how_t *how, tw_form_t form, tw_request_t **request_p)
{
    const bool           in_place = recv == TW_IN_PLACE;
    tw_collective_call_t call;
    bool                 root;
    tw_status_t          status = tw_rooted_check(comm, &x, in_place, &root);

    if (status != TW_OK || (root && send == TW_IN_PLACE)) {
        return status != TW_OK ? status : TW_ERR_INVALID_ARG;
    }
    recv = in_place ? tw_rooted_own(comm, &x, send, how) : recv;
    tw_collective_begin(&call, comm, &tw_collective_alltoallv, x.name, root ? send : NULL, recv,
                        how);
    call.root  = x.root;
    call.count = x.each;
    call.in    = (tw_blocks_t){.each = x.mine, .one = x.root + 1};
    if (root) {
        call.out = x.blocks;
    }
    return tw_collective(&call, form, request_p);
}

static tw_status_t tw_gather_any(tw_comm_t *comm, const void *send, void *recv, tw_rooted_t x,
                                 const tw_how_t *how, tw_form_t form, tw_request_t **request_p)
{
    const bool           in_place = send == TW_IN_PLACE;
    tw_collective_call_t call;
    bool                 root;
    tw_status_t          status = tw_rooted_check(comm, &x, in_place, &root);

    if (status != TW_OK) {
        return status;
    }
    send = in_place ? tw_rooted_own(comm, &x, recv, how) : send;
    tw_collective_begin(&call, comm, &tw_collective_alltoallv, x.name, send, root ? recv : NULL,
                        how);
    call.root  = x.root;
    call.count = x.each;
    call.out   = (tw_blocks_t){.each = x.mine, .one = x.root + 1};
    if (root) {
        call.in = x.blocks;
    }
    return tw_collective(&call, form, request_p);
}

#define TW_ROOTED_EQUAL(called)                                                                    \
    (tw_rooted_t)                                                                                  \
    {                                                                                              \
        .name = called, .blocks = {.each = count}, .mine = count, .each = count, .root = root      \
    }
#define TW_ROOTED_BLOCKS(called)                                                                   \
    (tw_rooted_t)                                                                                  \
    {                                                                                              \
        .name = called, .blocks = {.counts = counts, .displacements = displacements},              \
        .mine = count, .differ = true, .root = root                                                \
    }

static tw_status_t tw_scatter_form(tw_comm_t *comm, const void *send, void *recv, size_t count,
                                   int root, const tw_how_t *how, tw_form_t form,
                                   tw_request_t **request_p)
{
    return tw_scatter_any(comm, send, recv, TW_ROOTED_EQUAL("scatter"), how, form, request_p);
}

TW_COLLECTIVE_FORMS(scatter, (const void *send, void *recv, size_t count, int root),
                    (send, recv, count, root))

static tw_status_t tw_gather_form(tw_comm_t *comm, const void *send, void *recv, size_t count,
                                  int root, const tw_how_t *how, tw_form_t form,
                                  tw_request_t **request_p)
{
    return tw_gather_any(comm, send, recv, TW_ROOTED_EQUAL("gather"), how, form, request_p);
}

TW_COLLECTIVE_FORMS(gather, (const void *send, void *recv, size_t count, int root),
                    (send, recv, count, root))

static tw_status_t tw_scatterv_form(tw_comm_t *comm, const void *send, const size_t *counts,
                                    const size_t *displacements, void *recv, size_t count, int root,
                                    const tw_how_t *how, tw_form_t form, tw_request_t **request_p)
{
    return tw_scatter_any(comm, send, recv, TW_ROOTED_BLOCKS("scatterv"), how, form, request_p);
}

TW_COLLECTIVE_FORMS(scatterv,
                    (const void *send, const size_t *counts, const size_t *displacements,
                     void *recv, size_t count, int root),
                    (send, counts, displacements, recv, count, root))

static tw_status_t tw_gatherv_form(tw_comm_t *comm, const void *send, size_t count, void *recv,
                                   const size_t *counts, const size_t *displacements, int root,
                                   const tw_how_t *how, tw_form_t form, tw_request_t **request_p)
{
    return tw_gather_any(comm, send, recv, TW_ROOTED_BLOCKS("gatherv"), how, form, request_p);
}

TW_COLLECTIVE_FORMS(gatherv,
                    (const void *send, size_t count, void *recv, const size_t *counts,
                     const size_t *displacements, int root),
                    (send, count, recv, counts, displacements, root))
