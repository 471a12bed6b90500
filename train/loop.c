/* SPDX-License-Identifier: BSD-3-Clause
 * train/loop.c - see loop.h.
 */
#include "config.h"

#include <inttypes.h>
#include <stdlib.h>

#include "command/watch.h"
#include "train/agree.h"
#include "train/checkpoint.h"
#include "train/file.h"
#include "train/loop.h"
#include "train/random.h"
#include "train/report.h"
#include "train/step.h"

void tw_order_draw(uint32_t *order, size_t n, uint64_t seed, uint64_t epoch)
{
    const uint64_t key = tw_random_key(seed, TW_RANDOM_ORDER, epoch, 0);

    for (size_t i = 0; i < n; i++) {
        order[i] = (uint32_t)i;
    }
    for (size_t i = n; i > 1; i--) {
        const size_t   j    = tw_random_below(key, i, (uint32_t)i);
        const uint32_t kept = order[i - 1];

        order[i - 1] = order[j];
        order[j]     = kept;
    }
}

/* ---- one epoch ----------------------------------------------------------------------------- */

/* Fractions of the test images that the network gets wrong, by its first answer and by its first
 * five. All ranks take part in all batches: they hold the dense layers together. */
static int test(tw_training_t *t, double *error_p, double *error_top5_p, tw_problem_t *problem)
{
    const size_t    all   = t->data.test.n;
    tw_head_wrong_t wrong = {.one = 0};
    double          mine[2], sum[2];

    for (size_t begin = 0; begin < all; begin += t->batch) {
        const size_t n = all - begin < t->batch ? all - begin : t->batch;

        if (tw_step_test(t, begin, n, &wrong, problem) != 0) {
            return -1;
        }
    }
    mine[0] = (double)wrong.one;
    mine[1] = (double)wrong.five;
    watch_begin("MPI_Allreduce");
    MPI_Allreduce(mine, sum, 2, MPI_DOUBLE, MPI_SUM, t->comm);
    watch_end();
    *error_p      = sum[0] / (double)all;
    *error_top5_p = sum[1] / (double)all;
    return 0;
}

/* Hash all weights that every rank has, and see that they are finite and the same on all ranks.
 * Collective, and so is what it says. */
static int check_weights(tw_training_t *t, uint64_t epoch, tw_problem_t *problem)
{
    const size_t layers                       = t->network.layers;
    uint64_t     words[TW_NETWORK_LAYERS_MAX] = {0};
    uint64_t     bad = layers, first = layers; /* the first not finite: here, on any rank */
    int          rank, finite, status = 0;
    size_t       layer;

    for (size_t l = 0; l < layers; l++) {
        words[l] = tw_params_hash(&t->params, l, &finite);
        bad      = finite || bad < l ? bad : l;
    }
    /* Shares of split layers only their rank sees. */
    MPI_Allreduce(&bad, &first, 1, MPI_UINT64_T, MPI_MIN, t->comm);
    if (tw_agree_words(t->comm, words, layers, &rank, &layer) != 0) {
        status = tw_problem_set(problem,
                                "after epoch %" PRIu64 " rank %d has other weights than rank 0 in "
                                "layer %s",
                                epoch, rank, t->network.layer[layer].name);
    } else if (first < layers) {
        status = tw_problem_set(problem,
                                "after epoch %" PRIu64 " weights of layer %s are not finite; a "
                                "smaller --lr may help",
                                epoch, t->network.layer[first].name);
    }
    return status;
}

/* What this rank has sent, on all communicators. */
static tw_stats_t counted(const tw_training_t *t)
{
    const tw_comm_t *group = tw_normalisation_group(&t->norm);
    tw_stats_t       stats = {0}, more = {0};

    tw_comm_stats(t->wire, &stats);
    if (group != NULL) {
        tw_comm_stats(group, &more);
    }
    stats.bytes_sent += more.bytes_sent;
    stats.bytes_uncompressed += more.bytes_uncompressed;
    return stats;
}

