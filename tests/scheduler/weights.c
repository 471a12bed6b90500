/* SPDX-License-Identifier: BSD-3-Clause
 * tests/scheduler/weights.c - masters with owners, packed copies of them, and sums of gradients,
 * beside one rank that does everything: sums in rank order, momentum, and the codec by itself.
 */
#include "config.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/scheduler/spans.h"

#define GROUPS 6

static const size_t counts[GROUPS] = {59, 5000, 0, 2304, 30011, 1500};
static const size_t units[GROUPS]  = {0, 0, 0, 48, 0, 1500};

static const char *owners_name(tw_weights_owners_t owners)
{
    return owners == TW_WEIGHTS_ROOT ? "root" : "sharded";
}

/* A network on this rank, and the same one as a single rank would have it. */
typedef struct net {
    tw_weights_t      *w;
    size_t             total, own;
    float             *weights, *gradient, *momentum;  /* [total], [total], [own] */
    float             *master, *serial_momentum, *sum; /* [total] of the serial one */
    char               name[GROUPS][16];
    tw_weights_group_t group[GROUPS];
    size_t             first[GROUPS];
} net_t;

static net_t *made(void)
{
    net_t *net = t_malloc(sizeof(*net));

    memset(net, 0, sizeof(*net));
    for (size_t i = 0; i < GROUPS; i++) {
        net->first[i] = net->total;
        net->total += counts[i];
    }
    net->weights         = t_alloc(net->total * sizeof(float), 4);
    net->gradient        = t_alloc(net->total * sizeof(float), 8);
    net->momentum        = calloc(net->total, sizeof(float));
    net->serial_momentum = calloc(net->total, sizeof(float));
    net->master          = t_malloc(net->total * sizeof(float));
    net->sum             = t_malloc(net->total * sizeof(float));
    t_fill(TW_F32, t_seed, 0, net->total, net->master);
    for (size_t i = 0; i < GROUPS; i++) {
        snprintf(net->name[i], sizeof(net->name[i]), "group%zu", i);
        net->group[i] = (tw_weights_group_t){.name     = net->name[i],
                                             .weights  = net->weights + net->first[i],
                                             .gradient = net->gradient + net->first[i],
                                             .count    = counts[i],
                                             .unit     = units[i]};
    }
    return net;
}

static void gone(net_t *net)
{
    tw_weights_destroy(net->w);
    t_free(net->weights);
    t_free(net->gradient);
    free(net->momentum);
    free(net->serial_momentum);
    free(net->master);
    free(net->sum);
    free(net);
}

static tw_weights_share_t share_of(const net_t *net, size_t i)
{
    tw_weights_share_t share = {0};

    T_OK(tw_weights_share(net->w, i, &share));
    return share;
}

/* The first masters go to their owners. */
static void hand_out(net_t *net)
{
    for (size_t i = 0; i < GROUPS; i++) {
        const tw_weights_share_t share = share_of(net, i);

        memcpy(share.master, net->master + net->first[i] + share.first,
               share.count * sizeof(float));
        T_OK(tw_weights_send(net->w, i));
    }
}

/* The exchange of a network under a codec for its large groups. */
static net_t *begun(tw_comm_t *comm, tw_weights_owners_t owners, const char *spec,
                    const char *gradient)
{
    tw_weights_config_t config = {.owners = owners, .gradient = t_codec(gradient, TW_F32)};
    net_t              *net    = made();

    for (size_t i = 1; i < GROUPS; i++) {
        net->group[i].codec = spec;
    }
    net->group[0].gradient_codec = "fp32";
    T_OK(tw_weights_create(comm, &config, net->group, GROUPS, &net->w));
    hand_out(net);
    return net;
}

static float drawn(int rank, size_t i, int step)
{
    const uint64_t x = t_mix(t_seed + (uint64_t)rank * 1000003u + i + (uint64_t)step * 7777777u);

    return ((float)(x % 20001) - 10000.0f) * 1e-6f;
}

