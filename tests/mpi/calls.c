/* SPDX-License-Identifier: BSD-3-Clause
 * tests/mpi/calls.c - a job as a call of the library in each of its three forms, random shapes, and
 * many jobs.
 */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "tests/mpi/job.h"

/* One collective in the form asked for; the arguments are those between communicator and how. */
#define CALL(verb, ...)                                                                            \
    return form == T_BLOCKING ? tw_##verb(job->comm, __VA_ARGS__, &job->how)                       \
           : form == T_NONBLOCKING                                                                 \
               ? tw_i##verb(job->comm, __VA_ARGS__, &job->how, request_p)                          \
               : tw_##verb##_init(job->comm, __VA_ARGS__, &job->how, request_p)

tw_status_t t_job_issue(t_job_t *job, t_form_t form, tw_request_t **request_p)
{
    const t_shape_t *s  = &job->shape;
    const size_t    *sd = s->gap != 0 && !job->in_place ? job->send_at : NULL;
    const size_t    *rd = s->gap != 0 ? job->recv_at : NULL;
    const void      *in = job->in_place ? TW_IN_PLACE : job->send;

    switch (s->kind) {
    case T_BCAST:
        CALL(bcast, job->recv, s->count, s->root);
    case T_ALLGATHER:
        CALL(allgather, in, job->recv, s->count);
    case T_ALLGATHERV:
        CALL(allgatherv, in, job->recv, job->recv_n, rd);
    case T_ALLTOALL:
        CALL(alltoall, in, job->recv, s->count);
    case T_ALLTOALLV:
        CALL(alltoallv, in, job->in_place ? NULL : job->send_n, sd, job->recv, job->recv_n, rd);
    case T_ALLREDUCE:
        CALL(allreduce, in, job->recv, s->count, s->reduction);
    case T_REDUCE:
        CALL(reduce, in, job->recv, s->count, s->reduction, s->root);
    case T_REDUCE_SCATTER:
        CALL(reduce_scatter, in, job->recv, s->counts[0], s->reduction);
    default:
        CALL(reduce_scatter_block, in, job->recv, s->count, s->reduction);
    }
}

tw_status_t t_job_run(t_job_t *job)
{
    return t_job_issue(job, T_BLOCKING, NULL);
}

tw_status_t t_job_start(t_job_t *job, tw_request_t **request_p)
{
    return t_job_issue(job, T_NONBLOCKING, request_p);
}

tw_status_t t_job_plan(t_job_t *job, tw_request_t **plan_p)
{
    return t_job_issue(job, T_PLAN, plan_p);
}

/* A count: often small or at the edge of a block, now and then none, seldom large. */
static size_t random_count(uint64_t *random, size_t block, size_t max)
{
    const size_t edge[] = {0, 1, 2, 3, 7, block - 1, block, block + 1, 2 * block, 3 * block + 5};
    size_t       n;

    if (t_below(random, 3) == 0) {
        n = edge[t_below(random, sizeof(edge) / sizeof(edge[0]))];
    } else {
        n = t_below(random, 1 + (max >> t_below(random, 8)));
    }
    return n <= max ? n : max;
}

void t_shape_random(t_shape_t *shape, uint64_t *random, int size, size_t max)
{
    size_t specs = 0, block;

    memset(shape, 0, sizeof(*shape));
    shape->kind  = (t_op_t)t_below(random, T_OPS);
    shape->dtype = t_below(random, 3) == 0 ? (tw_dtype_t)(1 + t_below(random, 4)) : TW_F32;
    if (shape->dtype > TW_F16) {
        shape->dtype = shape->kind < T_ALLREDUCE ? TW_BYTE : TW_F32;
    }
    const char *const *list = t_specs(shape->dtype);
    while (list[specs] != NULL) {
        specs++;
    }
    shape->spec     = list[t_below(random, specs)];
    block           = t_block(shape->spec, shape->dtype);
    shape->gap      = t_below(random, 2) * (1 + t_below(random, 9));
    shape->misalign = t_below(random, 16);
    shape->in_place = t_below(random, 3) == 0;
    shape->root     = (int)t_below(random, (size_t)size);
    shape->seed     = t_random(random);
    shape->flags    = shape->kind == T_BCAST ? (unsigned)t_below(random, 2) * TW_BCAST_SAME : 0;
    if (shape->kind >= T_ALLREDUCE) {
        shape->reduction = (tw_reduction_t)t_below(random, TW_REDUCTION_ROWS);
    }
    if (shape->kind == T_ALLREDUCE || shape->kind == T_REDUCE) {
        shape->algorithm = (tw_algorithm_t)t_below(random, 4);
        shape->count     = random_count(random, block, max);
    } else if (shape->kind == T_BCAST) {
        shape->count = random_count(random, block, max);
    } else {
        shape->count = random_count(random, block, max / (size_t)size);
    }
    for (int s = 0; s < size; s++) {
        for (int r = 0; r < size; r++) {
            shape->counts[s][r] = random_count(random, block, max / (size_t)size);
            if (shape->in_place && r < s) { /* one set of counts serves both ways */
                shape->counts[s][r] = shape->counts[r][s];
            }
        }
    }
}

