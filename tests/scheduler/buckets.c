/* SPDX-License-Identifier: BSD-3-Clause
 * tests/scheduler/buckets.c - sums of tensors that become ready one after another.
 *
 * The tensors are those of a network in one vector, layer after layer, weights then biases, and are
 * listed from the end of the vector to its beginning, as gradients become ready. Values are whole
 * numbers where sums must be exact in any order.
 */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/scheduler/spans.h"

#define LAYERS  5
#define TENSORS ((size_t)2 * LAYERS)

static const size_t weights[LAYERS] = {5000, 2304, 0, 30011, 1500};
static const size_t biases[LAYERS]  = {32, 16, 64, 10, 1};

/* A network's gradients, and the list. */
typedef struct net {
    float             *vector;
    size_t             count;
    char               name[TENSORS][16];
    tw_bucket_tensor_t tensor[TENSORS];
} net_t;

/* gap: elements between tensors in memory. */
static net_t *made(size_t gap)
{
    net_t *net = t_malloc(sizeof(*net));
    size_t at  = 0;

    memset(net, 0, sizeof(*net));
    for (size_t l = 0; l < LAYERS; l++) {
        net->count += weights[l] + biases[l] + 2 * gap;
    }
    net->vector = t_alloc(net->count * sizeof(float), 4);
    for (size_t l = 0; l < LAYERS; l++) {
        const size_t i = 2 * (LAYERS - 1 - l);

        snprintf(net->name[i], sizeof(net->name[i]), "layer%zu.b", l);
        snprintf(net->name[i + 1], sizeof(net->name[i + 1]), "layer%zu.w", l);
        net->tensor[i + 1] = (tw_bucket_tensor_t){
            .name = net->name[i + 1], .data = net->vector + at, .count = weights[l]};
        at += weights[l] + gap;
        net->tensor[i] = (tw_bucket_tensor_t){
            .name = net->name[i], .data = net->vector + at, .count = biases[l]};
        at += biases[l] + gap;
    }
    return net;
}

static void gone(net_t *net)
{
    t_free(net->vector);
    free(net);
}

static float value(int rank, size_t tensor, size_t i, int step)
{
    const uint64_t x =
        t_mix(t_seed + (uint64_t)rank * 1000003u + tensor * 10007u + i + (uint64_t)step * 77);

    return (float)(x % 2001) - 1000.0f;
}

static void fill(const net_t *net, size_t i, int step)
{
    for (size_t k = 0; k < net->tensor[i].count; k++) {
        ((float *)net->tensor[i].data)[k] = value(t_rank, i, k, step);
    }
}

static void check_sum(const net_t *net, size_t i, int step)
{
    float *want = t_malloc((net->tensor[i].count + 1) * sizeof(float));

    for (size_t k = 0; k < net->tensor[i].count; k++) {
        want[k] = 0;
        for (int r = 0; r < t_size; r++) {
            want[k] += value(r, i, k, step);
        }
    }
    T_SAME(TW_F32, net->tensor[i].data, want, net->tensor[i].count);
    free(want);
}

static void all_ready(const net_t *net, tw_buckets_t *b, int step)
{
    for (size_t i = 0; i < TENSORS; i++) {
        fill(net, i, step);
        T_OK(tw_buckets_ready(b, i));
        T_OK(tw_buckets_advance(b));
    }
}

static tw_buckets_facts_t facts_of(const tw_buckets_t *b)
{
    tw_buckets_facts_t facts = {0};

    T_OK(tw_buckets_facts(b, &facts));
    return facts;
}

/* ---- sums ----------------------------------------------------------------------------------- */

