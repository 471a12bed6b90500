/* SPDX-License-Identifier: BSD-3-Clause
 * tests/interpose/job.c - where the data of a call lies, and what the result must be.
 */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "tests/interpose/job.h"

/* ---- where the data lies --------------------------------------------------------------------- */

/* Units that sender s has for receiver r in the v-forms; s and r are as in t_integer. */
static int units_of(const t_call_t *call, int s, int r)
{
    int n;

    if (call->op == T_ALLGATHERV) {
        r = 0;
    } else if (call->op == T_REDUCE_SCATTER) {
        if (call->in_place) { /* MPICH 4.0 copies the result onto itself where it is the longer one
                               */
            return call->units;
        }
        s = 0;
    } else if (call->in_place && s > r) { /* MPI wants what comes to be as long as what goes */
        const int t = s;

        s = r;
        r = t;
    }
    n = (int)(t_mix(call->seed + (uint64_t)(s * 64 + r)) % (2 * (uint64_t)call->units + 1));
    /* Open MPI 4.1: MPI_Ialltoallv in place hangs where one rank has nothing at all. */
    return n == 0 && call->in_place && s == r && call->units > 0 ? 1 : n;
}

static void add(t_buffer_t *buffer, long at, long items, int who, uint64_t first)
{
    buffer->pieces[buffer->count++] = (t_piece_t){at, items, who, first};
}

/* One piece for each of n peers; v-forms leave a gap of one item and go from the last to the first.
 */
static void add_all(const t_job_t *job, t_buffer_t *buffer, int n, int own, int peers, bool sending,
                    int *counts, int *at)
{
    const t_call_t *call  = &job->call;
    const bool      v     = call->op == T_ALLGATHERV || call->op == T_ALLTOALLV;
    const int       ratio = call->unit / buffer->layout->basics;
    const bool      to_me = call->op == T_ALLTOALL || call->op == T_ALLTOALLV;
    long            next  = 0;

    for (int k = 0; k < n; k++) {
        const int p = v ? n - 1 - k : k;
        const int s = sending ? own : peers + p, r = sending ? peers + p : own;
        const int items = (v ? units_of(call, s, r) : call->units) * ratio;

        counts[p] = items;
        at[p]     = (int)next;
        add(buffer, next, items, s, to_me ? (uint64_t)r << 32 : 0);
        next += items + v;
    }
}

static void plan_movement(t_job_t *job)
{
    const t_place_t *place = &job->place;
    const int        own   = place->base + place->rank;

    if (job->call.op == T_BCAST) {
        const bool root_side = place->inter ? place->base == 0 : place->rank == job->call.root;

        if (!place->inter || !root_side || place->rank == job->call.root) {
            add(&job->recv, 0, job->recv_n, root_side ? own : place->remote_base + job->call.root,
                0);
        }
        return;
    }
    if (job->call.op == T_ALLGATHER || job->call.op == T_ALLGATHERV) {
        if (job->call.op == T_ALLGATHERV) {
            job->send_n =
                units_of(&job->call, own, 0) * (job->call.unit / job->send.layout->basics);
        }
        add(&job->send, 0, job->send_n, own, 0);
    } else {
        add_all(job, &job->send, place->remote, own, place->remote_base, true, job->send_counts,
                job->send_at);
    }
    add_all(job, &job->recv, place->remote, own, place->remote_base, false, job->recv_counts,
            job->recv_at);
}

