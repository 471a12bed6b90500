/* SPDX-License-Identifier: BSD-3-Clause
 * scheduler/running.c - merging the ranks' local running statistics.
 *
 * Every rank merges all ranks' numbers in rank order, so results are bitwise equal. An exchange in
 * every step would cost the time that local training saves; only evaluations use these statistics.
 */
#include "config.h"

#include "runtime/base/fpmode.h"
#include "runtime/scheduler/statistics.h"

/* One channel: `all` is its mean on rank 0, and `variance` further on its variance. The sum of
 * equal floats is exact in double, and so is the quotient: ranks that agree stay as they are. */
static void tw_running_merge(float *state, const float *all, size_t variance, size_t stride,
                             int ranks)
{
    double mean = 0.0, inside = 0.0, between = 0.0;

    for (int r = 0; r < ranks; r++) {
        mean += (double)all[(size_t)r * stride];
        inside += (double)all[(size_t)r * stride + variance];
    }
    mean /= ranks;
    for (int r = 0; r < ranks; r++) {
        const double d = (double)all[(size_t)r * stride] - mean;

        between += d * d;
    }
    state[0]        = (float)mean;
    state[variance] = (float)(inside / ranks + between / ranks);
}

static tw_status_t tw_running_count(const tw_statistics_t *s, const float *state,
                                    const size_t *channels, size_t layers, size_t *count_p)
{
    size_t count = 0;

    if (s == NULL || (layers > 0 && channels == NULL)) {
        return TW_ERR_INVALID_ARG;
    }
    if (s->flight.request != NULL) {
        return TW_ERR_BUSY;
    }
    for (size_t l = 0; l < layers; l++) {
        if (channels[l] > (s->config.states - count) / 2) {
            return TW_ERR_RANGE;
        }
        count += 2 * channels[l];
    }
    *count_p = count;
    if (count > 0 && (state == NULL || tw_side_check(&s->side, state, "tw_statistics_running",
                                                     "array", "state") != TW_OK)) {
        return TW_ERR_INVALID_ARG;
    }
    return tw_comm_check(s->world);
}

/* All layers, into what is mine. */
static void tw_running_merge_all(const tw_statistics_t *s, const size_t *channels, size_t layers,
                                 size_t count)
{
    const tw_fpmode_t mode  = tw_fpmode_enter();
    float            *state = s->my_states;
    const float      *all   = s->states;

    for (size_t l = 0; l < layers; l++) {
        for (size_t c = 0; c < channels[l]; c++) {
            tw_running_merge(state + c, all + c, channels[l], count, tw_comm_size(s->world));
        }
        state += 2 * channels[l];
        all += 2 * channels[l];
    }
    tw_fpmode_leave(mode);
}

tw_status_t tw_statistics_running(tw_statistics_t *statistics, float *state, const size_t *channels,
                                  size_t layers)
{
    tw_statistics_t *s = statistics;
    tw_flight_t      flight;
    size_t           count;
    tw_status_t      status = tw_running_count(s, state, channels, layers, &count);

    if (status != TW_OK || count == 0 || tw_comm_size(s->world) == 1) {
        return status;
    }
    status = tw_side_copy(&s->side, s->my_states, state, count * sizeof(float));
    if (status != TW_OK) {
        return status;
    }
    flight = (tw_flight_t){.event = s->flight.event,
                           .span  = tw_trace_begin(s->config.trace, TW_TRACE_NETWORK,
                                                   "running statistics", (int64_t)layers)};
    status = tw_statistics_gather(s, s->world, s->my_states, s->states, count, &flight);
    if (status == TW_OK) {
        status = tw_wait(&flight.request);
    }
    tw_trace_end(s->config.trace, flight.span);
    if (status != TW_OK) {
        return status;
    }
    tw_running_merge_all(s, channels, layers, count);
    return tw_side_copy(&s->side, state, s->my_states, count * sizeof(float));
}
