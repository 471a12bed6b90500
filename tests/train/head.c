/* SPDX-License-Identifier: BSD-3-Clause
 * tests/train/head.c - dense layers split over the ranks: the same as whole on one, with dropout,
 * both losses, fewer units than ranks; what is sent, and that it is as little as can be.
 */
#include "config.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/mpi/harness.h"
#include "tests/train/split.h"
#include "train/base/random.h"

/* ---- the same as on one rank ----------------------------------------------------------------- */

/* More and fewer units than ranks, sizes that no number of ranks divides. */
static const char *const texts[] = {
    "l10",
    "r70 l5",
    "d0.2 r37 d0.5 S23 d0.5 l19 d0.3 d0.1 l5",
    "s3 R11 d0.5 L2",
    /* groups: of the input, as many as two, three, four or seven ranks can divide, and not */
    "r30/5 d0.5 S24/6 l28/4 d0.1 R84/28 l28/7",
    "d0.3 r4/2 L2/2",
    /* split by input: one, several in a row, the last, with fewer inputs than ranks */
    "r70 s23+ l5",
    "d0.2 r37 d0.5 S23+ d0.5 d0.1 l19+ d0.3 L5+",
    "r30/5 R3+ r40 l6+",
};

static void equals_one_rank(void)
{
    static const size_t counts[] = {1, 8, 50, 0};
    const tw_head_how_t how      = split_how();

    for (size_t k = 0; k < 72; k++) {
        const char *text = texts[k % 9];
        split_t     f;

        t_note("'%s', %s, %zu examples", text, k / 9 % 2 ? "logistic" : "softmax", counts[k / 18]);
        split_make(&f, text, k / 9 % 2 ? TW_LOSS_LOGISTIC : TW_LOSS_SOFTMAX, counts[k / 18], &how);
        split_run(&f, &f.whole, 1);
        split_run(&f, &f.split, 1);
        split_compare_gradients(&f);
        split_compare_sums(&f, 1);
        f.pass.training = 0;
        split_run(&f, &f.whole, 0);
        split_run(&f, &f.split, 0);
        split_compare_sums(&f, 0);
        split_free(&f);
    }
}

/* Two passes over 5 and 8 examples, with rests of earlier gradients before the first. */
static void passes_add_up(void)
{
    const tw_head_how_t how = split_how();

    for (int k = 0; k < 4; k++) {
        split_t f;

        split_make(&f, texts[k < 2 ? 2 : 7], k % 2 ? TW_LOSS_LOGISTIC : TW_LOSS_SOFTMAX, 13, &how);
        split_run(&f, &f.whole, 1);
        dense_net_fill(f.split.gradient, f.split.params.total, 1, 1.0f);
        f.pass.n = 5;
        split_run(&f, &f.split, 0);
        f.pass.n          = 8;
        f.pass.x          = f.x + (size_t)5 * INPUTS;
        f.pass.labels     = f.labels + 5;
        f.pass.examples   = f.examples + 5;
        f.pass.accumulate = 1;
        split_run(&f, &f.split, 0);
        split_compare_gradients(&f);
        split_free(&f);
    }
}

/* ---- top-5 ----------------------------------------------------------------------------------- */

/* One dense layer whose outputs are those of its first input, 1: small integers, many of them
 * equal, and now and then a NaN or an infinity. */
static void set_output(split_t *f, size_t unit, float value)
{
    const tw_param_t *all = &f->whole.params.param[0], *own = &f->split.params.param[0];

    f->whole.value[all->first + unit * INPUTS] = value;
    if (unit >= own->units_first && unit - own->units_first < own->units) {
        f->split.value[own->first + (unit - own->units_first) * INPUTS] = value;
    }
}

static void set_outputs(split_t *f, float *output, uint64_t key, int bad)
{
    memset(f->whole.value, 0, f->whole.params.total * sizeof(float));
    memset(f->split.value, 0, f->split.params.total * sizeof(float));
    for (size_t u = 0; u < f->net.classes; u++) {
        output[u] = (float)tw_random_below(key, u, 7) - 3.0f;
    }
    if (bad) {
        output[tw_random_below(key, 1000, (uint32_t)f->net.classes)] = NAN;
        output[tw_random_below(key, 1001, (uint32_t)f->net.classes)] = INFINITY;
    }
    for (size_t u = 0; u < f->net.classes; u++) {
        set_output(f, u, output[u]);
    }
    for (size_t i = 0; i < f->pass.n * INPUTS; i++) {
        f->x[i] = i % INPUTS == 0 ? 1.0f : 0.0f;
    }
}

