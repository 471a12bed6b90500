/* SPDX-License-Identifier: BSD-3-Clause
 * tests/mpi/calls.c - a job as a call of the library in each of its three forms, and random shapes.
 */
#include "config.h"

#include <string.h>

#include "tests/mpi/job.h"

static const void *sent(const t_job_t *job)
{
    return job->in_place ? TW_IN_PLACE : job->send;
}

tw_status_t t_job_run(t_job_t *job)
{
    const t_shape_t *s = &job->shape;
    const size_t *sd = s->gap != 0 ? job->send_at : NULL, *rd = s->gap != 0 ? job->recv_at : NULL;
    const void   *in = sent(job);

    switch (s->kind) {
    case T_BCAST:
        return tw_bcast(job->comm, job->recv, s->count, s->root, &job->how);
    case T_ALLGATHER:
        return tw_allgather(job->comm, in, job->recv, s->count, &job->how);
    case T_ALLGATHERV:
        return tw_allgatherv(job->comm, in, job->recv, job->recv_n, rd, &job->how);
    case T_ALLTOALL:
        return tw_alltoall(job->comm, in, job->recv, s->count, &job->how);
    case T_ALLTOALLV:
        return tw_alltoallv(job->comm, in, job->in_place ? NULL : job->send_n,
                            job->in_place ? NULL : sd, job->recv, job->recv_n, rd, &job->how);
    case T_ALLREDUCE:
        return tw_allreduce(job->comm, in, job->recv, s->count, s->reduction, &job->how);
    case T_REDUCE:
        return tw_reduce(job->comm, in, job->recv, s->count, s->reduction, s->root, &job->how);
    case T_REDUCE_SCATTER:
        return tw_reduce_scatter(job->comm, in, job->recv, s->counts[0], s->reduction, &job->how);
    default:
        return tw_reduce_scatter_block(job->comm, in, job->recv, s->count, s->reduction, &job->how);
    }
}

tw_status_t t_job_start(t_job_t *job, tw_request_t **request_p)
{
    const t_shape_t *s = &job->shape;
    const size_t *sd = s->gap != 0 ? job->send_at : NULL, *rd = s->gap != 0 ? job->recv_at : NULL;
    const void   *in = sent(job);

    switch (s->kind) {
    case T_BCAST:
        return tw_ibcast(job->comm, job->recv, s->count, s->root, &job->how, request_p);
    case T_ALLGATHER:
        return tw_iallgather(job->comm, in, job->recv, s->count, &job->how, request_p);
    case T_ALLGATHERV:
        return tw_iallgatherv(job->comm, in, job->recv, job->recv_n, rd, &job->how, request_p);
    case T_ALLTOALL:
        return tw_ialltoall(job->comm, in, job->recv, s->count, &job->how, request_p);
    case T_ALLTOALLV:
        return tw_ialltoallv(job->comm, in, job->in_place ? NULL : job->send_n,
                             job->in_place ? NULL : sd, job->recv, job->recv_n, rd, &job->how,
                             request_p);
    case T_ALLREDUCE:
        return tw_iallreduce(job->comm, in, job->recv, s->count, s->reduction, &job->how,
                             request_p);
    case T_REDUCE:
        return tw_ireduce(job->comm, in, job->recv, s->count, s->reduction, s->root, &job->how,
                          request_p);
    case T_REDUCE_SCATTER:
        return tw_ireduce_scatter(job->comm, in, job->recv, s->counts[0], s->reduction, &job->how,
                                  request_p);
    default:
        return tw_ireduce_scatter_block(job->comm, in, job->recv, s->count, s->reduction, &job->how,
                                        request_p);
    }
}

tw_status_t t_job_plan(t_job_t *job, tw_request_t **plan_p)
{
    const t_shape_t *s = &job->shape;
    const size_t *sd = s->gap != 0 ? job->send_at : NULL, *rd = s->gap != 0 ? job->recv_at : NULL;
    const void   *in = sent(job);

    switch (s->kind) {
    case T_BCAST:
        return tw_bcast_init(job->comm, job->recv, s->count, s->root, &job->how, plan_p);
    case T_ALLGATHER:
        return tw_allgather_init(job->comm, in, job->recv, s->count, &job->how, plan_p);
    case T_ALLGATHERV:
        return tw_allgatherv_init(job->comm, in, job->recv, job->recv_n, rd, &job->how, plan_p);
    case T_ALLTOALL:
        return tw_alltoall_init(job->comm, in, job->recv, s->count, &job->how, plan_p);
    case T_ALLTOALLV:
        return tw_alltoallv_init(job->comm, in, job->in_place ? NULL : job->send_n,
                                 job->in_place ? NULL : sd, job->recv, job->recv_n, rd, &job->how,
                                 plan_p);
    case T_ALLREDUCE:
        return tw_allreduce_init(job->comm, in, job->recv, s->count, s->reduction, &job->how,
                                 plan_p);
    case T_REDUCE:
        return tw_reduce_init(job->comm, in, job->recv, s->count, s->reduction, s->root, &job->how,
                              plan_p);
    case T_REDUCE_SCATTER:
        return tw_reduce_scatter_init(job->comm, in, job->recv, s->counts[0], s->reduction,
                                      &job->how, plan_p);
    default:
        return tw_reduce_scatter_block_init(job->comm, in, job->recv, s->count, s->reduction,
                                            &job->how, plan_p);
    }
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
    shape->dtype            = t_below(random, 6) == 0 ? TW_F64 : TW_F32;
    const char *const *list = shape->dtype == TW_F64 ? t_specs_f64 : t_specs_f32;
    while (list[specs] != NULL) {
        specs++;
    }
    shape->kind = (t_kind_t)t_below(random, T_KINDS);
    shape->spec = list[t_below(random, specs)];
    block       = shape->spec[0] != '\0' ? tw_codec_block(t_codec(shape->spec, shape->dtype)) : 1;
    shape->gap  = t_below(random, 2) * (1 + t_below(random, 9));
    shape->misalign = t_below(random, 16);
    shape->in_place = t_below(random, 3) == 0;
    shape->root     = (int)t_below(random, (size_t)size);
    shape->seed     = t_random(random);
    shape->flags    = shape->kind == T_BCAST ? (unsigned)t_below(random, 2) * TW_BCAST_SAME : 0;
    if (shape->kind >= T_ALLREDUCE) {
        shape->reduction = (tw_reduction_t)t_below(random, 2);
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
