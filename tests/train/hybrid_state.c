/* SPDX-License-Identifier: BSD-3-Clause
 * tests/train/hybrid_state.c - hybrid runs that stop and go on: on the same ranks with the same
 * bits as one that never stopped; on other ranks, where the shares of dense layers are cut anew,
 * with the same weights, the same forward pass and the same residuals; and checkpoints that are
 * refused.
 */
#include "config.h"

#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/mpi/harness.h"
#include "tests/train/hybrid_net.h"
#include "tests/train/runs.h"
#include "train/changes.h"
#include "train/checkpoint/checkpoint.h"
#include "train/base/hash.h"
#include "train/loop.h"

#define BATCH 31u /* of 120 images: uneven shares, and a last batch of 27 */

static char model[600], checkpoint[600];

static tw_train_options_t options_of(const char *scheme, const char *codec, uint64_t epochs)
{
    tw_train_options_t options;
    tw_problem_t       problem = {0};
    const char        *words[] = {"x",        "--model", model,     "--data", "digits:train=120",
                                  "--scheme", scheme,    "--codec", codec};

    hybrid_net_write(model, sizeof(model), HYBRID_CODED, "");
    hybrid_path(checkpoint, sizeof(checkpoint), "checkpoint");
    tw_train_options_parse(&options, sizeof(words) / sizeof(words[0]), (char **)(uintptr_t)words,
                           &problem);
    T_CHECK(!problem.set, "%s", problem.text);
    options.epochs = epochs;
    options.batch  = BATCH;
    options.bn     = "global";
    return options;
}

/* Lossy, with residuals; activations travel where layers are split. */
static const char *codec_for(const char *scheme)
{
    return strcmp(scheme, "data") == 0 ? "onebit" : "grad=onebit,act=tree8";
}

/* ---- the same ranks ------------------------------------------------------------------------- */

static void same_end(const tw_training_t *a, const tw_training_t *b)
{
    T_CHECK(a->hash == b->hash, "other weights than without a stop");
    T_CHECK(a->params.states > 0 && a->params.states == b->params.states, "no running statistics");
    T_SAME(TW_F32, a->params.state, b->params.state, a->params.states);
    T_SAME(TW_F32, a->params.momentum, b->params.momentum, a->params.moments);
    t_same_everywhere(__FILE__, __LINE__, MPI_COMM_WORLD, a->params.state,
                      a->params.states * sizeof(float));
    for (uint64_t e = 0; e < a->epochs; e++) {
        T_CHECK(a->records[e].test_error == b->records[e].test_error &&
                    a->records[e].train_loss == b->records[e].train_loss &&
                    a->records[e].global == b->records[e].global,
                "epoch %d went otherwise", (int)e + 1);
    }
}

static void same_evaluations(const tw_evaluations_t *a, const tw_evaluations_t *b)
{
    T_CHECK(a->count == b->count && a->count > 0, "%zu tests, without a stop %zu", a->count,
            b->count);
    for (size_t i = 0; i < a->count && i < b->count; i++) {
        const tw_evaluation_t *x = &a->list[i], *y = &b->list[i];

        T_CHECK(x->step == y->step && x->test_error == y->test_error &&
                    x->test_error_top5 == y->test_error_top5 && x->train_loss == y->train_loss,
                "the test after step %d went otherwise", (int)y->step);
        T_CHECK(x->seconds > 0.0 && (i == 0 || x->seconds > x[-1].seconds), "%g s", x->seconds);
    }
    T_SAME_EVERYWHERE(MPI_COMM_WORLD, a->list, a->count * sizeof(*a->list));
}