/* fp32: in place where tensors lie together, through buffers where not; buckets of any size. */
static void plain_sums(void)
{
    static const size_t bytes[] = {1, 9000, 30000, 0, SIZE_MAX};
    static const size_t gaps[]  = {0, 3};

    for (size_t g = 0; g < 2; g++) {
        for (size_t s = 0; s < sizeof(bytes) / sizeof(bytes[0]); s++) {
            net_t              *net    = made(gaps[g]);
            tw_buckets_config_t config = {.bytes = bytes[s]};
            tw_buckets_t       *b      = NULL;
            tw_buckets_facts_t  facts;

            t_note("%zu bytes, gaps of %zu", bytes[s], gaps[g]);
            T_OK(tw_buckets_create(t_world, &config, net->tensor, TENSORS, &b));
            facts = facts_of(b);
            T_CHECK(facts.tensors == TENSORS && facts.feedbacks == 0, "other facts");
            T_CHECK(bytes[s] != 1 || facts.buckets >= TENSORS - 1, "%zu buckets", facts.buckets);
            T_CHECK((bytes[s] > 0 && bytes[s] < SIZE_MAX) || facts.buckets == 1, "%zu buckets",
                    facts.buckets);
            T_CHECK((facts.memory > 0) == (gaps[g] > 0 && bytes[s] != 1), "%llu bytes of buffers",
                    (unsigned long long)facts.memory);
            for (int step = 0; step < 3; step++) {
                all_ready(net, b, step);
                T_OK(tw_buckets_finish(b));
                for (size_t i = 0; i < TENSORS; i++) {
                    check_sum(net, i, step);
                }
            }
            tw_buckets_destroy(b);
            gone(net);
        }
    }
}

/* E7: reduce-scatter and all-gather, 2 (K-1)/K x 4P bytes per rank: to one element of each bucket
 * per rank, and exactly over the ranks. */
static void bytes_sent(void)
{
    static const char *const apart[] = {"NODE_RANKS=1", NULL};
    net_t                   *net     = made(0);
    tw_buckets_config_t      config  = {.algorithm = TW_ALGORITHM_TWO_PASS, .bytes = 20000};
    tw_buckets_t            *b       = NULL;
    tw_context_t            *ctx;
    tw_comm_t               *comm = t_comm_under(apart, MPI_COMM_WORLD, &ctx);
    const uint64_t           k = (uint64_t)t_size, p = net->count;
    tw_stats_t               stats;
    uint64_t                 sum, slack;

    T_OK(tw_buckets_create(comm, &config, net->tensor, TENSORS, &b));
    slack = facts_of(b).buckets * 4 * k;
    T_CHECK(facts_of(b).bytes_uncompressed == 4 * p && facts_of(b).bytes_codes == 4 * p,
            "other bytes");
    T_OK(tw_comm_stats_reset(comm));
    all_ready(net, b, 0);
    T_OK(tw_buckets_finish(b));
    T_OK(tw_comm_stats(comm, &stats));
    MPI_Allreduce(&stats.bytes_sent, &sum, 1, MPI_UINT64_T, MPI_SUM, MPI_COMM_WORLD);
    T_CHECK(sum == 2 * (k - 1) * 4 * p, "%llu bytes over all ranks, not %llu",
            (unsigned long long)sum, (unsigned long long)(2 * (k - 1) * 4 * p));
    T_CHECK(stats.bytes_sent * k <= 2 * (k - 1) * 4 * p + slack * k &&
                stats.bytes_sent * k + slack * k >= 2 * (k - 1) * 4 * p,
            "%llu bytes, far from %llu", (unsigned long long)stats.bytes_sent,
            (unsigned long long)(2 * (k - 1) * 4 * p / k));
    T_CHECK(stats.pool_allocations == 0, "%llu allocations",
            (unsigned long long)stats.pool_allocations);
    tw_buckets_destroy(b);
    t_comm_done(comm, ctx);
    gone(net);
}

/* Lossy codecs: a tensor alone; small ones together in fp32, which is exact; own codecs are kept.
 */
