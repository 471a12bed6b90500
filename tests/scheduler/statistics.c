/* SPDX-License-Identifier: BSD-3-Clause
 * tests/scheduler/statistics.c - batch statistics over ranks, against one rank that has the whole
 * batch and computes in long double: uneven counts, ranks without examples, values far from zero,
 * groups, several layers at once, the gradient of a normalisation; and what is sent for it.
 */
#include "config.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/scheduler/whole.h"

static tw_statistics_t *statistics(tw_comm_t *comm, int group)
{
    const tw_statistics_config_t config = {
        .group = group, .layers = LAYERS, .channels = CHANNELS_ALL, .states = 2 * CHANNELS_ALL};
    tw_statistics_t *s = NULL;

    T_OK(tw_statistics_create(comm, &config, &s));
    if (s == NULL) {
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
    return s;
}

/* ---- forward -------------------------------------------------------------------------------- */

static void moments_are_those_of_the_whole_batch(void)
{
    static moments_t m;
    tw_statistics_t *s = statistics(t_world, 0);

    for (uint64_t i = 0; i < 20; i++) {
        const batch_t *batch =
            batch_make(t_seed + i, i % 2 == 0 ? 0.0 : -3.0, i % 3 == 0 ? 100.0 : 1.0);

        t_note("batch %d", (int)i);
        local_moments(batch, t_rank, &m);
        T_OK(tw_statistics_moments(s, m.list, channels_of, LAYERS));
        expect_whole(batch, 0, t_size, &m);
        T_SAME_EVERYWHERE(MPI_COMM_WORLD, m.numbers, sizeof(m.numbers));
    }
    T_OK(tw_statistics_destroy(s));
}

/* M2 of layer 1 as the mean of squares minus the square of the mean. */
static double m2_that_cancels(const batch_t *batch, size_t c)
{
    double count = 0.0, sum = 0.0, squares = 0.0;

    for (int r = 0; r < t_size; r++) {
        for (size_t i = 0; i < batch->count[r]; i++) {
            const double x = value(batch, r, 1, c, i, 0);

            sum += x;
            squares += x * x;
            count++;
        }
    }
    return count * (squares / count - sum / count * (sum / count));
}

/* Mean 1e4 and deviation 1, which double carries, but mean of squares minus square of the mean does
 * not: that way misses the bound here, so the bound is one that can be missed. */
static void values_far_from_zero_do_not_cancel(void)
{
    static moments_t m;
    tw_statistics_t *s      = statistics(t_world, 0);
    batch_t         *batch  = batch_make(t_seed, 1e4, 1.0);
    size_t           missed = 0;

    batch->count[0] = VALUES;
    local_moments(batch, t_rank, &m);
    T_OK(tw_statistics_moments(s, m.list, channels_of, LAYERS));
    expect_whole(batch, 0, t_size, &m);
    for (size_t c = 0; c < channels_of[1]; c++) {
        const whole_t want = whole_moments(batch, 0, t_size, 1, c);

        missed += fabsl((long double)m2_that_cancels(batch, c) - want.m2) > want.m2_error;
    }
    T_CHECK(missed > channels_of[1] / 2, "the formula that cancels misses %zu of %zu channels only",
            missed, channels_of[1]);
    T_OK(tw_statistics_destroy(s));
}

static void without_examples_all_is_zero(void)
{
    static moments_t       m;
    static const moments_t zero;

    for (int group = 0; group <= t_size; group++) {
        tw_statistics_t *s     = statistics(t_world, group);
        batch_t         *batch = batch_make(t_seed, 0.0, 1.0);

        memset(batch->count, 0, sizeof(batch->count));
        local_moments(batch, t_rank, &m);
        T_OK(tw_statistics_moments(s, m.list, channels_of, LAYERS));
        T_CHECK(memcmp(m.numbers, zero.numbers, sizeof(m.numbers)) == 0, "group %d: not zeros",
                group);
        T_OK(tw_statistics_destroy(s));
    }
}

/* Groups of g consecutive ranks, the last one smaller, for every g; 1 is local. */
static void groups_share_among_themselves(void)
{
    static moments_t m, local;

    for (int g = 1; g <= t_size + 1; g++) {
        tw_statistics_t *s     = statistics(t_world, g);
        const int        first = t_rank / g * g, last = first + g < t_size ? first + g : t_size;
        const batch_t   *batch = batch_make(t_seed + (uint64_t)g, 2.0, 1.0);
        MPI_Comm         group;

        t_note("groups of %d", g);
        T_CHECK(tw_statistics_ranks(s) == last - first, "%d ranks", tw_statistics_ranks(s));
        T_CHECK((tw_statistics_comm(s) == NULL) == (last - first == 1),
                "communicator of a group of %d", last - first);
        T_CHECK(g < t_size || t_size == 1 || tw_statistics_comm(s) == t_world,
                "another communicator");
        local_moments(batch, t_rank, &local);
        local_moments(batch, t_rank, &m);
        T_OK(tw_statistics_moments(s, m.list, channels_of, LAYERS));
        expect_whole(batch, first, last, &m);
        if (g == 1 && batch->count[t_rank] > 0) {
            T_CHECK(memcmp(m.numbers, local.numbers, sizeof(m.numbers)) == 0,
                    "local moments changed");
        }
        MPI_Comm_split(MPI_COMM_WORLD, first, t_rank, &group);
        T_SAME_EVERYWHERE(group, m.numbers, sizeof(m.numbers));
        MPI_Comm_free(&group);
        T_OK(tw_statistics_destroy(s));
    }
}

/* ---- backward ------------------------------------------------------------------------------- */

/* dx = (dy - sum dy / n - xhat sum(dy xhat) / n) / sqrt(var + eps), for gamma 1. */
static void expect_gradient(const batch_t *batch, const moments_t *m, const moments_t *sums)
{
    for (size_t l = 0; l < LAYERS; l++) {
        const size_t  n = channels_of[l];
        const double *x = m->numbers[l], *s = sums->numbers[l];

        for (size_t c = 0; c < n; c++) {
            const whole_t     w     = whole_moments(batch, 0, t_size, l, c);
            const long double exact = sqrtl(w.m2 / w.count + (long double)EPSILON);
            const double      scale = sqrt(x[1 + n + c] / x[0] + EPSILON);
            long double       want[2];

            whole_sums(batch, l, c, &w, want);
            T_CHECK(near(s[c], want[0], w.count) && near(s[n + c], want[1], w.count),
                    "layer %zu, channel %zu: sums %.17g %.17g, not %.20Lg %.20Lg", l, c, s[c],
                    s[n + c], want[0], want[1]);
            for (size_t i = 0; i < batch->count[t_rank]; i++) {
                const double      dy  = value(batch, t_rank, l, c, i, 1);
                const double      hat = (value(batch, t_rank, l, c, i, 0) - x[1 + c]) / scale;
                const double      dx  = (dy - s[c] / x[0] - hat * (s[n + c] / x[0])) / scale;
                const long double xhat =
                    ((long double)value(batch, t_rank, l, c, i, 0) - w.mean) / exact;
                const long double all =
                    ((long double)dy - want[0] / w.count - xhat * want[1] / w.count) / exact;

                T_CHECK(near(dx, all, 1), "layer %zu, channel %zu: dx %.17g, not %.20Lg", l, c, dx,
                        all);
            }
        }
    }
}

static void gradients_are_those_of_the_whole_batch(void)
{
    static moments_t m, sums;
    tw_statistics_t *s = statistics(t_world, 0);

    for (uint64_t i = 0; i < 10; i++) {
        batch_t *batch = batch_make(t_seed + i, 1.0, 1.0);

        t_note("batch %d", (int)i);
        batch->count[0] = VALUES; /* enough for some variance in every channel */
        local_moments(batch, t_rank, &m);
        T_OK(tw_statistics_moments(s, m.list, channels_of, LAYERS));
        local_sums(batch, &m, &sums);
        T_OK(tw_statistics_sums(s, sums.list, channels_of, LAYERS));
        expect_gradient(batch, &m, &sums);
        T_SAME_EVERYWHERE(MPI_COMM_WORLD, sums.numbers, sizeof(sums.numbers));
    }
    T_OK(tw_statistics_destroy(s));
}

/* Bit for bit: rank 0's number, plus rank 1's, ... */
static void sums_go_in_rank_order(void)
{
    static double       mine[2 * CHANNELS], want[2 * CHANNELS], other[2 * CHANNELS];
    static const size_t n       = CHANNELS;
    double *const       list[1] = {mine};
    tw_statistics_t    *s       = statistics(t_world, 0);

    for (int r = 0; r < t_size; r++) {
        t_fill(TW_F64, t_seed + (uint64_t)r, 0, 2 * n, other);
        for (size_t i = 0; i < 2 * n; i++) {
            want[i] = r == 0 ? other[i] : want[i] + other[i];
        }
    }
    t_fill(TW_F64, t_seed + (uint64_t)t_rank, 0, 2 * n, mine);
    T_OK(tw_statistics_sums(s, list, &n, 1));
    T_SAME(TW_F64, mine, want, 2 * n);
    T_OK(tw_statistics_destroy(s));
}

/* ---- what is sent, and when ----------------------------------------------------------------- */

/* One exchange for all layers: a message to each of the others, with 8 bytes for a number. */
static void one_exchange_for_all_layers(void)
{
    static const char *const settings[] = {"ALLGATHER=pairwise", NULL};
    static moments_t         m;
    tw_context_t            *ctx;
    tw_comm_t               *comm = t_comm_under(settings, MPI_COMM_WORLD, &ctx);
    tw_statistics_t         *s = statistics(comm, 0), *local = statistics(comm, 1);
    const uint64_t           others  = (uint64_t)t_size - 1;
    const size_t             numbers = 2 * CHANNELS_ALL;
    tw_stats_t               stats;

    T_OK(tw_comm_stats_reset(comm));
    for (uint64_t i = 1; i <= 3; i++) {
        local_moments(batch_make(t_seed, 0.0, 1.0), t_rank, &m);
        T_OK(tw_statistics_moments(s, m.list, channels_of, LAYERS));
        T_OK(tw_statistics_sums(s, m.list, channels_of, LAYERS));
        T_OK(tw_statistics_moments(local, m.list, channels_of, LAYERS));
        T_OK(tw_statistics_sums(local, m.list, channels_of, LAYERS));
        T_OK(tw_comm_stats(comm, &stats));
        T_CHECK(stats.calls == (t_size > 1 ? 2 * i : 0), "%llu calls",
                (unsigned long long)stats.calls);
        T_CHECK(stats.messages_sent == 2 * i * others, "%llu messages",
                (unsigned long long)stats.messages_sent);
        T_CHECK(stats.bytes_sent == i * others * 8 * (2 * numbers + LAYERS), "%llu bytes",
                (unsigned long long)stats.bytes_sent);
        T_CHECK(stats.quantisations == 0, "something was quantised");
        T_CHECK(stats.pool_allocations == 0, "memory was asked for %llu times",
                (unsigned long long)stats.pool_allocations);
    }
    T_OK(tw_statistics_destroy(local));
    T_OK(tw_statistics_destroy(s));
    t_comm_done(comm, ctx);
}

/* Between start and wait the caller computes, and uses the communicator for other things. */
static void the_caller_works_meanwhile(void)
{
    static moments_t m;
    static double   *list[LAYERS];
    const batch_t   *batch = batch_make(t_seed, 0.5, 2.0);
    const size_t     one   = 1;

    for (int g = 1; g <= t_size; g++) {
        tw_statistics_t *s     = statistics(t_world, g);
        const int        first = t_rank / g * g;
        float            sum[100], state[2] = {1.0F, 1.0F};

        t_note("groups of %d", g);
        for (int i = 0; i < 100; i++) {
            sum[i] = (float)(t_rank + i);
        }
        local_moments(batch, t_rank, &m);
        memcpy(list, m.list, sizeof(list));
        T_OK(tw_statistics_wait(s)); /* nothing is under way */
        T_OK(tw_statistics_moments_start(s, list, channels_of, LAYERS));
        memset(list, 0, sizeof(list)); /* was copied */
        if (tw_statistics_ranks(s) > 1) {
            T_STATUS(tw_statistics_sums_start(s, m.list, channels_of, 1), TW_ERR_BUSY);
            T_STATUS(tw_statistics_running(s, state, &one, 1), TW_ERR_BUSY);
            T_STATUS(tw_statistics_destroy(s), TW_ERR_BUSY);
        }
        T_OK(tw_allreduce(t_world, TW_IN_PLACE, sum, 100, TW_SUM, NULL));
        T_CHECK(sum[7] == (float)(t_size * (t_size - 1) / 2 + 7 * t_size), "the sum is %g",
                (double)sum[7]);
        T_OK(tw_statistics_wait(s));
        T_OK(tw_statistics_wait(s));
        expect_whole(batch, first, first + g < t_size ? first + g : t_size, &m);
        T_OK(tw_statistics_destroy(s));
    }
}

static void wrong_arguments_are_refused(void)
{
    static moments_t       m;
    static const size_t    too_many[2] = {CHANNELS_ALL, 1}, huge = SIZE_MAX;
    tw_statistics_config_t config   = {.group = -1};
    tw_statistics_t       *s        = NULL;
    float                  state[4] = {0};

    T_STATUS(tw_statistics_create(NULL, &config, &s), TW_ERR_INVALID_ARG);
    T_STATUS(tw_statistics_create(t_world, NULL, &s), TW_ERR_INVALID_ARG);
    T_STATUS(tw_statistics_create(t_world, &config, &s), TW_ERR_INVALID_ARG);
    config.group    = 0;
    config.channels = SIZE_MAX / 16;
    T_STATUS(tw_statistics_create(t_world, &config, &s), TW_ERR_RANGE);
    config.channels = 1;
    config.states   = SIZE_MAX / 4;
    T_STATUS(tw_statistics_create(t_world, &config, &s), TW_ERR_RANGE);
    T_CHECK(s == NULL, "an output was set on failure");
    s = statistics(t_world, 0);
    local_moments(batch_make(t_seed, 0.0, 1.0), t_rank, &m);
    T_STATUS(tw_statistics_moments(NULL, m.list, channels_of, 1), TW_ERR_INVALID_ARG);
    T_STATUS(tw_statistics_moments(s, NULL, channels_of, 1), TW_ERR_INVALID_ARG);
    T_STATUS(tw_statistics_moments(s, m.list, NULL, 1), TW_ERR_INVALID_ARG);
    T_STATUS(tw_statistics_moments(s, m.list, channels_of, LAYERS + 1), TW_ERR_RANGE);
    T_STATUS(tw_statistics_moments(s, m.list, too_many, 2), TW_ERR_RANGE);
    T_STATUS(tw_statistics_sums(s, m.list, &huge, 1), TW_ERR_RANGE);
    T_STATUS(tw_statistics_running(s, state, too_many, 2), TW_ERR_RANGE);
    T_STATUS(tw_statistics_running(s, NULL, channels_of, 1), TW_ERR_INVALID_ARG);
    T_STATUS(tw_statistics_wait(NULL), TW_ERR_INVALID_ARG);
    T_OK(tw_statistics_moments(s, NULL, NULL, 0));
    T_OK(tw_statistics_destroy(s));
    T_OK(tw_statistics_destroy(NULL));
    T_CHECK(tw_statistics_ranks(NULL) == 0 && tw_statistics_comm(NULL) == NULL, "of nothing");
}

static void a_communicator_outlives_its_statistics(void)
{
    t_log_t       log = {0};
    tw_context_t *ctx = t_context();
    tw_comm_t    *comm;

    T_OK(tw_context_set_log(ctx, t_log_take, &log));
    comm = t_comm(ctx, MPI_COMM_WORLD);
    for (int g = 0; g <= 2; g++) {
        tw_statistics_t *s = statistics(comm, g);

        T_STATUS(tw_comm_destroy(comm), TW_ERR_BUSY);
        T_OK(tw_statistics_destroy(s));
    }
    t_comm_done(comm, ctx);
}

/* ---- running statistics --------------------------------------------------------------------- */

static float state_of(int rank, size_t i)
{
    return (float)(0.5 + 5.0 * uniform(t_seed * 13 + (uint64_t)rank * 1000 + i));
}

static void expect_running(const float *state, size_t mean_at, size_t variance_at)
{
    long double mean = 0, square = 0, variance = 0;

    for (int r = 0; r < t_size; r++) {
        const long double m = (long double)state_of(r, mean_at);

        mean += m / t_size;
        square += m * m / t_size;
        variance += (long double)state_of(r, variance_at) / t_size;
    }
    variance += square - mean * mean;
    T_CHECK(fabsl((long double)state[mean_at] - mean) <= 1e-7L * mean, "mean %g, not %Lg",
            (double)state[mean_at], mean);
    T_CHECK(fabsl((long double)state[variance_at] - variance) <= 1e-7L * variance,
            "variance %g, not %Lg", (double)state[variance_at], variance);
}

static void running_statistics_become_those_of_all(void)
{
    static float state[2 * CHANNELS_ALL], again[2 * CHANNELS_ALL];

    for (int g = 0; g <= t_size; g++) {
        tw_statistics_t *s  = statistics(t_world, g);
        size_t           at = 0;

        t_note("groups of %d", g);
        for (size_t i = 0; i < 2 * CHANNELS_ALL; i++) {
            state[i] = state_of(t_rank, i);
        }
        T_OK(tw_statistics_running(s, state, channels_of, LAYERS));
        T_SAME_EVERYWHERE(MPI_COMM_WORLD, state, sizeof(state));
        for (size_t l = 0; l < LAYERS; at += 2 * channels_of[l++]) {
            for (size_t c = 0; c < channels_of[l]; c++) {
                expect_running(state, at + c, at + channels_of[l] + c);
            }
        }
        memcpy(again, state, sizeof(state)); /* equal everywhere now: stays, bit for bit */
        T_OK(tw_statistics_running(s, again, channels_of, LAYERS));
        T_SAME(TW_F32, again, state, 2 * CHANNELS_ALL);
        T_OK(tw_statistics_destroy(s));
    }
}

/* ---- the switch ----------------------------------------------------------------------------- */

/* Ranks see different parts of an epoch; what they observe is the share of right answers of all.
 * The observation at which they switch is the same everywhere, and moments are global from there
 * on. */
static void all_ranks_switch_at_once(void)
{
    static moments_t m;
    tw_adaptive_t    a = {
           .mode = TW_STATISTICS_ADAPTIVE, .tolerance = 0.02, .patience = 2, .batch = 8};
    tw_statistics_t *s[2];
    int              switched_at = -1;

    s[0] = statistics(t_world, 1);
    s[1] = statistics(t_world, 0);
    T_OK(tw_adaptive_init(&a));
    for (int epoch = 0; epoch < 30; epoch++) {
        const batch_t *batch  = batch_make(t_seed + (uint64_t)epoch, 0.0, 1.0);
        const int      before = tw_adaptive_global(&a);
        float          seen[2]; /* right answers, examples: whole numbers, so the sums are exact */
        int            switched;

        local_moments(batch, t_rank, &m);
        T_OK(tw_statistics_moments(s[before], m.list, channels_of, LAYERS));
        expect_whole(batch, before ? 0 : t_rank, before ? t_size : t_rank + 1, &m);
        seen[1] = (float)(1000 + 10 * t_rank);
        seen[0] =
            floorf(seen[1] * (1.0F - expf(-(float)epoch / 4.0F)) * (t_rank % 2 == 1 ? 0.9F : 1.0F));
        T_OK(tw_allreduce(t_world, TW_IN_PLACE, seen, 2, TW_SUM, NULL));
        T_OK(tw_adaptive_observe(&a, (double)seen[0] / (double)seen[1], &switched));
        T_CHECK(switched == (tw_adaptive_global(&a) != before), "switched: %d", switched);
        if (switched) {
            T_CHECK(switched_at < 0, "switched again after epoch %d", epoch);
            switched_at = epoch;
        }
    }
    T_CHECK(switched_at > 5 && switched_at < 29, "switched after epoch %d", switched_at);
    T_SAME_EVERYWHERE(MPI_COMM_WORLD, &switched_at, sizeof(switched_at));
    T_OK(tw_statistics_destroy(s[0]));
    T_OK(tw_statistics_destroy(s[1]));
}

/* All ranks' moments, merged by one rank: those of a node in rank order, then the nodes. */
static void merge_serially(const tw_comm_t *comm, const batch_t *batch, moments_t *want)
{
    static moments_t of_node, m;

    memset(want->numbers, 0, sizeof(want->numbers));
    for (int node = 0; node < t_size; node++) {
        memset(of_node.numbers, 0, sizeof(of_node.numbers));
        for (int r = 0; r < t_size; r++) {
            local_moments(batch, r, &m);
            for (size_t l = 0; l < LAYERS && tw_comm_node(comm, r) == node; l++) {
                tw_moments_merge(of_node.numbers[l], m.numbers[l], channels_of[l]);
            }
        }
        for (size_t l = 0; l < LAYERS; l++) {
            tw_moments_merge(want->numbers[l], of_node.numbers[l], channels_of[l]);
        }
    }
}

/* By messages, in pieces, in bundles, in nodes, compared by THINWIRE_CHECK; and into a trace. */
static void other_settings_give_the_same_bits(void)
{
    static const char *const kinds[][4] = {{"ALLGATHER=pairwise", "CHUNK=256", NULL},
                                           {"ALLGATHER=grid", "CHECK=1", NULL},
                                           {"NODE_RANKS=2", "MESSAGE_COST=1m", NULL},
                                           {"NODE_RANKS=3", "MESSAGE_COST=1m", NULL},
                                           {"MESSAGE_COST=0", "NODE_RANKS=1", "CHECK=1", NULL},
                                           {"MESSAGE_COST=0", "NODE_RANKS=2", NULL},
                                           {"MESSAGE_COST=0", "NODE_RANKS=3", "CHECK=1", NULL},
                                           {"MESSAGE_COST=0", "NODE_RANKS=4", NULL},
                                           {"MESSAGE_COST=0", "NODE_RANKS=6", NULL},
                                           {"TIMEOUT=100", "CHECK=1", NULL}};
    static moments_t         want, m;
    tw_statistics_t         *s     = NULL;
    const batch_t           *batch = batch_make(t_seed, 0.0, 1.0);

    for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
        tw_context_t          *ctx;
        tw_comm_t             *comm   = t_comm_under(kinds[i], MPI_COMM_WORLD, &ctx);
        tw_statistics_config_t config = {.layers = LAYERS, .channels = CHANNELS_ALL};

        t_note("%s %s", kinds[i][0], kinds[i][1]);
        merge_serially(comm, batch, &want);
        T_OK(tw_trace_create(8, &config.trace));
        T_OK(tw_statistics_create(comm, &config, &s));
        local_moments(batch, t_rank, &m);
        T_OK(tw_statistics_moments(s, m.list, channels_of, LAYERS));
        T_CHECK(memcmp(m.numbers, want.numbers, sizeof(m.numbers)) == 0, "other bits");
        local_moments(batch, t_rank, &m); /* always in one exchange */
        T_OK(tw_statistics_moments_start(s, m.list, channels_of, LAYERS));
        T_OK(tw_statistics_wait(s));
        T_CHECK(memcmp(m.numbers, want.numbers, sizeof(m.numbers)) == 0, "other bits later");
        T_OK(tw_statistics_destroy(s));
        tw_trace_destroy(config.trace);
        t_comm_done(comm, ctx);
    }
}

