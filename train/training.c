/* SPDX-License-Identifier: BSD-3-Clause
 * train/training.c - see training.h.
 */
#include "config.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "command/watch.h"
#include "train/agree.h"
#include "train/checkpoint.h"
#include "train/file.h"
#include "train/hash.h"
#include "train/random.h"
#include "train/report.h"
#include "train/step.h"
#include "train/training.h"

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

/* ---- making ready -------------------------------------------------------------------------- */

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

/* What the command line leaves open the model says. */
static int settle_options(tw_training_t *t, tw_problem_t *problem)
{
    const tw_train_options_t *o = t->options;

    t->batch         = o->batch != 0 ? o->batch : t->network.batch;
    t->epochs_wanted = o->epochs != 0 ? o->epochs : t->network.epochs;
    t->split         = o->division != TW_DIVIDE_DATA;
    if (t->batch < (uint64_t)t->size) {
        return tw_problem_set(problem, "--batch %" PRIu64 " is smaller than the %d ranks", t->batch,
                              t->size);
    }
    if (o->steps != 0) {
        t->epochs_wanted = UINT32_MAX;
    }
    return 0;
}

static int load_data(tw_training_t *t, tw_problem_t *problem)
{
    const tw_train_options_t *o     = t->options;
    tw_problem_t              inner = {0};

    if (tw_data_load(&t->data, o->data, 0, 0, problem) != 0) {
        return -1;
    }
    if (tw_network_override(&t->network, &t->data.shape, t->data.classes, &inner) != 0) {
        return tw_problem_set(problem, "--data %s, %zux%zux%zu, does not fit --model %s: %s",
                              o->data, t->data.shape.h, t->data.shape.w, t->data.shape.c, o->model,
                              inner.text);
    }
    if (t->batch > t->data.train.n) {
        return tw_problem_set(problem, "--batch %" PRIu64 " is larger than the %zu training images",
                              t->batch, t->data.train.n);
    }
    t->data_hash = tw_data_hash(&t->data);
    t->steps     = (t->data.train.n + t->batch - 1) / t->batch;
    return 0;
}

/* A checkpoint is replaced, so it cannot be a device or a pipe. */
static int try_checkpoint(const char *path, tw_problem_t *problem)
{
    struct stat info;

    if (stat(path, &info) == 0 && !S_ISREG(info.st_mode) && !S_ISDIR(info.st_mode)) {
        return tw_problem_set(problem, "--checkpoint %s: is not a regular file", path);
    }
    return tw_file_try("--checkpoint", path, problem);
}

/* Files are tried before the work, by the rank that will write them. */
static int try_files(const tw_training_t *t, tw_problem_t *problem)
{
    const tw_train_options_t *o = t->options;

    if (t->rank != 0) {
        return 0;
    }
    if ((o->json != NULL && tw_file_try("--json", o->json, problem) != 0) ||
        (o->trace != NULL && tw_file_try("--trace", o->trace, problem) != 0)) {
        return -1;
    }
    return o->checkpoint != NULL ? try_checkpoint(o->checkpoint, problem) : 0;
}

/* All ranks must read the same data from their disks. */
static int compare_data(const tw_training_t *t, tw_problem_t *problem)
{
    int    rank;
    size_t index;

    if (tw_agree_words(t->comm, &t->data_hash, 1, &rank, &index) != 0) {
        return tw_problem_set(problem, "rank %d has other data than rank 0", rank);
    }
    return 0;
}