static void codecs(void)
{
    net_t              *net    = made(0);
    tw_buckets_config_t config = {.codec = t_codec("tree8", TW_F32)};
    tw_buckets_t       *b      = NULL;
    const char         *spec   = NULL;
    size_t              in[TENSORS];

    net->tensor[2].codec = "bf16";
    net->tensor[3].codec = "int8:block=64";
    T_OK(tw_buckets_create(t_world, &config, net->tensor, TENSORS, &b));
    for (size_t i = 0; i < TENSORS; i++) {
        const int   small = net->tensor[i].count < 1024;
        const char *want  = i == 2 ? "bf16" : i == 3 ? "int8:block=64" : small ? "fp32" : "tree8";

        T_OK(tw_buckets_describe(b, i, &in[i], &spec));
        T_CHECK(strncmp(spec, want, strlen(want)) == 0, "%s has %s, not %s", net->name[i], spec,
                want);
    }
    for (size_t i = 0; i < TENSORS; i++) {
        for (size_t j = 0; j < i; j++) {
            const int both_small = net->tensor[i].count < 1024 && net->tensor[j].count < 1024;

            T_CHECK((in[i] == in[j]) == (both_small && i != 2 && j != 2),
                    "%s and %s share a bucket, or "
                    "do not",
                    net->name[i], net->name[j]);
        }
    }
    all_ready(net, b, 1);
    T_OK(tw_buckets_finish(b));
    for (size_t i = 0; i < TENSORS; i++) {
        if (net->tensor[i].count < 1024 && i != 2) {
            check_sum(net, i, 1);
        }
        T_SAME_EVERYWHERE(MPI_COMM_WORLD, net->tensor[i].data,
                          net->tensor[i].count * sizeof(float));
    }
    T_STATUS(tw_buckets_describe(b, TENSORS, NULL, NULL), TW_ERR_RANGE);
    tw_buckets_destroy(b);
    gone(net);
}

/* `auto` decides for each tensor, the same on all ranks. */
static void decided_codecs(void)
{
    net_t              *net    = made(0);
    tw_buckets_config_t config = {.codec = t_codec("auto", TW_F32)};
    tw_buckets_t       *b      = NULL;

    T_OK(tw_buckets_create(t_world, &config, net->tensor, TENSORS, &b));
    T_CHECK(facts_of(b).bytes_uncompressed == 4 * net->count, "other bytes");
    all_ready(net, b, 1);
    T_OK(tw_buckets_finish(b));
    T_SAME_EVERYWHERE(MPI_COMM_WORLD, net->vector, net->count * sizeof(float));
    for (size_t i = 0; i < TENSORS; i += 2) {
        check_sum(net, i, 1); /* small: fp32 */
    }
    tw_buckets_destroy(b);
    gone(net);
}

/* ---- error feedback ------------------------------------------------------------------------- */

/* The same by hand: an allreduce and an object for each tensor. */
typedef struct by_hand {
    tw_feedback_t *feedback[TENSORS];
} by_hand_t;

static void hand_step(by_hand_t *hand, const net_t *net, size_t i, int step, float *out)
{
    const int small = net->tensor[i].count < 1024;
    tw_how_t  how   = {.codec    = small ? NULL : t_codec("onebit", TW_F32),
                       .feedback = small ? NULL : hand->feedback[i]};

    for (size_t k = 0; k < net->tensor[i].count; k++) {
        out[k] = value(t_rank, i, k, step);
    }
    T_OK(tw_allreduce(t_world, TW_IN_PLACE, out, net->tensor[i].count, TW_SUM, &how));
}

