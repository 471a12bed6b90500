/* SPDX-License-Identifier: BSD-3-Clause
 * simulation/play.c - see play.h.
 *
 * While the program computes, the library goes on as with THINWIRE_PROGRESS=thread on the program's
 * own core: as soon as something has come, it is dealt with, and computing takes that much longer.
 * Of a loop the first rounds are played; the others are taken to be like the later half of those.
 */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "runtime/base/context.h"
#include "runtime/transport/api/open.h"
#include "runtime/transport/comm/comm.h"
#include "runtime/transport/engine/request.h"
#include "simulation/codecs.h"
#include "simulation/play.h"
#include "simulation/world.h"

enum { STEPS = 3, ROOT = 0 };

enum { TIME, COMPUTE, CODEC, BYTES, MESSAGES, SUMS };

/* Seconds and bytes so far, with those of rounds that were not played. */
typedef struct play_sums {
    double of[SUMS];
} play_sums_t;

/* Operations of one name that were started and not waited for. */
typedef struct pending {
    tw_request_t **request;
    size_t         count, room;
} pending_t;

typedef struct player {
    int         rank;
    tw_comm_t  *comm;
    pending_t  *pending;
    play_sums_t extra; /* of rounds that were not played */
    double      compute;
} player_t;

static const script_t    *script;
static const tw_codec_t **codec;  /* of each exchange */
static size_t            *counts; /* of a reduce_scatter's shares; each rank fills it again */
static play_sums_t       *ends;   /* [rank][STEPS]    */
static player_t         **players;
static tw_context_t      *context;
static tw_mpi_ops_t       ops;

static void check_status(tw_status_t status, const char *what)
{
    if (status != TW_OK) {
        world_fail("%s: %s", what, tw_status_text(status));
    }
}

/* ---- waiting ------------------------------------------------------------------------------- */

/* May what the communicator waits for come through the memory of a node? */
static int polls(const tw_comm_t *comm)
{
    for (const tw_request_t *op = comm != NULL ? comm->running : NULL; op != NULL; op = op->next) {
        if (op->algorithm->ready != NULL) {
            return 1;
        }
    }
    return 0;
}

static const tw_comm_t *comm_here(void)
{
    const player_t *player = players[world_rank()];

    return player != NULL ? player->comm : NULL;
}

/* The library gives the core away after several looks without progress. */
static void yield(int descriptor)
{
    (void)descriptor;
    world_idle(WORLD_EVER, polls(comm_here()));
}

static const tw_system_ops_t in_time = {.yield   = yield,
                                        .moved   = world_moved,
                                        .copy    = values_copy,
                                        .combine = values_combine,
                                        .reserve = values_reserve,
                                        .map     = values_map};

static void play_compute(player_t *p, double seconds)
{
    p->compute += seconds;
    while (seconds > 0.0) {
        double before;

        world_work(0.0); /* what was put off */
        before = world_now();
        if (p->comm->running == NULL) {
            world_work(seconds);
            return;
        }
        world_idle(before + seconds, polls(p->comm));
        seconds = before + seconds > world_now() ? before + seconds - world_now() : 0.0;
        check_status(tw_comm_advance(p->comm), "advancing");
    }
}

/* ---- operations ---------------------------------------------------------------------------- */

