/* SPDX-License-Identifier: BSD-3-Clause
 * tests/scheduler/device_failures.c - schedulers on a device that fails in the middle; see
 * device_cases.h. One of them by the number of ranks, as what a broken device holds stays; which
 * call of the device it is, is drawn by lot.
 */
#include "config.h"

#include <thinwire/buckets.h>
#include <thinwire/hybrid.h>
#include <thinwire/statistics.h>
#include <thinwire/weights.h>

#include "tests/scheduler/device_cases.h"

#define COUNT 700
#define LIMIT 0.2 /* seconds after which the other ranks give up */
#define STEPS 100
#define CALLS 40 /* of the device, of which one fails: fewer than STEPS have */

static const tw_exec_t on_device = {.memory = TW_MEMORY_CUDA};

/* What each scheduler has of the device: two vectors. */
typedef struct room {
    float *a, *b;
} room_t;

/* ---- the schedulers: made, one step, released ------------------------------------------------ */

typedef struct way {
    const char *name;
    tw_status_t (*make)(tw_comm_t *comm, const room_t *room, void **p);
    tw_status_t (*step)(void *p, const room_t *room);
    void (*release)(void *p);
} way_t;

static tw_status_t buckets_make(tw_comm_t *comm, const room_t *room, void **p)
{
    const tw_bucket_tensor_t  tensors[] = {{.name = "a", .data = room->a, .count = COUNT},
                                           {.name = "b", .data = room->b, .count = COUNT}};
    const tw_buckets_config_t config    = {
           .codec = t_codec("tree8", TW_F32), .small = 1, .exec = &on_device};

    return tw_buckets_create(comm, &config, tensors, 2, (tw_buckets_t **)p);
}

static tw_status_t buckets_step(void *p, const room_t *room)
{
    tw_status_t status = tw_buckets_ready(p, 0);

    (void)room;
    status = status == TW_OK ? tw_buckets_ready(p, 1) : status;
    return status == TW_OK ? tw_buckets_finish(p) : status;
}

static void buckets_release(void *p)
{
    tw_buckets_destroy(p);
}

static tw_status_t hybrid_make(tw_comm_t *comm, const room_t *room, void **p)
{
    size_t                   examples[T_RANKS_MAX] = {0};
    const tw_hybrid_config_t config                = {
                       .scheme = TW_SCHEME_B, .features = 70, .examples = examples, .exec = &on_device};

    (void)room;
    for (int r = 0; r < t_size; r++) {
        examples[r] = 10;
    }
    return tw_hybrid_create(comm, &config, (tw_hybrid_t **)p);
}

/* The caller's own work goes well: what he says of it is his. */
static int pass_back(void *user, const tw_hybrid_pass_t *pass)
{
    const int left = stub_calls_left;

    (void)user;
    stub_calls_left = 0;
    (void)stub_device.copy(pass->gx, pass->x, pass->examples * 70 * sizeof(float), NULL);
    stub_calls_left = left;
    return 0;
}

static tw_status_t hybrid_step(void *p, const room_t *room)
{
    return tw_hybrid_run(p, room->a, room->b, pass_back, NULL);
}

static void hybrid_release(void *p)
{
    tw_hybrid_destroy(p);
}

static tw_status_t statistics_make(tw_comm_t *comm, const room_t *room, void **p)
{
    const tw_statistics_config_t config = {.layers = 1, .channels = 100, .exec = &on_device};

    (void)room;
    return tw_statistics_create(comm, &config, (tw_statistics_t **)p);
}

static tw_status_t statistics_step(void *p, const room_t *room)
{
    double *const numbers[]  = {(double *)(void *)room->a};
    const size_t  channels[] = {100};

    return tw_statistics_sums(p, numbers, channels, 1);
}

static void statistics_release(void *p)
{
    (void)tw_statistics_destroy(p);
}

static tw_status_t weights_make(tw_comm_t *comm, const room_t *room, void **p)
{
    const tw_weights_config_t config   = {.owners = TW_WEIGHTS_SHARDED, .exec = &on_device};
    const tw_weights_group_t  groups[] = {
         {.name = "a", .weights = room->a, .gradient = room->b, .count = COUNT}};

    return tw_weights_create(comm, &config, groups, 1, (tw_weights_t **)p);
}

static tw_status_t weights_step(void *p, const room_t *room)
{
    tw_status_t status = tw_weights_ready(p, 0);
    double      norm;

    (void)room;
    status = status == TW_OK ? tw_weights_sum(p, 0) : status;
    status = status == TW_OK ? tw_weights_send(p, 0) : status;
    status = status == TW_OK ? tw_weights_wait(p, 0) : status;
    return status == TW_OK ? tw_weights_norms(p, TW_WEIGHTS_MASTERS, &norm) : status;
}

static void weights_release(void *p)
{
    tw_weights_destroy(p);
}

static const way_t ways[] = {
    {"buckets", buckets_make, buckets_step, buckets_release},
    {"a hybrid run", hybrid_make, hybrid_step, hybrid_release},
    {"statistics", statistics_make, statistics_step, statistics_release},
    {"weights", weights_make, weights_step, weights_release},
};

/* ---- one fails
 * -------------------------------------------------------------------------------- */

/* Rank 0's device does: this rank is told, the others give up when nothing comes, and all leave. */
static void fails(const way_t *way, tw_comm_t *comm, void *p, const room_t *room)
{
    const int   call   = 1 + (int)(t_mix(t_seed) % CALLS);
    tw_status_t status = TW_OK;

    t_note("call %d of %s", call, way->name);
    comm->config.timeout = LIMIT;
    stub_calls_left      = t_rank == 0 ? call : 0;
    for (int i = 0; i < STEPS && status == TW_OK; i++) {
        status = way->step(p, room);
    }
    stub_calls_left = 0;
    T_CHECK(status != TW_OK, "nothing fails");
    status = tw_comm_status(comm);
    T_CHECK(status == TW_ERR_TIMEOUT || (t_rank == 0 && status == TW_ERR_IO), "it died of: %s",
            tw_status_text(status));
    T_CHECK(way->step(p, room) != TW_OK, "it goes on");
}

void schedulers_fail(void)
{
    static t_log_t log;
    const way_t   *way   = &ways[t_size % 4];
    const place_t  place = {true, NULL};
    room_t         room  = {place_get(&place, COUNT * sizeof(float)),
                            place_get(&place, COUNT * sizeof(float))};
    void          *p     = NULL;
    tw_context_t  *ctx;
    tw_comm_t     *comm = device_logged(&log, &ctx);

    memset(stub_real(room.a), 0, COUNT * sizeof(float));
    memset(stub_real(room.b), 0, COUNT * sizeof(float));
    T_OK(way->make(comm, &room, &p));
    T_OK(way->step(p, &room));
    MPI_Barrier(MPI_COMM_WORLD);
    fails(way, comm, p, &room);
    T_CHECK(strstr(log.text, "the communicator is dead") != NULL, "the log says: %s", log.text);
    way->release(p);
    MPI_Barrier(MPI_COMM_WORLD);
    T_OK(tw_comm_destroy(comm));
    tw_context_destroy(ctx);
    stub_device.finish(NULL);
    place_put(&place, room.a);
    place_put(&place, room.b);
}
