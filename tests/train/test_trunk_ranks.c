/* SPDX-License-Identifier: BSD-3-Clause
 * tests/train/test_trunk_ranks.c - trunks that share a batch unevenly, one of them without
 * examples, against the oracle on the whole batch. Threads stand in for ranks.
 */
#include "config.h"

#include <check.h>
#include <pthread.h>

#include "tests/suite.h"
#include "tests/train/trunk_rig.h"

enum { RANKS_MAX = 4 };

/* Threads that merge statistics at a barrier, in rank order. */
typedef struct team {
    size_t            ranks;
    pthread_barrier_t barrier;
    double *const    *given[RANKS_MAX];
} team_t;

typedef struct member {
    team_t             *team;
    size_t              rank, first, n;
    int                 local; /* merge nothing: the others must see the difference */
    const tw_network_t *net;
    const examples_t   *e;
    const oracle_t     *o;
    rig_t               rig;
    float              *features;
    size_t              merges, most; /* calls of moments, and the largest of them */
    size_t              events;
    uint64_t            order; /* hash of the hooks' sequence */
} member_t;

static void note(member_t *m, uint64_t kind, size_t layer)
{
    m->order = tw_random_mix(m->order ^ (kind << 32 | layer));
    m->events++;
}

static void on_between(void *user, size_t layer)
{
    note(user, 1, layer);
}

static void on_ready(void *user, size_t layer)
{
    note(user, 2, layer);
}

/* Merge into everyone's vectors: `size` numbers each, as moments or as sums. */
static void merge(member_t *m, double *const *mine, const size_t *channels, size_t layers,
                  int moments)
{
    team_t *team = m->team;

    team->given[m->rank] = mine;
    pthread_barrier_wait(&team->barrier);
    for (size_t i = 0; m->rank == 0 && i < layers; i++) {
        for (size_t r = 1; r < team->ranks; r++) {
            if (moments) {
                ref_moments_merge(mine[i], team->given[r][i], channels[i]);
            }
            for (size_t k = 0; !moments && k < 2 * channels[i]; k++) {
                mine[i][k] += team->given[r][i][k];
            }
        }
        for (size_t r = 1; r < team->ranks; r++) {
            memcpy(team->given[r][i], mine[i], (2 * channels[i] + (moments != 0)) * sizeof(double));
        }
    }
    pthread_barrier_wait(&team->barrier);
}

static int on_moments(void *user, double *const *moments, const size_t *channels, size_t layers)
{
    member_t *m = user;

    note(m, 3, layers);
    m->merges++;
    m->most = layers > m->most ? layers : m->most;
    if (!m->local) {
        merge(m, moments, channels, layers, 1);
    }
    return 0;
}

static int on_sums(void *user, double *const *sums, const size_t *channels, size_t layers)
{
    member_t *m = user;

    note(m, 4, layers);
    if (!m->local) {
        merge(m, sums, channels, layers, 0);
    }
    return 0;
}

static void *run_member(void *user)
{
    member_t    *m = user;
    const size_t f = m->o->features;

    m->features = calloc(m->n * f + 1, sizeof(float));
    memcpy(m->features, forward(&m->rig, m->e, m->first, m->n, 1), m->n * f * sizeof(float));
    backward(&m->rig, m->e, m->first, m->n, m->o->gfeatures + m->first * f);
    return NULL;
}

/* One step of the small network with the batch cut as shares say; what is left in members[0] are
 * the sums of gradients. */
static void run_team(team_t *team, member_t *members, const size_t *shares, size_t ranks, int local,
                     const tw_network_t *net, const examples_t *e, const oracle_t *o)
{
    const tw_trunk_hooks_t hooks = {
        .between = on_between, .ready = on_ready, .moments = on_moments, .sums = on_sums};
    pthread_t thread[RANKS_MAX];
    size_t    first = 0;

    team->ranks = ranks;
    pthread_barrier_init(&team->barrier, NULL, (unsigned)ranks);
    for (size_t r = 0; r < ranks; r++) {
        tw_trunk_hooks_t mine = hooks;

        members[r] = (member_t){.team  = team,
                                .rank  = r,
                                .first = first,
                                .n     = shares[r],
                                .local = local,
                                .net   = net,
                                .e     = e,
                                .o     = o};
        mine.user  = &members[r];
        rig_make(&members[r].rig, net, &mine);
        memset(members[r].rig.params.gradient, 0x55, members[r].rig.params.total * sizeof(float));
        first += shares[r];
    }
    for (size_t r = 0; r < ranks; r++) {
        ck_assert_int_eq(pthread_create(&thread[r], NULL, run_member, &members[r]), 0);
    }
    for (size_t r = 0; r < ranks; r++) {
        pthread_join(thread[r], NULL);
    }
    for (size_t r = 1; r < ranks; r++) {
        for (size_t i = 0; i < members[0].rig.params.total; i++) {
            members[0].rig.params.gradient[i] += members[r].rig.params.gradient[i];
        }
    }
    pthread_barrier_destroy(&team->barrier);
}