static void draw_gradient(net_t *net, size_t i, int step)
{
    for (size_t k = 0; k < counts[i]; k++) {
        net->gradient[net->first[i] + k] = drawn(t_rank, net->first[i] + k, step);
    }
}

/* What a codec makes of values of a group, share by share; shares are those of weights in
 * `shares`. */
static void quantise(tw_weights_owners_t owners, size_t i, const char *shares, const char *spec,
                     float *values)
{
    const tw_codec_t *codec = t_codec(spec, TW_F32);
    size_t            block = t_block(shares, TW_F32);
    uint8_t          *codes = t_malloc(counts[i] * 8 + 64);

    block = units[i] > 0 ? units[i] : block > 64 ? block : 64;
    for (int r = 0; r < t_size; r++) {
        size_t       first;
        const size_t n = tw_weights_owned(owners, counts[i], block, r, t_size, &first);

        T_OK(tw_codec_encode(codec, NULL, values + first, n, codes));
        T_OK(tw_codec_decode(codec, NULL, codes, n, values + first));
    }
    free(codes);
}

static void update(float *w, float *v, const float *g, size_t n)
{
    for (size_t k = 0; k < n; k++) {
        v[k] = 0.9f * v[k] + 0.1f * (g[k] + 0.0005f * w[k]);
        w[k] = w[k] - v[k];
    }
}

/* The step of one rank that has everything; gradients go through their codec share by share. */
static void serial_step(net_t *net, tw_weights_owners_t owners, const char *weights,
                        const char *gradient, int step)
{
    float *own = t_malloc(net->total * sizeof(float));

    for (int r = 0; r < t_size; r++) {
        for (size_t k = 0; k < net->total; k++) {
            own[k] = drawn(r, k, step);
        }
        for (size_t i = 1; i < GROUPS; i++) {
            if (gradient[0] != '\0') {
                quantise(owners, i, weights, gradient, own + net->first[i]);
            }
        }
        for (size_t k = 0; k < net->total; k++) {
            net->sum[k] = r == 0 ? own[k] : net->sum[k] + own[k];
        }
    }
    update(net->master, net->serial_momentum, net->sum, net->total);
    free(own);
}

/* All groups, in an order of the seed's own for each kind of call. */
static void shuffled(size_t order[GROUPS], uint64_t *state)
{
    for (size_t i = 0; i < GROUPS; i++) {
        order[i] = i;
    }
    for (size_t i = GROUPS; i > 1; i--) {
        const size_t j = t_random(state) % i, kept = order[i - 1];

        order[i - 1] = order[j];
        order[j]     = kept;
    }
}

static void step_of(net_t *net, int step)
{
    uint64_t state = t_mix(t_seed + (uint64_t)step * 31 + (uint64_t)t_rank);
    size_t   order[GROUPS];

    shuffled(order, &state);
    for (size_t k = 0; k < GROUPS; k++) {
        T_OK(tw_weights_wait(net->w, order[k]));
        T_OK(tw_weights_advance(net->w));
    }
    shuffled(order, &state);
    for (size_t k = 0; k < GROUPS; k++) {
        draw_gradient(net, order[k], step);
        T_OK(tw_weights_ready(net->w, order[k]));
        T_OK(tw_weights_advance(net->w));
    }
    shuffled(order, &state);
    for (size_t k = 0; k < GROUPS; k++) {
        T_OK(tw_weights_sum(net->w, order[k]));
    }
    shuffled(order, &state);
    for (size_t k = 0; k < GROUPS; k++) {
        const tw_weights_share_t share = share_of(net, order[k]);

        update(share.master, net->momentum + share.at, share.gradient, share.count);
        T_OK(tw_weights_send(net->w, order[k]));
    }
}

