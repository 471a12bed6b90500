/* SPDX-License-Identifier: BSD-3-Clause
 * tests/mpi/absolute.c - abs:E beside the same collective of doubles without loss: no value is ever
 * further off than E, whatever jumps, is not finite or cancels; and what it costs.
 */
#include "config.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/mpi/absolute.h"
#include "tests/mpi/job.h"

#define COUNT 1500
#define CALLS 24
#define BOUND 1e-3

/* What happens to a field that else changes slowly. */
enum { JUMP = 5, NOT_A_NUMBER = 9, INFINITE = 13, CANCELS = 17, LARGER = 21 };

/* Element i of a rank in a call; all ranks know all. */
static double value(int rank, int call, size_t i)
{
    const double slow = sin(0.01 * (double)i + 0.1 * call + rank) +
                        1e-6 * (double)(t_mix(t_seed + 977 * i + 31 * (size_t)call) % 1000);

    switch (call) {
    case JUMP:
        return 1e6 * slow;
    case NOT_A_NUMBER:
        return rank == t_size - 1 && i == 77 ? NAN : slow;
    case INFINITE:
        return rank == 0 && i % 100 == 7 ? -INFINITY : slow;
    case CANCELS: /* large terms, small sums */
        return slow + (rank % 2 == 0 ? 1e4 : -1e4) * (rank < t_size / 2 * 2 ? 1 : 0);
    default:
        return call > LARGER ? slow * pow(1.3, call - LARGER) : slow;
    }
}

static void put(t_job_t *job, int call)
{
    unsigned char *const buffers[] = {job->send, job->recv};
    const size_t         spans[]   = {job->send_span, job->recv_span};

    for (int b = 0; b < 2; b++) {
        for (size_t i = 0; buffers[b] != NULL && i < spans[b]; i++) {
            const float  f = (float)value(t_rank, call, i);
            const double d = (double)f;

            memcpy(buffers[b] + i * job->element, job->element == 8 ? (const void *)&d : &f,
                   job->element);
        }
    }
}

/* Within the bound, and the rounding of sums in the type. */
static void compare(const t_job_t *job, const t_job_t *exact, int call)
{
    const double epsilon = job->element == 8 ? 0x1p-53 : 0x1p-24;
    const double slack   = job->shape.kind >= T_ALLREDUCE ? epsilon * t_size * t_size : 0;

    for (size_t i = 0; i < exact->recv_span; i++) {
        const double got  = t_value(job->shape.dtype, job->recv, i);
        const double want = t_value(TW_F64, exact->recv, i);
        const double most = call == JUMP ? 2e6 : call == CANCELS ? 2e4 : 10;

        if (isnan(want) ? !isnan(got)
                        : !(got == want || fabs(got - want) <= BOUND + slack * most)) {
            T_CHECK(0, "value %zu is %.17g, not %.17g", i, got, want);
            return;
        }
    }
}

static uint64_t sent(tw_comm_t *comm)
{
    tw_stats_t stats;

    T_OK(tw_comm_stats(comm, &stats));
    T_OK(tw_comm_stats_reset(comm));
    return stats.bytes_sent;
}

static void keeps(tw_comm_t *comm, const t_shape_t *shape, t_form_t form)
{
    t_shape_t doubles = *shape, bounded = *shape;
    t_job_t   job, exact;

    doubles.dtype = TW_F64;
    doubles.spec  = "bitpack:8";
    bounded.spec  = t_spec_as_is(shape->dtype);
    t_job_open(&job, comm, &bounded, NULL, NULL);
    t_job_open(&exact, comm, &doubles, NULL, NULL);
    job.how.codec = t_codec("abs:1e-3", shape->dtype);
    for (int call = 0; call < CALLS; call++) {
        tw_request_t *request = NULL;
        uint64_t      full, ours;

        t_note("%s of %s, %s%s, form %d, algorithm %d, call %d", t_op_names[shape->kind],
               shape->dtype == TW_F64 ? "double" : "float",
               shape->in_place ? "in place" : "two buffers", shape->flags != 0 ? ", same" : "",
               (int)form, (int)shape->algorithm, call);
        put(&exact, call);
        put(&job, call);
        (void)sent(comm);
        T_OK(t_job_run(&exact));
        full = sent(comm);
        T_OK(t_job_issue(&job, form, &request));
        t_job_finish(form, &request);
        ours = sent(comm);
        compare(&job, &exact, call);
        if (call == JUMP - 1 && form == T_BLOCKING && shape->algorithm == TW_ALGORITHM_TWO_PASS) {
            T_CHECK(10 * ours <= 4 * full, "%llu bytes, of doubles %llu", (unsigned long long)ours,
                    (unsigned long long)full);
        }
        if (shape->kind == T_ALLREDUCE || shape->kind == T_ALLGATHER ||
            (shape->kind == T_BCAST && shape->flags != 0)) {
            T_SAME_EVERYWHERE(MPI_COMM_WORLD, job.recv, job.recv_span * job.element);
        }
    }
    t_job_close(&job);
    t_job_close(&exact);
}

