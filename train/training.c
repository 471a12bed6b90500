/* SPDX-License-Identifier: BSD-3-Clause
 * train/training.c - see training.h.
 *
 * A step: each rank takes its share of the global batch, its gradients are already divided by the
 * size of the whole batch, and the exchange adds them up. So uneven and empty shares weigh what
 * they should, and the update is the same on every rank, bit for bit.
 */
#include "config.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "tools/watch.h"
#include "train/agree.h"
#include "train/checkpoint.h"
#include "train/compute/dense.h"
#include "train/file.h"
#include "train/hash.h"
#include "train/random.h"
#include "train/report.h"
#include "train/training.h"

/* Rows of one pass over the test images. */
#define TW_TEST_ROWS 256u

void tw_share(size_t n, int size, int r, size_t *first_p, size_t *count_p)
{
    const size_t ranks = (size_t)size, rank = (size_t)r;
    const size_t each = n / ranks, more = n % ranks;

    *first_p = rank * each + (rank < more ? rank : more);
    *count_p = each + (rank < more);
}

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

static int check_options(tw_training_t *t, tw_problem_t *problem)
{
    const tw_train_options_t *o = t->options;

    t->model = tw_model_find(o->model);
    if (t->model == NULL) {
        return tw_problem_set(problem, "--model '%s' is unknown; accepted are mlp and linear",
                              o->model);
    }
    if (o->batch < (uint64_t)t->size) {
        return tw_problem_set(problem, "--batch %" PRIu64 " is smaller than the %d ranks", o->batch,
                              t->size);
    }
    return 0;
}

static int load_data(tw_training_t *t, tw_problem_t *problem)
{
    const tw_train_options_t *o = t->options;

    if (tw_data_load(&t->data, o->data, t->model->inputs,
                     t->model->layer[t->model->layers - 1].units, problem) != 0) {
        return -1;
    }
    if (o->batch > t->data.train.n) {
        return tw_problem_set(problem, "--batch %" PRIu64 " is larger than the %zu training images",
                              o->batch, t->data.train.n);
    }
    t->data_hash = tw_data_hash(&t->data);
    t->steps     = (t->data.train.n + o->batch - 1) / o->batch;
    return 0;
}