/* Stop after `stop` epochs, go on to the end of the straight run. */
static void stop_and_go(tw_train_options_t options, uint64_t stop, const tw_training_t *straight)
{
    const uint64_t epochs = options.epochs;
    tw_training_t  first, second;

    options.checkpoint = checkpoint;
    options.epochs     = stop;
    run(&first, &options, MPI_COMM_WORLD);
    options.epochs = epochs;
    options.resume = 1;
    run(&second, &options, MPI_COMM_WORLD);
    T_CHECK(second.resumed == stop && second.epochs == epochs, "resumed after %d of %d epochs",
            (int)second.resumed, (int)second.epochs);
    T_CHECK(first.hash != straight->hash, "the last epoch changed nothing");
    same_end(&second, straight);
    tw_training_destroy(&second);
    tw_training_destroy(&first);
}

static void resumed_runs_end_the_same(void)
{
    static const char *const schemes[] = {"data", "a", "b", "c", "group=2", "c:split=2"};

    for (size_t k = 0; k < sizeof(schemes) / sizeof(schemes[0]); k++) {
        tw_train_options_t options = options_of(schemes[k], codec_for(schemes[k]), 2);
        tw_training_t      straight;

        if (!hybrid_fits(schemes[k])) {
            continue;
        }

        t_note("scheme %s", schemes[k]);
        options.update_period = k == 3 ? 2 : 0;
        run(&straight, &options, MPI_COMM_WORLD);
        stop_and_go(options, 1, &straight);
        tw_training_destroy(&straight);
    }
}

/* Stop after `stop` steps, with a test after every third; go on to the end of the straight run. */
static void stop_inside(tw_train_options_t options, uint64_t stop, const tw_training_t *straight)
{
    tw_training_t first, second;

    options.checkpoint = checkpoint;
    options.steps      = stop;
    run(&first, &options, MPI_COMM_WORLD);
    options.steps  = 0;
    options.resume = 1;
    run(&second, &options, MPI_COMM_WORLD);
    T_CHECK(second.resumed == stop / 4 && second.epochs == options.epochs, "%d of %d epochs",
            (int)second.resumed, (int)second.epochs);
    same_end(&second, straight);
    same_evaluations(&second.evaluations, &straight->evaluations);
    T_CHECK(second.seconds > first.seconds, "%g s, at the stop %g", second.seconds, first.seconds);
    tw_training_destroy(&second);
    tw_training_destroy(&first);
}

static void stops_inside_epochs_change_nothing(void)
{
    static const char *const schemes[] = {"data", "a", "b", "c", "group=2"};

    for (size_t k = 0; k < sizeof(schemes) / sizeof(schemes[0]); k++) {
        tw_train_options_t options = options_of(schemes[k], codec_for(schemes[k]), 3);
        tw_training_t      straight;

        t_note("scheme %s", schemes[k]);
        options.update_period = k == 3 ? 2 : 0;
        options.eval_every    = 3;
        options.bn            = k == 0 ? "local" : "global";
        run(&straight, &options, MPI_COMM_WORLD);
        T_CHECK(straight.evaluations.count == 6, "%zu tests", straight.evaluations.count);
        stop_inside(options, 3, &straight);
        stop_inside(options, 6, &straight);
        tw_training_destroy(&straight);
    }
}

/* No epoch is half as good again as the best before, so statistics are shared after the third: the
 * count of epochs without gain, and the switch itself, live through a stop. */
static void adaptive_statistics_switch_the_same(void)
{
    tw_train_options_t options = options_of("c", "grad=onebit,act=tree8", 4);
    tw_training_t      straight;

    options.bn           = "adaptive";
    options.bn_tolerance = 0.99;
    options.bn_patience  = 2;
    options.rate         = 1e-6;
    run(&straight, &options, MPI_COMM_WORLD);
    T_CHECK(straight.records[2].global == 0.0 && straight.records[3].global == 1.0,
            "the switch is elsewhere");
    stop_and_go(options, 2, &straight);
    stop_and_go(options, 3, &straight);
    tw_training_destroy(&straight);
}

/* ---- other ranks ---------------------------------------------------------------------------- */

