/* SPDX-License-Identifier: BSD-3-Clause
 * train/report/quantiles.c - see quantiles.h.
 */
#include "config.h"

#include <stdlib.h>

#include "command/file.h"
#include "command/quantiles.h"
#include "train/report/quantiles.h"

#define OPTION "--quantiles"

static void write_table(FILE *out, const tw_quantiles_t *table)
{
    fprintf(out, "{\"%s\",\n %zu,\n %.6g,\n %.6g,\n {", table->name, table->count, table->zero,
            table->negative);
    for (int i = 0; i < TW_QUANTILES; i++) {
        fprintf(out, "%.4g%s", table->magnitude[i],
                i + 1 == TW_QUANTILES ? "}},\n"
                : i % 8 == 7          ? ",\n  "
                                      : ", ");
    }
}

static int gradients(const tw_training_t *t, float *x, tw_quantiles_t *table, tw_problem_t *problem)
{
    const size_t n = t->params.total;

    if (tw_backend_get(t->backend, x, t->params.gradient, n * sizeof(*x), problem) != 0) {
        return -1;
    }
    tw_quantiles_make(table, "gradients", x, n);
    return 0;
}

/* Of the examples of the last step. */
static int activations(const tw_training_t *t, float *x, tw_quantiles_t *table,
                       tw_problem_t *problem)
{
    const size_t examples = tw_feed_size(t->feed, (tw_feed_batch_t){.step = t->step - 1});
    size_t       n        = 0, units;

    for (size_t l = 0; l < tw_head_hidden(t->head); l++) {
        const float *y = tw_head_hidden_outputs(t->head, l, &units);

        if (tw_backend_get(t->backend, x + n, y, units * examples * sizeof(*x), problem) != 0) {
            return -1;
        }
        n += units * examples;
    }
    if (n > 0) {
        tw_quantiles_make(table, "activations", x, n);
    }
    return 0;
}

static size_t room(const tw_training_t *t)
{
    size_t units, all = 0;

    for (size_t l = 0; l < tw_head_hidden(t->head); l++) {
        (void)tw_head_hidden_outputs(t->head, l, &units);
        all += units * t->batch;
    }
    return t->params.total > all ? t->params.total : all;
}

int tw_report_quantiles(const tw_training_t *t, tw_problem_t *problem)
{
    const char    *path = t->options->quantiles;
    tw_quantiles_t table[2];
    tw_file_t      file;
    float         *x;
    int            status;

    x = malloc(room(t) * sizeof(*x));
    if (x == NULL) {
        return tw_problem_set(problem, "%s: out of memory", OPTION);
    }
    status = gradients(t, x, &table[0], problem) == 0 ? activations(t, x, &table[1], problem) : -1;
    free(x);
    if (status != 0 || tw_file_begin(&file, OPTION, path, problem) != 0) {
        return -1;
    }
    write_table(file.stream, &table[0]);
    if (tw_head_hidden(t->head) > 0) {
        write_table(file.stream, &table[1]);
    }
    return tw_file_end(&file, OPTION, problem);
}
