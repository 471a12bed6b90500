/* SPDX-License-Identifier: BSD-3-Clause
 * train/report/report.c - see report.h.
 */
#include "config.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "train/report/report_inside.h"

/* Whether somebody watches. Open MPI gives every rank a terminal as standard output, whatever
 * mpirun's own is, and a pipe as standard error; so ask also where the launcher's standard error
 * goes. */
static int watched(void)
{
    char    link[64], target[64];
    ssize_t length;

    if (isatty(STDERR_FILENO)) {
        return 1;
    }
    snprintf(link, sizeof(link), "/proc/%ld/fd/2", (long)getppid());
    length = readlink(link, target, sizeof(target) - 1);
    if (length < 0) {
        return 0;
    }
    target[length] = '\0';
    return strncmp(target, "/dev/pts/", 9) == 0 || strncmp(target, "/dev/tty", 8) == 0;
}

/* Where five answers are not all. */
void tw_report_top5(const tw_training_t *t, double error)
{
    if (t->network.classes > 5) {
        printf("top-5 %5.2f %%  ", 100.0 * error);
    }
}

/* "784x1024x1024x10" for dense layers, else "28x28x1, 7 layers". */
void tw_report_shape(const tw_network_t *net, char *text, size_t size)
{
    size_t used;

    if (net->first_dense > 0) {
        snprintf(text, size, "%zux%zux%zu, %zu layers", net->input.h, net->input.w, net->input.c,
                 net->layers);
        return;
    }
    used = (size_t)snprintf(text, size, "%zu", tw_shape_size(net->input));
    for (size_t l = 0; l < net->layers && used < size; l++) {
        if (net->layer[l].kind == TW_DENSE) {
            used += (size_t)snprintf(text + used, size - used, "x%zu", net->layer[l].out.c);
        }
    }
}

int tw_report_on_device(const tw_training_t *t)
{
    return tw_backend_memory(t->backend) != TW_MEMORY_HOST;
}

/* Where images move to a device at the earliest. */
static void report_transfer(const tw_training_t *t)
{
    const size_t           least = tw_feed_transfer_least(t->feed);
    const tw_transforms_t *list  = tw_feed_list(t->feed, TW_SUBSET_TRAIN);

    if (tw_report_on_device(t) && least > 0) {
        printf("images move to the device behind operation %zu of %zu, %s, at the earliest: the "
               "processor does that one\n",
               least, list->n, list->op[least - 1].ops->name);
    }
}

/* The weights of split layers are updated where they are (S0's conclusion asks for both). */
static void report_owned(const tw_training_t *t)
{
    tw_masters_facts_t facts;

    if (t->split && tw_training_has_owners(t)) {
        tw_masters_facts(t->masters, &facts);
        printf(
            "%zu of %zu parameters have owners and travel; those of split layers stay where they "
            "are\n",
            facts.elements, tw_network_parameters(&t->network));
    }
}

void tw_report_begin(tw_training_t *t)
{
    const tw_train_options_t *o = t->options;
    char                      shape[96];

    if (t->rank != 0) {
        return;
    }
    t->terminal = watched();
    tw_report_shape(&t->network, shape, sizeof(shape));
    printf("%s %s (%zu parameters), %s (%zu training, %zu test images)\n", t->network.name, shape,
           tw_network_parameters(&t->network), o->data, tw_feed_count(t->feed, TW_SUBSET_TRAIN),
           tw_feed_count(t->feed, TW_SUBSET_TEST));
    printf("%d rank%s, batch %" PRIu64 ", ", t->size, t->size == 1 ? "" : "s", t->batch);
    if (t->split) {
        printf("scheme %s, ", o->scheme);
    }
    if (tw_training_has_owners(t)) {
        printf("update %s, ", o->update);
    }
    if (t->norm.layers > 0) {
        printf("batch statistics %s, ", o->bn);
    }
    printf("codec %s, lr %g, seed %" PRIu64 ", %s kernels, %s\n", t->codec_text, t->rates.base,
           o->seed, t->kernels->isa, tw_backend_name(t->backend));
    report_owned(t);
    report_transfer(t);
    if (t->step > t->epochs * t->steps) {
        printf("resumed in epoch %" PRIu64 ", after step %" PRIu64 "\n", t->epochs + 1,
               tw_training_done(t));
    } else if (t->resumed > 0) {
        printf("resumed after epoch %" PRIu64 "\n", t->resumed);
    }
    fflush(stdout);
}