/* Copies and masters are those of the serial one; copies of all ranks are the same. */
static void check_weights(net_t *net, tw_weights_owners_t owners, const char *spec, int masters)
{
    float *want = t_malloc(net->total * sizeof(float));

    for (size_t i = 0; i < GROUPS; i++) {
        T_OK(tw_weights_wait(net->w, i));
    }
    T_SAME_EVERYWHERE(MPI_COMM_WORLD, net->weights, net->total * sizeof(float));
    for (size_t i = 0; i < GROUPS && masters; i++) {
        const tw_weights_share_t share = share_of(net, i);

        T_OK(tw_weights_collect(net->w, i, share.master, want + net->first[i]));
    }
    if (masters) {
        T_SAME(TW_F32, want, net->master, net->total);
        for (size_t i = 1; i < GROUPS; i++) {
            quantise(owners, i, spec, spec, want + net->first[i]);
        }
        T_SAME(TW_F32, net->weights, want, net->total);
    }
    free(want);
}

/* ---- against one rank ---------------------------------------------------------------------- */

static void serial(void)
{
    static const char *const         specs[] = {"fp32",      "bitpack:4", "bitpack:3", "bitpack:2",
                                                "bitpack:1", "bf16",      "tree8"};
    static const char *const         gradients[] = {"", "tree8"};
    static const tw_weights_owners_t owners[]    = {TW_WEIGHTS_ROOT, TW_WEIGHTS_SHARDED};

    for (size_t c = 0; c < 2 * 2 * sizeof(specs) / sizeof(specs[0]); c++) {
        const tw_weights_owners_t o        = owners[c % 2];
        const char               *gradient = gradients[c / 2 % 2], *spec = specs[c / 4];
        /* A reduce to the root encodes the sum once more. */
        const int exact = gradient[0] == '\0' || o == TW_WEIGHTS_SHARDED;
        net_t    *net   = begun(t_world, o, spec, gradient);

        for (int step = 0; step < 4; step++) {
            t_note("%s, weights %s, gradients '%s', step %d", owners_name(o), spec, gradient, step);
            step_of(net, step);
            serial_step(net, o, spec, gradient, step);
        }
        check_weights(net, o, spec, exact);
        gone(net);
    }
}

/* ---- shares -------------------------------------------------------------------------------- */

/* Shares are whole units, one after another, equal to a unit, and all of the group; masters lie one
 * after another, and start as zeros. */
static void shares(void)
{
    uint64_t state = t_mix(t_seed);

    for (int n = 0; n < 1000; n++) {
        const size_t count = t_random(&state) % 10000, unit = 1 + t_random(&state) % 300;
        const int    ranks = 1 + (int)(t_random(&state) % 20);
        size_t       at = 0, first, least = SIZE_MAX, most = 0;

        t_note("%zu in units of %zu over %d", count, unit, ranks);
        for (int r = 0; r < ranks; r++) {
            const size_t own = tw_weights_owned(TW_WEIGHTS_SHARDED, count, unit, r, ranks, &first);

            T_CHECK(first == at && (own % unit == 0 || at + own == count), "%zu from %zu", own,
                    first);
            at += own;
            least = own < least ? own : least;
            most  = own > most ? own : most;
            T_CHECK(tw_weights_owned(TW_WEIGHTS_ROOT, count, unit, r, ranks, NULL) ==
                        (r == 0 ? count : 0),
                    "the root does not own all");
        }
        T_CHECK(at == count && most - least <= 2 * unit, "%zu of %zu, %zu to %zu", at, count, least,
                most);
    }
    {
        tw_weights_config_t config = {.owners = TW_WEIGHTS_SHARDED};
        net_t              *net    = made();
        tw_weights_facts_t  facts;
        size_t              at = 0;

        T_OK(tw_weights_create(t_world, &config, net->group, GROUPS, &net->w));
        for (size_t i = 0; i < GROUPS; i++) {
            const tw_weights_share_t share = share_of(net, i);

            T_CHECK(share.at == at && (units[i] == 0 || share.first % units[i] == 0),
                    "group %zu at %zu, from %zu", i, share.at, share.first);
            at += share.count;
            for (size_t k = 0; k < share.count; k++) {
                T_CHECK(share.master[k] == 0.0f, "element %zu of group %zu is not 0", k, i);
            }
        }
        T_OK(tw_weights_facts(net->w, &facts));
        T_CHECK(facts.groups == GROUPS && facts.elements == net->total && facts.own == at &&
                    facts.bytes_codes == 4 * net->total && facts.feedbacks == 0,
                "other facts");
        T_CHECK(t_over_all(facts.own) == net->total, "not all elements have an owner");
        gone(net);
    }
}