/* Numbers of one exchange on any layers: few channels, none, more than in a share; how many they
 * are on a rank. */
enum { MOST = 6 };

static size_t any_layers(uint64_t *random, int turn, size_t *channels, size_t layers,
                         double numbers[MOST][1 + 2 * CHANNELS])
{
    size_t count = 0;

    memset(numbers, 0, MOST * sizeof(*numbers));
    for (size_t l = 0; l < layers; l++) {
        size_t n;

        channels[l] = t_below(random, t_below(random, 3) == 0 ? 3 : CHANNELS + 1);
        n           = 2 * channels[l] + (turn % 2 == 0);
        t_fill(TW_F64, t_seed + (uint64_t)turn, t_rank + 100 * (int)l, n, numbers[l]);
        if (turn % 2 == 0) {
            numbers[l][0] = (double)((t_rank + turn) % 3);
        }
        count += n;
    }
    return count;
}

/* Bytes that a node has sent to others, and its part of the ranks. */
static uint64_t bytes_of_node(tw_comm_t *comm, double *part_p)
{
    MPI_Comm   node;
    int        ranks;
    tw_stats_t stats;
    uint64_t   bytes;

    T_OK(tw_comm_stats(comm, &stats));
    T_CHECK(stats.pool_allocations == 0, "memory was asked for %llu times",
            (unsigned long long)stats.pool_allocations);
    MPI_Comm_split(MPI_COMM_WORLD, tw_comm_node(comm, t_rank), t_rank, &node);
    MPI_Comm_size(node, &ranks);
    MPI_Allreduce(&stats.bytes_network, &bytes, 1, MPI_UINT64_T, MPI_SUM, node);
    MPI_Comm_free(&node);
    *part_p = (double)ranks / t_size;
    return bytes;
}