/* What is left of the run: "42 s", "25 min", "3 h 5 min". */
static void left_text(double seconds, char *text, size_t size)
{
    const int minutes = (int)(seconds / 60.0);

    if (minutes == 0) {
        snprintf(text, size, "%.0f s left", seconds);
    } else if (minutes < 60) {
        snprintf(text, size, "%d min left", minutes);
    } else {
        snprintf(text, size, "%d h %d min left", minutes / 60, minutes % 60);
    }
}

/* The progress line of a terminal. */
static void report_progress(tw_training_t *t)
{
    const uint64_t done = t->step - t->epochs * t->steps;
    char           left[48];

    left_text((double)((t->epochs_wanted - t->epochs) * t->steps - done) * t->pace, left,
              sizeof(left));
    fprintf(
        stderr,
        "\repoch %" PRIu64 "/%" PRIu64 "  step %" PRIu64 "/%zu  loss %.4f  %.0f images/s  %s\033[K",
        t->epochs + 1, t->epochs_wanted, done, t->steps, t->loss, (double)t->batch / t->pace, left);
}

void tw_report_step(tw_training_t *t, double seconds, double exposed)
{
    double now;

    if (t->rank != 0) {
        return;
    }
    if (t->options->steps != 0) {
        printf("step %4" PRIu64 "  loss %.4f  %.4g s  %4.1f %% exposed\n", tw_training_done(t),
               t->loss, seconds, 100.0 * exposed);
        fflush(stdout);
        return;
    }
    t->pace = t->pace > 0.0 ? t->pace + 0.05 * (seconds - t->pace) : seconds;
    now     = MPI_Wtime();
    if (t->terminal && now - t->shown >= 0.2) {
        report_progress(t);
        t->shown = now;
    }
}

void tw_report_evaluation(tw_training_t *t)
{
    const tw_evaluation_t *e = &t->evaluations.list[t->evaluations.count - 1];

    if (t->rank != 0) {
        return;
    }
    tw_report_wipe(t);
    tw_report_changes(t);
    printf("test after step %5" PRIu64 ", epoch %3" PRIu64 "  loss %.4f  test error %5.2f %%  ",
           e->step, e->epoch, e->train_loss, 100.0 * e->test_error);
    tw_report_top5(t, e->test_error_top5);
    printf("%6.2f s of training\n", e->seconds);
    fflush(stdout);
}

void tw_report_epoch(tw_training_t *t)
{
    const tw_training_record_t *r = &t->records[t->epochs - 1];
    char                        left[48];

    if (t->rank != 0) {
        return;
    }
    tw_report_wipe(t);
    tw_report_changes(t);
    if (t->options->steps != 0) {
        return; /* its steps have had lines of their own */
    }
    printf("epoch %3" PRIu64 "/%" PRIu64 "  loss %.4f  test error %5.2f %%  ", t->epochs,
           t->epochs_wanted, r->train_loss, 100.0 * r->test_error);
    tw_report_top5(t, r->test_error_top5);
    printf("%7.0f images/s", r->images / r->seconds);
    if (t->epochs < t->epochs_wanted) {
        left_text((double)(t->epochs_wanted - t->epochs) * r->seconds, left, sizeof(left));
        printf("  %s", left);
    }
    putchar('\n');
    fflush(stdout);
}

void tw_report_switch(tw_training_t *t)
{
    if (t->rank == 0) {
        printf("batch statistics are global from step %" PRIu64 " on: the training accuracy has "
               "converged\n",
               tw_training_done(t) + 1);
        fflush(stdout);
    }
}

/* Means over the epochs that this run has done; the last epoch's figures where it did none. */

/* With --steps and few steps in an epoch, epochs are left out until two steps have been done: the
 * first ones prepare much. */
