/* SPDX-License-Identifier: BSD-3-Clause
 * scheduler/statistics_make.c - groups of ranks that share batch statistics: their communicators,
 * and memory for the largest exchange, by agreement of all ranks.
 */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "runtime/policy/model.h"
#include "runtime/scheduler/statistics.h"

/* Bytes of `each` elements of this rank and of all ranks; false where they exceed memory. */
static bool tw_statistics_bytes(size_t each, int ranks, size_t element, size_t *bytes)
{
    return tw_size_mul(each, element, bytes) && tw_size_mul(*bytes, (size_t)ranks + 1, bytes) &&
           *bytes <= PTRDIFF_MAX;
}

static tw_status_t tw_statistics_check(const tw_comm_t *comm, const tw_statistics_config_t *config)
{
    const int size = tw_comm_size(comm);
    size_t    most, bytes;

    if (config->group < 0) {
        return TW_ERR_INVALID_ARG;
    }
    if (!tw_size_mul(config->channels, 2, &most) || !tw_size_add(most, config->layers, &most) ||
        !tw_size_mul(most, TW_WORDS, &bytes) ||
        !tw_statistics_bytes(most, size, sizeof(double), &bytes) ||
        !tw_statistics_bytes(config->states, size, sizeof(float), &bytes)) {
        return TW_ERR_RANGE;
    }
    return TW_OK;
}

/* Buffers for numbers of this rank and of all ranks, whose sizes were checked; collective. */
static tw_status_t tw_statistics_room(tw_side_stream_t *side, size_t mine, size_t all,
                                      void **mine_p, void **all_p)
{
    const tw_status_t status = tw_side_agreed_get(side, TW_OK, mine + all, mine_p);

    if (status == TW_OK) {
        memset(*mine_p, 0, mine);
        *all_p = (char *)*mine_p + mine;
    }
    return status;
}

/* Bytes of a rank's longest block in an all-gather that nodes send in one message each: these need
 * more memory than somewhat longer ones. */
static size_t tw_statistics_bundled(const tw_comm_t *comm)
{
    return TW_BUNDLE_MOST / (size_t)tw_comm_layout(comm)->most;
}

/* As much as there will ever be is exchanged, of nothing: later exchanges need no more memory, on
 * which all ranks would have to agree first. */
static tw_status_t tw_statistics_try(tw_comm_t *comm, const void *mine, void *all, size_t bytes)
{
    const size_t bundled = tw_statistics_bundled(comm);
    tw_status_t  status  = TW_OK;

    for (int i = 0; i < 2 && status == TW_OK; i++) {
        tw_request_t *request = NULL;
        const size_t  tried   = i == 1 && bundled < bytes ? bundled : bytes;

        status = tw_iallgather(comm, mine, all, tried / sizeof(float), NULL, &request);
        status = status == TW_OK ? tw_wait(&request) : status;
    }
    return status;
}

static tw_status_t tw_statistics_try_shares(tw_statistics_t *s)
{
    const size_t each    = (tw_statistics_bundled(s->comm) / sizeof(double) - 1) / 2;
    const size_t bundled = each * (size_t)s->ranks, most = s->config.channels;
    tw_status_t  status = TW_OK;

    for (int i = 0; i < 2 && status == TW_OK; i++) {
        s->layer[0] = (tw_statistics_layer_t){NULL, i == 1 && bundled < most ? bundled : most};
        s->layers   = 1;
        s->units    = tw_layer_units(&s->layer[0]);
        memset(s->mine, 0, tw_statistics_most(&s->config) * sizeof(double));
        status = tw_shares_exchange(s);
    }
    return status;
}

/* For exchanges inside the group; collective over it. */
static tw_status_t tw_statistics_room_inside(tw_statistics_t *s)
{
    const size_t most = tw_statistics_most(&s->config) * sizeof(double);
    const size_t all  = most * (size_t)s->ranks;
    void        *mine = NULL, *room = NULL;
    tw_status_t  status = s->own != NULL ? tw_side_open(&s->inside, s->own, NULL, NULL) : TW_OK;
    size_t       shares;

    if (status != TW_OK || s->comm == NULL) {
        return status;
    }
    shares  = tw_comm_in_shares(s->comm, most)
                  ? tw_shares_room(&s->config, s->ranks) * sizeof(double)
                  : 0;
    status  = tw_statistics_room(s->own != NULL ? &s->inside : &s->side, most,
                                all > shares ? all : shares, &mine, &room);
    s->mine = s->pinned != NULL ? s->pinned : mine;
    s->all  = room;
    if (status == TW_OK) {
        status = tw_statistics_try(s->comm, mine, room, most);
    }
    return status == TW_OK && shares > 0 ? tw_statistics_try_shares(s) : status;
}

/* For running statistics, over all ranks. */
static tw_status_t tw_statistics_room_for_states(tw_statistics_t *s)
{
    const size_t bytes = s->config.states * sizeof(float);
    void        *mine = NULL, *all = NULL;
    tw_status_t  status;

    if (bytes == 0 || tw_comm_size(s->world) == 1) {
        return TW_OK;
    }
    status =
        tw_statistics_room(&s->side, bytes, bytes * (size_t)tw_comm_size(s->world), &mine, &all);
    s->my_states =
        s->pinned != NULL ? (void *)((double *)s->pinned + tw_statistics_most(&s->config)) : mine;
    s->states = all;
    return status == TW_OK ? tw_statistics_try(s->world, mine, all, bytes) : status;
}