void t_absolute_bound_is_kept(void)
{
    static const char *const pairs[] = {"NODE_RANKS=2", NULL};

    for (int layout = 0; layout < 2; layout++) {
        tw_context_t *ctx;
        tw_comm_t    *comm = t_comm_under(layout == 0 ? NULL : pairs, MPI_COMM_WORLD, &ctx);

        for (int k = layout; k < 4 * T_OPS; k += 1 + 3 * layout) {
            t_shape_t shape = {.kind     = (t_op_t)(k / 4),
                               .dtype    = k % 2 == 0 ? TW_F32 : TW_F64,
                               .count    = COUNT,
                               .in_place = k / 2 % 2,
                               .root     = t_size / 2,
                               .gap      = (size_t)(k % 3),
                               .seed     = t_seed};

            if (shape.kind == T_BCAST && k / 2 % 2 == 1) {
                shape.flags = TW_BCAST_SAME;
            }
            if (shape.kind >= T_ALLREDUCE) {
                shape.reduction = k % 2 == 0 ? TW_SUM : TW_AVERAGE;
            }
            for (int s = 0; s < t_size; s++) {
                for (int r = 0; r < t_size; r++) {
                    shape.counts[s][r] = (size_t)(100 + 13 * r + (shape.in_place ? 13 * s : 7 * s));
                }
            }
            keeps(comm, &shape,
                  layout == 0 ? (t_form_t)(k % 2 == 0 ? T_BLOCKING : k / 2 % T_FORMS) : T_BLOCKING);
        }
        t_comm_done(comm, ctx);
    }
    for (int algorithm = TW_ALGORITHM_DIRECT; algorithm <= TW_ALGORITHM_GRID; algorithm++) {
        const t_shape_t shape = {.kind      = T_ALLREDUCE,
                                 .dtype     = TW_F64,
                                 .count     = COUNT,
                                 .algorithm = (tw_algorithm_t)algorithm};
        tw_context_t   *ctx;
        tw_comm_t      *comm = t_comm_under(NULL, MPI_COMM_WORLD, &ctx);

        keeps(comm, &shape, T_BLOCKING);
        t_comm_done(comm, ctx);
    }
}

/* Whole steps arrive as they are, by every algorithm. */
void t_absolute_sums_are_exact(void)
{
    const tw_algorithm_t algorithms[] = {TW_ALGORITHM_AUTO, TW_ALGORITHM_DIRECT,
                                         TW_ALGORITHM_TWO_PASS, TW_ALGORITHM_GRID};
    tw_context_t        *ctx;
    tw_comm_t           *comm = t_comm_under(NULL, MPI_COMM_WORLD, &ctx);
    float               *x = t_malloc(COUNT * sizeof(*x)), *y = t_malloc(COUNT * sizeof(*y));
    char                 spec[40];

    snprintf(spec, sizeof(spec), "abs:%g", t_size / 2.0 + (t_size == 1));
    for (int call = 0; call < 12; call++) {
        const tw_how_t how = {.codec = t_codec(spec, TW_F32), .algorithm = algorithms[call % 4]};

        for (size_t i = 0; i < COUNT; i++) {
            x[i] = (float)(t_mix(t_seed + 1000 * i + (size_t)t_rank) % 2001) - 1000.0f;
        }
        T_OK(tw_allreduce(comm, x, y, COUNT, TW_SUM, &how));
        for (size_t i = 0; i < COUNT; i++) {
            float want = 0;

            for (int r = 0; r < t_size; r++) {
                want += (float)(t_mix(t_seed + 1000 * i + (size_t)r) % 2001) - 1000.0f;
            }
            if (y[i] != want) {
                T_CHECK(0, "call %d: %g, not %g", call, (double)y[i], (double)want);
                break;
            }
        }
    }
    free(x);
    free(y);
    t_comm_done(comm, ctx);
}

/* A bound below the rounding of the values: without loss, said once; feedback is refused. */
void t_absolute_limits(void)
{
    const tw_how_t how      = {.codec = t_codec("abs:1e-20", TW_F32)};
    tw_how_t       feedback = how;
    t_log_t        log      = {0};
    tw_context_t  *ctx;
    tw_comm_t     *comm = t_comm_logged(NULL, &log, &ctx);
    static float   x[COUNT];

    for (int call = 0; call < 5; call++) {
        for (size_t i = 0; i < COUNT; i++) {
            x[i] = 1.0f + (float)i;
        }
        T_OK(tw_allreduce(comm, TW_IN_PLACE, x, COUNT, TW_SUM, &how));
        T_CHECK(x[COUNT - 1] == (float)t_size * (float)COUNT, "%g", (double)x[COUNT - 1]);
    }
    T_CHECK(log.lines == (t_rank == 0 && t_size > 1), "%d lines: %s", log.lines, log.text);
    T_OK(tw_feedback_create(comm, "x", TW_F32, COUNT, &feedback.feedback));
    T_STATUS(tw_allreduce(comm, TW_IN_PLACE, x, COUNT, TW_SUM, &feedback), TW_ERR_INVALID_ARG);
    tw_feedback_destroy(feedback.feedback);
    t_comm_done(comm, ctx);
}