/* ---- bytes --------------------------------------------------------------------------------- */

/* A step sends (P-1) x the sum of n x bytes for the weights, and as much as in fp32 for gradients,
 * over all ranks; a change of the bytes asks for no memory, and sends one small message. */
static void bytes_sent(void)
{
    static const char *const         apart[]  = {"NODE_RANKS=1", NULL};
    static const char *const         ladder[] = {"bitpack:1", "bitpack:2", "bitpack:3",
                                                 "bitpack:4", "bitpack:1", "fp32"};
    static const uint64_t            wide[]   = {1, 2, 3, 4, 1, 4};
    static const tw_weights_owners_t owners[] = {TW_WEIGHTS_ROOT, TW_WEIGHTS_SHARDED};
    const uint64_t                   k        = (uint64_t)t_size;

    for (size_t o = 0; o < 2; o++) {
        tw_context_t *ctx;
        tw_comm_t    *comm = t_comm_under(apart, MPI_COMM_WORLD, &ctx);
        net_t        *net  = begun(comm, owners[o], ladder[0], "");
        tw_stats_t    stats;

        step_of(net, 0);
        step_of(net, 1);
        for (size_t i = 0; i < GROUPS; i++) {
            T_OK(tw_weights_wait(net->w, i));
        }
        for (size_t c = 0; c < sizeof(ladder) / sizeof(ladder[0]); c++) {
            const uint64_t large = net->total - counts[0];
            const uint64_t all   = (k - 1) * (large * wide[c] + 4 * counts[0]);
            /* Sums of what each rank does not own. To the root they come in shares, which their
             * adders send on. */
            const uint64_t sums = (k - 1) * 4 * net->total;
            uint64_t       sent;

            t_note("%s, %s", owners_name(owners[o]), ladder[c]);
            T_OK(tw_comm_stats_reset(comm));
            for (size_t i = GROUPS; i-- > 1;) {
                T_OK(tw_weights_set_codec(net->w, i, ladder[c]));
                T_CHECK(strncmp(tw_weights_codec(net->w, i), ladder[c], strlen(ladder[c])) == 0,
                        "it travels in %s", tw_weights_codec(net->w, i));
            }
            step_of(net, 2 + (int)c);
            for (size_t i = 0; i < GROUPS; i++) {
                T_OK(tw_weights_wait(net->w, i));
            }
            T_OK(tw_comm_stats(comm, &stats));
            sent = t_over_all(stats.bytes_sent);
            if (owners[o] == TW_WEIGHTS_SHARDED) {
                T_CHECK(sent == all + sums, "%llu bytes, not %llu", (unsigned long long)sent,
                        (unsigned long long)(all + sums));
            } else {
                T_CHECK(sent >= all + sums && sent <= all + 2 * sums, "%llu bytes, not %llu",
                        (unsigned long long)sent, (unsigned long long)(all + sums));
            }
            T_CHECK(stats.pool_allocations == 0, "%llu allocations",
                    (unsigned long long)stats.pool_allocations);
        }
        gone(net);
        t_comm_done(comm, ctx);
    }
}

