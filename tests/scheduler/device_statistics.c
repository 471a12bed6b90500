/* SPDX-License-Identifier: BSD-3-Clause
 * tests/scheduler/device_statistics.c - batch statistics; see device_cases.h.
 */
#include "config.h"

#include <stdlib.h>

#include <thinwire/statistics.h>

#include "tests/scheduler/device_cases.h"
#include "tests/scheduler/whole.h"

#define STEPS 4

/* What goes in, or comes out, in each step; in host memory, which is not changed while work may be
 * left. */
typedef struct numbers {
    moments_t moments[STEPS], sums[STEPS];
    float     state[STEPS][2 * CHANNELS_ALL];
} numbers_t;

static const tw_statistics_config_t sizes = {
    .layers = LAYERS, .channels = CHANNELS_ALL, .states = 2 * CHANNELS_ALL};

static void draw(uint64_t seed, numbers_t *in)
{
    for (int step = 0; step < STEPS; step++) {
        batch_t *batch = batch_make(seed + (uint64_t)step, 10.0, 1.0);

        if (step == STEPS - 1) { /* nobody has examples */
            memset(batch->count, 0, sizeof(batch->count));
        }
        local_moments(batch, t_rank, &in->moments[step]);
        t_fill(TW_F64, seed, t_rank + 100 * step, sizeof(in->sums[step].numbers) / sizeof(double),
               in->sums[step].numbers);
        t_fill(TW_F32, seed, t_rank + 100 * step, 2 * CHANNELS_ALL, in->state[step]);
    }
}

/* A layer's part of an exchange to, or from, the place. */
static void move(const place_t *place, double *const *there, moments_t *here, size_t head,
                 bool back)
{
    for (size_t l = 0; l < LAYERS; l++) {
        const size_t bytes = (head + 2 * channels_of[l]) * sizeof(double);

        place_copy(place, back ? here->numbers[l] : there[l], back ? there[l] : here->numbers[l],
                   bytes);
    }
}

static void normalise(tw_comm_t *comm, const place_t *place, int group, numbers_t *in,
                      numbers_t *out)
{
    tw_statistics_config_t config = sizes;
    tw_statistics_t       *s      = NULL;
    double                *there[LAYERS];
    float                 *state = place_get(place, sizeof(in->state[0])), one[1];
    tw_exec_t              exec;

    config.group = group;
    config.exec  = place_exec(place, &exec);
    for (size_t l = 0; l < LAYERS; l++) {
        there[l] = place_get(place, (1 + 2 * channels_of[l]) * sizeof(double));
    }
    T_OK(tw_statistics_create(comm, &config, &s));
    memset(out, 0, sizeof(*out));
    for (int step = 0; step < STEPS; step++) {
        move(place, there, &in->moments[step], 1, false);
        if (step % 2 == 0) {
            T_OK(tw_statistics_moments_start(s, there, channels_of, LAYERS));
            one[0] = 1.0f;
            T_OK(tw_allreduce(comm, TW_IN_PLACE, one, 1, TW_SUM, NULL));
            T_OK(tw_statistics_wait(s));
        } else {
            T_OK(tw_statistics_moments(s, there, channels_of, LAYERS));
        }
        move(place, there, &out->moments[step], 1, true);
        move(place, there, &in->sums[step], 0, false);
        T_OK(tw_statistics_sums(s, there, channels_of, LAYERS));
        move(place, there, &out->sums[step], 0, true);
        place_copy(place, state, in->state[step], sizeof(in->state[step]));
        T_OK(tw_statistics_running(s, state, channels_of, LAYERS));
        place_copy(place, out->state[step], state, sizeof(out->state[step]));
    }
    T_OK(tw_statistics_destroy(s));
    place_finish(place);
    for (size_t l = 0; l < LAYERS; l++) {
        place_put(place, there[l]);
    }
    place_put(place, state);
}

static void statistics_by(const char *const *settings, int first, numbers_t *in, numbers_t *out)
{
    void         *stream = NULL;
    tw_context_t *ctx;
    tw_comm_t    *comm = device_comm(STAGED, settings, &ctx);

    T_OK(stub_device.stream_create(&stream));
    for (int run = first; run < 3 * (t_size + 1); run += 2) {
        const int group = run % (t_size + 1);

        t_note("groups of %d", group);
        device_mood(run);
        draw(t_seed + (uint64_t)run, in);
        for (int device = 0; device < 2; device++) {
            const place_t place = {device, run % 4 < 2 ? NULL : stream};

            normalise(comm, &place, group, in, &out[device]);
        }
        T_CHECK(memcmp(&out[0], &out[1], sizeof(out[0])) == 0,
                "statistics differ from those in host memory");
    }
    stub_diligence = 512;
    stub_device.stream_destroy(stream);
    device_comm_done(comm, ctx);
}

void statistics_on_device(void)
{
    static const char *const shares[] = {"MESSAGE_COST=0", "NODE_RANKS=1", NULL};
    numbers_t               *in = t_malloc(sizeof(*in)), *out = calloc(2, sizeof(*out));

    T_CHECK(out != NULL, "out of memory");
    statistics_by(NULL, 0, in, out);
    statistics_by(shares, 1, in, out);
    free(in);
    free(out);
}

/* Memory of the other kind, on all ranks and on one; a rank without a device, or without memory. */
void statistics_refused(void)
{
    static t_log_t         log;
    const bool             last   = t_rank == t_size - 1;
    const place_t          device = {true, NULL};
    const size_t           one    = 1;
    tw_exec_t              exec;
    tw_statistics_config_t off = sizes, on = sizes;
    double                 here[3] = {1.0, 2.0, 3.0}, *list[] = {here};
    void                  *there = place_get(&device, sizeof(here));
    tw_statistics_t       *s     = NULL;
    tw_context_t          *ctx;
    tw_comm_t             *comm = device_logged(&log, &ctx);

    on.exec      = place_exec(&device, &exec);
    stub_current = last ? 0 : 1;
    T_STATUS(tw_statistics_create(comm, &on, &s), TW_ERR_UNSUPPORTED);
    T_CHECK(!last || strstr(log.text, "there is no device that works") != NULL, "%s", log.text);
    stub_current = 1;
    if (last) {
        comm->device->pool[TW_DEVICE_PINNED].limit = 1000;
    }
    T_STATUS(tw_statistics_create(comm, &on, &s), TW_ERR_NO_MEMORY);
    comm->device->pool[TW_DEVICE_PINNED].limit = UINT64_MAX;
    if (t_size > 1) {
        T_STATUS(tw_statistics_create(comm, last ? &off : &on, &s), TW_ERR_MISMATCH);
        T_CHECK(t_log_holds(MPI_COMM_WORLD, &log, "kinds of memory differ"), "%s", log.text);
    }
    T_OK(tw_statistics_create(comm, &on, &s));
    T_STATUS(tw_statistics_moments(s, list, &one, 1), TW_ERR_INVALID_ARG);
    SAYS(log, "layer '0' is not memory of the device");
    T_STATUS(tw_statistics_running(s, (float *)(void *)here, &one, 1), TW_ERR_INVALID_ARG);
    T_OK(tw_statistics_destroy(s));
    list[0] = there;
    T_OK(tw_statistics_create(comm, &off, &s));
    T_STATUS(tw_statistics_sums(s, list, &one, 1), TW_ERR_INVALID_ARG);
    SAYS(log, "layer '0' is device memory; exec must say TW_MEMORY_CUDA");
    T_OK(tw_statistics_destroy(s));
    place_put(&device, there);
    device_comm_done(comm, ctx);
}
