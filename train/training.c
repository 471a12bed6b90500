/* SPDX-License-Identifier: BSD-3-Clause
 * train/training.c - creation of a run, in stages; all ranks agree on each stage. See training.h.
 */
#include "config.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "train/base/agree.h"
#include "train/checkpoint/checkpoint.h"
#include "train/checkpoint/safetensors.h"
#include "train/device.h"
#include "train/base/hash.h"
#include "train/feed/learning.h"
#include "train/step/step.h"
#include "train/training_inside.h"

/* Rank 0 reads the model, so that a file need not be everywhere, and tells the others. */
static int read_network(tw_training_t *t, tw_problem_t *problem)
{
    char              *text = NULL, source[256] = "";
    unsigned long long length = 0;
    int                status, mine, all = 0;

    if (t->rank == 0 && tw_network_text(t->options->model, &text, source, problem) == 0) {
        length = strlen(text) + 1;
    }
    MPI_Bcast(&length, 1, MPI_UNSIGNED_LONG_LONG, 0, t->comm);
    if (length == 0) {
        return -1;
    }
    if (t->rank != 0) {
        text = malloc(length);
    }
    mine = text != NULL;
    MPI_Allreduce(&mine, &all, 1, MPI_INT, MPI_MIN, t->comm);
    if (!all) {
        free(text);
        return tw_problem_set(problem, "out of memory");
    }
    MPI_Bcast(text, (int)length, MPI_CHAR, 0, t->comm);
    MPI_Bcast(source, sizeof(source), MPI_CHAR, 0, t->comm);
    status          = tw_network_parse(&t->network, text, source, problem);
    t->network_hash = tw_hash(0, text, length);
    free(text);
    return status;
}

/* ---- what the ranks make together ---------------------------------------------------------- */

/* All ranks must read the same data from their disks. */
static int compare_data(tw_training_t *t, tw_problem_t *problem)
{
    int    rank;
    size_t index;

    if (tw_agree_words(t->comm, &t->data_hash, 1, &rank, &index) != 0) {
        return tw_problem_set(problem, "rank %d has other data than rank 0", rank);
    }
    return 0;
}

static int make_wire(tw_training_t *t, tw_problem_t *problem)
{
    const tw_status_t status = tw_comm_create(t->ctx, t->comm, &t->wire);

    /* A mismatch has been explained by the library, in one line for all ranks. */
    return status == TW_OK
               ? 0
               : tw_problem_set(problem, "%s",
                                status == TW_ERR_MISMATCH ? "" : tw_status_text(status));
}

/* What computes: on all ranks a device, or on all the processor (device.c). */
static int make_backend(tw_training_t *t, tw_problem_t *problem)
{
    const tw_device_wish_t wish = {
        .parent = t->comm, .comm = t->wire, .kernels = t->kernels, .options = t->options};

    if (tw_device_open(&t->backend, &wish, problem) != 0) {
        return -1;
    }
    t->exec = *tw_backend_exec(t->backend);
    return 0;
}

/* The ranks that share the dense layers. */
static int make_parts(tw_training_t *t, tw_problem_t *problem)
{
    if (!t->split) {
        return 0;
    }
    if (tw_split_create(&t->parts, t->ctx, t->comm, t->wire, &t->options->division, problem) != 0) {
        return -1;
    }
    return t->parts.groups > 1 && t->options->update_period != 0
               ? tw_problem_set(problem,
                                "--update-period: gradients are summed over the groups of "
                                "--scheme %s once per step; accepted with it: no period",
                                t->options->scheme)
               : 0;
}

/* Parameters, and the layers before the dense ones. */
static int make_network(tw_training_t *t, tw_problem_t *problem)
{
    const tw_train_options_t *o = t->options;
    const int layout = (t->split ? TW_PARAMS_SPLIT : 0) | (o->owners != 0 ? TW_PARAMS_APART : 0);

    if (tw_params_create(&t->params, &t->network, t->backend, t->split ? t->parts.rank : t->rank,
                         t->split ? t->parts.ranks : t->size, layout, problem) != 0 ||
        tw_trunk_create(&t->trunk, &t->network, t->backend, &t->params, NULL, problem) != 0 ||
        tw_training_set_outputs(t, problem) != 0) {
        return -1;
    }
    return tw_params_init(&t->params, &t->network, o->seed, problem);
}

/* Examples behind an update of split layers. */
static double split_batch(tw_training_t *t, tw_problem_t *problem)
{
    tw_hybrid_t *hybrid;
    double       passes;

    if (!t->split || t->options->update_period == 0) {
        return (double)t->batch;
    }
    hybrid = tw_division_of(&t->division, t->batch, problem);
    passes = hybrid != NULL ? (double)tw_hybrid_passes(hybrid) : 1.0;
    return (double)t->batch * fmin(1.0, (double)t->options->update_period / passes);
}

