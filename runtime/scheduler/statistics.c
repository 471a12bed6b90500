/* SPDX-License-Identifier: BSD-3-Clause
 * scheduler/statistics.c - moments and sums of normalisation layers, exchanged inside groups of
 * ranks.
 *
 * One all-gather per call carries the numbers of all its layers, and every rank merges all ranks'
 * numbers itself, in rank order: equal input, equal order, equal bits. An all-reduce could not
 * merge (count, mean, M2), and would be no faster: a layer has 33 (16 channels) to 1025 numbers
 * (512), where latency counts and an all-gather takes each message one hop. Roughly measured, on
 * two cores under load, medians of 400: inside a node, 4 ranks, 7 us for 16 and 64 channels and 10
 * us for 512 (MPI_Allgather 11 and 22, all-reduce of doubles 6 and 17); between 4 emulated hosts at
 * 1 Gbit/s 129 us for 64 and 137 us for 512 (MPI_Allgather 111 and 139, all-reduce 138 and 247).
 * Float32 would save half the bytes, for 512 channels on 4 hosts 0.1 ms at 1 Gbit/s, and cost the
 * equality with one rank; so the wire has doubles. With hundreds of ranks the time to receive the
 * numbers of all counts; groups of fewer ranks are then the remedy.
 *
 * A double travels as two words of fp32, which moves bytes and looks at none: straight from buffer
 * to buffer. Both buffers are of the communicator's pool, since after an error messages may still
 * arrive.
 */
#include "config.h"

#include <string.h>

#include "runtime/base/fpmode.h"
#include "runtime/scheduler/statistics.h"

static size_t tw_layer_numbers(const tw_statistics_t *s, const tw_statistics_layer_t *layer)
{
    return 2 * layer->channels + !s->sums;
}

/* Take down what the caller gives. */
static tw_status_t tw_statistics_take(tw_statistics_t *s, double *const *numbers,
                                      const size_t *channels, size_t layers, bool sums)
{
    size_t total = 0;

    if (s == NULL || (layers > 0 && (numbers == NULL || channels == NULL))) {
        return TW_ERR_INVALID_ARG;
    }
    if (s->request != NULL) {
        return TW_ERR_BUSY;
    }
    if (layers > s->config.layers) {
        return TW_ERR_RANGE;
    }
    for (size_t l = 0; l < layers; l++) {
        if (channels[l] > s->config.channels - total) {
            return TW_ERR_RANGE;
        }
        if (numbers[l] == NULL && (!sums || channels[l] > 0)) {
            return TW_ERR_INVALID_ARG;
        }
        total += channels[l];
        s->layer[l] = (tw_statistics_layer_t){numbers[l], channels[l]};
    }
    s->layers  = layers;
    s->sums    = sums;
    s->numbers = 2 * total + (sums ? 0 : layers);
    return TW_OK;
}

/* A group of one: nothing to merge, but an empty batch gives zeros as it does elsewhere. */
static void tw_statistics_alone(tw_statistics_t *s)
{
    for (size_t l = 0; l < s->layers && !s->sums; l++) {
        if (!(s->layer[l].numbers[0] > 0.0)) {
            memset(s->layer[l].numbers, 0, tw_layer_numbers(s, &s->layer[l]) * sizeof(double));
        }
    }
}

static tw_status_t tw_statistics_start(tw_statistics_t *s, double *const *numbers,
                                       const size_t *channels, size_t layers, bool sums)
{
    tw_status_t status = tw_statistics_take(s, numbers, channels, layers, sums);
    size_t      at     = 0;

    if (status != TW_OK) {
        return status;
    }
    if (s->comm == NULL) {
        tw_statistics_alone(s);
        return tw_comm_check(s->world);
    }
    if (s->numbers == 0) {
        return tw_comm_check(s->comm);
    }
    for (size_t l = 0; l < layers; l++) {
        const size_t n = tw_layer_numbers(s, &s->layer[l]);

        memcpy(s->buffer + at, s->layer[l].numbers, n * sizeof(double));
        at += n;
    }
    s->span = tw_trace_begin(s->config.trace, TW_TRACE_NETWORK,
                             sums ? "statistics back" : "statistics", (int64_t)layers);
    return tw_iallgather(s->comm, s->buffer, s->buffer + tw_statistics_most(&s->config),
                         TW_WORDS * s->numbers, NULL, &s->request);
}

static void tw_layer_merge(tw_statistics_layer_t *layer, const double *all, size_t stride,
                           int ranks)
{
    layer->numbers[0] = 0.0;
    for (int r = 0; r < ranks; r++) {
        tw_moments_merge(layer->numbers, all + (size_t)r * stride, layer->channels);
    }
}

static void tw_layer_add(tw_statistics_layer_t *layer, const double *all, size_t stride, int ranks)
{
    const size_t n = 2 * layer->channels;

    for (size_t i = 0; i < n; i++) {
        layer->numbers[i] = all[i];
    }
    for (int r = 1; r < ranks; r++) {
        for (size_t i = 0; i < n; i++) {
            layer->numbers[i] += all[(size_t)r * stride + i];
        }
    }
}

tw_status_t tw_statistics_wait(tw_statistics_t *statistics)
{
    tw_statistics_t *s = statistics;
    const double    *all;
    tw_fpmode_t      mode;
    tw_status_t      status;

    if (s == NULL) {
        return TW_ERR_INVALID_ARG;
    }
    if (s->request == NULL) {
        return TW_OK;
    }
    status = tw_wait(&s->request);
    tw_trace_end(s->config.trace, s->span);
    if (status != TW_OK) {
        return status;
    }
    all  = s->buffer + tw_statistics_most(&s->config);
    mode = tw_fpmode_enter();
    for (size_t l = 0; l < s->layers; l++) {
        if (s->sums) {
            tw_layer_add(&s->layer[l], all, s->numbers, s->ranks);
        } else {
            tw_layer_merge(&s->layer[l], all, s->numbers, s->ranks);
        }
        all += tw_layer_numbers(s, &s->layer[l]);
    }
    tw_fpmode_leave(mode);
    return TW_OK;
}

tw_status_t tw_statistics_moments_start(tw_statistics_t *statistics, double *const *moments,
                                        const size_t *channels, size_t layers)
{
    return tw_statistics_start(statistics, moments, channels, layers, false);
}

tw_status_t tw_statistics_sums_start(tw_statistics_t *statistics, double *const *sums,
                                     const size_t *channels, size_t layers)
{
    return tw_statistics_start(statistics, sums, channels, layers, true);
}

tw_status_t tw_statistics_moments(tw_statistics_t *statistics, double *const *moments,
                                  const size_t *channels, size_t layers)
{
    const tw_status_t status = tw_statistics_moments_start(statistics, moments, channels, layers);

    return status == TW_OK ? tw_statistics_wait(statistics) : status;
}

tw_status_t tw_statistics_sums(tw_statistics_t *statistics, double *const *sums,
                               const size_t *channels, size_t layers)
{
    const tw_status_t status = tw_statistics_sums_start(statistics, sums, channels, layers);

    return status == TW_OK ? tw_statistics_wait(statistics) : status;
}
