/* SPDX-License-Identifier: BSD-3-Clause
 * tests/mpi/job.c - buffers, input and expected results of one collective.
 *
 * The input of rank s is a vector S_s (t_fill of a seed made from shape, round and s), in the order
 * in which its pieces leave; the pieces may have gaps between them in the buffer.
 */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/mpi/job.h"

/* ---- layout --------------------------------------------------------------------------------- */

/* Elements of the piece that goes from a rank to another (from any rank, in a reduce-scatter). */
static size_t piece(const t_shape_t *shape, int from, int to)
{
    switch (shape->kind) {
    case T_ALLGATHERV:
        return shape->counts[0][from];
    case T_REDUCE_SCATTER:
        return shape->counts[0][to];
    case T_ALLTOALLV:
        return shape->counts[from][to];
    default:
        return shape->count;
    }
}

/* Places n pieces one after another, with gaps where the caller can say so; returns the span. */
static size_t place(const size_t *n, int pieces, size_t gap, size_t *at)
{
    size_t next = gap / 2;

    for (int i = 0; i < pieces; i++) {
        at[i] = next;
        next += n[i] + gap;
    }
    return next;
}

static int is_reduction(t_op_t kind)
{
    return kind >= T_ALLREDUCE;
}

static void lay_out(t_job_t *job)
{
    const t_shape_t *s   = &job->shape;
    const size_t     gap = s->kind == T_ALLGATHERV || s->kind == T_ALLTOALLV ? s->gap : 0;
    int              one = 1; /* pieces of a one-piece buffer */

    for (int r = 0; r < job->size; r++) {
        job->send_n[r] = piece(s, job->rank, r);
        job->recv_n[r] = piece(s, r, job->rank);
    }
    switch (s->kind) {
    case T_BCAST:
        job->send_span = 0;
        job->recv_span = place(job->recv_n, one, 0, job->recv_at);
        break;
    case T_ALLGATHER:
    case T_ALLGATHERV:
        job->send_n[0] = piece(s, job->rank, 0);
        job->send_span = place(job->send_n, one, 0, job->send_at);
        job->recv_span = place(job->recv_n, job->size, gap, job->recv_at);
        break;
    case T_ALLTOALL:
    case T_ALLTOALLV:
        job->send_span = place(job->send_n, job->size, gap, job->send_at);
        job->recv_span = place(job->recv_n, job->size, gap, job->recv_at);
        break;
    case T_ALLREDUCE:
    case T_REDUCE:
        job->send_span = place(job->send_n, one, 0, job->send_at);
        job->recv_span = place(job->recv_n, one, 0, job->recv_at);
        break;
    default:
        job->send_span = place(job->send_n, job->size, 0, job->send_at);
        job->recv_span = place(job->recv_n, one, 0, job->recv_at);
        job->recv_span = job->in_place ? job->send_span : job->recv_span;
        break;
    }
    job->checked = job->in_place && s->kind >= T_REDUCE_SCATTER ? job->recv_n[0] : job->recv_span;
}

void t_job_ask(t_job_t *job, t_job_t *called)
{
    tw_request_t *plan = NULL;
    const char   *name;

    job->hierarchical = job->shape.algorithm == TW_ALGORITHM_HIERARCHICAL;
    job->two_pass =
        job->shape.algorithm == TW_ALGORITHM_TWO_PASS || job->shape.algorithm == TW_ALGORITHM_GRID;
    if (job->shape.algorithm != TW_ALGORITHM_AUTO || job->shape.kind < T_ALLREDUCE) {
        return;
    }
    T_OK(t_job_plan(called, &plan));
    name              = plan != NULL ? tw_request_algorithm(plan) : "none";
    job->two_pass     = strcmp(name, "two_pass") == 0 || strcmp(name, "grid") == 0;
    job->hierarchical = strcmp(name, "hierarchical") == 0;
    T_CHECK(job->two_pass || job->hierarchical || strcmp(name, "node") == 0 ||
                strcmp(name, job->shape.kind < T_REDUCE_SCATTER ? "direct" : "one_pass") == 0,
            "algorithm \"%s\"", name);
    T_OK(tw_request_free(&plan));
}