/* A codec that changes between steps: copies are those of the new one. */
static void codec_changes(void)
{
    static const char *const ladder[] = {"bitpack:1", "bitpack:2", "tree8", "bitpack:4"};

    for (int o = TW_WEIGHTS_ROOT; o <= TW_WEIGHTS_SHARDED; o++) {
        net_t             *net = begun(t_world, (tw_weights_owners_t)o, ladder[0], "");
        tw_weights_facts_t facts;

        for (int step = 0; step < 4; step++) {
            for (size_t i = 1; i < GROUPS; i++) {
                T_OK(tw_weights_wait(net->w, i));
                T_OK(tw_weights_set_codec(net->w, i, ladder[step]));
            }
            step_of(net, step);
            serial_step(net, (tw_weights_owners_t)o, ladder[0], "", step);
            t_note("%s, %s", owners_name((tw_weights_owners_t)o), ladder[step]);
            for (size_t i = 0; i < GROUPS; i++) {
                T_OK(tw_weights_wait(net->w, i));
            }
            T_SAME_EVERYWHERE(MPI_COMM_WORLD, net->weights, net->total * sizeof(float));
            if (step != 2) { /* shares were cut without regard to the blocks of tree8 */
                check_weights(net, (tw_weights_owners_t)o, ladder[step], 1);
            }
        }
        T_OK(tw_weights_facts(net->w, &facts));
        T_CHECK(facts.changes == 3 * (GROUPS - 1), "%llu changes",
                (unsigned long long)facts.changes);
        gone(net);
    }
}

/* ---- norms --------------------------------------------------------------------------------- */

static void check_norms(const net_t *net, const double *norms, const float *of)
{
    T_SAME_EVERYWHERE(MPI_COMM_WORLD, norms, GROUPS * sizeof(double));
    for (size_t i = 0; i < GROUPS; i++) {
        long double sum = 0;

        for (size_t k = 0; k < counts[i]; k++) {
            sum += (long double)of[net->first[i] + k] * (long double)of[net->first[i] + k];
        }
        T_CHECK(fabs(norms[i] - sqrt((double)sum)) <= 1e-12 * norms[i], "group %zu: %g, not %g", i,
                norms[i], sqrt((double)sum));
    }
}

/* Of the masters and of the copies, wherever they are; what is not finite shows. */
static void norms(void)
{
    for (int o = TW_WEIGHTS_ROOT; o <= TW_WEIGHTS_SHARDED; o++) {
        net_t *net = begun(t_world, (tw_weights_owners_t)o, "bitpack:1", "");
        double found[GROUPS];

        t_note("%s", owners_name((tw_weights_owners_t)o));
        T_STATUS(tw_weights_norms(net->w, TW_WEIGHTS_MASTERS, found), TW_ERR_BUSY);
        for (size_t i = 0; i < GROUPS; i++) {
            T_OK(tw_weights_wait(net->w, i));
        }
        T_OK(tw_weights_norms(net->w, TW_WEIGHTS_MASTERS, found));
        check_norms(net, found, net->master);
        T_OK(tw_weights_norms(net->w, TW_WEIGHTS_COPIES, found));
        check_norms(net, found, net->weights);
        if (share_of(net, 4).count > 0) {
            share_of(net, 4).master[0] = t_rank == 0 ? INFINITY : 1.0f;
        }
        T_OK(tw_weights_norms(net->w, TW_WEIGHTS_MASTERS, found));
        T_CHECK(isinf(found[4]) && isfinite(found[3]), "%g and %g", found[4], found[3]);
        T_STATUS(tw_weights_norms(net->w, (tw_weights_of_t)2, found), TW_ERR_INVALID_ARG);
        T_STATUS(tw_weights_norms(net->w, TW_WEIGHTS_MASTERS, NULL), TW_ERR_INVALID_ARG);
        gone(net);
    }
}

/* ---- error feedback ------------------------------------------------------------------------ */

