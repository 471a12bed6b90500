/* SPDX-License-Identifier: BSD-3-Clause
 * train/loop.c - see loop.h.
 */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "command/file.h"
#include "command/watch.h"
#include "train/base/agree.h"
#include "train/checkpoint/checkpoint.h"
#include "train/checkpoint/safetensors.h"
#include "train/loop_inside.h"
#include "train/report/quantiles.h"
#include "train/report/report.h"
#include "train/step/step.h"

static int epoch_is_over(const tw_training_t *t)
{
    return t->step == (t->epochs + 1) * t->steps;
}

static int test_is_due(const tw_training_t *t)
{
    const tw_train_options_t *o = t->options;

    if (o->eval_every == 0) {
        return o->steps == 0 && epoch_is_over(t);
    }
    return t->step % o->eval_every == 0 || epoch_is_over(t);
}

/* ---- a stretch: the steps until the next test, at most to the end of the epoch --------------- */

/* What this rank has sent, on all communicators. */
static tw_stats_t counted(const tw_training_t *t)
{
    const tw_comm_t *others[] = {tw_normalisation_group(&t->norm),
                                 t->parts.groups > 1 ? t->parts.wire : NULL, t->parts.peer_wire};
    tw_stats_t       stats    = {0};

    tw_comm_stats(t->wire, &stats);
    for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++) {
        tw_stats_t more = {0};

        tw_comm_stats(others[i], &more); /* NULL: leaves the zeros */
        stats.bytes_sent += more.bytes_sent;
        stats.bytes_network += more.bytes_network;
        stats.bytes_uncompressed += more.bytes_uncompressed;
    }
    return stats;
}

/* Seconds that this rank has waited for images. */
static double waited(const tw_training_t *t)
{
    tw_pipeline_facts_t facts;

    tw_feed_facts(t->feed, &facts);
    return facts.waited;
}

/* What each rank has sent to other nodes in this run, a stretch of so many steps later. */
static void measure_network(tw_training_t *t, double bytes, uint64_t steps)
{
    const double mine = t->network_sent[t->rank] + bytes;

    watch_begin("MPI_Allgather");
    MPI_Allgather(&mine, 1, MPI_DOUBLE, t->network_sent, 1, MPI_DOUBLE, t->comm);
    watch_end();
    t->counted += steps;
}

/* Add the stretch to the epoch: bytes, and the exposed time, of the rank that has most of them. */
static void measure(tw_training_t *t, const tw_stats_t *before, uint64_t steps,
                    double waited_before, double seconds)
{
    const tw_stats_t now = counted(t);
    double           mine[6], most[6];

    measure_network(t, (double)(now.bytes_network - before->bytes_network), steps);
    mine[0] = (double)(now.bytes_sent - before->bytes_sent);
    mine[1] = (double)(now.bytes_uncompressed - before->bytes_uncompressed);
    mine[2] = t->meter.communication / seconds;
    mine[3] = seconds;
    mine[4] = waited(t) - waited_before;
    mine[5] = tw_tuning_drifted(t->tuning);
    watch_begin("MPI_Allreduce");
    MPI_Allreduce(mine, most, 6, MPI_DOUBLE, MPI_MAX, t->comm);
    watch_end();
    t->record.bytes_sent += most[0];
    t->record.bytes_uncompressed += most[1];
    t->record.exposed += most[2] * most[3];
    t->record.seconds += most[3];
    t->record.waited += most[4];
    t->seconds += most[3];
    if (most[5] > 0.0) {
        tw_tuning_search(t->tuning);
    }
}

/* The step at whose end it is over. */
static uint64_t end_of_stretch(const tw_training_t *t)
{
    const uint64_t every = t->options->eval_every, steps = t->options->steps;
    uint64_t       end = (t->epochs + 1) * t->steps;

    if (every != 0 && (t->step / every + 1) * every < end) {
        end = (t->step / every + 1) * every;
    }
    return steps != 0 && steps - t->shift < end ? steps - t->shift : end;
}

/* What the last step has sent. */
static int arrive(tw_training_t *t, tw_problem_t *problem)
{
    const double start = MPI_Wtime();
    int          status;

    tw_profile_more(t->profile, TW_PROFILE_WEIGHTS);
    status = tw_masters_arrive(t->masters, problem);
    tw_profile_end(t->profile, MPI_Wtime() - start);
    return status;
}

