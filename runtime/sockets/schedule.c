/* SPDX-License-Identifier: BSD-3-Clause
 * sockets/schedule.c - see schedule.h.
 */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "runtime/base/dtype.h"
#include "runtime/sockets/schedule.h"

/* ---- running --------------------------------------------------------------------------------- */

/* Integers: their sum, maximum or minimum. */
#define TW_FOLD_BY(type)                                                                           \
    for (size_t i = 0; i < bytes; i += sizeof(type)) {                                             \
        type a, b;                                                                                 \
        memcpy(&a, sum + i, sizeof(type));                                                         \
        memcpy(&b, from + i, sizeof(type));                                                        \
        a = (type)(op == MPI_SUM ? a + b : (op == MPI_MAX) == (a > b) ? a : b);                    \
        memcpy(sum + i, &a, sizeof(type));                                                         \
    }                                                                                              \
    break

static void tw_fold(MPI_Datatype type, MPI_Op op, uint8_t *sum, const uint8_t *from, size_t bytes)
{
    static const tw_combination_t by[] = {[MPI_SUM]  = TW_COMBINE_ADD,
                                          [MPI_PROD] = TW_COMBINE_MULTIPLY,
                                          [MPI_MAX]  = TW_COMBINE_MAXIMUM,
                                          [MPI_MIN]  = TW_COMBINE_MINIMUM};

    switch (type) {
    case MPI_FLOAT:
        tw_dtype_f32.combine[by[op]](sum, from, bytes / sizeof(float), sum);
        break;
    case MPI_DOUBLE:
        tw_dtype_f64.combine[by[op]](sum, from, bytes / sizeof(double), sum);
        break;
    case MPI_INT:
        TW_FOLD_BY(int);
    case MPI_UINT64_T:
        TW_FOLD_BY(uint64_t);
    default:
        TW_FOLD_BY(uint8_t);
    }
}

/* Are all messages that have begun complete? */
static bool tw_schedule_complete(tw_tcp_message_t *collective)
{
    tw_tcp_schedule_t *s = collective->schedule;

    for (int i = 0; i < s->begun; i++) {
        tw_step_t *step = &s->steps[i];

        if (step->message != NULL && !step->message->done) {
            return false;
        }
        if (step->message != NULL) {
            collective->error = collective->error != 0 ? collective->error : step->message->error;
            tw_tcp_free(step->message);
            step->message = NULL;
        }
    }
    return true;
}

static void tw_schedule_begin(tw_tcp_schedule_t *s, tw_step_t *step)
{
    const uint64_t context = s->group->context + 1;

    if (step->kind == TW_STEP_FOLD) {
        tw_fold(s->type, s->op, step->at, step->from, step->bytes);
    } else if (step->kind != TW_STEP_WAIT) {
        step->message =
            step->kind == TW_STEP_SEND
                ? tw_tcp_send(s->group, step->at, step->bytes, step->peer, context, s->tag)
                : tw_tcp_recv(s->group, step->at, step->bytes, step->peer, context, s->tag);
        if (step->message == NULL) {
            tw_world_fail(s->group->world, TW_FAILED(TW_FAILED_MEMORY, 0, s->group->world->rank));
        }
    }
}

static void tw_schedule_advance(tw_tcp_message_t *collective)
{
    tw_tcp_schedule_t *s = collective->schedule;

    while (s->begun < s->count) {
        tw_step_t *step = &s->steps[s->begun];

        if (step->kind == TW_STEP_WAIT && !tw_schedule_complete(collective)) {
            return;
        }
        tw_schedule_begin(s, step);
        s->begun++;
    }
    if (tw_schedule_complete(collective)) {
        free(s->work);
        collective->done = true;
    }
}

/* ---- making ---------------------------------------------------------------------------------- */

tw_tcp_message_t *tw_schedule_new(tw_tcp_group_t *group, int steps, size_t work, MPI_Datatype type,
                                  MPI_Op op)
{
    tw_tcp_message_t  *m = tw_tcp_new(group->world, 0);
    tw_tcp_schedule_t *s = calloc(1, sizeof(*s) + (size_t)steps * sizeof(s->steps[0]));

    if (m == NULL || s == NULL || (work > 0 && (s->work = malloc(work)) == NULL)) {
        free(m);
        free(s);
        return NULL;
    }
    s->group    = group;
    s->tag      = group->sequence++;
    s->type     = type;
    s->op       = op;
    m->asked    = true;
    m->schedule = s;
    m->advance  = tw_schedule_advance;
    return m;
}

void tw_schedule_add(tw_tcp_message_t *m, tw_step_kind_t kind, int peer, const void *at,
                     size_t bytes)
{
    tw_tcp_schedule_t *s = m->schedule;

    s->steps[s->count++] =
        (tw_step_t){.kind = kind, .peer = peer, .at = (uint8_t *)(uintptr_t)at, .bytes = bytes};
}

void tw_schedule_fold(tw_tcp_message_t *m, void *sum, const void *from, size_t bytes)
{
    tw_tcp_schedule_t *s = m->schedule;

    s->steps[s->count++] =
        (tw_step_t){.kind = TW_STEP_FOLD, .at = sum, .from = from, .bytes = bytes};
}

int tw_schedule_start(tw_tcp_group_t *group, tw_tcp_message_t *m, MPI_Request *request)
{
    tw_world_t *world = group->world;
    int         error;

    *request = m;
    if (m == NULL) {
        return TW_FAILED(TW_FAILED_MEMORY, 0, world->rank);
    }
    pthread_mutex_lock(&world->lock);
    m->advance(m);
    if (!m->done) {
        tw_list_append(&world->collectives, m);
    }
    error = world->error;
    pthread_mutex_unlock(&world->lock);
    return error;
}
