/* SPDX-License-Identifier: BSD-3-Clause
 * tests/mpi/rooted.c - scatter(v) and gather(v): what MPI's own move, each block encoded and
 * decoded; and what these, and bytes that are no numbers, refuse.
 */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "tests/mpi/job.h"
#include "tests/mpi/rooted.h"

typedef struct rooted {
    int         gather, v, in_place, root;
    tw_dtype_t  dtype;
    const char *spec;
    size_t      counts[T_RANKS_MAX], firsts[T_RANKS_MAX], span; /* of the root's blocks */
    int         dense;                                          /* firsts are not given */
    tw_how_t    how;
} rooted_t;

static void rooted_draw(rooted_t *x, uint64_t *random)
{
    const size_t gap  = t_below(random, 2) * (1 + t_below(random, 9));
    const size_t most = t_below(random, 3) == 0 ? 70000 : 40, same = t_below(random, most);

    *x       = (rooted_t){.gather   = (int)t_below(random, 2),
                          .v        = (int)t_below(random, 2),
                          .in_place = (int)t_below(random, 2),
                          .root     = (int)t_below(random, (size_t)t_size),
                          .dtype    = t_below(random, 3) == 0 ? TW_F32 : TW_BYTE};
    x->spec  = x->dtype == TW_BYTE ? "bytes" : "tree8:block=64,split=0.55";
    x->dense = !x->v || gap == 0;
    x->how   = (tw_how_t){.codec = t_codec(x->spec, x->dtype)};
    for (int r = 0; r < t_size; r++) {
        x->counts[r] = x->v ? t_below(random, 4) == 0 ? 0 : t_below(random, most) : same;
        x->firsts[r] = x->span;
        x->span += x->counts[r] + (x->dense ? 0 : gap);
    }
    t_note("%s%s of %s, root %d%s, counts %zu %zu", x->gather ? "gather" : "scatter",
           x->v ? "v" : "", x->spec, x->root, x->in_place ? ", in place" : "", x->counts[0],
           x->counts[t_size - 1]);
}