static uint64_t first_counted(const tw_training_t *t)
{
    uint64_t from = t->resumed;

    if (t->options->steps != 0 && t->steps <= 2) {
        from = 2 / t->steps;
    }
    return from < t->epochs ? from : t->epochs - 1;
}

tw_means_t tw_report_means(const tw_training_t *t)
{
    const uint64_t from   = first_counted(t);
    const double   n      = (double)(t->epochs - from);
    tw_means_t     m      = {0};
    double         images = 0.0;

    for (uint64_t e = from; e < t->epochs; e++) {
        m.seconds += t->records[e].seconds / n;
        m.step_seconds += t->records[e].step_seconds / n;
        m.exposed += t->records[e].exposed / n;
        m.bytes_sent += t->records[e].bytes_sent / n;
        m.bytes_uncompressed += t->records[e].bytes_uncompressed / n;
        images += t->records[e].images / n;
    }
    /* --steps measures a step, without the first ones; otherwise the whole counts. */
    m.images_per_second =
        t->options->steps != 0 ? (double)t->batch / m.step_seconds : images / m.seconds;
    return m;
}

/* NULL: there was no test. */
const tw_evaluation_t *tw_report_last_test(const tw_training_t *t)
{
    const tw_evaluations_t *e = &t->evaluations;

    return e->count > 0 ? &e->list[e->count - 1] : NULL;
}

/* The first test that --until asks for; NULL: none yet, or not asked. */
const tw_evaluation_t *tw_report_reached(const tw_training_t *t)
{
    const tw_train_options_t *o = t->options;

    return o->until < 0.0 ? NULL : tw_evaluations_first(&t->evaluations, o->until, o->until_five);
}

static void print_until(const tw_training_t *t)
{
    const tw_evaluation_t *first = tw_report_reached(t);

    if (first != NULL) {
        printf("reached: %s after %.2f s of training, %" PRIu64 " steps\n", t->options->until_text,
               first->seconds, first->step);
    } else if (t->options->until >= 0.0) {
        printf("not reached: %s after %.2f s of training, %" PRIu64 " steps\n",
               t->options->until_text, t->seconds, tw_training_done(t));
    }
}

static void report_memory(const tw_training_t *t)
{
    if (tw_report_on_device(t)) {
        printf("memory of rank 0's device: %.1f of %.0f MB\n",
               1e-6 * (double)tw_backend_memory_used(t->backend),
               1e-6 * (double)tw_backend_memory_total(t->backend));
        if (tw_backend_note(t->backend)[0] != '\0') {
            printf("note: %s\n", tw_backend_note(t->backend));
        }
    }
}

void tw_report_end(const tw_training_t *t)
{
    const tw_evaluation_t *tested = tw_report_last_test(t);
    const tw_means_t       m      = tw_report_means(t);
    double                 waited = 0.0;

    if (t->rank != 0) {
        return;
    }
    for (uint64_t e = t->resumed; e < t->epochs; e++) {
        waited += t->records[e].waited;
    }
    if (tested != NULL) {
        printf("test error %.2f %%, ", 100.0 * tested->test_error);
    }
    printf("%.*f images/s, step %.4g s, %.1f %% of it exposed communication\n",
           m.images_per_second < 100.0 ? 2 : 0, m.images_per_second, m.step_seconds,
           100.0 * m.exposed);
    if (waited > 0.0 && waited >= 0.01 * m.seconds * (double)(t->epochs - t->resumed)) {
        printf("waited %.2f s for images\n", waited);
    }
    if (m.bytes_sent >= 0.0) {
        printf("%.0f bytes sent per rank and step", m.bytes_sent);
        if (m.bytes_uncompressed > 0.0) {
            printf(" (%.2f %% of float32)", 100.0 * m.bytes_sent / m.bytes_uncompressed);
        }
    } else {
        printf("bytes sent: - (MPI does not tell)");
    }
    printf(", weights %016" PRIx64 "\n", t->hash);
    report_memory(t);
    print_until(t);
    tw_report_calibration(t);
    tw_report_profile(t);
    fflush(stdout);
}