static int by_size(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

/* Bytes per step and the exposed share of the rank that has most of them. */
static void gather_record(tw_training_t *t, const tw_stats_t *before, size_t steps,
                          tw_training_record_t *record)
{
    const tw_stats_t now = counted(t);
    double           mine[3], most[3];

    mine[0] = (double)(now.bytes_sent - before->bytes_sent);
    mine[1] = (double)(now.bytes_uncompressed - before->bytes_uncompressed);
    mine[2] = t->meter.communication / record->seconds;
    watch_begin("MPI_Allreduce");
    MPI_Allreduce(mine, most, 3, MPI_DOUBLE, MPI_MAX, t->comm);
    watch_end();
    record->bytes_sent         = t->codecs.native ? -1.0 : most[0] / (double)steps;
    record->bytes_uncompressed = t->codecs.native ? -1.0 : most[1] / (double)steps;
    record->exposed            = most[2];
    record->train_loss /= record->images;
    record->train_error /= record->images;
    if (!tw_step_counts_errors(t)) {
        record->train_error = -1.0;
    }
    if (steps > 2) {
        qsort(t->step_times + 2, steps - 2, sizeof(*t->step_times), by_size);
    }
    record->step_seconds = t->step_times[steps > 2 ? 2 + (steps - 2) / 2 : steps - 1];
}

/* Steps that are left of the epoch, or of --steps. */
static size_t steps_to_do(const tw_training_t *t)
{
    const uint64_t wanted = t->options->steps;

    return wanted != 0 && wanted - t->step < t->steps ? (size_t)(wanted - t->step) : t->steps;
}

static int run_steps(tw_training_t *t, size_t steps, tw_training_record_t *record,
                     tw_problem_t *problem)
{
    tw_order_draw(t->order, t->data.train.n, t->options->seed, t->epochs);
    for (size_t step = 0; step < steps; step++) {
        const size_t begin = step * t->batch, left = t->data.train.n - begin;
        const double start = MPI_Wtime(), before = t->meter.communication;

        if (tw_step_train(t, begin, left < t->batch ? left : t->batch, record, problem) != 0) {
            return -1;
        }
        t->step_times[step] = MPI_Wtime() - start;
        tw_report_step(t, step, (t->meter.communication - before) / t->step_times[step]);
    }
    return t->masters != NULL ? tw_masters_arrive(t->masters, problem) : 0;
}

static int run_epoch(tw_training_t *t, tw_problem_t *problem)
{
    const tw_stats_t     before = counted(t);
    const size_t         steps  = steps_to_do(t);
    tw_training_record_t record = {
        .test_error = -1.0, .test_error_top5 = -1.0, .global = tw_normalisation_global(&t->norm)};
    double start = MPI_Wtime();

    t->meter.communication = 0.0;
    if (run_steps(t, steps, &record, problem) != 0) {
        return -1;
    }
    record.seconds = MPI_Wtime() - start;
    gather_record(t, &before, steps, &record);
    if (check_weights(t, t->epochs + 1, problem) != 0 ||
        tw_normalisation_settle(&t->norm, &t->params, problem) != 0 ||
        (t->options->steps == 0 &&
         test(t, &record.test_error, &record.test_error_top5, problem) != 0)) {
        return -1;
    }
    t->records[t->epochs] = record;
    t->epochs++;
    return 0;
}

int tw_training_reached(const tw_training_t *t)
{
    return t->options->until < 0.0 ||
           (t->epochs > 0 && t->records[t->epochs - 1].test_error <= t->options->until);
}

static int finished(const tw_training_t *t)
{
    const tw_train_options_t *o = t->options;

    if (o->steps != 0) {
        return t->step >= o->steps;
    }
    return t->epochs >= t->epochs_wanted || (o->until >= 0.0 && tw_training_reached(t));
}

/* After an epoch all ranks have agreed that it went well. */
static void end_epoch(tw_training_t *t, tw_problem_t *problem)
{
    const tw_training_record_t *record = &t->records[t->epochs - 1];

    tw_report_epoch(t);
    if (tw_normalisation_observe(&t->norm, 1.0 - record->train_error)) {
        tw_report_switch(t);
    }
    if (t->options->checkpoint != NULL) {
        tw_checkpoint_save(t, t->options->checkpoint, problem);
    }
}

/* Collective. The ranks have agreed when this is over. */
static int write_trace(tw_training_t *t, tw_problem_t *problem)
{
    tw_file_t   file = {.stream = NULL};
    tw_status_t status;

    if (t->rank == 0) {
        tw_file_begin(&file, "--trace", t->options->trace, problem);
    }
    if (tw_agree(t->comm, problem) != 0) {
        return -1;
    }
    status = tw_trace_write(t->wire, t->trace, file.stream);
    if (status != TW_OK) {
        tw_exchange_failed(t->wire, "the trace", status, problem);
    }
    if (t->rank == 0 && status == TW_OK) {
        tw_file_end(&file, "--trace", problem);
    } else if (t->rank == 0) {
        tw_file_drop(&file);
    }
    return tw_agree(t->comm, problem);
}

int tw_training_run(tw_training_t *t, tw_problem_t *problem)
{
    if (t->epochs > 0) {
        check_weights(t, t->epochs, problem);
    }
    tw_training_hash(t);
    if (tw_agree(t->comm, problem) != 0) {
        return -1;
    }
    while (!finished(t)) {
        if (run_epoch(t, problem) == 0) {
            end_epoch(t, problem);
        }
        if (problem->set) {
            tw_report_wipe(t);
        }
        if (tw_agree(t->comm, problem) != 0) {
            return -1;
        }
    }
    tw_training_hash(t);
    return t->trace != NULL ? write_trace(t, problem) : 0;
}
