/* SPDX-License-Identifier: BSD-3-Clause
 * tests/train/trunk.c - trunks on ranks that share batch statistics, over all ranks and over
 * groups, against the oracle on the examples of those ranks.
 */
#include "config.h"

#include "tests/mpi/harness.h"
#include "tests/train/trunk_rig.h"

enum { BATCH = 9 };

/* Examples of rank r of a group of `ranks`: the second has none, the last what is left. */
static size_t share(int r, int ranks, size_t *first_p)
{
    size_t first = 0, n = 0;

    for (int k = 0; k <= r; k++) {
        first += n;
        n = k + 1 == ranks ? BATCH - first : (k == 1 || first + 2 > BATCH ? 0 : 2);
    }
    *first_p = first;
    return n;
}

typedef struct shared {
    tw_statistics_t *statistics;
    const rig_t     *rig;
    size_t           calls;
} shared_t;

/* Merge arrays of so many numbers for each of the layers, through memory of the host. */
static int merge(shared_t *shared, double *const *numbers, const size_t *channels, size_t layers,
                 int moments)
{
    tw_problem_t problem = {.set = 0};
    double      *host[8];
    int          failed = layers > 8;

    shared->calls++;
    for (size_t i = 0; i < layers && !failed; i++) {
        host[i] = t_malloc((1 + 2 * channels[i]) * sizeof(double));
        failed |= tw_backend_get(shared->rig->backend, host[i], numbers[i],
                                 ((size_t)moments + 2 * channels[i]) * sizeof(double), &problem);
    }
    failed |= (moments ? tw_statistics_moments(shared->statistics, host, channels, layers)
                       : tw_statistics_sums(shared->statistics, host, channels, layers)) != TW_OK;
    for (size_t i = 0; i < layers; i++) {
        failed |= tw_backend_put(shared->rig->backend, numbers[i], host[i],
                                 ((size_t)moments + 2 * channels[i]) * sizeof(double), &problem);
        free(host[i]);
    }
    return failed;
}

static int on_moments(void *user, double *const *moments, const size_t *channels, size_t layers)
{
    return merge(user, moments, channels, layers, 1);
}

static int on_sums(void *user, double *const *sums, const size_t *channels, size_t layers)
{
    return merge(user, sums, channels, layers, 0);
}

/* One step on this rank's share of the group's batch. */
static void step(rig_t *rig, const examples_t *e, const oracle_t *o, int rank, int ranks)
{
    size_t       first;
    const size_t n = share(rank, ranks, &first);
    double       off =
        apart(forward(rig, e, first, n, 1), o->want + first * o->features, n * o->features);

    T_CHECK(off < 5e-6, "features are off by %g", off);
    backward(rig, e, first, n, o->gfeatures + first * o->features);
}

/* Groups of consecutive ranks, each with a batch of its own. */
static void check_groups(int group)
{
    const int              number = t_rank / group, first = number * group;
    const int              ranks  = first + group < t_size ? group : t_size - first;
    shared_t               shared = {.calls = 0};
    const tw_trunk_hooks_t hooks  = {.user = &shared, .moments = on_moments, .sums = on_sums};
    tw_statistics_config_t config = {.group = group};
    const char            *name;
    tw_network_t           net;
    examples_t             e;
    oracle_t               o;
    rig_t                  rig;
    float                 *sum;
    double                 off;
    MPI_Comm               comm;

    small_net_read(&net, small_net_text);
    e = examples_make(&net, BATCH, 40 + (uint64_t)number);
    oracle_make(&o, &net, &e);
    backend_of_rank(t_rank);
    rig_make(&rig, &net, &hooks);
    shared.rig = &rig;
    tw_trunk_exchange_most(rig.trunk, &config.layers, &config.channels);
    T_OK(tw_statistics_create(t_world, &config, &shared.statistics));
    step(&rig, &e, &o, t_rank - first, ranks);
    T_CHECK(shared.calls == 2 * tw_trunk_exchanges(rig.trunk), "%zu exchanges", shared.calls);

    sum = t_malloc(rig.params.total * sizeof(float));
    MPI_Comm_split(MPI_COMM_WORLD, number, t_rank, &comm);
    MPI_Allreduce(rig.params.gradient, sum, (int)rig.params.total, MPI_FLOAT, MPI_SUM, comm);
    MPI_Comm_free(&comm);
    off = gradients_apart(&net, sum, &o, &name);
    T_CHECK(off < 2e-5, "group of %d: %s is off by %g", group, name, off);
    off = apart(rig.params.state, o.ref.state, rig.params.states);
    T_CHECK(off < 2e-6, "group of %d: running statistics are off by %g", group, off);
    free(sum);
    T_OK(tw_statistics_destroy(shared.statistics));
    rig_free(&rig);
    oracle_free(&o);
    examples_free(&e);
    tw_network_destroy(&net);
}

static void global_statistics(void)
{
    check_groups(t_size);
}

static void statistics_of_groups(void)
{
    for (int group = 1; group < t_size; group++) {
        check_groups(group);
    }
}

int main(int argc, char **argv)
{
    static const t_case_t cases[] = {
        {"global_statistics", global_statistics, 1},
        {"statistics_of_groups", statistics_of_groups, 2},
    };

    return t_main(argc, argv, cases, sizeof(cases) / sizeof(cases[0]));
}