static void feedback(void)
{
    net_t             *net  = begun(t_world, TW_WEIGHTS_SHARDED, "bitpack:2", "onebit");
    FILE              *file = t_rank == 0 ? tmpfile() : NULL;
    float             *kept = t_malloc(net->total * sizeof(float));
    float             *then = t_malloc(net->total * sizeof(float));
    tw_weights_facts_t facts;

    T_OK(tw_weights_facts(net->w, &facts));
    T_CHECK(facts.feedbacks == GROUPS - 2, "%zu objects", facts.feedbacks);
    for (int step = 0; step < 6; step++) {
        if (step == 3) {
            T_OK(tw_weights_save(net->w, file));
            for (size_t i = 0; i < GROUPS; i++) {
                const tw_weights_share_t share = share_of(net, i);

                T_OK(tw_weights_wait(net->w, i));
                memcpy(then + share.at, share.master, share.count * sizeof(float));
            }
            memcpy(kept, net->momentum, net->total * sizeof(float));
        }
        step_of(net, step);
    }
    for (size_t i = 0; i < GROUPS; i++) {
        const tw_weights_share_t share = share_of(net, i);

        T_OK(tw_weights_wait(net->w, i));
        memcpy(share.master, then + share.at, share.count * sizeof(float));
    }
    memcpy(net->momentum, kept, net->total * sizeof(float));
    memcpy(kept, net->weights, net->total * sizeof(float));
    if (file != NULL) {
        rewind(file);
    }
    T_OK(tw_weights_restore(net->w, file, TW_FEEDBACK_SUM));
    for (int step = 3; step < 6; step++) {
        step_of(net, step);
    }
    for (size_t i = 0; i < GROUPS; i++) {
        T_OK(tw_weights_wait(net->w, i));
    }
    T_SAME(TW_F32, net->weights, kept, net->total);
    T_STATUS(tw_weights_restore(net->w, file, TW_FEEDBACK_SUM), TW_ERR_FORMAT); /* at its end */
    T_OK(tw_weights_clear(net->w));
    if (file != NULL) {
        fclose(file);
    }
    free(then);
    free(kept);
    gone(net);
}

/* ---- order --------------------------------------------------------------------------------- */

/* Calls out of their turn are told so, and change nothing. */
static void turns(void)
{
    net_t *net = begun(t_world, TW_WEIGHTS_SHARDED, "bitpack:1", "");

    T_STATUS(tw_weights_send(net->w, 1), TW_ERR_BUSY); /* on its way */
    T_STATUS(tw_weights_ready(net->w, 1), TW_ERR_BUSY);
    T_STATUS(tw_weights_set_codec(net->w, 1, "bitpack:2"), TW_ERR_BUSY);
    for (size_t i = 0; i < GROUPS; i++) {
        T_OK(tw_weights_wait(net->w, i));
        T_OK(tw_weights_wait(net->w, i));
        draw_gradient(net, i, 0);
    }
    T_STATUS(tw_weights_sum(net->w, GROUPS - 1), TW_ERR_BUSY);
    T_OK(tw_weights_ready(net->w, GROUPS - 2));
    T_STATUS(tw_weights_ready(net->w, GROUPS - 2), TW_ERR_BUSY);
    T_STATUS(tw_weights_sum(net->w, GROUPS - 2), TW_ERR_BUSY); /* the last one comes first */
    T_STATUS(tw_weights_send(net->w, GROUPS - 2), TW_ERR_BUSY);
    T_OK(tw_weights_ready(net->w, GROUPS - 1));
    T_OK(tw_weights_sum(net->w, GROUPS - 2)); /* the others are still computed */
    T_OK(tw_weights_sum(net->w, GROUPS - 2));
    T_STATUS(tw_weights_ready(net->w, GROUPS - 2), TW_ERR_BUSY); /* of the step before */
    T_OK(tw_weights_send(net->w, GROUPS - 2));
    T_STATUS(tw_weights_wait(net->w, GROUPS - 2), TW_ERR_BUSY); /* the first ones come first */
    for (size_t i = 0; i < GROUPS - 2; i++) {
        T_OK(tw_weights_ready(net->w, i));
    }
    for (size_t i = 0; i < GROUPS; i++) {
        T_OK(tw_weights_sum(net->w, i));
    }
    for (size_t i = 0; i < GROUPS; i++) {
        if (i != GROUPS - 2) {
            T_OK(tw_weights_send(net->w, i));
        }
    }
    for (size_t i = GROUPS; i-- > 0;) {
        T_OK(tw_weights_wait(net->w, i));
    }
    T_STATUS(tw_weights_wait(net->w, GROUPS), TW_ERR_RANGE);
    T_STATUS(tw_weights_ready(net->w, GROUPS), TW_ERR_RANGE);
    T_STATUS(tw_weights_sum(net->w, GROUPS), TW_ERR_RANGE);
    T_STATUS(tw_weights_send(net->w, GROUPS), TW_ERR_RANGE);
    T_STATUS(tw_weights_set_codec(net->w, GROUPS, "fp32"), TW_ERR_RANGE);
    T_STATUS(tw_weights_set_codec(net->w, 1, "tree9"), TW_ERR_SPEC);
    T_OK(tw_weights_set_codec(net->w, 1, "tree8:block=128")); /* one that no group has had */
    T_OK(tw_weights_set_codec(net->w, 1, "tree8:block=128"));
    T_CHECK(strstr(tw_weights_codec(net->w, 1), "block=128") != NULL, "it travels in %s",
            tw_weights_codec(net->w, 1));
    T_CHECK(tw_weights_codec(net->w, GROUPS) == NULL, "there is no such group");
    gone(net);
}