/* Loss and errors on the test set by what a training has now, from its pieces. Collective. */
static void test_forward(tw_training_t *t, double *loss_p, double *wrong_p)
{
    enum { ROWS = 4 };
    double                  mine[2] = {0.0, 0.0}, all[2];
    tw_problem_t            problem = {0};
    const tw_source_part_t *test    = &tw_feed_source(t->feed)->part[TW_SUBSET_TEST];
    const size_t            pixels  = tw_shape_size(t->network.input);

    for (size_t begin = 0; begin < test->n; begin += ROWS) {
        const size_t    left = test->n - begin, n = left < ROWS ? left : ROWS;
        float          *input = tw_trunk_input(t->trunk, n, &problem);
        uint32_t        labels[ROWS];
        tw_trunk_pass_t trunk = {.n = n};
        tw_head_pass_t  head  = {.n = n, .labels = labels, .scale = 1.0f, .count = 1};
        double          loss  = 0.0;
        tw_head_wrong_t wrong = {.one = 0};

        for (size_t i = 0; i < n; i++) {
            labels[i] = test->labels[begin + i];
            T_CHECK(tw_feed_single(t->feed, TW_SUBSET_TEST, 0, (uint32_t)(begin + i),
                                   input + i * pixels, &problem) == 0,
                    "%s", problem.text);
        }
        tw_trunk_set_hooks(t->trunk, NULL);
        head.x = tw_trunk_forward(t->trunk, &trunk, &problem);
        T_CHECK(tw_head_run(t->head, &head, &problem) == 0 &&
                    tw_head_take(t->head, &loss, &wrong, &problem) == 0,
                "%s", problem.text);
        mine[0] += loss;
        mine[1] += (double)wrong.one;
    }
    MPI_Allreduce(mine, all, 2, MPI_DOUBLE, MPI_SUM, t->comm);
    *loss_p  = t->size == 1 ? mine[0] : all[0];
    *wrong_p = t->size == 1 ? mine[1] : all[1];
}

/* The sum over the ranks of the residuals of conv2, on rank 0: what one rank reads from what all
 * have written. [count] elements, to be freed; NULL elsewhere. */
static float *residual_sum(tw_training_t *t, size_t *count_p)
{
    tw_problem_t   problem = {0};
    FILE          *stream  = t->rank == 0 ? tmpfile() : NULL;
    float         *sum     = NULL;
    tw_feedback_t *fb      = NULL;
    tw_comm_t     *alone;

    T_CHECK(tw_exchange_save(t->exchange, stream, &problem) == 0, "%s", problem.text);
    *count_p = 0;
    if (stream == NULL) {
        return NULL;
    }
    alone = t_comm(t_ctx, MPI_COMM_SELF);
    for (size_t i = 0; i < t->params.count; i++) {
        if (strcmp(t->params.param[i].name, "conv2.weight") == 0) {
            *count_p = t->params.param[i].count;
        }
    }
    sum = t_malloc((*count_p + 1) * sizeof(float));
    rewind(stream);
    T_OK(tw_feedback_create(alone, "conv2.weight", TW_F32, *count_p, &fb));
    T_OK(tw_feedback_restore(fb, stream, TW_FEEDBACK_SUM));
    T_OK(tw_feedback_read(fb, sum));
    T_CHECK(fgetc(stream) == EOF, "more residuals than those of conv2");
    tw_feedback_destroy(fb);
    T_OK(tw_comm_destroy(alone));
    fclose(stream);
    return sum;
}

static double norm_of(const float *x, const float *less, size_t n)
{
    double sum = 0.0;

    for (size_t i = 0; i < n; i++) {
        sum += pow((double)x[i] - (less != NULL ? (double)less[i] : 0.0), 2.0);
    }
    return sqrt(sum);
}

/* What must not depend on who shares the work; sum on world rank 0, who is rank 0 of everybody. */
typedef struct state {
    uint64_t hash, momentum;
    double   loss, wrong;
    float   *sum;
    size_t   count;
} state_t;