static int allocate(tw_training_t *t, tw_context_t *ctx, tw_problem_t *problem)
{
    const tw_train_options_t *o = t->options;
    size_t                    first, rows;

    tw_share(o->batch, t->size, 0, &first, &rows);
    rows       = rows > TW_TEST_ROWS ? rows : TW_TEST_ROWS;
    t->order   = malloc(t->data.train.n * sizeof(*t->order));
    t->labels  = malloc(rows);
    t->records = calloc(o->epochs, sizeof(*t->records));
    if (t->order == NULL || t->labels == NULL || t->records == NULL ||
        tw_net_create(&t->net, t->model, tw_kernels_for(tw_cpu_level(ctx)), rows,
                      (int)o->threads) != 0) {
        return tw_problem_set(problem, "out of memory");
    }
    tw_dense_threads((int)o->threads);
    tw_net_init(&t->net, o->seed);
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

    if (t->rank == 0 && o->json != NULL && tw_file_try("--json", o->json, problem) != 0) {
        return -1;
    }
    return t->rank == 0 && o->checkpoint != NULL ? try_checkpoint(o->checkpoint, problem) : 0;
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

int tw_training_create(tw_training_t *t, const tw_train_options_t *options, tw_context_t *ctx,
                       MPI_Comm comm, tw_problem_t *problem)
{
    *t = (tw_training_t){.options = options, .comm = comm};
    MPI_Comm_rank(comm, &t->rank);
    MPI_Comm_size(comm, &t->size);
    if (check_options(t, problem) == 0 && try_files(t, problem) == 0 &&
        load_data(t, problem) == 0) {
        allocate(t, ctx, problem);
    }
    if (tw_agree(comm, problem) != 0) {
        return -1;
    }
    if (compare_data(t, problem) == 0 &&
        tw_exchange_create(&t->exchange, ctx, comm, options->codec, &t->net, (int)options->threads,
                           problem) == 0 &&
        options->resume) {
        tw_checkpoint_load(t, options->checkpoint, problem);
    }
    t->resumed = t->epochs;
    return tw_agree(comm, problem);
}

void tw_training_destroy(tw_training_t *t)
{
    tw_exchange_destroy(t->exchange);
    tw_net_destroy(&t->net);
    tw_data_destroy(&t->data);
    free(t->records);
    free(t->labels);
    free(t->order);
}

/* ---- one step ------------------------------------------------------------------------------ */

static void load_rows(tw_training_t *t, const tw_pass_t *pass, const tw_set_t *set,
                      const uint32_t *order, size_t first)
{
#pragma omp parallel for num_threads(t->net.threads) if (t->net.threads > 1)
    for (size_t row = 0; row < pass->rows; row++) {
        const size_t i = order != NULL ? order[first + row] : first + row;

        tw_net_input(&t->net, pass, row, set->pixels + i * t->data.pixels);
        t->labels[row] = set->labels[i];
    }
}

/* From the last layer to the first; what is ready travels while the next is computed. */
static int backward(tw_training_t *t, const tw_pass_t *pass, tw_problem_t *problem)
{
    tw_net_t *net = &t->net;

    for (size_t l = net->layers; l-- > 0;) {
        tw_net_backward(net, pass, l);
        if (tw_exchange_start(t->exchange, l, problem) != 0) {
            return -1;
        }
        if (l > 0) {
            tw_net_backward_input(net, pass, l);
        }
    }
    return tw_exchange_start(t->exchange, net->layers, problem);
}

static int update(tw_training_t *t, const tw_rmsprop_t *how, tw_problem_t *problem)
{
    tw_net_t *net = &t->net;

    for (size_t l = net->layers; l-- > 0;) {
        if (tw_exchange_finish(t->exchange, l, problem) != 0) {
            return -1;
        }
        tw_net_update(net, l, how);
    }
    if (tw_exchange_finish(t->exchange, net->layers, problem) != 0) {
        return -1;
    }
    tw_net_update_biases(net, how);
    return 0;
}

tw_pass_t tw_training_pass(const tw_training_t *t, size_t step, size_t *begin_p, size_t *n_p)
{
    const size_t begin = step * t->options->batch, left = t->data.train.n - begin;
    const size_t n    = left < t->options->batch ? left : t->options->batch;
    tw_pass_t    pass = {.training = 1, .seed = t->options->seed};

    pass.step = t->epochs * t->steps + step;
    tw_share(n, t->size, t->rank, &pass.first, &pass.rows);
    *begin_p = begin;
    *n_p     = n;
    return pass;
}

/* Adds loss and errors of the whole batch to the record. */
static int run_step(tw_training_t *t, size_t step, const tw_rmsprop_t *how, tw_record_t *record,
                    tw_problem_t *problem)
{
    tw_net_t       *net = &t->net;
    size_t          begin, n, wrong;
    const tw_pass_t pass = tw_training_pass(t, step, &begin, &n);
    double          loss;

    load_rows(t, &pass, &t->data.train, t->order, begin + pass.first);
    tw_net_forward(net, &pass);
    tw_net_loss(net, &pass, t->labels, 1.0f / (float)n, &loss, &wrong);
    net->bg[net->biases]     = (float)loss;
    net->bg[net->biases + 1] = (float)wrong;
    if (backward(t, &pass, problem) != 0 || update(t, how, problem) != 0) {
        return -1;
    }
    if (!isfinite(net->bg[net->biases])) {
        return tw_problem_set(problem,
                              "the loss is not finite in epoch %" PRIu64 ", step %zu; a smaller "
                              "--lr may help",
                              t->epochs + 1, step + 1);
    }
    record->train_loss += net->bg[net->biases];
    record->train_error += net->bg[net->biases + 1];
    return 0;
}

/* ---- one epoch ----------------------------------------------------------------------------- */

/* Fraction of the test images that the network gets wrong; each rank looks at its share. */
static double test_error(tw_training_t *t)
{
    const tw_set_t    *set = &t->data.test;
    size_t             first, count, wrong;
    unsigned long long mine = 0, all = 0;

    tw_share(set->n, t->size, t->rank, &first, &count);
    for (size_t done = 0; done < count;) {
        tw_pass_t pass = {.rows = count - done < TW_TEST_ROWS ? count - done : TW_TEST_ROWS};

        load_rows(t, &pass, set, NULL, first + done);
        tw_net_forward(&t->net, &pass);
        tw_net_loss(&t->net, &pass, t->labels, 1.0f, NULL, &wrong);
        mine += wrong;
        done += pass.rows;
    }
    watch_begin("MPI_Allreduce");
    MPI_Allreduce(&mine, &all, 1, MPI_UNSIGNED_LONG_LONG, MPI_SUM, t->comm);
    watch_end();
    return (double)all / (double)set->n;
}

/* Hash all weights, and see that they are finite and the same on all ranks. */
static int check_weights(tw_training_t *t, tw_problem_t *problem)
{
    uint64_t words[TW_MODEL_LAYERS_MAX] = {0};
    int      rank, finite, all_finite = 1;
    size_t   layer;

    t->hash = 0;
    for (size_t l = 0; l < t->net.layers; l++) {
        words[l] = tw_net_hash(&t->net, l, &finite);
        all_finite &= finite;
        t->hash = tw_random_mix(t->hash + words[l]);
    }
    if (tw_agree_words(t->comm, words, t->net.layers, &rank, &layer) != 0) {
        return tw_problem_set(problem,
                              "after epoch %" PRIu64 " rank %d has other weights than rank 0 in "
                              "layer %zu",
                              t->epochs + 1, rank, layer + 1);
    }
    return all_finite ? 0
                      : tw_problem_set(problem,
                                       "after epoch %" PRIu64 " weights are not finite; a "
                                       "smaller --lr may help",
                                       t->epochs + 1);
}

/* The learning rate falls by 1 % per epoch; multiplied up, so a resumed run has the same bits. */
static tw_rmsprop_t epoch_rate(const tw_training_t *t)
{
    double rate = t->options->rate;

    for (uint64_t e = 0; e < t->epochs; e++) {
        rate *= 0.99;
    }
    return (tw_rmsprop_t){.rate = (float)rate, .decay = 0.9f, .epsilon = 1e-8f};
}

/* Bytes per step of the rank that sent most since `before`. */
static void count_bytes(tw_training_t *t, tw_exchange_bytes_t before, tw_record_t *record)
{
    const tw_exchange_bytes_t now     = tw_exchange_counted(t->exchange);
    long long                 mine[2] = {now.sent - before.sent, now.plain - before.plain}, most[2];

    record->bytes_sent = record->bytes_plain = -1.0;
    watch_begin("MPI_Allreduce");
    MPI_Allreduce(mine, most, 2, MPI_LONG_LONG, MPI_MAX, t->comm);
    watch_end();
    if (now.sent >= 0) {
        record->bytes_sent  = (double)most[0] / (double)t->steps;
        record->bytes_plain = (double)most[1] / (double)t->steps;
    }
}

static int run_epoch(tw_training_t *t, tw_problem_t *problem)
{
    const tw_rmsprop_t        how    = epoch_rate(t);
    const tw_exchange_bytes_t before = tw_exchange_counted(t->exchange);
    tw_record_t               record = {0};
    double                    start;

    start = MPI_Wtime();
    tw_order_draw(t->order, t->data.train.n, t->options->seed, t->epochs);
    for (size_t step = 0; step < t->steps; step++) {
        if (run_step(t, step, &how, &record, problem) != 0) {
            return -1;
        }
        tw_report_progress(t, step);
    }
    record.seconds = MPI_Wtime() - start;
    record.train_loss /= (double)t->data.train.n;
    record.train_error /= (double)t->data.train.n;
    count_bytes(t, before, &record);
    if (check_weights(t, problem) != 0) {
        return -1;
    }
    record.test_error     = test_error(t);
    t->records[t->epochs] = record;
    t->epochs++;
    return 0;
}

int tw_training_reached(const tw_training_t *t)
{
    return t->options->until < 0.0 ||
           (t->epochs > 0 && t->records[t->epochs - 1].test_error <= t->options->until);
}

int tw_training_run(tw_training_t *t, tw_problem_t *problem)
{
    const tw_train_options_t *o = t->options;

    if (t->epochs > 0) {
        check_weights(t, problem);
    }
    if (tw_agree(t->comm, problem) != 0) {
        return -1;
    }
    while (t->epochs < o->epochs && (o->until < 0.0 || !tw_training_reached(t))) {
        if (run_epoch(t, problem) == 0) {
            tw_report_epoch(t);
            if (o->checkpoint != NULL) {
                tw_checkpoint_save(t, o->checkpoint, problem);
            }
        }
        if (problem->set) {
            tw_report_wipe(t);
        }
        if (tw_agree(t->comm, problem) != 0) {
            return -1;
        }
    }
    return 0;
}
