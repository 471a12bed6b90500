/* SPDX-License-Identifier: BSD-3-Clause
 * tests/scheduler/device_weights.c - weights with owners; see device_cases.h. The update is master
 * = sum / (step + 3), so that the last copies say whether all steps were right.
 */
#include "config.h"

#include <math.h>
#include <stdlib.h>

#include <thinwire/weights.h>

#include "tests/scheduler/device_cases.h"

#define GROUPS 4
#define STEPS  4
#define TOTAL  3163

static const size_t      counts[GROUPS] = {59, 2000, 0, 1104};
static const size_t      units[GROUPS]  = {0, 0, 0, 48};
static const char *const names[GROUPS]  = {"group0", "group1", "group2", "group3"};

static const char *const small_fragments[] = {"CHUNK=1k", "WINDOW=3", NULL};

/* What comes out, in host memory. */
typedef struct outcome {
    float  copies[STEPS][TOTAL], whole[TOTAL]; /* whole: the last masters, put together */
    double norms[2][GROUPS];                   /* of masters, of copies                 */
} outcome_t;

typedef struct net {
    place_t             place;
    tw_weights_owners_t owners;
    bool                own_masters; /* of the caller's */
    const char         *gradient;
    tw_weights_t       *w;
    float              *weights, *gradients, *masters, *whole;
    tw_weights_group_t  group[GROUPS];
} net_t;

static void open_net(net_t *net, tw_comm_t *comm)
{
    tw_exec_t           exec;
    tw_weights_config_t config = {.owners   = net->owners,
                                  .gradient = t_codec(net->gradient, TW_F32),
                                  .exec     = place_exec(&net->place, &exec)};
    size_t              at     = 0;

    net->weights   = place_get(&net->place, TOTAL * sizeof(float));
    net->gradients = place_get(&net->place, TOTAL * sizeof(float));
    net->masters   = place_get(&net->place, TOTAL * sizeof(float));
    net->whole     = place_get(&net->place, TOTAL * sizeof(float));
    for (size_t i = 0; i < GROUPS; i++) {
        net->group[i] = (tw_weights_group_t){.name     = names[i],
                                             .weights  = net->weights + at,
                                             .gradient = net->gradients + at,
                                             .master = net->own_masters ? net->masters + at : NULL,
                                             .count  = counts[i],
                                             .unit   = units[i]};
        at += counts[i];
    }
    T_OK(tw_weights_create(comm, &config, net->group, GROUPS, &net->w));
}

static void close_net(net_t *net)
{
    tw_weights_destroy(net->w);
    place_finish(&net->place);
    place_put(&net->place, net->weights);
    place_put(&net->place, net->gradients);
    place_put(&net->place, net->masters);
    place_put(&net->place, net->whole);
}

/* The master of a group becomes what `from` has (on the host), or the sum divided. */
static void update(net_t *net, size_t i, const float *from, int divisor)
{
    tw_weights_share_t share;

    T_OK(tw_weights_share(net->w, i, &share));
    if (from != NULL) {
        place_copy(&net->place, share.master, from + share.first, share.count * sizeof(float));
    } else {
        place_copy(&net->place, share.master, share.gradient, share.count * sizeof(float));
        place_divide(&net->place, share.master, share.count, divisor);
    }
    T_OK(tw_weights_send(net->w, i));
}

static void step_of(net_t *net, int step, const float *drawn, outcome_t *out)
{
    size_t at = TOTAL;

    for (size_t i = 0; i < GROUPS; i++) {
        T_OK(tw_weights_wait(net->w, i));
    }
    place_copy(&net->place, out->copies[step], net->weights, TOTAL * sizeof(float));
    for (size_t i = GROUPS; i-- > 0;) {
        at -= counts[i];
        place_copy(&net->place, net->gradients + at, drawn + at, counts[i] * sizeof(float));
        T_OK(tw_weights_ready(net->w, i));
        T_OK(tw_weights_advance(net->w));
    }
    for (size_t i = 0; i < GROUPS; i++) {
        T_OK(tw_weights_sum(net->w, i));
        update(net, i, NULL, step + 3);
    }
}

/* Norms and what a checkpoint has, at once after the last masters. */
static void end_of(net_t *net, outcome_t *out)
{
    size_t at = 0;

    for (size_t i = 0; i < GROUPS; at += counts[i++]) {
        tw_weights_share_t share;

        T_OK(tw_weights_wait(net->w, i));
        T_OK(tw_weights_share(net->w, i, &share));
        place_divide(&net->place, share.master, share.count, 3); /* later than the copies */
    }
    T_OK(tw_weights_norms(net->w, TW_WEIGHTS_MASTERS, out->norms[0]));
    T_OK(tw_weights_norms(net->w, TW_WEIGHTS_COPIES, out->norms[1]));
    at = 0;
    for (size_t i = 0; i < GROUPS; at += counts[i++]) {
        tw_weights_share_t share;

        T_OK(tw_weights_share(net->w, i, &share));
        place_divide(&net->place, share.master, share.count, 3);
        T_OK(tw_weights_collect(net->w, i, share.master, net->whole + at));
    }
    place_copy(&net->place, out->whole, net->whole, TOTAL * sizeof(float));
}

static void train(net_t *net, tw_comm_t *comm, const float *drawn, outcome_t *out)
{
    static const char *const ladder[STEPS] = {"fp32", "bitpack:1", "tree8", "bitpack:3"};
    size_t                   at            = 0;

    open_net(net, comm);
    for (size_t i = 0; i < GROUPS; at += counts[i++]) {
        update(net, i, drawn + at, 0);
    }
    for (int step = 0; step < STEPS; step++) {
        step_of(net, step, drawn + (size_t)step * TOTAL, out);
        for (size_t i = 0; i < GROUPS; i++) {
            T_OK(tw_weights_wait(net->w, i));
            T_OK(tw_weights_set_codec(net->w, i, ladder[step]));
        }
    }
    end_of(net, out);
    close_net(net);
}