static uint64_t hash_of(tw_training_t *t)
{
    tw_problem_t problem = {0};

    T_CHECK(tw_training_hash(t, &problem) == 0, "%s", problem.text);
    return t->hash;
}

/* Momentum lies elsewhere in its vector than values do in theirs; twice: as it was. */
static void swap_places(tw_params_t *params)
{
    float *const value = params->value;

    params->value    = params->momentum;
    params->momentum = value;
    for (size_t i = 0; i < params->count; i++) {
        const size_t first = params->param[i].first;

        params->param[i].first = params->param[i].state;
        params->param[i].state = first;
    }
}

static state_t state_of(tw_training_t *t)
{
    state_t s;

    swap_places(&t->params);
    s.momentum = hash_of(t);
    swap_places(&t->params);
    s.hash = hash_of(t);
    s.sum  = residual_sum(t, &s.count);
    test_forward(t, &s.loss, &s.wrong);
    return s;
}

static void same_state(const state_t *a, const state_t *b)
{
    T_CHECK(a->hash == b->hash, "other weights");
    T_CHECK(a->momentum == b->momentum && a->momentum != a->hash, "other momentum");
    T_CHECK(fabs(a->loss - b->loss) <= 1e-5 * a->loss, "loss %.9g, then %.9g", a->loss, b->loss);
    T_CHECK(a->wrong == b->wrong, "%g wrong, then %g", a->wrong, b->wrong);
    if (t_rank == 0) {
        const double norm = norm_of(a->sum, NULL, a->count);

        T_CHECK(a->count >= 1024 && norm > 0.0, "no residuals");
        T_CHECK(norm_of(b->sum, a->sum, a->count) <= 1e-5 * norm,
                "residuals of norm %g are %g from those of norm %g",
                norm_of(b->sum, NULL, b->count), norm_of(b->sum, a->sum, a->count), norm);
    }
    free(a->sum);
    free(b->sum);
}

/* The first n ranks; MPI_COMM_NULL on the others. */
static MPI_Comm first_ranks(int n)
{
    MPI_Comm comm;

    MPI_Comm_split(MPI_COMM_WORLD, t_rank < n ? 0 : MPI_UNDEFINED, t_rank, &comm);
    return comm;
}

/* The first part of a run, on `ranks` ranks. */
static state_t begin_on(const tw_train_options_t *options, int ranks)
{
    MPI_Comm      comm  = first_ranks(ranks);
    state_t       state = {.sum = NULL};
    tw_training_t t;

    if (comm != MPI_COMM_NULL) {
        run(&t, options, comm);
        state = state_of(&t);
        tw_training_destroy(&t);
        MPI_Comm_free(&comm);
    }
    return state;
}