static tw_status_t start_operation(player_t *p, size_t number, tw_request_t **request_p)
{
    static const tw_exec_t   one = {.threads = 1};
    const script_exchange_t *x   = &script->exchange[number];
    const tw_how_t           how = {.codec = codec[number], .exec = &one};
    const size_t             n   = (size_t)x->count;
    void *const send = values_send(), *const receive = values_receive();

    p->comm->policy
        .named[x->operation == TW_OPERATION_REDUCE ? TW_OPERATION_ALLREDUCE : x->operation] =
        tw_policy_number(x->operation, x->algorithm);
    switch (x->operation) {
    case TW_OPERATION_ALLREDUCE:
        return tw_iallreduce(p->comm, send, receive, n, TW_SUM, &how, request_p);
    case TW_OPERATION_REDUCE:
        return tw_ireduce(p->comm, send, receive, n, TW_SUM, ROOT, &how, request_p);
    case TW_OPERATION_REDUCE_SCATTER:
        for (size_t r = 0, ranks = (size_t)script->ranks; r < ranks; r++) {
            counts[r] = n / ranks + (r < n % ranks);
        }
        return tw_ireduce_scatter(p->comm, send, receive, counts, TW_SUM, &how, request_p);
    case TW_OPERATION_BCAST:
        return tw_ibcast(p->comm, send, n, ROOT, &how, request_p);
    case TW_OPERATION_ALLGATHER:
        return tw_iallgather(p->comm, send, receive, n, &how, request_p);
    case TW_OPERATION_ALLTOALL:
        return tw_ialltoall(p->comm, send, receive, n, &how, request_p);
    }
    return TW_ERR_UNSUPPORTED;
}

static void play_start(player_t *p, size_t number)
{
    pending_t *pending = &p->pending[number];
    size_t     left    = 0;

    for (size_t i = 0; i < pending->count; i++) { /* those before are not waited for */
        int done = 0;

        check_status(tw_test(&pending->request[i], &done), "testing");
        if (!done) {
            pending->request[left++] = pending->request[i];
        }
    }
    pending->count = left;
    if (pending->count == pending->room) {
        pending->room    = 2 * pending->room + 1;
        pending->request = realloc(pending->request, pending->room * sizeof(*pending->request));
        if (pending->request == NULL) {
            world_fail("out of memory");
        }
    }
    world_work(script->engine);
    pending->request[pending->count] = NULL;
    check_status(start_operation(p, number, &pending->request[pending->count]),
                 script->exchange[number].codec.spec);
    pending->count++;
}

static void play_wait(player_t *p, size_t number)
{
    pending_t *pending = &p->pending[number];

    for (size_t i = 0; i < pending->count; i++) {
        check_status(tw_wait(&pending->request[i]), "waiting");
    }
    pending->count = 0;
}

/* ---- the way through ----------------------------------------------------------------------- */

static play_sums_t sums_of(const player_t *p)
{
    tw_stats_t stats;
    uint64_t   sent;

    world_work(0.0); /* what was put off */
    tw_comm_stats(p->comm, &stats);
    sent = script->per_node < script->ranks ? stats.bytes_network : stats.bytes_sent;
    return (play_sums_t){{[TIME]     = world_now() + p->extra.of[TIME],
                          [COMPUTE]  = p->compute + p->extra.of[COMPUTE],
                          [CODEC]    = codec_seconds(p->rank) + p->extra.of[CODEC],
                          [BYTES]    = (double)sent + p->extra.of[BYTES],
                          [MESSAGES] = (double)stats.messages_sent + p->extra.of[MESSAGES]}};
}

static void add_sums(play_sums_t *sum, const play_sums_t *from, const play_sums_t *to, double times)
{
    for (int k = 0; k < SUMS; k++) {
        sum->of[k] += times * (to->of[k] - from->of[k]);
    }
}

static void play_items(player_t *p, size_t from, size_t end, int depth);

static void play_repeat(player_t *p, const item_t *item, size_t from, int depth)
{
    const uint64_t most = script_rounds(depth), rounds = item->times < most ? item->times : most;
    play_sums_t    half = sums_of(p), end;

    for (uint64_t round = 0; round < rounds; round++) {
        if (round == rounds / 2) {
            half = sums_of(p);
        }
        play_items(p, from, item->end, depth + 1);
    }
    if (rounds < item->times) {
        end = sums_of(p);
        add_sums(&p->extra, &half, &end,
                 (double)(item->times - rounds) / (double)(rounds - rounds / 2));
    }
}