#define ROOTED(verb, ...)                                                                          \
    (form == T_BLOCKING      ? tw_##verb(comm, __VA_ARGS__, &x->how)                               \
     : form == T_NONBLOCKING ? tw_i##verb(comm, __VA_ARGS__, &x->how, request_p)                   \
                             : tw_##verb##_init(comm, __VA_ARGS__, &x->how, request_p))

/* all: the root's blocks, NULL elsewhere, as are the counts; mine: this rank's. */
static tw_status_t rooted_issue(tw_comm_t *comm, const rooted_t *x, t_form_t form, void *all,
                                void *mine, tw_request_t **request_p)
{
    const int     root = t_rank == x->root, placed = root && x->in_place;
    const size_t  n = x->counts[t_rank], *counts = root ? x->counts : NULL;
    const size_t *firsts = root && !x->dense ? x->firsts : NULL;
    const void   *from   = placed ? TW_IN_PLACE : mine;
    void         *to     = placed ? (void *)(uintptr_t)TW_IN_PLACE : mine;

    if (x->gather) {
        return x->v ? ROOTED(gatherv, from, n, all, counts, firsts, x->root)
                    : ROOTED(gather, from, all, n, x->root);
    }
    return x->v ? ROOTED(scatterv, all, counts, firsts, to, n, x->root)
                : ROOTED(scatter, all, to, n, x->root);
}

/* The same by MPI; then every block that has arrived, decoded. */
static void rooted_want(const rooted_t *x, size_t element, unsigned char *all, unsigned char *mine)
{
    const int root = t_rank == x->root, n = (int)(x->counts[t_rank] * element);
    int       counts[T_RANKS_MAX], firsts[T_RANKS_MAX];

    for (int r = 0; r < t_size; r++) {
        counts[r] = (int)(x->counts[r] * element);
        firsts[r] = (int)(x->firsts[r] * element);
    }
    if (!x->gather) {
        MPI_Scatterv(all, counts, firsts, MPI_BYTE, mine, n, MPI_BYTE, x->root, MPI_COMM_WORLD);
        t_model_round_trip(x->how.codec, x->dtype, mine, x->counts[t_rank], mine);
        return;
    }
    MPI_Gatherv(mine, n, MPI_BYTE, all, counts, firsts, MPI_BYTE, x->root, MPI_COMM_WORLD);
    for (int r = 0; root && r < t_size; r++) {
        t_model_round_trip(x->how.codec, x->dtype, all + firsts[r], x->counts[r], all + firsts[r]);
    }
}

static void rooted_once(tw_comm_t *comm, const rooted_t *x, t_form_t form, size_t misalign)
{
    const int      root = t_rank == x->root, placed = root && x->in_place;
    const size_t   element = tw_dtype_size(x->dtype), n = x->counts[t_rank];
    unsigned char *all      = root ? t_alloc(x->span * element, misalign) : NULL;
    unsigned char *own      = t_alloc(n * element, misalign);
    unsigned char *all_want = t_malloc(x->span * element + 1),
                  *own_want = t_malloc(n * element + 1);
    tw_request_t *request   = NULL;

    t_fill(x->dtype, t_seed + 1u, 0, root ? x->span : 0, all_want);
    t_fill(x->dtype, t_seed + 2u + (unsigned)t_rank, 0, n, own_want);
    if (placed && x->gather) {
        memcpy(all_want + x->firsts[t_rank] * element, own_want, n * element);
    }
    if (root) {
        memcpy(all, all_want, x->span * element);
    }
    memcpy(own, own_want, n * element);
    T_OK(rooted_issue(comm, x, form, all, own, &request));
    t_job_finish(form, &request);
    rooted_want(x, element, all_want, own_want);
    if (placed && !x->gather) {
        memcpy(all_want + x->firsts[t_rank] * element, own_want, n * element);
    }
    if (root) {
        T_SAME(x->dtype, all, all_want, x->span);
    }
    if (!placed) {
        T_SAME(x->dtype, own, own_want, n);
    }
    t_free(all);
    t_free(own);
    free(all_want);
    free(own_want);
}

void a_root_scatters_and_gathers(void)
{
    static const char *const layouts[] = {"NODE_RANKS=0", "NODE_RANKS=1", "NODE_RANKS=2"};
    uint64_t                 random    = t_seed;

    for (int l = 0; l < 3; l++) {
        const char *const settings[] = {layouts[l], l == 2 ? "CHUNK=4k" : "CHECK=1", NULL};
        tw_context_t     *ctx;
        tw_comm_t        *comm = t_comm_under(settings, MPI_COMM_WORLD, &ctx);
        rooted_t          x;

        for (int turn = 0; turn < 12; turn++) {
            rooted_draw(&x, &random);
            rooted_once(comm, &x, (t_form_t)(turn % T_FORMS), t_below(&random, 8));
        }
        t_comm_done(comm, ctx);
    }
}

void what_a_root_and_bytes_refuse(void)
{
    const tw_how_t how                 = {.codec = tw_codec_bytes()};
    const size_t   counts[T_RANKS_MAX] = {1};
    char           all[T_RANKS_MAX], mine = 0;
    double         sum;

    T_STATUS(tw_scatter(t_world, all, &mine, 1, -1, &how), TW_ERR_INVALID_ARG);
    T_STATUS(tw_gather(t_world, &mine, all, 1, t_size, &how), TW_ERR_INVALID_ARG);
    T_STATUS(tw_gather(NULL, &mine, all, 1, 0, &how), TW_ERR_INVALID_ARG);
    if (t_rank == 0) {
        T_STATUS(tw_scatter(t_world, TW_IN_PLACE, &mine, 1, 0, &how), TW_ERR_INVALID_ARG);
        T_STATUS(tw_scatterv(t_world, all, NULL, NULL, &mine, 0, 0, &how), TW_ERR_INVALID_ARG);
        T_STATUS(tw_gatherv(t_world, &mine, 2, all, counts, NULL, 0, &how), TW_ERR_INVALID_ARG);
        T_STATUS(tw_gather(t_world, &mine, NULL, 1, 0, &how), TW_ERR_INVALID_ARG);
    } else {
        T_STATUS(tw_gather(t_world, TW_IN_PLACE, all, 1, 0, &how), TW_ERR_INVALID_ARG);
    }
    T_STATUS(tw_allreduce(t_world, TW_IN_PLACE, all, 1, TW_MAX, &how), TW_ERR_UNSUPPORTED);
    T_STATUS(tw_codec_decode_add(how.codec, NULL, all, 1, &mine), TW_ERR_UNSUPPORTED);
    T_STATUS(tw_codec_square_sum(how.codec, NULL, all, 1, &sum), TW_ERR_UNSUPPORTED);
}