/* Sorted, the label's place is among the first, or it is as good as who is there. */
static int by_size(const void *a, const void *b)
{
    const float x = *(const float *)a, y = *(const float *)b;

    return (x < y) - (x > y);
}

static tw_head_wrong_t wrong_by_sorting(const split_t *f, const float *output)
{
    tw_head_wrong_t wrong   = {.one = 0};
    const size_t    classes = f->net.classes, fifth = classes < 5 ? classes - 1 : 4;
    float           sorted[64];

    for (size_t u = 0; u < classes; u++) {
        sorted[u] = isnan(output[u]) ? -INFINITY : output[u];
    }
    qsort(sorted, classes, sizeof(float), by_size);
    for (size_t j = 0; j < f->pass.n; j++) {
        const float own = output[f->labels[j]];

        wrong.one += !(own >= sorted[0]);
        wrong.five += !(own >= sorted[fifth]);
    }
    return wrong;
}

static void five_answers_are_counted(void)
{
    static const char *const nets[]      = {"L2", "L5", "L6", "L11", "L40"};
    size_t                   between_all = 0;

    for (int k = 0; k < 40; k++) {
        const tw_head_how_t how = split_how();
        tw_head_wrong_t     want;
        float               output[64];
        uint64_t            mine[2], wrong[2];
        split_t             f;

        t_note("'%s', %s, outputs %d", nets[k % 5], k & 1 ? "logistic" : "softmax", k / 5);
        split_make(&f, nets[k % 5], k & 1 ? TW_LOSS_LOGISTIC : TW_LOSS_SOFTMAX, 33, &how);
        set_outputs(&f, output, t_seed + (uint64_t)k, k >= 25);
        want            = wrong_by_sorting(&f, output);
        f.pass.training = 0;
        split_run(&f, &f.whole, 0);
        split_run(&f, &f.split, 0);
        mine[0] = f.split.wrong.one;
        mine[1] = f.split.wrong.five;
        MPI_Allreduce(mine, wrong, 2, MPI_UINT64_T, MPI_SUM, MPI_COMM_WORLD);
        T_CHECK(f.whole.wrong.one == want.one && f.whole.wrong.five == want.five,
                "whole: %d and %d wrong, wanted %d and %d", (int)f.whole.wrong.one,
                (int)f.whole.wrong.five, (int)want.one, (int)want.five);
        T_CHECK(wrong[0] == want.one && wrong[1] == want.five,
                "split: %d and %d wrong, wanted %d and %d", (int)wrong[0], (int)wrong[1],
                (int)want.one, (int)want.five);
        between_all += want.five > 0 && want.five < want.one;
        split_free(&f);
    }
    T_CHECK(between_all > 5, "top-5 is hardly ever another count");
}

