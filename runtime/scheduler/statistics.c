/* SPDX-License-Identifier: BSD-3-Clause
 * scheduler/statistics.c - moments and sums of normalisation layers, exchanged inside groups of
 * ranks.
 *
 * One all-gather per call carries the numbers of all its layers, and every rank merges all ranks'
 * numbers in the order of nodes and ranks, so results are bitwise equal. An all-reduce cannot
 * merge (count, mean, M2) and would not be faster: a layer has 33 (16 channels) to 1025 numbers
 * (512), where latency dominates and an all-gather takes one hop per message. Rough measurements
 * on two cores under load, medians of 400: inside a node, 4 ranks, 7 us for 16 and 64 channels and
 * 10 us for 512 (MPI_Allgather 11 and 22, all-reduce of doubles 6 and 17); between 4 emulated
 * hosts at 1 Gbit/s 129 us for 64 and 137 us for 512 (MPI_Allgather 111 and 139, all-reduce 138
 * and 247). Float32 would halve the bytes (for 512 channels on 4 hosts it saves 0.1 ms at 1
 * Gbit/s) but lose the equality with one rank, so the wire format is double. Where so many ranks'
 * numbers take longer than more steps (policy.h), a blocking call merges inside nodes first, and
 * each rank merges a share of the channels for all, with the same bits: statistics_shares.c. The
 * other calls cannot: tw_statistics_wait() would begin the second step, in an order that may
 * differ between ranks.
 *
 * A double is sent as two words of fp32, whose transfer copies bytes unchanged from buffer to
 * buffer. Both buffers are from the communicator's pool, since messages may still arrive after an
 * error.
 *
 * Numbers in device memory are copied to pinned memory on the caller's stream. The all-gather is
 * held until that copy is complete. The host merges and has the result copied back: two copies of a
 * few kilobytes, where an exchange between devices would need a dozen short pieces of work, and the
 * host must advance the exchange anyway. The same code merges, so results are bitwise equal. Only
 * tw_statistics_wait() blocks, and it advances all operations of the communicator.
 */
#include "config.h"

#include <stdio.h>
#include <string.h>

#include "runtime/base/fpmode.h"
#include "runtime/scheduler/statistics.h"

/* Are a layer's numbers in memory as the config says? */
static tw_status_t tw_layer_check(const tw_statistics_t *s, const double *numbers, size_t l,
                                  bool sums)
{
    char name[24];

    if (tw_side_has(&s->side, numbers)) {
        return TW_OK;
    }
    snprintf(name, sizeof(name), "%zu", l);
    return tw_side_check(&s->side, numbers, sums ? "tw_statistics_sums" : "tw_statistics_moments",
                         "layer", name);
}

/* Take down what the caller gives. */
static tw_status_t tw_statistics_take(tw_statistics_t *s, double *const *numbers,
                                      const size_t *channels, size_t layers, bool sums)
{
    size_t total = 0, units = 0;

    if (s == NULL || (layers > 0 && (numbers == NULL || channels == NULL))) {
        return TW_ERR_INVALID_ARG;
    }
    if (s->flight.request != NULL) {
        return TW_ERR_BUSY;
    }
    if (layers > s->config.layers) {
        return TW_ERR_RANGE;
    }
    for (size_t l = 0; l < layers; l++) {
        if (channels[l] > s->config.channels - total) {
            return TW_ERR_RANGE;
        }
        if ((numbers[l] == NULL && (!sums || channels[l] > 0)) ||
            tw_layer_check(s, channels[l] > 0 || !sums ? numbers[l] : NULL, l, sums) != TW_OK) {
            return TW_ERR_INVALID_ARG;
        }
        total += channels[l];
        s->layer[l] = (tw_statistics_layer_t){numbers[l], channels[l]};
        units += tw_layer_units(&s->layer[l]);
    }
    s->layers  = layers;
    s->units   = units;
    s->sums    = sums;
    s->numbers = 2 * total + (sums ? 0 : layers);
    return TW_OK;
}

/* An empty batch gives zeros. */
static tw_status_t tw_layer_alone(const tw_statistics_t *s, const tw_statistics_layer_t *layer)
{
    const size_t n = tw_layer_numbers(s, layer->channels);

    if (s->side.ops != NULL) {
        return tw_side_moments_empty(&s->side, layer->numbers, n);
    }
    if (!(layer->numbers[0] > 0.0)) {
        memset(layer->numbers, 0, n * sizeof(double));
    }
    return TW_OK;
}

/* A group of one: nothing to merge. */
static tw_status_t tw_statistics_alone(const tw_statistics_t *s)
{
    tw_status_t status = tw_comm_check(s->world);

    for (size_t l = 0; l < s->layers && !s->sums && status == TW_OK; l++) {
        status = tw_layer_alone(s, &s->layer[l]);
    }
    return status;
}