/* Where owners merge shares, and where all merge all. Of shares a node sends each number once, and
 * its part of them to all other nodes, whatever the ranks on it. */
static void shares_give_the_bits_of_all(int node_ranks)
{
    enum { TURNS = 30 };
    static const char *const     costs[] = {"MESSAGE_COST=0", "MESSAGE_COST=1m"};
    static double                numbers[2][MOST][1 + 2 * CHANNELS];
    const tw_statistics_config_t config = {.layers = MOST, .channels = MOST * CHANNELS};
    const int                    nodes  = (t_size + node_ranks - 1) / node_ranks;
    uint64_t                     random = t_seed, bytes[2];
    char                         layout[32];
    double                       count = 0.0, part = 0.0, most;
    tw_context_t                *ctx[2];
    tw_comm_t                   *comm[2];
    tw_statistics_t             *s[2] = {NULL, NULL};

    snprintf(layout, sizeof(layout), "NODE_RANKS=%d", node_ranks);
    for (int way = 0; way < 2; way++) {
        const char *const by[] = {layout, costs[way], NULL};

        comm[way] = t_comm_under(by, MPI_COMM_WORLD, &ctx[way]);
        T_OK(tw_statistics_create(comm[way], &config, &s[way]));
        T_OK(tw_comm_stats_reset(comm[way]));
    }
    for (int turn = 0; turn < TURNS; turn++) {
        const size_t layers = 1 + t_below(&random, MOST);
        size_t       channels[MOST];
        double      *list[MOST];

        count += (double)any_layers(&random, turn, channels, layers, numbers[0]);
        memcpy(numbers[1], numbers[0], sizeof(numbers[0]));
        for (int way = 0; way < 2; way++) {
            for (size_t l = 0; l < layers; l++) {
                list[l] = numbers[way][l];
            }
            T_OK((turn % 2 == 1 ? tw_statistics_sums : tw_statistics_moments)(s[way], list,
                                                                              channels, layers));
        }
        T_SAME_EVERYWHERE(MPI_COMM_WORLD, numbers[0], sizeof(numbers[0]));
        T_CHECK(memcmp(numbers[0], numbers[1], sizeof(numbers[0])) == 0,
                "nodes of %d, turn %d: other bits", node_ranks, turn);
    }
    for (int way = 0; way < 2; way++) {
        t_note("nodes of %d, %s", node_ranks, costs[way]);
        bytes[way] = bytes_of_node(comm[way], &part);
        T_OK(tw_statistics_destroy(s[way]));
        t_comm_done(comm[way], ctx[way]);
    }
    /* with a count more for each share of a forward pass, and shares that differ by one channel */
    most = 8.0 * (count + TURNS * t_size) * (1.0 + part * (nodes - 2)) + TURNS * 48.0 * t_size;
    T_CHECK((double)bytes[0] <= most, "a node of %d has sent %llu bytes, more than %.0f",
            node_ranks, (unsigned long long)bytes[0], most);
    T_CHECK(t_size < 5 || nodes < 2 || bytes[0] < bytes[1],
            "nodes of %d: shares sent %llu bytes, all to all %llu", node_ranks,
            (unsigned long long)bytes[0], (unsigned long long)bytes[1]);
}

