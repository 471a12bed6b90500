/* SPDX-License-Identifier: BSD-3-Clause
 * scheduler/hybrid.c - creating the schedule of a hybrid run: arguments, agreement, memory.
 */
#include "config.h"

#include <stdlib.h>

#include "runtime/base/bytes.h"
#include "runtime/scheduler/hybrid.h"
#include "runtime/scheduler/same.h"
#include "runtime/transport/bind/place.h"
#include "runtime/transport/comm/progress_thread.h"

#define TW_ALIGN_UP(n) (((n) + TW_POOL_ALIGN - 1) / TW_POOL_ALIGN * TW_POOL_ALIGN)

/* What is found out about a schedule before there is memory for it. */
typedef struct tw_hybrid_sizes {
    size_t passes, longest;
    size_t buffer;     /* bytes of one                            */
    size_t buffers;    /* of examples; there are as many of gradients */
    size_t head, room; /* bytes; of room all buffers                */
} tw_hybrid_sizes_t;

static tw_status_t tw_hybrid_check_codec(tw_comm_t *comm, const char *name, const tw_codec_t *codec)
{
    tw_codec_traits_t traits;

    if (codec == NULL || (tw_codec_traits(codec, &traits) == TW_OK && traits.dtype == TW_F32)) {
        return TW_OK;
    }
    TW_ERROR(&comm->log, "tw_hybrid_create: codec %s (%s) is not of float32", name,
             tw_codec_spec(codec));
    return TW_ERR_UNSUPPORTED;
}

static tw_status_t tw_hybrid_check(tw_comm_t *comm, const tw_hybrid_config_t *config)
{
    tw_status_t status;

    if (config->scheme > TW_SCHEME_GROUP || config->features == 0 || config->examples == NULL) {
        TW_ERROR(&comm->log,
                 "tw_hybrid_create: scheme %d, %zu features%s; accepted: a scheme of "
                 "tw_scheme_t, at least 1 feature, and the examples of each rank",
                 (int)config->scheme, config->features,
                 config->examples == NULL ? ", no examples" : "");
        return TW_ERR_INVALID_ARG;
    }
    if (config->scheme == TW_SCHEME_GROUP && (config->group < 1 || config->group > comm->size)) {
        TW_ERROR(&comm->log, "tw_hybrid_create: group %d; accepted: 1 to the number of ranks, %d",
                 config->group, comm->size);
        return TW_ERR_INVALID_ARG;
    }
    status = tw_hybrid_check_codec(comm, "act", config->act);
    return status == TW_OK ? tw_hybrid_check_codec(comm, "back", config->back) : status;
}

/* Nothing that is computed from the examples may overflow. */
static bool tw_hybrid_fits(const tw_hybrid_config_t *config, int size)
{
    size_t all = 0, values;

    for (int r = 0; r < size; r++) {
        if (!tw_size_add(all, config->examples[r], &all)) {
            return false;
        }
    }
    return tw_size_mul(all, config->features, &values) && tw_interval_check(0, values) == TW_OK;
}

static tw_status_t tw_hybrid_size(const tw_comm_t *comm, const tw_hybrid_config_t *config,
                                  const int *position, tw_hybrid_sizes_t *s)
{
    const size_t ranks = (size_t)comm->size;

    if (!tw_hybrid_fits(config, comm->size)) {
        return TW_ERR_RANGE;
    }
    s->passes  = tw_hybrid_count(config->scheme, config->group, config->examples, position,
                                 comm->size, &s->longest);
    s->head    = TW_ALIGN_UP(sizeof(tw_hybrid_t) + s->passes * sizeof(tw_hybrid_pass_t) +
                             (2 * s->passes + 1) * ranks * sizeof(size_t));
    s->buffer  = TW_ALIGN_UP(s->longest * config->features * sizeof(float));
    s->buffers = ranks == 1 ? 0 : s->passes < 2 ? s->passes : 2;
    return tw_size_mul(s->buffer, 2 * s->buffers, &s->room) ? TW_OK : TW_ERR_RANGE;
}

static tw_status_t tw_hybrid_same(const tw_hybrid_t *h, const tw_hybrid_config_t *config)
{
    tw_comm_t      *comm     = h->comm;
    const int       group    = config->scheme == TW_SCHEME_GROUP ? config->group : 0;
    const int       device   = h->side.ops != NULL;
    const tw_same_t fields[] = {
        {"schemes", tw_fnv1a(TW_FNV_START, &config->scheme, sizeof(config->scheme))},
        {"groups", tw_fnv1a(TW_FNV_START, &group, sizeof(group))},
        {"features", tw_fnv1a(TW_FNV_START, &config->features, sizeof(config->features))},
        {"numbers of examples",
         tw_fnv1a(TW_FNV_START, config->examples, (size_t)comm->size * sizeof(size_t))},
        {"codecs of activations", tw_same_codec(config->act)},
        {"codecs of gradients", tw_same_codec(config->back)},
        {"kinds of memory", tw_fnv1a(TW_FNV_START, &device, sizeof(device))},
    };

    return tw_same_everywhere(comm, "tw_hybrid_create", fields, sizeof(fields) / sizeof(fields[0]));
}