static void plan_reduction(t_job_t *job)
{
    const t_call_t  *call  = &job->call;
    const t_place_t *place = &job->place;
    const int        own   = place->base + place->rank;
    const int        ratio = call->unit / call->recv->basics;
    long             total = job->recv_n, mine = job->recv_n, before = 0;

    if (call->op == T_REDUCE) {
        job->receives = place->rank == call->root && (!place->inter || place->base == 0);
    } else if (call->op != T_ALLREDUCE) {
        total = 0;
        for (int r = 0; r < place->size; r++) { /* both groups must come to the same total */
            const int units = call->op == T_REDUCE_SCATTER_BLOCK || place->inter
                                  ? call->units * (place->inter ? place->remote : 1)
                                  : units_of(call, 0, r);

            job->recv_counts[r] = units * ratio;
            before              = r == place->rank ? total : before;
            total += job->recv_counts[r];
        }
        mine        = job->recv_counts[place->rank];
        job->recv_n = (int)mine;
    }
    job->send_n = (int)total;
    add(&job->send, 0, total, own, 0);
    if (job->receives) {
        add(&job->recv, 0, mine, -1, (uint64_t)before * (uint64_t)call->recv->basics);
    }
}

/* ---- values ---------------------------------------------------------------------------------- */

/* MINLOC: pairs of a value, of few different ones, and the place where it stands. */
static int64_t minloc(const t_job_t *job, int who, uint64_t position)
{
    return position % 2 == 0 ? (int64_t)(t_mix(job->call.seed + position + (uint64_t)who) % 5)
                             : who * 100 + (int64_t)(position % 50);
}

static int64_t summand(const t_job_t *job, t_base_t base, int who, uint64_t position)
{
    return job->call.reduction == T_MINLOC ? minloc(job, who, position)
                                           : t_integer(base, job->call.seed, who, position);
}

/* The reduced value, and the sum of the magnitudes. */
int64_t t_reduced(const t_job_t *job, t_base_t base, uint64_t position, double *magnitude_p)
{
    const int first = job->place.remote_base;
    int64_t   r     = summand(job, base, first, position);
    int       best  = first;

    *magnitude_p = (double)llabs(r);
    for (int who = first + 1; who < first + job->place.remote; who++) {
        const int64_t x = summand(job, base, who, position);

        *magnitude_p += (double)llabs(x);
        switch (job->call.reduction) {
        case T_SUM:
        case T_USER_SUM:
            r += x;
            break;
        case T_MAX:
            r = x > r ? x : r;
            break;
        case T_BAND:
            r &= x;
            break;
        case T_MINLOC:
            best = minloc(job, who, position & ~UINT64_C(1)) <
                           minloc(job, best, position & ~UINT64_C(1))
                       ? who
                       : best;
            break;
        case T_USER_LEFT:
            break;
        }
    }
    return job->call.reduction == T_MINLOC ? minloc(job, best, position) : r;
}

/* Movement of data that nothing may change: any bits at all. */
static bool raw(const t_job_t *job)
{
    return job->call.op < T_ALLREDUCE && !t_eligible(&job->call, &job->place);
}

/* Write the values of a piece where they belong in `memory`. */
static void put(const t_job_t *job, const t_buffer_t *buffer, const t_piece_t *piece,
                unsigned char *memory)
{
    const t_layout_t *layout   = buffer->layout;
    uint64_t          position = piece->first;
    double            magnitude;

    for (long i = 0; i < piece->items; i++) {
        unsigned char *item = memory + T_GUARD + (piece->at + i) * layout->extent;

        for (int k = 0; k < layout->basics; k++, position++) {
            const t_base_t base = (t_base_t)layout->base[k];

            if (raw(job)) {
                t_write_raw(base, job->call.seed, piece->who, position, item + layout->at[k]);
            } else if (piece->who < 0) {
                t_write(base, t_reduced(job, base, position, &magnitude), item + layout->at[k]);
            } else {
                t_write(base, summand(job, base, piece->who, position), item + layout->at[k]);
            }
        }
    }
}

/* ---- opening and closing --------------------------------------------------------------------- */

