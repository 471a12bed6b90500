/* SPDX-License-Identifier: BSD-3-Clause
 * scheduler/hybrid.c - creating the schedule of a hybrid run: arguments, agreement, memory.
 */
#include "config.h"

#include <stdlib.h>

#include "runtime/base/pool.h"
#include "runtime/scheduler/hybrid.h"

#define TW_ALIGN_UP(n) (((n) + TW_POOL_ALIGN - 1) / TW_POOL_ALIGN * TW_POOL_ALIGN)

/* What is found out about a schedule before there is memory for it. */
typedef struct tw_hybrid_sizes {
    size_t passes, longest;
    size_t buffer;     /* bytes of one                            */
    size_t buffers;    /* of examples; there are as many of gradients */
    size_t head, room; /* bytes; of room all buffers                */
} tw_hybrid_sizes_t;

static tw_status_t tw_hybrid_check(tw_comm_t *comm, const tw_hybrid_config_t *config)
{
    tw_status_t status;

    if (config->scheme > TW_SCHEME_GROUP || config->features == 0 || config->examples == NULL) {
        TW_ERROR(tw_comm_log(comm),
                 "tw_hybrid_create: scheme %d, %zu features%s; accepted: a scheme of "
                 "tw_scheme_t, at least 1 feature, and the examples of each rank",
                 (int)config->scheme, config->features,
                 config->examples == NULL ? ", no examples" : "");
        return TW_ERR_INVALID_ARG;
    }
    if (config->scheme == TW_SCHEME_GROUP &&
        (config->group < 1 || config->group > tw_comm_size(comm))) {
        TW_ERROR(tw_comm_log(comm),
                 "tw_hybrid_create: group %d; accepted: 1 to the number of ranks, %d",
                 config->group, tw_comm_size(comm));
        return TW_ERR_INVALID_ARG;
    }
    status = tw_codec_check_f32(comm, "tw_hybrid_create", config->act);
    return status == TW_OK ? tw_codec_check_f32(comm, "tw_hybrid_create", config->back) : status;
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
    const size_t ranks = (size_t)tw_comm_size(comm);

    if (!tw_hybrid_fits(config, tw_comm_size(comm))) {
        return TW_ERR_RANGE;
    }
    s->passes  = tw_hybrid_count(config->scheme, config->group, config->examples, position,
                                 tw_comm_size(comm), &s->longest);
    s->head    = TW_ALIGN_UP(sizeof(tw_hybrid_t) + s->passes * sizeof(tw_hybrid_pass_t) +
                             (2 * s->passes + 1) * ranks * sizeof(size_t));
    s->buffer  = TW_ALIGN_UP(s->longest * config->features * sizeof(float));
    s->buffers = ranks == 1 ? 0 : s->passes < 2 ? s->passes : 2;
    return tw_size_mul(s->buffer, 2 * s->buffers, &s->room) ? TW_OK : TW_ERR_RANGE;
}

static tw_status_t tw_hybrid_same(const tw_hybrid_t *h, const tw_hybrid_config_t *config)
{
    const int       group    = config->scheme == TW_SCHEME_GROUP ? config->group : 0;
    const tw_same_t fields[] = {
        {"schemes", TW_HASH(TW_FNV_START, config->scheme)},
        {"groups", TW_HASH(TW_FNV_START, group)},
        {"features", TW_HASH(TW_FNV_START, config->features)},
        {"numbers of examples",
         tw_fnv1a(TW_FNV_START, config->examples, (size_t)tw_comm_size(h->comm) * sizeof(size_t))},
        {"codecs of activations", tw_same_text(TW_FNV_START, tw_codec_spec_of(config->act))},
        {"codecs of gradients", tw_same_text(TW_FNV_START, tw_codec_spec_of(config->back))},
    };

    return tw_same_everywhere(&h->side, "tw_hybrid_create", fields,
                              sizeof(fields) / sizeof(fields[0]));
}

static void tw_hybrid_carve(tw_hybrid_t *h, const tw_hybrid_config_t *config, const int *position,
                            const tw_hybrid_sizes_t *s)
{
    char   *at     = h->room;
    size_t *arrays = (size_t *)(void *)((char *)(h + 1) + s->passes * sizeof(tw_hybrid_pass_t));

    h->pass     = (tw_hybrid_pass_t *)(void *)(h + 1);
    h->elements = arrays + 2 * s->passes * (size_t)tw_comm_size(h->comm);
    tw_hybrid_schedule(config->scheme, config->group, config->examples, position,
                       tw_comm_size(h->comm), h->pass, arrays);
    for (int i = 0; i < 2 && s->buffers > 0; i++) {
        h->x[i]  = (float *)(void *)(at + ((size_t)i % s->buffers) * s->buffer);
        h->gx[i] = (float *)(void *)(at + (s->buffers + (size_t)i % s->buffers) * s->buffer);
    }
}