static void feedback(void)
{
    net_t              *net    = made(0);
    tw_buckets_config_t config = {.codec = t_codec("onebit", TW_F32)};
    tw_buckets_t       *b      = NULL;
    FILE               *file   = t_rank == 0 ? tmpfile() : NULL;
    float              *want   = t_malloc(40000 * sizeof(float));
    float              *kept   = t_malloc(net->count * sizeof(float));
    by_hand_t           hand   = {{NULL}};

    T_OK(tw_buckets_create(t_world, &config, net->tensor, TENSORS, &b));
    T_CHECK(facts_of(b).feedbacks == 4, "%zu objects", facts_of(b).feedbacks);
    for (size_t i = 0; i < TENSORS; i++) {
        T_OK(tw_feedback_create(t_world, net->name[i], TW_F32, net->tensor[i].count,
                                &hand.feedback[i]));
    }
    for (int step = 0; step < 6; step++) {
        if (step == 3) {
            T_OK(tw_buckets_save(b, file));
        }
        all_ready(net, b, step);
        T_OK(tw_buckets_finish(b));
        for (size_t i = 0; i < TENSORS; i++) {
            t_note("step %d, tensor %zu", step, i);
            hand_step(&hand, net, i, step, want);
            T_SAME(TW_F32, net->tensor[i].data, want, net->tensor[i].count);
        }
    }
    memcpy(kept, net->vector, net->count * sizeof(float));
    if (file != NULL) {
        rewind(file);
    }
    T_OK(tw_buckets_restore(b, file, TW_FEEDBACK_SUM));
    for (int step = 3; step < 6; step++) {
        all_ready(net, b, step);
        T_OK(tw_buckets_finish(b));
    }
    T_SAME(TW_F32, net->vector, kept, net->count);
    T_STATUS(tw_buckets_restore(b, file, TW_FEEDBACK_SUM), TW_ERR_FORMAT); /* at its end */
    T_OK(tw_buckets_clear(b));
    if (file != NULL) {
        fclose(file);
    }
    for (size_t i = 0; i < TENSORS; i++) {
        tw_feedback_destroy(hand.feedback[i]);
    }
    tw_buckets_destroy(b);
    free(want);
    free(kept);
    gone(net);
}

/* ---- buckets that somebody else has made ----------------------------------------------------- */

/* Averages with the caller's feedback objects, against those by hand; tensor 3 is of one axis. */
typedef struct given {
    tw_feedback_t *kept[TENSORS], *hand[TENSORS];
} given_t;

static int is_small(const net_t *net, size_t i)
{
    return tw_tensor_is_small(net->tensor[i].count, net->tensor[i].axes);
}

static void given_create(given_t *given, net_t *net)
{
    net->tensor[3].axes = 1;
    for (size_t i = 0; i < TENSORS; i++) {
        T_OK(tw_feedback_create(t_world, net->name[i], TW_F32, net->tensor[i].count,
                                &given->kept[i]));
        T_OK(tw_feedback_create(t_world, net->name[i], TW_F32, net->tensor[i].count,
                                &given->hand[i]));
        net->tensor[i].feedback = given->kept[i];
    }
    T_CHECK(is_small(net, 3) && !is_small(net, 1), "other tensors are small");
}

static void given_check(given_t *given, const net_t *net, int step)
{
    float *want = t_malloc(40000 * sizeof(float));

    for (size_t i = 0; i < TENSORS; i++) {
        const tw_how_t how = {.codec     = t_codec(is_small(net, i) ? "bf16" : "onebit", TW_F32),
                              .feedback  = is_small(net, i) ? NULL : given->hand[i],
                              .algorithm = TW_ALGORITHM_TWO_PASS};

        t_note("step %d, tensor %zu", step, i);
        for (size_t k = 0; k < net->tensor[i].count; k++) {
            want[k] = value(t_rank, i, k, step);
        }
        T_OK(tw_allreduce(t_world, TW_IN_PLACE, want, net->tensor[i].count, TW_AVERAGE, &how));
        T_SAME(TW_F32, net->tensor[i].data, want, net->tensor[i].count);
    }
    free(want);
}

static void given_destroy(given_t *given)
{
    for (size_t i = 0; i < TENSORS; i++) {
        tw_feedback_destroy(given->kept[i]);
        tw_feedback_destroy(given->hand[i]);
    }
}

/* The first tensors in one bucket, the others in another, both under way; and by plans. Residuals
 * stay with the tensors. */