/* What needs no other rank: memory, kernels, codecs. */
static int make_local(tw_training_t *t, tw_context_t *ctx, tw_problem_t *problem)
{
    const tw_train_options_t *o    = t->options;
    const uint64_t            room = o->steps != 0 ? 2 + o->steps / t->steps : t->epochs_wanted;

    t->exec    = (tw_exec_t){.memory = TW_MEMORY_HOST, .stream = NULL, .threads = (int)o->threads};
    t->kernels = tw_kernels_for(tw_cpu_level(ctx));
    t->optimizer  = tw_update_for(tw_cpu_level(ctx));
    t->order      = malloc(t->data.train.n * sizeof(*t->order));
    t->step_times = malloc(t->steps * sizeof(*t->step_times));
    t->records    = calloc(room, sizeof(*t->records));
    if (t->order == NULL || t->step_times == NULL || t->records == NULL) {
        return tw_problem_set(problem, "out of memory");
    }
    if (tw_codecs_create(&t->codecs, ctx, o->codec, t->split, o->force, problem) != 0 ||
        tw_backend_host(&t->backend, t->kernels, (int)o->threads, problem) != 0 ||
        tw_params_create(&t->params, &t->network, t->rank, t->size, t->split, problem) != 0 ||
        tw_trunk_create(&t->trunk, &t->network, t->backend, &t->params, NULL, problem) != 0) {
        return -1;
    }
    tw_codecs_text(&t->codecs, t->split, t->codec_text, sizeof(t->codec_text));
    tw_params_init(&t->params, &t->network, o->seed);
    return 0;
}