/* The caller's numbers to ours, or back. */
static tw_status_t tw_statistics_copy(const tw_statistics_t *s, bool back)
{
    tw_status_t status = TW_OK;
    double     *mine   = s->mine;

    for (size_t l = 0; l < s->layers && status == TW_OK; l++) {
        const size_t n       = tw_layer_numbers(s, s->layer[l].channels);
        double      *numbers = s->layer[l].numbers;

        status = tw_side_copy(&s->side, back ? numbers : mine, back ? mine : numbers,
                              n * sizeof(double));
        mine += n;
    }
    return status;
}

/* Take the numbers; *exchange_p: they are to be exchanged. */
static tw_status_t tw_statistics_begin(tw_statistics_t *s, double *const *numbers,
                                       const size_t *channels, size_t layers, bool sums,
                                       bool *exchange_p)
{
    tw_status_t status = tw_statistics_take(s, numbers, channels, layers, sums);

    *exchange_p = false;
    if (status != TW_OK) {
        return status;
    }
    if (s->comm == NULL) {
        return tw_statistics_alone(s);
    }
    status      = tw_comm_check(s->comm);
    *exchange_p = status == TW_OK && s->numbers > 0;
    return *exchange_p ? tw_statistics_copy(s, false) : status;
}

static int64_t tw_statistics_span(const tw_statistics_t *s)
{
    return tw_trace_begin(s->config.trace, TW_TRACE_NETWORK,
                          s->sums ? "statistics back" : "statistics", (int64_t)s->layers);
}

static tw_status_t tw_statistics_send(tw_statistics_t *s)
{
    tw_status_t status;

    s->flight.span = tw_statistics_span(s);
    status = tw_statistics_gather(s, s->comm, s->mine, s->all, TW_WORDS * s->numbers, &s->flight);
    if (status != TW_OK) {
        tw_trace_end(s->config.trace, s->flight.span);
    }
    return status;
}

static tw_status_t tw_statistics_start(tw_statistics_t *s, double *const *numbers,
                                       const size_t *channels, size_t layers, bool sums)
{
    bool              exchange;
    const tw_status_t status = tw_statistics_begin(s, numbers, channels, layers, sums, &exchange);

    return status == TW_OK && exchange ? tw_statistics_send(s) : status;
}

/* Into what is mine. In device memory the copies back from there, of the exchange before, are done:
 * this exchange's came after them. */
static void tw_statistics_merge_all(const tw_statistics_t *s)
{
    const tw_fpmode_t mode = tw_fpmode_enter();
    double           *all  = s->all;
    double           *mine = s->mine;

    for (size_t l = 0; l < s->layers; l++) {
        const size_t channels = s->layer[l].channels, n = tw_layer_numbers(s, channels);

        tw_statistics_merge(s, mine, channels, all, s->numbers);
        mine += n;
        all += n;
    }
    tw_fpmode_leave(mode);
}

tw_status_t tw_statistics_wait(tw_statistics_t *statistics)
{
    tw_statistics_t *s = statistics;
    tw_status_t      status;

    if (s == NULL) {
        return TW_ERR_INVALID_ARG;
    }
    if (s->flight.request == NULL) {
        return TW_OK;
    }
    status = tw_wait(&s->flight.request);
    tw_trace_end(s->config.trace, s->flight.span);
    if (status != TW_OK) {
        return status;
    }
    tw_statistics_merge_all(s);
    return tw_statistics_copy(s, true);
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

/* Start and wait; through owners of shares, if that is quicker. */
static tw_status_t tw_statistics_now(tw_statistics_t *s, double *const *numbers,
                                     const size_t *channels, size_t layers, bool sums)
{
    bool        exchange;
    int64_t     span;
    tw_status_t status = tw_statistics_begin(s, numbers, channels, layers, sums, &exchange);

    if (status != TW_OK || !exchange) {
        return status;
    }
    if (!tw_comm_in_shares(s->comm, s->numbers * sizeof(double))) {
        status = tw_statistics_send(s);
        return status == TW_OK ? tw_statistics_wait(s) : status;
    }
    span   = tw_statistics_span(s);
    status = tw_shares_exchange(s);
    tw_trace_end(s->config.trace, span);
    return status == TW_OK ? tw_statistics_copy(s, true) : status;
}

tw_status_t tw_statistics_moments(tw_statistics_t *statistics, double *const *moments,
                                  const size_t *channels, size_t layers)
{
    return tw_statistics_now(statistics, moments, channels, layers, false);
}

tw_status_t tw_statistics_sums(tw_statistics_t *statistics, double *const *sums,
                               const size_t *channels, size_t layers)
{
    return tw_statistics_now(statistics, sums, channels, layers, true);
}