static void started_at_once(void)
{
    net_t              *net    = made(2);
    tw_buckets_config_t config = {.codec       = t_codec("onebit", TW_F32),
                                  .small_codec = t_codec("bf16", TW_F32),
                                  .reduction   = TW_AVERAGE,
                                  .algorithm   = TW_ALGORITHM_TWO_PASS};
    tw_buckets_t       *b[2], *plans = NULL;
    given_t             given;
    int                 step = 0;

    given_create(&given, net);
    for (size_t first = 0; first <= TENSORS; first += 5, step++) {
        for (size_t i = 0; i < TENSORS; i++) {
            fill(net, i, step);
            net->tensor[i].name = NULL;
        }
        T_OK(tw_buckets_start(t_world, &config, net->tensor, first, &b[0]));
        T_OK(tw_buckets_start(t_world, &config, net->tensor + first, TENSORS - first, &b[1]));
        for (size_t k = 2; k-- > 0;) {
            for (int done = 0; !done;) {
                T_OK(tw_buckets_wait_for(&b[k], step, &done));
                T_CHECK(done == (b[k] == NULL), "%d, but it is there, or is not", done);
            }
        }
        given_check(&given, net, step);
    }
    for (size_t i = 0; i < TENSORS; i++) {
        net->tensor[i].name = net->name[i];
    }
    T_OK(tw_buckets_create(t_world, &config, net->tensor, TENSORS, &plans));
    T_CHECK(facts_of(plans).feedbacks == 0, "%zu objects", facts_of(plans).feedbacks);
    for (; step < 5; step++) {
        all_ready(net, plans, step);
        T_OK(tw_buckets_finish(plans));
        given_check(&given, net, step);
    }
    tw_buckets_destroy(plans);
    given_destroy(&given);
    gone(net);
}

/* Elements of 16 bits, as plans and at once: each tensor as tw_allreduce() makes it, the small ones
 * as they are. */
static void half_values(const net_t *net, size_t i, int step, const char *plain, void *out)
{
    const size_t n      = net->tensor[i].count;
    float       *values = t_malloc((n + 1) * sizeof(*values));

    for (size_t k = 0; k < n; k++) {
        values[k] = value(t_rank, i, k, step);
    }
    T_OK(tw_codec_encode(t_codec(plain, TW_F32), NULL, values, n, out));
    free(values);
}

static void half_check(const net_t *net, int step, tw_dtype_t dtype, const char *plain)
{
    uint16_t *want = t_malloc(40000 * sizeof(*want));

    for (size_t i = 0; i < TENSORS; i++) {
        const size_t   n   = net->tensor[i].count;
        const tw_how_t how = {.codec     = t_codec(is_small(net, i) ? plain : "tree8", dtype),
                              .algorithm = TW_ALGORITHM_TWO_PASS};

        half_values(net, i, step, plain, want);
        T_OK(tw_allreduce(t_world, TW_IN_PLACE, want, n, TW_AVERAGE, &how));
        T_CHECK(memcmp(net->tensor[i].data, want, 2 * n) == 0, "%s, step %d, tensor %zu", plain,
                step, i);
    }
    free(want);
}

static void half_elements(tw_dtype_t dtype, const char *plain)
{
    tw_buckets_config_t config = {.codec     = t_codec("tree8", dtype),
                                  .bytes     = 100,
                                  .reduction = TW_AVERAGE,
                                  .algorithm = TW_ALGORITHM_TWO_PASS};
    net_t              *net    = made(3);
    tw_buckets_t       *b[2]   = {NULL, NULL};

    T_OK(tw_buckets_create(t_world, &config, net->tensor, TENSORS, &b[0]));
    for (int step = 0; step < 2; step++) {
        for (size_t i = 0; i < TENSORS; i++) {
            half_values(net, i, step, plain, net->tensor[i].data);
            T_OK(step == 0 ? tw_buckets_ready(b[0], i) : TW_OK);
        }
        T_OK(step == 1 ? tw_buckets_start(t_world, &config, net->tensor, TENSORS, &b[1]) : TW_OK);
        T_OK(tw_buckets_finish(b[step]));
        half_check(net, step, dtype, plain);
    }
    T_CHECK(facts_of(b[0]).bytes_uncompressed == 2 * (net->count - (size_t)6 * LAYERS),
            "%llu bytes", (unsigned long long)facts_of(b[0]).bytes_uncompressed);
    tw_buckets_destroy(b[0]);
    tw_buckets_destroy(b[1]);
    gone(net);
}