/* Of the device the order of a sum of squares is its own. */
static void same_norms(const outcome_t *host, const outcome_t *device)
{
    T_SAME_EVERYWHERE(MPI_COMM_WORLD, device->norms, sizeof(device->norms));
    for (int of = 0; of < 2; of++) {
        for (size_t i = 0; i < GROUPS; i++) {
            const double x = host->norms[of][i], y = device->norms[of][i];

            T_CHECK(fabs(x - y) <= 1e-12 * x, "norm %zu is %.17g, not %.17g", i, y, x);
        }
    }
}

static void same_weights(path_t path)
{
    static const char *const gradients[] = {"", "tree8:block=64", "onebit:block=64"};
    outcome_t               *out         = t_malloc(2 * sizeof(*out));
    float                   *drawn       = t_malloc(STEPS * TOTAL * sizeof(float));
    void                    *stream      = NULL;
    tw_context_t            *ctx;
    tw_comm_t               *comm = device_comm(path, small_fragments, &ctx);

    T_OK(stub_device.stream_create(&stream));
    t_fill(TW_F32, t_seed, t_rank, STEPS * TOTAL, drawn);
    for (int run = 0; run < (path == STAGED ? 6 : 2); run++) {
        const tw_weights_owners_t owners = run % 2 == 0 ? TW_WEIGHTS_SHARDED : TW_WEIGHTS_ROOT;

        t_note("owners %d, gradients '%s'", (int)owners, gradients[run / 2]);
        device_mood(run);
        for (int device = 0; device < 2; device++) {
            net_t net = {.place       = {device, run % 3 == 0 ? NULL : stream},
                         .owners      = owners,
                         .own_masters = run % 4 < 2,
                         .gradient    = gradients[run / 2]};

            train(&net, comm, drawn, &out[device]);
        }
        T_CHECK(memcmp(out[0].copies, out[1].copies, sizeof(out[0].copies)) == 0,
                "copies differ from those in host memory");
        T_CHECK(memcmp(out[0].whole, out[1].whole, sizeof(out[0].whole)) == 0,
                "masters differ from those in host memory");
        same_norms(&out[0], &out[1]);
    }
    stub_diligence = 512;
    stub_device.stream_destroy(stream);
    device_comm_done(comm, ctx);
    free(out);
    free(drawn);
}

void weights_staged(void)
{
    same_weights(STAGED);
}

void weights_direct(void)
{
    same_weights(DIRECT);
}

/* Memory of the other kind, on all ranks and on one; a rank without a device, or whose device
 * fails. */
void weights_refused(void)
{
    static t_log_t      log;
    const bool          last   = t_rank == t_size - 1;
    const place_t       device = {true, NULL};
    tw_exec_t           exec;
    tw_weights_config_t on  = {.owners = TW_WEIGHTS_SHARDED, .exec = place_exec(&device, &exec)};
    tw_weights_config_t off = {.owners = TW_WEIGHTS_SHARDED};
    float               here[256], *there = place_get(&device, sizeof(here));
    tw_weights_group_t  host = {
         .name = "host", .weights = here, .gradient = here + 128, .count = 128};
    tw_weights_group_t group = {
        .name = "host", .weights = there, .gradient = there + 128, .count = 128};
    tw_weights_t *w = NULL;
    tw_context_t *ctx;
    tw_comm_t    *comm = device_logged(&log, &ctx);

    stub_current = last ? 0 : 1;
    T_STATUS(tw_weights_create(comm, &on, &group, 1, &w), TW_ERR_UNSUPPORTED);
    T_CHECK(!last || strstr(log.text, "there is no device that works") != NULL, "%s", log.text);
    stub_current    = 1;
    stub_calls_left = last ? 1 : 0;
    T_STATUS(tw_weights_create(comm, &on, &group, 1, &w), TW_ERR_IO);
    stub_calls_left = 0;
    T_STATUS(tw_weights_create(comm, &on, last ? &host : &group, 1, &w), TW_ERR_INVALID_ARG);
    T_CHECK(!last ||
                strstr(log.text, "weights of group 'host' is not memory of the device") != NULL,
            "%s", log.text);
    T_STATUS(tw_weights_create(comm, &off, &group, 1, &w), TW_ERR_INVALID_ARG);
    SAYS(log, "weights of group 'host' is device memory; exec must say TW_MEMORY_CUDA");
    host.master = there;
    T_STATUS(tw_weights_create(comm, &off, &host, 1, &w), TW_ERR_INVALID_ARG);
    host.master = NULL;
    if (t_size > 1) {
        T_STATUS(tw_weights_create(comm, last ? &off : &on, last ? &host : &group, 1, &w),
                 TW_ERR_MISMATCH);
        T_CHECK(t_log_holds(MPI_COMM_WORLD, &log, "kinds of memory differ"), "%s", log.text);
    }
    if (last) {
        comm->device->pool[TW_DEVICE_PINNED].limit = 0;
    }
    T_STATUS(tw_weights_create(comm, &on, &group, 1, &w), TW_ERR_NO_MEMORY);
    comm->device->pool[TW_DEVICE_PINNED].limit = UINT64_MAX;
    T_OK(tw_weights_create(comm, &on, &group, 1, &w));
    T_STATUS(tw_weights_collect(w, 0, there, here), TW_ERR_INVALID_ARG);
    tw_weights_destroy(w);
    place_put(&device, there);
    device_comm_done(comm, ctx);
}
