/* SPDX-License-Identifier: BSD-3-Clause
 * train/report/report_loader.c - report of the loader: the states tried, wait times, broken images.
 */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>

#include "command/watch.h"
#include "train/report/report.h"

enum { NAMED = 10 }; /* broken images */

void tw_report_tuned(tw_training_t *t)
{
    tw_tuning_facts_t facts;
    size_t            measured = 0;

    if (t->rank != 0) {
        return;
    }
    tw_report_wipe(t);
    tw_tuning_facts(t->tuning, &facts);
    printf("loader: threads  transfer index  s a step  steps\n");
    for (size_t i = 0; i < facts.count; i++) {
        const tw_tuner_row_t *row = &facts.rows[i];

        if (row->samples > 0) {
            printf("        %7d  %14d  %8.4g  %5zu%s\n", row->state.threads, row->state.index,
                   row->median, row->samples,
                   row->state.threads == facts.state.threads &&
                           row->state.index == facts.state.index
                       ? "  taken"
                       : "");
            measured++;
        }
    }
    printf("loader: %zu of %zu states measured, in %zu steps\n", measured, facts.count,
           facts.steps);
    fflush(stdout);
}

void tw_report_searching(const tw_training_t *t)
{
    tw_tuning_facts_t facts;
    size_t            measured = 0;

    tw_tuning_facts(t->tuning, &facts);
    if (t->rank != 0 || !facts.searching) {
        return;
    }
    for (size_t i = 0; i < facts.count; i++) {
        measured += facts.rows[i].samples > 0;
    }
    printf("loader: still searching after %zu steps, %zu of %zu states measured; now %d threads, "
           "transfer index %d\n",
           facts.steps, measured, facts.count, facts.state.threads, facts.state.index);
    fflush(stdout);
}

/* ---- broken images ------------------------------------------------------------------------- */

static int by_number(const void *a, const void *b)
{
    const uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

    return (x > y) - (x < y);
}

static void print_broken(const tw_training_t *t, uint64_t *image, size_t n)
{
    const tw_source_t *source   = tw_feed_source(t->feed);
    size_t             distinct = 0;
    char               name[300];

    qsort(image, n, sizeof(*image), by_number);
    for (size_t i = 0; i < n; i++) {
        if (i == 0 || image[i] != image[i - 1]) {
            image[distinct++] = image[i];
        }
    }
    printf("%zu broken image%s replaced:", distinct, distinct == 1 ? " was" : "s were");
    for (size_t i = 0; i < distinct && i < NAMED; i++) {
        source->ops->name_of(source, (tw_subset_t)(image[i] >> 32), (uint32_t)image[i], name,
                             sizeof(name));
        printf("%s %s", i > 0 ? "," : "", name);
    }
    printf("%s\n", distinct > NAMED ? ", ..." : "");
    fflush(stdout);
}

void tw_report_broken(const tw_training_t *t)
{
    const size_t size = (size_t)t->size;
    int          mine = (int)tw_feed_broken(t->feed, NULL, 0), total = 0, good, all_good;
    int         *count = calloc(size, sizeof(*count)), *first = calloc(size, sizeof(*first));
    uint64_t    *own = malloc(((size_t)mine + 1) * sizeof(*own)), *all = NULL;

    good = count != NULL && first != NULL && own != NULL;
    if (good) {
        tw_feed_broken(t->feed, own, (size_t)mine);
    }
    watch_begin("MPI_Gatherv");
    MPI_Allreduce(&mine, &total, 1, MPI_INT, MPI_SUM, t->comm);
    all  = t->rank == 0 ? malloc(((size_t)total + 1) * sizeof(*all)) : NULL;
    good = good && (t->rank != 0 || all != NULL);
    MPI_Allreduce(&good, &all_good, 1, MPI_INT, MPI_MIN, t->comm);
    if (total > 0 && all_good) { /* without memory there is no report */
        MPI_Gather(&mine, 1, MPI_INT, count, 1, MPI_INT, 0, t->comm);
        for (size_t r = 1; r < size; r++) {
            first[r] = first[r - 1] + count[r - 1];
        }
        MPI_Gatherv(own, mine, MPI_UINT64_T, all, count, first, MPI_UINT64_T, 0, t->comm);
        if (t->rank == 0) {
            print_broken(t, all, (size_t)total);
        }
    }
    watch_end();
    free(all);
    free(own);
    free(count);
    free(first);
}

/* ---- JSON ---------------------------------------------------------------------------------- */

static json_t *tried(const tw_tuning_facts_t *facts)
{
    json_t *rows = json_array();

    for (size_t i = 0; i < facts->count; i++) {
        const tw_tuner_row_t *row = &facts->rows[i];

        if (row->samples > 0) {
            json_array_append_new(rows,
                                  json_pack("{s:i, s:i, s:f, s:I}", "threads", row->state.threads,
                                            "transfer_index", row->state.index, "seconds",
                                            row->median, "steps", (json_int_t)row->samples));
        }
    }
    return rows;
}

json_t *tw_report_loader_json(const tw_training_t *t)
{
    tw_pipeline_facts_t facts;
    tw_tuning_facts_t   tuning;

    tw_feed_facts(t->feed, &facts);
    tw_tuning_facts(t->tuning, &tuning);
    return json_pack(
        "{s:s, s:s, s:I, s:i, s:i, s:b, s:b, s:b, s:I, s:I, s:o, s:I, s:f, s:I, s:f, s:f, s:f}",
        "operations", tw_feed_operations(t->feed, TW_SUBSET_TRAIN), "operations_test",
        tw_feed_operations(t->feed, TW_SUBSET_TEST), "views_test",
        (json_int_t)tw_feed_views(t->feed), "threads", tuning.state.threads, "transfer_index",
        tuning.state.index, "automatic", tuning.automatic, "searching", tuning.searching, "kept",
        tuning.kept, "searches", (json_int_t)tuning.searches, "search_steps",
        (json_int_t)tuning.steps, "tried", tried(&tuning), "images", (json_int_t)facts.images,
        "bytes_per_value", facts.values > 0 ? (double)facts.bytes / (double)facts.values : 0.0,
        "allocations", (json_int_t)facts.grown, "waited_seconds", facts.waited, "device_seconds",
        facts.device, "thread_seconds", facts.busy);
}