static void buffer_make(t_buffer_t *buffer, uint64_t seed)
{
    long items = 0;

    for (int i = 0; i < buffer->count; i++) {
        const long end = buffer->pieces[i].at + buffer->pieces[i].items;

        items = end > items ? end : items;
    }
    buffer->bytes  = (size_t)items * (size_t)buffer->layout->extent + 2 * T_GUARD;
    buffer->place  = t_memory_get(buffer->bytes, seed);
    buffer->memory = buffer->place.here;
    buffer->want   = t_malloc(buffer->bytes);
    buffer->data   = buffer->place.mpi + T_GUARD;
    for (size_t i = 0; i < buffer->bytes; i++) {
        buffer->memory[i] = (unsigned char)(t_mix(seed) + i * 37);
    }
}

static void buffer_free(t_buffer_t *buffer)
{
    t_memory_put(&buffer->place);
    free(buffer->want);
}

/* The input is put into both; what must come out, into `want` alone. */
static void fill(t_job_t *job)
{
    t_buffer_t *send = &job->send, *recv = &job->recv;
    const bool  bcast = job->call.op == T_BCAST;

    for (int i = 0; i < send->count; i++) { /* in place: pieces are where the results will be */
        put(job, send, &send->pieces[i], job->call.in_place ? recv->memory : send->memory);
    }
    for (int i = 0; bcast && i < recv->count; i++) {
        if (recv->pieces[i].who == job->place.base + job->place.rank) {
            put(job, recv, &recv->pieces[i], recv->memory);
        }
    }
    memcpy(send->want, send->memory, send->bytes);
    memcpy(recv->want, recv->memory, recv->bytes);
    for (int i = 0; i < recv->count; i++) {
        put(job, recv, &recv->pieces[i], recv->want);
    }
}

/* In place, the input stands in the receive buffer. */
static void place_input(t_job_t *job)
{
    t_buffer_t *send = &job->send, *recv = &job->recv;
    const int   own = job->place.rank;

    if (job->call.op == T_ALLGATHER || job->call.op == T_ALLGATHERV) {
        send->pieces[0].at = job->recv_at[own];
    } else if (job->call.op == T_ALLTOALL || job->call.op == T_ALLTOALLV) {
        for (int i = 0; i < send->count; i++) {
            send->pieces[i].at = recv->pieces[i].at;
        }
    }
}

void t_job_open(t_job_t *job, const t_place_t *place, const t_call_t *call)
{
    const int own = place->base + place->rank;

    memset(job, 0, sizeof(*job));
    job->call     = *call;
    job->place    = *place;
    job->op       = t_operation(call->reduction);
    job->receives = true;
    if (call->op == T_REDUCE && call->in_place && place->rank != call->root) {
        job->call.in_place = false; /* only the root may */
    }
    job->send.layout = job->call.in_place || call->op >= T_ALLREDUCE ? call->recv : call->send;
    job->recv.layout = call->recv;
    job->send_n      = call->units * (call->unit / job->send.layout->basics);
    job->recv_n      = call->units * (call->unit / call->recv->basics);
    if (call->op < T_ALLREDUCE) {
        plan_movement(job);
    } else {
        plan_reduction(job);
    }
    if (job->call.in_place) {
        place_input(job);
    }
    buffer_make(&job->send, call->seed + (uint64_t)own);
    buffer_make(&job->recv, call->seed + 99u + (uint64_t)own);
    if (job->call.in_place && call->op >= T_REDUCE_SCATTER) {
        /* The input is longer than the result, and MPI may use the rest of it. */
        t_buffer_t *recv = &job->recv;

        buffer_free(recv);
        recv->pieces[1] = job->send.pieces[0];
        recv->count     = 2;
        buffer_make(recv, call->seed);
        recv->count     = 1;
        job->loose_from = T_GUARD + (size_t)job->recv_n * (size_t)recv->layout->extent;
        job->loose_to   = recv->bytes - T_GUARD;
    }
    fill(job);
}

void t_job_close(t_job_t *job)
{
    buffer_free(&job->send);
    buffer_free(&job->recv);
    free(job->large);
}