void t_shape_drawn(t_shape_t *shape, t_op_t kind, uint64_t *random, size_t max)
{
    t_shape_random(shape, random, t_size, max);
    shape->kind  = kind;
    shape->flags = 0;
    if (shape->dtype == TW_BYTE && kind >= T_ALLREDUCE) {
        shape->dtype = TW_F32;
        shape->spec  = "";
    }
}

void t_job_finish(t_form_t form, tw_request_t **request_p)
{
    T_OK(form == T_PLAN ? tw_start(*request_p) : TW_OK);
    T_OK(tw_wait(request_p));
    T_OK(tw_request_free(request_p));
}

void t_job_turn(t_job_t *job, t_form_t form, uint64_t round)
{
    tw_request_t *request = NULL;

    t_job_fill(job, round);
    T_OK(t_job_issue(job, form, &request));
    t_job_finish(form, &request);
    t_job_check(job);
}

/* ---- many of them ---------------------------------------------------------------------------- */

void t_jobs_open(t_job_t *jobs, int n, tw_comm_t *comm, uint64_t *random, size_t max)
{
    t_shape_t shape;

    for (int i = 0; i < n; i++) {
        t_shape_random(&shape, random, tw_comm_size(comm), max);
        t_shape_note(&shape);
        t_job_open(&jobs[i], comm, &shape, NULL, NULL);
        t_job_fill(&jobs[i], 0);
    }
}

void t_jobs_wait(t_job_t *jobs, int n, tw_request_t **requests)
{
    for (int i = 0; i < n; i++) {
        const int k = (i * 7 + t_rank) % n;

        t_shape_note(&jobs[k].shape);
        T_OK(tw_wait(&requests[k]));
    }
}

void t_jobs_close(t_job_t *jobs, int n)
{
    for (int i = 0; i < n; i++) {
        t_shape_note(&jobs[i].shape);
        t_job_check(&jobs[i]);
        t_job_close(&jobs[i]);
    }
}

static void edges(tw_comm_t *comm, t_shape_t *shape)
{
    const size_t p = (size_t)tw_comm_size(comm), block = t_block(shape->spec, shape->dtype);
    const size_t counts[] = {0,         1,     101,           block - 1,          block + 1,
                             p * block, p + 1, p * block + 3, (p + 1) * block + 5};

    for (size_t i = 0; i < sizeof(counts) / sizeof(counts[0]); i++) {
        shape->count     = counts[i];
        shape->seed      = t_seed + i;
        shape->misalign  = (i * 3) % 8;
        shape->in_place  = (int)((i + (size_t)shape->algorithm) % 2);
        shape->reduction = (tw_reduction_t)(i % TW_REDUCTION_ROWS);
        shape->root      = (int)(i % p);
        shape->flags     = shape->kind == T_BCAST && i % 3 == 0 ? TW_BCAST_SAME : 0;
        t_job_once(comm, shape);
    }
}

void t_jobs_edges(tw_comm_t *comm, t_shape_t shape)
{
    const int movement = shape.kind < T_ALLREDUCE;

    for (int d = TW_F32; d <= TW_F16 + movement; d++) {
        shape.dtype              = d <= TW_F16 ? (tw_dtype_t)d : TW_BYTE;
        const char *const *specs = t_specs(shape.dtype);

        for (; *specs != NULL; specs++) {
            shape.spec = *specs;
            edges(comm, &shape);
        }
    }
}

/* ---- ranks that do not come ------------------------------------------------------------------ */

void t_last_stays_away(const char *const *settings, const tw_how_t *how, size_t count, int bcast)
{
    float        *x = calloc(count, sizeof(float));
    t_log_t       log;
    tw_context_t *ctx;
    tw_comm_t    *comm = t_comm_logged(settings, &log, &ctx);

    T_OK(tw_allreduce(comm, TW_IN_PLACE, x, count, TW_SUM, how));
    T_OK(tw_bcast(comm, x, count, t_size - 1, how));
    MPI_Barrier(MPI_COMM_WORLD);
    if (t_rank != t_size - 1) {
        T_STATUS(bcast ? tw_bcast(comm, x, count, t_size - 1, how)
                       : tw_allreduce(comm, TW_IN_PLACE, x, count, TW_SUM, how),
                 TW_ERR_TIMEOUT);
        T_STATUS(tw_bcast(comm, x, 1, 0, NULL), TW_ERR_DEAD);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    t_last_is_named(&log);
    t_comm_done(comm, ctx);
    free(x);
}