/* What numbers in device memory need beside that, on each rank by itself. */
static tw_status_t tw_statistics_room_beside(tw_statistics_t *s)
{
    const size_t numbers = tw_statistics_most(&s->config) * sizeof(double);
    const size_t states  = s->config.states * sizeof(float);
    tw_status_t  status  = tw_side_open(&s->side, s->world, s->config.exec, NULL);

    s->flight.event = tw_side_event(&s->side, &status);
    s->pinned       = tw_side_get(&s->side, TW_SIDE_PINNED, numbers + states, &status);
    return status;
}

/* Our buffers may have come from what was kept for operations: keep as much again. */
static tw_status_t tw_statistics_replace(tw_statistics_t *s)
{
    tw_status_t status = tw_comm_restock(s->world);

    if (status == TW_OK && s->own != NULL) {
        status = tw_comm_restock(s->own);
    }
    return tw_comm_agree(s->world, status);
}

static tw_status_t tw_statistics_release(tw_statistics_t *s)
{
    tw_status_t status = TW_OK;

    if (s->own != NULL) {
        tw_comm_follow(s->own, s->world);
    }
    tw_side_close(&s->side);
    tw_side_close(&s->inside);
    if (s->own != NULL) {
        status = tw_comm_destroy(s->own);
    }
    free(s->words_out);
    free(s->layer);
    free(s);
    return status;
}

static tw_statistics_t *tw_statistics_make(tw_comm_t *comm, const tw_statistics_config_t *config)
{
    tw_statistics_t *s = calloc(1, sizeof(*s));
    int              first;

    if (s == NULL) {
        return NULL;
    }
    s->world         = comm;
    s->side          = (tw_side_stream_t){.comm = comm};
    s->config        = *config;
    s->config.layers = config->layers > 0 ? config->layers : 1;
    if (s->config.group == 0 || s->config.group > tw_comm_size(comm)) {
        s->config.group = tw_comm_size(comm);
    }
    first = tw_comm_rank(comm) / s->config.group * s->config.group;
    s->ranks =
        tw_comm_size(comm) - first < s->config.group ? tw_comm_size(comm) - first : s->config.group;
    s->layer     = calloc(s->config.layers, sizeof(*s->layer));
    s->words_out = calloc(3 * (size_t)s->ranks, sizeof(*s->words_out));
    if (s->layer == NULL || s->words_out == NULL) {
        free(s->words_out);
        free(s->layer);
        free(s);
        return NULL;
    }
    s->words_in = s->words_out + s->ranks;
    s->first_in = s->words_in + s->ranks;
    return s;
}

static tw_status_t tw_statistics_same(const tw_statistics_t *s)
{
    const size_t    sizes[]  = {s->config.layers, s->config.channels, s->config.states};
    const tw_same_t fields[] = {
        {"groups", TW_HASH(TW_FNV_START, s->config.group)},
        {"sizes of exchanges", TW_HASH(TW_FNV_START, sizes)},
    };

    return tw_same_everywhere(&s->side, "tw_statistics_create", fields,
                              sizeof(fields) / sizeof(fields[0]));
}

/* Communicators and memory, where all ranks have begun and want the same. */
static tw_status_t tw_statistics_complete(tw_statistics_t *s)
{
    tw_comm_t  *comm   = s->world;
    tw_status_t status = TW_OK;

    if (s->config.group > 1 && s->config.group < tw_comm_size(comm)) {
        status = tw_comm_split(
            comm, s->ranks > 1 ? tw_comm_rank(comm) / s->config.group : MPI_UNDEFINED, &s->own);
    }
    s->comm = s->config.group == tw_comm_size(comm) && tw_comm_size(comm) > 1 ? comm : s->own;
    if (status == TW_OK) {
        status = tw_statistics_room_inside(s);
    }
    status = tw_comm_agree(comm, status); /* groups may fare differently */
    if (status == TW_OK) {
        status = tw_statistics_room_for_states(s);
    }
    return status == TW_OK ? tw_statistics_replace(s) : status;
}

tw_status_t tw_statistics_create(tw_comm_t *comm, const tw_statistics_config_t *config,
                                 tw_statistics_t **statistics_p)
{
    tw_status_t      status = tw_comm_check(comm);
    tw_statistics_t *s      = NULL;

    if (status != TW_OK || config == NULL || statistics_p == NULL) {
        return status != TW_OK ? status : TW_ERR_INVALID_ARG;
    }
    status = tw_statistics_check(comm, config);
    if (status == TW_OK) {
        s      = tw_statistics_make(comm, config);
        status = s != NULL ? tw_statistics_room_beside(s) : TW_ERR_NO_MEMORY;
    }
    status = tw_comm_agree(comm, status);
    if (status == TW_OK) {
        status = tw_statistics_same(s);
    }
    if (status == TW_OK) {
        status = tw_statistics_complete(s);
    }
    if (status == TW_OK) {
        *statistics_p = s;
    } else if (s != NULL) {
        tw_statistics_release(s);
    }
    return status;
}

tw_status_t tw_statistics_destroy(tw_statistics_t *statistics)
{
    if (statistics == NULL) {
        return TW_OK;
    }
    return statistics->flight.request == NULL ? tw_statistics_release(statistics) : TW_ERR_BUSY;
}

int tw_statistics_ranks(const tw_statistics_t *statistics)
{
    return statistics != NULL ? statistics->ranks : 0;
}

const tw_comm_t *tw_statistics_comm(const tw_statistics_t *statistics)
{
    return statistics != NULL ? statistics->comm : NULL;
}