/* The last group's gradient travels while others are computed; the first group's weights come
 * first. */
static void overlap(void)
{
    tw_trace_t         *trace  = NULL;
    tw_weights_config_t config = {.owners = TW_WEIGHTS_SHARDED};
    net_t              *net    = made();
    json_t             *document;

    T_OK(tw_trace_create(0, &trace));
    config.trace = trace;
    T_OK(tw_weights_create(t_world, &config, net->group, GROUPS, &net->w));
    hand_out(net);
    for (size_t i = 0; i < GROUPS; i++) {
        T_OK(tw_weights_wait(net->w, i));
    }
    tw_trace_clear(trace);
    for (size_t i = GROUPS; i-- > 0;) {
        draw_gradient(net, i, 0);
        tw_trace_mark(trace, TW_TRACE_COMPUTE, "computed", (int64_t)i);
        T_OK(tw_weights_ready(net->w, i));
    }
    for (size_t i = 0; i < GROUPS; i++) {
        T_OK(tw_weights_sum(net->w, i));
    }
    for (size_t i = 0; i < GROUPS; i++) {
        T_OK(tw_weights_send(net->w, i));
    }
    for (size_t i = 0; i < GROUPS; i++) {
        T_OK(tw_weights_wait(net->w, i));
        tw_trace_mark(trace, TW_TRACE_COMPUTE, "used", (int64_t)i);
    }
    document = t_trace_read(t_world, trace);
    for (int r = 0; r < t_size && document != NULL && t_size > 1; r++) {
        T_CHECK(t_span(document, r, "gradients", 4).begin <
                    t_span(document, r, "computed", 3).begin,
                "gradients wait for those of other groups");
        T_CHECK(t_span(document, r, "weights", 1).begin <= t_span(document, r, "weights", 4).begin,
                "weights travel in another order");
        T_CHECK(t_span(document, r, "weights", 4).begin < t_span(document, r, "used", 1).begin,
                "weights wait for those of other groups to arrive");
    }
    json_decref(document);
    gone(net);
    tw_trace_destroy(trace);
}

/* Destroyed in the middle: what travels is completed first. */
static void left_early(void)
{
    tw_weights_config_t config = {.owners = TW_WEIGHTS_ROOT};
    net_t              *net    = begun(t_world, TW_WEIGHTS_SHARDED, "tree8", "tree8");

    gone(net);
    net = begun(t_world, TW_WEIGHTS_ROOT, "bitpack:1", "onebit");
    step_of(net, 0);
    tw_weights_destroy(net->w);
    net->w = NULL;
    T_OK(tw_weights_create(t_world, &config, NULL, 0, &net->w));
    T_OK(tw_weights_advance(net->w));
    gone(net);
    tw_weights_destroy(NULL);
}