static void play_items(player_t *p, size_t from, size_t end, int depth)
{
    for (size_t i = from; i < end; i++) {
        const item_t *item = &script->item[i];

        switch (item->kind) {
        case ITEM_COMPUTE:
            play_compute(p, item->seconds * script->share * script->slower);
            break;
        case ITEM_FIXED:
            play_compute(p, item->seconds * script->slower);
            break;
        case ITEM_IDLE:
            play_compute(p, item->seconds);
            break;
        case ITEM_START:
            play_start(p, item->exchange);
            break;
        case ITEM_WAIT:
            play_wait(p, item->exchange);
            break;
        case ITEM_REPEAT:
            play_repeat(p, item, i + 1, depth);
            i = item->end;
            break;
        case ITEM_END:
            break;
        }
    }
}

void play_rank(int rank)
{
    player_t player = {.rank = rank};

    player.pending = calloc(script->exchanges + 1, sizeof(*player.pending));
    if (player.pending == NULL) {
        world_fail("out of memory");
    }
    check_status(tw_comm_create_with(context, &ops, world_comm(), &player.comm), "a communicator");
    players[rank] = &player;
    for (int k = 0; k < STEPS; k++) {
        play_items(&player, 0, script->items, 0);
        ends[rank * STEPS + k] = sums_of(&player);
    }
    for (size_t i = 0; i < script->exchanges; i++) {
        play_wait(&player, i);
        free(player.pending[i].request);
    }
    players[rank] = NULL;
    free(player.pending);
}

/* ---- before and after ---------------------------------------------------------------------- */

void play_open(const script_t *given)
{
    double most = 0.0;

    script  = given;
    ops     = world_ops();
    codec   = calloc(given->exchanges + 1, sizeof(const tw_codec_t *));
    counts  = calloc((size_t)given->ranks, sizeof(*counts));
    ends    = calloc((size_t)given->ranks * STEPS, sizeof(*ends));
    players = calloc((size_t)given->ranks, sizeof(player_t *));
    if (codec == NULL || counts == NULL || ends == NULL || players == NULL) {
        world_fail("out of memory");
    }
    check_status(tw_context_create(&context), "a context");
    context->system = &in_time;
    for (size_t i = 0; i < given->exchanges; i++) {
        const script_exchange_t *x = &given->exchange[i];
        const int                all =
            x->operation == TW_OPERATION_ALLGATHER || x->operation == TW_OPERATION_ALLTOALL;

        most     = fmax(most,
                        x->count * (double)tw_dtype_size(x->codec.dtype) * (all ? given->ranks : 1.0));
        codec[i] = codec_make(context, &x->codec);
        if (codec[i] == NULL) {
            world_fail("there is no codec '%s'", x->codec.spec);
        }
    }
    if (most > 1e13) {
        world_fail("a vector of %.3g bytes is too large to be simulated", most);
    }
    values_open(given, (size_t)most);
}

void play_print(void)
{
    play_sums_t step = {{0.0}};
    double      last = 0.0, node = 0.0;

    for (int r = 0; r < script->ranks; r++) {
        const play_sums_t *from = &ends[r * STEPS + STEPS - 2], *to = from + 1;
        const bool         alone = script->per_node >= script->ranks;

        node = (alone || r % script->per_node == 0 ? 0.0 : node) + to->of[BYTES] - from->of[BYTES];

        last          = fmax(last, from->of[TIME]);
        step.of[TIME] = fmax(step.of[TIME], to->of[TIME]);
        for (int k = TIME + 1; k < SUMS; k++) {
            step.of[k] = fmax(step.of[k], k == BYTES ? node : to->of[k] - from->of[k]);
        }
    }
    step.of[TIME] -= last;
    printf(SCRIPT_RESULT_LINE, step.of[TIME], step.of[COMPUTE],
           fmax(0.0, step.of[TIME] - step.of[COMPUTE]), step.of[CODEC], step.of[BYTES],
           step.of[MESSAGES]);
}