static void tw_hybrid_carve(tw_hybrid_t *h, const tw_hybrid_config_t *config, const int *position,
                            const tw_hybrid_sizes_t *s)
{
    char   *at     = h->room;
    size_t *arrays = (size_t *)(void *)((char *)(h + 1) + s->passes * sizeof(tw_hybrid_pass_t));

    h->pass     = (tw_hybrid_pass_t *)(void *)(h + 1);
    h->elements = arrays + 2 * s->passes * (size_t)h->comm->size;
    tw_hybrid_schedule(config->scheme, config->group, config->examples, position, h->comm->size,
                       h->pass, arrays);
    for (int i = 0; i < 2 && s->buffers > 0; i++) {
        h->x[i]  = (float *)(void *)(at + ((size_t)i % s->buffers) * s->buffer);
        h->gx[i] = (float *)(void *)(at + (s->buffers + (size_t)i % s->buffers) * s->buffer);
    }
}

static void tw_hybrid_fill_in(tw_hybrid_t *h, const tw_hybrid_config_t *config,
                              const tw_hybrid_sizes_t *s)
{
    tw_codec_traits_t traits = {.lossless = 1};

    if (config->act != NULL) {
        tw_codec_traits(config->act, &traits);
    }
    if (config->exec != NULL) {
        h->exec     = *config->exec;
        h->act.exec = h->back.exec = &h->exec;
        if (h->side.ops != NULL) {
            h->exec.stream = h->side.own;
        }
    }
    h->act.codec  = config->act;
    h->back.codec = config->back;
    h->exact      = traits.lossless != 0;
    h->act.flags  = h->exact ? 0 : TW_BCAST_SAME;
    h->features   = config->features;
    h->passes     = s->passes;
    h->own        = config->examples[h->comm->rank];
    h->longest    = s->longest;
    h->memory     = s->buffers * 2 * s->buffer;
    h->trace      = config->trace;
}

/* What the messages of a pass need is asked for, as much as is under way at once, and left in the
 * pool, so that want of memory shows here and on all ranks. */
static tw_status_t tw_hybrid_reserve(tw_hybrid_t *h, const tw_hybrid_pass_t *pass)
{
    tw_flight_t plan[3] = {{.request = NULL}};
    tw_status_t status  = tw_hybrid_exchange(h, pass, h->gx[0], h->x[0], TW_PLAN, &plan[0]);

    for (int i = 1; i < 3 && status == TW_OK; i++) {
        status = tw_hybrid_return(h, pass, h->gx[0], h->x[0], TW_PLAN, &plan[i]);
    }
    for (int i = 0; i < 3; i++) {
        tw_request_free(&plan[i].request);
    }
    return status;
}

static tw_status_t tw_hybrid_reserve_all(tw_hybrid_t *h)
{
    const tw_hybrid_pass_t *longest[2] = {NULL, NULL}; /* of one owner, of several */
    tw_status_t             status     = TW_OK;

    for (size_t p = 0; p < h->passes; p++) {
        const int kind = tw_hybrid_owner(&h->pass[p], h->comm->size) < 0;

        if (longest[kind] == NULL || h->pass[p].examples > longest[kind]->examples) {
            longest[kind] = &h->pass[p];
        }
    }
    for (int kind = 0; kind < 2 && status == TW_OK && h->comm->size > 1; kind++) {
        status = longest[kind] != NULL ? tw_hybrid_reserve(h, longest[kind]) : TW_OK;
    }
    return status;
}

/* Groups are of ranks that are near each other, where that is known; a group of one or of all ranks
 * is the same anyhow. */
static tw_status_t tw_hybrid_positions(const tw_comm_t *comm, const tw_hybrid_config_t *config,
                                       int **position_p)
{
    const int group    = config->scheme == TW_SCHEME_GROUP ? config->group : comm->size;
    int      *position = malloc((size_t)comm->size * sizeof(*position));

    *position_p = position;
    return position != NULL ? tw_comm_groups(comm, group > 1 ? group : comm->size, position)
                            : TW_ERR_NO_MEMORY;
}