/* ---- errors -------------------------------------------------------------------------------- */

static void bad_arguments(void)
{
    tw_weights_config_t config = {.owners = TW_WEIGHTS_SHARDED};
    net_t              *net    = made();
    t_log_t             log    = {0};
    tw_weights_t       *w      = NULL;
    tw_context_t       *ctx;
    tw_comm_t          *comm = t_comm_logged(NULL, &log, &ctx);

    T_STATUS(tw_weights_create(comm, NULL, net->group, GROUPS, &w), TW_ERR_INVALID_ARG);
    config.owners = (tw_weights_owners_t)0;
    T_STATUS(tw_weights_create(comm, &config, net->group, GROUPS, &w), TW_ERR_INVALID_ARG);
    config.owners   = TW_WEIGHTS_SHARDED;
    config.gradient = t_codec("bitpack:3", TW_F64);
    T_STATUS(tw_weights_create(comm, &config, net->group, GROUPS, &w), TW_ERR_UNSUPPORTED);
    config.gradient     = NULL;
    net->group[4].codec = "tree9";
    T_STATUS(tw_weights_create(comm, &config, net->group, GROUPS, &w), TW_ERR_SPEC);
    T_CHECK(strstr(log.text, "group 'group4'") != NULL, "log: %s", log.text);
    net->group[4].codec = NULL;
    net->group[4].name  = "group1";
    T_STATUS(tw_weights_create(comm, &config, net->group, GROUPS, &w), TW_ERR_INVALID_ARG);
    T_CHECK(strstr(log.text, "both called 'group1'") != NULL, "log: %s", log.text);
    net->group[4].name    = "group4";
    net->group[4].weights = NULL;
    T_STATUS(tw_weights_create(comm, &config, net->group, GROUPS, &w), TW_ERR_INVALID_ARG);
    net->group[4].weights = net->weights + net->first[4];
    net->group[4].count   = SIZE_MAX / 2;
    T_STATUS(tw_weights_create(comm, &config, net->group, GROUPS, &w), TW_ERR_RANGE);
    net->group[4].count = counts[4];
    if (t_size > 1) {
        net->group[3].unit += t_rank == 1;
        T_STATUS(tw_weights_create(comm, &config, net->group, GROUPS, &w), TW_ERR_MISMATCH);
        T_CHECK(t_log_holds(MPI_COMM_WORLD, &log, "units of groups differ"), "log: %s", log.text);
        net->group[3].unit -= t_rank == 1;
    }
    T_CHECK(w == NULL, "set without success");
    T_OK(tw_weights_create(comm, &config, net->group, GROUPS, &w));
    T_STATUS(tw_comm_destroy(comm), TW_ERR_BUSY);
    T_STATUS(tw_weights_ready(NULL, 0), TW_ERR_INVALID_ARG);
    T_STATUS(tw_weights_set_codec(w, 0, NULL), TW_ERR_INVALID_ARG);
    T_STATUS(tw_weights_collect(w, 1, NULL, NULL), TW_ERR_INVALID_ARG);
    tw_weights_destroy(w);
    t_comm_done(comm, ctx);
    gone(net);
}

static const t_case_t cases[] = {
    {"as one rank would", serial, 1},
    {"shares", shares, 1},
    {"bytes sent", bytes_sent, 1},
    {"codecs that change", codec_changes, 1},
    {"norms", norms, 1},
    {"error feedback", feedback, 1},
    {"turns", turns, 1},
    {"overlap", overlap, 1},
    {"left early", left_early, 1},
    {"bad arguments", bad_arguments, 1},
};

T_MAIN(cases)