void t_job_open(t_job_t *job, tw_comm_t *comm, const t_shape_t *shape, tw_feedback_t *feedback,
                t_model_feedback_t *model)
{
    memset(job, 0, sizeof(*job));
    job->shape    = *shape;
    job->comm     = comm;
    job->rank     = tw_comm_rank(comm);
    job->size     = tw_comm_size(comm);
    job->element  = tw_dtype_size(shape->dtype);
    job->in_place = shape->in_place && shape->kind != T_BCAST &&
                    (shape->kind != T_REDUCE || job->rank == shape->root);
    lay_out(job);
    if (shape->kind != T_BCAST && !job->in_place) {
        job->send        = t_alloc(job->send_span * job->element, shape->misalign);
        job->send_before = t_malloc(job->send_span * job->element);
    }
    /* Away from the root, reduce ignores recv: sometimes give a buffer, sometimes none. */
    if (shape->kind != T_REDUCE || job->rank == shape->root || shape->misalign % 2 == 0) {
        job->recv = t_alloc(job->recv_span * job->element, shape->misalign);
        job->want = t_malloc(job->recv_span * job->element);
    }
    job->how = (tw_how_t){.codec     = t_codec(shape->spec, shape->dtype),
                          .feedback  = feedback,
                          .algorithm = shape->algorithm,
                          .flags     = shape->flags};
    if (shape->threads != 0) {
        job->exec     = (tw_exec_t){.threads = shape->threads};
        job->how.exec = &job->exec;
    }
    job->model_fb = model;
    t_job_ask(job, job);
}

void t_job_close(t_job_t *job)
{
    t_free(job->send);
    t_free(job->recv);
    free(job->send_before);
    free(job->want);
}

/* ---- input and expected result -------------------------------------------------------------- */

/* Elements first .. first + n - 1 of S_s, in new aligned memory. */
static void *input(const t_job_t *job, uint64_t round, int s, size_t first, size_t n)
{
    void *x = t_malloc(n * job->element);

    t_fill(job->shape.dtype, t_mix(job->shape.seed) + t_mix(round) * 8u + (uint64_t)s, first, n, x);
    return x;
}

/* Where in S_from the piece for a rank begins. */
static size_t piece_begin(const t_shape_t *shape, int from, int to)
{
    size_t begin = 0;

    if (shape->kind == T_ALLTOALL || shape->kind >= T_REDUCE_SCATTER ||
        shape->kind == T_ALLTOALLV) {
        for (int r = 0; r < to; r++) {
            begin += piece(shape, from, r);
        }
    }
    return begin;
}

/* Put S_rank into the buffer it is sent from. */
static void fill_input(t_job_t *job, uint64_t round)
{
    const t_shape_t *s      = &job->shape;
    unsigned char   *to     = job->in_place ? job->recv : job->send;
    const int        gather = s->kind == T_ALLGATHER || s->kind == T_ALLGATHERV;
    const int        scatter =
        s->kind == T_ALLTOALL || s->kind == T_ALLTOALLV || s->kind >= T_REDUCE_SCATTER;
    const size_t *at = job->in_place && s->kind < T_ALLREDUCE ? job->recv_at : job->send_at;

    if (s->kind == T_BCAST) {
        if (job->rank != s->root) {
            return;
        }
        to = job->recv;
        at = job->recv_at;
    }
    for (int r = 0; r < (scatter ? job->size : 1); r++) {
        const size_t n        = s->kind == T_BCAST ? s->count : job->send_n[r];
        const size_t place_at = gather && job->in_place ? at[job->rank] : at[r];
        void        *x        = input(job, round, job->rank, piece_begin(s, job->rank, r), n);

        memcpy(to + place_at * job->element, x, n * job->element);
        free(x);
    }
}

static void want_moved(t_job_t *job, uint64_t round)
{
    const t_shape_t *s = &job->shape;

    for (int r = 0; r < (s->kind == T_BCAST ? 1 : job->size); r++) {
        const int    from = s->kind == T_BCAST ? s->root : r;
        const size_t n    = job->recv_n[r];
        void        *x    = input(job, round, from, piece_begin(s, from, job->rank), n);
        void        *y    = t_malloc(n * job->element);

        t_model_round_trip(job->how.codec, s->dtype, x, n, y);
        memcpy(job->want + job->recv_at[r] * job->element,
               s->kind == T_BCAST && job->rank == s->root && !(s->flags & TW_BCAST_SAME) ? x : y,
               n * job->element);
        free(x);
        free(y);
    }
}