static int make_wire(tw_training_t *t, tw_context_t *ctx, tw_problem_t *problem)
{
    const tw_status_t status = tw_comm_create(ctx, t->comm, &t->wire);

    /* A mismatch has been explained by the library, in one line for all ranks. */
    return status == TW_OK
               ? 0
               : tw_problem_set(problem, "%s",
                                status == TW_ERR_MISMATCH ? "" : tw_status_text(status));
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

static int make_shared(tw_training_t *t, tw_problem_t *problem)
{
    const tw_train_options_t  *o      = t->options;
    const tw_exchange_config_t config = {.parent  = t->comm,
                                         .comm    = t->wire,
                                         .codecs  = &t->codecs,
                                         .network = &t->network,
                                         .params  = &t->params,
                                         .split   = t->split,
                                         .bucket  = o->bucket,
                                         .exec    = t->exec,
                                         .trace   = t->trace};

    if (tw_exchange_create(&t->exchange, &config, problem) != 0 ||
        tw_normalisation_create(&t->norm, t->wire, &t->network, t->trunk, o, t->batch, t->trace,
                                problem) != 0) {
        return -1;
    }
    t->division = (tw_division_set_t){.comm     = t->wire,
                                      .kind     = o->division,
                                      .group    = o->group,
                                      .features = tw_trunk_features(t->trunk),
                                      .codecs   = &t->codecs,
                                      .exec     = t->exec,
                                      .trace    = t->trace};
    return tw_rates_create(&t->rates, &t->network, o, (double)t->batch, split_batch(t, problem),
                           problem);
}

static int make_head(tw_training_t *t, tw_problem_t *problem)
{
    const int           split = t->split && t->size > 1;
    const tw_head_how_t how   = {.comm     = split ? t->wire : NULL,
                                 .act      = t->codecs.codec[TW_CLASS_ACT],
                                 .back     = t->codecs.codec[TW_CLASS_BACK],
                                 .threads  = (int)t->options->threads,
                                 .kernels  = t->kernels,
                                 .trace    = t->trace,
                                 .between  = tw_step_advance,
                                 .exchange = tw_step_exchange,
                                 .ready    = t->split ? NULL : tw_step_ready,
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

static int make_trace(tw_training_t *t, tw_problem_t *problem)
{
    if (t->options->trace != NULL && tw_trace_create(0, &t->trace) != TW_OK) {
        return tw_problem_set(problem, "out of memory");
    }
    return 0;
}

/* Every stage is agreed on, so that nobody waits for a rank that has given up. */
int tw_training_create(tw_training_t *t, const tw_train_options_t *options, tw_context_t *ctx,
                       MPI_Comm comm, tw_problem_t *problem)
{
    *t = (tw_training_t){.options = options, .comm = comm};
    MPI_Comm_rank(comm, &t->rank);
    MPI_Comm_size(comm, &t->size);
    read_network(t, problem);
    if (tw_agree(comm, problem) != 0) {
        return -1;
    }
    if (settle_options(t, problem) == 0 && try_files(t, problem) == 0 &&
        load_data(t, problem) == 0 && make_trace(t, problem) == 0) {
        make_local(t, ctx, problem);
    }
    if (tw_agree(comm, problem) != 0) {
        return -1;
    }
    if (compare_data(t, problem) == 0 && make_wire(t, ctx, problem) == 0) {
        make_shared(t, problem);
    }
    if (tw_agree(comm, problem) != 0) {
        return -1;
    }
    make_head(t, problem);
    if (tw_agree(comm, problem) != 0) {
        return -1;
    }
    if (options->resume) {
        tw_checkpoint_load(t, options->checkpoint, problem);
    }
    t->resumed = t->epochs;
    t->step    = t->epochs * t->steps;
    return tw_agree(comm, problem);
}

void tw_training_destroy(tw_training_t *t)
{
    tw_head_destroy(t->head);
    tw_division_destroy(&t->division);
    tw_normalisation_destroy(&t->norm);
    tw_exchange_destroy(t->exchange);
    if (t->wire != NULL) {
        tw_comm_destroy(t->wire);
    }
    tw_trace_destroy(t->trace);
    tw_codecs_destroy(&t->codecs);
    tw_trunk_destroy(t->trunk);
    tw_backend_destroy(t->backend);
    tw_params_destroy(&t->params);
    tw_data_destroy(&t->data);
    tw_network_destroy(&t->network);
    free(t->records);
    free(t->step_times);
    free(t->gfeatures);
    free(t->labels);
    free(t->examples);
    free(t->own);
    free(t->index);
    free(t->order);
}

/* ---- one epoch ----------------------------------------------------------------------------- */

/* Fraction of the test images that the network gets wrong. All ranks take part in all batches: they
 * hold the dense layers together. */
static int test(tw_training_t *t, double *error_p, tw_problem_t *problem)
{
    const size_t all   = t->data.test.n;
    double       wrong = 0.0, sum = 0.0;

    for (size_t begin = 0; begin < all; begin += t->batch) {
        const size_t n = all - begin < t->batch ? all - begin : t->batch;

        if (tw_step_test(t, begin, n, &wrong, problem) != 0) {
            return -1;
        }
    }
    watch_begin("MPI_Allreduce");
    MPI_Allreduce(&wrong, &sum, 1, MPI_DOUBLE, MPI_SUM, t->comm);
    watch_end();
    *error_p = sum / (double)all;
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
    stats.bytes_plain += more.bytes_plain;
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
    mine[1] = (double)(now.bytes_plain - before->bytes_plain);
    mine[2] = t->meter.communication / record->seconds;
    watch_begin("MPI_Allreduce");
    MPI_Allreduce(mine, most, 3, MPI_DOUBLE, MPI_MAX, t->comm);
    watch_end();
    record->bytes_sent  = t->codecs.plain ? -1.0 : most[0] / (double)steps;
    record->bytes_plain = t->codecs.plain ? -1.0 : most[1] / (double)steps;
    record->exposed     = most[2];
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
    return 0;
}

static int run_epoch(tw_training_t *t, tw_problem_t *problem)
{
    const tw_stats_t     before = counted(t);
    const size_t         steps  = steps_to_do(t);
    tw_training_record_t record = {.test_error = -1.0, .global = tw_normalisation_global(&t->norm)};
    double               start  = MPI_Wtime();

    t->meter.communication = 0.0;
    if (run_steps(t, steps, &record, problem) != 0) {
        return -1;
    }
    record.seconds = MPI_Wtime() - start;
    gather_record(t, &before, steps, &record);
    if (check_weights(t, t->epochs + 1, problem) != 0 ||
        tw_normalisation_settle(&t->norm, &t->params, problem) != 0 ||
        (t->options->steps == 0 && test(t, &record.test_error, problem) != 0)) {
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