static void halves(void)
{
    half_elements(TW_BF16, "bf16");
    half_elements(TW_F16, "fp16");
}

/* ---- order ---------------------------------------------------------------------------------- */

/* Buckets start as tensors become ready, while others are not; in the order of the list, whatever
 * the order of the calls; and complete without being waited for in that order. */
static void in_reverse_order(void)
{
    net_t              *net    = made(0);
    tw_trace_t         *trace  = NULL;
    tw_buckets_config_t config = {.bytes = 1};
    tw_buckets_t       *b      = NULL;
    json_t             *document;
    size_t              first, second;

    T_OK(tw_trace_create(0, &trace));
    config.trace = trace;
    T_OK(tw_buckets_create(t_world, &config, net->tensor, TENSORS, &b));
    for (size_t i = 0; i < TENSORS; i++) {
        fill(net, i, 7);
    }
    T_STATUS(tw_buckets_wait(b, 0), TW_ERR_BUSY);
    T_OK(tw_buckets_ready(b, 0));
    T_STATUS(tw_buckets_ready(b, 0), TW_ERR_BUSY);
    T_OK(tw_buckets_wait(b, 0)); /* the others are still computed */
    check_sum(net, 0, 7);
    T_OK(tw_buckets_wait(b, 0));
    T_OK(tw_buckets_ready(b, 2));
    T_STATUS(tw_buckets_wait(b, 2), TW_ERR_BUSY); /* 1 comes first */
    T_STATUS(tw_buckets_finish(b), TW_ERR_BUSY);
    tw_trace_mark(trace, TW_TRACE_COMPUTE, "one is ready", -1);
    T_OK(tw_buckets_ready(b, 1));
    T_OK(tw_buckets_wait(b, 2));
    check_sum(net, 2, 7);
    for (size_t i = TENSORS; i-- > 3;) { /* backwards */
        T_OK(tw_buckets_ready(b, i));
    }
    T_STATUS(tw_buckets_ready(b, TENSORS), TW_ERR_RANGE);
    T_STATUS(tw_buckets_wait(b, TENSORS), TW_ERR_RANGE);
    T_OK(tw_buckets_finish(b));
    for (size_t i = 0; i < TENSORS; i++) {
        check_sum(net, i, 7);
    }
    T_OK(tw_buckets_describe(b, 1, &first, NULL));
    T_OK(tw_buckets_describe(b, 2, &second, NULL));
    document = t_trace_read(t_world, trace);
    for (int r = 0; r < t_size && document != NULL && t_size > 1; r++) {
        const double ready = t_span(document, r, "one is ready", -1).begin;

        T_CHECK(t_span(document, r, "bucket", 0).end < ready,
                "the first bucket waited for the second");
        T_CHECK(t_span(document, r, "bucket", (int)first).begin >= ready &&
                    t_span(document, r, "bucket", (int)second).begin >=
                        t_span(document, r, "bucket", (int)first).begin,
                "buckets start in another order");
    }
    json_decref(document);
    tw_buckets_destroy(b);
    tw_trace_destroy(trace);
    gone(net);
}

/* Destroyed in the middle: what travels is completed first. */
static void left_early(void)
{
    net_t        *net = made(1);
    tw_buckets_t *b   = NULL;

    T_OK(tw_buckets_create(t_world, NULL, net->tensor, TENSORS, &b));
    all_ready(net, b, 0);
    tw_buckets_destroy(b);
    T_OK(tw_buckets_create(t_world, NULL, NULL, 0, &b));
    T_OK(tw_buckets_finish(b));
    tw_buckets_destroy(b);
    tw_buckets_destroy(NULL);
    gone(net);
}