static int make_masters(tw_training_t *t, tw_problem_t *problem)
{
    const tw_masters_config_t config = {.parent     = t->comm,
                                        .comm       = t->wire,
                                        .owners     = (tw_weights_owners_t)t->options->owners,
                                        .codecs     = &t->codecs,
                                        .network    = &t->network,
                                        .params     = &t->params,
                                        .whole_rows = t->network.max_norm > 0.0,
                                        .exec       = t->exec,
                                        .trace      = t->trace};

    return config.owners == 0 ? 0 : tw_masters_create(&t->masters, &config, problem);
}

static int make_calibration(tw_training_t *t, tw_problem_t *problem)
{
    const tw_calibration_config_t config = {.ctx     = t->ctx,
                                            .comm    = t->wire,
                                            .codecs  = &t->codecs,
                                            .params  = &t->params,
                                            .masters = t->masters,
                                            .exec    = t->exec};

    return t->options->awp_calibrate ? tw_calibration_create(&t->calibration, &config, problem) : 0;
}

static int make_profile(tw_training_t *t, tw_problem_t *problem)
{
    const tw_train_options_t *o = t->options;

    if (o->profile && tw_profile_create(&t->profile, t->wire, problem) != 0) {
        return -1;
    }
    return o->profile || o->trace != NULL
               ? tw_marks_create(&t->marks, t->backend, t->trace, problem)
               : 0;
}

static int make_exchanges(tw_training_t *t, tw_problem_t *problem)
{
    const tw_train_options_t  *o      = t->options;
    const tw_exchange_config_t config = {.parent  = t->comm,
                                         .comm    = t->wire,
                                         .codecs  = &t->codecs,
                                         .network = &t->network,
                                         .params  = &t->params,
                                         .masters = t->masters,
                                         .to =
                                             t->split ? t->network.first_dense : t->network.layers,
                                         .extra  = 1,
                                         .bucket = o->bucket,
                                         .exec   = t->exec,
                                         .trace  = t->trace};

    if (tw_exchange_create(&t->exchange, &config, problem) != 0 ||
        tw_normalisation_create(&t->norm, t->wire, &t->network, t->trunk, o, t->batch, &t->exec,
                                t->trace, problem) != 0) {
        return -1;
    }
    t->division = (tw_division_set_t){.parts    = &t->parts,
                                      .scheme   = &o->division,
                                      .features = tw_trunk_features(t->trunk),
                                      .codecs   = &t->codecs,
                                      .exec     = t->exec,
                                      .trace    = t->trace};
    return tw_rates_create(&t->rates, &t->network, o, (double)t->batch, split_batch(t, problem),
                           problem);
}

static int make_peers(tw_training_t *t, tw_problem_t *problem)
{
    const tw_exchange_config_t config = {.parent  = t->parts.peers,
                                         .comm    = t->parts.peer_wire,
                                         .codecs  = &t->codecs,
                                         .network = &t->network,
                                         .params  = &t->params,
                                         .from    = t->network.first_dense,
                                         .to      = t->network.layers,
                                         .bucket  = t->options->bucket,
                                         .exec    = t->exec,
                                         .trace   = t->trace};

    return t->parts.groups > 1 ? tw_exchange_create(&t->peers, &config, problem) : 0;
}

static int make_head(tw_training_t *t, tw_problem_t *problem)
{
    const tw_head_how_t how = {.comm     = t->parts.ranks > 1 ? t->parts.wire : NULL,
                               .act      = t->codecs.codec[TW_CLASS_ACT],
                               .back     = t->codecs.codec[TW_CLASS_BACK],
                               .trace    = t->trace,
                               .before   = t->split ? NULL : tw_step_before,
                               .between  = tw_step_advance,
                               .exchange = tw_step_exchange,
                               .ready    = t->split ? NULL : tw_step_ready,
                               .worked   = t->recorder != NULL ? tw_step_worked : NULL,
                               .user     = t};
    size_t              first, rows;

    tw_share(t->batch, t->size, 0, &first, &rows);
    if (t->split) {
        rows = tw_hybrid_longest(tw_division_of(&t->division, t->batch, problem));
    }
    if (problem->set ||
        tw_head_create(&t->head, &t->network, &t->params, &how, rows, problem) != 0) {
        return -1;
    }
    return tw_step_prepare(t, rows, problem);
}

static int learn_means(tw_training_t *t, tw_problem_t *problem)
{
    return tw_learning_run(t->feed, t->kernels, t->data_hash, t->comm, problem);
}

static int start_feed(tw_training_t *t, tw_problem_t *problem)
{
    const tw_train_options_t *o      = t->options;
    tw_feed_config_t          config = {.rank       = t->rank,
                                        .size       = t->size,
                                        .batch      = t->batch,
                                        .last       = o->evaluate_only ? 0
                                                      : o->steps != 0  ? o->steps - t->shift
                                                                      : t->epochs_wanted * t->steps,
                                        .eval_every = o->eval_every,
                                        .eval_epochs = !o->no_train && (o->steps == 0 || o->eval_every != 0),
                                        .kernels = t->kernels,
                                        .trace   = t->trace};

    if (t->backend != NULL && tw_backend_images(t->backend, (t->batch - 1) / (uint64_t)t->size + 1,
                                                &config.device, problem) != 0) {
        return -1;
    }
    return tw_feed_start(t->feed, &config, problem);
}