static void free_team(member_t *members, size_t ranks)
{
    for (size_t r = 0; r < ranks; r++) {
        rig_free(&members[r].rig);
        free(members[r].features);
    }
}

static const size_t cuts[][RANKS_MAX] = {{7}, {6, 1}, {3, 0, 4}, {0, 2, 4, 1}};

/* All ranks call the same hooks in the same order and hold the same running statistics. */
static void check_alike(const member_t *members, size_t ranks, size_t exchanges)
{
    for (size_t r = 0; r < ranks; r++) {
        const member_t *m = &members[r];

        ck_assert_uint_eq(m->order, members[0].order);
        ck_assert_uint_eq(m->events, members[0].events);
        ck_assert_uint_eq(m->merges, tw_trunk_exchanges(m->rig.trunk));
        ck_assert_uint_eq(m->merges, exchanges);
        ck_assert_uint_eq(m->most, 2);
        ck_assert_mem_eq(m->rig.params.state, members[0].rig.params.state,
                         m->rig.params.states * sizeof(float));
    }
}

/* One normalisation more than exchanges: two of them together. */
static const struct {
    const char *text;
    size_t      exchanges;
} nets[] = {{small_net_text, 7}, {branches_net_text, 2}};

START_TEST(ranks_agree_with_the_whole_batch)
{
    const size_t ranks = (size_t)_i % RANKS_MAX + 1, which = (size_t)_i / RANKS_MAX;
    tw_network_t net;
    examples_t   e;
    oracle_t     o;
    member_t     members[RANKS_MAX];
    team_t       team;
    const char  *name;
    double       off;

    small_net_read(&net, nets[which].text);
    e = examples_make(&net, 7, 2);
    oracle_make(&o, &net, &e);
    run_team(&team, members, cuts[ranks - 1], ranks, 0, &net, &e, &o);
    for (size_t r = 0; r < ranks; r++) {
        ck_assert_double_le(apart(members[r].features, o.want + members[r].first * o.features,
                                  members[r].n * o.features),
                            5e-6);
    }
    check_alike(members, ranks, nets[which].exchanges);
    off = gradients_apart(&net, members[0].rig.params.gradient, &o, &name);
    ck_assert_msg(off < 2e-5, "%s: off by %g", name, off);
    ck_assert_double_le(
        apart(members[0].rig.params.state, o.ref.state, members[0].rig.params.states), 2e-6);
    free_team(members, ranks);
    oracle_free(&o);
    examples_free(&e);
    tw_network_destroy(&net);
}
END_TEST

START_TEST(local_statistics_differ)
{
    tw_network_t net;
    examples_t   e;
    oracle_t     o;
    member_t     members[RANKS_MAX];
    team_t       team;

    small_net_read(&net, small_net_text);
    e = examples_make(&net, 7, 2);
    oracle_make(&o, &net, &e);
    run_team(&team, members, cuts[1], 2, 1, &net, &e, &o);
    ck_assert_double_ge(apart(members[0].features, o.want, 6 * o.features), 1e-3);
    ck_assert_double_ge(apart(members[0].rig.params.gradient, o.ref.gradient, 100), 1e-3);
    free_team(members, 2);
    oracle_free(&o);
    examples_free(&e);
    tw_network_destroy(&net);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("train/trunk_ranks");
    TCase *tcase = test_case_within(suite, "all", 120);

    tcase_add_loop_test(tcase, ranks_agree_with_the_whole_batch, 0, 2 * RANKS_MAX);
    tcase_add_test(tcase, local_statistics_differ);
    return test_main(suite);
}