static void bad_arguments(void)
{
    net_t              *net    = made(0);
    tw_buckets_config_t config = {.codec       = t_codec("tree8", TW_BF16),
                                  .small_codec = t_codec("bf16", TW_F32)};
    float              *data   = net->tensor[1].data;
    tw_buckets_t       *b      = NULL;
    t_log_t             log    = {0};
    tw_context_t       *ctx;
    tw_comm_t          *comm;
    int                 done = 0;

    comm = t_comm_logged(NULL, &log, &ctx);
    T_STATUS(tw_buckets_create(comm, &config, net->tensor, TENSORS, &b), TW_ERR_UNSUPPORTED);
    T_CHECK(strstr(log.text, "is of bfloat16, small_codec bf16 of float") != NULL, "log: %s",
            log.text);
    net->tensor[4].codec = "tree9";
    T_STATUS(tw_buckets_create(comm, NULL, net->tensor, TENSORS, &b), TW_ERR_SPEC);
    T_CHECK(strstr(log.text, "tensor 'layer2.b'") != NULL, "log: %s", log.text);
    net->tensor[4].codec = NULL;
    net->tensor[1].name  = net->tensor[5].name;
    T_STATUS(tw_buckets_create(comm, NULL, net->tensor, TENSORS, &b), TW_ERR_INVALID_ARG);
    T_CHECK(strstr(log.text, "both called 'layer2.w'") != NULL, "log: %s", log.text);
    net->tensor[1].name = net->name[1];
    net->tensor[1].data = NULL;
    T_STATUS(tw_buckets_create(comm, NULL, net->tensor, TENSORS, &b), TW_ERR_INVALID_ARG);
    net->tensor[1].data = data;
    if (t_size > 1) {
        net->tensor[6].count -= t_rank == 1;
        T_STATUS(tw_buckets_create(comm, NULL, net->tensor, TENSORS, &b), TW_ERR_MISMATCH);
        T_CHECK(t_log_holds(MPI_COMM_WORLD, &log, "elements of tensors differ"), "log: %s",
                log.text);
        net->tensor[6].count += t_rank == 1;
    }
    T_OK(tw_buckets_create(comm, NULL, net->tensor, TENSORS, &b));
    T_STATUS(tw_comm_destroy(comm), TW_ERR_BUSY);
    tw_buckets_destroy(b);
    b = NULL;
    T_STATUS(tw_buckets_start(comm, &config, net->tensor, TENSORS, &b), TW_ERR_UNSUPPORTED);
    config = (tw_buckets_config_t){.small_codec = config.codec};
    T_STATUS(tw_buckets_start(comm, &config, net->tensor, TENSORS, &b), TW_ERR_UNSUPPORTED);
    config = (tw_buckets_config_t){.exec = &(tw_exec_t){.memory = TW_MEMORY_CUDA}};
    T_STATUS(tw_buckets_start(comm, &config, net->tensor, TENSORS, &b), TW_ERR_UNSUPPORTED);
    net->tensor[1].data = NULL;
    T_STATUS(tw_buckets_start(comm, NULL, net->tensor, TENSORS, &b), TW_ERR_INVALID_ARG);
    T_CHECK(strstr(log.text, "tensor 1 ('layer4.w') has no address") != NULL, "log: %s", log.text);
    net->tensor[1].data = data;
    T_STATUS(tw_buckets_start(comm, NULL, net->tensor, TENSORS, NULL), TW_ERR_INVALID_ARG);
    T_STATUS(tw_buckets_wait_for(&b, -1, &done), TW_ERR_INVALID_ARG);
    T_OK(tw_buckets_wait_for(&b, 0, &done));
    T_CHECK(done == 1 && b == NULL, "nothing is not complete");
    t_comm_done(comm, ctx);
    gone(net);
}

static const t_case_t cases[] = {
    {"plain_sums", plain_sums, 1}, {"bytes_sent", bytes_sent, 1},
    {"codecs", codecs, 1},         {"decided_codecs", decided_codecs, 1},
    {"feedback", feedback, 1},     {"started_at_once", started_at_once, 1},
    {"halves", halves, 1},         {"in_reverse_order", in_reverse_order, 1},
    {"left_early", left_early, 1}, {"bad_arguments", bad_arguments, 1},
};

T_MAIN(cases)
