/* SPDX-License-Identifier: BSD-3-Clause
 * train/report/report_json.c - the JSON file of a run.
 */
#include "config.h"

#include <inttypes.h>
#include <jansson.h>
#include <math.h>
#include <stdio.h>

#include "command/json.h"
#include "train/report/report_inside.h"

/* null where the processor computes. */
static json_t *device_object(const tw_training_t *t)
{
    if (!tw_report_on_device(t)) {
        return json_null();
    }
    return json_pack("{s:s, s:s, s:b, s:b, s:I, s:I}", "name", tw_backend_name(t->backend), "note",
                     tw_backend_note(t->backend), "tf32", t->options->tf32, "fast",
                     t->options->fast, "bytes", (json_int_t)tw_backend_memory_used(t->backend),
                     "bytes_total", (json_int_t)tw_backend_memory_total(t->backend));
}

static json_t *bytes_or_null(double bytes)
{
    return bytes < 0.0 ? json_null() : json_real(bytes);
}

/* Of each rank, to other nodes; none where MPI does not tell. */
static json_t *network_list(const tw_training_t *t)
{
    json_t *list = json_array();

    for (int r = 0; r < t->size && !t->codecs.native; r++) {
        json_array_append_new(list, json_real(t->network_sent[r] / fmax(1.0, (double)t->counted)));
    }
    return list;
}

static json_t *share_or_null(double share)
{
    return share < 0.0 ? json_null() : json_real(share);
}

static json_t *epoch_object(const tw_training_t *t, uint64_t e)
{
    const tw_training_record_t *r = &t->records[e];

    return json_pack("{s:I, s:f, s:o, s:o, s:o, s:f, s:f, s:f, s:f, s:f, s:o, s:b}", "epoch",
                     (json_int_t)(e + 1), "train_loss", r->train_loss, "train_error",
                     share_or_null(r->train_error), "test_error", share_or_null(r->test_error),
                     "test_error_top5", share_or_null(r->test_error_top5), "seconds", r->seconds,
                     "step_seconds", r->step_seconds, "images_per_second", r->images / r->seconds,
                     "exposed_share", r->exposed, "input_wait_seconds", r->waited,
                     "bytes_sent_per_step", bytes_or_null(r->bytes_sent), "global_statistics",
                     r->global > 0.0);
}

static json_t *evaluation_object(const tw_evaluation_t *e)
{
    return json_pack("{s:I, s:I, s:f, s:f, s:f, s:f, s:o}", "step", (json_int_t)e->step, "epoch",
                     (json_int_t)e->epoch, "seconds", e->seconds, "test_error", e->test_error,
                     "test_error_top5", e->test_error_top5, "train_loss", e->train_loss,
                     "test_loss", isfinite(e->test_loss) ? json_real(e->test_loss) : json_null());
}

static json_t *until_object(const tw_training_t *t)
{
    const tw_evaluation_t *first = tw_report_reached(t);

    if (t->options->until < 0.0) {
        return json_null();
    }
    return json_pack("{s:s, s:b, s:o, s:o}", "condition", t->options->until_text, "reached",
                     first != NULL, "seconds",
                     first != NULL ? json_real(first->seconds) : json_null(), "steps",
                     first != NULL ? json_integer((json_int_t)first->step) : json_null());
}

static json_t *results(const tw_training_t *t)
{
    const tw_evaluation_t *tested = tw_report_last_test(t);
    const tw_means_t       m      = tw_report_means(t);
    double                 lowest = tested != NULL ? 1.0 : -1.0;
    json_t                *root, *epochs = json_array(), *evaluations = json_array();
    char                   hash[32];

    for (uint64_t e = 0; e < t->epochs; e++) {
        json_array_append_new(epochs, epoch_object(t, e));
    }
    for (size_t i = 0; i < t->evaluations.count; i++) {
        const tw_evaluation_t *e = &t->evaluations.list[i];

        json_array_append_new(evaluations, evaluation_object(e));
        lowest = e->test_error < lowest ? e->test_error : lowest;
    }
    snprintf(hash, sizeof(hash), "%016" PRIx64, t->hash);
    root =
        json_pack("{s:o, s:o, s:o, s:f, s:f, s:f, s:f, s:f, s:o, s:o, s:o, s:I, s:I, s:I, s:I, "
                  "s:s, s:o, s:o, "
                  "s:o, s:o, s:o, s:o, s:o, s:I, s:I, s:o}",
                  "test_error", share_or_null(tested != NULL ? tested->test_error : -1.0),
                  "test_error_top5", share_or_null(tested != NULL ? tested->test_error_top5 : -1.0),
                  "test_error_min", share_or_null(lowest), "train_loss",
                  t->records[t->epochs - 1].train_loss, "images_per_second", m.images_per_second,
                  "seconds_per_epoch", m.seconds, "step_seconds", m.step_seconds, "exposed_share",
                  m.exposed, "bytes_sent_per_step", bytes_or_null(m.bytes_sent),
                  "bytes_uncompressed_per_step", bytes_or_null(m.bytes_uncompressed),
                  "bytes_network_per_step", network_list(t), "steps_per_epoch",
                  (json_int_t)t->steps, "optimizer_bytes", (json_int_t)tw_report_state_bytes(t),
                  "dense_input_bytes", (json_int_t)tw_division_memory(&t->division), "dense_bytes",
                  (json_int_t)tw_head_memory(t->head), "weights_hash", hash, "weights",
                  tw_report_weights(t), "until", until_object(t), "awp_calibrate",
                  tw_report_calibration_json(t), "profile", tw_report_profile_json(t), "loader",
                  tw_report_loader_json(t), "epochs", epochs, "evaluations", evaluations, "graphs",
                  (json_int_t)tw_trunk_graphs(t->trunk), "compute_bytes",
                  (json_int_t)tw_backend_memory_used(t->backend), "device", device_object(t));
    return root;
}

/* Text that is not UTF-8 does not fit JSON and is left out. */
json_t *tw_report_settings(const tw_training_t *t)
{
    const tw_train_options_t *o = t->options;
    char                      shape[96];

    tw_report_shape(&t->network, shape, sizeof(shape));
    return json_pack(
        "{s:s, s:s, s:I, s:s*, s:s, s:s, s:s, s:s, s:i, s:I, s:f, s:f, s:f, s:I, s:I, s:I, s:s}",
        "model", t->network.name, "layers", shape, "parameters",
        (json_int_t)tw_network_parameters(&t->network), "data", o->data, "codec", t->codec_text,
        "scheme", o->scheme, "update", o->update, "batch_statistics", o->bn, "ranks", t->size,
        "batch", (json_int_t)t->batch, "lr", t->rates.base, "momentum", t->rates.momentum, "decay",
        t->rates.decay, "update_period", (json_int_t)o->update_period, "seed", (json_int_t)o->seed,
        "threads", (json_int_t)o->threads, "isa", t->kernels->isa);
}

int tw_report_json(const tw_training_t *t, int argc, char **argv, tw_problem_t *problem)
{
    json_t *root;

    if (t->rank != 0 || t->options->json == NULL) {
        return 0;
    }
    root = tw_json_begin("thinwire-train", argc, argv);
    tw_json_add(&root, tw_report_settings(t));
    tw_json_add(&root, results(t));
    return tw_json_end(root, t->options->json, problem);
}