static int on_device(const tw_training_t *t)
{
    return t->backend != NULL && tw_backend_memory(t->backend) != TW_MEMORY_HOST;
}

static int make_tuning(tw_training_t *t, tw_problem_t *problem)
{
    const tw_tuning_config_t config = {.comm      = t->comm,
                                       .options   = t->options,
                                       .feed      = t->feed,
                                       .rows      = (t->batch - 1) / (uint64_t)t->size + 1,
                                       .isa       = t->kernels->isa,
                                       .on_device = on_device(t),
                                       .model     = t->network_hash};

    return tw_tuning_create(&t->tuning, &config, problem);
}

static int resume(tw_training_t *t, tw_problem_t *problem)
{
    const char        *path = t->options->checkpoint;
    tw_masters_facts_t facts;
    int                mine = 0, all;

    if (t->options->resume) {
        mine = tw_checkpoint_load(t, path, problem);
    } else if (t->options->import_from != NULL) {
        mine = tw_safetensors_read(t, problem);
    }
    t->resumed = t->epochs;
    if (!tw_training_has_owners(t) || problem->fatal) {
        return mine;
    }
    MPI_Allreduce(&mine, &all, 1, MPI_INT, MPI_MIN, t->comm); /* only rank 0 reads the file */
    if (all != 0) {
        return -1;
    }
    tw_masters_facts(t->masters, &facts);
    t->changes_told = facts.changes;
    return tw_masters_begin(t->masters, problem) == 0 ? tw_masters_arrive(t->masters, problem) : -1;
}

typedef int tw_stage_t(tw_training_t *t, tw_problem_t *problem);

static tw_stage_t *const to_train[] = {read_network,
                                       tw_training_settle_local,
                                       tw_training_open_data,
                                       tw_training_make_local,
                                       compare_data,
                                       learn_means,
                                       make_wire,
                                       make_backend,
                                       make_parts,
                                       make_network,
                                       make_masters,
                                       make_calibration,
                                       make_profile,
                                       make_exchanges,
                                       make_peers,
                                       make_head,
                                       resume,
                                       start_feed,
                                       make_tuning};
static tw_stage_t *const to_load[]  = {read_network,
                                       tw_training_settle_local,
                                       tw_training_open_data,
                                       compare_data,
                                       learn_means,
                                       start_feed,
                                       make_tuning};

/* Every stage is agreed on, so that nobody waits for a rank that has given up. */
static int create(tw_training_t *t, tw_stage_t *const *stage, size_t stages, tw_problem_t *problem)
{
    MPI_Comm_rank(t->comm, &t->rank);
    MPI_Comm_size(t->comm, &t->size);
    for (size_t i = 0; i < stages; i++) {
        stage[i](t, problem);
        if (tw_agree(t->comm, problem) != 0) {
            return -1;
        }
    }
    return 0;
}

int tw_training_create(tw_training_t *t, const tw_train_options_t *options, tw_context_t *ctx,
                       MPI_Comm comm, tw_problem_t *problem)
{
    *t = (tw_training_t){.options = options, .ctx = ctx, .comm = comm};
    return create(t, to_train, sizeof(to_train) / sizeof(to_train[0]), problem);
}

int tw_training_create_loader(tw_training_t *t, const tw_train_options_t *options,
                              tw_context_t *ctx, MPI_Comm comm, tw_problem_t *problem)
{
    *t = (tw_training_t){.options = options, .ctx = ctx, .comm = comm};
    return create(t, to_load, sizeof(to_load) / sizeof(to_load[0]), problem);
}

void tw_training_destroy(tw_training_t *t)
{
    tw_head_destroy(t->head);
    tw_division_destroy(&t->division);
    tw_normalisation_destroy(&t->norm);
    tw_exchange_destroy(t->exchange);
    tw_exchange_destroy(t->peers);
    tw_calibration_destroy(t->calibration);
    tw_profile_destroy(t->profile);
    tw_recorder_destroy(t->recorder);
    tw_marks_destroy(t->marks);
    tw_masters_destroy(t->masters);
    tw_split_destroy(&t->parts);
    if (t->wire != NULL) {
        tw_comm_destroy(t->wire);
    }
    tw_trace_destroy(t->trace);
    tw_codecs_destroy(&t->codecs);
    tw_trunk_destroy(t->trunk);
    tw_params_destroy(&t->params);
    tw_tuning_destroy(t->tuning);
    tw_feed_destroy(t->feed);
    if (t->backend != NULL) {
        tw_backend_release(t->backend, t->gfeatures);
        tw_backend_release(t->backend, t->outputs);
        tw_backend_destroy(t->backend);
    }
    tw_network_destroy(&t->network);
    tw_evaluations_destroy(&t->evaluations);
    free(t->records);
    free(t->network_sent);
    free(t->step_times);
    free(t->labels);
    free(t->examples);
    free(t->own);
}