/* Several views of the examples, on all ranks together and on this one alone. */
static void views_are_averaged(void)
{
    enum { VIEWS = 4, N = 23, CLASSES = 9 };

    for (int k = 0; k < 2; k++) {
        const tw_head_how_t how = split_how();
        float               several;
        double              loss = 0.0;
        uint64_t            mine[2], wrong[2];
        split_t             f;

        t_note("%s", k ? "logistic" : "softmax");
        split_make(&f, "r20 l9", k ? TW_LOSS_LOGISTIC : TW_LOSS_SOFTMAX, N, &how);
        f.pass.training = 0;
        f.pass.views    = VIEWS;
        for (f.pass.view = 0; f.pass.view < VIEWS; f.pass.view++) {
            dense_net_fill(f.x, N * INPUTS, 70 + f.pass.view, 1.0f);
            f.pass.outputs = &several;
            split_run(&f, &f.whole, 0);
            split_run(&f, &f.split, 0);
        }
        mine[0] = f.split.wrong.one;
        mine[1] = f.split.wrong.five;
        MPI_Allreduce(mine, wrong, 2, MPI_UINT64_T, MPI_SUM, MPI_COMM_WORLD);
        MPI_Allreduce(&f.split.loss, &loss, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
        T_CHECK(fabs(loss - f.whole.loss) < 1e-5 * f.whole.loss, "loss %.9g, wanted %.9g", loss,
                f.whole.loss);
        T_CHECK(wrong[0] == f.whole.wrong.one && wrong[1] == f.whole.wrong.five && wrong[0] > 0,
                "%d and %d wrong, wanted %d and %d", (int)wrong[0], (int)wrong[1],
                (int)f.whole.wrong.one, (int)f.whole.wrong.five);
        split_free(&f);
    }
}

/* ---- what is sent -----------------------------------------------------------------------------
 */

static uint64_t calls_of(split_t *f, int with_wrong)
{
    tw_stats_t stats;

    f->pass.count = with_wrong;
    T_OK(tw_comm_stats_reset(t_world));
    split_run(f, &f->split, 0);
    T_OK(tw_comm_stats(t_world, &stats));
    return stats.calls;
}

/* Four dense layers: three gathers forward, three sums backward; and for the loss no more than
 * said. */
static void calls_are_few(void)
{
    const tw_head_how_t how    = split_how();
    const uint64_t      layers = t_size == 1 ? 0 : 3, one = t_size > 1;

    for (int k = 0; k < 2; k++) {
        split_t  f;
        uint64_t calls;

        t_note("%s", k ? "logistic" : "softmax");
        split_make(&f, texts[2], k ? TW_LOSS_LOGISTIC : TW_LOSS_SOFTMAX, 6, &how);
        calls = calls_of(&f, 0);
        T_CHECK(calls == 2 * layers + (k ? 0 : one), "%d exchanges in training", (int)calls);
        calls = calls_of(&f, 1);
        T_CHECK(calls == 2 * layers + one, "%d exchanges with wrong examples", (int)calls);
        f.pass.training = 0;
        calls           = calls_of(&f, 0);
        T_CHECK(calls == layers + (k ? 0 : one), "%d exchanges in evaluation", (int)calls);
        split_free(&f);
    }
}

/* Where the ranks divide a layer's groups, its inputs are not gathered and their gradients not
 * added: of 12 and 28 groups one of the two or both. */
static void groups_stay_on_their_rank(void)
{
    const tw_head_how_t how   = split_how();
    const uint64_t      moved = t_size == 1 ? 0 : (12 % t_size != 0) + (28 % t_size != 0);
    split_t             f;
    uint64_t            calls;

    split_make(&f, "r24 S84/12 r84/28 l5", TW_LOSS_LOGISTIC, 6, &how);
    calls = calls_of(&f, 0);
    T_CHECK(calls == 2 * (moved + (t_size > 1)), "%d exchanges", (int)calls);
    split_free(&f);
}

/* Bytes that a pass with its gradients sends, or puts where others of the node read them. */
static uint64_t bytes_of(const char *text)
{
    const tw_head_how_t how = split_how();
    tw_stats_t          stats;
    split_t             f;

    split_make(&f, text, TW_LOSS_LOGISTIC, 6, &how);
    f.pass.count = 0;
    T_OK(tw_comm_stats_reset(t_world));
    split_run(&f, &f.split, 0);
    T_OK(tw_comm_stats(t_world, &stats));
    split_free(&f);
    return stats.bytes_memory;
}

/* A linear layer in groups that the ranks divide takes each rank's own activations, so that of a
 * layer of 120 units its 12 travel; those of the next layer, 60, do as before. */
static void a_projection_is_what_travels(void)
{
    const uint64_t whole = bytes_of("r120 r60 l5"), less = bytes_of("r120 L12/12 r60 l5");

    T_CHECK(whole > 0 && (12 % t_size != 0 || 180 * less == 72 * whole), "%d of %d bytes",
            (int)less, (int)whole);
}

/* Of 120 activations a layer of 12 units that is split by input exchanges only its 12 sums; and
 * one between two others its own outputs, twice each way. */
static void sums_are_what_travels(void)
{
    const uint64_t whole = bytes_of("r120 l12"), less = bytes_of("r120 l12+");
    const uint64_t three = bytes_of("r24 s60 l12"), inner = bytes_of("r24 s60+ l12");

    T_CHECK(whole > 0 && (12 % t_size != 0 || 10 * less == whole), "%d of %d bytes", (int)less,
            (int)whole);
    T_CHECK(12 % t_size != 0 || 120 * three == 84 * inner, "%d and %d bytes", (int)three,
            (int)inner);
}

/* All classes have the same weights: nothing is greater than the label's output only if all ranks
 * computed it from the same activations, bit by bit. */
static void all_ranks_hold_the_same(void)
{
    static const char *const specs[] = {"fp32", "tree8", "int8", "bf16", "onebit:block=64"};

    for (size_t k = 0; k < sizeof(specs) / sizeof(specs[0]); k++) {
        tw_head_how_t     how = split_how();
        const tw_param_t *w;
        split_t           f;
        uint64_t          mine, wrong = 1;
        double            loss = 0.0;

        t_note("codec %s", specs[k]);
        how.act = t_codec(specs[k], TW_F32);
        split_make(&f, "r64 r45 L9", TW_LOSS_SOFTMAX, 8, &how);
        w = tw_params_find(&f.split.params, 2, TW_WEIGHT);
        for (size_t u = 0; u < w->units; u++) {
            dense_net_fill(f.split.value + w->first + u * w->per_unit, w->per_unit, 4, 1.0f);
        }
        f.pass.training = 0;
        split_run(&f, &f.split, 0);
        mine = f.split.wrong.one;
        MPI_Allreduce(&mine, &wrong, 1, MPI_UINT64_T, MPI_SUM, MPI_COMM_WORLD);
        MPI_Allreduce(&f.split.loss, &loss, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
        T_CHECK(wrong == 0, "ranks have other activations in %d examples", (int)wrong);
        T_CHECK(fabs(loss - 8.0 * log(9.0)) < 1e-4, "loss %.9g", loss);
        split_free(&f);
    }
}

/* How far the own gradients are from the whole ones, relative to these; over all ranks. */
static double distance(const split_t *f)
{
    double sums[2] = {0.0, 0.0}, all[2];

    for (size_t i = 0; i < f->whole.params.count; i++) {
        const tw_param_t *whole = &f->whole.params.param[i], *own = &f->split.params.param[i];
        const float *want = f->whole.gradient + whole->first + own->units_first * own->per_unit;
        const float *got  = f->split.gradient + own->first;

        for (size_t j = 0; j < own->count; j++) {
            sums[0] += pow((double)got[j] - (double)want[j], 2.0);
            sums[1] += pow((double)want[j], 2.0);
        }
    }
    MPI_Allreduce(sums, all, 2, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    return sqrt(all[0] / all[1]);
}

/* Each codec is used where it should be: what it costs in accuracy and saves in bytes. */
static void codecs_are_used(void)
{
    static const char *const specs[] = {"", "tree8"};
    uint64_t                 bytes[4];

    for (int k = 0; k < 4; k++) {
        const char *const settings[] = {"ALLREDUCE=two_pass", NULL};
        tw_head_how_t     how        = split_how();
        tw_context_t     *ctx;
        tw_stats_t        stats;
        split_t           f;
        double            apart;

        t_note("act '%s', back '%s'", specs[k & 1], specs[k >> 1]);
        how.comm = t_comm_under(settings, MPI_COMM_WORLD, &ctx);
        how.act  = t_codec(specs[k & 1], TW_F32);
        how.back = t_codec(specs[k >> 1], TW_F32);
        split_make(&f, "s64 s64 l64", TW_LOSS_SOFTMAX, 24, &how);
        split_run(&f, &f.whole, 0);
        split_run(&f, &f.split, 0);
        apart = distance(&f);
        T_CHECK(k == 0 || t_size == 1 ? apart < 1e-5 : apart > 1e-4 && apart < 0.2,
                "gradients are %g apart", apart);
        T_OK(tw_comm_stats(how.comm, &stats));
        bytes[k] =
            stats.bytes_uncompressed == 0 ? 0 : 1000 * stats.bytes_sent / stats.bytes_uncompressed;
        split_free(&f);
        t_comm_done(how.comm, ctx);
    }
    if (bytes[0] != 0) {
        T_CHECK(bytes[0] == 1000 && bytes[1] < 850 && bytes[2] < 850 && bytes[3] < 500,
                "thousandths of the bytes sent: %d %d %d %d", (int)bytes[0], (int)bytes[1],
                (int)bytes[2], (int)bytes[3]);
    }
}

/* ---- beside others ----------------------------------------------------------------------------
 */

typedef struct beside {
    tw_request_t *request;
    int           done, calls;
    int           exchanging, exchanges;
} beside_t;

static void advance(void *user)
{
    beside_t *beside = user;

    T_CHECK(!beside->exchanging, "called within an exchange");
    beside->calls++;
    if (!beside->done) {
        T_OK(tw_test(&beside->request, &beside->done));
    }
}

static void exchange(void *user, int begins)
{
    beside_t *beside = user;

    T_CHECK(beside->exchanging != begins, "twice %d", begins);
    beside->exchanging = begins;
    beside->exchanges += begins;
}

/* Something else travels on the same communicator meanwhile, and both end right. */
static void others_may_travel(void)
{
    enum { N = 100000 };
    beside_t      beside = {0};
    tw_head_how_t how    = split_how();
    float        *sum    = t_malloc(N * sizeof(float));
    tw_trace_t   *trace  = NULL;
    split_t       f;

    T_OK(tw_trace_create(0, &trace));
    how.between  = advance;
    how.exchange = exchange;
    how.user     = &beside;
    how.trace    = trace;
    split_make(&f, texts[2], TW_LOSS_LOGISTIC, 20, &how);
    for (int i = 0; i < N; i++) {
        sum[i] = (float)(t_rank + i % 7);
    }
    T_OK(tw_iallreduce(t_world, TW_IN_PLACE, sum, N, TW_SUM, NULL, &beside.request));
    split_run(&f, &f.whole, 1);
    split_run(&f, &f.split, 1);
    split_compare_gradients(&f);
    split_compare_sums(&f, 1);
    T_OK(tw_wait(&beside.request));
    for (int i = 0; i < N; i++) {
        T_CHECK(sum[i] == (float)(t_size * (t_size - 1) / 2 + t_size * (i % 7)), "element %d", i);
    }
    T_CHECK(beside.calls >= 4, "the hook was called %d times", beside.calls);
    /* Three gathers and three sums of four layers, and the counting, started and waited for. */
    T_CHECK(!beside.exchanging && beside.exchanges == (t_size > 1 ? 14 : 0), "%d exchanges",
            beside.exchanges);
    split_free(&f);
    tw_trace_destroy(trace);
    free(sum);
}

static size_t occurrences(const char *text, const char *what)
{
    size_t count = 0;

    for (const char *at = strstr(text, what); at != NULL; at = strstr(at + 1, what)) {
        count++;
    }
    return count;
}

/* Two gathers and two sums of three dense layers, from every rank. */
static void traces_show_what_travels(void)
{
    enum { MOST = 1 << 18 };
    static char   text[MOST];
    tw_head_how_t how  = split_how();
    FILE         *file = t_rank == 0 ? tmpfile() : NULL;
    size_t        n, want = t_size == 1 ? 0 : 2 * (size_t)t_size;
    split_t       f;

    T_OK(tw_trace_create(0, &how.trace));
    split_make(&f, "r20 r20 l5", TW_LOSS_LOGISTIC, 4, &how);
    f.pass.gx = NULL;
    split_run(&f, &f.split, 1);
    T_OK(tw_trace_write(t_world, how.trace, file));
    if (t_rank == 0) {
        rewind(file);
        n       = fread(text, 1, MOST - 1, file);
        text[n] = '\0';
        T_CHECK(occurrences(text, "gather activations") == want, "%zu gathers",
                occurrences(text, "gather activations"));
        T_CHECK(occurrences(text, "add gradients") == want, "%zu sums",
                occurrences(text, "add gradients"));
        T_CHECK(occurrences(text, "\"forward") == 3 * (size_t)t_size, "%zu layers forward",
                occurrences(text, "\"forward"));
        fclose(file);
    }
    split_free(&f);
    tw_trace_destroy(how.trace);
}

/* A wrong label is seen by all ranks before anything is sent. */
static void bad_labels_stop_all(void)
{
    const tw_head_how_t how     = split_how();
    tw_problem_t        problem = {0};
    split_t             f;

    split_make(&f, texts[1], TW_LOSS_SOFTMAX, 4, &how);
    f.labels[3] = 5;
    T_CHECK(tw_head_run(f.split.head, &f.pass, &problem) == -1, "it was taken");
    T_CHECK(strstr(problem.text, "a label is 5") != NULL && !problem.fatal, "got '%s'",
            problem.text);
    f.labels[3] = 4;
    split_run(&f, &f.whole, 1);
    split_run(&f, &f.split, 1);
    split_compare_sums(&f, 1);
    split_free(&f);
}

/* One rank's bad weight is in the loss of some rank, and in nobody's count as an error. */
static void bad_numbers_reach_the_loss(void)
{
    static const char *const specs[] = {"", "tree8", "onebit"};

    for (size_t k = 0; k < 3; k++) {
        tw_head_how_t how = split_how();
        split_t       f;
        double        loss = 0.0;

        t_note("codec '%s'", specs[k]);
        how.act = how.back = t_codec(specs[k], TW_F32);
        split_make(&f, "s40 l5", TW_LOSS_SOFTMAX, 6, &how);
        if (t_rank == t_size - 1) {
            f.split.value[0] = NAN;
        }
        split_run(&f, &f.split, 1);
        MPI_Allreduce(&f.split.loss, &loss, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
        T_CHECK(isnan(loss), "the loss is %g", loss);
        split_free(&f);
    }
}

#ifdef TW_ON_STANDIN
/* A call fails on one rank alone: it says so, and that the others may not know; all get on. */
static void a_device_fails_alone(void)
{
    static const struct {
        const char *name;
        int         error, n;
    } calls[] = {{"cudaLaunchKernel", 719, 1},
                 {"cublasSgemm_v2", 13, 1},
                 {"cublasSgemm_v2", 13, 4},
                 {"cudaMemcpyAsync", 1, 1},
                 {"cudaMemcpyAsync", 1, 2}};

    for (int k = 0; k < 5; k++) {
        const tw_head_how_t how     = split_how();
        const int           mine    = t_rank == k % t_size;
        tw_problem_t        problem = {0};
        split_t             f;
        tw_head_pass_t      pass;
        int                 status;

        t_note("call %d of %s, rank %d", calls[k].n, calls[k].name, k % t_size);
        split_make(&f, texts[1], k & 1 ? TW_LOSS_LOGISTIC : TW_LOSS_SOFTMAX, 6, &how);
        split_run(&f, &f.split, 0);
        pass   = f.pass;
        pass.x = f.split.x_there;
        if (mine) {
            standin_fail(calls[k].name, calls[k].n, calls[k].error, STANDIN_ONCE);
        }
        status = tw_head_run(f.split.head, &pass, &problem);
        standin_fail(NULL, 0, 0, STANDIN_ONCE);
        T_CHECK(!mine || (status == -1 && problem.fatal == (t_size > 1) &&
                          strstr(problem.text, "GPU ") != NULL),
                "status %d, fatal %d, '%s'", status, problem.fatal, problem.text);
        T_CHECK(mine || status == 0, "'%s'", problem.text);
        T_CHECK(tw_head_take(f.split.head, &f.split.loss, NULL, &problem) == 0, "'%s'",
                problem.text);
        split_run(&f, &f.whole, 1);
        split_run(&f, &f.split, 1);
        split_compare_gradients(&f);
        split_compare_sums(&f, 1);
        split_free(&f);
    }
}
#endif

int main(int argc, char **argv)
{
    static const t_case_t cases[] = {
        {"equals_one_rank", equals_one_rank, 1},
        {"passes_add_up", passes_add_up, 1},
        {"five_answers_are_counted", five_answers_are_counted, 1},
        {"views_are_averaged", views_are_averaged, 1},
        {"calls_are_few", calls_are_few, 1},
        {"groups_stay_on_their_rank", groups_stay_on_their_rank, 1},
        {"a_projection_is_what_travels", a_projection_is_what_travels, 2},
        {"sums_are_what_travels", sums_are_what_travels, 2},
        {"all_ranks_hold_the_same", all_ranks_hold_the_same, 1},
        {"codecs_are_used", codecs_are_used, 1},
        {"others_may_travel", others_may_travel, 1},
        {"traces_show_what_travels", traces_show_what_travels, 1},
        {"bad_labels_stop_all", bad_labels_stop_all, 1},
        {"bad_numbers_reach_the_loss", bad_numbers_reach_the_loss, 1},
#ifdef TW_ON_STANDIN
        {"a_device_fails_alone", a_device_fails_alone, 1},
#endif
    };

    return t_main(argc, argv, cases, sizeof(cases) / sizeof(cases[0]));
}