int tw_training_tune(tw_training_t *t, double seconds, tw_problem_t *problem)
{
    tw_tuning_facts_t before, after;

    tw_tuning_facts(t->tuning, &before);
    if (tw_tuning_step(t->tuning, seconds, problem) != 0) {
        return -1;
    }
    tw_tuning_facts(t->tuning, &after);
    if (before.searching && !after.searching && after.steps > 1) {
        tw_report_tuned(t);
    }
    return 0;
}

static int run_steps(tw_training_t *t, uint64_t end, tw_problem_t *problem)
{
    while (t->step < end) {
        const double start = MPI_Wtime(), before = t->meter.communication;
        double       seconds;

        if (tw_profile_begin(t->profile)) {
            tw_marks_forget(t->marks);
        }
        if (tw_step_train(t, &t->record, problem) != 0) {
            return -1;
        }
        seconds = MPI_Wtime() - start;
        tw_profile_end(t->profile, seconds);
        t->step_times[t->timed++] = seconds;
        tw_report_step(t, seconds, (t->meter.communication - before) / seconds);
        if (tw_training_tune(t, seconds, problem) != 0) {
            return -1;
        }
    }
    return tw_masters_arrived(t->masters) ? 0 : arrive(t, problem);
}

/* Begin the epoch, or go on with it. */
static void prepare_epoch(tw_training_t *t)
{
    if (t->step == t->epochs * t->steps) {
        t->timed  = 0;
        t->record = (tw_training_record_t){.test_error      = -1.0,
                                           .test_error_top5 = -1.0,
                                           .global          = tw_normalisation_global(&t->norm)};
    }
}

static int run_stretch(tw_training_t *t, tw_problem_t *problem)
{
    const tw_stats_t before       = counted(t);
    const double     waited_until = waited(t);
    const uint64_t   first        = t->step;
    double           start;

    prepare_epoch(t);
    start                  = MPI_Wtime();
    t->meter.communication = 0.0;
    if (run_steps(t, end_of_stretch(t), problem) != 0) {
        return -1;
    }
    measure(t, &before, t->step - first, waited_until, MPI_Wtime() - start);
    if (tw_training_check_weights(t, problem) != 0 ||
        tw_normalisation_settle(&t->norm, &t->params, problem) != 0) {
        return -1;
    }
    return test_is_due(t) ? tw_training_evaluate(t, problem) : 0;
}

/* ---- epochs --------------------------------------------------------------------------------- */

