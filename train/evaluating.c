/* SPDX-License-Identifier: BSD-3-Clause
 * train/evaluating.c - see evaluating.h.
 */
#include "config.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>

#include "command/json.h"
#include "train/base/agree.h"
#include "train/checkpoint/checkpoint.h"
#include "train/checkpoint/safetensors.h"
#include "train/evaluating.h"
#include "train/loop_inside.h"
#include "train/report/report.h"

static void print(const tw_training_t *t, const tw_evaluation_t *e, double seconds)
{
    if (t->rank != 0) {
        return;
    }
    printf("test error %.2f %%  ", 100.0 * e->test_error);
    tw_report_top5(t, e->test_error_top5);
    printf("loss %.4f  %zu images in %.2f s, weights %016" PRIx64 "\n", e->test_loss,
           tw_feed_count(t->feed, TW_SUBSET_TEST), seconds, t->hash);
    fflush(stdout);
}

static int write_json(const tw_training_t *t, const tw_evaluation_t *e, double seconds, int argc,
                      char **argv, tw_problem_t *problem)
{
    char    hash[32];
    json_t *root;

    if (t->rank != 0 || t->options->json == NULL) {
        return 0;
    }
    snprintf(hash, sizeof(hash), "%016" PRIx64, t->hash);
    root = tw_json_begin("thinwire-train", argc, argv);
    tw_json_add(&root, tw_report_settings(t));
    tw_json_add(&root, json_pack("{s:f, s:f, s:o, s:I, s:f, s:I, s:I, s:s}", "test_error",
                                 e->test_error, "test_error_top5", e->test_error_top5, "test_loss",
                                 isfinite(e->test_loss) ? json_real(e->test_loss) : json_null(),
                                 "images", (json_int_t)tw_feed_count(t->feed, TW_SUBSET_TEST),
                                 "seconds", seconds, "step", (json_int_t)e->step, "epochs",
                                 (json_int_t)t->epochs, "weights_hash", hash));
    return tw_json_end(root, t->options->json, problem);
}

int tw_evaluating_run(tw_training_t *t, int argc, char **argv, tw_problem_t *problem)
{
    tw_evaluation_t e = {.step = tw_training_done(t)};
    double          start;

    tw_training_check_weights(t, problem);
    tw_training_hash(t, problem);
    if (tw_agree(t->comm, problem) != 0) {
        return -1;
    }
    start = MPI_Wtime();
    tw_training_test(t, &e, problem);
    if (tw_agree(t->comm, problem) != 0) {
        return -1;
    }
    start = MPI_Wtime() - start;
    print(t, &e, start);
    tw_report_broken(t);
    if (t->options->export_to != NULL) {
        tw_safetensors_write(t, problem);
        if (tw_agree(t->comm, problem) != 0) {
            return -1;
        }
    }
    write_json(t, &e, start, argc, argv, problem);
    return tw_agree(t->comm, problem);
}