/* The second part: what is loaded, and that it goes on learning. */
static state_t go_on_on(const tw_train_options_t *options, int ranks)
{
    MPI_Comm      comm    = first_ranks(ranks);
    state_t       state   = {.sum = NULL};
    tw_problem_t  problem = {0};
    tw_training_t t;

    if (comm == MPI_COMM_NULL) {
        return state;
    }
    if (tw_training_create(&t, options, t_ctx, comm, &problem) != 0) {
        fprintf(stderr, "rank %d: cannot go on: %s\n", t_rank, problem.text);
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
    state = state_of(&t);
    T_CHECK(tw_training_run(&t, &problem) == 0, "%s", problem.text);
    T_CHECK(t.epochs == options->epochs && t.hash != state.hash, "no epoch was done");
    T_CHECK(t.records[t.epochs - 1].train_loss < t.records[0].train_loss,
            "it learns no more: loss %g, at first %g", t.records[t.epochs - 1].train_loss,
            t.records[0].train_loss);
    tw_training_destroy(&t);
    MPI_Comm_free(&comm);
    return state;
}

/* After two epochs, or after that many steps. */
static void moved(const char *scheme, int from, int to, uint64_t steps)
{
    tw_train_options_t options = options_of(scheme, "grad=onebit,act=fp32", 2);
    state_t            before, after;

    t_note("scheme %s, from %d to %d ranks", scheme, from, to);
    options.checkpoint = checkpoint;
    options.steps      = steps;
    options.eval_every = steps;
    before             = begin_on(&options, from);
    MPI_Barrier(MPI_COMM_WORLD);
    options.resume = 1;
    options.steps  = 0;
    options.epochs = 4;
    after          = go_on_on(&options, to);
    if (t_rank == 0) { /* it was among both */
        same_state(&before, &after);
    }
    MPI_Barrier(MPI_COMM_WORLD);
}

/* Residuals of the sums over groups belong to their number of parts, and are dropped with others;
 * weights are the same. */
static void moved_split(void)
{
    static const char *const to[] = {"c:split=2", "c:split=4"};

    for (int k = 0; k < 2; k++) {
        tw_train_options_t options = options_of("c:split=2", "grad=onebit,act=fp32", 2);
        state_t            before, after;

        t_note("to %s on %d ranks", to[k], k == 0 ? t_size / 2 : t_size);
        options.checkpoint = checkpoint;
        before             = begin_on(&options, t_size);
        MPI_Barrier(MPI_COMM_WORLD);
        options.resume         = 1;
        options.epochs         = 4;
        options.division.split = k == 0 ? 2 : t_size;
        after                  = go_on_on(&options, k == 0 ? t_size / 2 : t_size);
        T_CHECK(t_rank != 0 || before.hash == after.hash, "other weights");
        free(before.sum);
        free(after.sum);
        MPI_Barrier(MPI_COMM_WORLD);
    }
}

static void other_ranks_go_on(void)
{
    moved("c", t_size, 1, 0);
    moved("c", 1, t_size, 6);
    if (t_size % 4 == 0) {
        moved_split();
    }
    if (t_size > 2) {
        moved("b", t_size - 1, t_size, 7);
        moved("a", t_size, t_size / 2 + 1, 0);
    }
}

/* ---- checkpoints that are refused ----------------------------------------------------------- */

static void foreign_checkpoints_are_refused(void)
{
    tw_train_options_t options = options_of("c", "grad=onebit,act=tree8", 1), other;
    tw_training_t      t;

    options.checkpoint = checkpoint;
    run(&t, &options, MPI_COMM_WORLD);
    tw_training_destroy(&t);
    options.resume      = 1;
    other               = options;
    other.scheme        = "b";
    other.division.kind = SCHEME_B;
    expect_refusal(&other, "is of scheme c, this run of b");
    other               = options;
    other.scheme        = "data";
    other.division.kind = SCHEME_DATA;
    other.codec         = "onebit";
    expect_refusal(&other, "is of scheme c, this run of data");
    other       = options;
    other.codec = "grad=onebit,act=bf16";
    expect_refusal(&other, "this run of grad=onebit:block=2048,act=bf16");
    other    = options;
    other.bn = "local";
    expect_refusal(&other, "is of batch statistics");
    other          = options;
    other.bn_group = 2;
    expect_refusal(&other, "global,0,0,0.01,2, this run of global,2,0,0.01,2");
    other          = options;
    other.lr_scale = "linear";
    expect_refusal(&other, "is of scaling of rates none, this run of linear");
    other               = options;
    other.update_period = 3;
    expect_refusal(&other, "is of update period 0, this run of 3");
}

/* ---- damaged ones --------------------------------------------------------------------------- */

typedef struct bytes {
    char  *data; /* on rank 0 */
    size_t n;
    size_t split; /* where the weights of a split layer begin */
    size_t test;  /* where the first evaluation does */
} bytes_t;

static bytes_t read_bytes(const tw_training_t *t)
{
    const tw_param_t *p = NULL;
    bytes_t           b = {.data = NULL};
    FILE             *file;
    long              length;

    if (t_rank != 0) {
        return b;
    }
    for (size_t i = 0; i < t->params.count; i++) {
        if (strcmp(t->params.param[i].name, "fc4.weight") == 0) {
            p = &t->params.param[i];
        }
    }
    file = fopen(checkpoint, "rb");
    fseek(file, 0, SEEK_END);
    length = ftell(file);
    rewind(file);
    b.data = t_malloc((size_t)length);
    b.n    = fread(b.data, 1, (size_t)length, file);
    fclose(file);
    for (size_t at = 0; at + 64 < b.n && b.split == 0; at += 4) { /* rank 0's units come first */
        if (memcmp(b.data + at, t->params.value + p->first, 64) == 0) {
            b.split = at;
        }
    }
    for (size_t at = 0; at + sizeof(tw_evaluation_t) < b.n && b.test == 0; at += 8) {
        if (memcmp(b.data + at, t->evaluations.list, sizeof(tw_evaluation_t)) == 0) {
            b.test = at;
        }
    }
    T_CHECK(b.split > 0, "the split weights are not in the file");
    T_CHECK(b.test > 0, "the test is not in the file");
    return b;
}

/* The first n bytes, and with sum their check sum, as the whole file. */
static void write_bytes(const bytes_t *b, size_t n, int sum)
{
    if (t_rank == 0) {
        const size_t most = (size_t)1 << 20; /* as the file is summed */
        uint64_t     word = UINT64_C(0x0102030405060708);
        FILE        *file = fopen(checkpoint, "wb");

        fwrite(b->data, 1, n, file);
        for (size_t at = 0; at < n; at += most) {
            word = tw_hash(word, b->data + at, n - at < most ? n - at : most);
        }
        if (sum) {
            fwrite(&word, sizeof(word), 1, file);
        }
        fclose(file);
    }
    MPI_Barrier(MPI_COMM_WORLD);
}

/* A word of the file is another, and the check sum fits. */
static void expect_word_refused(const tw_train_options_t *options, const bytes_t *b, size_t at,
                                uint64_t word, const char *fragment)
{
    uint64_t kept = 0;

    if (t_rank == 0) {
        memcpy(&kept, b->data + at, sizeof(kept));
        memcpy(b->data + at, &word, sizeof(word));
    }
    write_bytes(b, b->n > 8 ? b->n - 8 : 0, 1);
    expect_refusal(options, fragment);
    if (t_rank == 0) {
        memcpy(b->data + at, &kept, sizeof(kept));
    }
}

/* What a file says of its steps and tests is not believed: 4 steps are an epoch. */
static void check_progress_refused(const tw_train_options_t *options, const bytes_t *b)
{
    const size_t epochs = 24, step = 32, evaluations = 40, steps = 64, shift = 72, numbers = 80,
                 error       = offsetof(tw_evaluation_t, test_error);
    const size_t       batch = 96;
    const double       two = 2.0, none = NAN;
    tw_train_options_t changed = *options; /* another batch may be in the file */
    uint64_t           words[2];

    changed.allowed = TW_CHANGES_ALL;
    memcpy(&words[0], &two, sizeof(two));
    memcpy(&words[1], &none, sizeof(none));
    expect_word_refused(options, b, epochs, 0, "nothing possible about the steps");
    expect_word_refused(options, b, epochs, UINT64_MAX / 4, "nothing possible about the steps");
    expect_word_refused(options, b, step, 0, "nothing possible about the steps");
    expect_word_refused(options, b, step, 3, "nothing possible about the steps");
    expect_word_refused(options, b, step, 8, "nothing possible about the steps");
    expect_word_refused(options, b, steps, 0, "nothing possible about the steps");
    expect_word_refused(options, b, steps, 3, "nothing possible about the steps");
    expect_word_refused(options, b, steps, UINT64_MAX, "nothing possible about the steps");
    expect_word_refused(options, b, shift, UINT64_MAX / 2, "nothing possible about the steps");
    expect_word_refused(options, b, shift, UINT64_MAX - 3, "nothing possible about the steps");
    expect_word_refused(options, b, numbers, 1, "is not as its header says");
    expect_word_refused(options, b, numbers, UINT64_MAX / 8, "is too short");
    expect_word_refused(&changed, b, batch, UINT32_MAX, "nothing possible about the steps");
    expect_word_refused(&changed, b, batch, 1, "nothing possible about the steps");
    expect_word_refused(options, b, evaluations, UINT64_MAX / 8, "is too short");
    expect_word_refused(options, b, b->test, 5, "holds results that cannot be");
    expect_word_refused(options, b, b->test, 0, "holds results that cannot be");
    expect_word_refused(options, b, b->test + error, words[0], "holds results that cannot be");
    expect_word_refused(options, b, b->test + error, words[1], "holds results that cannot be");
    expect_word_refused(options, b, b->test + 8, words[1], "holds results that cannot be");
    expect_word_refused(options, b, b->test + offsetof(tw_evaluation_t, epoch), 0,
                        "holds results that cannot be");
}

static void damaged_checkpoints_are_refused(void)
{
    tw_train_options_t options = options_of("c", "grad=onebit,act=tree8", 1);
    tw_training_t      t;
    bytes_t            b;

    options.checkpoint = checkpoint;
    run(&t, &options, MPI_COMM_WORLD);
    b = read_bytes(&t);
    tw_training_destroy(&t);
    options.resume = 1;
    if (t_rank == 0) {
        b.data[b.split + 30] ^= 0x10;
    }
    write_bytes(&b, b.n, 0);
    expect_refusal(&options, "is damaged or incomplete (its check sum is wrong)");
    if (t_rank == 0) {
        b.data[b.split + 30] ^= 0x10;
    }
    write_bytes(&b, b.split + 31, 0);
    expect_refusal(&options, "is damaged or incomplete");
    /* Cut with a check sum that fits: every rank has to learn that its share never came. */
    write_bytes(&b, b.split + 31, 1);
    expect_refusal(&options, "is too short");
    write_bytes(&b, b.n, 1);
    expect_refusal(&options, "is longer than it should be");
    check_progress_refused(&options, &b);
    write_bytes(&b, b.n > 8 ? b.n - 8 : 0, 1);
    run(&t, &options, MPI_COMM_WORLD);
    tw_training_destroy(&t);
    free(b.data);
}

/* What rank 0 alone can see at the end of a file stops all of them before weights travel. */
static void longer_checkpoints_of_owners_are_refused(void)
{
    tw_train_options_t options = options_of("c", "fp32", 1);
    tw_training_t      t;
    bytes_t            b;

    options.owners     = TW_WEIGHTS_SHARDED;
    options.checkpoint = checkpoint;
    run(&t, &options, MPI_COMM_WORLD);
    b = read_bytes(&t);
    tw_training_destroy(&t);
    options.resume = 1;
    write_bytes(&b, b.n, 1);
    expect_refusal(&options, "is longer than it should be");
    free(b.data);
}

static const t_case_t cases[] = {
    {"resumed_runs_end_the_same", resumed_runs_end_the_same, 1},
    {"stops_inside_epochs_change_nothing", stops_inside_epochs_change_nothing, 1},
    {"adaptive_statistics_switch_the_same", adaptive_statistics_switch_the_same, 1},
    {"other_ranks_go_on", other_ranks_go_on, 1},
    {"longer_checkpoints_of_owners_are_refused", longer_checkpoints_of_owners_are_refused, 1},
    {"foreign_checkpoints_are_refused", foreign_checkpoints_are_refused, 1},
    {"damaged_checkpoints_are_refused", damaged_checkpoints_are_refused, 1},
};

int main(int argc, char **argv)
{
    return t_main(argc, argv, cases, sizeof(cases) / sizeof(cases[0]));
}