static void want_reduced(t_job_t *job, uint64_t round)
{
    const t_shape_t    *s       = &job->shape;
    const tw_dtype_t    dtype   = t_is_half(s->dtype) ? TW_F32 : s->dtype;
    const size_t        element = tw_dtype_size(dtype);
    const t_model_sum_t sum     = {t_model_codec(job->how.codec), dtype, job->size, s->reduction,
                                   job->model_fb};
    const int           scatter = s->kind >= T_REDUCE_SCATTER;
    const size_t        total   = scatter ? piece_begin(s, 0, job->size) : s->count;
    void               *in[T_RANKS_MAX], *out = t_malloc(total * element);
    size_t              begin = 0, n = total;

    for (int r = 0; r < job->size; r++) {
        in[r] = t_model_widened(s->dtype, input(job, round, r, 0, total), total);
    }
    if (!scatter && job->hierarchical) {
        t_model_hierarchical(&sum, (const void *const *)in, total, s->node_ranks, out);
    } else if (!scatter) {
        t_model_allreduce(&sum, (const void *const *)in, total, job->two_pass, out);
    }
    for (int r = 0; scatter && r < job->size; r++) {
        const size_t at = piece_begin(s, 0, r), count = piece(s, 0, r);

        if (job->hierarchical) {
            t_model_scatter_hierarchical(&sum, (const void *const *)in, r, at, count, s->node_ranks,
                                         (char *)out + at * element);
        } else {
            t_model_reduce_scatter(&sum, (const void *const *)in, at, count,
                                   (char *)out + at * element);
        }
    }
    if (scatter) {
        begin = piece_begin(s, 0, job->rank);
        n     = job->recv_n[0];
    }
    out = t_model_rounded(s->dtype, out, total);
    if (job->want != NULL && (s->kind != T_REDUCE || job->rank == s->root)) {
        memcpy(job->want, (char *)out + begin * job->element, n * job->element);
    }
    for (int r = 0; r < job->size; r++) {
        free(in[r]);
    }
    free(out);
}

void t_job_fill(t_job_t *job, uint64_t round)
{
    if (job->send != NULL) {
        memset(job->send, 0xa7, job->send_span * job->element);
    }
    if (job->recv != NULL) {
        memset(job->recv, 0xb9, job->recv_span * job->element);
    }
    fill_input(job, round);
    if (job->send != NULL) {
        memcpy(job->send_before, job->send, job->send_span * job->element);
    }
    if (job->want != NULL) {
        memcpy(job->want, job->recv, job->recv_span * job->element);
    }
    if (is_reduction(job->shape.kind)) {
        want_reduced(job, round);
    } else {
        want_moved(job, round);
    }
}

void t_job_check(const t_job_t *job)
{
    if (job->send != NULL) {
        T_CHECK(memcmp(job->send, job->send_before, job->send_span * job->element) == 0,
                "the send buffer was changed");
    }
    if (job->recv != NULL) {
        T_SAME(job->shape.dtype, job->recv, job->want, job->checked);
    }
}

void t_job_once(tw_comm_t *comm, const t_shape_t *shape)
{
    t_job_t job;

    t_shape_note(shape);
    t_job_open(&job, comm, shape, NULL, NULL);
    t_job_turn(&job, T_BLOCKING, 0);
    t_job_close(&job);
}

void t_job_agree(tw_comm_t *comm, const t_shape_t *shape)
{
    tw_request_t *plan = NULL;
    t_job_t       job;

    t_shape_note(shape);
    t_job_open(&job, comm, shape, NULL, NULL);
    T_OK(t_job_plan(&job, &plan));
    T_OK(tw_request_free(&plan));
    t_job_close(&job);
}

void t_shape_note(const t_shape_t *s)
{
    static const char *const types[] = {"", " (F64)", " (BF16)", " (F16)", ""};

    t_note("%s %s%s, count %zu, counts %zu %zu, gap %zu, root %d, %s, algorithm %d, %s%s, "
           "misaligned by %zu, seed %016llx",
           t_op_names[s->kind], s->spec != NULL ? s->spec : "",
           types[s->dtype == TW_BYTE ? TW_F16 + 1 : s->dtype], s->count, s->counts[0][0],
           s->counts[0][1], s->gap, s->root, tw_reduction_name((int)s->reduction),
           (int)s->algorithm, s->in_place ? "in place" : "two buffers",
           s->flags != 0 ? ", same" : "", s->misalign, (unsigned long long)s->seed);
}