/* What each rank can find out by itself. */
static tw_status_t tw_hybrid_begin(tw_hybrid_t *h, const tw_hybrid_config_t *config,
                                   int **position_p, tw_hybrid_sizes_t *sizes)
{
    tw_status_t status = tw_hybrid_check(h->comm, config);

    if (status == TW_OK) {
        status = tw_side_open_own(&h->side, h->comm, config->exec, "tw_hybrid_create");
    }
    if (status == TW_OK) {
        status = tw_hybrid_positions(h->comm, config, position_p);
    }
    return status == TW_OK ? tw_hybrid_size(h->comm, config, *position_p, sizes) : status;
}

/* Buffers and events of this rank. */
static tw_status_t tw_hybrid_room(tw_hybrid_t *h, const tw_hybrid_sizes_t *sizes)
{
    tw_status_t status = tw_side_event_get(&h->side, &h->exchange.event);

    for (int i = 0; i < 2 && status == TW_OK; i++) {
        status = tw_side_event_get(&h->side, &h->gradient[i].event);
    }
    return status == TW_OK && sizes->room > 0 ? tw_side_get(&h->side, sizes->room, &h->room)
                                              : status;
}

/* Give back what h has beside itself. */
static void tw_hybrid_release(tw_hybrid_t *h)
{
    tw_side_settle(&h->side);
    tw_side_event_put(&h->side, h->exchange.event);
    tw_side_event_put(&h->side, h->gradient[0].event);
    tw_side_event_put(&h->side, h->gradient[1].event);
    if (h->comm->status == TW_OK) { /* else MPI may still write into it */
        tw_side_put(&h->side, h->room);
    }
    tw_side_close(&h->side);
}

/* The object itself, where all ranks could begin, describe the same and have memory. */
static tw_status_t tw_hybrid_agree(tw_hybrid_t *h, const tw_hybrid_config_t *config,
                                   const tw_hybrid_sizes_t *sizes, tw_status_t mine,
                                   void **buffer_p)
{
    tw_status_t status = tw_comm_agree(h->comm, mine);

    if (status == TW_OK) {
        status = tw_hybrid_same(h, config);
    }
    if (status == TW_OK) {
        tw_comm_enter(h->comm);
        status = tw_comm_agreed_get_if(h->comm, tw_hybrid_room(h, sizes), sizes->head, buffer_p);
        tw_comm_leave(h->comm);
    }
    return status;
}

tw_status_t tw_hybrid_create(tw_comm_t *comm, const tw_hybrid_config_t *config,
                             tw_hybrid_t **hybrid_p)
{
    tw_hybrid_t draft = {
        .comm     = comm,
        .side     = {.comm = comm},
        .exchange = {.name = "activations", .wait = "wait activations", .span = -1},
        .gradient = {{.name = "gradients", .wait = "wait gradients", .span = -1},
                     {.name = "gradients", .wait = "wait gradients", .span = -1}}};
    tw_hybrid_sizes_t sizes    = {.room = 0};
    int              *position = NULL;
    tw_status_t       status   = tw_comm_check(comm);
    tw_hybrid_t      *h;
    void             *buffer;

    if (status != TW_OK || config == NULL || hybrid_p == NULL) {
        return status != TW_OK ? status : TW_ERR_INVALID_ARG;
    }
    status = tw_hybrid_begin(&draft, config, &position, &sizes);
    status = tw_hybrid_agree(&draft, config, &sizes, status, &buffer);
    if (status != TW_OK) {
        tw_hybrid_release(&draft);
        free(position);
        return status;
    }
    h  = buffer;
    *h = draft;
    tw_hybrid_fill_in(h, config, &sizes);
    tw_hybrid_carve(h, config, position, &sizes);
    free(position);
    comm->requests++;
    status = tw_hybrid_reserve_all(h);
    if (status != TW_OK) {
        tw_hybrid_destroy(h);
        return status;
    }
    *hybrid_p = h;
    return TW_OK;
}

void tw_hybrid_destroy(tw_hybrid_t *h)
{
    tw_comm_t *comm;

    if (h == NULL) {
        return;
    }
    comm = h->comm;
    tw_hybrid_release(h);
    tw_comm_enter(comm);
    comm->requests--;
    if (comm->status == TW_OK) {
        tw_pool_put(&comm->pool, h);
    }
    tw_comm_leave(comm);
}

size_t tw_hybrid_passes(const tw_hybrid_t *h)
{
    return h != NULL ? h->passes : 0;
}

const tw_hybrid_pass_t *tw_hybrid_pass_at(const tw_hybrid_t *h, size_t pass)
{
    return h != NULL && pass < h->passes ? &h->pass[pass] : NULL;
}

size_t tw_hybrid_longest(const tw_hybrid_t *h)
{
    return h != NULL ? h->longest : 0;
}

size_t tw_hybrid_memory(const tw_hybrid_t *h)
{
    return h != NULL ? h->memory : 0;
}