static void shares_on_nodes_of_any_size(void)
{
    for (int node_ranks = 1; node_ranks <= 4 && node_ranks <= t_size; node_ranks++) {
        shares_give_the_bits_of_all(node_ranks);
    }
}

static const t_case_t cases[] = {
    {"moments are those of the whole batch", moments_are_those_of_the_whole_batch, 1},
    {"values far from zero do not cancel", values_far_from_zero_do_not_cancel, 1},
    {"without examples all is zero", without_examples_all_is_zero, 1},
    {"groups share among themselves", groups_share_among_themselves, 1},
    {"gradients are those of the whole batch", gradients_are_those_of_the_whole_batch, 1},
    {"sums go in rank order", sums_go_in_rank_order, 1},
    {"one exchange for all layers", one_exchange_for_all_layers, 1},
    {"the caller works meanwhile", the_caller_works_meanwhile, 1},
    {"wrong arguments are refused", wrong_arguments_are_refused, 1},
    {"a communicator outlives its statistics", a_communicator_outlives_its_statistics, 1},
    {"running statistics become those of all", running_statistics_become_those_of_all, 1},
    {"all ranks switch at once", all_ranks_switch_at_once, 1},
    {"shares on nodes of any size", shares_on_nodes_of_any_size, 1},
    {"other settings give the same bits", other_settings_give_the_same_bits, 1},
};

T_MAIN(cases)
