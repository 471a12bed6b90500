/* SPDX-License-Identifier: BSD-3-Clause
 * tools/plan_root.c - see plan_root.h. The steps are those of thinwire scale: data parallel,
 * weights and their updates at the root, gradients to it in fp32, as in S0.
 */
#include "config.h"

#include <stdio.h>

#include <thinwire/weights.h>

#include "tools/plan_root.h"
#include "tools/scale/codecs.h"
#include "tools/table.h"

static const table_column_t columns[] = {
    {"weights", -8}, {"step", 10}, {"shorter", 8}, {"root sends", 10}};

enum { COLUMNS = sizeof(columns) / sizeof(columns[0]), WIDTHS = 4 };

/* As they are sent by 4, 3, 2 and 1 bytes; NULL at the end. */
static const char *const codecs[WIDTHS + 1] = {"fp32", "bitpack:3", "bitpack:2", "bitpack:1", NULL};

/* The plan's model, machine and ranks, the weights with a root. */
static int prepare(study_t *root, const plan_t *plan, tw_context_t *ctx, tw_problem_t *problem)
{
    *root              = plan->study;
    root->specs        = (specs_t){.count = 0};
    root->facts.codecs = 0;
    root->act          = NULL;
    root->variant[0] =
        (variant_t){.scheme = {.kind = SCHEME_DATA, .text = "data"}, .per_node = plan->per_node};
    root->work.training.owners = TW_WEIGHTS_ROOT;
    if (codecs_measure(&root->specs, codecs, ctx, &root->facts, problem) != 0) {
        return -1;
    }
    codecs_set_rate(&root->facts, plan->machine.codec_rate);
    return 0;
}

static void print_row(int bits, const step_time_t *time, double whole)
{
    char cells[COLUMNS][TABLE_CELL];

    snprintf(cells[0], TABLE_CELL, "%d bits", bits);
    table_time(cells[1], time->seconds);
    snprintf(cells[2], TABLE_CELL, "%.2f %%", 100.0 * (1.0 - time->seconds / whole));
    snprintf(cells[3], TABLE_CELL, "%.2f MB", 1e-6 * time->first);
    table_row(columns, COLUMNS, cells);
}

static void print_head(const plan_t *plan, double balance)
{
    printf("\nWeights at a root (thinwire-train --update root), as in S0, gradients in fp32: its "
           "link has %.3g bytes for each\n1000 operations of %d ranks. AWP begins with 8 bits and "
           "ends with up to 32:\n",
           balance, plan->ranks);
    table_header(columns, COLUMNS);
}

int plan_root(const plan_t *plan, double rate, tw_context_t *ctx, report_t *report,
              tw_problem_t *problem)
{
    const double balance = 1000.0 * rate / plan->machine.flops / plan->ranks;
    step_time_t  time[WIDTHS];
    study_t      root;
    json_t      *rows = json_array();

    if (plan->ranks == 1) {
        json_decref(rows);
        return 0;
    }
    if (prepare(&root, plan, ctx, problem) != 0) {
        json_decref(rows);
        return -1;
    }
    for (int i = 0; i < WIDTHS; i++) {
        root.weights = codecs[i];
        if (study_step(&root, &root.network[0], plan->ranks, 0, 0, &time[i], problem) != 0) {
            json_decref(rows);
            return -1;
        }
        json_array_append_new(rows, json_pack("{s:i, s:f, s:f}", "bits", 32 - 8 * i, "seconds",
                                              time[i].seconds, "root_bytes", time[i].first));
    }
    print_head(plan, balance);
    for (int i = 0; i < WIDTHS; i++) {
        print_row(32 - 8 * i, &time[i], time[0].seconds);
    }
    json_object_set_new(
        report->root, "root",
        json_pack("{s:f, s:o}", "bytes_per_1000_operations", balance, "rows", rows));
    return 0;
}