static void tw_hybrid_fill_in(tw_hybrid_t *h, const tw_hybrid_config_t *config,
                              const tw_hybrid_sizes_t *s)
{
    h->act.exec   = tw_side_exec(&h->side);
    h->back.exec  = tw_side_exec(&h->side);
    h->act.codec  = config->act;
    h->back.codec = config->back;
    h->exact      = !tw_codec_lossy(config->act);
    h->act.flags  = h->exact ? 0 : TW_BCAST_SAME;
    h->features   = config->features;
    h->passes     = s->passes;
    h->own        = config->examples[tw_comm_rank(h->comm)];
    h->longest    = s->longest;
    h->memory     = s->buffers * 2 * s->buffer;
    h->trace      = config->trace;
}

/* What the messages of a pass need is asked for, as much as is under way at once, and left in the
 * pool, so that want of memory shows here and on all ranks. */
static tw_status_t tw_hybrid_reserve(tw_hybrid_t *h, const tw_hybrid_pass_t *pass)
{
    tw_flight_t plan[3] = {{.request = NULL}};
    tw_status_t status  = tw_hybrid_exchange(h, pass, h->gx[0], h->x[0], true, &plan[0]);

    for (int i = 1; i < 3 && status == TW_OK; i++) {
        status = tw_hybrid_return(h, pass, h->gx[0], h->x[0], true, &plan[i]);
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
        const int kind = tw_hybrid_owner(&h->pass[p], tw_comm_size(h->comm)) < 0;

        if (longest[kind] == NULL || h->pass[p].examples > longest[kind]->examples) {
            longest[kind] = &h->pass[p];
        }
    }
    for (int kind = 0; kind < 2 && status == TW_OK && tw_comm_size(h->comm) > 1; kind++) {
        status = longest[kind] != NULL ? tw_hybrid_reserve(h, longest[kind]) : TW_OK;
    }
    return status;
}

/* Groups are of ranks that are near each other, where that is known; a group of one or of all ranks
 * is the same anyhow. */
static tw_status_t tw_hybrid_positions(const tw_comm_t *comm, const tw_hybrid_config_t *config,
                                       int **position_p)
{
    const int group    = config->scheme == TW_SCHEME_GROUP ? config->group : tw_comm_size(comm);
    int      *position = malloc((size_t)tw_comm_size(comm) * sizeof(*position));

    *position_p = position;
    return position != NULL ? tw_comm_groups(comm, group > 1 ? group : tw_comm_size(comm), position)
                            : TW_ERR_NO_MEMORY;
}

/* What each rank can find out by itself. */
static tw_status_t tw_hybrid_begin(tw_hybrid_t *h, const tw_hybrid_config_t *config,
                                   int **position_p, tw_hybrid_sizes_t *sizes)
{
    tw_status_t status = tw_hybrid_check(h->comm, config);

    if (status == TW_OK) {
        status = tw_side_open(&h->side, h->comm, config->exec, "tw_hybrid_create");
    }
    if (status == TW_OK) {
        status = tw_hybrid_positions(h->comm, config, position_p);
    }
    return status == TW_OK ? tw_hybrid_size(h->comm, config, *position_p, sizes) : status;
}

/* Buffers and events of this rank. */
static tw_status_t tw_hybrid_room(tw_hybrid_t *h, const tw_hybrid_sizes_t *sizes)
{
    tw_status_t status = TW_OK;

    h->exchange.flight.event    = tw_side_event(&h->side, &status);
    h->gradient[0].flight.event = tw_side_event(&h->side, &status);
    h->gradient[1].flight.event = tw_side_event(&h->side, &status);
    if (sizes->room > 0) {
        h->room = tw_side_get(&h->side, TW_SIDE_DATA, sizes->room, &status);
    }
    return status;
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
        status = tw_side_agreed_get(&h->side, tw_hybrid_room(h, sizes), sizes->head, buffer_p);
    }
    return status;
}

tw_status_t tw_hybrid_create(tw_comm_t *comm, const tw_hybrid_config_t *config,
                             tw_hybrid_t **hybrid_p)
{
    tw_hybrid_t draft = {
        .comm     = comm,
        .side     = {.comm = comm},
        .exchange = {.name = "activations", .wait = "wait activations", .flight = {.span = -1}},
        .gradient = {{.name = "gradients", .wait = "wait gradients", .flight = {.span = -1}},
                     {.name = "gradients", .wait = "wait gradients", .flight = {.span = -1}}}};
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
        tw_side_close(&draft.side);
        free(position);
        return status;
    }
    h  = buffer;
    *h = draft;
    tw_hybrid_fill_in(h, config, &sizes);
    tw_hybrid_carve(h, config, position, &sizes);
    free(position);
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
    tw_side_stream_t side;

    if (h != NULL) {
        side = h->side; /* h is one of its buffers */
        tw_side_close(&side);
    }
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