static int by_size(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

/* Of this run's steps of the epoch, without the first two. */
static double median_step(const tw_training_t *t)
{
    const size_t n      = t->timed;
    double      *sorted = t->step_times + t->steps;

    if (n < 3) {
        return n > 0 ? t->step_times[n - 1] : t->record.step_seconds;
    }
    memcpy(sorted, t->step_times + 2, (n - 2) * sizeof(*sorted));
    qsort(sorted, n - 2, sizeof(*sorted), by_size);
    return sorted[(n - 2) / 2];
}

/* Sums become means, and the epoch one of those done, even if the run ends inside it. */
static void close_epoch(tw_training_t *t)
{
    const tw_evaluation_t *tested = tw_evaluations_at(&t->evaluations, tw_training_done(t));
    tw_training_record_t   record = t->record;

    record.bytes_sent         = t->codecs.native ? -1.0 : record.bytes_sent / record.steps;
    record.bytes_uncompressed = t->codecs.native ? -1.0 : record.bytes_uncompressed / record.steps;
    record.exposed /= record.seconds;
    record.train_loss /= record.images;
    record.train_error  = tw_step_counts_errors(t) ? record.train_error / record.images : -1.0;
    record.step_seconds = median_step(t);
    if (tested != NULL) {
        record.test_error      = tested->test_error;
        record.test_error_top5 = tested->test_error_top5;
    }
    t->records[t->epochs++] = record;
}

/* ---- the run -------------------------------------------------------------------------------- */

/* By numbers that all ranks have alike. */
static int reached(const tw_training_t *t)
{
    const tw_train_options_t *o = t->options;

    if (t->calibration != NULL && tw_calibration_drop(&t->evaluations) != NULL) {
        return 1;
    }
    return o->until >= 0.0 &&
           tw_evaluations_first(&t->evaluations, o->until, o->until_five) != NULL;
}

static int finished(const tw_training_t *t)
{
    const uint64_t steps = t->options->steps;

    return reached(t) ||
           (steps != 0 ? tw_training_done(t) >= steps : t->epochs >= t->epochs_wanted);
}

static void end_epoch(tw_training_t *t)
{
    close_epoch(t);
    tw_report_epoch(t);
    if (tw_normalisation_observe(&t->norm, 1.0 - t->records[t->epochs - 1].train_error)) {
        tw_report_switch(t);
    }
}

/* After a stretch all ranks have agreed that it went well. */
static void end_stretch(tw_training_t *t, tw_problem_t *problem)
{
    const int tested = test_is_due(t);
    const int over   = epoch_is_over(t);

    if (tested && (!over || t->options->steps != 0)) {
        tw_report_evaluation(t);
    }
    if (over) {
        end_epoch(t);
    }
    if (t->options->checkpoint != NULL && (over || tested)) {
        t->record.step_seconds = median_step(t);
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
        tw_problem_status(t->wire, "the trace", status, problem);
    }
    if (t->rank == 0 && status == TW_OK) {
        tw_file_end(&file, "--trace", problem);
    } else if (t->rank == 0) {
        tw_file_drop(&file);
    }
    return tw_agree(t->comm, problem);
}

/* Of the elements that have owners, those of this rank; 1 where it updates all. */
static double own_part(const tw_training_t *t)
{
    tw_masters_facts_t facts;

    tw_masters_facts(t->masters, &facts);
    return facts.own > 0 ? (double)facts.own / (double)facts.elements : 1.0;
}

static void write_job(const tw_training_t *t, tw_problem_t *problem)
{
    const tw_recorder_about_t about = {.network    = &t->network,
                                       .ranks      = t->size,
                                       .parts      = t->split ? t->parts.ranks : 1,
                                       .batch      = t->batch,
                                       .bucket     = t->options->bucket,
                                       .period     = t->options->update_period,
                                       .statistics = tw_normalisation_global(&t->norm),
                                       .owners     = t->options->owners,
                                       .weight     = &t->codecs.weight,
                                       .own        = own_part(t)};

    tw_recorder_write(t->recorder, t->options->record, &about, problem);
}

int tw_training_run(tw_training_t *t, tw_problem_t *problem)
{
    if (t->step > 0) {
        tw_training_check_weights(t, problem);
    }
    tw_training_hash(t, problem);
    if (tw_agree(t->comm, problem) != 0) {
        return -1;
    }
    while (!finished(t)) {
        if (run_stretch(t, problem) == 0) {
            end_stretch(t, problem);
        }
        if (problem->set) {
            tw_report_wipe(t);
        }
        if (tw_agree(t->comm, problem) != 0) {
            return -1;
        }
    }
    if (t->step > t->epochs * t->steps) {
        close_epoch(t);
    }
    if (tw_training_hash(t, problem) == 0 && tw_backend_finish(t->backend, problem) == 0) {
        tw_marks_collect(t->marks, problem); /* the update of the last step */
    }
    if (tw_agree(t->comm, problem) != 0) {
        return -1;
    }
    /* Before the export, which collects weights where gradients are. */
    if (t->options->quantiles != NULL) {
        tw_report_quantiles(t, problem);
        if (tw_agree(t->comm, problem) != 0) {
            return -1;
        }
    }
    if (t->options->export_to != NULL) {
        tw_safetensors_write(t, problem);
        if (tw_agree(t->comm, problem) != 0) {
            return -1;
        }
    }
    tw_report_searching(t);
    tw_report_broken(t);
    if (t->recorder != NULL) {
        if (t->rank == 0) {
            write_job(t, problem);
        }
        if (tw_agree(t->comm, problem) != 0) {
            return -1;
        }
    }
    if (t->profile != NULL) {
        tw_profile_device(t->profile, t->marks);
        tw_profile_slowest(t->profile, t->comm);
    }
    return t->trace != NULL ? write_trace(t, problem) : 0;
}
